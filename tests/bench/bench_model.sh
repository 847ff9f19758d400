#!/bin/sh
# bench_model.sh - the default model beside two models on 5-mer frequencies, on validation organisms.
#
# Usage   CS_SHARED=DIR tests/bench/bench_model.sh [WORK]      (make bench-model)
#
# Cuts fragments of five lengths from the validation side of refdata/model/split.awk, and fragments of
# the training side for the baselines (a logistic regression and a multi-layer perceptron, scikit-learn),
# scores all three on the same fragments and prints one table: method, length, balanced accuracy,
# recall of each class. Takes some ten minutes and 3 GB of disk under WORK, which is removed unless
# it was given.
set -eu

top=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
chordseq=${builddir:-.}/chordseq
model=${CS_MODEL:-$top/refdata/model/default.safetensors}
taxa=${CS_SHARED:-$top/../shared}/data/taxa
python=${PYTHON3:-/usr/bin/python3}
here=$top/tests/bench/model
lengths=500,1000,3000,10000,50000

[ -d "$taxa" ] || { echo "bench_model: SKIP: '$taxa' is not there"; exit 0; }
"$python" -c 'import sklearn' 2>/dev/null ||
    { echo "bench_model: '$python' has no scikit-learn (Debian: python3-sklearn)" >&2; exit 1; }
if [ $# -gt 0 ]; then
    work=$1
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

LC_ALL=C awk -f "$top/refdata/model/split.awk" "$taxa/manifest.tsv" > "$work/split.tsv"
"$python" "$here/fragments.py" "$taxa" "$work/split.tsv" valid "$work/valid" \
    --lengths "$lengths" --per-class 300 --seed 1
"$python" "$here/fragments.py" "$taxa" "$work/split.tsv" train "$work/train" \
    --lengths "$lengths" --per-class 3000 --seed 2
"$python" "$here/baseline.py" "$work/train" "$work/valid" "$work/baseline.tsv" >&2

# The table: what `eval` says of each length, as one row of the baselines' form.
cat "$work/baseline.tsv"
classes=$(head -n 1 "$work/baseline.tsv" | cut -f 4-)
for length in $(echo "$lengths" | tr ',' ' '); do
    "$chordseq" eval -q -m "$model" --label-key class -o "$work/eval.tsv" "$work/valid/valid_$length.fa"
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
        }' "$work/eval.tsv"
done
