# resume.t - classify --resume: interrupted and resumed runs write the same bytes.
#
# Every output is synced for every record here: fast in memory, seconds on a disk.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || { TMPDIR=/dev/shm; export TMPDIR; }
. "$srcdir/tests/cli/lib.sh"
[ -e "$builddir/tests/cli/kill_at.so" ] || { S 'resume' 'no shared objects here'; exit; }

m=$srcdir/refdata/model/fast.safetensors
gen=$builddir/tests/bench/gen_fasta
"$gen" 14336 1 50 500 > x.fa
"$gen" 10240 2 30 800 | gzip -c > y.fa.gz
printf '>empty\n>unknown\nNNNNNNNNNNNN\n' > z.fa
"$gen" 8192 3 100 300 | sed 's/^>[^ ]*/&z/' >> z.fa
total=$(zcat -f x.fa y.fa.gz z.fa | grep -c '^>')

outputs='-o o.tsv --all --jsonl o.jsonl --kraken o.kraken --report o.kreport --krona o.krona
    --cami-binning o.bin --cami-profile o.prof --shares o.shares --summary o.json --html o.html --bam o.bam'
# run FOLDER THREADS: a run in FOLDER with a journal after every record
run() { (mkdir -p "$1" && cd "$1" && exec chordseq classify -q -m "$m" -@ "$2" --resume \
    --resume-every 0 $outputs ../x.fa ../y.fa.gz ../z.fa); }
done_in() { sed -n 's/.*"records":\([0-9]*\),"outputs".*/\1/p' "$1/o.tsv.resume" 2> /dev/null; }

usual=
env --default-signal=INT true 2> /dev/null && usual='env --default-signal=INT'

# interrupt FOLDER THREADS SIGNAL RECORDS [SYNCS]: interrupt a run after RECORDS, or during
# SYNCS of the next one. The run may be a resumed one; journals are counted from its start.
interrupt()
{
    before=$(done_in "$1")
    case $3 in INT) number=2 ;; KILL) number=9 ;; TERM) number=15 ;; esac
    # A shell's background jobs ignore SIGINT.
    (mkdir -p "$1" && cd "$1" && exec $usual env LD_PRELOAD="$builddir/tests/cli/kill_at.so" \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
        KILL_AT="$number $(($4 - ${before:-0})) ${5:-0}" chordseq classify ${talk--q} -m "$m" -@ "$2" \
        --resume --resume-every 0 $outputs ../x.fa ../y.fa.gz ../z.fa) 2> killed.err
    [ $? -gt 128 ] || { cat killed.err; return 1; }
}

# same FOLDER FOLDER: equal outputs, except for the page's time; no other files
same()
{
    for d in "$1" "$2"; do
        sed 's/From the first record to the last.*/TIME/' "$d/o.html" > "$d.html" || return 1
    done
    diff -r -x o.html "$1" "$2" && cmp "$1.html" "$2.html" && [ "$(ls "$1" | wc -l)" = 11 ]
}

T 'an uninterrupted run' run ref 1
T 'the reference equals a run without --resume' sh -c "chordseq classify -q -m '$m' -o plain.tsv --all \
    --kraken plain.kraken x.fa y.fa.gz z.fa && cmp plain.tsv ref/o.tsv && cmp plain.kraken ref/o.kraken"
T 'a first run says that it starts at the first record' sh -c "chordseq classify -m '$m' --resume -o first.tsv x.fa 2> msgs &&
    grep -q 'resume: no record is finished yet; starting at the first one' msgs && head -n \$(wc -l < first.tsv) ref/o.tsv | cut -f 1-5 | cmp - first.tsv"
T 'the message after a signal names the way to resume' sh -c 'grep -q "interrupted after [0-9]* records; run the same command to resume" msgs' - \
    "$(talk='' interrupt talk 1 INT 10; cp killed.err msgs)"
T 'the summary separates earlier records' sh -c 'cd talk && chordseq classify -m "$1" -@ 1 --resume --resume-every 0 \
    '"$(echo $outputs)"' ../x.fa ../y.fa.gz ../z.fa 2> ../msgs && n=$(sed -n "s/.*resuming after \([0-9]*\) records/\1/p" ../msgs)
    now=$(sed -n "s/.*classified \([0-9]*\) records (with the $n before: .*/\1/p" ../msgs)
    [ "$n" -ge 10 ] && [ "$((n + now))" = "$(($(wc -l < o.tsv) - 1))" ]' - "$m"
# killed THREADS SIGNAL RECORDS [SYNCS]
killed()
{
    d=d$1$2$3
    T "killed by $2 after $3${4:+ and $4 files}, $1 threads" interrupt "$d" "$@"
    n_done=$(done_in "$d")
    T 'no output exists' sh -c "! ls '$d' | grep -v '\.part\$\|\.resume\$' && [ '${n_done:-0}' -ge $3 ]"
    T "resumed from ${n_done:-none} of $total" run "$d" "$1"
    T 'resumed to the same bytes' same "$d" "ref$1"
}
T 'a reference with one thread' run ref1 1
T 'a reference with three threads' run ref3 3
killed 1 KILL 1
killed 1 KILL $((total / 3)) 5
killed 1 KILL $((total - 9)) 10
killed 3 KILL $((total / 2)) 1
killed 1 TERM $((total / 2))
killed 3 TERM 9 3
if [ -n "$usual" ]; then
    killed 1 INT $((total / 4))
else
    S 'killed by INT' 'no env --default-signal'
fi

# Interruptions without a signal.
mkdir full
T 'a full disk' sh -c "cd full && trap '' XFSZ && ulimit -f 16 && ! chordseq classify -q -m '$m' -@ 1 \
    --resume --resume-every 0 $(echo $outputs) ../x.fa ../y.fa.gz ../z.fa 2> ../full.err &&
    grep -q 'cannot write' ../full.err"
T 'resumed with more space' run full 1
T 'a full disk, resumed: the same bytes' same full ref1

# Repeated interruptions.
for n in 10 30 60; do interrupt often 1 KILL $n; done
T 'the fourth run ends it' run often 1
T 'repeated interruptions: the same bytes' same often ref

# A folder of sequences: files are opened per class, also with incomplete blocks.
all=$outputs
for gz in '' --split-gz; do
    outputs="-o o.tsv --split-dir parts $gz"
    T "a folder of sequences $gz" run "split$gz" 1
    for n in 1 60; do interrupt "cut$gz" 1 KILL $n; done
    T 'the output is not renamed yet' sh -c '[ -d "$1/parts" ] && ! ls "$1/parts" | grep -v "\.part$"' - "cut$gz"
    T 'the output exists at the end' run "cut$gz" 1
    T 'resumed folders have the same files' diff -r "split$gz" "cut$gz"
done
T 'the folder equals one of a run without --resume' sh -c "chordseq classify -q -m '$m' --split-dir plain x.fa y.fa.gz z.fa &&
    diff -r plain split/parts && cat plain/* > all && gzip -dc split--split-gz/parts/*.gz | cmp - all"
outputs=$all

# Alignments: of several blocks, cut in one, with and without threads that compress; from sequences
# and from alignments, under the input's header.
outputs='-o o.tsv --bam o.bam --no-PG'
"$gen" 256000 4 800 4000 > long.fa
awk 'BEGIN { print "@HD\tVN:1.6\n@SQ\tSN:c\tLN:99999"; srand(5); for (i = 1; i < 900; i++) { s = ""
    for (k = 0; k < 100; k++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
    print "r" i "\t0\tc\t" i "\t9\t100M\t*\t0\t0\t" s "\t*" } }' > map.sam
# alignments FOLDER THREADS NAME FILE [SIGNAL RECORDS SYNCS]: a run, whole or to be killed
alignments()
{
    kill_at=${5:+LD_PRELOAD=$builddir/tests/cli/kill_at.so}
    (mkdir -p "$1" && cd "$1" && exec env $kill_at KILL_AT="${5:-} ${6:-} ${7:-}" \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
        chordseq classify -q -m "$m" -@ "$2" --resume --resume-every 0 -o o.tsv --bam "$3" --no-PG "../$4")
}
no=0
while read -r threads name file records; do
    no=$((no + 1))
    T "$file to $name, $threads threads" sh -c "chordseq classify -q -m '$m' -@ $threads -o w.tsv \
        --bam w$no.${name#*.} --no-PG $file"
    for at in $records; do
        T "killed at $at" sh -c '[ "$1" -gt 128 ]' - "$(alignments "a$no" "$threads" "$name" "$file" \
            9 "${at%,*}" "${at#*,}" > killed.out 2>&1; echo $?)"
    done
    T 'alignments resume' alignments "a$no" "$threads" "$name" "$file"
    T 'resumed alignments have the same bytes' cmp "a$no/$name" "w$no.${name#*.}"
done <<END
1 o.bam long.fa 3,0 60,1 17,2
16 o.bam long.fa 1,1 40,2 45,0
1 o.bam map.sam 400,1 499,0
16 o.sam map.sam 400,0 7,1
END
outputs=$all

interrupt tail 1 KILL 30
for f in tail/*.part; do echo rubbish >> "$f"; done
T 'bytes beyond the journal' run tail 1
T 'are truncated' same tail ref

# ---- what cannot be resumed --------------------------------------------------------------------

interrupt base 1 KILL 20
# other NAME WORDS: a copy of the interrupted run, with a change
other()
{
    rm -rf o2 && cp -r base o2
    name=$1; shift
    N - "$@"
    mv .err msgs
    T "refused: $name" grep -q "$name" msgs
}
# Inputs are beside the folder, so that one run can have a changed input.
again="cd o2 && exec chordseq classify -q -m '$m' -@ 1 --resume --resume-every 0 $(echo $outputs)"
other 'with other options: --min-prob was "auto", and is "0.5"' sh -c "$again --min-prob 0.5 ../x.fa ../y.fa.gz ../z.fa"
other 'with other options: --kraken was "o.kraken", and is nothing' sh -c "$(echo "$again" | sed 's/--kraken o.kraken//') ../x.fa ../y.fa.gz ../z.fa"
other 'with other inputs' sh -c "$again ../x.fa ../y.fa.gz"
other 'with another model' sh -c "$(echo "$again" | sed "s|$m|$tiny/model.safetensors|") ../x.fa ../y.fa.gz ../z.fa"
other 'an input was changed' sh -c "cp -p x.fa kept; touch -d 2001-01-01 x.fa; $again ../x.fa ../y.fa.gz ../z.fa"
mv kept x.fa
printf 'c\t9\t800\n' > r.bed
T 'an index for regions' chordseq classify -q -m "$m" --bam map.bam -W map.sam
regions="cd regions && chordseq classify -q -m '$m' -@ 1 --resume --resume-every 0 -o o.tsv -R ../r.bed ../map.bam"
T 'a run with regions is killed' sh -c '! (export LD_PRELOAD="$1/tests/cli/kill_at.so" KILL_AT="9 20 0" ASAN_OPTIONS=verify_asan_link_order=0
    mkdir regions && eval "$2") 2> /dev/null && [ -f regions/o.tsv.resume ]' - "$builddir" "$regions"
T 'refused: other regions in the BED file' sh -c "cp -p r.bed kept; echo 'c	850	860' >> r.bed; ! ($regions) 2> msgs && grep -q 'other options: --regions-file was \"8 bytes, sha256:.*, and is \"18 bytes, sha256:' msgs"
T 'refused: another region' sh -c "mv kept r.bed && ! (${regions%../map.bam} -r c:1-9 ../map.bam) 2> msgs && grep -q 'other options: --region was .*, and is ..c:1-9' msgs"
T 'resumed with the same regions' sh -c " ($regions) && chordseq classify -q -m '$m' -R r.bed map.bam | cmp - regions/o.tsv"
# As of thousands of classes with --split-gz, of each of which it holds 64 kB.
T 'resumed from a journal of more than 256 MiB' sh -c 'rm -rf o2 && cp -r base o2 &&
    head -c 268435456 /dev/zero | tr "\\0" " " >> o2/o.tsv.resume && eval "($1 ../x.fa ../y.fa.gz ../z.fa)"' - "$again"
rm -rf o2 && cp -r base o2 && echo '{"run":{}' > o2/o.tsv.resume
N - sh -c "$again ../x.fa ../y.fa.gz ../z.fa"
mv .err msgs
T 'refused: a damaged journal' grep -q 'is damaged; remove it' msgs
# Changes after which the journal is valid JSON of the same run.
while read -r change reason; do
    rm -rf o2 && cp -r base o2 && sed "$change" base/o.tsv.resume > o2/o.tsv.resume
    N - sh -c "! cmp -s base/o.tsv.resume o2/o.tsv.resume && $again ../x.fa ../y.fa.gz ../z.fa"
    mv .err msgs
    T "refused: a journal after sed $change" grep -q "'o.tsv.resume' $reason; remove it to start over\$" msgs
done <<'END'
s/"records":[0-9]*/"records":7/ is damaged (its checksum differs)
s/\("outputs":[^0-9]*[0-9]*\)\([0-9]\)/\1/ is damaged (its checksum differs)
s/\("sha256":"[^"]*\)."}$/\1"}/ is damaged (its checksum differs)
s/,"sha256":"[^"]*"}$/}/ has no checksum: it is damaged or of another version of chordseq
END
rm -rf o2 && cp -r base o2
sed 's/,"sha256":"[^"]*"}$/}/; s/"chordseq_version":"[^"]*"/"chordseq_version":"0.1.0"/' base/o.tsv.resume > o2/o.tsv.resume
N - sh -c "$again ../x.fa ../y.fa.gz ../z.fa"
mv .err msgs
T 'refused: the journal of a version without checksums' grep -q 'with another version of chordseq: "0.1.0", and now' msgs
rm -rf o2 && cp -r base o2 && : > o2/o.jsonl.part
N - sh -c "$again ../x.fa ../y.fa.gz ../z.fa"
mv .err msgs
T 'refused: an output that was cut' grep -q 'fewer than' msgs
all=$outputs; outputs='-o o.tsv --kraken k'
interrupt shared 1 KILL 20
outputs='--kraken k --min-prob 0'
interrupt shared 1 KILL 90
N - sh -c "cd shared && exec chordseq classify -q -m '$m' --resume -o o.tsv --kraken k ../x.fa ../y.fa.gz ../z.fa"
mv .err msgs
T 'refused: an output that another run has replaced' grep -q 'k.part. was changed after the interruption; remove the journal' msgs
outputs=$all
all=$outputs; outputs='-o o.tsv --split-dir parts'
interrupt splits 1 KILL 40
outputs=$all
T 'refused: a part that was cut, or whose name is a folder, with the reason and its status' sh -c 'cd splits && part=$(ls -S parts/*.part | head -n 1) &&
    cp $part kept && : > $part && ! $1 2> ../msgs && grep -q "fewer than" ../msgs && mv kept $part && mkdir ${part%.part} || exit
    $1 2> ../msgs; [ $? = 2 ] && grep -q "is not a regular file, which --resume needs" ../msgs && rmdir ${part%.part} && $1' - \
    "chordseq classify -q -m $m -@ 1 --resume --resume-every 0 -o o.tsv --split-dir parts ../x.fa ../y.fa.gz ../z.fa"
T 'the interrupted run can still resume' run base 1
T 'the resumed run writes the same bytes' same base ref

# Options without influence on results, in another order and spelling.
interrupt others 1 KILL 30
T 'resumed with other threads, messages, buffers and spelling, and a model of another place' sh -c 'cp "$1" here.m && cd others &&
    chordseq classify $2 --chunks-in-flight=40 -v --quiet --verbosity 1 --batch-tokens 3000 --force --check-finite off --device auto --precision fp32 \
    --resume-every 1e3 --resume -i ../x.fa --threads=3 --model ../here.m -i ../y.fa.gz ../z.fa && cd .. &&
    for f in o.tsv o.jsonl o.kraken o.kreport o.krona o.bin o.prof; do cmp others/$f ref/$f || exit; done' - "$m" "$(echo $outputs)"
T 'the summary has the last options' grep -q '"threads":[ ]*"3"' others/o.json

# ---- shards --------------------------------------------------------------------------------------

lines='-o o.tsv --jsonl o.jsonl --kraken o.kraken --cami-binning o.bin'
reports='--report o.kreport --krona o.krona --cami-profile o.prof'
# parts FOLDER THREADS CMD...: two shards in the folder, killed at several places, and resumed
parts()
{
    folder=$1 threads=$2; shift 2
    mkdir -p "$folder"
    for i in 1 2; do
        for at in '9 1 1' '9 14 2' '15 7 0' ''; do
            (cd "$folder" && mkdir -p $i && cd $i && exec env ${at:+LD_PRELOAD=$builddir/tests/cli/kill_at.so} KILL_AT="$at" \
                ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
                chordseq "$@" -q -@ "$threads" --shard $i/2 --manifest o.json --resume --resume-every 0 $lines --all \
                --report o.kreport --html o.html --shares o.shares) 2> killed.err
            rc=$?
            [ $rc -ge 128 ] && [ "$at" ] && [ ! -e "$folder/$i/o.tsv" ] && [ ! -e "$folder/$i/o.json" ] && continue
            [ $rc = 0 ] && [ ! "$at" ] || { echo "$at: $rc"; cat killed.err; return 1; }
        done
    done
    ! ls "$folder"/? | grep '\.part\|\.resume\|tmp' || return
    (cd "$folder" && mkdir ref merged && cd ref && chordseq "$@" -q $lines $reports --all && cd ../merged &&
        chordseq merge -q $lines $reports ../?/o.json && diff -r . ../ref)
}
c="classify -m $m"
T 'shards by bytes are resumed, and merged' parts bytes 1 $c ../../x.fa
T 'shards by number are resumed, and merged' parts number 3 $c ../../y.fa.gz ../../x.fa
T 'shards of alignments are resumed, and merged' parts aligned 2 $c ../../map.bam
{ bgzip -c x.fa; bgzip -c z.fa; } > b.fa.gz || :
with bgzip T 'shards of BGZF are resumed, and merged' parts bgzf 1 $c ../../b.fa.gz
awk '/^>/ { n = $1; next } { r++; print n "/1\n" $0; if (r % 5) print n "/2\n" $0 }' x.fa > inter.fa
T 'shards of pairs are resumed, and merged' parts pairs 2 $c --interleaved ../../inter.fa
mkdir part
T 'a shard is interrupted' sh -c '! (cd part && LD_PRELOAD="$1/tests/cli/kill_at.so" KILL_AT="9 5 0" \
    ASAN_OPTIONS=verify_asan_link_order=0 chordseq $2 -q --resume --resume-every 0 --shard 1/2 --manifest o.json -o o.tsv ../x.fa) 2> msgs &&
    [ -f part/o.tsv.resume ]' - "$builddir" "$c"
while read -r options difference; do
    T "refused: it was $difference" sh -c '! (cd part && chordseq $2 -q --resume $3 -o o.tsv ../x.fa) 2> msgs &&
        grep -q -- "other options: --$1" msgs' - "$difference" "$c" "$(echo "$options" | tr , ' ')"
done <<'END'
--shard,2/2,--manifest,o.json shard was "1/2", and is "2/2"
--shard,1/3,--manifest,o.json shard was "1/2", and is "1/3"
--verbosity,1 shard was "1/2", and is nothing
--shard,1/2 manifest was "o.json", and is nothing
END

c="chordseq classify -q -m '$m' --resume"
T 'the file mode is kept' sh -c ": > mode.tsv; chmod 600 mode.tsv; $c -o mode.tsv x.fa &&
    [ -s mode.tsv ] && ls -l mode.tsv | grep -q '^-rw-------'"
N resume_stdin.txt sh -c "$c -o a.tsv < x.fa"
N resume_pipe.txt sh -c "mkfifo pipe; $c -o a.tsv pipe"
N resume_stdout.txt sh -c "$c x.fa"
N resume_device.txt sh -c "$c -o /dev/null x.fa"
N output-folder.err sh -c "$c -o no-such-folder/out.tsv x.fa"
N resume_cram.txt sh -c "$c --bam a.cram x.fa"
N resume_cram.txt sh -c "$c --bam a.bam --output-fmt cram x.fa"
T 'a run with a refused second output is refused' sh -c "for o in '--report no/a.k' '--report a.html' '--jsonl a.jsonl.gz' '--bam a.cram'; do
    ! $c -o a.tsv \$o x.fa || exit; done"
T 'a refused run leaves no file' sh -c "! ls | grep -q '^a\\.\\|^parts'"

# Without --resume a journal is neither read nor removed.
interrupt old 1 KILL 20
T 'without --resume, the run starts anew' sh -c "cd old && chordseq classify -q -m '$m' -o o.tsv --all \
    ../x.fa ../y.fa.gz ../z.fa && cmp o.tsv ../ref/o.tsv && [ -f o.tsv.resume ] && [ -f o.tsv.part ]"
