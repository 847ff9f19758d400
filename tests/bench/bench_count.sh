#!/bin/sh
# bench_count.sh - instruction counts on fixed small inputs, compared with recorded ones; TSV to stdout.
#
#   tests/bench/bench_count.sh           from the build folder; `make bench-count`
#   CS_RECORD=1 tests/bench/bench_count.sh     writes tests/bench/results/count.tsv anew
#
# valgrind's callgrind counts inside one function, with one thread. Counts do not depend on the
# machine or its load, but on the compiler (recorded: gcc 12, -O2) and slightly on the C library. Exit status 1 if a count is more than 5 % above the recorded one: the
# commit that causes it explains it and records the new count. 77: no valgrind. Inputs are tiny,
# because valgrind computes multiply-adds one by one in software.
. "$(dirname "$0")/lib.sh"
command -v valgrind > /dev/null || { echo '# no valgrind'; exit 77; }
table=$bench/results/count.tsv
scratch

make_model "$tmp/narrow" 1 tokenizer=base encoder.max-len=131072 encoder.track=4 encoder.hidden=64
make_model "$tmp/wide" 1 tokenizer=base encoder.max-len=131072 encoder.track=16 encoder.hidden=128
make_model "$tmp/normed" 1 tokenizer=base encoder.track=4 encoder.hidden=64 encoder.norm=layer
gen_fasta 600 1 150 150 > "$tmp/reads.fa"
gen_fasta 150 4 150 150 > "$tmp/read.fa"
gen_fasta 1000 2 1000 1000 > "$tmp/contig.fa"
awk '/^>/ { $0 = $1 " class=" (++n % 2 ? "a" : "b") } 1' "$tmp/reads.fa" > "$tmp/labelled.fa"

# count NAME FUNCTION COMMAND... - one line: the name, and the instructions inside the function
count()
{
    what=$1 inside=$2
    shift 2
    OMP_WAIT_POLICY=passive valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect="$inside" "$@" > "$tmp/out" 2> "$tmp/err" ||
        { echo "# $what failed"; cat "$tmp/err"; exit 1; }
    n=$(sed -n 's/.*Collected : *//p' "$tmp/err")
    [ "${n:-0}" -gt 0 ] || { echo "# $what: $inside was not called"; exit 1; }
    printf '%s\t%s\n' "$what" "$n" >> "$tmp/count"
}

classify="$chordseq classify -q -@ 1"
printf 'what\tinstructions\n' > "$tmp/count"
count classify-reads-narrow  cs_session_forward $classify -m "$tmp/narrow" "$tmp/reads.fa"
count classify-read-wide     cs_session_forward $classify -m "$tmp/wide" "$tmp/read.fa"
count classify-contig-narrow cs_session_forward $classify -m "$tmp/narrow" "$tmp/contig.fa"
count classify-reads-normed  cs_session_forward $classify -m "$tmp/normed" "$tmp/reads.fa"
count train-narrow           cs_session_forward_backward "$chordseq" train -q --threads 1 \
    --label-key class --tokenizer base --encoder.track 4 --encoder.hidden 64 --encoder.max-len 256 \
    --epochs 1 --samples-per-epoch 4 --crop-min 100 --crop-max 100 --seed 1 \
    -o "$tmp/trained" "$tmp/labelled.fa"

awk -F '\t' -v OFS='\t' '
NR == FNR      { old[$1] = $2; next }
FNR == 1       { print $0, "recorded", "percent"; next }
               { p = $1 in old ? 100 * $2 / old[$1] : 0; worse += p > 105
                 print $0, $1 in old ? old[$1] : "-", p ? sprintf("%.1f", p) : "-" }
END            { exit worse > 0 }' "$([ -e "$table" ] && echo "$table" || echo /dev/null)" \
    "$tmp/count"
rc=$?
[ -z "${CS_RECORD:-}" ] && exit $rc
cp "$tmp/count" "$table"
