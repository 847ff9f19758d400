#!/bin/sh
# bench_pretrain.sh - pretraining on slices of hg38 compared with Markov chains on the same chromosome.
#
# Usage   CS_SHARED=DIR tests/bench/bench_pretrain.sh [WORK]      (make bench-pretrain)
#
# Chromosome 1 is excluded as the test set of variants; chromosome 20 is for validation, 21 for
# validation of variants. Prints one table: the chains of several orders on all of
# chromosome 20, the networks on the masked bases, 15 %, of 200 windows of 1,000 of it (their
# number is not printed). Takes some 20 minutes per network on one core; models stay in WORK
# if given. CS_QUICK=1: a few steps.
set -eu

. "$(dirname "$0")/lib.sh"
fasta=$CS_SHARED/data/human_ve/hg38_slices.fa.gz
need_data "$fasta"
need_python numpy python3-numpy
scratch "$@"
windows=1000 valid=200 orders='0 2 5 8 9 10 11' cdil_epochs=9 mixer_epochs=6
[ -z "$CS_QUICK" ] || windows=20 valid=10 orders='0 2' cdil_epochs=1 mixer_epochs=1

pretrain()
{
    name=$1
    shift
    "$chordseq" pretrain --tokenizer base --window 1000 --windows-per-epoch $windows \
        --valid-windows $valid --val-contigs chr20 --skip-contigs chr1,chr21 --rc -B 8192 --lr 0.002 \
        --seed 1 --threads 1 -o "$tmp/$name.safetensors" \
        --metrics "$tmp/$name.tsv" "$@" "$fasta" >&2
    # The lowest loss of any epoch, which is that of the model that was kept.
    awk -F '\t' -v name="$name" 'NR > 1 && (best == "" || $6 < best) { best = $6; row = $0 }
        END { split(row, c, "\t"); printf "%s\t-\t-\t%s\t%s\t%s\n", name, c[6], c[12], c[7] }' \
        "$tmp/$name.tsv"
}

# shellcheck disable=SC2086 # a list of numbers
"$python" "$bench/markov.py" "$fasta" chr20 chr1,chr21 $orders
pretrain cdil --epochs $cdil_epochs --encoder cdil --encoder.channels 64 --encoder.layers 7
pretrain chordmixer --epochs $mixer_epochs --encoder chordmixer --encoder.max-len 1024 \
    --encoder.track 8 --encoder.hidden 128
