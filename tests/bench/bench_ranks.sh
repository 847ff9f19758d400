#!/bin/sh
# bench_ranks.sh - the model `taxa` at each rank, on organisms of families that are not in its training set.
#
# Usage   CS_SHARED=DIR tests/bench/bench_ranks.sh [WORK]      (make bench-ranks)
#
# Draws fragments as bench_families.sh does and classifies them twice: every fragment called (columns
# all_*), and with the model's own thresholds (called_*). A row per length, class of the default model and
# rank: fragments with a taxon of that rank, share called by it or by a taxon below, share called by
# another taxon of that rank; and with thresholds, calls of taxa of this class and rank, and how many of
# them are wrong. The first column is the fold. CS_MODEL, CS_FOLD, CS_SEED and CS_FASTA as in
# bench_families.sh. No training. `tests/bench/model/ranks.py mean` makes a card's tables of it.
set -eu

. "$(dirname "$0")/lib.sh"
refdata=$srcdir/refdata/model
model=${CS_MODEL:-$refdata/taxa.safetensors}

need_data "$CS_SHARED/data/taxa2"
scratch "$@"

family_fragments "${CS_FOLD:-valid}" "$tmp/fragments"

# calls OPTION...: of $length
calls()
{
    "$chordseq" classify -q -m "$model" "$@" -i "$tmp/fragments/$length.fa" -o "$tmp/calls.tsv"
    "$python" "$bench/model/ranks.py" table "$refdata/taxa.tsv.xz" "$refdata/taxa_tree.tsv" \
        "$tmp/calls.tsv"
}
printf 'fold\tlength\ttop\trank\tn\tall_right\tall_other\tcalled_right\tcalled_other\tcalls\tcalls_wrong\n'
for length in 150 500 1000 3000 10000 50000; do
    calls --min-prob 0 | cut -f 1-5 > "$tmp/all.tsv"
    calls > "$tmp/called.tsv"
    cut -f 4-7 "$tmp/called.tsv" | paste "$tmp/all.tsv" - | sed "s/^/${CS_FOLD:-valid}	$length	/"
done
