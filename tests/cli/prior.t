# prior.t - class shares among the records: --shares estimates them, --prior and --prior-file use them.
. "$srcdir/tests/cli/lib.sh"

# Two classes with overlapping composition, "at" with fewer G and C, and an odd name.
"$builddir/tests/bench/gen_fasta" 600000 1 80 120 | awk 'BEGIN { srand(1) }
    /^>/ { c = rand() < 0.5 ? "at" : "g,c=1"; print ">" c "_" NR " class=" c; next }
    { s = ""; for (i = 1; i <= length($0); i++) {
          b = substr($0, i, 1)
          if (rand() < 0.08) b = substr(c == "at" ? "AT" : "GC", 1 + int(2 * rand()), 1)
          s = s b }
      print s }' > all.fa
T 'a model' chordseq train -q --label-key class --tokenizer kmer --tokenizer.k 1 --tokenizer.stride 1 --encoder chordmixer \
    --encoder.max-len 2048 --encoder.track 2 --encoder.hidden 4 --encoder.depth none --epochs 6 --lr 0.03 --seed 1 -o m all.fa
# 2,000 records, 1 in 20 of them "at".
awk '/^>at/ { keep = ++a <= 100 } /^>g/ { keep = ++g <= 1900 } keep' all.fa > rare.fa
c='chordseq classify -q -m m --min-prob 0 --all'

T 'shares of a rare class are estimated better than by counting calls' sh -c '$1 -o equal.tsv --shares s.tsv rare.fa &&
    head -n 1 s.tsv | grep -qx "class	share" && [ "$(wc -l < s.tsv)" = 3 ] &&
    awk -F "\t" "FILENAME == \"s.tsv\" && \$1 == \"at\" { s = \$2 } FILENAME == \"equal.tsv\" { n += \$3 == \"at\" }
        END { exit !(s > 0.02 && s < 0.08 && n > 300) }" s.tsv equal.tsv' - "$c"
T 'calls with these shares are right more often' sh -c '$1 --prior-file s.tsv -o prior.tsv rare.fa && for f in equal prior; do
    awk -F "\t" "NR > 1 { split(\$1, t, \"_\"); n += t[1] == \$3 } END { print n }" $f.tsv; done | {
    read -r before && read -r after && [ "$after" -gt "$((before + 200))" ]; }' - "$c"
T 'probabilities are multiplied by the shares, and sum to 1' sh -c '$1 --prior at=0.1 -o x.tsv rare.fa &&
    paste equal.tsv x.tsv | awk -F "\t" "NR > 1 { q = 0.1 * \$7 / (0.1 * \$7 + 0.9 * \$6); d = \$14 - q; e = \$13 + \$14 - 1
        if (d * d > 1e-10 || e * e > 1e-10) exit 1 }"' - "$c"
T 'equal shares change nothing' sh -c '$1 --prior at=0.5 rare.fa | cmp - equal.tsv' - "$c"
T 'a class with the share 0 is never called' sh -c '$1 --prior at=1 -o x.tsv rare.fa &&
    awk -F "\t" "NR > 1 && (\$3 != \"at\" || \$7 != 1 || \$6 != 0) { exit 1 }" x.tsv' - "$c"
# Rounded to six decimals, these sum to 0.9985.
T 'shares of 2,950 classes, as estimated, are read again' sh -c 'awk "BEGIN { srand(2); for (i = 0; i < 2950; i++) {
        print \">r\" i \" class=c\" i; s = \"\"; for (j = 0; j < 60; j++) s = s substr(\"ACGT\", 1 + int(4 * rand()), 1); print s } }" > many.fa &&
    chordseq train -q --encoder.max-len 64 --encoder.track 4 --encoder.depth none --tokenizer.k 3 --epochs 1 --valid-frac 0 \
    --label-key class -o many many.fa 2> /dev/null && head -n 26 many.fa > few.fa &&
    chordseq classify -q -m many --shares shares.tsv -o x.tsv few.fa && [ "$(wc -l < shares.tsv)" = 2951 ] &&
    chordseq classify -q -m many --prior-file shares.tsv -o x.tsv few.fa && awk "{ \$2 = \$2 * 0.99; print \$1 \"\t\" \$2 }" shares.tsv |
    sed "1s/.*/class\tshare/" > less.tsv && ! chordseq classify -q -m many --prior-file less.tsv -o x.tsv few.fa 2> err && grep -q "sum to 0.98" err'
T 'shares are estimated equally with other shares given' sh -c '$1 --prior at=0.2 --shares t.tsv -o x.tsv rare.fa &&
    paste s.tsv t.tsv | awk -F "\t" "NR > 1 { d = \$2 - \$4; if (d * d > 1e-6) exit 1 }"' - "$c"
T 'thresholds apply to the new probabilities' sh -c 'chordseq classify -q -m m --min-prob 0.9 --prior-file s.tsv rare.fa > x.tsv &&
    awk -F "\t" "NR > 1 && (\$4 >= 0.9) != (\$5 == \".\") { exit 1 }" x.tsv &&
    [ "$(grep -c low_probability x.tsv)" -gt 0 ]'
T 'a warning of few calls points to --prior, unless it is given' sh -c 'chordseq classify -m m --min-prob 0.9999 rare.fa 2> log > x.tsv && grep -q "rare in the input, use --prior auto$" log &&
    chordseq classify -m m --min-prob 0.9999 --prior at=0.4 rare.fa 2> log > x.tsv && grep -q "best class of each$" log'
T 'mates of pairs get the shares, too' sh -c 'awk "/^>/ { n++; sub(/ .*/, \"\"); \$0 = \">r\" int((n + 1) / 2) } { print > (n % 2 ? \"1.fa\" : \"2.fa\") }" rare.fa &&
    $1 --prior at=0 -o pairs.tsv -1 1.fa -2 2.fa && [ "$(wc -l < pairs.tsv)" = 1001 ] && ! cut -f 3 pairs.tsv | grep -qx at' - "$c"
T 'a file may have comments, CRLF, a byte order mark, and names with commas' sh -c 'printf "\357\273\277class\tshare\r\n# of last week\r\n\r\ng,c=1\t0.9\r\n" > odd.tsv &&
    $1 --prior at=0.1 -o x.tsv rare.fa && $1 --prior-file odd.tsv -o y.tsv rare.fa && cmp x.tsv y.tsv' - "$c"
T 'shards and threads do not change calls' sh -c '$1 --prior-file s.tsv -@ 3 rare.fa | cmp - prior.tsv && for i in 1 2; do
    $1 --prior-file s.tsv --shard $i/2 --manifest m$i -o p$i.tsv rare.fa || exit; done &&
    chordseq merge -q -o whole.tsv m1 m2 && cmp whole.tsv prior.tsv' - "$c"
T 'shards with different shares are refused' sh -c '$1 --prior at=0.3 --shard 2/2 --manifest m2 -o p2.tsv rare.fa &&
    ! chordseq merge -q -o no.tsv m1 m2 2> msgs && grep -q -- "--prior" msgs' - "$c"
T 'taxa get the shares of their classes' sh -c 'chordseq classify -q -m fast --call taxon --min-prob 0.5 --prior virus=1 "$1/mixed.fa" > x.tsv &&
    cut -f 3 x.tsv | sort -u > labels && printf "label\nunclassified\nvirus\n" | cmp - labels' - "$tiny"

# ---- --prior auto --------------------------------------------------------------------------------

T 'auto: the shares that --shares estimates' sh -c '$1 --prior auto -o auto.tsv rare.fa && paste prior.tsv auto.tsv | awk -F "\t" "
    NR > 1 { d = \$6 - \$13; if (\$3 != \$10 || d * d > 1e-8) exit 1 }"' - "$c"
T 'auto: threads and shards do not change calls' sh -c '$1 --prior auto -@ 3 rare.fa | cmp - auto.tsv && for i in 1 2; do
    $1 --prior auto --shard $i/2 --manifest m$i -o p$i.tsv rare.fa || exit; done &&
    chordseq merge -q -o whole.tsv m1 m2 && cmp whole.tsv auto.tsv' - "$c"
awk '/^>/ { file = /^>at/ ? "at.fa" : "g.fa" } { print > file }' all.fa
cat g.fa g.fa g.fa g.fa g.fa at.fa | sed '2s/^..../NNXX/' > sorted.fa
T 'auto: a sample of many records, spread over the input' sh -c 'n=$(grep -c "^>" sorted.fa) && [ "$n" -gt 10000 ] && [ "$n" -le 20000 ] &&
    chordseq classify -m m --min-prob 0 --prior auto --shares s.tsv -o x.tsv sorted.fa 2> log &&
    grep -q "from $(((n + 1) / 2)) of $n records: g,c=1 0.8.*, at 0.1" log &&
    [ "$(grep -c "X, read as N" log)" = 1 ] && [ "$(grep -c "^chordseq: " log)" = 3 ] &&
    awk -F "\t" "\$1 == \"at\" { exit !(\$2 > 0.12 && \$2 < 0.21) }" s.tsv'
T 'auto: the summary has the shares, also that of shards' sh -c '$1 --prior auto -o x.tsv --summary x.json rare.fa &&
    sed -n "s/.*\"prior\": .*\"at\": \([0-9.]*\).*/\1/p" x.json | awk "{ ok = \$1 > 0.02 && \$1 < 0.08 } END { exit !ok }" &&
    for i in 1 2; do $1 --prior auto --shard $i/2 --manifest m$i -o p$i.tsv rare.fa || exit; done &&
    chordseq merge -q --summary whole.json m1 m2 && grep "\"prior\": {" x.json > one && grep "\"prior\": {" whole.json | cmp - one' - "$c"
T 'auto: mates of pairs count once' sh -c 'chordseq classify -m m --prior auto -o x.tsv -1 1.fa -2 2.fa 2> log && grep -q "from 1000 of 1000 records" log'
T 'auto: an empty input has equal shares' sh -c ': > empty.fa && chordseq classify -m m --prior auto -o x.tsv empty.fa 2> log &&
    [ "$(wc -l < x.tsv)" = 1 ] && grep -q "from 0 of 0 records: .* 0.5, .* 0.5$" log'
T 'auto: pipes are refused' sh -c '! chordseq classify -m m --prior auto < rare.fa 2> msgs > x.tsv && [ ! -s x.tsv ] && grep -q "input twice.*--prior-file" msgs'
T 'auto: other commands refuse it, and a file beside it' sh -c '! chordseq predict -m m --prior auto -o x.bed rare.fa 2> msgs && grep -q "only .chordseq classify" msgs &&
    ! chordseq eval -m m --label-key class --prior auto rare.fa 2> msgs && grep -q "only .chordseq classify" msgs &&
    ! chordseq classify -m m --prior auto --prior-file s.tsv rare.fa 2> msgs && grep -q "exclude each other" msgs'

# ---- eval ----------------------------------------------------------------------------------------

# A model with a rate of wrong calls. `balanced.fa` has 500 records of each class.
T 'a calibrated model' sh -c 'chordseq eval -q -m m --label-key class --scores scores.tsv -o equal_eval.tsv all.fa &&
    chordseq model calibrate -q m called --scores scores.tsv --bins 500 --max-error 0.2'
awk '/^>at/ { keep = ++a <= 500 } /^>g/ { keep = ++g <= 500 } keep' all.fa > balanced.fa
e='chordseq eval -q -m called --label-key class'
# value FILE CLASS METRIC: of all records
value() { awk -F '\t' -v c="$2" -v m="$3" '$1 == "record" && $2 == "all" && $3 == c && $4 == m { print $5 }' "$1"; }
# near A B
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d * d < 1e-8) }'; }
T 'eval: the calls of classify' sh -c '$1 --prior at=0.05 -o rare_eval.tsv rare.fa && chordseq classify -q -m called --prior at=0.05 -o x.tsv rare.fa' - "$e"
T 'eval: its share of calls, and of wrong ones' near "$(value rare_eval.tsv . coverage:0.2) $(value rare_eval.tsv . error:0.2)" \
    "$(awk -F '\t' 'NR > 1 && $5 == "." { n++; split($1, t, "_"); w += t[1] != $3 } END { printf "%.6g %.6g", n / (NR - 1), w / n }' x.tsv)"
chordseq classify -q -m called --min-prob 0 --prior at=0.05 -o x.tsv rare.fa
T 'eval: its best classes' [ "$(value rare_eval.tsv g,c=1 called:at)" = "$(awk -F '\t' '/^g/ && $3 == "at"' x.tsv | wc -l)" ]
T 'eval: the shares are in the table' near "$(value rare_eval.tsv at share)" 0.05
T 'eval: records with these shares have the expected figures' sh -c '[ -n "$1" ] && [ "$1" = "$2" ]' - \
    "$(for m in accuracy coverage:0.2 error:0.05; do value rare_eval.tsv . $m; done
       for m in precision error; do value rare_eval.tsv at $m; done)" \
    "$(for m in accuracy coverage:0.2 error:0.05; do value rare_eval.tsv . expected_$m; done
       for m in precision error; do value rare_eval.tsv at expected_$m; done)"
T 'eval: with other shares they follow from the confusion matrix' sh -c '$1 --prior at=0.05 -o b.tsv --json b.json --html b.html balanced.fa' - "$e"
T 'eval: the precision' near "$(value b.tsv at expected_precision)" "$(awk -v r="$(value b.tsv at called:at)" -v w="$(value b.tsv g,c=1 called:at)" \
    'BEGIN { print 0.05 * r / (0.05 * r + 0.95 * w) }')"
T 'eval: the accuracy' near "$(value b.tsv . expected_accuracy)" \
    "$(awk -v a="$(value b.tsv at recall)" -v g="$(value b.tsv g,c=1 recall)" 'BEGIN { print 0.05 * a + 0.95 * g }')"
T 'eval: other figures are of the records as labelled' near "$(value b.tsv . accuracy)" \
    "$(awk -v a="$(value b.tsv at recall)" -v g="$(value b.tsv g,c=1 recall)" 'BEGIN { print (a + g) / 2 }')"
with python3 T 'eval: JSON and page have them' python3 -c '
import json
s = json.load(open("b.json"))["sets"][0]
rows = {tuple(l.split("\t")[2:4]): l.split("\t")[4] for l in open("b.tsv").read().splitlines() if l.startswith("record\tall\t")}
assert "%.6g" % s["expected_accuracy"] == rows[".", "expected_accuracy"]
for c in s["calls"]:
    for k in "coverage", "error", "expected_coverage", "expected_error":
        v = rows[".", "%s:%g" % (k, c["max_error"])]
        assert v == ("NA" if c[k] is None else "%.6g" % c[k]), (k, c)
for name, c in s["classes"].items():
    for k in "share", "expected_precision", "expected_error":
        assert "%.6g" % c[k] == rows[name, k], (name, k)
page = open("b.html").read()
for v in (s["expected_accuracy"], s["classes"]["at"]["expected_precision"], s["calls"][-1]["expected_error"], s["classes"]["at"]["expected_error"]):
    assert "%.4f" % v in page, v
assert "expected" not in open("equal_eval.tsv").read()'
T 'eval: equal shares change nothing else' sh -c '$1 -o x.tsv all.fa && $1 --prior at=0.5 -o y.tsv all.fa &&
    grep -vE "	(share|expected_[a-z]*:?[0-9.]*)	" y.tsv | cmp - x.tsv' - "$e"
T 'eval: a class without records is left out, and reported' sh -c 'grep -A 1 "^>g" balanced.fa | grep -v "^--" > one.fa &&
    chordseq eval -m called --label-key class --prior at=0.05 -o x.tsv one.fa 2> msgs && grep -q "classes without records, with shares of 0.05 in all" msgs &&
    grep -q "^record	all	at	expected_precision	NA$" x.tsv'
printf 'at\t0.1\n' > tenth.tsv
for o in scores calibrate; do
    T "eval: --$o needs equal shares" sh -c '! $1 --prior-file tenth.tsv --$2 no -o x.tsv balanced.fa 2> err && [ ! -e no ] &&
        grep -q "error: eval: --$2 and --prior-file exclude each other: a calibration is for equal shares" err' - "$e" $o
done
"$builddir/tests/cli/make_model" token 5 tokenizer=base head=token label=sea label=island encoder.hidden=8
T 'eval: a model of tokens has no shares' sh -c 'printf "r\t0\t9\tisland\n" > i.bed && ! chordseq eval -q -m token --intervals i.bed --background sea --prior sea=0.1 rare.fa 2> err &&
    grep -q "error: eval: --prior is for models that predict per sequence; this one predicts per token" err'

# ---- what goes in --------------------------------------------------------------------------------

# refuse MESSAGE OPTION...
refuse() { message=$1; shift; ! $c "$@" rare.fa > no.tsv 2> err && [ ! -s no.tsv ] && grep -qF -- "$message" err; }
for line in "a list without '='|--prior: 'at' is not of the form CLASS=SHARE|--prior at" \
            "an unknown class|the model has no class 'att'; did you mean 'at'?|--prior att=0.1" \
            "a share above 1|the share of class 'at' must be a number from 0 to 1, not '1.5'|--prior at=1.5" \
            "a share that is no number|not 'nan'|--prior at=nan" \
            "a class twice|--prior: class 'at' occurs twice|--prior at=0.1,at=0.2" \
            "both options|--prior and --prior-file exclude each other|--prior at=0.1 --prior-file s.tsv"; do
    IFS='|' read -r title message options << END
$line
END
    # shellcheck disable=SC2086 # a list of words
    T "refused: $title" refuse "$message" $options
done
printf 'at\t0.2\ng,c=1\t0.3\n' > low.tsv
T 'refused: shares of all classes with another sum' refuse "'low.tsv': the shares of all classes sum to 0.5, not to 1" --prior-file low.tsv
printf 'at\t0.8\ng,c=1\t0.3\n' > high.tsv
T 'refused: shares with a sum above 1' refuse "'high.tsv': the shares sum to 1.1; the maximum is 1" --prior-file high.tsv
printf 'class\tshare\nat 0.2\n' > blank.tsv
T 'refused: a line without a tab' refuse "'blank.tsv' line 2: a line has a class, a tab and a share" --prior-file blank.tsv
printf 'class\tshare\n' > none_named.tsv
T 'refused: a file without a class' refuse "'none_named.tsv': no class has a share" --prior-file none_named.tsv
gzip -c s.tsv > s.tsv.gz
T 'refused: a compressed file' refuse "'s.tsv.gz': compressed; this file is read as plain text" --prior-file s.tsv.gz
for name in shares.csv shares.tsv.gz; do
    T "refused: shares in $name" refuse "--shares '$name': shares are plain TSV" --shares $name -o x.tsv
done
T 'refused: a missing file' refuse "none.tsv" --prior-file none.tsv
"$builddir/tests/cli/make_model" values 1 head=regress encoder.max-len=2048 encoder.track=4 encoder.hidden=4
T 'refused: a model of values' sh -c '! chordseq classify -m values --prior x=1 rare.fa 2> err && grep -q -- "--prior is for classes; the model predicts values" err'
T 'without records shares are equal' sh -c ': > empty.fa && $1 --shares e.tsv -o x.tsv empty.fa 2> /dev/null; grep -q "^at	0.500000$" e.tsv' - "$c"
