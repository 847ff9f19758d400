# explain.t - `chordseq explain`: contributions of bases, compared with predictions.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
cp "$tiny/variants.fa" .
make=$builddir/tests/cli/make_model
"$make" bases 3 tokenizer=base encoder.max-len=512 encoder.track=4 encoder.hidden=6

P explain.bedgraph sh -c 'chordseq explain -q -m bases -f variants.fa one:300-309 | sed -E "s/(\.[0-9]{3})[0-9]+/\1/g"'
T 'an output whose reader closed it leaves no others, with a message' sh -c '
    { until [ -e no_reader ]; do sleep 0.1; done; chordseq explain -m bases -f variants.fa --tsv gone one:300-309 2> msgs; echo $? > status; } | { exec < /dev/null; : > no_reader; }
    [ "$(cat status)" = 1 ] && [ ! -e gone ] && grep -q "closed it; the other outputs are not written" msgs'
T 'mutagenesis equals classify on mutants' sh -c '
    chordseq explain -q -m "$1" --value probability --label classB -f variants.fa --tsv e.tsv -o e.bedgraph one:301-340 &&
    awk "NR == 2 { s = \$0 } NR > 2 && !/>/ { s = s \$0 } /^>ring/ { exit } NR == 1 { next } 1 { all = s } END { print all }" \
        variants.fa | tr -d ">a-z " | cut -c 301-340 > part
    awk -F "\t" "NR == FNR { s = \$0; next } FNR > 1 { for (b = 0; b < 4; b++)
        printf \">%d_%d\n%s%s%s\n\", FNR - 1, b, substr(s, 1, FNR - 2), substr(\"ACGT\", b + 1, 1), substr(s, FNR) }" \
        part e.tsv > mutants.fa
    chordseq classify -q -m "$1" --all --strand forward mutants.fa > c.tsv
    awk -F "\t" "NR == FNR { if (FNR > 1) p[FNR - 1] = \$7; next } FNR > 1 { for (b = 0; b < 4; b++) {
        d = p[4 * (FNR - 2) + b + 1] - \$(6 + b); if (d * d > 1e-10) bad++; n++ } } END { exit bad > 0 || n != 160 }" c.tsv e.tsv' - "$m"
# A model with a look-up table and proteins, calibrated: coli's gene of a heat shock protein.
cat > protein.fa <<'EOF'
>gene
ATGGGTAAAATAATTGGTATCGACCTGGGTACTACCAACTCTTGTGTAGCGATTATGGATGGCACCACTCCTCGCGTGCTGGAGAACGCCGAAGGCGATCGCACCACGCCTTCTATCATT
EOF
T 'mutagenesis includes table, proteins and calibration' sh -c '
    chordseq explain -q -m "$1" --value probability --label bacteria -f protein.fa --tsv pe.tsv -o pe.bedgraph gene &&
    awk -F "\t" "NR == FNR { if (FNR > 1) s = \$0; next } FNR > 1 { printf \">%d\n%s%s%s\n\", FNR - 1,
        substr(s, 1, FNR - 2), \$3 == \"A\" ? \"C\" : \"A\", substr(s, FNR) }" protein.fa pe.tsv > mutants.fa
    chordseq classify -q -m "$1" --all --min-prob 0 --strand forward mutants.fa > c.tsv
    awk -F "\t" "FNR == 1 { for (i in p) n++; for (i = 1; i <= NF; i++) if (\$i == \"prob_bacteria\") at = i; next }
        NR == FNR { p[FNR] = \$at; next } { d = p[FNR] - \$(\$3 == \"A\" ? 7 : 6); if (d * d > 1e-11) bad++ }
        END { exit bad > 0 || n != 120 }" c.tsv pe.tsv' - "$srcdir/refdata/model/default.safetensors"
T 'contributions equal the values of the table per base' awk -F '\t' 'NR > 1 {
    at = index("ACGT", $3); s = 0; for (b = 1; b < 5; b++) if (b != at) s += $(5 + b)
    d = $(5 + at) - s / 3 - $5; if (d * d > 1e-10) exit 1 }' e.tsv
T 'bedGraph and table have the same values' sh -c 'cut -f 2,5 e.tsv | tail -n +2 > a; cut -f 3,4 e.bedgraph | cmp a -'
for method in gradient integrated deeplift; do
    T "$method: a line per base" sh -c 'chordseq explain -q -m bases --method "$1" --label classB -f variants.fa -o "$1" \
        --svg "$1.svg" one:90-160 && awk -F "\t" "\$3 != \$2 + 1 || \$2 != 88 + NR { exit 1 } END { exit NR != 71 }" "$1"' - $method
done
for method in integrated deeplift; do
    T "$method: an unknown base contributes nothing" awk -F '\t' '$3 >= 101 && $3 <= 110 && $4 != 0 { exit 1 }' $method
done
"$make" taps 4 tokenizer=base encoder=cdil encoder.channels=6 encoder.layers=3 encoder.norm=batch
"$make" heads 5 tokenizer=base encoder=transformer encoder.dim=8 encoder.layers=1
# sum METHOD MODEL OPTIONS...: of all contributions
sum() {
    chordseq explain -q --method "$1" -m "$2" --label classB --steps 1000 -f variants.fa one:301-340 ${3:+--baseline "$3"} |
        awk '{ s += $4 } END { printf "%.9f\n", s }'
}
for at in bases taps; do
    for from in unknown zero shuffled; do
        a=$(sum integrated $at $from) b=$(sum deeplift $at $from)
        T "deeplift and integrated gradients add up to the same: $at, $from" awk -v a="$a" -v b="$b" \
            'BEGIN { d = a - b; exit !(a != 0 && d * d <= 1e-6 * (1e-2 + a * a)) }'
    done
done
T 'a gradient is multiplied by the distance from the baseline' sh -c 'for b in unknown zero; do
    chordseq explain -q -m bases --method gradient --baseline $b -f variants.fa -o "g.$b" one:301-340 || exit; done; ! cmp -s g.unknown g.zero &&
    chordseq explain --help | grep -q "baseline of the gradient methods"'
T 'shuffles are chosen by the seed' sh -c 'for s in 1 1 2; do
    chordseq explain -q --method deeplift -m bases --baseline shuffled --seed $s --shuffles 2 -f variants.fa -o "s.$s" one:301-340
    [ -e s.first ] || cp s.1 s.first; done; cmp s.1 s.first && ! cmp -s s.1 s.2'
N explain-rule.err   chordseq explain -q -m heads --method deeplift -f variants.fa -o x one:300-340
T 'the plot is XML with a letter per contribution' sh -c 'if command -v xmllint > /dev/null; then xmllint --noout gradient.svg; fi &&
    head -n 1 gradient.svg | grep -q "^<svg xmlns=" && [ "$(grep -c "<text transform" gradient.svg)" -gt 30 ]'
N explain-png.err chordseq explain -m bases -f variants.fa -o x --svg x.png one:101-110
T 'a plot of unknown bases has no letter and no scale' sh -c 'chordseq explain -q -m bases -f variants.fa -o x --svg n.svg one:101-110 &&
    ! grep "<text transform\|e-300\|nan" n.svg && grep -q ">101</text>" n.svg && rm x'
T 'contributions do not depend on threads and batch size' sh -c 'for o in "-@ 1" "-@ 3 -B 64"; do
    chordseq explain -q -m "$1" --value probability --label classB $o -f variants.fa -o x one:301-340 && cmp x e.bedgraph || exit; done' - "$m"
T 'regions of a BED file' sh -c 'printf "one\t300\t310\nring\t5\t9\n" > two.bed
    chordseq explain -q -m bases -f variants.fa -R two.bed | awk "END { exit NR != 14 }"'
N explain-order.err  chordseq explain -q -m bases -f variants.fa -o x one:300-310 one:305-320
N explain-again.err  chordseq explain -q -m bases -f variants.fa -o x one:300-310 ring:5-9 one:320-325
T 'regions on many contigs are in order per contig' sh -c 'awk "BEGIN { for (i = 1; i <= 300; i++) printf \">%s%d\n%s\n\", \"s\", i, s = \"ACGTTGCAACGTTGCAACGTTGCA\" }" > many.fa
    awk "/^>/ { c = substr(\$1, 2); printf \"%s\t0\t2\n%s\t2\t3\n\", c, c }" many.fa > many.bed
    chordseq explain -q -m bases -f many.fa -R many.bed -o many && [ "$(cut -f 1 many | uniq | wc -l)" = 300 ] && [ "$(wc -l < many)" = 900 ] &&
    for c in s1 s150 s299; do printf "%s\t5\t6\n" $c | cat many.bed - > odd.bed &&
        ! chordseq explain -q -m bases -f many.fa -R odd.bed -o x 2> msgs && grep -q "region of .$c. from 6 is out of order" msgs || exit; done
    printf "s300\t3\t4\n" | cat many.bed - > odd.bed && chordseq explain -q -m bases -f many.fa -R odd.bed -o many'
N explain-kmer.err   chordseq explain -q -m "$m" --method gradient -f variants.fa -o x one:300-340
N explain-label.err  chordseq explain -q -m bases --label no -f variants.fa -o x one:300-340
N explain-long.err   chordseq explain -q -m bases -f variants.fa -o x one:1-600
N explain-none.err   chordseq explain -q -m bases -f variants.fa
echo '# no region' > no.bed
N explain-bed.err    chordseq explain -q -m bases -f variants.fa -R no.bed -o x
printf 'ring\t5\t9\nnowhere\t0\t1\n' > other.bed
printf 'ring\t5\t9\none\t300\t100000\n' > beyond.bed
N explain-contig.err chordseq explain -q -m bases -f variants.fa -R other.bed -o x
N explain-beyond.err chordseq explain -q -m bases -f variants.fa -R beyond.bed -o x
N explain-same.err   chordseq explain -q -m bases -f variants.fa -o x --tsv x one:300-340
T 'an unwritable plot is reported before computing' sh -c '! chordseq explain -m bases -f variants.fa -o x --svg no/x.svg \
    one:300-340 2> msgs && grep -q "no/x.svg" msgs'
T 'an error in a later region leaves no plot' sh -c '! chordseq explain -q -m bases -f variants.fa -o x --svg x.svg \
    one:300-310 one:305-320 2> msgs && [ ! -e x.svg ]'
T 'batches of any size fit' sh -c 'for b in 1 900M; do
    chordseq explain -q -m bases -B $b -f variants.fa -o b.$b one:300-301 || exit; done; cmp b.1 b.900M'
T 'a missing index is made, and nothing else' sh -c 'mkdir -p fresh && cp variants.fa fresh/v.fa &&
    chordseq explain -q -m bases -f fresh/v.fa -o fresh/x one:301-310 &&
    printf "one\t1200\t5\t80\t81\nring\t300\t1226\t80\t81\n" | cmp - fresh/v.fa.fai && test "$(echo fresh/v* fresh/*.tmp*)" = "fresh/v.fa fresh/v.fa.fai fresh/*.tmp*"'
# htslib would wait for the writer of a pipe, and index FASTQ.
T 'a reference is a regular file of FASTA' sh -c 'mkfifo pipe && printf "@one\nACGTACGT\n+\nIIIIIIII\n" > one.fq &&
    for f in pipe /dev/null .; do ! timeout 20 chordseq explain -m bases -f "$f" -o x one:1-5 2> msgs &&
        grep -q "cannot use the reference .$f.: it is not a regular file" msgs || exit; done
    ! chordseq explain -m bases -f one.fq -o x one:1-5 2> msgs && grep -q "reference .one.fq.: it is FASTQ" msgs && [ ! -e one.fq.fai ]'
T 'a reference is no device, for the index would be beside it' sh -c 'for f in /dev/stdin /dev/fd/0 /proc/self/fd/0; do
    chordseq explain -m bases -f $f -o dev.x one:1-5 < "$1" 2> msgs; [ $? = 2 ] && [ ! -e $f.fai ] && [ ! -e dev.x ] &&
    grep -q "cannot use the reference .$f.: its index would be beside the device" msgs || exit; done' - "$tiny/variants.fa"
T 'a failed run leaves no file' sh -c '! ls x.tmp* 2> /dev/null'

# Products with the embedding of T overflow.
"$make" nan.model 5 huge=5 encoder.max-len=64 encoder.track=4 encoder.hidden=8
printf '>a\nACGACGACG\n>b\nACGACGTCG\n' > nan.fa
for method in mutagenesis gradient; do
    T "NaN is never a contribution: $method" sh -c '! chordseq explain -m nan.model --method "$1" -f nan.fa -o n.bed b 2> n.err &&
        [ ! -e n.bed ] && grep -q "explain: .b. from 1 to 9: the model.s prediction is not finite" n.err' - $method
done

# Mutagenesis of a long region says how long it will take, and ends on a signal.
awk 'BEGIN { srand(5); printf ">long\n"; for (i = 0; i < 80000; i++) printf "%s", substr("ACGT", 1 + int(4 * rand()), 1); print "" }' > far.fa
T 'a long mutagenesis is announced, and can be interrupted' sh -c '
    chordseq explain -f far.fa -o far.bg long 2> msgs & run=$!
    for i in $(seq 60); do sleep 1; grep -q "240000 mutants of 80000 bases will take about" msgs && break; done
    kill -TERM $run; wait $run; [ $? -eq 143 ] && grep -q "240000 mutants of 80000 bases will take about" msgs && [ ! -e far.bg ]'
