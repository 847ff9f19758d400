#!/bin/sh
# bench_mem.sh - does memory depend on the size of the input? TSV to stdout, the ratio last.
#
#   tests/bench/bench_mem.sh [BASES...]      from the build folder; default 200M 2G (about)
#
# Inputs have records of the same lengths (500 to 50,000) and are generated while they are read. The
# model is small, so that 2 Gbases take minutes; the memory of the queues does not depend on it. Runs
# write the table alone, then every output at once, among them all sequences twice. The line `ratio` is the peak of the last input over that of the first. The line `longest` is one
# sequence of a million bases through ChordMixer with 336 channels: the peak, and the limit for its
# activations, 1.6 N d 4 bytes. The last lines are for the installed models: the inputs
# in records of 5,000 bases, and one contig of 100 Mbases.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 200M 2G
scratch

make_model "$tmp/model" 1 tokenizer=kmer tokenizer.k=6 tokenizer.stride=6 encoder.max-len=16384 \
    encoder.track=1 encoder.hidden=4
printf 'outputs\tinput_bases\tpeak_KiB\twall_s\tcpu_s\trecords\n'
for outputs in table all; do
    : > "$tmp/all"
    for n in "$@"; do
        every=
        [ $outputs = table ] || every="--jsonl $tmp/jsonl --kraken $tmp/kraken --report $tmp/report
            --krona $tmp/krona --cami-binning $tmp/binning --cami-profile $tmp/profile --bam $tmp/bam
            --split-dir $tmp/split --split-gz --summary $tmp/summary --html $tmp/html"
        # shellcheck disable=SC2086 # a list of words
        gen_fasta "$n" 1 |
            "$builddir/tests/bench/peak" "$chordseq" classify -q -m "$tmp/model" \
                ${THREADS:+-@ "$THREADS"} $every -o "$tmp/out.tsv" - 3> "$tmp/peak" || exit 1
        printf '%s\t%s\t%s\t%s\n' $outputs "$n" "$(cat "$tmp/peak")" \
            "$(($(wc -l < "$tmp/out.tsv") - 1))"
        cut -f 1 "$tmp/peak" >> "$tmp/all"
    done
    awk -v o=$outputs 'NR == 1 { first = $1 } { last = $1 }
        END { printf "%s\tratio\t%.3f\n", o, last / first }' "$tmp/all"
done

n=1000000
make_model "$tmp/wide" 1 tokenizer=base encoder.max-len=1048576 encoder.track=16 encoder.hidden=128
gen_fasta $n 1 $n $n > "$tmp/long.fa"
"$builddir/tests/bench/peak" "$chordseq" classify -q -m "$tmp/wide" ${THREADS:+-@ "$THREADS"} \
    -o "$tmp/out.tsv" "$tmp/long.fa" 3> "$tmp/peak" || exit 1
awk -v n=$n '{ printf "longest\t%d KiB\tallowed\t%d KiB\n", $1, 1.6 * n * 336 * 4 / 1024 }' "$tmp/peak"

printf 'model\tinput_bases\trecord_bases\tpeak_KiB\twall_s\tcpu_s\n'
for model in default fast; do
    for n in "$@" contig; do
        length=5000
        [ "$n" != contig ] || n=100000000 length=100000000
        gen_fasta "$n" 1 $length $length |
            "$builddir/tests/bench/peak" "$chordseq" classify -q ${THREADS:+-@ "$THREADS"} \
                -m "$srcdir/refdata/model/$model.safetensors" -o "$tmp/out.tsv" - 3> "$tmp/peak" || exit 1
        printf '%s\t%s\t%s\t%s\n' $model "$n" $length "$(cat "$tmp/peak")"
    done
done
