#!/bin/sh
# bench_factorize.sh - sparse factors compared with the truncated SVD on matrices of 256 x 256; TSV to
# stdout.
#
#   tests/bench/bench_factorize.sh       from the build folder; `make bench-factorize`
. "$(dirname "$0")/lib.sh"
scratch

printf 'matrix\tmethod\tfactors_or_rank\tnonzeros\terror\trelative_error\twall_s\n'
for kind in image sparse low-rank; do
    "$builddir/tests/bench/gen_matrix" $kind 256 1 "$tmp/$kind.npy" || exit 1
    start=$(date +%s.%N)
    "$chordseq" factorize -i "$tmp/$kind.npy" "$@" > "$tmp/out" || exit 1
    end=$(date +%s.%N)
    awk -v kind=$kind -v s="$start" -v e="$end" \
        'NR > 1 { printf "%s\t%s\t%.1f\n", kind, $0, e - s }' "$tmp/out"
done
