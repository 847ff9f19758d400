#!/bin/sh
# bench_end.sh - `classify` from file to calls, compared with the rate of the network alone; TSV to stdout.
#
#   tests/bench/bench_end.sh [BASES [READS]]     from the build folder; default 200M 2000000
#
# Contigs of 500 to 50,000 bases (FASTA) and reads of 150 (FASTQ), random with fixed seeds; plain,
# gzip and BGZF where there is a bgzip ($CS_FORMS); one thread and all. Each line is the median of three
# runs ($REPEATS). `encoder` is the rate of the same model on the same records as tokens in memory
# (bench_network.c), `percent` the end-to-end rate relative to it. The model is $CS_MODEL, by default
# the default model. Temporary files take 3 bytes per base under $TMPDIR.
#
# If installed, other programs get the same contigs and reads in their fastest form, with all threads:
#   kraken2   with the database $CS_KRAKEN2_DB: looks up each read's 35-mers; no probabilities
#   tiara     two small networks on k-mer counts; contigs from 3,000 bases on; six classes
. "$(dirname "$0")/lib.sh"
: "${REPEATS:=3}"
: "${CS_MODEL:=$srcdir/refdata/model/default.safetensors}"
case ${1:-200M} in *M) n_base=${1:-200M} n_base=${n_base%M}000000 ;; *) n_base=$1 ;; esac
n_read=${2:-2000000} forms=${CS_FORMS:-plain gzip bgzf}
scratch

gen_fasta "$n_base" 1 > "$tmp/contigs.fa"
# Qualities are pieces of one random text, so that they compress about as well as those of a
# sequencer. Random numbers are Park and Miller's (1988), because rand() differs between awks.
gen_fasta $((n_read * 150)) 2 150 150 | awk '
BEGIN { for (r = 3; i < 9999; i++) { r = r * 16807 % 2147483647; q = q sprintf("%c", 45 + r % 28) } }
/^>/  { if (s) print s "\n+\n" substr(q, 1 + (n++ * 97) % 9800, 150); s = ""
        print "@" substr($0, 2); next }
      { s = s $0 }
END   { print s "\n+\n" substr(q, 1, 150) }' > "$tmp/reads.fq"
for f in contigs.fa reads.fq; do
    case $forms in *gzip*) gzip -3 -c "$tmp/$f" > "$tmp/$f.gz" ;; esac
    case $forms in *bgzf*) command -v bgzip > /dev/null && bgzip -l 3 -c "$tmp/$f" > "$tmp/$f.bgz" ;; esac
done

# timed COMMAND...: median "KiB wall cpu" of its runs
timed()
{
    for _ in $(seq "$REPEATS"); do
        "$builddir/tests/bench/peak" "$@" 3>&1 > /dev/null 2> "$tmp/err" || cat "$tmp/err" >&2
    done | sort -k2,2n | sed -n "$(((REPEATS + 1) / 2))p"
}

# line WHAT INPUT FORM THREADS RATE COMMAND...
line()
{
    what=$1 input=$2 form=$3 threads=$4 rate=$5
    shift 5
    if [ "$input" = contigs ]; then bases=$n_base records=$n_contig
    else bases=$((n_read * 150)) records=$n_read; fi
    timed "$@" | awk -v OFS='\t' -v w="$what" -v i="$input" -v f="$form" -v t="$threads" \
        -v b="$bases" -v r="$records" -v e="$rate" '{
        v = b / $2 * 1e-6
        print w, i, f, t, sprintf("%.1f\t%.1f\t%.2f\t%.2f\t%d", v, r / $2 * 1e-3, $2, $3, $1 / 1024),
              e, e + 0 ? sprintf("%.0f", 100 * v / e) : "-" }'
}

n_contig=$(grep -c '^>' "$tmp/contigs.fa") cores=$(nproc)
export OMP_WAIT_POLICY=passive
printf 'what\tinput\tform\tthreads\tMbases_per_s\tkrecords_per_s\twall_s\tcpu_s\tpeak_MiB\tencoder\tpercent\n'
for input in contigs reads; do
    file=$(ls "$tmp/$input".f?)
    for threads in $(printf '1\n%s\n' "$cores" | sort -nu); do
        # The network alone on one thread; several batches side by side, so times threads.
        rate=$("$builddir/tests/bench/bench_network" "$CS_MODEL" "$file" 1 20M |
               awk -v t="$threads" '$1 == "predict" { print $4 * t }')
        for form in $forms; do
            case $form in plain) f=$file ;; gzip) f=$file.gz ;; bgzf) f=$file.bgz ;; esac
            [ -e "$f" ] || continue
            line chordseq "$input" $form "$threads" "$rate" "$chordseq" classify -q \
                -m "$CS_MODEL" -@ "$threads" -o "$tmp/out" "$f"
        done
    done
    [ -n "${CS_KRAKEN2_DB:-}" ] && command -v kraken2 > /dev/null &&
        line kraken2 "$input" plain "$cores" - kraken2 --db "$CS_KRAKEN2_DB" --threads "$cores" \
            --output "$tmp/out" "$file"
    [ "$input" = contigs ] && command -v tiara > /dev/null &&
        line tiara contigs plain "$cores" - tiara -i "$file" -o "$tmp/out" -t "$cores"
done
exit 0
