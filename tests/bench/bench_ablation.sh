#!/bin/sh
# bench_ablation.sh - effect of pooling and the composition path on a preset, as a table.
#
#   tests/bench/bench_ablation.sh [OPTIONS]       from the build folder
#
#   --sets LIST         of bench_presets.sh, with commas (default: three-genera,hairpins)
#   --variants LIST     rows of the table below, with commas (default: all)
#   --seeds LIST        with commas (default: 1,2,3)
#   --budget BUDGET     a time or bases (default: 2m)
#   --cpu-clock SO      as in bench_presets.sh
#   --work DIR          data and models; rows whose model exists are skipped
#                       (default: ablation)
#   -o FILE             the table (default: standard output)
#
# Every row is a preset with one more option, run as in bench_presets.sh. Without the composition path
# the network starts from random weights, and the bag is only a baseline; its time is included.
set -eu

. "$(dirname "$0")/lib.sh"
sets=three-genera,hairpins variants='' seeds=1,2,3 budget=2m clock='' work=ablation out=/dev/stdout
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || { echo "bench_ablation: $1 takes a value" >&2; exit 2; }
    case $1 in
    --sets) sets=$2 ;; --variants) variants=$2 ;; --seeds) seeds=$2 ;; --budget) budget=$2 ;;
    --cpu-clock) clock=$2 ;; --work) work=$2 ;; -o) out=$2 ;;
    *) echo "bench_ablation: unknown option '$1'; the head of $0 lists them" >&2; exit 2 ;;
    esac
    shift 2
done

# name | preset | option, or nothing
all='
bag|fast|
mean|balanced|
max|balanced|--head.pool max
lse|balanced|--head.pool lse
attention|balanced|--head.pool attention
mean+max|balanced|--head.pool mean+max
no-skip|balanced|--head.composition-skip 0
no-composition|balanced|--head.composition 0
'
variants=${variants:-$(echo "$all" | sed -n 's/^\([^|]*\)|.*/\1/p' | paste -s -d , -)}
mkdir -p "$work"

head=1
for set in $(echo "$sets" | tr , ' '); do
    for variant in $(echo "$variants" | tr , ' '); do
        line=$(echo "$all" | grep "^$variant|") || { echo "bench_ablation: no variant '$variant'" >&2; exit 2; }
        preset=$(echo "$line" | cut -d '|' -f 2)
        for seed in $(echo "$seeds" | tr , ' '); do
            "$bench/bench_presets.sh" --sets "$set" --presets "$preset" --budgets "$budget" --seed "$seed" \
                --cpu-clock "$clock" --variant "$variant" --options "$(echo "$line" | cut -d '|' -f 3)" \
                --work "$work" -o "$work/row"
            [ -z "$head" ] || printf 'variant\tseed\t%s\n' "$(head -n 1 "$work/row")"
            head=
            tail -n +2 "$work/row" | sed "s/^/$variant\t$seed\t/"
        done
    done
done > "$out"
rm -f "$work/row"
