#!/bin/sh
# train_language.sh - how refdata/model/human-lm.safetensors was made; see LANGUAGE.md beside it.
#
# Usage   refdata/model/train_language.sh CHORDSEQ HUMAN_VE_DIR WORK_DIR [OPTION...]
#
# Pretrains a CDIL network on hidden bases of hg38_slices, both strands, without the chromosomes that are kept aside (9, 12,
# 14, 15, 16, 19, 22; of these only 16 has slices) and without chromosome 21, which is for the test. Chromosome 20 is for
# validation. Writes WORK_DIR/language.safetensors (fp32) and WORK_DIR/human-lm.safetensors (bf16). Called again, it
# continues a run that was interrupted. Options of `chordseq pretrain` may follow.
set -eu
chordseq=$1 data=$2 work=$3
shift 3
mkdir -p "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

[ -e "$work/hg38.fa" ] || {
    gzip -cd "$data/hg38_slices.fa.gz" > "$work/hg38.fa.tmp"
    mv "$work/hg38.fa.tmp" "$work/hg38.fa"
}
resume=
[ ! -e "$work/language.safetensors.ckpt" ] || resume=--resume
"$chordseq" pretrain $resume --tokenizer base --window 1000 --rc --val-contigs chr20 --valid-windows 300 \
    --skip-contigs chr16,chr21 \
    --encoder cdil --encoder.convs one --encoder.depth all --encoder.layers 6 --encoder.channels 96 --encoder.kernel 9 \
    --mask-hide 1 --mask-swap 0 --decoder linear --batch-tokens 8192 --lr 0.006 --warmup 100 --ema 0.999 \
    --epochs 20 --windows-per-epoch 5000 --seed 1 --threads 1 --precision bf16 --checkpoint-steps 500 \
    --metrics "$work/language.tsv" -o "$work/language.safetensors" "$@" "$work/hg38.fa"
"$chordseq" model compact "$work/language.safetensors" "$work/human-lm.safetensors"
