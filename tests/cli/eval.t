# eval.t - `chordseq eval`: its figures against the calls that `chordseq classify` makes.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
chordseq classify -q -m "$m" --all "$tiny/mixed.fa" > calls.tsv
classes=$(head -n 1 calls.tsv | cut -f 6- | sed 's/prob_//g')
set -- $classes

# Every record that has a call is said to be of the first class.
awk -F '\t' -v c="$1" 'NR > 1 && $5 == "." { print $1 "\t" c }' calls.tsv > first.tsv
n=$(wc -l < first.tsv)
right=$(awk -F '\t' -v c="$1" 'NR > 1 && $5 == "." && $3 == c' calls.tsv | wc -l)
figure() { awk -F '\t' -v l="$1" -v c="$2" -v m="$3" '$1 == "record" && $2 == l && $3 == c && $4 == m { print $5 }' e.tsv; }

T 'judged' chordseq eval -q -m "$m" --skip-unlabelled --labels first.tsv --bins 10,40 -o e.tsv --json e.json "$tiny/mixed.fa"
T 'as many records as have a call' [ "$(figure all . records)" = "$n" ]
T 'as many right as classify has' [ "$(figure all "$1" "called:$1")" = "$right" ]
T 'accuracy is their share' awk -v a="$(figure all . accuracy)" -v r="$right" -v n="$n" \
    'BEGIN { d = a - r / n; exit !(n > 5 && d < 1e-5 && d > -1e-5) }'
T 'recall of the only class is the accuracy' [ "$(figure all "$1" recall)" = "$(figure all . accuracy)" ]
T 'what is not defined is NA' [ "$(figure all "$2" recall)" = NA ]
T 'the bins add up' [ "$(( $(figure 0-9 . records) + $(figure 10-39 . records) + $(figure 40- . records) ))" = "$n" ]
with python3 T 'JSON says the same' sh -c 'python3 - "$1" <<END
import json, sys
sets = json.load(open("e.json"))["sets"]
assert sets[0]["records"] == int(sys.argv[1]) and len(sets) == 4, sets
assert sets[0]["classes"]["'"$2"'"]["recall"] is None
END
' - "$n"
T 'the same for any threads and batches' sh -c 'chordseq eval -q -m "$1" --skip-unlabelled --labels first.tsv \
    --bins 10,40 --threads 1 -B 7 "$2" | cmp - e.tsv' - "$m" "$tiny/mixed.fa"

# ---- pieces ----------------------------------------------------------------------------------------

awk 'BEGIN { srand(2); for (i = 0; i < 6; i++) { s = ""
    for (j = 0; j < 20 * (i + 1); j++) s = s substr("ACGT", 1 + int(4 * rand()), 1); print ">r" i "\n" s } }' > f.fa
pieces() { awk -F '\t' -v l="$1" '$1 == "fragment" && $2 == l && $3 == "." && $4 == "records" { print $5 }' p.tsv; }
T 'pieces of two lengths' chordseq eval -q -m "$m" --class "$1=f.fa" --fragments 30,50 --fragments-per-record 2 -o p.tsv
T 'two of 30 from every record that is long enough' [ "$(pieces 30)" = 9 ]
T 'and of 50' [ "$(pieces 50)" = 6 ]

# ---- refused ---------------------------------------------------------------------------------------

N eval-class.err    chordseq eval -m "$m" --class unheard=f.fa
N eval-nothing.err  chordseq eval -m "$m" f.fa
N eval-list.err     chordseq eval -m "$m" --class "$1=f.fa" --bins 100,50
N eval-empty.err    chordseq eval -m "$m" --skip-unlabelled --labels first.tsv f.fa
if [ -w /dev/full ]; then
    N eval-full.err chordseq eval -q -m "$m" --class "$1=f.fa" -o /dev/full
else
    S 'a full disk' 'there is no /dev/full'
fi
