#!/bin/sh
# bench_diplotype_model.sh - a model that reads diplotypes compared with the same model on bases; reads to answers.
#
# Usage   CS_SHARED=DIR tests/bench/bench_diplotype_model.sh [WORK]      (make bench-diplotype-model)
#
# 1. A region model: is there a donor, an acceptor, or the same two letters elsewhere in the middle of 128 bases? CDIL is
# trained on windows of other chromosomes, then on four fifths of the first million bases of chromosome 20 of three persons
# (HG002, NA12878, HG00733; calls from assemblies), and tested on the last fifth; five times, so that every window is tested
# once. `bases` reads the reference in each person's windows, `diplotypes` the person's genotypes; network, loci, split,
# seeds and number of steps are the same. AUROC of sites over all windows, and over those in which the person has a variant;
# means with their standard error over seeds, and of the difference a 95 % interval from loci drawn. In a given WORK the
# scores that are there already are not made again.
# 2. Tokens and answers of reads compared with those of genotypes of the same person, in one pipe from alignments to answers:
# NA12878, Illumina, and the genotypes of Genome in a Bottle; HG002, long reads on chromosome 11, reference rebuilt from the
# bases that reads match, and the genotypes that `bcftools call` finds in the same reads. `samtools view --subsample`
# samples reads. Per site `predict` with --head token, per window `classify` of windows of 128 bases, every 64:
#   depth, min_depth    mean depth of the region; --min-depth of `chordseq diplotype`
#   known, agree        tokens of reads: share known; of these, like those of the genotypes
#   bases, indels       sites at which the genotypes have other bases, or insertions and deletions: found/all
#   sites, windows      answers; _same: share with the same class; _mean, _most: difference of probabilities
#
# Environment: SEEDS ("1 2 3 4"), THREADS (1); CS_QUICK=1: a minute, with meaningless results
set -eu

. "$(dirname "$0")/lib.sh"
na=$CS_SHARED/data/ingest/na12878_hg19_chr20 hg=$CS_SHARED/data/ingest/hg002
need_data "$na"
need_data "$hg"
need_data "$CS_SHARED/data/splice"
need_python numpy python3-numpy
for tool in samtools bcftools; do
    command -v $tool > /dev/null || { echo "# no $tool" >&2; exit 77; }
done
scratch "$@"
: "${SEEDS:=1 2 3 4}" "${THREADS:=1}"
epochs=3 shares='1 0.5 0.2 0.1'
if [ -n "$CS_QUICK" ]; then
    SEEDS=1 epochs=1 shares=1
fi
helper="$python $bench/variant/diplotypes.py" persons='NA24385 NA12878 HG00733'     # NA24385 is HG002

# ---- 1. a region model --------------------------------------------------------------------------

$helper loci "$CS_SHARED/data/splice" "$CS_SHARED/data/human_ve" "$tmp"
cp "$hg/reference.fa" "$tmp/hg38.fa"
rm -f "$tmp/hg38.fa.fai"
: > "$tmp/diplotypes.dip"
: > "$tmp/bases.fa"
for p in $persons; do
    # A person without a record's allele is ./. there.
    bcftools view -s "$p" -g ^miss -Oz -o "$tmp/$p.vcf.gz" "$hg/multi.vcf.gz"
    bcftools index -f "$tmp/$p.vcf.gz"
    "$chordseq" diplotype -q -f "$tmp/hg38.fa" -R "$tmp/loci.bed" --names both -o "$tmp/$p.dip" "$tmp/$p.vcf.gz"
    grep -v '^#' "$tmp/$p.dip" >> "$tmp/diplotypes.dip"
    awk -v p="$p" '{ print $1 ":" $2 + 1 "-" $3 }' "$tmp/loci.bed" > "$tmp/regions.txt"
    samtools faidx -r "$tmp/regions.txt" "$tmp/hg38.fa" | sed "/^>/!y/acgt/ACGT/; s/^>/>$p:/" >> "$tmp/bases.fa"
done
sed -i '1i #chordseq-diplotype\t1' "$tmp/diplotypes.dip"
# shellcheck disable=SC2086 # words
$helper labels "$tmp" $persons

network="--preset none --no-rc --encoder cdil --encoder.depth all --encoder.layers 5 --encoder.kernel 7
    --encoder.channels 32 --encoder.convs one --threads $THREADS --batch-tokens 16384"
head='--head class --head.pool centre --head.centre 4'
# fit TOKENS FILE SEED K: scores of the windows of fold K
fit() {
    # shellcheck disable=SC2086
    "$chordseq" train -q $network $head --seed "$3" --init "$tmp/$1.$3.model" --lr 0.001 --epochs 2 --step-records 32 \
        --labels "$tmp/fold$4.tsv" --split "$tmp/fold$4.split.tsv" -i "$2" -o "$tmp/$1.$3.$4.model"
    awk 'NR == FNR { part[$1] = $2; next } /^[#>]/ { on = /^#/ || part[substr($1, 2)] == "skip" } on' \
        "$tmp/fold$4.split.tsv" "$2" |
        "$chordseq" classify -q --threads "$THREADS" -m "$tmp/$1.$3.$4.model" --all -o "$tmp/scores/$1.$3.$4.tsv" -
}
mkdir -p "$tmp/scores"
for seed in $SEEDS; do
    for tokens in bases diplotypes; do
        [ ! -e "$tmp/scores/$tokens.$seed.4.tsv" ] || continue
        case $tokens in bases) tok=base file=$tmp/bases.fa ;; *) tok=diplotype file=$tmp/diplotypes.dip ;; esac
        # shellcheck disable=SC2086
        "$chordseq" train -q $network --tokenizer $tok --seed "$seed" $head --lr 0.005 --epochs $epochs --step-records 32 \
            --labels "$tmp/other.tsv" --split "$tmp/other.split.tsv" -i "$tmp/other.fa" -o "$tmp/$tokens.$seed.model"
        for k in 0 1 2 3 4; do
            fit $tokens "$file" "$seed" $k
        done
    done
done
# shellcheck disable=SC2086
$helper table "$tmp" "$SEEDS" $persons

# ---- 2. from reads to answers -------------------------------------------------------------------

# Per site: the encoder of the region model, and a head that tells donors and acceptors from other bases.
set -- $SEEDS
region=$tmp/diplotypes.$1.0.model token=$tmp/token.model
"$chordseq" train -q --preset none --no-rc --threads "$THREADS" --batch-tokens 16384 --seed "$1" --init "$region" --head token \
    --intervals "$tmp/other.bed" --background none --lr 0.002 --epochs "$epochs" --step-records 64 \
    --split "$tmp/other.split.tsv" -i "$tmp/other.fa" -o "$token"

# answers REFERENCE INPUT NAME LEAST: tokens, and answers per site and per window, of the region $at
answers() {
    "$chordseq" diplotype -q -f "$1" -r "$at" --names region --min-depth "$4" "$2" | tee "$tmp/$3.dip" |
        "$chordseq" predict -q --threads "$THREADS" -m "$token" --format tsv -o "$tmp/$3.sites" -
    "$chordseq" diplotype -q -f "$1" -R "$tmp/tiles.bed" --names region --min-depth "$4" "$2" |
        "$chordseq" classify -q --threads "$THREADS" -m "$region" --all -o "$tmp/$3.windows" -
}
# beside SAMPLE REFERENCE BAM GENOTYPES: two lines per depth
beside() {
    echo "$at" | tr ':-' '\t\t' | awk -v OFS='\t' '{ for (i = $2 - 1; i + 128 <= $3; i += 64) print $1, i, i + 128 }' > "$tmp/tiles.bed"
    samtools faidx "$2" "$at" > "$tmp/at.fa"
    answers "$2" "$4" genotypes 1
    for share in $shares; do
        samtools view -b --subsample "$share" --subsample-seed 1 -o "$tmp/sample.bam" "$3"
        samtools index "$tmp/sample.bam"
        depth=$(samtools depth -a -r "$at" "$tmp/sample.bam" | awk '{ s += $3 } END { printf "%.1f", s / NR }')
        for least in 8 3; do
            answers "$2" "$tmp/sample.bam" reads $least
            printf '%s\t%s\t%s\t' "$1" "$depth" $least
            $helper compare "$tmp/at.fa" "$tmp/genotypes" "$tmp/reads"
        done
    done
}
printf '\nsample\tdepth\tmin_depth\tknown\tagree\tbases\tindels\tsites\tsite_same\tsite_mean\tsite_most\twindows\twindow_same\twindow_mean\twindow_most\n'
gzip -dc "$na/ucsc.hg19.chr20.unittest.fasta.gz" > "$tmp/hg19.fa"
cp "$na/test_nist.b37_chr20_100kbp_at_10mb.vcf.gz" "$tmp/truth.vcf.gz"
bcftools index -f "$tmp/truth.vcf.gz"
at=chr20:10000001-10001900
beside NA12878 "$tmp/hg19.fa" "$na/NA12878_small.bam" "$tmp/truth.vcf.gz"

samtools view -h "$hg/HG002_chr11_119076212_119102218_2.bam" > "$tmp/long.sam"
$helper rebuild "$tmp/long.sam" "$tmp/moved.sam" "$tmp/chr11.fa"
samtools view -b -o "$tmp/moved.bam" "$tmp/moved.sam"
samtools index "$tmp/moved.bam"
bcftools mpileup -X pacbio-ccs -f "$tmp/chr11.fa" "$tmp/moved.bam" 2> "$tmp/log" | bcftools call -mv -Oz -o "$tmp/called.vcf.gz" 2>> "$tmp/log"
bcftools index -f "$tmp/called.vcf.gz"
at=chr11:16001-52000
beside HG002 "$tmp/chr11.fa" "$tmp/moved.bam" "$tmp/called.vcf.gz"
