# signals.t - SIGINT and SIGTERM during a run: no command leaves an incomplete file, and each is
# terminated by the signal.
#
# A row is a command. `in` is a pipe that delivers the beginning of an input, or accepts the beginning
# of an output, and then blocks, so that the signal arrives during the run; other commands run longer
# than the test.
# All rows run at once, each in its own folder. After the beginnings are delivered all get the signal,
# and must end soon with only their inputs in the folder.
#
# Before that, commands get the signal at counted calls.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || { TMPDIR=/dev/shm; export TMPDIR; }
. "$srcdir/tests/cli/lib.sh"

# Kill all processes at exit.
stop()
{
    status=$?
    for f in "$tmp"/*.pid; do
        [ ! -f "$f" ] || [ -f "${f%.pid}.status" ] || kill -KILL "$(cat "$f")"
    done
    for f in "$tmp"/*.feeder; do [ ! -f "$f" ] || kill "$(cat "$f")"; done
    (exit $status)
    finish
}
trap 'stop 2> /dev/null' EXIT

env --default-signal=INT true 2> /dev/null || { S 'signals' 'no env --default-signal'; exit; }
m=$srcdir/refdata/model/fast.safetensors
q='-q -@ 1'
small='--encoder cdil --encoder.channels 8 --encoder.layers 2 --tokenizer base -B 512'

cp "$tiny/reads.fq" "$tiny/mixed.fa" "$tiny/variants.fa" "$tiny/variants.vcf" "$tiny/strands.sam" .
cp "$tiny/strands.fa" "$tiny/strands.fa.fai" .
"$builddir/tests/cli/make_model" token 2 head=token tokenizer=base encoder.max-len=512 2> /dev/null
awk 'BEGIN { srand(1); for (i = 0; i < 60; i++) { print ">r" i " class=" (i % 2 ? "at" : "gc")
    s = ""; for (k = 0; k < 90; k++) s = s substr(i % 2 ? "ATTAACATTG" : "GCCGGAGCCT", int(rand() * 10) + 1, 1)
    print s } }' > two.fa
awk 'BEGIN { srand(2); print ">g"; for (i = 0; i < 9000; i++) { s = s substr("ACGT", 1 + int(4 * rand()), 1) }
    print s }' > genome.fa
head -n 13 variants.vcf > calls.vcf
awk 'BEGIN { print "##fileformat=VCFv4.3"; print "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    for (i = 1; i <= 20000; i++) print "c\t" i "\t.\tA\tC\t.\t.\tAF=0.3" }' > sites.vcf
printf 'one\t300\t310\n' > one.bed
sed -n 's/^>\([^ ]*\).*/\1\tclassA/p' mixed.fa > labels.tsv

every='-o o.tsv --all --jsonl o.jsonl --kraken o.kraken --report o.kreport --krona o.krona'
every="$every --cami-binning o.bin --cami-profile o.prof --summary o.json --html o.html --bam o.bam --split-dir parts"

# NAME | beginning of the pipe, `full` if it is an output, or - | command
cat > rows <<END
every output|reads.fq|classify $q -m $m $every in
one thread less|mixed.fa|classify -q -@ 3 -m $m -o o.tsv in
mates|reads.fq|classify $q -m $m -o o.tsv -1 in -2 ../reads.fq
tags|strands.sam|classify $q -m $m --bam o.bam in
CRAM|strands.sam|classify $q -m $m --reference ../strands.fa --bam o.cram in
compressed parts|reads.fq|classify $q -m $m --split-dir parts --split-gz in
embed|reads.fq|embed $q -m $m -o o.npy in
predict|mixed.fa|predict $q -m ../token -o o.bed in
eval|mixed.fa|eval $q -m $tiny/model.safetensors --labels ../labels.tsv --skip-unlabelled -o o.tsv --json o.json --html o.html --calibrate o.m in
eval's labels|labels.tsv|eval $q -m $tiny/model.safetensors --labels in -o o.tsv ../mixed.fa
tokens|reads.fq|tokenize $q -m $srcdir/refdata/bpe/hg38.json -o o.tsv in
a vocabulary|reads.fq|tokenize $q --train bpe --vocab-size 64 -o o.json in
diplotypes of reads|strands.sam|diplotype -f ../strands.fa -o o.txt in
diplotypes of calls|calls.vcf|diplotype -f ../variants.fa -o o.txt in
VCF|variants.vcf|variant $q -m $m -f ../variants.fa -w 128 --tsv o.tsv -o o.vcf in
VCF with an index|variants.vcf|variant $q -m $m -f ../variants.fa -w 128 -W -o o.vcf.gz in
BCF|variants.vcf|variant $q -m $m -f ../variants.fa -w 128 -W -o o.bcf in
explain|one.bed|explain $q -m $m -f ../variants.fa -R in -o o.bedgraph --tsv o.tsv --svg o.svg
train|two.fa|train $q $small --label-key class -o o.m --metrics o.tsv in
train's taxonomy|none|train $q $small --label-key class --taxonomy in -o o.m ../two.fa
pretrain's regions|none|pretrain $q $small --window 100 --val-regions in -o o.m ../genome.fa
model label|none|model label --taxonomy in $m o.m
model factorize|reads.fq|model factorize --rank 2 -o o.m --class bacteria=in $m
merge|none|merge -o o.tsv in
factorize's matrix|none|factorize -i in -o o --plot o.svg
factorize|-|factorize -i ../big.npy --steps 1000000 -o o --plot o.svg
simulate|-|simulate adding -n 100000000 -o o.tsv
a cohort|-|simulate cohort -i ../sites.vcf --ld-scale 1k -o o.vcf --labels o.tsv
a long genome's index|-|explain $q -m $m -f ../bare.fa -o o.bedgraph --tsv o.tsv one:1-4
a long genome's checksum|-|pretrain $q $small --window 100 -o o.m ../long.fa
bench|-|bench encoders -o o.tsv
selftest|-|selftest
a pipe without a reader|-|classify $q -m $m -o in ../mixed.fa
a full pipe|full|simulate xor -n 100000000 -o in
a full pipe of a stage|full|classify -q -@ 3 -m $m --jsonl in ../many.fa
a full pipe of SAM|full|classify $q -m $m --bam in -O sam ../many.fa
a full pipe of BAM|full|classify -q -@ 3 -m $m --bam in -O bam,level=0 ../many.fa
a full pipe of CRAM|full|classify $q -m $m --min-prob 0 --bam in -O cram,level=0 ../many.fa
a full pipe of VCF|full|variant $q -m $m -f ../variants.fa -w 128 -o in ../many.vcf
a full pipe of BCF|full|variant -q -@ 3 -m $m -f ../variants.fa -w 128 -O u -o in ../many.vcf
END
awk '{ a = a $0 "\n" } END { for (i = 0; i < 300; i++) printf "%s", a }' mixed.fa > many.fa
awk '/^#/ { print } $3 == "snv" { $3 = sprintf("%04000d", 1); for (i = 0; i < 150; i++) print }' OFS='\t' variants.vcf > many.vcf
has_lapack || { S 'model factorize' 'no LAPACK'; sed -i '/^model factorize|/d' rows; }
# A terabyte, of which the contig is the first 9 kilobytes.
cp genome.fa long.fa
printf 'g\t9000\t3\t9000\t9001\n' > long.fa.fai
printf '>one\nACGT\n>two\n' > bare.fa
truncate -s 1T long.fa bare.fa 2> /dev/null || { S 'a long genome' 'no large files'; sed -i '/^a long genome/d' rows; }
n_row=$(wc -l < rows)
: > none
"$builddir/tests/bench/gen_matrix" sparse 64 1 big.npy

# begin SIGNAL: start every row in its folder; writes `fed` once the pipe has a reader, and `pid`
begin()
{
    n=0
    while IFS='|' read -r name head command; do
        n=$((n + 1)) d=$1.$n
        mkdir "$d" && mkfifo "$d/in"
        if [ "$head" = - ]; then
            : > "$d.fed"
        elif [ "$head" = full ]; then
            (exec 3< "$d/in"; : > "$d.fed"; exec sleep 600) > "$d.out" 2>&1 &
            echo $! > "$d.feeder"
        else
            # The writer's end stays open without data.
            (exec 3> "$d/in"; cat "$head" >&3; : > "$d.fed"; exec sleep 600) > "$d.out" 2>&1 &
            echo $! > "$d.feeder"
        fi
        (cd "$d" || exit
         env --default-signal=INT,TERM chordseq $command > "../$d.out" 2> "../$d.err" < /dev/null &
         echo $! > "../$d.pid"
         wait $!
         echo $? > "../$d.status") &
    done < rows
}

# Commands that ended early have a status.
at_work()
{
    for i in $(seq 200); do
        [ "$(ls | grep -c '\.fed$')" = $((2 * n_row)) ] && break
        sleep 0.05
    done
    sleep 0.5
}

# end SIGNAL STATUS: all end within 30 s, without files left
end()
{
    for n in $(seq "$n_row"); do kill -"$1" "$(cat "$1.$n.pid")" 2> /dev/null; done
    for i in $(seq 300); do
        [ "$(ls "$1".*.status 2> /dev/null | wc -l)" = "$n_row" ] && break
        sleep 0.1
    done
    for n in $(seq "$n_row"); do
        [ -f "$1.$n.status" ] || kill -KILL "$(cat "$1.$n.pid")"
        [ ! -f "$1.$n.feeder" ] || { kill "$(cat "$1.$n.feeder")" 2> /dev/null; rm "$1.$n.feeder"; }
    done
    n=0
    while IFS='|' read -r name head command; do
        n=$((n + 1)) d=$1.$n
        echo "status $2, and only 'in'" > want
        { echo "status $(cat "$d.status"), and only '$(ls -A "$d" | tr '\n' ' ' | sed 's/ $//')'"
          cat "$d.err"; } > "$d.got"
        T "$1: $name" diff want "$d.got"
    done < rows
}

# ---- at every place where a file is complete but has no name yet --------------------------------

# Each sync of a file is a place for a signal. The command is terminated by it and leaves nothing in its
# folder, or completes all outputs; never a part.
published=$CS_SHARED/golden/cdil_dna_pretrained/human_100k_epoch9_checkpoint.safetensors
cat > places <<END
every output|classify $q -m $m $every ../reads.fq
embed|embed $q -m $m -o o.npy ../reads.fq
eval|eval $q -m $tiny/model.safetensors --class classA=../twice.fa -o o.tsv --json o.json --html o.html --calibrate o.m
VCF with an index|variant $q -m $m -f ../variants.fa -w 128 -W -o o.vcf.gz --tsv o.tsv ../variants.vcf
train|train $q $small --label-key class --epochs 1 -o o.m --metrics o.tsv ../two.fa
merge|merge --jsonl o.jsonl -o o.tsv --report o.txt ../part.1.json ../part.2.json
model export|model export $m o
model label|model label --taxonomy ../taxa.tsv $tiny/model.safetensors o.m
model checked|model checked $m o.m
model factorize|model factorize --rank 2 -o o.m $m
model import|model import $published o.m
factorize|factorize $q -i ../big.npy --steps 2 -o o --plot o.svg
a cohort|simulate cohort -n 20 -i ../few.vcf --ld-scale 1k -o o.vcf --labels o.tsv --liabilities o.l --effects o.e
END
has_lapack || sed -i '/^model factorize|/d' places
head -n 40 sites.vcf > few.vcf
cat two.fa two.fa > twice.fa
printf 'classA\t2\tsuperkingdom\t1\nclassB\t2157\tsuperkingdom\t1\n' > taxa.tsv

for i in 1 2; do
    chordseq classify -q -m "$m" --shard $i/2 --manifest part.$i.json -o part.$i.tsv --jsonl part.$i.jsonl many.fa
done

# place N NAME WORDS: signal at the N-th sync, and check the folder
place()
{
    rm -rf place && mkdir place
    (cd place && exec env KILL_AT="15 0 $1" LD_PRELOAD="$builddir/tests/cli/kill_at.so" \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
        chordseq $3 > ../out 2> ../err < /dev/null)
    echo "status $? $(cd place && find . | sort | tr '\n' ' ')"
}
whole_or_nothing()
{
    place 1000 "$@" > whole
    grep -q '^status 0 \. \./o' whole || { cat whole err; return 1; }
    n=1
    while place $n "$@" > got && grep -q '^kill_at' err; do
        echo 'status 143 . ' | cmp -s - got || cmp -s whole got || { echo "place $n:"; cat got err; return 1; }
        n=$((n + 1))
    done
    cmp whole got && [ $n -gt 1 ]
}
[ -e "$builddir/tests/cli/kill_at.so" ] || { S 'places' 'no shared objects here'; : > places; }
while IFS='|' read -r name command; do
    case $command in
    *" $published "*) [ -r "$published" ] || { S "places: $name" "no '$published'"; continue; } ;;
    esac
    T "places: $name" whole_or_nothing "$name" "$command"
done < places

# Then the name, too, survives a power failure.
if [ -e "$builddir/tests/cli/kill_at.so" ]; then
    T 'the folder is synced after the rename' sh -c 'mkdir named && cd named && chordseq classify -q -m "$1" -o ../named.tsv ../reads.fq || exit
        env KILL_AT="9 0 -1" LD_PRELOAD="$2/tests/cli/kill_at.so" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
            chordseq classify -q -m "$1" -o o.tsv ../reads.fq 2> ../err
        [ $? = 137 ] && [ "$(ls)" = o.tsv ] && cmp o.tsv ../named.tsv' - "$m" "$builddir"
fi

# SIGKILL leaves the file, which may be that of a process elsewhere; a later run lets it be.
if [ -e "$builddir/tests/cli/kill_at.so" ]; then
    T 'what SIGKILL leaves is found as the manual says' sh -c 'mkdir left && cd left || exit
        env KILL_AT="9 0 1" LD_PRELOAD="$2/tests/cli/kill_at.so" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
            chordseq classify -q -m "$1" -o o.tsv ../reads.fq 2> /dev/null
        [ $? = 137 ] && ls > ../was && grep -qx "o.tsv.tmp.[0-9]*" ../was && chordseq classify -q -m "$1" -o o.tsv ../reads.fq || exit
        touch -d "3 days ago" * mine.tmp && touch new.tmp.1 && cmd=$(sed -n "s/\\\\-/-/g; s/^find FOLDER/find ./p" "$3/man/chordseq.1.in") &&
        [ "$cmd" ] && eval "$cmd" > ../found && sed "s,^,./," ../was | cmp - ../found' - "$m" "$builddir" "$srcdir"
fi

# A part of 8 GB of zeros, whose merge would fail at its end.
T 'merge stops while it copies' sh -c 'chordseq classify -q -m "$1" --shard 1/1 --manifest zero.json -o zero.tsv many.fa || exit
    head=$(sed "s/.*\"head\":\([0-9]*\),.*/\1/" zero.json) && truncate -s 8G zero.tsv &&
    sed -i "s/\"bytes\":[0-9]*/\"bytes\":8589934592/; s/\"pieces\":[^]]*/\"pieces\":[$((8589934592 - head))/" zero.json
    mkdir zero && timeout --preserve-status 0.5 chordseq merge -o zero/o.tsv -q zero.json > zero.err 2>&1
    [ $? = 143 ] && [ ! "$(ls zero)" ]; e=$?; rm zero.tsv; exit $e' - "$m"

# ---- while it reads or works ----------------------------------------------------------------------

begin INT
begin TERM
at_work
end INT 130
end TERM 143
T 'no part of an index is left' sh -c 'test "$(echo bare.fa*)" = bare.fa'

# ---- within a step of training ---------------------------------------------------------------------

# The first step's checkpoint says when the second one runs.
awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) { print ">r" i " class=" (i % 2 ? "at" : "gc")
    s = ""; for (k = 0; k < 900; k++) s = s substr(i % 2 ? "ATTAACATTG" : "GCCGGAGCCT", int(rand() * 10) + 1, 1)
    print s } }' > steps.fa
run="chordseq train -@ 1 --encoder cdil --encoder.channels 96 --encoder.layers 8 --encoder.norm batch --tokenizer base -B 18k
    --label-key class --valid-frac 0 --epochs 1 --checkpoint-steps 1 steps.fa"
T 'a whole run' $run -o whole.m
env --default-signal=TERM $run -o part.m > part.out 2>&1 < /dev/null &
echo $! > part.pid
for i in $(seq 3000); do [ ! -e part.m.ckpt ] || break; sleep 0.01; done
kill -TERM "$(cat part.pid)"
wait "$(cat part.pid)" 2> /dev/null
echo $? > part.status
T 'a signal ends a step' [ "$(cat part.status)" = 143 ]
T 'the checkpoint is that of the step before' sh -c '$1 -o part.m --resume 2> err; e=$?; cat err; grep -q "resuming after step 1$" err && exit $e' - "$run"
same_weights 'the resumed run gives the same weights' whole.m part.m
