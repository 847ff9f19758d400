#!/bin/sh
# train_variant.sh - how refdata/model/variant.safetensors was made; see VARIANT.md beside it.
#
# Usage   refdata/model/train_variant.sh CHORDSEQ SPLICE_DIR HUMAN_VE_DIR WORK_DIR [OPTION...]
#
# Trains a CDIL network on sequences with measured splicing in two stages, then on variants: five models that each
# leave a fifth of the chromosomes out, for the figures and the calibration, and one on all of them. Writes
# WORK_DIR/variant.safetensors and WORK_DIR/folds.tsv. Options of `chordseq train` may follow (--threads, --resume).
# Needs python3 with numpy.
set -eu
chordseq=$1 splice=$2 human=$3 work=$4
shift 4
here=$(cd "$(dirname "$0")/../../tests/bench/variant" && pwd)
python=${PYTHON3:-/usr/bin/python3}
mkdir -p "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

network="--preset none --tokenizer base --no-rc --encoder cdil --encoder.depth all --encoder.layers 5
    --encoder.kernel 7 --encoder.channels 48 --encoder.convs one --head.pool mean+max --head.hidden 64 --head.norm layer
    --seed 1"
stage() {
    name=$1
    shift
    "$chordseq" train $network --encoder.dropout 0.05 --head multilabel -i "$work/$name.fa" --labels "$work/$name.tsv" \
        --split "$work/$name.split.tsv" --step-records 128 --batch-tokens 32768 --warmup 100 --ema 0.999 \
        --schedule cosine --monitor loss --checkpoint-steps 200 --metrics "$work/$name.metrics.tsv" \
        -o "$work/$name.safetensors" "$@"
}
variants() {
    split=$1 out=$2
    shift 2
    "$chordseq" train $network --head variant --head.compare hidden --strand max -i "$work/labels.tsv" \
        --split "$work/$split.tsv" --reference "$work/contigs.fa" --window-length 256 --init "$work/second.safetensors" \
        --lr 0.02 --encoder-lr 0.015 --schedule cosine --epochs 3 --weight-decay 0.02 --warmup 30 --ema 0.99 \
        --step-records 32 --batch-tokens 16384 --metrics "$work/$out.metrics.tsv" -o "$work/$out.safetensors" "$@"
}

"$python" "$here/prepare_splice.py" "$splice" "$human" "$work"
stage first --lr 0.004 --epochs 8 "$@"
stage second --init "$work/first.safetensors" --lr 0.003 --epochs 6 "$@"
for k in 0 1 2 3 4; do
    variants split$k fold$k "$@"
    "$chordseq" variant -q -m "$work/fold$k.safetensors" -f "$work/slices.fa" \
        --tsv "$work/slices$k.scores" -o /dev/null "$work/slices$k.vcf"
    "$chordseq" variant -q -m "$work/fold$k.safetensors" -f "$work/contigs.fa" \
        --tsv "$work/fold$k.max.scores" -o /dev/null "$work/fold$k.vcf"
    "$chordseq" variant -q -m "$work/fold$k.safetensors" -f "$work/contigs.fa" --exons "$work/exons.bed" \
        --tsv "$work/fold$k.exons.scores" -o /dev/null "$work/fold$k.vcf"
done
for how in max exons; do
    "$python" "$here/evaluate_splice.py" table "$splice" "$work"/fold?.$how.scores | sed "s/^/$how\t/"
done > "$work/folds.tsv"
variants splitall all --monitor loss "$@"
"$python" "$here/evaluate_splice.py" calibrate "$splice" "$work/all.safetensors" "$work/variant.safetensors" \
    "$work"/fold?.max.scores
"$python" "$here/evaluate_splice.py" describe "$work/variant.safetensors" "$work/folds.tsv"
cat "$work/folds.tsv"
