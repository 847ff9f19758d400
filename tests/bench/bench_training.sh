#!/bin/sh
# bench_training.sh - train every encoder on two tasks. One table: temporal order at 512, and genera from gene pieces.
#
#   tests/bench/bench_training.sh [OPTIONS]       from the build folder (make bench-training)
#
#   --seed N            of data, weights and order (default 1)
#   --encoders LIST     rows of the table below, with commas (default: all)
#   --tasks LIST        order, genus or both (default: order,genus)
#   --epochs N          passes over the gene pieces (default 1)
#   --minutes N         maximum time of one training; the next call resumes it
#                       (default 20)
#   --quick             a tenth of the data, to test the script
#   --jobs N            trainings side by side, each on one thread (default: processors)
#   --work DIR          data, models and rows; existing rows are skipped
#                       (default: training.SEED)
#   -o FILE             the table (default: standard output)
#
# order   `chordseq simulate temporal-order`: training records of 64, 128, 256 and 512 positions in
#         equal parts by tokens, validation and test of 512 only. The first token's vector predicts:
#         a mean over a circular network cannot tell XY from YX. Ends when the validation's balanced
#         accuracy is 99.5 %; if it never is, the best model continues at a tenth of the rate.
# genus   pieces exon-intron-exon of three genera (data/genus/exon_intron_exon.fa.gz under
#         $CS_SHARED), 8 : 1 : 1 by gene; all encoders see overlapping 3-mers and predict by the mean.
#         The baseline is the same program without layers: a logistic regression on 3-mer
#         frequencies.
#
# All are trained by Adam with gradients clipped at 1; other settings are in the table.
set -eu

. "$(dirname "$0")/lib.sh"
genus=$CS_SHARED/data/genus/exon_intron_exon.fa.gz

# name | learning rate | encoder and its options. max-len 512 and the sizes hold for both tasks.
encoders='
chordmixer|0.003|chordmixer --encoder.track 4 --encoder.hidden 64
reversible|0.003|chordmixer --encoder.track 4 --encoder.hidden 64 --encoder.reversible
cdil|0.003|cdil --encoder.channels 32 --encoder.convs one --encoder.norm weight
psf|0.003|psf --encoder.channels 32 --encoder.hidden 32
paramixer-chord|0.003|paramixer --encoder.layers 1 --encoder.channels 32 --encoder.hidden 32
paramixer-cdil|0.003|paramixer --encoder.protocol cdil --encoder.layers 1 --encoder.channels 32 --encoder.hidden 32
transformer|0.001|transformer --encoder.norm pre --encoder.dim 32 --encoder.layers 2 --encoder.hidden 64
linformer|0.002|linformer --encoder.k 32 --encoder.dim 32 --encoder.layers 2 --encoder.hidden 64
lowrank|0.002|lowrank --encoder.dim 32 --encoder.layers 2 --encoder.hidden 64
singularformer|0.002|singularformer --encoder.rank 32 --encoder.dim 32 --encoder.layers 2 --encoder.hidden 64
fkernel|0.002|fkernel --encoder.dim 32 --encoder.layers 2 --encoder.hidden 64
3-mers|0.01|chordmixer --encoder.track 1 --encoder.hidden 1 --encoder.depth none
'

seed=1 names= tasks=order,genus epochs=1 minutes=20 scale=10 work= out=/dev/stdout
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)
while [ $# -gt 0 ]; do
    case $1 in
    --quick) scale=1; shift; continue ;;
    --seed | --encoders | --tasks | --epochs | --minutes | --jobs | --work | -o)
        [ $# -gt 1 ] || { echo "bench_training: $1 takes a value" >&2; exit 2; } ;;
    *) echo "bench_training: unknown option '$1'; the head of $0 lists them" >&2; exit 2 ;;
    esac
    case $1 in
    --seed) seed=$2 ;; --encoders) names=$2 ;; --tasks) tasks=$2 ;; --epochs) epochs=$2 ;;
    --minutes) minutes=$2 ;; --jobs) jobs=$2 ;; --work) work=$2 ;; -o) out=$2 ;;
    esac
    shift 2
done
work=${work:-training.$seed}
mkdir -p "$work"
all=$(echo "$encoders" | sed -n 's/^\([^|]*\)|.*/\1/p')
names=${names:-$(echo "$all" | paste -s -d , -)}
LC_ALL=C OMP_WAIT_POLICY=passive
export LC_ALL OMP_WAIT_POLICY

# ---- data ----------------------------------------------------------------------------------------

# series LENGTH RECORDS SEED PREFIX: records only
series()
{
    "$chordseq" simulate temporal-order --length "$1" -n "$2" --seed "$3" | sed "1d; s/^order/$4/"
}

order_data()
{
    [ ! -e "$work/order.done" ] || return 0
    {
        "$chordseq" simulate temporal-order --length 2 -n 1 | head -n 1
        series 512 "${scale}000" $((seed + 23)) n512-
        series 64 "$((2 * scale))000" $((seed + 20)) n64-
        series 128 "${scale}000" $((seed + 21)) n128-
        series 256 "${scale}000" $((seed + 22)) n256-
        series 512 500 $((seed + 1000000)) v
    } > "$work/order.train"
    awk -F '\t' 'NR > 1 { print $1 "\t" ($1 ~ /^v/ ? "valid" : "train") }' "$work/order.train" \
        > "$work/order.split"
    "$chordseq" simulate temporal-order --length 512 -n 2000 --seed $((seed + 2000000)) \
        -o "$work/order.test"
    touch "$work/order.done"
}

# A gene's part is a hash of its name, so that its pieces stay together; --quick leaves most genes out.
genus_data()
{
    [ ! -e "$work/genus.done" ] || return 0
    gzip -dc "$genus" | awk -v scale="$scale" -v seed="$seed" -v work="$work" '
        BEGIN { for (i = 33; i < 127; i++) code[sprintf("%c", i)] = i }
        /^>/ {
            name = substr($1, 2)
            gene = name
            sub(/\.[0-9]+$/, "", gene)
            h = seed
            for (i = 1; i <= length(gene); i++)
                h = (h * 31 + code[substr(gene, i, 1)]) % 1000003
            part = int(h / 10) % 10 >= scale ? "" : h % 10 < 8 ? "train" : h % 10 == 8 ? "valid" : "test"
            if (part == "train" || part == "valid")
                print name "\t" part > (work "/genus.split")
        }
        part != "" { print > (work (part == "test" ? "/genus.test" : "/genus.train")) }'
    touch "$work/genus.done"
}

# ---- one training and its row --------------------------------------------------------------------

figure() { awk -F '\t' -v what="$1" '$1 == "record" && $2 == "all" && $4 == what { print $5 }' "$2"; }

# train_part OPTIONS...: $run.model from $run.train and $run.split, with the row's encoder
train_part()
{
    # Word splitting is intended; so the name of the work folder must have no blanks.
    # shellcheck disable=SC2086
    "$chordseq" train -v -@ 1 --encoder $options --encoder.max-len 512 --optimizer adam \
        --weight-decay 0 --batch-tokens 4096 --seed "$seed" -i "$work/$task.train" \
        --split "$work/$task.split" --max-time $((60 * minutes)) "$@" >> "$run.log" 2>&1
}

train_order()
{
    set -- --head.pool cls --samples-per-epoch 4000 --length-power 0 --class-balance 0 \
        --schedule constant --warmup 100 --stop-at 0.995
    train_part "$@" --epochs 60 --lr "$rate" --metrics "$run.tsv" -o "$run.model" $resume || return 1
    end=$(ending)
    rm -f "$run".2.*
    [ "$end" != reached ] || return 0
    train_part "$@" --epochs 8 --lr "$(awk "BEGIN { print $rate / 10 }")" --init "$run.model" \
        --metrics "$run.2.tsv" -o "$run.2.model"
}

train_genus()
{
    [ "$name" != 3-mers ] || epochs=8
    train_part --tokenizer.k 3 --label-key genus --epochs "$epochs" --lr "$rate" \
        --metrics "$run.tsv" -o "$run.model" $resume || return 1
    end=$(ending)
}

# Why the last training ended.
ending()
{
    if tail -n 1 "$run.log" | grep -q paused; then
        echo time
    elif [ "$task" = order ]; then
        awk -F '\t' 'END { print ($8 >= 0.995 ? "reached" : "epochs") }' "$run.tsv"
    else
        echo epochs
    fi
}

# train TASK ROW: in a shell of its own, because it changes variables
train()
(
    task=$1 name=$2
    run=$work/$task.$name
    [ ! -e "$run.row" ] || grep -q 'time$' "$run.row" || return 0
    line=$(echo "$encoders" | grep "^$name|")
    rate=$(echo "$line" | cut -d '|' -f 2)
    options=$(echo "$line" | cut -d '|' -f 3-)
    resume=
    [ ! -e "$run.model.ckpt" ] || resume=--resume
    if "train_$task"; then
        evaluate
    else
        printf '%s\t%s\t.\t.\t.\t.\t.\t.\tfailed\n' "$task" "$name" > "$run.row"
    fi
)

# The best balanced accuracy on the validation of a metrics table.
best() { awk -F '\t' 'NR > 1 && $8 + 0 > b { b = $8 } END { print b + 0 }' "$1"; }

# The row: the better model on the validation, with the steps and seconds of both parts.
evaluate()
{
    labels= model=$run.model last=
    [ "$task" = order ] || labels='--label-key genus'
    if [ -e "$run.2.tsv" ]; then
        last=$run.2.tsv
        [ "$(awk "BEGIN { print ($(best "$last") > $(best "$run.tsv")) }")" = 0 ] ||
            model=$run.2.model
    fi
    # shellcheck disable=SC2086
    "$chordseq" eval -q -@ 1 $labels -m "$model" -o "$run.eval" "$work/$task.test"
    parameters=$("$chordseq" model show "$model" | awk '$1 == "parameters" { print $2 }')
    # shellcheck disable=SC2086
    for part in "$run.tsv" $last; do tail -n 1 "$part"; done |
        awk -F '\t' -v OFS='\t' -v task="$task" -v name="$name" -v p="$parameters" -v end="$end" \
            -v accuracy="$(figure accuracy "$run.eval")" -v mcc="$(figure mcc "$run.eval")" \
            -v balanced="$(figure balanced_accuracy "$run.eval")" \
            '{ steps += $2; s += $10 }
            END { print task, name, p, steps, s, accuracy, balanced, mcc, end }' > "$run.row"
}

# ---- all of them ---------------------------------------------------------------------------------

todo=
for task in $(echo "$tasks" | tr , ' '); do
    case $task in
    order) order_data ;;
    genus) [ -e "$genus" ] || { echo "bench_training: '$genus' is not there" >&2; exit 1; }
           genus_data ;;
    *) echo "bench_training: there is no task '$task'; there are order and genus" >&2; exit 2 ;;
    esac
    for name in $(echo "$names" | tr , ' '); do
        echo "$all" | grep -qxF -- "$name" ||
            { echo "bench_training: there is no row '$name'" >&2; exit 2; }
        [ "$task:$name" = order:3-mers ] || todo="$todo $task:$name"
    done
done

# A worker takes a row by creating a folder, which succeeds for one worker only.
rm -rf "$work"/*.taken
worker=0
while [ "$worker" -lt "$jobs" ]; do
    for t in $todo; do
        mkdir "$work/$t.taken" 2> /dev/null || continue
        train "${t%%:*}" "${t#*:}"
    done &
    worker=$((worker + 1))
done
wait
rm -rf "$work"/*.taken

# ---- the table: a row per encoder, both tasks side by side ---------------------------------------

for row in "$work"/*.row; do
    cat "$row"
done | awk -F '\t' -v OFS='\t' -v order="$(echo "$all" | paste -s -d , -)" '
    { for (i = 3; i <= 9; i++) cell[$1, $2, i] = $i; seen[$2] = 1 }
    function get(task, name, i) { return (task, name, i) in cell ? cell[task, name, i] : "." }
    END {
        print "encoder", "order_parameters", "order_accuracy", "order_99_percent", "order_end",
              "order_steps", "order_s", "genus_parameters", "genus_accuracy", "genus_balanced",
              "genus_mcc", "genus_3_mers", "genus_end", "genus_steps", "genus_s"
        base = get("genus", "3-mers", 7)
        n = split(order, name, ",")
        for (k = 1; k <= n; k++) {
            e = name[k]
            if (!(e in seen))
                continue
            a = get("order", e, 6); b = get("genus", e, 7)
            print e, get("order", e, 3), a, (a == "." ? "." : a >= 0.99 ? "yes" : "no"),
                  get("order", e, 9), get("order", e, 4), get("order", e, 5), get("genus", e, 3),
                  get("genus", e, 6), b, get("genus", e, 8),
                  (b == "." || base == "." || e == "3-mers" ? "." : b > base ? "above" : "below"),
                  get("genus", e, 9), get("genus", e, 4), get("genus", e, 5)
        }
    }' > "$out"
