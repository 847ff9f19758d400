#!/bin/sh
# train.sh - an example of several labels with gaps: tissue effects of variants.
#
# Usage   tests/bench/variant/tissues/train.sh CHORDSEQ HUMAN_VE_DIR WORK_DIR [OPTION...]
#
# Pretrains an encoder on slices of hg38 without chromosomes 1 and 21, trains three heads on 1,364 labelled rows of 47
# tissues, and writes WORK_DIR/variant.safetensors, the one with the lowest loss on chromosomes 20 and 21, and
# WORK_DIR/evaluation.tsv, the AUROC of all three on chromosome 1 beside the baselines: 0.52 to 0.58, below the baselines,
# which is why no such model comes with the program. More options of `chordseq pretrain` and `chordseq train` may
# follow. Needs python3 with scikit-learn.
set -eu
chordseq=$1 data=$2 work=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON3:-/usr/bin/python3}
mkdir -p "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

gzip -cd "$data/hg38_slices.fa.gz" > "$work/hg38.fa"
"$python" "$here/prepare.py" "$data/variants_covered.tsv" "$work"
"$chordseq" pretrain --tokenizer base --window 1000 --windows-per-epoch 1000 --valid-windows 200 \
    --val-contigs chr20 --skip-contigs chr1,chr21 --rc --batch-tokens 8192 --lr 0.002 --epochs 9 --seed 1 \
    --encoder cdil --encoder.channels 64 --encoder.layers 7 \
    -o "$work/pretrained.safetensors" --metrics "$work/pretrained.tsv" "$@" "$work/hg38.fa"

least=
"$python" "$here/evaluate.py" baselines "$work" > "$work/evaluation.tsv"
for seed in 1 2 3; do
    "$chordseq" train --head variant -i "$work/labels.tsv" --split "$work/split.tsv" \
        --reference "$work/hg38.fa" --window-length 256 --tokenizer base --rc --strand both \
        --encoder cdil --init "$work/pretrained.safetensors" --epochs 4 --step-records 32 --lr 0.002 \
        --class-weights balanced --batch-tokens 16384 --seed $seed \
        -o "$work/variant.$seed.safetensors" --metrics "$work/variant.$seed.tsv" "$@"
    loss=$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "valid_loss") c = i; next }
        least == "" || $c < least { least = $c } END { print least }' "$work/variant.$seed.tsv")
    if [ -z "$least" ] || awk -v a="$loss" -v b="$least" 'BEGIN { exit !(a < b) }'; then
        least=$loss
        cp "$work/variant.$seed.safetensors" "$work/variant.safetensors"
    fi
    "$chordseq" variant -q -m "$work/variant.$seed.safetensors" -f "$work/hg38.fa" --ends fill \
        --tsv "$work/variant.$seed.scores" -o /dev/null "$work/test.vcf"
    "$python" "$here/evaluate.py" score "$work" "$work/variant.$seed.scores" seed $seed 0 >> "$work/evaluation.tsv"
done
cat "$work/evaluation.tsv"
