# eval.t - `chordseq eval`: its metrics against the calls of `chordseq classify`.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
chordseq classify -q -m "$m" --all "$tiny/mixed.fa" > calls.tsv
classes=$(head -n 1 calls.tsv | cut -f 6- | sed 's/prob_//g')
set -- $classes

# All called records are labelled as the first class.
awk -F '\t' -v c="$1" 'NR > 1 && $5 == "." { print $1 "\t" c }' calls.tsv > first.tsv
n=$(wc -l < first.tsv)
right=$(awk -F '\t' -v c="$1" 'NR > 1 && $5 == "." && $3 == c' calls.tsv | wc -l)
figure() { awk -F '\t' -v l="$1" -v c="$2" -v m="$3" '$1 == "record" && $2 == l && $3 == c && $4 == m { print $5 }' e.tsv; }

T 'evaluation of labelled records' chordseq eval -q -m "$m" --skip-unlabelled --labels first.tsv --bins 10,40 -o e.tsv --json e.json "$tiny/mixed.fa"
T 'records that are left out have their reason' sh -c 'chordseq eval -m "$1" --skip-unlabelled --min-length 30 --labels first.tsv -o x.tsv "$tiny/mixed.fa" 2> msgs &&
    n=$(awk -F "\t" "NR == FNR { own[\$1]; next } (\$1 in own) && \$2 < 30" first.tsv calls.tsv | wc -l) && [ "$n" -gt 0 ] &&
    grep -q "warning: $n records or fragments have no prediction and were left out: too_short (.*--min-length" msgs && ! grep -q too_long msgs' - "$m"
T 'the number of called records' [ "$(figure all . records)" = "$n" ]
T 'the number of correct calls of classify' [ "$(figure all "$1" "called:$1")" = "$right" ]
T 'accuracy is the share of correct calls' awk -v a="$(figure all . accuracy)" -v r="$right" -v n="$n" \
    'BEGIN { d = a - r / n; exit !(n > 5 && d < 1e-5 && d > -1e-5) }'
T 'recall of the only class is the accuracy' [ "$(figure all "$1" recall)" = "$(figure all . accuracy)" ]
T 'undefined values are NA' [ "$(figure all "$2" recall)" = NA ]
T 'in the log, too' sh -c 'chordseq eval -m "$1" --skip-unlabelled --labels first.tsv --fragments 1M -o x.tsv "$tiny/mixed.fa" 2> msgs &&
    grep -q "fragment 1000000: 0 records, accuracy NA, balanced accuracy NA, mcc NA, ece NA" msgs && ! grep -qw nan msgs' - "$m"
T 'bins sum to the total' [ "$(( $(figure 0-9 . records) + $(figure 10-39 . records) + $(figure 40- . records) ))" = "$n" ]
with python3 T 'JSON has the same values' sh -c 'python3 - "$1" <<END
import json, sys
sets = json.load(open("e.json"))["sets"]
assert sets[0]["records"] == int(sys.argv[1]) and len(sets) == 4, sets
assert sets[0]["classes"]["'"$2"'"]["recall"] is None
END
' - "$n"
T 'metrics do not depend on threads and batches' sh -c 'chordseq eval -q -m "$1" --skip-unlabelled --labels first.tsv \
    --bins 10,40 --threads 1 -B 7 "$2" | cmp - e.tsv' - "$m" "$tiny/mixed.fa"

# ---- pieces ----------------------------------------------------------------------------------------

awk 'BEGIN { srand(2); for (i = 0; i < 6; i++) { s = ""
    for (j = 0; j < 20 * (i + 1); j++) s = s substr("ACGT", 1 + int(4 * rand()), 1); print ">r" i "\n" s } }' > f.fa
pieces() { awk -F '\t' -v l="$1" '$1 == "fragment" && $2 == l && $3 == "." && $4 == "records" { print $5 }' p.tsv; }
T 'pieces of two lengths' chordseq eval -q -m "$m" --class "$1=f.fa" --fragments 30,50 --fragments-per-record 2 -o p.tsv
T 'two pieces of 30 from every long enough record' [ "$(pieces 30)" = 9 ]
T 'one piece of 50' [ "$(pieces 50)" = 6 ]

# ---- a page to look at ---------------------------------------------------------------------------------

awk -v a="$1" -v b="$2" 'NR > 1 && $5 == "." { print $1 "\t" (NR % 3 ? a : b) }' calls.tsv > two.tsv
T 'fragments without a token are refused, with the least length' sh -c '! chordseq eval -m "$1" --class "$2=f.fa" --fragments 2,50 -o gone 2> msgs && [ ! -e gone ] &&
    grep -q "eval: --fragments 2 is too short for the model, which needs 3 bases$" msgs' - "$m" "$1"
T 'options without effect are refused' sh -c 'for o in "--fragments-per-record 1:needs --fragments" "--tolerance 0.04:is for values" \
    "--threshold 0.5:is for labels"; do chordseq eval -q -m "$1" --class "$2=f.fa" ${o%%:*} -o none.tsv 2> msgs; [ $? = 2 ] && [ ! -e none.tsv ] &&
    grep -q -e "^chordseq: error: eval: ${o%% *} ${o#*:}" msgs || exit; done' - "$m" "$1"
T 'an input given twice is reported, one of two classes is refused' sh -c 'chordseq eval -m "$1" --class "$2=f.fa" --class "$2=./f.fa" -o twice.tsv 2> msgs &&
    [ "$(grep "warning: .* given" msgs)" = "chordseq: warning: 1 of 2 input files was given before and is read again; first: '"'./f.fa'"'" ] &&
    ! chordseq train --class "a=f.fa" --class "b=./f.fa" -o twice.m 2> err && grep -q "error: train: --class gives .[.]/f.fa. two classes" err' - "$m" "$1"
T 'a --seed without effect is reported' sh -c 'chordseq eval -m "$1" --class "$2=f.fa" --seed 1 -o seed.tsv 2> msgs && grep -q "warning: --seed has no effect without --fragments" msgs' - "$m" "$1"
evaluate="chordseq eval -q -m $m --skip-unlabelled --labels two.tsv --bins 10,40 --fragments 30"
T 'a page' sh -c '$1 -o h.tsv --json h.json --html h.html "$2"' - "$evaluate" "$tiny/mixed.fa"
T 'fetches and runs nothing' sh -c '! grep -iE "(src|href)=|url\(|@import|<script|https?:| on[a-z]+=" h.html'
with python3 T 'numbers equal the JSON, all tags are closed' python3 -c '
import json
from html.parser import HTMLParser
class Page(HTMLParser):
    stack, rows, shapes, text = [], [], {}, False
    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.stack.append(tag)
        self.shapes[tag] = self.shapes.get(tag, 0) + 1
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
    def handle_startendtag(self, tag, attrs):
        self.shapes[tag] = self.shapes.get(tag, 0) + 1
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("td", "th"):
            self.rows[-1][-1] += data
page = Page()
page.feed(open("h.html").read())
assert not page.stack, page.stack
sets = json.load(open("h.json"))["sets"]
def number(v):
    return "\u2013" if v is None else "%.4f" % v
for s in sets:
    if s["records"] == 0:
        continue
    name = "fragments of " + s["length"] if s["set"] == "fragment" else s["length"]
    keys = "accuracy balanced_accuracy macro_f1 mcc loss ece".split()
    assert [name, str(s["records"])] + [number(s[k]) for k in keys] in page.rows, (name, s)
classes = sets[0]["classes"]
for name, c in classes.items():
    row = [r for r in page.rows if len(r) == 8 and r[0] == name and r[2].isdigit()][0]
    assert int(row[1]) == c["records"] and row[4:] == [number(c[k]) for k in ("precision", "recall", "f1", "auc")]
    assert int(row[3]) == sum(d["called"][name] for d in classes.values())
matrix = [r for r in page.rows if r and r[0].isdigit() and r[1] in classes]
order = [r[1] for r in matrix]
assert len(matrix) == len(classes)
for r in matrix:
    assert [int(n) for n in r[2:]] == [classes[r[1]]["called"][k] for k in order]
assert page.shapes["polyline"] == 2 * 2 + 2 and page.shapes["rect"] > 10, page.shapes
bins = [b for b in sets[0]["reliability"]]
dots = open("h.html").read().split("Reliability")[1].split("</figure>")[0].split("<circle")[1:]
assert ["%.4f, %.4f" % (b["confidence"], b["accuracy"]) for b in bins] == \
    [d.split("<title>")[1].split("<")[0] for d in dots]'

# ---- refused ---------------------------------------------------------------------------------------

N eval-suggest.err  chordseq eval -m "$m" --class clasA=f.fa
N eval-class.err    chordseq eval -m "$m" --class unheard=f.fa
N eval-nothing.err  chordseq eval -m "$m" f.fa
N eval-list.err     chordseq eval -m "$m" --class "$1=f.fa" --bins 100,50
N eval-empty.err    chordseq eval -m "$m" --skip-unlabelled --labels first.tsv f.fa
# Outputs that cannot be written are reported before records are read; here these have no label.
: > nobody.tsv
for o in -o --json --html --calibrate; do
    T "an unwritable output is reported at once: $o" sh -c '! chordseq eval -m "$1" --labels nobody.tsv "$2" no/such/file f.fa \
        > out 2> msgs && grep -q "no/such/file" msgs && [ ! -s out ]' - "$m" $o
done
T 'the table goes to standard output by default' sh -c '! chordseq eval -q -m "$1" --class "$2=f.fa" --json - 2> msgs > out &&
    [ ! -s out ] && grep -q "two outputs write to standard output, .* by default; name a file" msgs' - "$m" "$1"
N eval-same.err     chordseq eval -m "$m" --class "$1=f.fa" -o x --json ./x
T 'a report with the name of another format is refused' sh -c 'for o in --json:html --html:json; do
    ! $1 -o n.tsv ${o%:*} n.${o#*:} f.fa 2> msgs && grep -q "this output is not .*; this output is " msgs && [ ! -e n.tsv ] || exit; done' - "$evaluate"
T 'all outputs appear or none' sh -c '! $1 -o n.tsv --json n.json --html n.html --labels nobody.tsv f.fa 2> msgs &&
    ! ls n.* *.tmp.* 2> /dev/null' - "chordseq eval -q -m $m"
if [ -w /dev/full ]; then
    T 'no output appears when a disk is full' sh -c '! chordseq eval -q -m "$1" --class "$2=f.fa" -o n.tsv --json /dev/full --html n.html &&
        ! ls n.* *.tmp.* 2> /dev/null' - "$m" "$1"
    N eval-full.err chordseq eval -q -m "$m" --class "$1=f.fa" -o /dev/full
else
    S 'a full disk' 'there is no /dev/full'
fi
