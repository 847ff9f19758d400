#!/bin/sh
# bench_variant.sh - variant effects on held-out human chromosomes, with and without pretraining.
#
# Usage   CS_SHARED=DIR tests/bench/bench_variant.sh [WORK]      (make bench-variant)
#
# Labelled variants of data/human_ve on slices of hg38, split by chromosome: 1 is for the test,
# 20 and 21 choose the epoch, the rest is for training. Prints one table: method, seed, AUROC pooled over
# all tissues with its bootstrap interval (by site), seconds of training.
#
# Environment, all optional
#   CDIL, CHORDMIXER   models of `chordseq pretrain` to start from, with the encoders below; none: only
#                      from scratch
#   PUBLISHED          a checkpoint of CDIL for DNA, for `chordseq model import`
#   SEEDS, WINDOW, EPOCHS, THREADS     default "1 2 3", 256, 6, 1; with CS_QUICK=1 "1", 64, 1, 1
set -eu

. "$(dirname "$0")/lib.sh"
data=$CS_SHARED/data/human_ve
here=$bench/variant/tissues
need_data "$data"
need_python sklearn python3-sklearn
scratch "$@"
[ -z "$CS_QUICK" ] || : "${SEEDS:=1}" "${WINDOW:=64}" "${EPOCHS:=1}"
: "${SEEDS:=1 2 3}" "${WINDOW:=256}" "${EPOCHS:=6}" "${THREADS:=1}"

gzip -cd "$data/hg38_slices.fa.gz" > "$tmp/hg38.fa"
"$python" "$here/prepare.py" "$data/variants_covered.tsv" "$tmp"
printf 'method\tseed\trows\tauroc\tlow\thigh\tseconds\n'
"$python" "$here/evaluate.py" baselines "$tmp"

# run NAME SEED OPTIONS...: train, score the test variants, evaluate
run() {
    name=$1 seed=$2
    shift 2
    start=$(date +%s)
    "$chordseq" train -q --head variant -i "$tmp/labels.tsv" --split "$tmp/split.tsv" \
        --reference "$tmp/hg38.fa" --window-length "$WINDOW" --tokenizer base --rc --strand forward \
        --epochs "$EPOCHS" --step-records 32 --lr 0.002 --class-weights balanced --batch-tokens 16384 \
        --threads "$THREADS" --seed "$seed" -o "$tmp/$name.$seed.model" "$@"
    end=$(date +%s)
    "$chordseq" variant -q -m "$tmp/$name.$seed.model" -f "$tmp/hg38.fa" --tsv "$tmp/$name.$seed.tsv" \
        --strand both --ends fill --threads "$THREADS" -o /dev/null "$tmp/test.vcf"
    "$python" "$here/evaluate.py" score "$tmp" "$tmp/$name.$seed.tsv" "$name" "$seed" $((end - start))
}
cdil='--encoder cdil --encoder.channels 64 --encoder.layers 7'
mixer='--encoder chordmixer --encoder.max-len 1024 --encoder.track 8 --encoder.hidden 128'
small='--encoder cdil --encoder.channels 8 --encoder.layers 9 --encoder.depth all --encoder.input 5
    --encoder.norm batch'
if [ -n "${PUBLISHED:-}" ]; then
    "$chordseq" model import "$PUBLISHED" "$tmp/published.model" > /dev/null
fi

# guess NAME MODEL: without any label
guess() {
    "$chordseq" variant -q -m "$2" -f "$tmp/hg38.fa" --score llr --tsv "$tmp/$1.tsv" --ends fill \
        --window-length 1000 --threads "$THREADS" -o /dev/null "$tmp/test.vcf"
    "$python" "$here/evaluate.py" score "$tmp" "$tmp/$1.tsv" "$1" - 0
}
[ -z "${CDIL:-}" ] || guess cdil-llr "$CDIL"
[ -z "${CHORDMIXER:-}" ] || guess chordmixer-llr "$CHORDMIXER"

# Options are words.
# shellcheck disable=SC2086
for seed in $SEEDS; do
    run cdil-small-scratch $seed --head.predictor cdil $small
    [ -z "${PUBLISHED:-}" ] ||
        run cdil-small-published $seed --head.predictor cdil --encoder cdil --encoder.decoder 0 \
            --init "$tmp/published.model"
    run cdil-scratch $seed $cdil
    [ -z "${CDIL:-}" ] || run cdil-pretrained $seed --encoder cdil --init "$CDIL"
    run chordmixer-scratch $seed $mixer
    [ -z "${CHORDMIXER:-}" ] || run chordmixer-pretrained $seed --init "$CHORDMIXER"
done
