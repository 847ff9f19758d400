# calls.t - calls by the error rates stated in a model.
. "$srcdir/tests/cli/lib.sh"

gen=$builddir/tests/bench/gen_fasta

# Two classes of different composition, and a third that is a mixture of both. A codon's third base
# often equals that of the codon before, a correlation destroyed by shuffling.
for c in 1 2 3; do
    "$gen" 400000 $c 200 1800 | awk -v c=$c 'BEGIN { srand(c); split("A C G", letter) }
        /^>/ { print ">" c "_" NR " class=" c; next }
        { s = ""; for (i = 1; i <= length($0); i++) {
              b = substr($0, i, 1)
              if (i % 3 == 0 && i > 3 && rand() < 0.6) b = substr(s, i - 3, 1)
              else if (rand() < 0.15) b = c < 3 ? letter[c] : letter[1 + int(2 * rand())]
              s = s b }
          print s }'
done > labelled.fa
e="chordseq eval -q --label-key class labelled.fa"
bag="chordseq train -q --label-key class --tokenizer kmer --tokenizer.k 2 --encoder chordmixer \
    --encoder.max-len 2048 --encoder.track 2 --encoder.hidden 4 --encoder.depth none --valid-frac 0.5"
# shellcheck disable=SC2086 # a list of words
T 'a model to calibrate' $bag --epochs 5 --lr 0.03 --rc -o trained labelled.fa
T 'predictions as a table' sh -c "$e -m trained --fragments 100,300 --scores s.tsv -o raw.tsv &&
    head -n 1 s.tsv | grep -qx 'length	truth	1	2	3' && [ \$(wc -l < s.tsv) -gt 1000 ]"
T 'calibrate' chordseq model calibrate --scores s.tsv --bins 200,700 --max-error 0.2 \
    -i labelled.fa --label-key class trained stated
T 'a range of lengths without sequences is not in the log' sh -c '"$@" 2> msgs && grep -q "the test rejects [0-9]* of [1-9]" msgs && ! grep -q "of 0 shuffled" msgs' - \
    chordseq model calibrate --scores s.tsv --bins 200,700,500000 -i labelled.fa --label-key class trained far
T 'sequences by --class count, too, except those that --split skips' sh -c 'awk -v RS=">" "NR > 1 { print \">\" \$0 > (substr(\$1, 1, 1) \".fa\") }" labelled.fa &&
    tr "ACG" "TTT" < 1.fa | sed "s/^>1_/>odd/; s/ class.*//" > odd.fa &&
    awk "/^>/ { print substr(\$1, 2) \"\t\" (/odd/ ? \"skip\" : \"train\") }" ?.fa odd.fa > parts.tsv &&
    "$@" --split parts.tsv --class 1=1.fa --class 2=2.fa --class 3=3.fa --class 1=odd.fa trained same && cmp stated same' - \
    chordseq model calibrate -q --scores s.tsv --bins 200,700 --max-error 0.2
T 'a table of predictions does not change metrics, and is uncalibrated' sh -c "
    $e -m stated --fragments 100,300 -o alone.tsv && $e -m stated --fragments 100,300 --scores again.tsv -o beside.tsv &&
    cmp alone.tsv beside.tsv && grep -q coverage alone.tsv && [ \$(wc -l < again.tsv) = \$(wc -l < s.tsv) ] &&
    paste again.tsv s.tsv | awk -F '\t' 'NR > 1 { for (i = 3; i < 6; i++) { d = \$i - \$(i + 5); if (d * d > 1e-11) exit 1 } }'"
T 'predictions as CSV calibrate the same model' sh -c "sed 's/>1_/>odd_/; s/class=1/class=a,\"b/' labelled.fa > odd.fa &&
    $bag --epochs 1 -o odd odd.fa &&
    for f in tsv csv csv.gz; do chordseq eval -q -m odd --label-key class --scores odd.\$f -o x.tsv odd.fa &&
        chordseq model calibrate -q --scores odd.\$f --max-error 0.5 odd odd.\$f.m && cmp odd.tsv.m odd.\$f.m || exit; done &&
    grep -q '^length,truth,.*\"a,\"\"b\"' odd.csv && ! grep '	' odd.csv"
T 'a calibrated model is not compressed' sh -c "! $e -m trained --calibrate x.m.gz -o x.tsv 2> msgs && grep -q 'not compressed' msgs && [ ! -e x.m.gz ]"
T 'a model to write is tried before scores are read, and not compressed' sh -c 'for to in no-folder/x x.m.gz; do
    ! chordseq model calibrate --scores none.tsv trained $to 2> err && grep "cannot create\|not compressed" err || exit; done
    ! chordseq model checked trained x.m.gz 2> err && grep "not compressed" err && [ ! -e x.m.gz ]'
T 'the weights stay' sh -c '[ "$(chordseq model show trained | grep ^sha256)" = \
    "$(chordseq model show stated | grep ^sha256)" ]'
T 'show begins with purpose and accuracy' sh -c 'chordseq model show stated > show &&
    sed -n 1p show | grep -qx "predicts	a class for every sequence: 1, 2, 3" &&
    sed -n 2p show | grep -q "^trained on	[0-9]* records" && grep -q "^quality	from 700 bases" show &&
    grep -q "^calls	estimated error at most 0.2	from 100 bases" show'

# At its default error rate 'stated' makes the same calls as before; longer ranges join.
T 'a new calibration keeps the stated rate and the test for unlike sequences' sh -c "$e -m stated --fragments 100,300 --bins 200,700 --calibrate again -o x.tsv 2> /dev/null &&
    chordseq model show again > shown && grep '^calls' show | head -n 1 > was && grep '^calls' shown | head -n 1 | cmp - was && grep -q ^calls was &&
    $e -m stated --fragments 100,300 --bins 700 --calibrate joined -o x.tsv 2> msgs &&
    chordseq model show joined | grep -q '^calls	estimated error at most 0.2	from 100 bases' &&
    chordseq eval --label-key class -m stated --calibrate msgs.m --bins 200,700 -o x.tsv labelled.fa 2> msgs && grep -q 'maximum error rate of calls 0.2, as before' msgs"
T 'a table given twice is refused' sh -c 'cp s.tsv same.tsv; for f in s.tsv ./s.tsv same.tsv; do
    ! chordseq model calibrate -q --scores s.tsv --scores $f trained x 2> err && grep -q "has the content of .s.tsv.: give each table once" err || exit; done'
T 'a table of predictions alone gives the same calls' sh -c "chordseq model calibrate -q --scores s.tsv --bins 200,700 --max-error 0.2 stated alone &&
    chordseq model show stated | grep '^calls' > was && chordseq model show alone | grep '^calls' | cmp - was"
T 'calibrating a model without a stated rate states none' sh -c "$e -m trained --bins 200,700 --calibrate plain -o x.tsv && ! chordseq model show plain | grep ^calls"

# ---- calls ---------------------------------------------------------------------------------------

awk '/^>/ { sub(/.*class=/, ""); print }' labelled.fa > truth
T 'the default error rate holds for every class' sh -c 'chordseq classify -m stated labelled.fa > calls 2> log &&
    tail -n +2 calls | paste - truth | awk -F "\t" "\$5 == \"low_confidence\" { low++ }
        \$5 == \".\" { n[\$3]++; bad[\$3] += \$3 != \$6; all++ }
        END { for (c in n) if (bad[c] > 0.2 * n[c]) exit 1; exit !(low > 50 && all > 200) }"'
cat > limits.awk <<'END'
# From `model show`: classes by the first range of lengths from which on they are called.
$1 == "calls" && $2 ~ /^from [0-9]+ bases$/ { split($2, w, " "); from[n++] = w[2]
    for (i = 3; i <= NF; i++) { split($i, w, " "); name[i] = w[1]; never[n - 1, i] = w[2] == "never" } last = NF }
END {
    for (i = 3; i <= last; i++) {
        for (f = 0; f < n && never[f, i]; f++);
        for (k = f; k < n && !never[k, i]; k++);
        f = k < n ? "some" : f
        list[f] = list[f] (list[f] == "" ? "" : ", ") name[i]
    }
    for (f = 1; f < n; f++) if (f in list) text = text "; below " from[f] " bases no " list[f]
    if ("some" in list) text = text "; at some lengths no " list["some"]
    if (n in list) text = text "; no " list[n]
    print "chordseq: calls have an estimated error of at most 0.2" text
}
END
T 'the classes that are not called' sh -c 'awk -F "\t" -f limits.awk show > want && grep -q " no [123]" want &&
    ! grep "estimated error" log && for o in "--max-error 0.2" -v; do chordseq classify -m stated $o -o t labelled.fa 2> log &&
    sed "s/chordseq: info: /chordseq: /" log | grep -qxFf want || exit; done'
for o in '--min-prob 0' '--max-error 1'; do
    T "$o brings all calls back" sh -c "chordseq classify -q -m stated $o labelled.fa > all &&
        [ \$(awk -F '\t' '\$5 == \".\"' all | wc -l) = \$(grep -c '>' labelled.fa) ] &&
        chordseq classify -q -m trained labelled.fa | cut -f 1-3 > t && cut -f 1-3 all | cmp - t"
done
T 'a smaller rate calls less' sh -c '
    n() { chordseq classify -q -m stated $1 labelled.fa | awk -F "\t" "\$5 == \".\"" | wc -l; }
    a=$(n "--max-error 0.4") b=$(n) c=$(n "--max-error 0.1") && [ $a -gt $b ] && [ $b -gt $c ]'
T 'the log warns if half of the records lack a confident call' sh -c '
    chordseq classify -m stated --min-prob 0.9999 -o half --html page --summary sum labelled.fa 2> log &&
    grep -q "warning: [0-9]* of [0-9]* records have no confident call; --min-prob 0" log &&
    grep -q "<p>[0-9]* of [0-9]* records have no confident call; the median" page &&
    grep -q "\"warning\": \"[0-9]* of [0-9]* records have no confident call" sum &&
    chordseq classify -m stated --min-prob 0 -o half labelled.fa 2> log && ! grep -q confident log'
T 'the options that it names call all records' sh -c 'for o in "" "--min-prob 0.9999" "--max-error 0.0001" "--max-error 0.0001 --min-prob 0"; do
    chordseq classify -m stated $o -o half labelled.fa 2> log || exit; r=$(sed -n "s/.*no confident call; \(--.*\) gives the best class.*/\1/p" log)
    case $o in --*) [ -n "$r" ] || exit;; esac; if [ -n "$r" ]; then chordseq classify -m stated $r labelled.fa > half 2> log &&
    ! grep -q "confident\|error" log && ! grep -q unclassified half || exit; fi; done'
T 'the warning about one record is in the singular' sh -c 'awk "/^>/ && n++ { exit } 1" labelled.fa > one.fa &&
    chordseq classify -m stated --min-prob 0.999999 -o half --html page one.fa 2> log &&
    grep -q "warning: 1 of 1 record has no confident call; --min-prob 0" log && grep -q "<p>1 of 1 record has no " page'
{
    echo '>repeat'; awk 'BEGIN { for (i = 0; i < 500; i++) printf "AC"; print "" }'
    echo '>short'; echo AAAAAAAAAAAAAAACAAAAAAAAAAAACAAA
    awk '/^>/ { n++ } n == 5' labelled.fa
} > odd.fa
T 'short and repetitive sequences have a reason' sh -c 'chordseq classify -q -m stated odd.fa > odd &&
    grep -q "^repeat	.*	unclassified	.*	\(unlike_training\|low_confidence\)" odd &&
    grep -q "^short	32	unclassified	.	too_short" odd &&
    for f in stated again joined; do chordseq classify -q -m $f --max-error 0.9 odd.fa | grep -q "^repeat	.*	unlike_training" || exit; done'
# Unlike any genome: six bases, repeats, random bases with 70 % G+C.
awk 'BEGIN {
    srand(1); print ">six\nACGTAC"
    for (n = 500; n <= 10000; n *= 20) { s = ""; for (i = 0; i < n; i++) s = s "AT"; print ">at" n "\n" s }
    for (k = 0; k < 20; k++) {
        s = ""; for (i = 0; i < 500 + 2500 * (k % 2); i++) s = s substr("GCGCGCGATAT", 1 + int(rand() * 10), 1)
        print ">gc" k "\n" s
    }
}' > nothing.fa
T 'the default model calls no random or repetitive input' sh -c 'chordseq classify -q -m "$1" nothing.fa > none &&
    grep -q "^six	6	unclassified	.*	too_short" none && ! cut -f 5 none | grep -qx "[.]" && [ $(wc -l < none) = 24 ]' - "$srcdir/refdata/model/default.safetensors"
T 'eval reports coverage and error' sh -c "$e -m stated -o e.tsv --json e.json &&
    for r in 0.05 0.2 0.3; do grep -q \"^record	all	[.]	coverage:\$r	\" e.tsv || exit; done &&
    grep -q '^record	all	1	error	' e.tsv && grep -q '\"max_error\"' e.json &&
    n=\$(awk -F '\t' '\$5 == \".\"' calls | wc -l) && m=\$(grep -c '>' labelled.fa) &&
    awk -F '\t' -v n=\$n -v m=\$m '\$2 == \"all\" && \$4 == \"coverage:0.2\" {
        exit !(\$5 * m > n - 1 && \$5 * m < n + 1) }' e.tsv"
# Half of these are shuffled: unlike the training data, at rates above the model's, too.
awk 'BEGIN { srand(7) } /^>/ { odd = ++n % 2; sub(/ /, (odd ? "s" : "") " "); print; next }
    odd { m = split($0, b, ""); for (i = m; i > 1; i--) { k = 1 + int(i * rand()); x = b[i]; b[i] = b[k]; b[k] = x }
          $0 = ""; for (i = 1; i <= m; i++) $0 = $0 b[i] }
    { print }' labelled.fa > shuffled.fa
T 'coverage and error are those of classify --max-error, for every rate' sh -c 'chordseq eval -q -m stated --label-key class -o x.tsv shuffled.fa &&
    for r in 0.02 0.2 0.3; do chordseq classify -q -m stated --max-error $r -o y.tsv shuffled.fa &&
        awk -F "\t" -v r=$r "NR == FNR { if (\$1 \$2 \$3 == \"recordall.\") of[\$4] = \$5; next } FNR > 1 { n++ }
            FNR > 1 && \$5 == \".\" { called++; wrong += substr(\$1, 1, 1) != \$3 } \$5 == \"unlike_training\" { unlike++ }
            END { a = of[\"coverage:\" r] - called / n; b = of[\"error:\" r] - wrong / called
                  exit !(unlike > 10 && a * a < 1e-10 && b * b < 1e-10) }" x.tsv y.tsv || exit; done'
T 'every rate has one row, also the one that the model states' sh -c 'cut -f 1-4 e.tsv | sort | uniq -d > twice && [ ! -s twice ] &&
    [ "$(grep -c "\"max_error\": 0.2," e.json)" = "$(grep -c "\"calls\": \[" e.json)" ]'
T 'a model without stated rates has none' sh -c "$e -m trained -o t.tsv && ! grep -q coverage: t.tsv"

# ---- what goes in --------------------------------------------------------------------------------

cal='chordseq model calibrate trained x'
N calls-none.err      $cal
N calls-labels.err    $cal --scores s.tsv --label-key class
sed '1s/	3$/	4/' s.tsv > other.tsv
N calls-classes.err   $cal --scores other.tsv
sed '5s/	[^	]*$//' s.tsv > cut.tsv
N calls-cut.err       $cal --scores cut.tsv
sed '5s/$/	1/' s.tsv > wide.tsv
N calls-wide.err      $cal --scores wide.tsv
N calls-head.err      $cal --scores truth
"$builddir/tests/cli/make_model" real 1 channels=2 encoder.max-len=64 encoder.track=4 encoder.hidden=4
N calls-series.err    chordseq model calibrate --scores s.tsv -i labelled.fa --label-key class real x
T 'no output after a refusal' test ! -e x
