#!/bin/sh
# bench_variant.sh - variant effects on human chromosomes kept out: with and without pretraining.
#
# Usage   CS_SHARED=DIR tests/bench/bench_variant.sh [WORK]      (make bench-variant)
#
# Labelled variants of ../shared/data/human_ve on slices of hg38, split by chromosome: 1 is for the test,
# 20 and 21 choose the epoch, the rest is learnt from. Prints one table: method, seed, AUROC pooled over
# all tissues with its bootstrap interval (by site), seconds of training.
#
# Environment, all optional
#   CDIL, CHORDMIXER   models of `chordseq pretrain` to start from, with the encoders below; none: only
#                      from scratch
#   PUBLISHED          a checkpoint of CDIL for DNA, for `chordseq model import`
#   SEEDS, WINDOW, EPOCHS, THREADS
set -eu

top=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
chordseq=${CHORDSEQ:-${builddir:-.}/chordseq}
data=${CS_SHARED:-$top/../shared}/data/human_ve
python=${PYTHON3:-/usr/bin/python3}
here=$top/tests/bench/variant
seeds=${SEEDS:-1 2 3}

[ -d "$data" ] || { echo "bench_variant: SKIP: '$data' is not there"; exit 0; }
"$python" -c 'import sklearn' 2>/dev/null ||
    { echo "bench_variant: '$python' has no scikit-learn (Debian: python3-sklearn)" >&2; exit 1; }
if [ $# -gt 0 ]; then
    work=$1
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

gzip -cd "$data/hg38_slices.fa.gz" > "$work/hg38.fa"
"$python" "$here/prepare.py" "$data/variants_covered.tsv" "$work"
printf 'method\tseed\trows\tauroc\tlow\thigh\tseconds\n'
"$python" "$here/judge.py" baselines "$work"

# run NAME SEED OPTIONS...: learn, score the test's variants, judge
run() {
    name=$1 seed=$2
    shift 2
    start=$(date +%s)
    "$chordseq" train -q --head variant -i "$work/labels.tsv" --split "$work/split.tsv" \
        --reference "$work/hg38.fa" --window-length "${WINDOW:-256}" --tokenizer base --rc --strand forward \
        --epochs "${EPOCHS:-6}" --step-records 32 --lr 0.002 --class-weights balanced --batch-tokens 16k \
        --threads "${THREADS:-1}" --seed "$seed" -o "$work/$name.$seed.model" "$@"
    end=$(date +%s)
    "$chordseq" variant -q -m "$work/$name.$seed.model" -r "$work/hg38.fa" --tsv "$work/$name.$seed.tsv" \
        --strand both --ends fill --threads "${THREADS:-1}" -o /dev/null "$work/test.vcf"
    "$python" "$here/judge.py" score "$work" "$work/$name.$seed.tsv" "$name" "$seed" $((end - start))
}
cdil='--encoder cdil --encoder.channels 64 --encoder.layers 7'
mixer='--encoder chordmixer --encoder.max-len 1024 --encoder.track 8 --encoder.hidden 128'
small='--encoder cdil --encoder.channels 8 --encoder.layers 9 --encoder.depth all --encoder.input 5
    --encoder.norm batch'
if [ -n "${PUBLISHED:-}" ]; then
    "$chordseq" model import "$PUBLISHED" "$work/published.model" > /dev/null
fi

# guess NAME MODEL: without any label
guess() {
    "$chordseq" variant -q -m "$2" -r "$work/hg38.fa" --score llr --tsv "$work/$1.tsv" --ends fill \
        --window-length 1000 --threads "${THREADS:-1}" -o /dev/null "$work/test.vcf"
    "$python" "$here/judge.py" score "$work" "$work/$1.tsv" "$1" - 0
}
[ -z "${CDIL:-}" ] || guess cdil-llr "$CDIL"
[ -z "${CHORDMIXER:-}" ] || guess chordmixer-llr "$CHORDMIXER"

# Options are words.
# shellcheck disable=SC2086
for seed in $seeds; do
    run cdil-small-scratch $seed --head.predictor cdil $small
    [ -z "${PUBLISHED:-}" ] ||
        run cdil-small-published $seed --head.predictor cdil --encoder cdil --encoder.decoder 0 \
            --init "$work/published.model"
    run cdil-scratch $seed $cdil
    [ -z "${CDIL:-}" ] || run cdil-pretrained $seed --encoder cdil --init "$CDIL"
    run chordmixer-scratch $seed $mixer
    [ -z "${CHORDMIXER:-}" ] || run chordmixer-pretrained $seed --init "$CHORDMIXER"
done
