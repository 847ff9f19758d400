#!/bin/sh
# train_taxa.sh - how refdata/model/taxa.safetensors was made; see TAXA.md beside it.
#
# Usage   refdata/model/train_taxa.sh CHORDSEQ TAXA_DIR TAXA2_DIR WORK_DIR [OPTION...]
#
# Writes WORK_DIR/bag.safetensors, a bag of 6-mers and of codons and amino acid pairs of open reading
# frames with the head `tree`; table.safetensors, the same with a table of peptide words; and
# taxa.safetensors, with a database of proteins as well. With FOLD=0 to 4 in the environment that fold is
# held out, and the weights of table and proteins are fitted to it; without, they are the mean of those in
# WORK_DIR/fold0 to WORK_DIR/fold4, which are made before. Ten minutes of two cores. The result does not
# depend on the number of threads; more options may follow. Records that pieces.tsv cuts up have no label
# and are left out.
set -eu
chordseq=$1 taxa=$2 taxa2=$3 work=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)

"$here/prepare.sh" "$taxa" "$taxa2" "$work"
xzcat "$here/taxa.tsv.xz" | cut -f 1,2 > "$work/labels.tsv"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

"$chordseq" train -v --labels "$work/labels.tsv" --skip-unlabelled --split "$work/split.tsv" \
    --taxonomy "$here/taxa_tree.tsv" --head tree \
    --class-weights "$(paste -s -d , "$here/taxa_weights.txt")" \
    --encoder chordmixer --encoder.track 4 --encoder.hidden 32 --encoder.init identity \
    --encoder.depth none --encoder.max-len 8000000 --batch-tokens 100000 --tokenizer orf \
    --head.norm layer --head.hidden 512 --head.dropout 0.25 \
    --crop-min 250 --crop-max 60000 --crop-power 1.4 --class-balance 0.5 --group-balance 0.5 \
    --length-power 0.5 --rc --samples-per-epoch 30000 --valid-samples 2800 --step-records 128 \
    --mutate 0.03 --mutate-indels 0.03 --mutate-share 0.4 \
    --lr 0.005 --weight-decay 0.3 --warmup 100 --epochs 12 --ema 0.998 --seed 1 \
    --metrics "$work/bag.tsv" -o "$work/bag.safetensors" --input-list "$work/inputs" "$@"

# add ACTION FROM TO OPTION...
add() {
    action=$1 from=$2 to=$3
    shift 3
    [ -n "${FOLD:-}" ] || for k in 0 1 2 3 4; do
        set -- "$@" --weights "$work/fold$k/$to.safetensors"
    done
    "$chordseq" model "$action" --labels "$work/labels.tsv" --skip-unlabelled --split "$work/split.tsv" \
        --top-taxa archaea,bacteria,eukaryota,mitochondrion,plasmid,plastid,virus \
        --input-list "$work/inputs" "$@" "$work/$from.safetensors" "$work/$to.safetensors"
}
add lookup bag table --sample 1 --size 4900k
add proteins table taxa --size 7600k
