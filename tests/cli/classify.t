# classify.t - outputs and messages of `chordseq classify`.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors

# The sixth digit depends on the processor; three are compared.
cat > rounded <<'END'
chordseq classify "$@" > raw || exit
awk -F '\t' -v OFS='\t' 'NR > 1 {
    for (i = 3; i <= NF; i++) if ($i ~ /^-?[0-9]+\.[0-9]+$/) $i = sprintf("%.3f", $i) } 1' raw
END

P classify-mixed.tsv   sh rounded -m "$m" "$tiny/mixed.fa"
P classify-reads.tsv   sh rounded -m "$m" "$tiny/reads.fq"
P classify-all.tsv     sh rounded -m "$m" --all "$tiny/mixed.fa"
P classify-prob.tsv    sh rounded -m "$m" --min-prob 0.5 "$tiny/mixed.fa"
chordseq classify -q -m "$m" "$tiny/mixed.fa" > mixed.tsv

# Every record of the input has a line, and every label is one of the model's or unclassified.
T 'min-prob 0 calls every record with a prediction' sh -c 'chordseq classify -q -m "$1" --min-prob 0 "$2" |
    cmp - mixed.tsv' - "$m" "$tiny/mixed.fa"
T 'min-prob 1 keeps every record' sh -c '[ "$(chordseq classify -q -m "$1" --min-prob 1 "$2" |
    grep -c unclassified)" = "$(grep -c "^>" "$2")" ]' - "$m" "$tiny/mixed.fa"
T 'probabilities of all classes add up to 1' sh -c 'chordseq classify -q -m "$1" --all "$2" | awk -F "\t" "
    NR > 1 && \$5 == \".\" { n++; s = \$6 + \$7 + \$8; if (s < 0.99999 || s > 1.00001) exit 1 }
    END { if (n < 10) exit 1 }"' - "$m" "$tiny/mixed.fa"

# The complete output replaces an existing file.
T '-o FILE equals standard output' sh -c 'echo old > out.tsv &&
    chordseq classify -q -m "$1" -o out.tsv "$2" > stdout.txt && [ ! -s stdout.txt ] &&
    cmp out.tsv mixed.tsv' - "$m" "$tiny/mixed.fa"
T 'no temporary files remain' sh -c '[ "$(ls out.tsv*)" = out.tsv ]'
T '-o - is stdout' sh -c 'chordseq classify -q -m "$1" -o - "$2" |
    cmp - mixed.tsv' - "$m" "$tiny/mixed.fa"

T 'CHORDSEQ_MODEL names the model' sh -c 'CHORDSEQ_MODEL=$1 chordseq classify -q "$2" |
    cmp - mixed.tsv' - "$m" "$tiny/mixed.fa"

# Values instead of classes.
T 'a model for regression' "$builddir/tests/cli/make_model" "$tmp/values" 3 head=regress labels=2 \
    encoder.max-len=64 encoder.track=4 encoder.hidden=4
P classify-values.tsv  sh rounded -m "$tmp/values" "$tiny/mixed.fa"

# --help and manual list the same options.
T '--help goes to stdout with status 0' sh -c 'chordseq classify --help 2>&1 >/dev/null |
    cmp - /dev/null && chordseq classify --help | grep -q -- "--batch-tokens NUM"'
T 'without -m, the model of the source tree' sh -c '
    mkdir -p tree/build && cp -r "$1/refdata" tree/ && cp "$(command -v chordseq)" tree/build/ &&
    printf ">a\nACGTTGCAACGTTGCA\n" | env -u CHORDSEQ_MODEL tree/build/chordseq classify -q - |
    grep -qx "a	16	unclassified	[.]	too_short"' - "$srcdir"
T '-m accepts the name of a bundled model' sh -c '
    for name in fast default; do tree/build/chordseq model show $name > $name.txt || exit 1; done
    tree/build/chordseq model show tree/refdata/model/fast.safetensors | cmp - fast.txt && ! cmp -s fast.txt default.txt'
T 'the model accurate has more proteins and calls contigs of new families' sh -c '
    for name in default accurate; do tree/build/chordseq model show $name | sed -n "s/^proteins	//p"; done |
    awk "{ n[NR] = \$2 } END { exit !(n[2] > 3.9 * n[1]) }" &&
    tree/build/chordseq classify -q -m accurate --min-prob 0 "$1/assembly.fa.gz" | awk -F "\t" "
        FNR == NR { truth[\$1] = \$2; next }
        FNR > 1 { n++; right += truth[\$1] == \$3 }
        END { exit !(n == 73 && right >= 62) }" "$1/assembly.truth.tsv" -' - "$srcdir/docs/tutorial"
T 'a file of that name takes precedence' sh -c 'cp "$1" fast && CHORDSEQ_MODEL=fast tree/build/chordseq classify -q "$2" |
    cmp - mixed.tsv && rm fast' - "$m" "$tiny/mixed.fa"
