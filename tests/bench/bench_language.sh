#!/bin/sh
# bench_language.sh - a human language model compared with Markov chains: perplexity, and AUROC on labelled variants.
#
# Usage   CS_SHARED=DIR tests/bench/bench_language.sh [WORK]      (make bench-language)
#
# Chains are counted on the sequence that the model was trained on, and see the same places of chromosomes 20
# and 21 and the same variants (language.py). Files that exist in WORK are reused. The chains take about a
# minute of processor time, every model some three.
#
# Environment, all optional
#   MODELS   default human-lm=refdata/model/human-lm.safetensors; names, '=' and files
#   SITES    default 1500, of each chromosome, three windows per site; with CS_QUICK=1 30
#   ORDERS   default "5 8", with CS_QUICK=1 2
set -eu

. "$(dirname "$0")/lib.sh"
human=$CS_SHARED/data/human_ve splice=$CS_SHARED/data/splice
need_data "$human"
need_data "$splice"
need_python numpy python3-numpy
scratch "$@"
[ -z "$CS_QUICK" ] || : "${SITES:=30}" "${ORDERS:=2}"
: "${MODELS:=human-lm=$srcdir/refdata/model/human-lm.safetensors}" "${SITES:=1500}" "${ORDERS:=5 8}"

[ -e "$tmp/tissue.vcf" ] || "$python" "$bench/language.py" prepare "$human" "$splice" "$tmp" "$SITES"
# shellcheck disable=SC2086 # a list of numbers
[ -e "$tmp/chains.log" ] || {
    "$python" "$bench/language.py" chains "$tmp" $ORDERS 2> "$tmp/chains.log.tmp"
    mv "$tmp/chains.log.tmp" "$tmp/chains.log"
}
cat "$tmp/chains.log" >&2

# score NAME MODEL SET REFERENCE: a window as wide as the layers of 6 reach gives the scores of a wider one
score()
{
    [ -e "$tmp/$1.$3.tsv" ] || "$chordseq" variant -q -@ 1 -m "$2" --score llr -w 512 --ends fill --max-unknown 0.9 \
        -f "$tmp/$4.fa" --tsv "$tmp/$1.$3.tsv" -o /dev/null "$tmp/$3.vcf"
}
named=
for m in $MODELS; do
    name=${m%%=*}
    score "$name" "${m#*=}" sites hg38
    score "$name" "${m#*=}" splice contigs
    score "$name" "${m#*=}" tissue hg38
    named="$named $name=$tmp/$name.sites.tsv,$tmp/$name.splice.tsv,$tmp/$name.tissue.tsv"
done
# shellcheck disable=SC2086 # one per model
"$python" "$bench/language.py" table "$tmp" $named
