# multilabel.t - several labels per sequence, some unknown: train, eval, classify, poolings.
. "$srcdir/tests/cli/lib.sh"

# Labels g and t: the 20 bases in the centre are rich in G, in T. Other bases hide this from
# a mean over all. Some targets are unknown; r7 has none.
awk 'function draw(from) { return substr(from, 1 + int(length(from) * rand()), 1) }
BEGIN {
    srand(7); print "id\tg\tt" > "labels.tsv"
    for (i = 0; i < 120; i++) {
        n = 90 + int(60 * rand()); mid = int((n - 20) / 2); s = ""
        g = rand() < 0.5; t = rand() < 0.4; around = "ACGT" (rand() < 0.5 ? "GGGGG" : "TTTTT")
        for (j = 0; j < n; j++)
            s = s draw(j >= mid && j < mid + 20 ? (g ? "GGG" : "A") (t ? "TTT" : "C") "ACGT" : around)
        print ">r" i " n=" n "\n" s > "all.fa"
        print "r" i "\t" (i % 5 == 2 ? "NA" : g) "\t" (i % 4 == 3 ? "." : t) > "labels.tsv"
    }
}'
small="--encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --encoder.depth none --tokenizer base -B 2048"
command="chordseq train --head multilabel --head.centre 20 $small --epochs 12 --lr 0.02 --seed 3"
train="$command -q"
# figure FILE LABEL METRIC: over all lengths
figure() { awk -F '\t' -v l="$2" -v m="$3" '$2 == "all" && $3 == l && $4 == m { print $5 }' "$1"; }
# above FILE LABEL METRIC LEAST
above() { figure "$1" "$2" "$3" | awk -v least="$4" '{ exit !($1 > least) }'; }

# ---- training and metrics ------------------------------------------------------------------------

T 'training on the centre' $train --head.pool centre --labels labels.tsv -o centre.m --metrics m.tsv all.fa
T 'the table has the area under the curve' sh -c 'awk -F "\t" "NF != 12 { exit 1 }
    NR == 1 && \$12 != \"valid_macro_auc\" { exit 1 } END { exit !(NR == 13 && \$12 > 0.9) }" m.tsv'
T 'names of labels are in the model' sh -c 'chordseq model show centre.m | grep "^label" | tr "\t" " " > got
    printf "label 0 g\nlabel 1 t\n" | cmp - got'
T 'a label that is unknown everywhere is reported' sh -c 'awk "{ print \$0 \"\t\" (NR == 1 ? \"never\" : \"NA\") }" labels.tsv > never.tsv
    "$@" --epochs 1 --labels never.tsv -o never.m all.fa 2> msgs && grep -q "warning: 1 of 3 labels has no value in a training record; first: .never." msgs' - $command
# In the second table only one label has both values.
T 'balanced accuracy must be defined to select a model by it' sh -c 'for t in NA 0; do awk -v t=$t "BEGIN { OFS = \"\t\" } NR == 1 { print; next }
        { v = NR > 100; print \$1, v ? 1 : NR % 2, v ? (NR % 2 ? t : 1) : int(NR / 2) % 2; print \$1, v ? \"valid\" : \"train\" > \"ones.split\" }" \
        labels.tsv > ones$t.tsv; done
    ! "$@" --epochs 2 --labels onesNA.tsv --split ones.split --monitor balanced-accuracy -o ones.m all.fa 2> err && grep -q "give --monitor loss" err &&
    "$@" --epochs 2 --labels onesNA.tsv --split ones.split -o ones.m all.fa && rm ones.m &&
    "$@" --epochs 2 --labels ones0.tsv --split ones.split --monitor balanced-accuracy -o ones.m all.fa && [ -s ones.m ]' - $train
T 'without options for the network a bag of words is trained' sh -c 'for o in "" "--preset fast" "--preset balanced"; do
        chordseq train -@ 1 --head multilabel --labels labels.tsv --print-config $o all.fa 2> "msgs$o" | grep -E "^(encoder.depth|tokenizer.k|head.hidden)=" > "cfg$o"; done
    grep -qx encoder.depth=none cfg && cmp cfg "cfg--preset fast" && ! cmp -s cfg "cfg--preset balanced" &&
    grep -q "training a bag of words (--preset fast); --preset none" msgs && ! grep -q "a bag" "msgs--preset fast" && grep -q "no effect: it is for classes" "msgs--preset balanced" &&
    chordseq train -q -@ 1 --head multilabel --labels labels.tsv --budget 50k -o bag.m all.fa && chordseq eval -q -m bag.m --labels labels.tsv all.fa > bag.tsv'
T 'an option of training in one word with others also selects a network' sh -c 'for o in "-q -B 4096" "-qB 4096" "-qB4096"; do
        chordseq train -@ 1 --head multilabel --labels labels.tsv --print-config $o all.fa > word.cfg && ! grep -qx preset=fast word.cfg &&
        ! grep -qx encoder.depth=none word.cfg && { [ ! -e words.cfg ] || cmp word.cfg words.cfg; } && mv word.cfg words.cfg || exit; done'
T 'labels of a table without names of columns' sh -c 'printf "r0\tg;t\nr1\tg\n" > bare.tsv && ! "$@" --labels bare.tsv -o x.m all.fa 2> err &&
    grep -q "record .r0. is in the first line of .bare.tsv., which must name the labels" err' - $train
P multilabel-eval.tsv    sh -c 'chordseq eval -q -m centre.m --labels labels.tsv --bins "" --json e.json -o e.tsv all.fa && cut -f 1-4 e.tsv'
T 'the area under the curve is above 0.95 for both' sh -c 'awk -F "\t" "\$4 == \"auc\" && \$5 <= 0.95 { exit 1 }" e.tsv'
T 'counts of known and positive targets' sh -c 'awk -F "\t" "NR > 1 { for (k = 2; k < 4; k++) if (\$k ~ /[01]/) { n[k]++; one[k] += \$k } }
    END { print n[2], one[2], n[3], one[3] }" labels.tsv > want
    echo $(awk -F "\t" "\$3 != \".\" && (\$4 == \"known\" || \$4 == \"positive\") { print \$5 }" e.tsv) | cmp - want'
with python3 T 'JSON has the same' python3 -c '
import json
rows = [line.rstrip("\n").split("\t") for line in open("e.tsv")][1:]
top, = json.load(open("e.json"))["sets"]
for _, _, label, metric, value in rows:
    at = top if label == "." else top["labels"][label]
    assert "%.6g" % at[metric] == value, (label, metric)'
T 'mean pooling cannot see one position' sh -c "$train --labels labels.tsv -o mean.m all.fa &&
    chordseq eval -q -m mean.m --labels labels.tsv -o mean.tsv all.fa"
T 'and is less accurate' sh -c "awk -F '\t' '\$3 == \".\" && \$4 == \"macro_auc\" && \$2 == \"all\" { v[NR == FNR] = \$5 }
    END { exit !(v[1] > v[0] + 0.05) }' e.tsv mean.tsv"

# Pooling by the first token, which is one of three bases or any.
awk 'BEGIN { srand(5); print "id\tpurine" > "first.tsv"
    for (i = 0; i < 60; i++) { s = ""; for (j = 0; j < 30; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
        print ">f" i "\n" s > "first.fa"; print "f" i "\t" (s ~ /^[AG]/ ? 1 : 0) > "first.tsv" } }'
T 'CLS pooling: one label, of the first token' sh -c "$train --head.pool cls --labels first.tsv -o cls.m first.fa &&
    chordseq eval -q -m cls.m --labels first.tsv -o cls.tsv first.fa"
T 'training separates the label' above cls.tsv purine auc 0.999

# ---- predictions ---------------------------------------------------------------------------------

T 'classify' sh -c 'chordseq classify -q -m centre.m -o out.tsv --jsonl out.jsonl all.fa'
P multilabel-header.tsv  head -n 1 out.tsv
T 'a probability per label' sh -c 'awk -F "\t" "NR > 1 && !(NF == 5 && \$3 > 0 && \$3 < 1 && \$4 > 0 && \$4 < 1 && \$5 == \".\") { exit 1 }
    END { exit NR != 121 }" out.tsv'
with python3 T 'JSON lines have the same' python3 -c '
import json
rows = [line.rstrip("\n").split("\t") for line in open("out.tsv")][1:]
for row, line in zip(rows, open("out.jsonl")):
    o = json.loads(line)
    assert [o["name"]] + ["%.6f" % o["probabilities"][k] for k in "gt"] == [row[0]] + row[2:4]
    assert o["reason"] is None and "label" not in o'
T 'a single record has the same prediction' sh -c 'for r in 0 7 119; do
    awk -v r=">r$r" "/^>/ { on = \$1 == r } on" all.fa | chordseq classify -q -m centre.m - | tail -n 1
    done > alone && grep -E "^r(0|7|119)	" out.tsv | cmp - alone'
printf '>none\n\n>n\nNNNNNNNNNN\n' > odd.fa
P multilabel-empty.tsv   chordseq classify -q -m centre.m --max-unknown 0.5 odd.fa
T 'shares of classes are refused' sh -c 'for i in auto a=0.5; do
    ! chordseq classify -q -m centre.m --prior $i all.fa > /dev/null 2> msgs && grep -q -- "--prior is for classes; the model predicts labels" msgs || exit; done'
N multilabel-kraken.err  chordseq classify -q -m centre.m --kraken k all.fa
N multilabel-bam.err     chordseq classify -q -m centre.m --bam b.bam all.fa
N multilabel-min.err     chordseq classify -q -m centre.m --min-prob 0.5 all.fa
T 'summary counts records' sh -c 'chordseq classify -q -m centre.m --summary s.json -o /dev/null all.fa && grep -q "\"classified\|called" s.json'
T 'explain accepts a label' sh -c 'chordseq explain -q -m centre.m -f all.fa -r r0 --label t -o r0.bg && [ -s r0.bg ]'
T 'embed' sh -c 'chordseq embed -q -m centre.m -o v.npy all.fa && [ -s v.npy ]'
T 'export names the task' sh -c 'chordseq model export centre.m dir
    grep -q "multi_label_classification" dir/config.json && grep -q "| g | " dir/README.md'

# ---- masks ---------------------------------------------------------------------------------------

T 'NA, a dot and an empty field are equal' sh -c "sed 's/NA/./; s/\.\$//' labels.tsv > spelt.tsv && ! cmp -s labels.tsv spelt.tsv &&
    $train --head.pool centre --labels spelt.tsv -o spelt.m all.fa"
same_weights 'NA, a dot and an empty field give the same weights' centre.m spelt.m
T 'a record without a known label' sh -c "{ cat all.fa; echo '>x'; head -n 2 all.fa | tail -n 1; } > more.fa
    { cat labels.tsv; printf 'x\t.\tNA\n'; } > more.tsv
    $command --head.pool centre --labels more.tsv -o more.m more.fa 2> err"
T 'records without a known label are counted' sh -c 'grep -q "7 of 121 records have only unknown labels" err'
same_weights 'a record without a known label does not change the model' centre.m more.m
T 'columns by name, in any order, some missing' sh -c "awk 'BEGIN { FS = OFS = \"\t\" } { print \$1, \$3, \$2 }' labels.tsv > turned.tsv
    cut -f 1,3 labels.tsv > t.tsv
    for k in turned t; do chordseq eval -m centre.m --labels \$k.tsv --bins '' -o \$k.out all.fa 2> \$k.err || exit 1; done
    cmp e.tsv turned.out && grep '	t	' e.tsv > a && grep '	t	' t.out | cmp - a"
T 'unknown labels are not evaluated' sh -c "grep -q 'no column for 1 of the model.s 2 labels' t.err &&
    grep '	g	known	0' t.out > /dev/null && grep '	g	auc	NA' t.out > /dev/null"
T 'masked targets do not count' sh -c "awk 'BEGIN { FS = OFS = \"\t\" } NR > 60 { \$2 = \"NA\" } 1' labels.tsv > half.tsv
    chordseq eval -q -m centre.m --labels half.tsv --bins '' -o half.out all.fa
    grep '	t	' half.out | cmp - a"
T 'a threshold for calls' sh -c "chordseq eval -q -m centre.m --labels labels.tsv --bins '' --threshold 1 -o high.tsv all.fa"
T 'threshold 1 calls nothing' sh -c "grep '	g	recall	0\$' high.tsv > /dev/null && grep '	g	precision	NA' high.tsv > /dev/null"

# ---- refused -------------------------------------------------------------------------------------

x="$train -o x.m"
N multilabel-none.err    $x all.fa
N multilabel-key.err     $x --label-key n all.fa
printf 'r0\t1\t0\nr1\t0\t1\n' > bad.tsv
N multilabel-names.err   $x --labels bad.tsv all.fa
sed '4s/1$/yes/; 4s/0$/yes/' labels.tsv > bad.tsv
N multilabel-value.err   $x --labels bad.tsv all.fa
sed 10d labels.tsv > bad.tsv
N multilabel-lacks.err   $x --labels bad.tsv all.fa
sed '1s/t$/u/' labels.tsv > bad.tsv
N multilabel-unknown.err chordseq eval -q -m centre.m --labels bad.tsv all.fa
N multilabel-weights.err $x --labels labels.tsv --class-weights 1,2,3 all.fa
N multilabel-html.err    chordseq eval -q -m centre.m --labels labels.tsv --html x.html all.fa
T 'a failed run leaves no file' sh -c '[ -z "$(ls | grep "^x\.")" ]'

# ---- class weights, resuming, --init -------------------------------------------------------------

w="$train --epochs 2 --head.pool centre --labels labels.tsv"
T 'weights of 1' sh -c "$w -o none.m all.fa && $w --class-weights 1,1 -o ones.m all.fa"
same_weights '--class-weights 1 gives the weights of none' none.m ones.m
T 'balanced weights' sh -c "$w --class-weights balanced -o bal.m all.fa"
T 'balanced weights change the model' [ "$(weights_sum none.m)" != "$(weights_sum bal.m)" ]
T 'paused' $w --class-weights balanced --stop-after 3 -o part.m all.fa
T 'resumed' $w --class-weights balanced --resume --threads 1 -o part.m all.fa
same_weights 'a resumed run gives the same weights' bal.m part.m
still="chordseq train -q -B 2048 --head multilabel --head.pool centre --head.centre 20 --epochs 1 --lr 1e-9 --weight-decay 0"
T 'starting from a model' $still --init centre.m --labels labels.tsv -o next.m --metrics n.tsv all.fa
T 'a run that starts from a model has its accuracy at once' sh -c 'tail -n 1 n.tsv | awk -F "\t" "{ exit !(\$12 > 0.9) }"'

# ---- series --------------------------------------------------------------------------------------

{ printf '#chordseq-series\t1\tchannels=1\ttargets=2\n'
for i in 1 2 3 4 5 6; do printf "a$i\t1,0\t0,1,1,0,0,1,1,0\nb$i\t0,1\t1,0,0,1,1,0,0,0\nc$i\t0,1\t1,0,0,1,0,1,0,1\n"; done; } > series.tsv
own="chordseq train -q --head multilabel --encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --epochs 1 -o own.m -i"
T 'targets of a series are labels, named by number' sh -c '$1 series.tsv && [ "$(chordseq model show own.m | grep ^label | cut -f 2 | tr "\n" " ")" = "0 1 " ] &&
    [ "$(chordseq eval -q -m own.m series.tsv | awk "\$2 == \"all\" && \$4 == \"positive\" { print \$3, \$5 }" | tr "\n" " ")" = "0 6 1 12 " ]' - "$own"
T 'other targets than 0 and 1 are refused' sh -c 'sed "s/^b3	0,/b3	0.5,/" series.tsv > half.tsv && ! $1 half.tsv 2> err &&
    grep -q "record .b3. has the target 0.5; a label is 0 or 1" err' - "$own"
