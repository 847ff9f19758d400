#!/bin/sh
# bench_model.sh - the default model and two models of 5-mer frequencies on held-out families.
#
# Usage   CS_SHARED=DIR tests/bench/bench_model.sh [WORK]      (make bench-model)
#
# Cuts fragments of five lengths from the validation groups of refdata/model/groups.tsv.xz, and from
# the training groups for the baselines (a logistic regression and a multi-layer perceptron, scikit-learn),
# scores all three on the same fragments and prints one table: method, length, balanced accuracy,
# recall of each class. Takes some ten minutes and 3 GB of disk under WORK, which is removed at the
# end unless given.
set -eu

. "$(dirname "$0")/lib.sh"
model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}
here=$bench/model
lengths=500,1000,3000,10000,50000

need_data "$CS_SHARED/data/taxa2"
need_python sklearn python3-sklearn
scratch "$@"

# fragments SIDE PER_CLASS SEED: $tmp/SIDE/SIDE_LENGTH.fa
fragments()
{
    "$python" "$here/families.py" "$srcdir/refdata/model/groups.tsv.xz" "$1" \
        "$CS_SHARED"/data/taxa/*.fa.gz "$CS_SHARED"/data/taxa2/*.fa.gz --out "$tmp/$1" \
        --lengths "$lengths" --per-class "$2" --seed "$3"
    for length in $(echo "$lengths" | tr ',' ' '); do
        mv "$tmp/$1/$length.fa" "$tmp/$1/$1_$length.fa"
    done
}

fragments valid 300 1
fragments train 3000 2
"$python" "$here/baseline.py" "$tmp/train" "$tmp/valid" "$tmp/baseline.tsv" >&2

# The table: the metrics of `eval` for each length, as one row in the form of the baselines.
cat "$tmp/baseline.tsv"
classes=$(head -n 1 "$tmp/baseline.tsv" | cut -f 4-)
for length in $(echo "$lengths" | tr ',' ' '); do
    "$chordseq" eval -q -m "$model" --label-key class -o "$tmp/eval.tsv" "$tmp/valid/valid_$length.fa"
    awk -F '\t' -v length_bp="$length" -v classes="$classes" '
        $1 != "record" || $2 != "all" { next }
        $4 == "balanced_accuracy" { balanced = $5 }
        $4 == "recall" { recall[$3] = $5 }
        END {
            printf "chordseq\t%s\t%.4f", length_bp, balanced
            n = split(classes, c, "\t")
            for (i = 1; i <= n; i++)
                printf "\t%.4f", recall[c[i]]
            printf "\n"
        }' "$tmp/eval.tsv"
done
