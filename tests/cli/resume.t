# resume.t - classify --resume: runs that are killed somewhere, and go on, give the same bytes.
. "$srcdir/tests/cli/lib.sh"

m=$srcdir/refdata/model/default.safetensors
gen=$builddir/tests/bench/gen_fasta
"$gen" 14k 1 50 500 > x.fa
"$gen" 10k 2 30 800 | gzip -c > y.fa.gz
printf '>empty\n>unknown\nNNNNNNNNNNNN\n' > z.fa
"$gen" 8k 3 100 300 | sed 's/^>[^ ]*/&z/' >> z.fa
total=$(zcat -f x.fa y.fa.gz z.fa | grep -c '^>')

outputs='-o o.tsv --all --jsonl o.jsonl --kraken o.kraken --report o.kreport --krona o.krona
    --cami-binning o.bin --cami-profile o.prof --summary o.json --html o.html'
# run FOLDER THREADS: there, with a journal after every record
run() { (mkdir -p "$1" && cd "$1" && exec chordseq classify -q -m "$m" -@ "$2" --resume \
    --resume-every 0 $outputs ../x.fa ../y.fa.gz ../z.fa); }
done_in() { sed -n 's/.*"records":\([0-9]*\),"outputs".*/\1/p' "$1/o.tsv.resume" 2> /dev/null; }

usual=
env --default-signal=INT true 2> /dev/null && usual='env --default-signal=INT'

# interrupt FOLDER THREADS SIGNAL RECORDS: kill a run once it has done so many. On a busy machine it
# may end before we look: again then, from the start. Fails when it always does.
interrupt()
{
    for try in 1 2 3 4 5 6; do
        # A shell's background jobs ignore SIGINT.
        (mkdir -p "$1" && cd "$1" && exec $usual chordseq classify -q -m "$m" -@ "$2" \
            --resume --resume-every 0 $outputs ../x.fa ../y.fa.gz ../z.fa) & pid=$!
        tries=0
        while [ "$(done_in "$1" || true)0" -lt "${4}0" ] && kill -0 $pid 2> /dev/null; do
            tries=$((tries + 1)); [ $tries -lt 3000 ] || break
            sleep 0.01
        done
        kill -"$3" $pid 2> /dev/null
        wait $pid 2> /dev/null
        [ ! -f "$1/o.tsv" ] || { rm -rf "$1"; continue; }
        return 0
    done
    return 1
}

# same FOLDER FOLDER: the outputs, but for the time that the page tells; nothing else is left
same()
{
    for d in "$1" "$2"; do
        sed 's/From the first record to the last.*/TIME/' "$d/o.html" > "$d.html" || return 1
    done
    diff -r -x o.html "$1" "$2" && cmp "$1.html" "$2.html" && [ "$(ls "$1" | wc -l)" = 9 ]
}

T 'a run that nobody interrupts' run ref 1
T 'gives what it gives without --resume' sh -c "chordseq classify -q -m '$m' -o plain.tsv --all \
    --kraken plain.kraken x.fa y.fa.gz z.fa && cmp plain.tsv ref/o.tsv && cmp plain.kraken ref/o.kraken"
killed()
{
    d=d$1$2$3
    interrupt "$d" "$1" "$2" "$3" || { S "killed by $2 after $3, $1 threads" 'it always ends before'; return; }
    n_done=$(done_in "$d")
    T "killed by $2 after $3, $1 threads: nothing is there" sh -c \
        "! ls '$d' | grep -v '\.part\$\|\.resume\$' && [ '${n_done:-0}' -ge $3 ]"
    T "it goes on from ${n_done:-none} of $total" run "$d" "$1"
    T 'to the same bytes' same "$d" "ref$1"
}
T 'with one thread' run ref1 1
T 'with three' run ref3 3
for n in 1 $((total / 3)) $((total - 9)); do killed 1 KILL $n; done
killed 3 KILL $((total / 2))
killed 1 TERM $((total / 2))
killed 3 TERM 9
if [ -n "$usual" ]; then
    killed 1 INT $((total / 4))
else
    S 'killed by INT' 'no env --default-signal'
fi

# Interrupted again and again.
for n in 10 30 60; do interrupt often 1 KILL $n; done
T 'the fourth run ends it' run often 1
T 'with the same bytes' same often ref

# A folder of sequences, whose files are opened as classes come, also with blocks half full.
all=$outputs
for gz in '' --split-gz; do
    outputs="-o o.tsv --split-dir parts $gz"
    T "a folder of sequences $gz" run "split$gz" 1
    for n in 1 60; do interrupt "cut$gz" 1 KILL $n; done
    T 'is not there yet' sh -c '[ -d "$1/parts" ] && ! ls "$1/parts" | grep -v "\.part$"' - "cut$gz"
    T 'is in the end' run "cut$gz" 1
    T 'the same' diff -r "split$gz" "cut$gz"
done
T 'and what is without --resume' sh -c "chordseq classify -q -m '$m' --split-dir plain x.fa y.fa.gz z.fa &&
    diff -r plain split/parts && cat plain/* > all && gzip -dc split--split-gz/parts/*.gz | cmp - all"
outputs=$all

interrupt tail 1 KILL 30
for f in tail/*.part; do echo rubbish >> "$f"; done
T 'bytes that the journal does not know' run tail 1
T 'are cut off' same tail ref

# ---- what cannot be resumed --------------------------------------------------------------------

interrupt base 1 KILL 20
# other NAME WORDS: a copy of the interrupted run, with a change
other()
{
    rm -rf o2 && cp -r base o2
    name=$1; shift
    N - "$@"
    mv .err told
    T "refused: $name" grep -q "$name" told
}
# The inputs lie beside the folder, so that a change of one can be made for one run only.
again="cd o2 && exec chordseq classify -q -m '$m' -@ 1 --resume --resume-every 0 $(echo $outputs)"
other 'with other options' sh -c "$again --min-prob 0.5 ../x.fa ../y.fa.gz ../z.fa"
other 'with other inputs' sh -c "$again ../x.fa ../y.fa.gz"
other 'with another model' sh -c "$(echo "$again" | sed "s|$m|$tiny/model.safetensors|") ../x.fa ../y.fa.gz ../z.fa"
other 'an input was changed' sh -c "cp -p x.fa kept; touch -d 2001-01-01 x.fa; $again ../x.fa ../y.fa.gz ../z.fa"
mv kept x.fa
rm -rf o2 && cp -r base o2 && echo '{"run":{}' > o2/o.tsv.resume
N - sh -c "$again ../x.fa ../y.fa.gz ../z.fa"
mv .err told
T 'refused: a damaged journal' grep -q 'is damaged; remove it' told
rm -rf o2 && cp -r base o2 && : > o2/o.jsonl.part
N - sh -c "$again ../x.fa ../y.fa.gz ../z.fa"
mv .err told
T 'refused: an output that was cut' grep -q 'fewer than' told
T 'the interrupted run itself still goes on' run base 1
T 'and ends well' same base ref

c="chordseq classify -q -m '$m' --resume"
T 'a file keeps its mode' sh -c ": > mode.tsv; chmod 600 mode.tsv; $c -o mode.tsv x.fa &&
    [ -s mode.tsv ] && ls -l mode.tsv | grep -q '^-rw-------'"
N resume_stdin.txt sh -c "$c -o a.tsv < x.fa"
N resume_pipe.txt sh -c "mkfifo pipe; $c -o a.tsv pipe"
N resume_stdout.txt sh -c "$c x.fa"
N resume_device.txt sh -c "$c -o /dev/null x.fa"
N resume_bam.txt sh -c "$c --bam a.bam x.fa"
T 'nothing was left by what was refused' sh -c "! ls | grep -q '^a\\.\\|^parts'"

# Without --resume a journal is neither read nor removed.
interrupt old 1 KILL 20
T 'without --resume it all begins anew' sh -c "cd old && chordseq classify -q -m '$m' -o o.tsv --all \
    ../x.fa ../y.fa.gz ../z.fa && cmp o.tsv ../ref/o.tsv && [ -f o.tsv.resume ] && [ -f o.tsv.part ]"
