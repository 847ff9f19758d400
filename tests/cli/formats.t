# formats.t - the same records in another format have the same predictions; samtools is the reference for
# reads on the reverse strand.
. "$srcdir/tests/cli/lib.sh"

for tool in samtools bgzip; do
    command -v $tool > /dev/null || { S 'SAM, BAM, CRAM and BGZF' "no $tool"; exit; }
done
c="chordseq classify -q -m $tiny/model.safetensors"
# same NAME EXPECTED SHELL-COMMAND: stdout must equal the file
same() { T "$1" sh -c "{ $3; } | cmp - '$2'"; }

$c "$tiny/reads.fq" > reads.tsv
samtools import -0 "$tiny/reads.fq" -o reads.bam 2> import.err || { cat import.err; exit 1; }
samtools view -h -o reads.sam reads.bam
samtools view -C -o reads.cram reads.bam
bgzip -c "$tiny/reads.fq" > reads.fq.gz
for f in reads.sam reads.bam reads.cram reads.fq.gz; do
    same "$f"              reads.tsv "$c $f"
    same "$f, 9 threads"   reads.tsv "$c -@ 9 $f"
    same "$f in a pipe"    reads.tsv "cat $f | $c -i -"
done
same 'through samtools fastq' reads.tsv "samtools fastq reads.bam 2> /dev/null | $c -i -"
gzip -c "$tiny/reads.fq" > plain.fq.gz
{ cat reads.tsv; tail -n +2 reads.tsv; tail -n +2 reads.tsv; } > thrice.tsv
same 'BGZF, gzip and BGZF members' thrice.tsv "cat reads.fq.gz plain.fq.gz reads.fq.gz | $c -i -"

# Both strands, secondary, supplementary, unmapped, no sequence, no quality.
# (Alignments without a sequence are excluded: samtools writes an N.) htslib writes an index beside a
# reference, so both are copied.
sam=$tiny/strands.sam
cp "$tiny/strands.fa" ref.fa
cp "$tiny/strands.fa" here.fa
grep -v '^noseq' "$sam" | samtools fastq - 2> /dev/null > strands.fq
$c strands.fq > strands.tsv
T 'the input has reverse-strand reads' sh -c '[ $(samtools view -c -f 16 "$1") -gt 1 ]' \
    - "$sam"
same 'reads on either strand' strands.tsv "$c '$sam' | grep -v noseq"
T 'a missing sequence is an empty record' sh -c '$1 "$2" | grep -qx \
    "noseq	0	unclassified	\.	empty"' - "$c" "$sam"
samtools view -C -T ref.fa -o strands.cram "$sam"
same 'CRAM with --reference'  strands.tsv "$c --reference here.fa strands.cram | grep -v noseq"
T 'excluded alignments are counted' sh -c 'chordseq classify -m "$tiny/model.safetensors" "$1" \
    2>&1 > /dev/null | grep -q "skipped 1 secondary and 1 supplementary alignments"' - "$sam"

# htslib 1.16 prints the name of a missing reference at any log level, and leaks memory; our message
# is the last line.
rm ref.fa ref.fa.fai
last()
{
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$@" > .last 2>&1 && return
    status=$?; tail -n 1 .last >&2; return $status
}
N cram-no-reference.err    last $c strands.cram
# Missing names are generated, one for both mates.
samtools view -C -T here.fa --output-fmt-option lossy_names=1 -o lossy.cram "$sam" 2> /dev/null
T 'mates of a CRAM file without names' sh -c "$c --reference here.fa lossy.cram | grep '^lossy.cram:' | cut -f 1 |
    tr '\n' ' ' | grep -qx 'lossy.cram:\([0-9]*\)/1 lossy.cram:\1/2 '"
N cram-reference.err       $c --reference no-such.fa strands.cram
head -c 900 reads.bam > cut.bam
N bam-cut.err              $c cut.bam
size=$(wc -c < reads.bam)
head -c $((size - 28)) reads.bam > no-end.bam
N bam-no-end.err           $c no-end.bam
N bam-no-end-pipe.err      sh -c "cat no-end.bam | $c -"
printf '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n' > x.vcf
N format-vcf.err           $c x.vcf
