#!/bin/sh
# train_variant.sh - how refdata/model/variant.safetensors and variant-exons.safetensors were made; see VARIANT.md beside them.
#
# Usage   refdata/model/train_variant.sh CHORDSEQ SPLICE_DIR HUMAN_VE_DIR WORK_DIR [OPTION...]
#
# Trains CDIL networks on sequences with measured splicing, and joins them as groups of one encoder: five for variant, which
# ignores the case of bases, and three for variant-exons, which reads exons in upper case and introns in lower case.
# Their layers stay as they are for variants: logistic regressions on pooled vectors are fitted, for SPLICE on differences (of
# variant-exons, also on the reference) and for STRAND on the reference, five times without a fifth of the chromosomes, for
# the figures and the calibration, and once on all. Writes both models into WORK_DIR, and folds.tsv and folds_exons.tsv.
# Called again, it continues a training that was interrupted. Options of `chordseq train` may follow (--threads). Needs
# python3 with numpy.
#
# ENCODER=MODEL and ENCODER_EXONS=MODEL take the encoder of a model instead of training one, such as variant.safetensors
# itself: minutes that print the figures of the card again.
set -eu
chordseq=$1 splice=$2 human=$3 work=$4
shift 4
here=$(cd "$(dirname "$0")/../../tests/bench/variant" && pwd)
python=${PYTHON3:-/usr/bin/python3}
mkdir -p "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

network="--preset none --no-rc --encoder cdil --encoder.depth all --encoder.layers 6 --encoder.kernel 7 --encoder.convs one"
# The settings of a model: of variant, and of variant-exons, whose files have the suffix _exons.
plain() { suffix= tokens="--tokenizer base" seeds="1 2 3 4 5"; }
exons() { suffix=_exons tokens="--tokenizer base --tokenizer.case" seeds="1 2 3"; }

# second.fa has all records; first.fa, a part of them, trained a first stage of earlier models.
train_network() {
    name=second$suffix$1 seed=$1 resume=
    shift
    [ ! -e "$work/$name.safetensors.ckpt" ] || resume=--resume
    "$chordseq" train $network $tokens --encoder.channels 64 --seed "$seed" $resume --encoder.dropout 0.05 --head.pool mean+max \
        --head.hidden 64 --head.norm layer --head multilabel -i "$work/second$suffix.fa" --labels "$work/second.tsv" \
        --split "$work/second.split.tsv" --step-records 128 --batch-tokens 32768 --lr 0.004 --warmup 100 --epochs 8 --schedule cosine --ema 0.999 \
        --precision bf16 --monitor loss --checkpoint-steps 200 --metrics "$work/$name.metrics.tsv" \
        -o "$work/$name.safetensors" "$@"
}
# train_encoder MODEL: second.safetensors, the encoder of MODEL or a new one
train_encoder() {
    from=$1
    shift
    if [ -n "$from" ]; then
        cp "$from" "$work/second$suffix.safetensors"
        return
    fi
    models=
    for k in $seeds; do
        train_network "$k" "$@"
        models="$models $work/second$suffix$k.safetensors"
    done
    "$python" "$here/join_splice.py" "$work/second$suffix.safetensors" $models
}
# create NAME GROUPS OPTION...: a model with the encoder and a new head, which one step of training only creates
create() {
    name=$1$suffix groups=$2
    shift 2
    "$chordseq" train $network $tokens --encoder.channels $((64 * groups)) --encoder.groups "$groups" --seed 1 \
        --init "$work/second$suffix.safetensors" --new-head --freeze encoder --max-steps 1 \
        --batch-tokens 16384 -o "$work/$name.safetensors" "$@"
}
create_vectors() {
    create vectors "$@" --head multilabel -i "$work/second$suffix.fa" --labels "$work/second.tsv" --split "$work/second.split.tsv"
}
embed() {
    for x; do
        "$chordseq" embed -q -m "$work/vectors$suffix.safetensors" --vector pooled -o "$work/$x.npy" "$work/$x.fa"
    done
}
# score CONTIGS VCF OPTION...: scores of $work/VCF.vcf by the model of fold k
score() {
    contigs=$work/$1 vcf=$work/$2
    shift 2
    "$chordseq" variant -q -m "$work/fold$suffix$k.safetensors" -f "$contigs.fa" --tsv "$vcf.$how.scores" -o /dev/null "$@" "$vcf.vcf"
}
# fit KIND MODEL: the folds, their table and the model
fit() {
    how=both
    [ "$1" = plain ] || how=exons
    for k in 0 1 2 3 4; do
        "$python" "$here/fit_splice.py" "$1" "$splice" "$work" "$work/split$k.tsv" "$work/fold$suffix$k.safetensors"
        if [ "$how" = both ]; then
            score contigs "fold$k"
            score slices "slices$k"
        else
            score contigs "fold$k" --exons "$work/contigs.bed"
            score slices "slices$k" --exons "$work/slices.bed"
        fi
    done
    "$python" "$here/evaluate_splice.py" table "$splice" "$work"/fold?.$how.scores > "$work/folds$suffix.tsv"
    "$python" "$here/fit_splice.py" "$1" "$splice" "$work" "$work/every.tsv" "$work/all$suffix.safetensors"
    "$python" "$here/evaluate_splice.py" calibrate "$splice" "$work/all$suffix.safetensors" "$work/$2.safetensors" \
        "$work"/fold?.$how.scores
    "$python" "$here/evaluate_splice.py" describe "$how" "$work/$2.safetensors" "$work/folds$suffix.tsv"
    cat "$work/folds$suffix.tsv"
}

"$python" "$here/prepare_splice.py" "$splice" "$human" "$work"
"$python" "$here/fit_splice.py" windows "$work"
sed 's/valid$/train/' "$work/splitall.tsv" > "$work/every.tsv"

plain
train_encoder "${ENCODER:-}" "$@"
create_vectors 5 --head.pool mean+max "$@"
create head 5 --head.pool mean+max --head variant --head.compare context --strand weighted -i "$work/labels.tsv" \
    --split "$work/splitall.tsv" --reference "$work/contigs.fa" --window-length 256 "$@"
embed windows measured places
fit plain variant

exons
train_encoder "${ENCODER_EXONS:-}" "$@"
create_vectors 3 --head.pool mean+max+centre --head.centre 4 "$@"
create head 3 --head.pool mean+max+centre --head.centre 4 --head variant --head.compare context -i "$work/labels_exons.tsv" \
    --split "$work/splitall.tsv" --reference "$work/contigs.fa" --window-length 256 --exons "$work/contigs.bed" "$@"
embed windows_exons measured_exons
fit exons variant-exons
