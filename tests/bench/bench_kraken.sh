#!/bin/sh
# bench_kraken.sh - Kraken 2 compared with the default model on a simulated metagenome.
#
# Usage   CS_SHARED=DIR tests/bench/bench_kraken.sh [WORK]      (make bench-kraken)
#
# Both have the same training organisms (kraken.sh). The metagenome is sampled as in bench_families.sh (seed 1, 250
# sequences per class and kind): half of it of these organisms (`known`), half of groups held out from both (`new`).
# Kinds: reads of 150 bp with 0.5 % substitutions,
# reads of 3,000 bp with 8 % errors (a third each: substitution, insertion, deletion), contigs of 10,000 bp without.
#
# Prints per set, kind and program: balanced recall over the classes, share of sequences with a call, share of calls
# that are right, Mbases per second of processor time on one thread (start included), peak MiB. `chordseq` has default
# settings, `chordseq all` calls every sequence, `kraken2` has default settings. Kraken 2's calls above the classes
# do not count.
set -eu

. "$(dirname "$0")/lib.sh"
scratch "$@"
. "$bench/kraken.sh"
set -- "$CS_SHARED"/data/taxa/*.fa.gz "$CS_SHARED"/data/taxa2/*.fa.gz

kraken_db "$@"

# ---- the metagenome ------------------------------------------------------------------------------

third=0.02666666666666667                # of 8 %
for part in train valid; do
    "$python" "$bench/model/families.py" "$groups" $part "$@" --out "$tmp/$part" --seed "${CS_SEED:-1}" \
        --lengths 150,3000,10000
    for length in 150 3000 10000; do
        case $length in
        150)  substitutions=0.005 indels=0 ;;
        3000) substitutions=$third indels=$third ;;
        *)    substitutions=0 indels=0 ;;
        esac
        "$python" "$bench/model/sequencing_errors.py" "$tmp/$part/$length.fa" "$tmp/$part.$length.fa" \
            "$substitutions" "$indels" "${CS_SEED:-1} $part $length"
    done
done

# ---- both programs -------------------------------------------------------------------------------

# row SET KIND PROGRAM BASES: from the output of `calls`
row()
{
    awk -v OFS='\t' -v set="$1" -v kind="$2" -v program="$3" -v n_base="$4" -v classes="$classes" '
        NR == FNR { peak = $1 / 1024; cpu = $3; next }
        { split($1, part, "|"); n[part[1]]++; total++; called += $2 != "-"; hit = $2 == part[1]
          right[part[1]] += hit; all += hit }
        END {
            n_class = split(classes, c, " ")
            for (i = 1; i <= n_class; i++) recall += n[c[i]] ? right[c[i]] / n[c[i]] / n_class : 0
            print set, kind, program, sprintf("%.3f\t%.3f\t%.3f\t%.1f\t%d", recall, called / total,
                called ? all / called : 0, n_base / cpu * 1e-6, peak)
        }' "$tmp/peak" "$tmp/calls_of_all"
}

printf 'set\tkind\tprogram\tbalanced_recall\tcalled\tcalls_right\tMbases_per_s\tpeak_MiB\n'
for part in train valid; do
    for length in 150 3000 10000; do
        case $part in train) name=known ;; *) name=new ;; esac
        case $length in 150) kind='150 bp' ;; 3000) kind='3,000 bp noisy' ;; *) kind='10,000 bp' ;; esac
        fasta=$tmp/$part.$length.fa
        n_base=$(awk '!/^>/ { n += length($0) } END { print n }' "$fasta")
        for program in kraken2 chordseq 'chordseq all'; do
            calls "$program" "$fasta"
            row "$name" "$kind" "$program" "$n_base"
        done
    done
done
