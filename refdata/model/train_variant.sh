#!/bin/sh
# train_variant.sh - how refdata/model/variant.safetensors was made; see VARIANT.md beside it.
#
# Usage   refdata/model/train_variant.sh CHORDSEQ SPLICE_DIR HUMAN_VE_DIR WORK_DIR [OPTION...]
#
# Trains five CDIL networks, seeds 1 to 5, on sequences with measured splicing, and joins them as groups of one encoder.
# Its layers stay as they are for variants: logistic regressions on pooled vectors are fitted, of differences for SPLICE,
# of these and those at both ends of the exon for SPLICE with --exons, and of the reference for STRAND, five times
# without a fifth of the chromosomes, for the figures and the calibration, and once on all. Writes
# WORK_DIR/variant.safetensors and WORK_DIR/folds.tsv. Called again, it continues a training that was interrupted.
# Options of `chordseq train` may follow (--threads). Needs python3 with numpy.
#
# ENCODER=MODEL takes the encoder of a model instead of training one, such as variant.safetensors itself: minutes that
# print the figures of the card again.
set -eu
chordseq=$1 splice=$2 human=$3 work=$4
shift 4
here=$(cd "$(dirname "$0")/../../tests/bench/variant" && pwd)
python=${PYTHON3:-/usr/bin/python3}
mkdir -p "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

network="--preset none --tokenizer base --no-rc --encoder cdil --encoder.depth all --encoder.layers 6
    --encoder.kernel 7 --encoder.convs one"
seeds="1 2 3 4 5"
# second.fa has all records; first.fa, a part of them, trained a first stage of earlier models.
train_encoder() {
    name=second$1 seed=$1 resume=
    shift
    [ ! -e "$work/$name.safetensors.ckpt" ] || resume=--resume
    "$chordseq" train $network --encoder.channels 64 --seed "$seed" $resume --encoder.dropout 0.05 --head.pool mean+max \
        --head.hidden 64 --head.norm layer --head multilabel -i "$work/second.fa" --labels "$work/second.tsv" \
        --split "$work/second.split.tsv" --step-records 128 --batch-tokens 32768 --lr 0.004 --warmup 100 --epochs 8 --schedule cosine --ema 0.999 \
        --precision bf16 --monitor loss --checkpoint-steps 200 --metrics "$work/$name.metrics.tsv" \
        -o "$work/$name.safetensors" "$@"
}
# A model with the encoder and a new head, which one step of training only creates.
create() {
    name=$1
    shift
    "$chordseq" train $network --encoder.channels 320 --encoder.groups 5 --seed 1 --head.pool mean+max+centre \
        --head.centre 4 --init "$work/second.safetensors" --new-head --freeze encoder --max-steps 1 \
        --batch-tokens 16384 -o "$work/$name.safetensors" "$@"
}

# Scores of VCF by the model of fold k: on both strands, and with exons.
score() {
    contigs=$work/$1 vcf=$work/$2
    "$chordseq" variant -q -m "$work/fold$k.safetensors" -f "$contigs.fa" --tsv "$vcf.both.scores" -o /dev/null "$vcf.vcf"
    "$chordseq" variant -q -m "$work/fold$k.safetensors" -f "$contigs.fa" --exons "$contigs.bed" \
        --tsv "$vcf.exons.scores" -o /dev/null "$vcf.vcf"
}

"$python" "$here/prepare_splice.py" "$splice" "$human" "$work"
if [ -n "${ENCODER:-}" ]; then
    cp "$ENCODER" "$work/second.safetensors"
else
    models=
    for k in $seeds; do
        train_encoder "$k" "$@"
        models="$models $work/second$k.safetensors"
    done
    "$python" "$here/join_splice.py" "$work/second.safetensors" $models
fi
create vectors --head multilabel -i "$work/second.fa" --labels "$work/second.tsv" \
    --split "$work/second.split.tsv" "$@"
create head --head variant --head.compare context --strand weighted -i "$work/labels.tsv" --split "$work/splitall.tsv" \
    --reference "$work/contigs.fa" --window-length 256 "$@"
"$python" "$here/fit_splice.py" windows "$work"
for x in windows ends measured places; do
    "$chordseq" embed -q -m "$work/vectors.safetensors" --vector pooled -o "$work/$x.npy" "$work/$x.fa"
done
for k in 0 1 2 3 4; do
    "$python" "$here/fit_splice.py" fit "$splice" "$work" "$work/split$k.tsv" "$work/fold$k.safetensors"
    score contigs "fold$k"
    score slices "slices$k"
done
for how in both exons; do
    "$python" "$here/evaluate_splice.py" table "$splice" "$work"/fold?.$how.scores | sed "s/^/$how\t/"
done > "$work/folds.tsv"
sed 's/valid$/train/' "$work/splitall.tsv" > "$work/every.tsv"
"$python" "$here/fit_splice.py" fit "$splice" "$work" "$work/every.tsv" "$work/all.safetensors"
for how in both exons; do
    from=variant
    [ "$how" = exons ] || from=all
    "$python" "$here/evaluate_splice.py" calibrate "$splice" "$work/$from.safetensors" "$work/variant.safetensors" $how \
        "$work"/fold?.$how.scores
done
"$python" "$here/evaluate_splice.py" describe "$work/variant.safetensors" "$work/folds.tsv"
cat "$work/folds.tsv"
