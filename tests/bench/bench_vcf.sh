#!/bin/sh
# bench_vcf.sh - alternative alleles scored per second, and memory against the number of records.
#
#   tests/bench/bench_vcf.sh [RECORDS...]      from the build folder; default 2000 20000
#
# Random substitutions on a random contig, two threads. Models: the default variant model with its windows
# of 256 bases; with 1,000 bases the default model by distances of embeddings, and a ChordMixer with a head
# for 26 labels (random weights: time does not depend on them). TSV to stdout; its last column is the
# rate that SpliceAI's authors state for a GPU, about 25,000 variants an hour (github.com/Illumina/SpliceAI,
# README; windows of 10,000 bases and another network: the order of magnitude only).
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 2000 20000
scratch

gen_fasta 2097152 7 2000000 2000000 > "$tmp/genome.fa"
make_model "$tmp/labels" 1 tokenizer=base head=variant labels=26 encoder.max-len=1024 \
    encoder.track=4 encoder.hidden=64
printf 'model\trecords\tper_second\tper_hour\tpeak_KiB\twall_s\tspliceai_per_hour_gpu\n'
for n in "$@"; do
    # Lines of 80 bases, as gen_fasta has them, of the first contig.
    awk -v n="$n" '/^>/ { if (name) exit; name = substr($1, 2); next } { line[++k] = $0 }
        END { print "##fileformat=VCFv4.3"; print "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
        step = int((80 * (k - 1) - 2000) / n)
        for (i = 0; i < n; i++) { p = 1000 + i * step; r = substr(line[int(p / 80) + 1], p % 80 + 1, 1)
            printf "%s\t%d\t.\t%s\t%s\t.\t.\t.\n", name, p + 1, r, r == "A" ? "G" : "A" } }' \
        "$tmp/genome.fa" > "$tmp/in.vcf"
    for model in variant distances labels; do
        case $model in
        variant)   file=$srcdir/refdata/model/variant.safetensors w=256 ;;
        distances) file=$srcdir/refdata/model/default.safetensors w=1000 ;;
        labels)    file=$tmp/labels w=1000 ;;
        esac
        "$builddir/tests/bench/peak" "$chordseq" variant -q -@ 2 -w $w -m "$file" \
            -f "$tmp/genome.fa" -o /dev/null "$tmp/in.vcf" 3> "$tmp/took" || exit 1
        awk -v model=$model -v n="$n" -F '\t' '{ printf "%s\t%d\t%.0f\t%.0f\t%d\t%.2f\t25000\n", model, n,
            n / $2, 3600 * n / $2, $1, $2 }' "$tmp/took"
    done
done
