# taxa.t - a tree of classes: lineages as labels, the head tree, calls above the classes.
. "$srcdir/tests/cli/lib.sh"

# Four genera in two families, which share features of their family. One record is labelled with its
# family only.
awk 'BEGIN { srand(1); split("AAATTACG AAATTCAG GGGCCATC GGGCCTAC", word, " ")
    split("F1;g1 F1;g2 F2;g3 F2;g4", tax, " ")
    for (i = 0; i < 160; i++) { c = 1 + i % 4; s = ""
        for (j = 0; j < 60 + i; j++) s = s substr(word[c], 1 + int(8 * rand()), 1)
        printf ">r%d tax=%s\n%s\n", i, i % 40 == 0 ? "F1;;" : tax[c], s } }' > all.fa
small="--encoder.max-len 256 --encoder.track 4 --encoder.depth none --tokenizer.k 3 -B 2048 --lr 0.03"
train="chordseq train -q $small --epochs 6 --seed 1 --label-key tax"

N tree-none.err      $train -o x.m --head tree all.fa
N tree-both.err      $train -o x.m --lineage family,genus --taxonomy taxa.tsv all.fa
N tree-ranks.err     $train -o x.m --head tree --lineage family, all.fa
T 'training with a tree' $train -o tree.m --head tree --lineage family,genus --metrics m.tsv all.fa
P tree-labels.tsv    sh -c 'chordseq model show tree.m | grep -E "^(label|taxon)"'
T 'fewer ranks: others are omitted' $train -o family.m --head tree --lineage family all.fa
T 'two classes remain' sh -c '[ "$(chordseq model show family.m | grep -c ^label)" = 2 ]'
sed 's/tax=\(F.\);/tax=f__\1;g__/' all.fa > prefixed.fa
T 'ranks as letters' $train -o prefixed.m --head tree --lineage prefixed prefixed.fa
T 'ranks as letters need a letter in one of the labels' sh -c '
    ! chordseq model label --lineage prefixed tree.m x.m 2> msgs && [ ! -e x.m ] &&
    grep -q "no label has a rank prefix such as .d__., for --lineage prefixed; the first is .F1" msgs'
T 'both trees are the same' sh -c '
    chordseq model show tree.m | grep ^taxon > a; chordseq model show prefixed.m | grep ^taxon | cmp - a'
T 'both models have the same weights' sh -c '
    [ "$(chordseq model show tree.m | grep ^sha256)" = "$(chordseq model show prefixed.m | grep ^sha256)" ]'
awk '/^>/ { split($2, c, /[=;]/); file = c[2] ".fa" } { print > file }' prefixed.fa
T "a file's class is tidied, too" sh -c 'chordseq train -q '"$small"' --epochs 1 -o files.m --head tree --lineage prefixed \
    --class "f__F1; g__=f__F1.fa" --class "f__F2 ; g__g3;=f__F2.fa" &&
    chordseq model show files.m | grep ^label | cut -f 2 -d " " > a && printf "0\tf__F1\n1\tf__F2;g__g3\n" > b &&
    cut -f 1,2 a | cmp - b'
T 'a lineage that is too long is refused' sh -c 'printf "r1\tF1;$(printf %01100d 0)\n" > wide.tsv
    ! chordseq train -q --skip-unlabelled --labels wide.tsv --lineage family,genus -o x.m all.fa 2> err && grep -q "lineage .F1;0.* has 1103 bytes" err'
# A genus without a family: F1;;g2 stands for F1;g2 of an unnamed rank between.
sed 's/tax=F1;g1/tax=F1;a;g1/; s/tax=F1;g2/tax=F1;;g2/; s/tax=F2;/tax=;b;/' all.fa > gaps.fa
T 'empty parts of a lineage: a model that can be read, without taxa for them' sh -c '
    for h in "--head tree" ""; do '"$train"' --epochs 1 -o gaps.m $h --lineage order,family,genus gaps.fa &&
    chordseq model show gaps.m > shown && [ "$(grep -c ^taxon shown)" = 8 ] &&
    grep -q "^taxon 20000000..	genus	    g2$" shown && grep -q "^taxon 20000000..	family	  b$" shown || exit; done
    grep "tax=F1;;g2" -A 1 gaps.fa | sed "s/g2/g9/" > novel.fa &&
    chordseq eval -q -m gaps.m --label-key tax novel.fa | grep -q "^record	all	[.]	records:order	40$" &&
    chordseq model label --lineage order,family,genus gaps.m copy.m && chordseq model show copy.m | grep ^taxon > b &&
    grep ^taxon shown | cmp - b'
T 'the log counts records of classes that the model does not have' sh -c 'chordseq eval -m gaps.m --label-key tax -o x.tsv novel.fa 2> msgs &&
    grep -q "^chordseq: record all: 40 more records have a class that the model does not have, and count only at the ranks" msgs'
sed 's/ tax=F[12];;*/ tax=/; s/ tax=$/ tax=g1/' all.fa > genus.fa
printf 'F1\t10\tfamily\nF2\t20\tfamily\ng1\t11\tgenus\tF1\ng2\t12\tgenus\tF1\ng3\t23\tgenus\tF2\ng4\t24\tgenus\tF2\n' > taxa.tsv
T 'a table of taxa is a tree, too' sh -c "$train"' -o table.m --head tree --taxonomy taxa.tsv genus.fa &&
    chordseq classify -q -m table.m --min-prob 0.999 genus.fa | cut -f 3,6,7 | sort -u | grep -qx "F1	10	family"'
# g2 stands for the other taxa of F1.
sed '/^g2/s/genus/other/' taxa.tsv > others.tsv
T 'other taxa of a parent are called as the parent' sh -c '
    for m in taxa others; do chordseq model label --taxonomy $m.tsv table.m $m.m &&
        chordseq classify -q -m $m.m --report $m.report --min-prob 0 genus.fa > $m.out || exit; done &&
    paste taxa.out others.out | awk -F "\t" "NR > 1 && \$3 == \"g2\" { n++; if (\$10 != \"F1\" || \$13 != 10 || \$4 > \$11) exit bad = 1; next }
        NR > 1 && (\$3 != \$10 || \$4 != \$11) { exit bad = 1 } END { exit bad || !n }" &&
    grep -q g2 taxa.report && ! grep -q g2 others.report'
T 'they are no rank of the evaluation' sh -c 'chordseq eval -q -m others.m --label-key tax -o x.tsv genus.fa &&
    grep -q "records:genus	" x.tsv && ! grep -q "records:other" x.tsv'
# Names at several ranks and under several parents, as in SILVA.
tr ' ' '\t' << 'EOF' > homonyms.tsv
name taxid rank parent
F1 8 phylum -
F1 9 class F1
F1 10 family F1
F2 20 phylum -
uncultured 21 family F2
uncultured 22 genus uncultured
uncultured 23 genus F1
g1 11 genus F1
g2 12 genus F1
g3 24 genus uncultured
g4 25 genus F2
EOF
T 'taxa of one name at several ranks: the report has each' sh -c "$train"' --epochs 1 -o same.m --head tree --taxonomy homonyms.tsv genus.fa &&
    chordseq classify -q -m same.m --min-prob 0 --report same.report --krona same.krona -o same.tsv genus.fa &&
    n() { cut -f 3 same.tsv | grep -c "$1"; } &&
    cut -f 2,4- same.report | grep -E "	(8|9|10|20|21)	" | tr "\t" "|" | sort > got &&
    { printf "%s\n" "$(n "g[12]")|P|8|  F1" "$(n "g[12]")|C|9|    F1" "$(n "g[12]")|F|10|      F1"
      [ "$(n "g[34]")" = 0 ] || echo "$(n "g[34]")|P|20|  F2"; [ "$(n g3)" = 0 ] || echo "$(n g3)|F|21|    uncultured"; } | sort | cmp - got'
sed 's/tax=g1/tax=F1/' genus.fa > phylum.fa
T 'a class with the name of several taxa: which ones, and what to do' sh -c '
    ! '"$train"' --epochs 1 -o x.m --head tree --taxonomy homonyms.tsv phylum.fa 2> msgs &&
    grep -q "homonyms.tsv.: several taxa have the name of the class .F1., on line 2 (phylum) and line 3 (class); rename the rows" msgs &&
    sed "s/^F1 *\(	9	.*\)/F1_class\1	F1/; s/^F1\(	10	.*\)/F1_family\1	F1/; s/\(g[12].*\)F1/\1F1_family/" homonyms.tsv > renamed.tsv &&
    '"$train"' --epochs 1 -o renamed.m --head tree --taxonomy renamed.tsv phylum.fa && chordseq model show renamed.m > shown &&
    grep -q "^label [0-9]*	F1	taxid 8	phylum$" shown && grep -q "^taxon 10	family	      F1$" shown'
T 'a class may be a taxid' sh -c 'sed "s/tax=g2/tax=12/" genus.fa > taxid.fa &&
    '"$train"' --epochs 1 -o taxid.m --head tree --taxonomy homonyms.tsv taxid.fa && chordseq model show taxid.m | grep -q "^taxon 12	genus	        g2$"'
T 'a table of none of the classes' sh -c 'sed "s/tax=/tax=g__/" genus.fa > letters.fa &&
    ! '"$train"' --epochs 1 -o x.m --head tree --taxonomy homonyms.tsv letters.fa 2> msgs && grep -q "homonyms.tsv. has no taxon of the classes, such as .g__g1.; labels must" msgs'
T "a tree's loss is for the head tree" sh -c '! '"$train"' -o x.m --head.ancestors 0.5 all.fa 2> msgs &&
    grep -q "head.ancestors is for --head tree" msgs'
T 'resuming needs the same tree' sh -c '
    '"$train"' --epochs 1 -o go.m --head tree --lineage family,genus all.fa &&
    ! '"$train"' --epochs 1 --resume -o go.m --head tree --lineage rank,genus all.fa 2> err && [ -s err ]'
T 'a changed table of the same path is found; rows that no class needs may change' sh -c '
    run() { '"$train"' --epochs 1 -o kept.m --head tree --taxonomy kept.tsv "$@" genus.fa; }
    cp taxa.tsv kept.tsv && run --stop-after 1 && sed "s/^g2\(.*\)F1\$/g2\1F2/" taxa.tsv > kept.tsv && ! cmp -s taxa.tsv kept.tsv &&
    ! run --resume 2> err && grep -q "belongs to another run: it has .taxonomy.content=sha256:" err &&
    { cat taxa.tsv; echo "g9	99	genus	F2"; } > kept.tsv && run --resume'

# ---- calls ---------------------------------------------------------------------------------------

head -n 16 all.fa > some.fa
printf '>novel\nACGTTGCATCGATTAGCCATAGCATTACGACCATGACTAGGAC\n' >> some.fa
for p in 0 0.6 0.9 0.999999; do chordseq classify -q -m tree.m --min-prob $p some.fa > call.$p; done
T 'columns of taxa' sh -c '[ "$(head -n 1 call.0)" = "name	length	label	probability	reason	taxid	rank" ]'
T 'every call has a probability' sh -c 'for p in 0 0.6 0.9 0.999999; do
    awk -F "\t" -v p=$p "NR > 1 && \$5 == \".\" && \$4 + 5e-7 < p { exit 1 }" call.$p || exit; done'
T 'calls are nested by --min-prob' sh -c '
    for p in 0.6 0.9 0.999999; do paste call.0 call.$p | awk -F "\t" "NR > 1 && \$12 == \".\" \
        && index(\$3 \";\", \$10 \";\") != 1 { exit 1 }" || exit; done'
T 'ranks become less specific step by step' sh -c '
    rank() { cut -f 7 call.$1 | grep -c "$2"; }
    [ $(rank 0 .) = 10 ] && [ $(rank 0.999999 genus) -le $(rank 0.6 genus) ] &&
    cut -f 7 call.0.6 call.0.9 call.0.999999 | grep -q family'
T 'a call is the deepest taxon above --min-prob' sh -c 'for p in 0.55 0.58; do
    chordseq classify -q -m tree.m --min-prob $p --all some.fa | awk -F "\t" -v p=$p "
        NR == 1 { for (i = 8; i <= NF; i++) name[i] = substr(\$i, 6); next }
        \$5 == \".\" { sum = 0; n[\$7]++
            for (i = 8; i <= NF; i++) if (index(name[i] \";\", \$3 \";\") == 1) {
                sum += \$i; if (name[i] != \$3 && \$i >= p + 1e-6) exit bad = 1 }
            if (sum - \$4 > 5e-6 || \$4 - sum > 5e-6) exit bad = 1 }
        END { exit bad || !n[\"genus\"] || !n[\"family\"] }" || exit; done'
T 'no taxon, no call' sh -c 'chordseq classify -q -m tree.m --min-prob 1 some.fa |
    awk -F "\t" "NR > 1 && \$4 < 1 { n++; if (\$3 != \"unclassified\" || \$5 != \"low_probability\" ||
        \$6 != 0 || \$7 != \".\") exit 1 } END { exit !n }"'
all='--jsonl c.jsonl --kraken c.kraken --report c.report --krona c.krona --cami-binning c.bin
     --bam c.sam --summary c.json --html c.html -o c.tsv'
T 'every output' chordseq classify -q -m tree.m --min-prob 0.9 $all some.fa
T 'all outputs have the same taxon' sh -c '
    awk -F "\t" "NR > 1 { print \$1, \$6 }" c.tsv > want
    awk "{ print \$2, \$3 }" c.kraken | cmp - want &&
    sed "s/.*\"name\":\"\([^\"]*\)\".*\"taxid\":\([0-9]*\),.*/\1 \2/" c.jsonl | cmp - want &&
    grep -v "^@" c.sam | sed "s/^\([^	]*\)	.*ct:i:\([0-9]*\).*/\1 \2/" | cmp - want &&
    cut -f 2 -d " " want | sort -n | uniq -c | awk "\$2 { print \$2, \$1 }" > counts &&
    awk -F "\t" "\$3 > 0 && \$5 > 0 { print \$5, \$3 }" c.report | sort -n | cmp - counts &&
    grep -v Unclassified c.krona | cut -f 1 | sort -n > a && cut -f 2 -d " " counts | sort -n | cmp - a &&
    [ "$(grep -c "^[rn]" c.bin)" = "$(grep -vc " 0$" want)" ]'
T 'bars of all rows of the page have one scale' sh -c '
    chordseq classify -q -m tree.m --min-prob 0.6 --html bars.html -o bars.tsv all.fa && tr -d "\n" < bars.html | sed "s/<.table>.*//; s/<tr>/\n/g" |
    sed -n "s/.*<td class=.n.>[0-9]*<.td><td class=.n.>\([0-9]*\)<.*<td class=.n.>[0-9]*<.* width=.\([0-9.]*\). height=.8.*/\1 \2/p" > bars
    awk "{ n[NR] = \$1; w[NR] = \$2; most = \$1 > most ? \$1 : most }
        END { for (i in n) if (w[i] - 100 * n[i] / most > 0.006 || 100 * n[i] / most - w[i] > 0.006) exit 1; exit NR < 3 }" bars'
T 'the summary counts them all' sh -c '
    n=$(sed "1,/classes/d; s/.*\"records\": \([0-9]*\),.*/\1/" c.json | awk "{ n += \$1 } END { print n }")
    [ "$n" = "$(grep -vc " 0$" want)" ]'
T 'interrupted and resumed, the same bytes' sh -c '
    r="--report r.report --krona r.krona --summary r.json -o r.tsv"
    chordseq classify -q -m tree.m --min-prob 0.9 --resume $r some.fa &&
    cmp r.tsv c.tsv && cmp r.report c.report && cmp r.krona c.krona'
T 'the best class instead' sh -c '
    chordseq classify -q -m tree.m --call class some.fa | head -n 1 | grep -q "reason$"'
N tree-split.err     chordseq classify -q -m tree.m --split-dir d some.fa
N tree-rate.err      chordseq classify -q -m tree.m --call class --max-error 0.1 some.fa

awk '/g1/ { getline s; print ">p" n++; print s }' all.fa | head -n 8 > one.fa
awk '/g3/ { getline s; print ">p" n++; print s }' all.fa | head -n 8 > two.fa
taxids() { chordseq classify -q -m tree.m --min-prob 0.3 "$1" | awk -F '\t' 'NR > 1 { print $6 }'; }
taxids one.fa > a
taxids two.fa > b
T 'each mate its own taxon' sh -c '
    chordseq classify -q -m tree.m --min-prob 0.3 --kraken k -1 one.fa -2 two.fa &&
    [ "$(sort -u a)" != "$(sort -u b)" ] &&
    paste a b | awk "{ print \$1 \":1 |:| \" \$2 \":1\" }" > want && cut -f 5 k | cmp - want'
T 'windows are counted' sh -c '
    chordseq classify -q -m tree.m --long-sequence window --window-length 64 --kraken k all.fa &&
    awk -F "\t" "\$4 > 128 { split(\$5, v, \":\"); if (v[2] != int((\$4 + 63) / 64)) exit 1; n++ }
        END { exit !n }" k'

# ---- accuracies ----------------------------------------------------------------------------------

sed 's/tax=F2;g4/tax=F2;g9/; s/tax=F1;g2/tax=F9;g2/' all.fa > other.fa
T 'by rank' sh -c 'chordseq eval -q -m tree.m --label-key tax -o e.tsv --json e.json --html e.html all.fa &&
    n() { awk -F "\t" -v m="$1" "\$2 == \"all\" && \$3 == \".\" && \$4 == m { print \$5 }" e.tsv; }
    [ "$(n records:family)" = 160 ] && [ "$(n records:genus)" = 156 ] &&
    awk -v a="$(n accuracy:family)" "BEGIN { exit !(a > 0.9) }" && grep -q "\"ranks\"" e.json'
T 'by rank in the page' sh -c 'awk -F "\t" "\$2 == \"all\" && \$3 == \".\" { v[\$4] = \$5 }
        END { for (i = split(\"family genus\", r, \" \"); i > 0; i--)
            printf \"<tr><td>%s</td><td class=.n.>%d</td><td class=.n.>%.4f</td></tr>\n\", r[i], v[\"records:\" r[i]],
                v[\"accuracy:\" r[i]] }" e.tsv > want && [ "$(tr -d "\n" < e.html | sed "s/.*>By rank<//; s/<.table>.*//; s/<tr>/\n&/g" |
        grep -cxf want)" = 2 ]'
T 'by rank and length' sh -c 'chordseq eval -q -m tree.m --bins 100,150 --label-key tax -o l.tsv all.fa &&
    awk "/^>/ { genus = /;g/; next } { n[length(\$0) < 100 ? \"0-99\" : length(\$0) < 150 ? \"100-149\" : \"150-\"] += genus }
        END { for (b in n) print b, n[b] }" all.fa | sort > want && awk -F "\t" "\$2 != \"all\" && \$4 == \"records:genus\" {
        print \$2, \$5 }" l.tsv | sort | cmp - want'
with python3 T 'by rank in JSON' python3 -c '
import json
rows = [line.split("\t")[3:] for line in open("e.tsv") if line.startswith("record\tall\t.\t")]
rows = {name: "%g" % float(value) for name, value in rows}
ranks = json.load(open("e.json"))["sets"][0]["ranks"]
assert [r["rank"] for r in ranks] == ["family", "genus"]
for r in ranks:
    for name in "records", "accuracy":
        assert "%g" % r[name] == rows[name + ":" + r["rank"]], r'
T 'evaluation by known taxa' sh -c 'chordseq eval -q -m tree.m --label-key tax -o o.tsv other.fa &&
    n() { awk -F "\t" -v m="$1" "\$2 == \"all\" && \$3 == \".\" && \$4 == m { print \$5 }" o.tsv; }
    [ "$(n records:family)" = 120 ] && [ "$(n records:genus)" = 76 ]'
with lapack T 'evaluation of a reduced model' sh -c 'for f in all other; do
    chordseq eval -q -m tree.m --label-key tax -o f.tsv $f.fa
    awk -F "\t" "\$2 == \"all\" && \$3 == \".\" && \$4 == \"accuracy\" { print \$5 }" f.tsv > want
    chordseq model factorize -q --rank 2 --label-key tax -i $f.fa tree.m | awk -F "\t" "\$1 == \"accuracy\" { print \$2 }" > got
    [ -s got ] && paste want got | awk "{ exit \$1 - \$2 > 1e-6 || \$2 - \$1 > 1e-6 }" || exit; done'
sed 's/tax=F/tax=G/' all.fa > unknown.fa
with lapack T 'evaluation needs a known class' sh -c '! chordseq model factorize -q --rank 2 --label-key tax -i unknown.fa tree.m 2> msgs &&
    grep -q "no input record .* class of the model" msgs'
T 'a rate of taxa' sh -c '
    chordseq eval -q -m tree.m --label-key tax -o x.tsv --calibrate cal.m all.fa 2> /dev/null &&
    chordseq classify -q -m cal.m --max-error 0.2 all.fa | awk "NR > 1" > r && [ -s r ]'
awk '/;g/ { $0 = $0 "_" int(NR / 8) % 5 } { print }' all.fa > many.fa
T 'a rate of taxa, of more classes than have rates of their own' sh -c "$train"' -o many.m --head tree --lineage family,genus many.fa &&
    [ "$(chordseq model show many.m | grep -c "^label")" -gt 16 ] &&
    chordseq eval -q -m many.m --label-key tax -o x.tsv --calibrate once.m --scores s.tsv many.fa &&
    chordseq model calibrate -q --scores s.tsv --max-error 0.2 many.m stated.m &&
    chordseq model show stated.m | grep -q "^calls	estimated error at most 0.2" &&
    chordseq classify -q -m stated.m many.fa | cut -f 3 > own && chordseq classify -q -m once.m --max-error 0.2 many.fa |
    cut -f 3 | cmp - own'
N taxa-calibrate.err chordseq model calibrate -q --scores s.tsv -i many.fa --label-key tax many.m rated.m
# Curves of its few classes would have no counts, so that nothing would be called.
chordseq eval -q -m tree.m --label-key tax -o x.tsv --scores own.tsv all.fa
N taxa-calibrate.err chordseq model calibrate -q --scores own.tsv -i all.fa --label-key tax tree.m rated.m
sed 's/^>\([^ ]*\).*/\1	valid/; /^[ACGT]/d' other.fa > parts.tsv
# A class that the model does not have would be one more than the tables have room for.
for database in lookup proteins; do
    N taxa-unknown.err chordseq model $database -q --split parts.tsv -i other.fa --label-key tax tree.m x.m
done

# ---- the model that comes with the program -------------------------------------------------------

T 'the model taxa has 81 classes with ranks, 16 of them of other taxa' sh -c 'chordseq model verify taxa && chordseq model show taxa > show &&
    [ "$(grep -c "^label " show)" = 81 ] && [ "$(grep -c "^label .*	other$" show)" = 16 ] && grep -q "^label [0-9]*	Caudoviricetes	taxid 2731619	class" show'
T 'the model taxa calls taxa' sh -c 'chordseq classify -q --model taxa --min-prob 0 "$srcdir/refdata/selftest/sequences.fa" > own.tsv &&
    head -n 1 own.tsv | grep -q "	taxid	rank$" && awk -F "\t" "NR > 1 && \$5 == \".\" && \$6 > 0 { n++ } END { exit !n }" own.tsv'

# ---- as files ------------------------------------------------------------------------------------

T 'a folder with the tree and the calibration' sh -c '
    chordseq model export cal.m out && [ -s out/taxonomy.tsv ] && [ -s out/calibration.json ] &&
    (cd out && sha256sum -c --quiet SHA256SUMS) && [ "$(wc -l < out/SHA256SUMS)" = 7 ] &&
    chordseq model label --taxonomy out/taxonomy.tsv cal.m again.m &&
    chordseq model show cal.m | grep ^taxon > a && chordseq model show again.m | grep ^taxon | cmp - a'
with python3 T 'the calibration is that of the model'"'"'s' python3 -c '
import json
data = open("cal.m", "rb").read()
head = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
config = [json.loads(v) for v in head.values() if "calibration" in v][0]
assert json.load(open("out/calibration.json")) == config["calibration"]'
with lapack T 'factorize reports the dropped calibration' sh -c '
    chordseq model factorize --rank 2 -o low.m cal.m > r 2> err && grep -q "not calibrated" err &&
    ! chordseq model show low.m | grep -q ^calibration'
