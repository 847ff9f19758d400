#!/bin/sh
# bench_presets.sh - accuracy of `chordseq train` by preset and budget, as a table.
#
#   tests/bench/bench_presets.sh [OPTIONS]       from the build folder
#
#   --presets LIST      with commas (default: fast,balanced)
#   --budgets LIST      with commas, times or bases (default: 20M)
#   --sets LIST         rows of the table below, with commas (default: all)
#   --seed N            (default 1)
#   --options TEXT      more options of `chordseq train`, for all rows
#   --variant NAME      of them, in the names of the models
#   --cpu-clock SO      budgets are processor time: tests/bench/cpu_clock.c as a library
#                       (cc -O2 -shared -fPIC), for shared machines
#   --work DIR          data and models; rows whose model exists are skipped
#                       (default: presets)
#   -o FILE             the table (default: standard output)
#
# Data: data/genus and data/taxa under $CS_SHARED. Columns are balanced accuracies on the validation part
# (a tenth of the groups by the column split_by), one thread: of the logistic regression, of the bag of
# words (if a network follows and is better), and of the written model.
# Records of a median of 1,000 bases or more are evaluated on crops of mixed lengths. Budgets of bases
# give the same results on every machine; cpu_s is total processor time in seconds.
set -eu

. "$(dirname "$0")/lib.sh"
genus=$CS_SHARED/data/genus taxa=$CS_SHARED/data/taxa
presets=fast,balanced budgets=20M sets='' seed=1 more='' variant='' clock='' work=presets out=/dev/stdout
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || { echo "bench_presets: $1 takes a value" >&2; exit 2; }
    case $1 in
    --presets) presets=$2 ;; --budgets) budgets=$2 ;; --sets) sets=$2 ;; --seed) seed=$2 ;;
    --options) more=$2 ;; --variant) variant=$2 ;;
    --cpu-clock) clock=$2 ;; --work) work=$2 ;; -o) out=$2 ;;
    *) echo "bench_presets: unknown option '$1'; the head of $0 lists them" >&2; exit 2 ;;
    esac
    shift 2
done
need_data "$genus"
mkdir -p "$work"
LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
export LC_ALL OMP_WAIT_POLICY OMP_NUM_THREADS

# name | key of the label | --split-by, or name: none | file | part of tax= that is the label, or -
all='
three-genera|genus|name|exon_intron_exon.fa.gz|-
hairpins|genus|name|mirbase_hairpins.fa.gz|-
mitogenomes|genus|name|cyprinid_mitogenomes.fa.gz|-
plastid-order|label|tax:3|plastid_cds.fa.gz|1
16S-genus|label|name|rdp_trainset19_16S.fa.gz|6
16S-order|label|tax:6|rdp_trainset19_16S.fa.gz|4
SSU-domain|label|tax:6|silva_seed_v138_2_ssu.fa.gz|1
taxa|class|organism|.|-
'
sets=${sets:-$(echo "$all" | sed -n 's/^\([^|]*\)|.*/\1/p' | paste -s -d , -)}

# data NAME FILE PART KEY: $work/NAME.fa, with part PART of tax= as label=; a class has ten records
# or more. Of taxa records of named organisms in all files.
data()
{
    [ ! -e "$work/$1.fa" ] || return 0
    if [ "$2" = . ]; then
        gzip -dc "$taxa"/*.fa.gz
    else
        gzip -dc "$genus/$2"
    fi | awk -v part="$3" '
        /^>/ && part != "-" { split($0, a, "tax="); split(a[2], b, /[; ]/); $0 = $0 " label=" b[part] }
        { print }' > "$work/$1.all"
    awk -v key=" $4=" '
        function label(s) { s = substr(s, index(s, key) + length(key)); sub(/ .*/, "", s); return s }
        NR == FNR { if (/^>/) n[label($0)]++; next }
        /^>/ { on = n[label($0)] >= 10 }
        on' "$work/$1.all" "$work/$1.all" > "$work/$1.part"
    rm "$work/$1.all"
    mv "$work/$1.part" "$work/$1.fa"
}

# show MODEL FIGURE: of its training, or a dot
show()
{
    "$chordseq" model show "$1" | awk -F '\t' -v key="training.$2" '
        $1 == key { v = $2 } END { print v == "" ? "." : v }'
}

# teach MODEL OPTION...: with the seconds of the processor, user and system, of this shell's child
teach()
{
    m=$1
    shift
    [ ! -e "$m.cpu" ] || return 0
    (
        LD_PRELOAD=$clock "$chordseq" train -@ 1 --seed "$seed" "$@" -o "$m" 2> "$m.log" < /dev/null || exit 1
        times > "$m.times"
    ) || return 1
    awk 'END { gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4 }' "$m.times" > "$m.cpu"
    rm "$m.times"
}

{
    printf 'set\trecords\tclasses\tsplit_by\tpreset\tbudget\tregression\tbag\tmodel\tcpu_s\n'
    echo "$all" | tr '|' ' ' | while read -r name key by file part; do
        case ,$sets, in *,"$name",*) ;; *) continue ;; esac
        [ -n "$name" ] || continue
        data "$name" "$file" "$part" "$key"
        for preset in $(echo "$presets" | tr , ' '); do
            for budget in $(echo "$budgets" | tr , ' '); do
                m=$work/$name.$preset.$budget.$seed${variant:+.$variant}.m
                set -- --label-key "$key" --preset "$preset" --budget "$budget"
                [ "$by" = name ] || set -- "$@" --split-by "$by"
                # Word splitting is intended.
                # shellcheck disable=SC2086
                teach "$m" "$@" $more "$work/$name.fa" || { echo "# $name, $preset, $budget: see $m.log" >&2; continue; }
                printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\n' "$name" \
                    "$(grep -c '^>' "$work/$name.fa")" \
                    "$("$chordseq" model show "$m" | grep -c '^label')" "$by" "$preset" "$budget" \
                    "$(show "$m" baseline_regression_balanced)" "$(show "$m" baseline_bag_balanced)" \
                    "$(show "$m" valid_balanced_accuracy)" "$(cat "$m.cpu")"
            done
        done
    done
} > "$out"
