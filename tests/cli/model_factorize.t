# model_factorize.t - `chordseq model factorize`: low-rank layers of a trained model.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

N low-rank-rule.err   chordseq model factorize "$m"
N low-rank-both.err   chordseq model factorize --rank 4 --energy 0.5 "$m"
N low-rank-text.err   chordseq model factorize --rank half "$m"
N low-rank-words.err  chordseq model factorize --rank 4
N low-rank-stdout.err chordseq model factorize --rank 4 -o - "$m"
N low-rank-labels.err chordseq model factorize --rank 4 --label-key class "$m"

has_lapack || { S 'low-rank layers' 'no LAPACK'; exit 0; }
T 'a model is not lost to a closed pipe without a message' sh -c '
    { until [ -e no_reader ]; do sleep 0.1; done; chordseq model factorize --rank 2 -o gone.m "$1" 2> msgs; echo $? > status; } | { exec < /dev/null; : > no_reader; }
    [ "$(cat status)" = 1 ] && [ ! -e gone.m ] && grep -q "closed it; the other outputs are not written" msgs' - "$m"

# All that is reproducible on any machine: no times, no rounded predictions.
P low-rank-rank.tsv sh -c 'chordseq model factorize --rank 2 -o low.m "$1" | grep -v "^seconds\|^relative"' - "$m"
T 'times are reported' sh -c 'chordseq model factorize --rank 2 "$1" |
    awk -F "\t" "\$1 == \"seconds\" && \$2 > 0 && \$3 > 0 { n++ } END { exit n != 1 }"' - "$m"
T 'show says the number of low-rank layers' sh -c 'chordseq model show low.m | grep -qx "low-rank layers	[1-9][0-9]*"'
T 'the file is sound' chordseq model verify low.m
T 'tensors that a compact model leaves out have no row and stay out' sh -c 'chordseq model factorize -q --rank 2 -o fast.low fast > fast.tsv &&
    chordseq model show fast > fast.show && for t in $(sed -n "s/^\([^	]*[.]weight\)	.*/\1/p" fast.tsv); do grep -q "^tensor	$t	" fast.show || exit; done &&
    [ "$(chordseq model show fast.low | sed -n "s/^parameters.//p")" = "$(awk "\$1 == \"parameters\" { print \$3 }" fast.tsv)" ] &&
    [ "$(sed -n "s/^parameters.//p" fast.show)" = "$(awk "\$1 == \"parameters\" { print \$2 }" fast.tsv)" ] && chordseq classify -q -m fast.low "$1" > out' - "$tiny/mixed.fa"
T 'bytes of matrices are those of bf16 where the file has them so' sh -c 'chordseq model show fast.low > low.show &&
    for f in fast low; do awk -F "\t" "/^tensor/ { d = split(\$3, n, \"x\"); v = d > 1 ? 2 : 4; for (i = 1; i <= d; i++) v *= n[i]; sum += v }
        END { print sum }" $f.show; done | paste - - > bytes && grep "^bytes" fast.tsv | cut -f 2,3 | cmp - bytes'
T 'the factorized model predicts' sh -c '[ "$(chordseq classify -q -m low.m "$1" | wc -l)" = \
    "$(chordseq classify -q -m "$2" "$1" | wc -l)" ]' - "$tiny/mixed.fa" "$m"
T 'predictions do not depend on threads' sh -c 'chordseq classify -q -@ 1 -m low.m "$1" > a &&
    chordseq classify -q -@ 3 -m low.m "$1" | cmp - a' - "$tiny/mixed.fa"
T 'rank 1 loses more than rank 3' sh -c 'for r in 1 3; do chordseq model factorize --rank $r "$1" |
    sed -n "s/^relative_error	0	\([0-9.]*\).*/\1/p"; done | sort -c -r -g' - "$m"

# All encoders.
awk 'BEGIN { srand(1); for (i = 0; i < 60; i++) { print ">r" i " class=" (i % 2 ? "at" : "gc")
    s = ""; for (k = 0; k < 90; k++) s = s substr(i % 2 ? "ATTAACATTG" : "GCCGGAGCCT", int(rand() * 10) + 1, 1)
    print s } }' > two.fa
for e in $(chordseq train --man-options | sed -n 's/^\.SS Encoder \([a-z]*\)$/\1/p'); do
    T "$e gets thinner" sh -c 'chordseq train -q --label-key class --encoder $1 --encoder.max-len 128 \
        --epochs 1 --max-steps 1 --samples-per-epoch 4 -o $1.m two.fa &&
        chordseq model factorize --rank 0.1 -o $1.low $1.m > $1.tsv &&
        awk -F "\t" "\$1 == \"parameters\" { exit !(\$3 < \$2) }" $1.tsv &&
        chordseq classify -q -m $1.low "$2" > $1.calls && [ $(wc -l < $1.calls) -gt 1 ]' - \
        "$e" "$tiny/mixed.fa"
done

# ---- predictions per token ----------------------------------------------------------------------

# Records of the random batch are as long as the model's longest.
awk 'NR <= 40' two.fa > tokens.fa
sed -n 's/^>\([^ ]*\).*/\1	20	50	x/p' tokens.fa > tokens.bed
chordseq train -q --head token --intervals tokens.bed --background y --encoder transformer \
    --encoder.max-len 128 --encoder.dim 16 --epochs 1 --max-steps 1 -o tokens.m tokens.fa
T 'the error of a model of short sequences compares predictions only' sh -c 'for p in 1 85 170; do
    MALLOC_PERTURB_=$p chordseq model factorize --rank 2 tokens.m | grep "^relative" > $p.error || exit; done
    cmp 1.error 85.error && cmp 1.error 170.error && awk "{ exit !(\$3 > 0 && \$3 < 2) }" 1.error'

# ---- training continues, and accuracy is reported ------------------------------------------------

chordseq train -q --label-key class --encoder.track 4 --encoder.hidden 32 --encoder.max-len 128 \
    --epochs 6 --step-records 6 --lr 0.02 -o two.m two.fa
P low-rank-accuracy.tsv sh -c 'chordseq model factorize --rank 3 -i two.fa --label-key class -o two.low two.m |
    sed -n "/^accuracy/p"'
T 'training continues' chordseq train -q --init two.low --label-key class --encoder.track 4 \
    --encoder.hidden 32 --encoder.max-len 128 --epochs 1 -o more.m two.fa
T 'training keeps the rank' sh -c 'for m in more.m two.low; do chordseq model show $m | grep "^tensor.*_a\|^low-rank" > $m.rank; done
    [ -s more.m.rank ] && cmp more.m.rank two.low.rank'
# Far from a deviation of 1, so that standardized errors differ.
awk '/^>/ { printf "%s\t%d\n", substr($1, 2), 1000 + 50 * (++n % 7) }' two.fa > values.tsv
chordseq train -q --head regress --labels values.tsv --encoder.track 4 --encoder.hidden 8 --encoder.max-len 128 \
    --epochs 1 -o values.m two.fa
T 'the mean squared error is that of eval' sh -c 'chordseq model factorize --rank 64 -i two.fa --labels values.tsv values.m |
    awk "\$1 == \"mean_squared_error\" { print \$2 }" > got && chordseq eval -q -m values.m --labels values.tsv two.fa |
    awk "\$2 == \"all\" && \$3 == \".\" && \$4 == \"mse\" { print \$5 }" | paste got - | awk "{ n++; d = \$1 / \$2 - 1; bad += d * d > 1e-9 } END { exit n != 1 || bad }"'
