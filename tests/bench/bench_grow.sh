#!/bin/sh
# bench_grow.sh - does the memory of the other commands depend on the size of their input?
#
#   tests/bench/bench_grow.sh [BASES BASES]      from the build folder; default 20M 200M (about)
#
# As bench_mem.sh for classify: pretrain on genomes, variant, diplotype from calls and reads, explain
# of a region per 100,000 bases, tokenize and training of a vocabulary, on two inputs with contigs of
# 500,000 bases (programs store the name and offset of each contig). The work is the
# same number of steps for pretrain, and grows with the input for the others. TSV to stdout; the line
# `ratio` is the peak of the second input over that of the first.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 20M 200M
scratch

# measure WHAT SIZE CMD...
measure()
{
    what=$1 size=$2
    shift 2
    "$builddir/tests/bench/peak" "$chordseq" "$@" 3> "$tmp/peak" > /dev/null || exit 1
    printf '%s\t%s\t%s\n' "$what" "$size" "$(cat "$tmp/peak")" | tee -a "$tmp/all"
}

# A substitution per 500 bases of each contig, for two samples.
calls()
{
    awk 'BEGIN { OFS = "\t"; print "##fileformat=VCFv4.3"
            print "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">"
            print "#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", "a", "b" }
        /^>/ { name = substr($1, 2); at = 0; next }
        { if (at % 480 == 240 && length($0) > 4) { r = substr($0, 5, 1)
            print name, at + 5, ".", r, r == "A" ? "G" : "A", ".", ".", ".", "GT", "0|1", "1|1" }
          at += length($0) }' "$1"
}

# The same places as reads of a line of text each, without a mismatch.
reads()
{
    awk 'BEGIN { OFS = "\t"; print "@HD", "VN:1.6", "SO:coordinate" }
        NR == FNR { print "@SQ", "SN:" $1, "LN:" $2; next }
        /^>/ { name = substr($1, 2); at = 0; next }
        { if (at % 480 == 240) { q = $0; gsub(/./, "I", q)
            print "r" n++, 0, name, at + 1, 60, length($0) "M", "*", 0, 0, $0, q }
          at += length($0) }' "$1.fai" "$1"
}

printf 'command\tinput_bases\tpeak_KiB\twall_s\tcpu_s\n'
gen_fasta 2097152 1 | "$chordseq" tokenize -q --train bpe --vocab-size 500 \
    -o "$tmp/bpe.json" - || exit 1
for n in "$@"; do
    gen_fasta "$n" 1 500000 500000 > "$tmp/in.fa"
    rm -f "$tmp/in.fa.fai"
    calls "$tmp/in.fa" > "$tmp/in.vcf"
    measure pretrain "$n" pretrain -q --tokenizer base --encoder cdil --encoder.channels 8 \
        --encoder.layers 3 --window 500 --windows-per-epoch 400 --valid-windows 40 --epochs 2 \
        -o "$tmp/model" "$tmp/in.fa"
    rm -f "$tmp/model.ckpt"
    measure variant "$n" variant -q -w 200 -m "$srcdir/refdata/model/default.safetensors" \
        -f "$tmp/in.fa" -o /dev/null "$tmp/in.vcf"
    reads "$tmp/in.fa" > "$tmp/in.sam"
    measure diplotype-reads "$n" diplotype -q -f "$tmp/in.fa" -o /dev/null -i "$tmp/in.sam"
    rm -f "$tmp/in.sam"
    awk '{ for (i = 0; i + 100 <= $2; i += 100000) print $1 "\t" i "\t" i + 100 }' "$tmp/in.fa.fai" > "$tmp/in.bed"
    measure explain "$n" explain -q -m "$srcdir/refdata/model/default.safetensors" -f "$tmp/in.fa" \
        -R "$tmp/in.bed" --tsv /dev/null -o /dev/null
    measure diplotype "$n" diplotype -q -f "$tmp/in.fa" -o "$tmp/in.dip" -i "$tmp/in.vcf"
    measure pretrain-diplotypes "$n" pretrain -q --tokenizer diplotype --encoder cdil \
        --encoder.channels 8 --encoder.layers 3 --window 500 --windows-per-epoch 400 \
        --valid-windows 40 --epochs 2 -o "$tmp/model" "$tmp/in.dip"
    rm -f "$tmp/model.ckpt"
    measure tokenize "$n" tokenize -q -m "$tmp/bpe.json" -o /dev/null "$tmp/in.fa"
    measure tokenize-train "$n" tokenize -q --train bpe --vocab-size 500 --sentences 2000 \
        -o "$tmp/trained.json" "$tmp/in.fa"
done
sort -s -t "$(printf '\t')" -k 1,1 "$tmp/all" | awk -F '\t' '$1 != was { was = $1; first = $3; next }
    { printf "%s\tratio\t%.3f\n", $1, $3 / first }'
