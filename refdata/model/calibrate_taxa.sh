#!/bin/sh
# calibrate_taxa.sh - how the calls of refdata/model/taxa.safetensors were calibrated; see TAXA.md beside it.
#
# Usage   refdata/model/calibrate_taxa.sh CHORDSEQ TAXA_DIR TAXA2_DIR WORK OUT
#
# WORK has what train_taxa.sh wrote, with WORK/fold0 to WORK/fold4. Each fold's model, with the mean of
# the other folds' weights of table and proteins (written to WORK/foldK/others.safetensors), predicts
# fragments of its fold whose taxon is known, 100 to 50,000 bp, seed 2. OUT gets the model in the compact
# form, with temperatures and the probability from which calls of a length are right. With FOLD=0 to 4 in
# the environment that fold's predictions are left out, and OUT is the calibrated model of that fold, so
# that its families can judge it.
set -eu
chordseq=$1 taxa=$2 taxa2=$3 work=$4 out=$5
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../tests/bench/model
python=${PYTHON:-python3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

given=
for fold in 0 1 2 3 4; do
    set --
    for other in 0 1 2 3 4; do
        [ "$other" = "$fold" ] || set -- "$@" --weights "$work/fold$other/taxa.safetensors"
    done
    "$chordseq" model lookup "$@" "$work/fold$fold/taxa.safetensors" "$tmp/table.safetensors"
    "$chordseq" model proteins "$@" "$tmp/table.safetensors" "$work/fold$fold/others.safetensors"
    [ "$fold" = "${FOLD:-}" ] && continue
    "$python" "$model/families.py" "$here/groups.tsv.xz" "$fold" "$taxa"/*.fa.gz "$taxa2"/*.fa.gz \
        "$work/fold$fold/pieces.fa" --out "$tmp/$fold" --seed 2 \
        --lengths 100,150,200,300,500,700,1000,1400,2000,3000,5000,7000,10000,20000,50000
    cat "$tmp/$fold"/*.fa > "$tmp/all.fa"
    rm -r "${tmp:?}/$fold"
    "$python" "$model/ranks.py" labels "$here/taxa.tsv.xz" "$tmp/all.fa" > "$tmp/labels.tsv"
    "$chordseq" eval -m "$work/fold$fold/others.safetensors" --strand both \
        --labels "$tmp/labels.tsv" --skip-unlabelled -i "$tmp/all.fa" -o /dev/null --scores "$tmp/$fold.tsv"
    given="$given --scores $tmp/$fold.tsv"
done
from=$work/taxa.safetensors
[ -z "${FOLD:-}" ] || from=$work/fold$FOLD/others.safetensors
# shellcheck disable=SC2086 # a list of options
"$chordseq" model calibrate "$from" "$tmp/called.safetensors" $given \
    --bins 200,500,1000,2000,5000,10000,30000 --max-error 0.1
"$chordseq" model compact "$tmp/called.safetensors" "$out"
