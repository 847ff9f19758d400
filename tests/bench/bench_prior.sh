#!/bin/sh
# bench_prior.sh - calls of mixtures of classes with shares by classify --prior, on families excluded from training.
#
# Usage   CS_SHARED=DIR FOLDS=DIR tests/bench/bench_prior.sh > prior.tsv    (make bench-prior)
#
# FOLDS has fold0 to fold4, made by `FOLD=K refdata/model/train.sh`. Each fold's model has the weights of table and
# database of the other folds, and is calibrated on fragments of the other folds (families.py, seed 5, 800 per class
# and length where there are as many). Its own fragments are mixed as model/mixtures.py describes, which prints the rows.
set -eu

. "$(dirname "$0")/lib.sh"
folds=${FOLDS:?names the folder with fold0 to fold4 of refdata/model/train.sh}
lengths=${CS_LENGTHS:-500,1000,3000,10000}

need_data "$CS_SHARED/data/taxa2"
scratch

for fold in 0 1 2 3 4; do
    CS_SEED=5 CS_FASTA=$folds/fold$fold/pieces.fa family_fragments $fold "$tmp/$fold" --lengths "$lengths" --per-class 800
    fold_model "$folds" $fold proteins "$tmp/$fold.model"
    cat "$tmp/$fold"/*.fa > "$tmp/all.fa"
    "$chordseq" eval -q -m "$tmp/$fold.model" --strand both --label-key class -i "$tmp/all.fa" -o /dev/null \
        --scores "$tmp/$fold.tsv"
    awk -F '|' '/^>/ { keep = $2 < 60 } keep' "$tmp/all.fa" > "$tmp/$fold.few"
done
set --
for fold in 0 1 2 3 4; do
    given=
    for k in 0 1 2 3 4; do [ $k = $fold ] || given="$given --scores $tmp/$k.tsv -i $tmp/$k.few"; done
    # shellcheck disable=SC2086 # a list of options
    "$chordseq" model calibrate -q "$tmp/$fold.model" "$tmp/$fold.called" $given --label-key class \
        --bins 700,2000,5000 --max-error 0.1
    set -- "$@" "$tmp/$fold.called" "$tmp/$fold"
done
"$python" "$bench/model/mixtures.py" "$chordseq" "$lengths" "$@"
