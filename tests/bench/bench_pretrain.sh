#!/bin/sh
# bench_pretrain.sh - pretraining on slices of hg38 beside Markov chains on the same chromosome.
#
# Usage   CS_SHARED=DIR tests/bench/bench_pretrain.sh [WORK]      (make bench-pretrain)
#
# Chromosome 1 is what variants are tested on and is not seen here; chromosome 20 is kept aside for
# validation, 21 for that of variants. Prints one table: the chains of several orders on all of
# chromosome 20, the networks on 200 windows of it. Takes some 20 minutes per network on one core;
# the models stay in WORK if it was given.
set -eu

top=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
chordseq=${builddir:-.}/chordseq
fasta=${CS_SHARED:-$top/../shared}/data/human_ve/hg38_slices.fa.gz
python=${PYTHON3:-/usr/bin/python3}
here=$top/tests/bench

[ -f "$fasta" ] || { echo "bench_pretrain: SKIP: '$fasta' is not there"; exit 0; }
"$python" -c 'import numpy' 2>/dev/null ||
    { echo "bench_pretrain: '$python' has no numpy (Debian: python3-numpy)" >&2; exit 1; }
if [ $# -gt 0 ]; then
    work=$1
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

pretrain()
{
    name=$1
    shift
    "$chordseq" pretrain --tokenizer base --window 1000 --windows-per-epoch 1000 \
        --valid-windows 200 --val-contigs chr20 --skip-contigs chr1,chr21 --rc -B 8k --lr 0.002 \
        --seed 1 --threads 1 -o "$work/$name.safetensors" \
        --metrics "$work/$name.tsv" "$@" "$fasta" >&2
    # The lowest loss of any epoch, which is that of the model that was kept. Of 200,000 bases about
    # 15 % are hidden, and only those are told.
    awk -F '\t' -v name="$name" 'NR > 1 && (best == "" || $6 < best) { best = $6; row = $0 }
        END { split(row, c, "\t"); printf "%s\t-\t30000\t%s\t%s\t%s\n", name, c[6], c[12], c[7] }' \
        "$work/$name.tsv"
}

"$python" "$here/markov.py" "$fasta" chr20 chr1,chr21 0 2 5 8 9 10
pretrain cdil --epochs 9 --encoder cdil --encoder.channels 64 --encoder.layers 7
pretrain chordmixer --epochs 6 --encoder chordmixer --encoder.max-len 1024 \
    --encoder.track 8 --encoder.hidden 128
