#!/bin/sh
# adding.sh - ChordMixer on the adding problem; the next call resumes an interrupted run.
#
#   tests/bench/adding.sh [OPTIONS]       from the build folder (make reproduce-adding LAMBDA=200)
#
#   --lambda NUM        scale of the lengths: 200 (default), 1000 or 16000, as in the paper
#   --records NUM       training records; test records are a tenth as many (default 50000); 12 bytes of
#                       file per position
#   --epochs NUM        (default 6)
#   --minutes NUM       pause after this time; 0: no pause (default 0)
#   --work DIR          data, model and checkpoint (default: adding.LAMBDA)
#   --stages            for lambda 16000: the table of stages below, each from the weights of the one
#                       before; 500 test records; ignores the other options but --work
#
# Prints the output of `chordseq eval` on the test records: `within_tolerance` is the share of predictions
# within 0.04. Seeds: 1 of training data, weights and order, 2 of test data. The work grows with the bases:
# lambda 1000 takes five times as long as lambda 200, 16000 eighty times. --stages took two and a half
# hours of one thread: the first stages are on short records, and the later ones start from their weights.
set -eu

. "$(dirname "$0")/lib.sh"
# lambda, training records, their seed, epochs, records per step, learning rate
table='
200   50000 1 4 32 0.004
1000  10000 1 4 32 0.002
4000  4000  1 3 16 0.002
16000 2000  1 3 8  0.002
16000 4000  3 5 8  0.002
'
lambda=200 records=50000 epochs=6 minutes=0 work='' stages=''
while [ $# -gt 0 ]; do
    case $1 in --stages) stages=yes lambda=16000; shift; continue ;; esac
    [ $# -gt 1 ] || { echo "adding: $1 takes a value" >&2; exit 2; }
    case $1 in
    --lambda) lambda=$2 ;; --records) records=$2 ;; --epochs) epochs=$2 ;; --minutes) minutes=$2 ;;
    --work) work=$2 ;;
    *) echo "adding: unknown option '$1'; the head of $0 lists them" >&2; exit 2 ;;
    esac
    shift 2
done
work=${work:-adding.$lambda}
mkdir -p "$work"

# data FILE RECORDS SEED [LAMBDA]
data()
{
    [ -e "$work/$1" ] || "$chordseq" simulate -n "$2" --lambda "${4:-$lambda}" --seed "$3" -o "$work/$1" adding
}

# stage LAMBDA RECORDS SEED EPOCHS STEP RATE: from the model of the stage before, $from
stage()
{
    name=$1.$3
    data "$name.tsv" "$2" "$3" "$1"
    set -- --epochs "$4" --step-records "$5" --lr "$6"
    [ -z "$from" ] || set -- "$@" --init "$work/$from"
    [ ! -e "$work/$name.ckpt" ] || set -- "$@" --resume
    from=$name
    [ ! -e "$work/$name.done" ] || return 0
    "$chordseq" train -v --head regress --no-standardize -i "$work/$name.tsv" --encoder.track 4 --encoder.hidden 64 \
        --encoder.max-len 524288 --encoder.init identity --batch-tokens 16384 --weight-decay 0 --warmup 50 \
        --ema 0.99 --valid-frac 0.02 --seed 1 --checkpoint-steps 200 "$@" -o "$work/$name" || return
    : > "$work/$name.done"
}

if [ -n "$stages" ]; then
    from=
    data test.tsv 500 2
    while read -r l n seed n_epoch step rate; do
        [ -z "$l" ] || stage "$l" "$n" "$seed" "$n_epoch" "$step" "$rate" < /dev/null
    done << END
$table
END
    "$chordseq" eval -m "$work/$from" "$work/test.tsv"
    exit
fi

data train.tsv "$records" 1
data test.tsv $((records / 10)) 2

# The next power of two.
longest=$(cat "$work/train.tsv" "$work/test.tsv" |
    awk '{ n = gsub(/,/, "") + 1; if (n > most) most = n } END { for (p = 64; p < most; p *= 2); print p }')
resume=
[ ! -e "$work/model.ckpt" ] || resume=--resume
# shellcheck disable=SC2086
"$chordseq" train -v --head regress --no-standardize -i "$work/train.tsv" --encoder.track 4 --encoder.hidden 64 \
    --encoder.max-len "$longest" --encoder.init identity --batch-tokens 16384 --step-records 32 \
    --lr 0.004 --weight-decay 0 --warmup 200 --ema 0.99 --epochs "$epochs" --valid-frac 0.02 --seed 1 \
    --checkpoint-steps 200 --max-time $((60 * minutes)) -o "$work/model" $resume
"$chordseq" eval -m "$work/model" "$work/test.tsv"
