# stream.t - the same bytes for all kinds of input and any number of threads, batches and chunks.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
mixed=$tmp/mixed.tsv
reads=$tmp/reads.tsv

# same NAME EXPECTED SHELL-COMMAND: stdout must equal the file
same() { T "$1" sh -c "{ $3; } | cmp - '$2'"; }
c="chordseq classify -q -m '$m'"
sh -c "$c '$tiny/mixed.fa'" > "$mixed"
sh -c "$c '$tiny/reads.fq'" > "$reads"

# ---- threads, batches, window ----------------------------------------------------------------

# A small model, so that megabases take little time.
"$builddir/tests/cli/make_model" light 1 tokenizer=kmer tokenizer.k=6 tokenizer.stride=6 \
    encoder.max-len=4096 encoder.track=1 encoder.hidden=2
l="chordseq classify -q -m light"

# Some seventeen chunks of 20 to 200,000 bases, so that batches close for every reason.
"$builddir/tests/bench/gen_fasta" 1048576 3 20 1500 > big.fa
"$builddir/tests/bench/gen_fasta" 614400 4 200000 200000 | sed 's/^>/>long/' >> big.fa
"$builddir/tests/bench/gen_fasta" 524288 5 20 3000 >> big.fa
T 'a reference run' sh -c 'chordseq classify -v -m light -@ 1 -o big.tsv big.fa 2> big.err'
T 'the output has a line for each record' sh -c '[ $(($(grep -c ">" big.fa) + 1)) = $(wc -l < big.tsv) ]'
T 'in input order' sh -c 'grep ">" big.fa | tr -d ">" > names &&
    tail -n +2 big.tsv | cut -f 1 | cmp - names'
for threads in 2 3 4 9; do
    same "$threads threads" big.tsv "$l -@ $threads big.fa"
done
for tokens in 1 777 1048576; do
    same "batches of $tokens tokens" big.tsv "$l -B $tokens big.fa"
done
for window in 1 2 5 1000; do
    same "a window of $window" big.tsv "$l --chunks-in-flight $window big.fa"
done
same 'all of them at once' big.tsv "$l --chunks-in-flight 1 -B 10240 -@ 3 - < big.fa"
T 'a small window closes batches by lag' sh -c 'chordseq classify -m light -v --chunks-in-flight 2 -B 65536 \
    -o /dev/null big.fa 2>&1 | grep -E "lag [1-9]"'

# ---- how records come ------------------------------------------------------------------------

gzip -c "$tiny/mixed.fa" > mixed.fa.gz
gzip -c "$tiny/reads.fq" > reads.fq.gz
sed 's/$/\r/' "$tiny/mixed.fa" > crlf.fa
head -c -1 "$tiny/mixed.fa" > no-newline.fa
{ cat "$mixed"; tail -n +2 "$mixed"; } > twice.tsv
{ cat "$mixed"; tail -n +2 "$reads"; } > both.tsv

same 'stdin named'       "$mixed" "$c - < '$tiny/mixed.fa'"
same 'stdin as -i -'     "$mixed" "$c -i - < '$tiny/mixed.fa'"
same 'stdin by default'  "$mixed" "$c < '$tiny/mixed.fa'"
same 'a pipe'            "$mixed" "cat '$tiny/mixed.fa' | $c"
same 'gzip'              "$mixed" "$c mixed.fa.gz"
same 'gzip in a pipe'    "$mixed" "cat mixed.fa.gz | $c -i -"
same 'two gzip members'  twice.tsv "cat mixed.fa.gz mixed.fa.gz | $c -i -"
same 'CR LF'             "$mixed" "$c crlf.fa"
same 'no final newline'  "$mixed" "$c no-newline.fa"
same 'two files'         both.tsv "$c '$tiny/mixed.fa' '$tiny/reads.fq'"
same 'two -i'            both.tsv "$c -i '$tiny/mixed.fa' -i reads.fq.gz"
same '-i, then operands' both.tsv "$c -i mixed.fa.gz - < '$tiny/reads.fq'"
same 'FASTQ as FASTA'    "$reads" "awk 'NR % 4 == 1 { print \">\" substr(\$0, 2) }
    NR % 4 == 2' '$tiny/reads.fq' | $c"

if bgzip --version > /dev/null 2>&1; then
    bgzip -c "$tiny/mixed.fa" > mixed.fa.bgz
    same 'bgzf'                    "$mixed" "$c mixed.fa.bgz"
    same 'bgzf with 9 threads'     "$mixed" "$c -@ 9 mixed.fa.bgz"
    same 'bgzf and gzip in a pipe' twice.tsv "cat mixed.fa.bgz mixed.fa.gz | $c -"
else
    S 'bgzf' 'no bgzip'
fi
if samtools --version > /dev/null 2>&1; then
    samtools import -0 "$tiny/reads.fq" -o reads.bam 2> /dev/null
    same 'BAM'                    "$reads" "$c reads.bam"
    same 'BAM in a pipe'          "$reads" "cat reads.bam | $c -"
    same 'SAM'                    "$reads" "samtools view -h reads.bam | $c"
    same 'samtools fastq, piped'  "$reads" "samtools fastq reads.bam 2> /dev/null | $c -i -"
else
    S 'BAM' 'no samtools'
fi

# ---- who reads the output --------------------------------------------------------------------

T 'a closed pipe is not an error' sh -c \
    'cp big.fa big2.fa && cp big.fa big3.fa && { chordseq classify -m light big.fa big2.fa big3.fa 2> head.err; echo $? > status; } | head -n 2 > head.tsv &&
    [ "$(cat status)" = 0 ] && [ ! -s head.err ] && rm big2.fa big3.fa && head -n 2 big.tsv | cmp - head.tsv'

# Outputs of htslib, which fill a pipe more than once; their headers without the command line.
awk '{ a = a $0 "\n" } END { for (i = 0; i < 60; i++) printf "%s", a }' "$tiny/mixed.fa" > many.fa
awk '/^#/ { print } $3 == "snv" { $3 = sprintf("%04000d", 1); for (i = 0; i < 100; i++) print }' OFS='\t' "$tiny/variants.vcf" > many.vcf
cat > late.py <<'END'
# A pipe and a socket that do not block and are read late get the bytes of a file; a terminal that is closed is an error.
import os, pty, socket, subprocess, sys, time
command = sys.argv[2:]
for ours, theirs in os.pipe(), [s.detach() for s in socket.socketpair()]:
    os.set_blocking(theirs, False)
    run = subprocess.Popen(command, stdout=theirs)
    os.close(theirs)
    time.sleep(0.2)
    assert open(ours, "rb").read() == open(sys.argv[1], "rb").read() and run.wait() == 0
try:
    ours, theirs = pty.openpty()
except OSError:
    sys.exit()      # no terminals, as in some roots that packages are built in
run = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, text=True)
assert os.read(ours, 1)
os.close(ours)
msgs = run.communicate()[1]
assert run.returncode == 1 and msgs == f"chordseq: error: {command[1]}: cannot write 'standard output': Input/output error\n", msgs
END
while read -r format command; do
    T "$format: a closed pipe is not an error" sh -c "$ignore_leaks; chordseq $command > whole.$format 2> msgs && [ ! -s msgs ] &&
        { chordseq $command 2> msgs; echo \$? > status; } | head -c 1000 > part && [ \"\$(cat status)\" = 0 ] && [ ! -s msgs ] &&
        head -c 1000 whole.$format | cmp - part"
    with python3 T "$format: late readers" sh -c "$ignore_leaks; python3 late.py whole.$format chordseq $command"
done <<END
SAM classify -q -m light --min-prob 0 --no-PG --bam - -O sam many.fa
BAM classify -q -m light --min-prob 0 --no-PG --bam - -O bam,level=0 -@ 3 many.fa
CRAM classify -q -m light --min-prob 0 --no-PG --bam - -O cram,level=0 many.fa
VCF variant -q -m $m -f $tiny/variants.fa -w 128 --no-version many.vcf
BCF variant -q -m $m -f $tiny/variants.fa -w 128 --no-version -O b0 -@ 3 many.vcf
END
