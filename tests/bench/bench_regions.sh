#!/bin/sh
# bench_regions.sh - regions of another class in long sequences, of families outside of training.
#
# Usage   CS_SHARED=DIR CS_MODELS=W/fold%/others.safetensors tests/bench/bench_regions.sh [WORK]      (make bench-regions)
#
# Prophages of refdata/model/pieces.tsv in their chromosomes, bacteria without any, nuclear sequences with and without
# insertions of mitochondria and plastids: model/regions.py, seed 1. Each fold of CS_FOLDS (default: 0 1 2 3 4) is read by
# the model of CS_MODELS without it, % standing for the fold: what refdata/model/calibrate.sh left in W/fold0 to
# W/fold4. Prints rows of set and measure: of the first fold, then of the others together, on which window and
# penalty of `chordseq predict` were chosen.
#
# Environment, optional
#   CS_OPTIONS    options for `chordseq predict`, such as --window-length 1000
#   CS_SEED       another draw of sequences
set -eu

. "$(dirname "$0")/lib.sh"
need_data "$CS_SHARED/data/taxa2"
: "${CS_MODELS:=}" "${CS_FOLDS:=0 1 2 3 4}"
[ -n "$CS_MODELS" ] || { echo "# CS_MODELS names no models of folds" >&2; exit 77; }
scratch "$@"
"$srcdir/refdata/model/fetch.sh" "$tmp" > "$tmp/files"

# score NAME FOLD...: rows of these folds
score()
{
    part=$1 folders='' beds=''
    shift
    for fold in "$@"; do
        folders=$folders${folders:+,}$tmp/$fold
        beds="$beds $tmp/$fold/regions.bed"
    done
    # shellcheck disable=SC2086 # a list of files
    "$python" "$bench/model/regions.py" score "$folders" $beds | sed "1d; s/^/$part\t/"
}

for fold in $CS_FOLDS; do
    # shellcheck disable=SC2046 # a list of files
    "$python" "$bench/model/regions.py" draw "$srcdir/refdata/model/groups.tsv.xz" \
        "$srcdir/refdata/model/pieces.tsv" "$fold" "$CS_SHARED" $(cat "$tmp/files") --out "$tmp/$fold" \
        --seed "${CS_SEED:-1}"
    model=$(echo "$CS_MODELS" | sed "s/%/$fold/")
    # shellcheck disable=SC2086 # a list of options
    "$chordseq" predict -q --force -m "$model" ${CS_OPTIONS:-} "$tmp/$fold/all.fa" -o "$tmp/$fold/regions.bed"
done
printf 'folds\tset\tmeasure\tvalue\tof\n'
# shellcheck disable=SC2086 # a list of folds
set -- $CS_FOLDS
score "$1" "$1"
shift
[ $# -eq 0 ] || score "$(echo "$*" | tr ' ' ,)" "$@"
