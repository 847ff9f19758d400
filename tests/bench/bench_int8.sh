#!/bin/sh
# bench_int8.sh - speed of one block in int8, and accuracy of the default model in int8.
#
# Usage   CS_SHARED=DIR tests/bench/bench_int8.sh [WORK]      (make bench-int8)
#
# Prints two tables: that of tests/bench/bench_int8 (x86-64 only), and one of fragments of
# 1,000 bases from the validation side of refdata/model/split.awk: part of the network in int8,
# records, balanced accuracy, percent of calls that differ from single precision's. Its first row is
# the program's result for these fragments; the others are simulated (tests/bench/int8.py),
# with ranges from as many fragments of the training side. 15 s of processor time. CS_QUICK=1: ten
# fragments per class instead of 300, with meaningless results.
set -eu

. "$(dirname "$0")/lib.sh"
model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}
taxa=$CS_SHARED/data/taxa
speed=$builddir/tests/bench/bench_int8
n=300
[ -z "$CS_QUICK" ] || n=10

if [ -e "$speed" ]; then
    "$speed" || [ $? -eq 77 ]
else
    echo "# '$speed' is not there: 'make bench-int8' builds it, on x86-64"
fi
need_data "$taxa"
need_python numpy python3-numpy
scratch "$@"

LC_ALL=C awk -f "$srcdir/refdata/model/split.awk" "$taxa/manifest.tsv" > "$tmp/split.tsv"
for side in train valid; do
    "$python" "$bench/model/fragments.py" "$taxa" "$tmp/split.tsv" $side "$tmp" --lengths 1000 \
        --per-class $n --seed 1
    "$chordseq" tokenize -q -m "$model" --format ids -o "$tmp/$side.tsv" "$tmp/${side}_1000.fa"
done
printf 'int8\trecords\tbalanced_accuracy\tother_calls_percent\n'
"$chordseq" eval -q -@ 1 -m "$model" --label-key class -o "$tmp/eval.tsv" "$tmp/valid_1000.fa"
awk -F '\t' '$1 != "record" || $2 != "all" || $3 != "." { next }
    { value[$4] = $5 }
    END { printf "program\t%d\t%.4f\t.\n", value["records"], value["balanced_accuracy"] }' \
    "$tmp/eval.tsv"
"$python" "$bench/int8.py" "$model" "$tmp/train.tsv" "$tmp/valid.tsv" "$tmp/valid_1000.fa"
