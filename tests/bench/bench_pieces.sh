#!/bin/sh
# bench_pieces.sh - length of the pieces of byte-pair vocabularies, in the vocabulary and in text.
#
# Usage   CS_SHARED=DIR tests/bench/bench_pieces.sh [WORK]      (make bench-pieces)
#
# 32,000 pieces trained on slices of hg38 (all of them, 20,000 sentences, the first quarter), from
# random bases, and from diplotypes with a heterozygous site every 700 bases; the encoded text
# is all slices, or the training text. Prints one table: text, pieces, the mean and the median
# length of a piece of the vocabulary, its mean length in the text, bits per piece (the entropy of
# its frequencies; 32,000 pieces have 14.97 at most), bits per symbol. Some minutes of one core.
# CS_QUICK=1: little text, with meaningless results.
set -eu

. "$(dirname "$0")/lib.sh"
fasta=$CS_SHARED/data/human_ve/hg38_slices.fa.gz
need_data "$fasta"
need_python json python3
scratch "$@"
lines=222000 size=32000 sentences=20000
[ -z "$CS_QUICK" ] || lines=4000 size=500 sentences=50

# Names without colons, which would be regions.
gzip -cd "$fasta" | awk '/^>/ { sub(/:/, "_"); sub(/ .*/, "") } { print }' |
    head -n $lines > "$tmp/hg38.fa"
head -n $((lines / 4)) "$tmp/hg38.fa" > "$tmp/quarter.fa"
gen_fasta $((80 * lines)) 1 $((80 * lines)) $((80 * lines)) > "$tmp/random.fa"
awk 'BEGIN { OFS = "\t"; print "##fileformat=VCFv4.3"
        print "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">"
        print "#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", "a" }
    /^>/ { name = substr($1, 2); at = 0; next }
    { r = substr($0, 4, 1)
      if (int((at + length($0)) / 700) > int(at / 700) && r ~ /[ACGT]/)
          print name, at + 4, ".", r, r == "A" ? "G" : "A", ".", ".", ".", "GT", "0|1"
      at += length($0) }' "$tmp/hg38.fa" > "$tmp/hg38.vcf"
"$chordseq" diplotype -q -f "$tmp/hg38.fa" -i "$tmp/hg38.vcf" -o "$tmp/hg38.dip"

# row NAME TEXT OPTIONS...: train with the options, cut TEXT into pieces
row()
{
    name=$1 text=$2
    shift 2
    "$chordseq" tokenize -q --train bpe --vocab-size $size -o "$tmp/pieces.json" "$@"
    "$chordseq" tokenize -q -m "$tmp/pieces.json" "$text" | "$python" "$bench/pieces.py" "$name" "$tmp/pieces.json"
}
printf 'trained_on\tpieces\tvocabulary_mean\tvocabulary_median\ttext_mean\tbits_per_piece\tbits_per_symbol\n'
row hg38 "$tmp/hg38.fa" "$tmp/hg38.fa"
row sentences "$tmp/hg38.fa" --sentences $sentences "$tmp/hg38.fa"
row quarter "$tmp/hg38.fa" "$tmp/quarter.fa"
row random "$tmp/random.fa" "$tmp/random.fa"
row diplotypes "$tmp/hg38.dip" --alphabet diplotypes --sentences $sentences "$tmp/hg38.dip"
