#!/bin/sh
# bench_community.sh - a metagenome's short reads, noisy long reads and contigs: Kraken 2 compared with the default model.
#
# Usage   CS_SHARED=DIR [CS_ECOLI=FASTA] tests/bench/bench_community.sh [WORK]      (make bench-community)
#
# No sequenced mock community is in the data sets, so one is made of real genomes: six organisms per class of the
# training set (`known`) and six of groups held out from it (`new`), at most 150 kb of each, with log-normal abundance
# (model/community.py, seed $CS_SEED). ART makes pairs of reads of 150 bp from them with a HiSeq 2500's errors, mean
# coverage 15; PBSIM long reads, 4,000 bp on average, 10 % errors in the ratio of Nanopore reads, mean coverage 3;
# MEGAHIT assembles the pairs, and minimap2 finds the class of each contig of 1,000 bp or more.
#
# The other rows are reads of sequencers, in $CS_SHARED/data/ingest: of species with other, or the same, pieces of
# their genomes in the training set (`species`); those of the mitochondrion of Plasmodium are left out. With CS_ECOLI:
# reads.fa.gz of github.com/wdecoster/nanotest, Nanopore reads of Escherichia coli.
#
# Prints per kind, set and program: sequences, balanced recall over the classes that occur, share of sequences with a
# call, share of calls that are right; and per kind and program: the profile's error (half the sum of differences
# between the true and called shares of classes, in sequences), Mbases per second of processor time on one thread
# (start included), peak MiB. Programs and settings as in bench_kraken.sh; mates of a pair get one call. `kraken2,
# chordseq` is Kraken 2's call, or chordseq's where there is none (speed as if both had read everything).
# Needs Debian's kraken2, art-nextgen-simulation-tools, pbsim, megahit, minimap2 and samtools.
set -eu

. "$(dirname "$0")/lib.sh"
scratch "$@"
. "$bench/kraken.sh"
for p in art_illumina pbsim megahit minimap2 samtools; do
    command -v $p > /dev/null || { echo "# no $p in PATH" >&2; exit 77; }
done
set -- "$CS_SHARED"/data/taxa/*.fa.gz "$CS_SHARED"/data/taxa2/*.fa.gz
kraken_db "$@"
seed=${CS_SEED:-1} g=$tmp/genomes
community() { "$python" "$bench/model/community.py" "$@"; }

# ---- the metagenome ------------------------------------------------------------------------------

if [ ! -e "$tmp/contigs.fa" ]; then
    community draw "$groups" "$@" --out "$g" --seed "$seed"
    : > "$tmp/pairs_1.fa"; : > "$tmp/pairs_2.fa"; : > "$tmp/long.fa"
    n=0
    while IFS='	' read -r organism _ _ _ _ abundance _; do
        n=$((n + 1)) w=$tmp/work
        rm -rf "$w" && mkdir "$w"
        art_illumina -q -ss HS25 -na -p -l 150 -m 350 -s 50 -rs "$seed$n" -i "$g/$organism.fa" \
            -f "$(echo "$abundance" | awk '{ print $1 * 15 }')" -o "$w/r" > "$w/log" 2>&1
        for mate in 1 2; do
            community name "$g" "$organism" pair "$w/r$mate.fq" >> "$tmp/pairs_$mate.fa"
        done
        (cd "$w" && pbsim --data-type CLR --model_qc /usr/share/pbsim/models/model_qc_clr --seed "$seed$n" \
            --depth "$(echo "$abundance" | awk '{ print $1 * 3 }')" --length-mean 4000 --length-sd 3000 \
            --accuracy-mean 0.9 --accuracy-sd 0.03 --difference-ratio 23:31:46 "$g/$organism.fa" > log 2>&1)
        community name "$g" "$organism" long "$w"/sd_*.fastq >> "$tmp/long.fa"
    done < "$g/community.tsv"
    rm -rf "$tmp/megahit"
    megahit -t 1 -m 4000000000 --k-list 21,41,61,81,99 --min-contig-len 1000 -1 "$tmp/pairs_1.fa" -2 "$tmp/pairs_2.fa" -o "$tmp/megahit" 2> "$tmp/megahit.log"
    cat "$g"/o*.fa > "$tmp/genomes.fa"
    minimap2 -x asm5 -t 1 "$tmp/genomes.fa" "$tmp/megahit/final.contigs.fa" > "$tmp/contigs.paf" 2> "$tmp/minimap.log"
    community contigs "$g" "$tmp/megahit/final.contigs.fa" "$tmp/contigs.paf" > "$tmp/contigs.tmp"
    mv "$tmp/contigs.tmp" "$tmp/contigs.fa"
fi

# real CLASS NAME: sequences on standard input, one a line, as $tmp/NAME.fa
real() { awk -v class="$1" '$0 != "" { print ">" class "|species|real|" ++n; print }' > "$tmp/$2.fa"; }
fastq() { gzip -dc "$@" | awk 'NR % 4 == 2'; }
i=$CS_SHARED/data/ingest
fastq "$i/reads/HG003.fq.gz" | real eukaryota human_illumina
fastq "$i"/reads/Illumina_short_reads_Pf_test_subset_1.fastq.gz | real eukaryota plasmodium_1
fastq "$i"/reads/Illumina_short_reads_Pf_test_subset_2.fastq.gz | real eukaryota plasmodium_2
fastq "$i/reads/corrected_reads_Pf_test_subset.fastq.gz" | real eukaryota plasmodium_pacbio
xzcat "$groups" | awk -F '\t' '$3 == "mitochondrion:Plasmodiidae" { print $1 }' > "$tmp/mt_names"
gzip -dc "$CS_SHARED/data/taxa/mitochondrion.fa.gz" |
    awk 'NR == FNR { name[">" $1]; next } /^>/ { keep = $1 in name } keep' "$tmp/mt_names" - > "$tmp/mt.fa"
# nuclear PRESET NAME...: leaves out reads (with their mates) with half of their bases in an alignment of 80 % identity
# with a mitochondrion of Plasmodium
nuclear()
{
    preset=$1; shift
    for name in "$@"; do minimap2 -x "$preset" -t 1 "$tmp/mt.fa" "$tmp/$name.fa" 2>> "$tmp/minimap.log"; done |
        awk '$10 >= 0.8 * $11 && $4 - $3 >= 0.5 * $2 { print $1 }' | sort -u > "$tmp/mt_reads"
    for name in "$@"; do
        awk 'NR == FNR { drop[">" $1]; next } /^>/ { keep = !($1 in drop) } keep' "$tmp/mt_reads" "$tmp/$name.fa" \
            > "$tmp/nuclear.tmp" && mv "$tmp/nuclear.tmp" "$tmp/$name.fa"
    done
    echo "# reads of the mitochondrion left out: $(wc -l < "$tmp/mt_reads")" >&2
}
nuclear sr plasmodium_1 plasmodium_2
nuclear map-pb plasmodium_pacbio
samtools fasta -F 0x900 "$i/hg002/HG002_chr11_119076212_119102218_2.bam" 2> "$tmp/samtools.log" | awk '!/^>/' |
    real eukaryota human_hifi
[ -z "${CS_ECOLI:-}" ] || gzip -dc "$CS_ECOLI" | awk '/^>/ { if (s != "") print s; s = ""; next } { s = s $0 }
    END { print s }' | real bacteria ecoli_nanopore

# ---- both programs -------------------------------------------------------------------------------

printf 'kind\tset\tprogram\tsequences\tbalanced_recall\tcalled\tcalls_right\tprofile_error\tMbases_per_s\tpeak_MiB\n'
# row KIND PROGRAM BASES: from the output of `calls`
row()
{
    awk -v OFS='\t' -v kind="$1" -v program="$2" -v n_base="$3" '
        NR == FNR { peak = $1 / 1024; cpu += $3; next }
        { split($1, part, "|"); set = part[2]; class[part[1]]; n[set]++; truth[part[1]]++
          of[set, part[1]]++; hit[set, part[1]] += $2 == part[1]; right[set] += $2 == part[1]
          if ($2 != "-") { called[set]++; called_as[$2]++; class[$2]; all_called++ } }
        END {
            for (c in class) {
                off = truth[c] / FNR - (all_called ? called_as[c] / all_called : 0)
                profile += (off > 0 ? off : -off) / 2
            }
            n_set = split("known new species", sets, " ")
            for (k = 1; k <= n_set; k++) {
                set = sets[k]
                if (!n[set])
                    continue
                recall = classes = 0
                for (c in class)
                    if (of[set, c]) { classes++; recall += hit[set, c] / of[set, c] }
                print kind, set, program, n[set], sprintf("%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t%d", recall / classes,
                    called[set] / n[set], called[set] ? right[set] / called[set] : 0, profile, n_base / cpu * 1e-6, peak)
            }
        }' "$tmp/peak" "$tmp/calls_of_all"
}

# rows KIND FILE [MATES]
rows()
{
    kind=$1; shift
    n_base=$(cat "$@" | awk '!/^>/ { n += length($0) } END { print n }')
    calls kraken2 "$@"
    row "$kind" kraken2 "$n_base"
    mv "$tmp/calls_of_all" "$tmp/calls_of_kraken2" && mv "$tmp/peak" "$tmp/peak_of_kraken2"
    calls 'chordseq all' "$@"
    row "$kind" 'chordseq all' "$n_base"
    calls 'chordseq shares' "$@"
    row "$kind" 'chordseq shares' "$n_base"
    calls chordseq "$@"
    row "$kind" chordseq "$n_base"
    # What Kraken 2 leaves out, by chordseq.
    paste "$tmp/calls_of_kraken2" "$tmp/calls_of_all" | awk '{ print $1, ($2 != "-" ? $2 : $4) }' > "$tmp/calls_of_both"
    mv "$tmp/calls_of_both" "$tmp/calls_of_all"
    sort -n "$tmp/peak" "$tmp/peak_of_kraken2" > "$tmp/peak_of_both" && mv "$tmp/peak_of_both" "$tmp/peak"
    row "$kind" 'kraken2, chordseq' "$n_base"
}
rows 'pairs of 150 bp' "$tmp/pairs_1.fa" "$tmp/pairs_2.fa"
rows 'noisy long reads' "$tmp/long.fa"
rows 'contigs' "$tmp/contigs.fa"
rows 'human, Illumina' "$tmp/human_illumina.fa"
rows 'P. falciparum, Illumina pairs' "$tmp/plasmodium_1.fa" "$tmp/plasmodium_2.fa"
rows 'P. falciparum, PacBio, corrected' "$tmp/plasmodium_pacbio.fa"
rows 'human, PacBio HiFi' "$tmp/human_hifi.fa"
[ -z "${CS_ECOLI:-}" ] || rows 'E. coli, Nanopore 2017' "$tmp/ecoli_nanopore.fa"
