# pitfalls.t - frequent defects of similar programs.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
gen=$builddir/tests/bench/gen_fasta
c="chordseq classify -q -m '$m'"
"$gen" 409600 1 50 500 > x.fa
sh -c "$c x.fa" > x.tsv

# peak memory: three times the input, the same peak within a tenth
"$builddir/tests/cli/make_model" light 1 tokenizer=kmer tokenizer.k=6 tokenizer.stride=6 \
    encoder.max-len=4096 encoder.track=1 encoder.hidden=2
peak() { "$builddir/tests/bench/peak" chordseq classify -q -m light --chunks-in-flight 4 -o /dev/null "$1" 3>&1; }
if grep -q __asan_init "$builddir/chordseq"; then
    S 'memory does not depend on input size' 'AddressSanitizer keeps what was freed'
else
    "$gen" 20971520 5 200 2000 > one.fa
    cat one.fa one.fa one.fa > three.fa
    T 'memory does not depend on input size' test "$(peak one.fa | cut -f 1)" -gt \
        "$(($(peak three.fa | cut -f 1) * 5 / 6))"
    rm -f one.fa three.fa
fi

T 'a record alone has the same result' sh -c "awk '/^>/ && NR > 1 { exit } 1' x.fa > alone.fa &&
    $c alone.fa > alone.tsv && head -n 2 x.tsv | cmp - alone.tsv"
{ printf '>one\nA\n>none\n>unknown\nNNNNNNNNNN\n'; echo '>long'; "$gen" 1048576 2 1048576 1048576 | tail -n +2; } > odd.fa
T 'long and short contigs are all reported' sh -c "timeout 60 $c odd.fa | cut -f 1,5 > odd.tsv &&
    [ \$(wc -l < odd.tsv) = 5 ] && [ \$(cut -f 2 odd.tsv | sort -u | wc -l) -ge 4 ]"
awk '/^>/ { print; next } { s = ""; for (i = length($0); i > 0; i--)
    s = s substr("TGCAN", index("ACGTN", substr($0, i, 1)), 1); print s }' alone.fa > back.fa
T 'the reverse complement has the same class' sh -c "$c --strand both --all alone.fa > s.tsv &&
    $c --strand both --all back.fa | cmp - s.tsv && ! $c --all back.fa | cmp -s - s.tsv"
T 'same input, same output' sh -c "for i in 1 2 3; do
    $c -@ \$i -B \$((i * 1000)) --chunks-in-flight \$i x.fa | cmp - x.tsv || exit; done
    awk '/^>/ { n++ } n > 300' x.fa > tail.fa; awk '/^>/ { n++ } n <= 300' x.fa > head.fa
    $c head.fa tail.fa | cmp - x.tsv && gzip -c x.fa | $c | cmp - x.tsv"

# labels that no model can learn
T 'a warning for one sequence in two classes' sh -c '
    printf ">a class=x\nACGTACGTAC\n>b class=y\nACGTACGTAC\n>c class=x\nACGGACGTAC\n>d class=y\nACGGACCTAC\n" > two.fa
    chordseq train --label-key class --preset fast --tokenizer.k 3 --epochs 1 --valid-frac 0 -o two.m two.fa 2> msgs &&
    grep -q "warning: 2 of 4 records have the same sequence as a record of another class; first: .a. is .x., .b. is .y.$" msgs'
T 'a warning for classes that are values' sh -c '
    sed "s/=x/=0.5/; s/=y/=2/" two.fa > values.fa; sed "s/=x/=1/; s/=y/=2/" two.fa > numbers.fa
    for f in values numbers; do
        chordseq train --label-key class --preset fast --tokenizer.k 3 --epochs 1 --valid-frac 0 -o two.m $f.fa 2> msgs.$f || exit
    done
    grep -q "warning: the 2 classes are numbers, such as .0.5.; to predict values, give --head regress$" msgs.values &&
    ! grep "classes are numbers" msgs.numbers'
printf '>a\nAC!T\n' > bad.fa
T 'failures have a non-zero exit status' sh -c "! $c bad.fa > /dev/null 2>&1 && ! $c no-such-file > /dev/null 2>&1 &&
    ! $c x.fa -o /dev/full 2> /dev/null && ! $c x.fa > /dev/full 2> /dev/null"
T 'any batch size fits the memory' sh -c "$c -B 1 x.fa | cmp - x.tsv && $c -B 104857600 x.fa |
    cmp - x.tsv && $c --max-memory 100Ki odd.fa > /dev/null"
T 'standard input, gzip and standard output' sh -c "gzip -c x.fa > no-suffix && $c no-suffix | cmp - x.tsv &&
    $c -i - < no-suffix | cmp - x.tsv && $c -o out.tsv x.fa > stdout && [ ! -s stdout ] &&
    cmp out.tsv x.tsv"
# wrong numbers on a new CPU: selftest reports them, here for a broken kernel
v="-@ 1 --vectors '$srcdir/refdata/selftest' -m '$srcdir/refdata/model/default.safetensors'"
if [ -x "$builddir/tests/cli/broken_kernel" ]; then
    T 'selftest reports wrong numbers of a processor' sh -c "
        ! '$builddir/tests/cli/broken_kernel' selftest $v > broken 2> msgs &&
        grep -q FAILED broken && grep -q 'comparisons failed' msgs"
else
    T 'selftest reports wrong numbers of a processor' sh -c "chordseq selftest $v"
fi
T 'an old processor gives the same digits' sh -c "CHORDSEQ_DISABLE=avx2,fused $c x.fa > p.tsv &&
    paste x.tsv p.tsv | awk -F '\t' 'NR > 1 { d = \$4 - \$9; if (d < -2e-5 || d > 2e-5) exit 1 }'"
if command -v unshare > /dev/null && unshare -rn true 2> /dev/null; then
    T 'nothing is downloaded at run time' sh -c "unshare -rn $c x.fa | cmp - x.tsv"
else
    S 'nothing is downloaded at run time' 'no unshare'
fi

# SIGINT and SIGTERM leave no incomplete file, and give the status of the signal.
T 'a killed run leaves no output' sh -c "
    { cat x.fa; exec sleep 20; } 2> /dev/null | chordseq classify -q -m '$m' -o killed.tsv & p=\$!
    sleep 1; kill -TERM \$p; wait \$p; e=\$?
    [ \$e -gt 128 ] && ! ls | grep -q '^killed'"
