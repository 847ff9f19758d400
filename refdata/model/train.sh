#!/bin/sh
# train.sh - how refdata/model/default.safetensors was made; see README.md beside it.
#
# Usage   refdata/model/train.sh CHORDSEQ TAXA_DIR WORK_DIR [OPTION...]
#
# Writes WORK_DIR/default.safetensors. The result depends on the options and the input alone, not on
# the number of threads; more options (--threads, --max-time, --resume) may follow.
set -eu
chordseq=$1 taxa=$2 work=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
LC_ALL=C awk -f "$here/split.awk" "$taxa/manifest.tsv" > "$work/split.tsv"
for name in archaea bacteria plasmid virus_euk virus_phage mitochondrion plastid nuclear_fungi \
    nuclear_invertebrate nuclear_plant nuclear_protist nuclear_vertebrate; do
    set -- "$@" -i "$taxa/$name.fa.gz"
done
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
exec "$chordseq" train -v --label-key class --label-map "$here/classes.tsv" \
    --split "$work/split.tsv" \
    --tokenizer kmer --tokenizer.k 6 --tokenizer.stride 3 --tokenizer.canonical \
    --encoder chordmixer --encoder.max-len 8M --encoder.track 4 --encoder.hidden 64 \
    --encoder.init identity \
    --crop-min 250 --crop-max 60000 --crop-power 1.8 --class-balance 1 --length-power 0.5 --rc \
    --samples-per-epoch 16384 --valid-samples 1400 --step-records 64 --batch-tokens 32k \
    --lr 0.006 --weight-decay 0.05 --ema 0.998 --warmup 100 --epochs 18 --seed 1 \
    --metrics "$work/metrics.tsv" -o "$work/default.safetensors" "$@"
