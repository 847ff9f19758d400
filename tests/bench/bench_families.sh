#!/bin/sh
# bench_families.sh - a model on organisms of families that are not in its training set.
#
# Usage   CS_SHARED=DIR tests/bench/bench_families.sh [WORK]      (make bench-families)
#
# Draws fragments of six lengths from the groups of refdata/model/groups.tsv.xz that CS_FOLD names
# (seed 1, 250 per class and length where there are as many), classifies them with CS_MODEL and prints
# a row per length: balanced accuracy, its standard error, recall of each class. CS_FOLD=valid, the
# groups held out from the default model, or 0 to 4, for a model of train.sh without that
# fold. CS_FASTA names further files of records (the pieces cut by train.sh). CS_ERRORS=0.04 gives the
# fragments sequencing errors at that rate, a third each substitutions, insertions and deletions.
# CS_LENGTHS: the lengths. No training.
set -eu

. "$(dirname "$0")/lib.sh"
model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}

need_data "$CS_SHARED/data/taxa2"
scratch "$@"

lengths=${CS_LENGTHS:-150 500 1000 3000 10000 50000}
family_fragments "${CS_FOLD:-valid}" "$tmp/fragments" --lengths "$(echo "$lengths" | tr ' ' ,)"
printf 'length\tbalanced_accuracy\tstandard_error'
printf '\t%s' archaea bacteria eukaryota mitochondrion plasmid plastid virus
echo
for length in $lengths; do
    fasta=$tmp/fragments/$length.fa
    if [ -n "${CS_ERRORS:-}" ]; then
        rate=$(awk -v all="$CS_ERRORS" 'BEGIN { printf "%.17g", all / 3 }')
        "$python" "$bench/model/sequencing_errors.py" "$fasta" "$tmp/errors.fa" "$rate" "$rate" \
            "${CS_SEED:-1} $CS_ERRORS"
        fasta=$tmp/errors.fa
    fi
    "$chordseq" classify -q -m "$model" --min-prob 0 -i "$fasta" |
        awk -F '\t' -v length_bp="$length" '
        NR > 1 { split($1, part, "|"); n[part[1]]++; right[part[1]] += $3 == part[1] }
        END {
            n_class = split("archaea bacteria eukaryota mitochondrion plasmid plastid virus", c, " ")
            for (i = 1; i <= n_class; i++) {
                recall = n[c[i]] ? right[c[i]] / n[c[i]] : 0
                row = row sprintf("\t%.3f", recall)
                sum += recall
                if (n[c[i]])
                    variance += recall * (1 - recall) / n[c[i]]
            }
            printf "%s\t%.3f\t%.3f%s\n", length_bp, sum / n_class, sqrt(variance) / n_class, row
        }'
done
