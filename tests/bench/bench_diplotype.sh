#!/bin/sh
# bench_diplotype.sh - diplotype symbols of reads compared with those of truth genotypes, by depth.
#
# Usage   CS_SHARED=DIR tests/bench/bench_diplotype.sh [WORK]      (make bench-diplotype)
#
# NA12878, 1,900 bases of chromosome 20 with Illumina reads and Genome in a Bottle genotypes of the
# same sample. `samtools view --subsample` samples reads to several depths, with seeds 1 to 10.
# Prints one table, means over seeds:
#   depth       mean depth of the region
#   min_depth   --min-depth of `chordseq diplotype`
#   known       share of sites with a symbol (not N)
#   agree       share of known sites with the symbol of the genotypes
#   found       share of sites with an alternative allele (14) that have the symbol of the genotypes
#   wrong       sites with a symbol other than that of the genotypes
set -eu

. "$(dirname "$0")/lib.sh"
na=$CS_SHARED/data/ingest/na12878_hg19_chr20
need_data "$na"
for tool in samtools bcftools; do
    command -v $tool > /dev/null || { echo "# no $tool" >&2; exit 77; }
done
scratch "$@"
at=chr20:10000001-10001900 seeds='1 2 3 4 5 6 7 8 9 10'
[ -z "$CS_QUICK" ] || seeds=1

# symbols FILE [OPTION...]: the symbols of the region in one line
symbols() { "$chordseq" diplotype -q -f "$tmp/ref.fa" -r $at "$@" | sed '1,2d' | tr -d '\n'; echo; }

gzip -dc "$na/ucsc.hg19.chr20.unittest.fasta.gz" > "$tmp/ref.fa"
cp "$na/test_nist.b37_chr20_100kbp_at_10mb.vcf.gz" "$tmp/truth.vcf.gz"
bcftools index -f "$tmp/truth.vcf.gz"
samtools faidx "$tmp/ref.fa" $at | sed 1d | tr -d '\n' | tr acgt ACGT > "$tmp/reference"
echo >> "$tmp/reference"
symbols "$tmp/truth.vcf.gz" > "$tmp/truth"

printf 'depth\tmin_depth\tknown\tagree\tfound\twrong\n'
for share in 1 0.6 0.4 0.3 0.2 0.15 0.1; do
    for seed in $seeds; do
        samtools view -b --subsample $share --subsample-seed $seed -o "$tmp/sample.bam" \
            "$na/NA12878_small.bam"
        samtools index "$tmp/sample.bam"
        depth=$(samtools depth -a -r $at "$tmp/sample.bam" | awk '{ s += $3 } END { print s / NR }')
        for least in 8 3; do
            symbols --min-depth $least "$tmp/sample.bam" > "$tmp/reads"
            paste "$tmp/reference" "$tmp/truth" "$tmp/reads" |
                awk -v depth="$depth" -v least=$least -v share=$share '{
                for (i = 1; i <= length($1); i++) {
                    t = substr($2, i, 1); x = substr($3, i, 1)
                    known += x != "N"; same += x != "N" && x == t
                    alt += t != substr($1, i, 1); found += t != substr($1, i, 1) && x == t }
                print share, least, depth, known / length($1), same / known, found / alt,
                      known - same }'
        done
    done
done | awk '{ k = $1 " " $2; if (!(k in n)) order[++m] = k; n[k]++
              for (i = 3; i <= 7; i++) sum[k, i] += $i }
    END { for (j = 1; j <= m; j++) { k = order[j]; split(k, part, " ")
              printf "%.1f\t%d\t%.4f\t%.4f\t%.3f\t%.1f\n", sum[k, 3] / n[k], part[2],
                     sum[k, 4] / n[k], sum[k, 5] / n[k], sum[k, 6] / n[k], sum[k, 7] / n[k] } }'
