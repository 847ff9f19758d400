# policy.t - strands, windows, calibration: dependence of predictions on options.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
make=$builddir/tests/cli/make_model
gen=$builddir/tests/bench/gen_fasta

# ---- predictions of the reverse complement -------------------------------------------------------

"$gen" 61440 3 300 900 > x.fa
revcomp x.fa > y.fa
T 'files differ' sh -c '! cmp -s x.fa y.fa'
"$make" plain 5 tokenizer=kmer tokenizer.k=4 tokenizer.stride=3 encoder.max-len=1024 \
    encoder.track=2 encoder.hidden=4
"$make" bag 6 tokenizer=kmer tokenizer.k=5 tokenizer.canonical=1 encoder.max-len=1024 \
    encoder.track=2 encoder.hidden=4 encoder.depth=none
for model in plain bag; do
    c="chordseq classify -q --all -m $model"
    T "$model: the reverse complement gets the same prediction" sh -c "$c --strand both x.fa > x.tsv &&
        $c --strand both y.fa | cmp - x.tsv && [ \$(wc -l < x.tsv) -gt 50 ]"
    T "$model: in any batch, with any number of threads" sh -c "$c --strand both -B 900 --chunks-in-flight 2 \
        -@ 3 y.fa | cmp - x.tsv"
    T "$model: in windows, too" sh -c "$c --strand both --long-sequence window --window-length 101 \
        --window-overlap 30 x.fa > xw.tsv && ! cmp -s x.tsv xw.tsv && $c --strand both -B 500 \
        --long-sequence window --window-length 101 --window-overlap 30 y.fa | cmp - xw.tsv"
done
T 'forward depends on the strand' sh -c 'chordseq classify -q --all -m plain x.fa > f.tsv &&
    ! chordseq classify -q --all -m plain --strand forward y.fa | cmp -s - f.tsv'
T 'the summary names the strand' sh -c 'chordseq classify -m plain --strand both x.fa 2>&1 > /dev/null |
    grep -q "called; both strands), "'
d=$srcdir/refdata/model/default.safetensors
T 'the default model states both strands' sh -c "chordseq model show '$d' | grep -qx 'strand	both'"
T 'classify uses it' sh -c "chordseq classify -q --all -m '$d' x.fa > x.tsv &&
    chordseq classify -q --all -m '$d' y.fa | cmp - x.tsv"

# ---- calibration ---------------------------------------------------------------------------------

# Classes by composition, trained on half of the records, with enough noise for errors.
for c in 1 2 3; do
    "$gen" 61440 $c 200 400 | awk -v c=$c 'BEGIN { srand(c); split("A C", letter) }
        /^>/ { print ">" c "_" NR " class=" (rand() < 0.8 ? c : 1 + int(3 * rand())); next }
        { s = ""; for (i = 1; i <= length($0); i++)
              s = s (c < 3 && rand() < 0.2 ? letter[c] : substr($0, i, 1)); print s }'
done > labelled.fa
e="chordseq eval -q --label-key class labelled.fa"
T 'train calibrates on its validation samples' sh -c 'chordseq train -q --label-key class \
    --tokenizer kmer --tokenizer.k 2 --encoder chordmixer --encoder.max-len 512 --encoder.track 2 \
    --encoder.hidden 4 --encoder.depth none --epochs 15 --lr 0.03 --valid-frac 0.5 --rc -o trained labelled.fa &&
    chordseq model show trained > show.txt && grep -q "^calibration	from 0 bases	temp" show.txt &&
    grep -qx "strand	both" show.txt'
T 'eval --calibrate changes the calibration, not the weights' sh -c "$e -m trained --bins 300 \
    --calibrate again -o raw.tsv && chordseq model show again > again.txt &&
    [ \$(grep -c ^calibration again.txt) = 2 ] && grep ^sha256 show.txt | cmp - - <<END
\$(grep ^sha256 again.txt)
END"
T 'calibration lowers the calibration error' sh -c "$e -m again -o sure.tsv &&
    awk -F '\t' '\$1 == \"record\" && \$2 == \"all\" && \$4 == \"ece\" { v[FILENAME] = \$5 }
        END { exit !(v[\"sure.tsv\"] < v[\"raw.tsv\"] + 0.002) }' raw.tsv sure.tsv"
T 'calibration does not change calls' sh -c 'for f in trained again; do
    chordseq classify -q -m $f labelled.fa | cut -f 1-3 > $f.calls; done; cmp trained.calls again.calls'
grep '^>' labelled.fa | sed 's/.*class=//' > truth
T '--max-error holds its rate' sh -c "chordseq classify -q -m again --max-error 0.15 labelled.fa |
    tail -n +2 > some.tsv && grep -q low_confidence some.tsv && paste some.tsv truth |
    awk -F '\t' '\$5 == \".\" { n++; bad += \$3 != \$6 }
        END { print n, bad; exit !(n > 20 && bad <= 0.15 * n) }'"
N max-error.err     chordseq classify -m plain --max-error 0.1 x.fa
T 'eval and classify give the same predictions' sh -c "$e -m again --strand forward -o eval.tsv &&
    chordseq classify -q -m again --strand forward labelled.fa | cut -f 1,3 > calls &&
    tail -n +2 calls | paste - truth | awk -F '\t' '{ n++; right += \$2 == \$3 }
        END { printf \"%.6g\n\", right / n }' > share &&
    awk -F '\t' '\$1 == \"record\" && \$2 == \"all\" && \$4 == \"accuracy\" { print \$5 }' eval.tsv |
    cmp - share"
T 'the report has a reliability table and risk against coverage' sh -c "$e -m again --json j.json \
    -o t.tsv && grep -q 'record	all	.	reliability_accuracy:0.' t.tsv && grep -q 'risk:0.5	' t.tsv &&
    grep -q '\"reliability\"' j.json && grep -q '\"coverage\"' j.json"
head -n 40 labelled.fa > few.fa
# Curves are kept for 16 classes at most; a file may state them for a model with more. Calls of its
# first class are always right, those of any class always wrong.
"$make" wide 15 labels=17 tokenizer=kmer tokenizer.k=4 encoder.max-len=1024 encoder.track=2 encoder.hidden=4
with python3 T 'a class without a curve has that of all calls' python3 -c '
import json, subprocess
data = open("wide", "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
head = json.loads(data[8:n])
key = [k for k, v in head["__metadata__"].items() if "\"tokenizer\"" in v][0]
config = json.loads(head["__metadata__"][key])
step = [0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995]
curve = lambda wrong: [[s, 900, wrong] for s in step]
config["calibration"] = [{"from": 0, "temperature": 0.001, "records": 900, "kept": curve(900),
                          "called": [curve(0)] * 16}]
head["__metadata__"][key] = json.dumps(config)
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open("curves", "wb").write(len(text).to_bytes(8, "little") + text + data[n:])
run = lambda *o: [l.split("\t") for l in subprocess.run(["chordseq", "classify", "-q", "-m", "curves", *o, "x.fa"],
    check=True, capture_output=True, text=True).stdout.splitlines()[1:]]
was, now = run("--max-error", "1"), run("--max-error", "0.1")
for a, b in zip(was, now):
    assert b[2] == ("unclassified" if a[2] == "classQ" or float(a[3]) < 0.5 else a[2]), (a, b)
assert any(a[2] == "classQ" for a in was)'
N calibrate-few.err chordseq eval -q --label-key class -m trained --calibrate few few.fa
T 'no output after a refusal' test ! -e few
