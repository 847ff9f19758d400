#!/bin/sh
# train.sh - how default.safetensors, fast.safetensors and accurate.safetensors were made; see README.md.
#
# Usage   refdata/model/train.sh CHORDSEQ TAXA_DIR TAXA2_DIR WORK_DIR [OPTION...]
#
# Writes WORK_DIR/bag.safetensors, a bag of 6-mers, and WORK_DIR/frames.safetensors, a bag of 6-mers and
# of codons and amino acid pairs of open reading frames; labelled.safetensors and framed.safetensors
# with the same weights and the classes' places in NCBI's taxonomy; table.safetensors, the latter with a
# table of peptide words; and proteins.safetensors and accurate.safetensors, with a protein database
# besides. calibrate.sh takes labelled.safetensors (fast), proteins.safetensors (default) and
# accurate.safetensors. With FOLD=0 to 4 in the environment, that fold is held out instead of the groups
# that the models are calibrated on, and the weights of table and database are fitted to it; otherwise
# these are the mean of the weights in WORK_DIR/fold0 to WORK_DIR/fold4, which are made before. The
# result depends on the options and the input alone, not on the number of threads; more options may
# follow. TAXA2_DIR and EVERY: see prepare.sh.
set -eu
chordseq=$1 taxa=$2 taxa2=$3 work=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)

"$here/prepare.sh" "$taxa" "$taxa2" "$work"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# learn NAME EPOCHS OPTION...: a bag of the tokenizer that the options name
learn() {
    name=$1 epochs=$2
    shift 2
    "$chordseq" train -v --label-key class --label-map "$here/classes.tsv" \
        --split "$work/split.tsv" \
        --encoder chordmixer --encoder.track 4 --encoder.hidden 32 \
        --encoder.init identity --encoder.depth none \
        --head.norm layer --head.hidden 512 --head.dropout 0.25 \
        --crop-min 250 --crop-max 60000 --crop-power 1.4 --class-balance 1 --group-balance 0.5 \
        --length-power 0.5 --rc --samples-per-epoch 25000 --valid-samples 2800 --step-records 128 \
        --lr 0.005 --weight-decay 0.3 --warmup 100 --epochs "$epochs" --ema 0.998 --seed 1 \
        --metrics "$work/$name.tsv" -o "$work/$name.safetensors" --input-list "$work/inputs" "$@"
}
learn bag 14 --encoder.max-len 8388608 --batch-tokens 32768 --tokenizer kmer --tokenizer.k 6 \
    --tokenizer.stride 1 --tokenizer.canonical "$@"
# Two crops in five have sequencing errors, for long reads.
learn frames 12 --encoder.max-len 8000000 --batch-tokens 100000 --tokenizer orf \
    --mutate 0.03 --mutate-indels 0.03 --mutate-share 0.4 --samples-per-epoch 30000 "$@"
"$chordseq" model label --taxonomy "$here/taxonomy.tsv" "$work/bag.safetensors" \
    "$work/labelled.safetensors"
"$chordseq" model label --taxonomy "$here/taxonomy.tsv" "$work/frames.safetensors" \
    "$work/framed.safetensors"

# The table and the databases: peptide words and proteins of the records whose part is train.
# add ACTION FROM TO OPTION...
add() {
    action=$1 from=$2 to=$3
    shift 3
    [ -n "${FOLD:-}" ] || for k in 0 1 2 3 4; do
        set -- "$@" --weights "$work/fold$k/$to.safetensors"
    done
    "$chordseq" model "$action" --label-key class --label-map "$here/classes.tsv" \
        --split "$work/split.tsv" --input-list "$work/inputs" "$@" \
        "$work/$from.safetensors" "$work/$to.safetensors"
}
add lookup framed table --sample 1 --size 4900k
add proteins table proteins --size 7600k
# A quarter of the crops that the weights are fitted to have sequencing errors.
add proteins table accurate --size 30400k --crops 20000 \
    --mutate 0.05 --mutate-indels 0.05 --mutate-share 0.25
