#!/bin/sh
# calibrate.sh - how the conditions for calls of default.safetensors, fast.safetensors and
# accurate.safetensors were fitted; see README.md beside it.
#
# Usage   refdata/model/calibrate.sh CHORDSEQ TAXA_DIR TAXA2_DIR WORK MODEL OUT
#
# MODEL is proteins.safetensors, labelled.safetensors or accurate.safetensors in WORK, which has what
# train.sh wrote: the pieces, and for each fold a model of MODEL's name that was not trained on it
# (fold0/proteins.safetensors ...). These predict pieces of their folds, 60 to 100,000 bp, seed 2; table
# and database have the mean of the weights of the other four folds. OUT gets MODEL's weights in the
# compact form, with temperatures, error rates per class and length, the minimum length and the
# test for sequences unlike the training data. With FOLD=0 to 4 in the environment that fold's
# predictions are left out, so that its families can judge the result.
set -eu
chordseq=$1 taxa=$2 taxa2=$3 work=$4 model=$5 out=$6
here=$(cd "$(dirname "$0")" && pwd)
families=$here/../../tests/bench/model/families.py
lengths=60,75,100,125,150,175,200,250,300,400,500,700,1000,1400,2000,3500,5000,7000,10000,20000,30000
lengths=$lengths,50000,100000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# fold_model K: MODEL for fold K, with weights of table and database that were not fitted on it, in
# foldK/others.safetensors (default) or foldK/others-accurate.safetensors
fold_model() {
    name=${model##*/} k=$1
    shift
    to=$work/fold$k/others
    case $name in
    labelled.safetensors) echo "$work/fold$k/$name"; return ;;
    accurate.safetensors) to=$to-accurate ;;
    esac
    for other in 0 1 2 3 4; do
        [ "$other" = "$k" ] || set -- "$@" --weights "$work/fold$other/$name"
    done
    "$chordseq" model lookup "$@" "$work/fold$k/$name" \
        "$work/fold$k/other-table.safetensors"
    "$chordseq" model proteins "$@" "$work/fold$k/other-table.safetensors" "$to.safetensors"
    echo "$to.safetensors"
}

given=
for fold in 0 1 2 3 4; do
    "${PYTHON:-python3}" "$families" "$here/groups.tsv.xz" "$fold" "$taxa"/*.fa.gz "$taxa2"/*.fa.gz \
        "$work/pieces.fa" --out "$tmp/$fold" --seed 2 --lengths "$lengths"
    cat "$tmp/$fold"/*.fa > "$tmp/all.fa"
    "$chordseq" eval -m "$(fold_model "$fold")" --strand both --label-key class \
        -i "$tmp/all.fa" -o /dev/null --scores "$tmp/$fold.tsv"
    # Sequences unlike the training data: 60 pieces of a class and length, 30 from 10,000 bp on.
    for file in "$tmp/$fold"/*.fa; do
        length=$(basename "$file" .fa)
        awk -F '|' -v n=$((length < 10000 ? 60 : length < 100000 ? 30 : 0)) \
            '/^>/ { keep = $2 < n } keep' "$file"
    done > "$tmp/few$fold.fa"
    rm -r "${tmp:?}/$fold" "$tmp/all.fa"
    [ "$fold" = "${FOLD:-}" ] || given="$given --scores $tmp/$fold.tsv -i $tmp/few$fold.fa"
done
# shellcheck disable=SC2086 # a list of options
"$chordseq" model calibrate "$model" "$tmp/called.safetensors" $given --label-key class \
    --bins 100,200,300,500,1000,2000,5000,10000,30000 --max-error 0.1
"$chordseq" model compact "$tmp/called.safetensors" "$out"
