#!/bin/sh
# bench_mem.sh - does memory depend on the size of the input? TSV to stdout, the ratio last.
#
#   tests/bench/bench_mem.sh [BASES...]      from the build folder; default 200M 2G (about)
#
# Inputs have records of the same lengths (500 to 50,000), are generated while they are read, and go
# through a small model, so that 2 Gbases take minutes; the memory of the queues does not depend on
# the model. The last line is the peak of the last input over that of the first.
: "${builddir:=.}"
[ $# -gt 0 ] || set -- 200M 2G
tmp=$(mktemp -d "${TMPDIR:-/tmp}/chordseq-bench.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$builddir/tests/cli/make_model" "$tmp/model" 1 tokenizer=kmer tokenizer.k=6 tokenizer.stride=6 \
    encoder.max-len=16k encoder.track=1 encoder.hidden=4 || exit 1
printf 'input_bases\tpeak_KiB\twall_s\tcpu_s\trecords\n'
for n in "$@"; do
    "$builddir/tests/bench/gen_fasta" "$n" 1 |
        "$builddir/tests/bench/peak" "$builddir/chordseq" classify -q -m "$tmp/model" \
            ${THREADS:+-@ "$THREADS"} -o "$tmp/out.tsv" - 3> "$tmp/peak" || exit 1
    printf '%s\t%s\t%s\n' "$n" "$(cat "$tmp/peak")" "$(($(wc -l < "$tmp/out.tsv") - 1))"
    cut -f 1 "$tmp/peak" >> "$tmp/all"
done
awk 'NR == 1 { first = $1 } { last = $1 } END { printf "ratio\t%.3f\n", last / first }' "$tmp/all"
