# diplotype.t - `chordseq diplotype`: one symbol per site from reads and genotypes, regions, refusals,
# agreement with other callers on real reads.
. "$srcdir/tests/cli/lib.sh"

for tool in samtools bcftools; do
    command -v $tool > /dev/null || { S 'diplotypes' "no $tool"; exit 0; }
done

# c1 has 30 bases, c2 has 12. Ten reads: six have T at 5, four of them an insertion behind 10 and a
# deletion of 15-16; one is a duplicate, one is badly mapped, one has a bad base at 5.
printf '>c1\nACGTACGTACGTACGTACGTACGTACGTAC\n>c2\nGGGGGGCCCCCC\n' > ref.fa
{
    printf '@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:30\n@SQ\tSN:c2\tLN:12\n@RG\tID:1\tSM:kim\n'
    q=IIIIIIIIIIIIIIIIIIII
    for i in 1 2 3 4; do
        printf 'd%s\t0\tc1\t1\t60\t10M2I4M2D4M\t*\t0\t0\tACGTTCGTACTTGTACACGT\t%s\tRG:Z:1\n' $i $q
        printf 'p%s\t0\tc1\t1\t60\t20M\t*\t0\t0\tACGTACGTACGTACGTACGT\t%s\tRG:Z:1\n' $i $q
    done
    printf 't1\t0\tc1\t1\t60\t20M\t*\t0\t0\tACGTTCGTACGTACGTACGT\t%s\tRG:Z:1\n' $q
    printf 't2\t0\tc1\t1\t60\t20M\t*\t0\t0\tACGTTCGTACGTACGTACGT\t%s\tRG:Z:1\n' $q
    printf 'u1\t1024\tc1\t1\t60\t20M\t*\t0\t0\tCCCCCCCCCCCCCCCCCCCC\t%s\tRG:Z:1\n' $q
    printf 'u2\t0\tc1\t1\t3\t20M\t*\t0\t0\tCCCCCCCCCCCCCCCCCCCC\t%s\tRG:Z:1\n' $q
    printf 'u3\t0\tc1\t1\t60\t20M\t*\t0\t0\tACGTGCGTACGTACGTACGT\tIIII#III########IIII\tRG:Z:1\n'
} > r.sam
samtools view -b -o r.bam r.sam && samtools index r.bam
samtools view -C -T ref.fa -o r.cram r.sam 2> err

d="chordseq diplotype -f ref.fa"
P diplotype-reads.txt $d r.sam
T 'the same from BAM' sh -c "$d r.sam -o want && $d r.bam | cmp - want"
T 'the same from CRAM' sh -c "$d r.cram | cmp - want"
T 'minimum qualities and depth are inclusive' sh -c "$d -q --min-mapq 60 --min-baseq 40 --min-depth 10 r.sam | cmp - want"
T 'regions of CRAM, one behind the reads and one on a contig without reads' sh -c "samtools index r.cram &&
    $d -q -r c1:2-30 -r c2 -o regions r.bam && $d -q -r c1:2-30 -r c2 r.cram | cmp - regions"
awk 'BEGIN { for (i = 0; i < 1000; i++) s = s "A"; print ">s\n" s }' > s.fa
awk 'BEGIN { OFS = "\t"; print "@HD", "VN:1.6", "SO:coordinate\n@SQ", "SN:s", "LN:1000"; s = "ACACACACACACACACACACACACACACAC"
    for (i = 0; i < 70; i++) print "s" i, 0, "s", 1 + 10 * i, 60, i % 7 == 3 ? "2M200N28M" : "30M", "*", 0, 0, s, "*" }' > s.sam
samtools view -b -o s.bam s.sam && samtools index s.bam
samtools view -C -T s.fa --output-fmt-option seqs_per_slice=4 -o s.cram s.sam && samtools index s.cram
T 'a region of CRAM with threads has the spliced reads that begin before it' sh -c "for f in bam cram; do
    chordseq diplotype -q -@ 17 --min-depth 3 -f s.fa -r s:330-360 s.\$f -o from-\$f || exit; done; cmp from-bam from-cram"
T 'the same from standard input' sh -c "$d - < r.bam | cmp - want"
T 'reasons are reported' sh -c "$d r.sam 2>&1 > out | grep -qx 'chordseq: unknown sites by reason: 10 no_read, 0 low_depth'"
T 'depth' sh -c "$d --min-depth 12 r.sam 2>&1 > out | grep -qx 'chordseq: unknown sites by reason: 10 no_read, 20 low_depth'"
T 'each contig has its own reference' sh -c '
    for c in "c1 ACGTACGTACGT ACGTTCGTACGT" "c2 GGGGGGCCCCCC GGGGTGCCCCCC"; do set -- $c; for i in 1 2 3 4 5; do for s in $2 $3; do
        printf "$i$s\t0\t$1\t1\t60\t12M\t*\t0\t0\t$s\tIIIIIIIIIIII\n"; done; done; done > both.sam
    { sed -n "/^@/p" r.sam; cat both.sam; } | chordseq diplotype -f ref.fa - 2> msgs > out && grep "^[ACGTK]" out | tail -n 1 | grep -qx GGGGKGCCCCCC &&
    grep -q "42 sites: 22 reference, 2 variant (2 heterozygous), 18 unknown" msgs'
P diplotype-filters.txt $d -q --skip-flags 0 --min-mapq 0 --min-baseq 0 --min-count 1 --min-frac 0 r.sam
P diplotype-regions.txt $d -q -r c1:5-10 -r c1:29 -r c2 r.bam
printf '# some\nc1\t4\t10\tx\nc1\t28\t30\nc2\t0\t12\n' > r.bed
T 'the same regions from BED' sh -c "$d -q -r c1:5-10 -r c1:29 -r c2 -o want r.bam && $d -q -R r.bed r.bam | cmp - want"

T 'reads beyond their contig: sites of it from one that ends close behind, the other is named' sh -c '
    al() { printf "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c2\tLN:12\na\t0\tc2\t10\t60\t$1\t*\t0\t0\tCCCCCC\t*\n"; }
    al 6M | chordseq diplotype -q --min-depth 1 --min-baseq 0 -f ref.fa - > out && tail -n 1 out | grep -qx NNNNNNNNNCCC || exit
    al 3M268435455D268435455N3M > far.sam; timeout -s KILL 20 chordseq diplotype -f ref.fa far.sam 2> msgs
    [ $? = 1 ] && grep -q ".far.sam.: record 1 reaches 536870913 bases beyond the end of its contig" msgs'

# ---- genotypes -----------------------------------------------------------------------------------

{
    printf '##fileformat=VCFv4.2\n##contig=<ID=c1,length=30>\n##contig=<ID=c2,length=12>\n'
    printf '##FILTER=<ID=bad,Description="x">\n##FORMAT=<ID=GT,Number=1,Type=String,Description="x">\n'
    printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tkim\tlee\tmoe\n'
    printf 'c1\t5\t.\tA\tT\t.\tPASS\t.\tGT\t0/1\t1|1\t./.\n'
    printf 'c1\t7\t.\tG\tA\t.\tbad\t.\tGT\t0/1\t1|1\t0/1\n'
    printf 'c1\t10\t.\tC\tCTT\t.\t.\t.\tGT\t0/1\t1|0\t.|1\n'
    printf 'c1\t14\t.\tCGT\tC,CG\t.\t.\t.\tGT\t0/1\t1|2\t2\n'
    printf 'c1\t20\t.\tT\t<DEL>\t.\t.\t.\tGT\t0/1\t0/0\t0/1/1\n'
    printf 'c2\t6\t.\tGC\tTA\t.\tPASS\t.\tGT\t0|1\t1|0\t1|1\n'
} > g.vcf
bcftools view -Oz -o g.vcf.gz g.vcf && bcftools index g.vcf.gz
bcftools view -Ob -o g.bcf g.vcf && bcftools index g.bcf
P diplotype-calls.txt $d g.vcf
T 'the same from BCF' sh -c "$d g.vcf -o want && $d g.bcf | cmp - want"
T 'omitted records are reported' sh -c "$d g.vcf 2>&1 > out | grep -q 'of 6 VCF records: 1 filtered, 0 no_genotype; alleles: .* 1 symbolic, 0 overlap, 0 no_anchor; 1 genotype of more than 2'"
T 'a sample with a control character in its name is refused' sh -c "awk '/^#CHROM/ { sub(/lee/, \"l\\001e\") } 1' g.vcf > odd.vcf &&
    ! $d odd.vcf -o gone 2> msgs && grep -q 'has a control character; rename the sample or contig' msgs && [ ! -e gone ]"
T 'a record whose samples omit GT has no genotype' sh -c "awk 'BEGIN { FS = OFS = \"\t\" } NR == 2 { print \"##FORMAT=<ID=DP,Number=1,Type=Integer,Description=x>\" }
    /^c1	5/ { \$9 = \"DP:GT\"; \$10 = \$11 = \$12 = 3 } 1' g.vcf > omit.vcf && grep -q 'DP:GT	3	3	3$' omit.vcf &&
    $d omit.vcf 2>&1 > out | grep -q 'of 6 VCF records: 1 filtered, 1 no_genotype'"
T 'a symbolic allele is N up to its end' sh -c "sed 's/<DEL>	.	.	./<DEL>	.	.	END=25/
    2i ##INFO=<ID=END,Number=1,Type=Integer,Description=\"x\">' g.vcf > end.vcf &&
    $d -q -s kim end.vcf | grep -qx 'ACGTWCGTAjGTAC34ACGtacgtaCGTAC'"
# VCF 4.4 and later: SVLEN instead of END, of a deletion behind the base at POS; 4.5: blocks with LEN per sample.
T 'a symbolic allele is N up to the end of its SVLEN' sh -c "sed 's/<DEL>	.	.	./<DEL>	.	.	SVLEN=-5/
    2i ##INFO=<ID=SVLEN,Number=A,Type=Integer,Description=\"x\">' g.vcf > svlen.vcf &&
    $d -q -s kim svlen.vcf | grep -qx 'ACGTWCGTAjGTAC34ACGtacgtaCGTAC' &&
    sed 's/<DEL>	.	.	SVLEN=-5/<INS>,<DUP:TANDEM>	.	.	SVLEN=9,5/' svlen.vcf > dup.vcf && $d -q -s kim dup.vcf | grep -qx 'ACGTWCGTAjGTAC34ACGtacgtaCGTAC'"
T 'a block is as long as LEN of its sample' sh -c "sed '2i ##FORMAT=<ID=LEN,Number=1,Type=Integer,Description=\"x\">' g.vcf |
    sed '/^c/d' > block.vcf && printf 'c1\t5\t.\tA\t<*>\t.\t.\t.\tGT:LEN\t0/0:4\t0/0:.\t0:26\n' >> block.vcf && bcftools view -Ob -o block.bcf block.vcf &&
    $d -q --absent unknown block.vcf -o got && $d -q --absent unknown block.bcf | cmp - got && sed '/^[#>]/d' got > sites && printf '%s\n' \
        NNNNACGTNNNNNNNNNNNNNNNNNNNNNN NNNNANNNNNNNNNNNNNNNNNNNNNNNNN NNNNACGTACGTACGTACGTACGTACGTAC | cmp - sites"
T 'a contig inserted from the assembly file is a symbolic allele' sh -c "sed 's/<DEL>/T<ctg1>/' g.vcf > assembly.vcf && $d -q g.vcf -o want &&
    $d -q assembly.vcf | cmp - want && sed 's/<DEL>/T1<ctg1>/' g.vcf > odd.vcf && ! $d -q odd.vcf -o gone 2> msgs && grep -q \"has 'T1<ctg1>' in column ALT\" msgs"
T 'a record behind its contig ends the run, but not at its telomere' sh -c "sed 's/^c2	6	.	GC	TA/c2	14	.	G	T/' g.vcf > far.vcf
    ! $d far.vcf -o gone 2> msgs && grep -q 'the record at c2:14 has a REF that the reference does not have' msgs &&
    sed 's/^c2	14/c2	13/' far.vcf > end.vcf && $d -q end.vcf | grep -cx GGGGGGCCCCCC | grep -qx 3"
T 'reads beyond the end of a contig add no sites' sh -c "{ cat r.sam; sed -n 's/^t1	0	c1	1	/t3	0	c1	20	/p' r.sam; } > far.sam &&
    $d -q far.sam | sed 1,2d | tr -d '\n' | wc -c | grep -qx 30"
P diplotype-sample.txt $d -q -s lee --all-filters -r c1:4-16 g.vcf.gz
T 'regions of BCF' sh -c "$d -q -s lee --all-filters -r c1:4-16 -o want g.vcf.gz && $d -q -s lee --all-filters -r c1:4-16 g.bcf | cmp - want"
P diplotype-unknown.txt $d -q -s kim --absent unknown g.vcf
# htslib crashes on some of them.
T 'an index that ends early is refused' sh -c '
    bcftools index -t g.vcf.gz && for i in r.bam:bai g.vcf.gz:csi g.vcf.gz:tbi g.bcf:csi; do
        f=${i%:*} e=${i#*:}; rm -rf cut.d && mkdir cut.d && cp "$f" cut.d && gzip -cdf "$f.$e" > whole || exit
        # The last eight bytes are optional.
        for n in $(seq 5 3 $(($(wc -c < whole) - 9))); do head -c $n whole | { [ $e = bai ] && cat || bgzip -c; } > "cut.d/$f.$e"
            chordseq diplotype -q -f ref.fa -r c1:5-10 "cut.d/$f" > out 2> msgs; [ $? = 1 ] && grep -q "the index .cut.d/$f.$e. of .* is truncated or damaged; recreate it" msgs || exit; done
    done; rm g.vcf.gz.tbi'
T 'records have names of regions, or of samples and regions' sh -c "$d -q -R r.bed g.vcf.gz -o want && grep -c '>' want | grep -qx 9 &&
    $d -q -R r.bed --names region g.vcf.gz | sed 's/^>\(.*\) sample=\(.*\)/>\2 region=\1/' | cmp - want &&
    $d -q -R r.bed --names both g.vcf.gz | sed 's/^>\([^:]*\):/>\1 region=/' | cmp - want &&
    $d -q -r c1:5-10 --names region r.bam | grep -qx '>c1:5-10 sample=kim'"
T 'reads and genotypes agree' sh -c "$d -q -s kim -r c1:1-15 g.vcf.gz > a && $d -q -r c1:1-15 r.bam | cmp - a"

# ---- as input ------------------------------------------------------------------------------------

$d -q g.vcf -o g.dip
T 'a vocabulary of diplotypes' chordseq tokenize -q --train bpe --alphabet diplotypes --vocab-size 80 g.dip -o d.json
T 'its pieces join to the text' sh -c 'chordseq tokenize -q -m d.json g.dip | cut -f 2 | tr -d " " > got &&
    awk "/^>/ { if (s) print s; s = \"\"; next } !/^#/ { s = s \$0 } END { print s }" g.dip | cmp - got'
printf 'kim\ta\nlee\tb\nmoe\ta\n' > l.tsv
train="chordseq train -q --epochs 1 --encoder.max-len 64 --encoder.track 2 --encoder.hidden 8 --labels l.tsv"
T 'a model of diplotypes' $train --tokenizer diplotype -i g.dip -o m
T 'predictions for them' sh -c 'chordseq classify -q -m m g.dip > c && [ "$(grep -c "^kim\|^lee\|^moe" c)" = 6 ]'
T 'training on pieces of diplotypes' $train --tokenizer bpe --tokenizer.file d.json -i g.dip -o mb
T 'labels and predictions by region' sh -c "$d -q -R r.bed --names both -o w.dip g.vcf.gz &&
    sed -n 's/^>\(.*\)/\1/p' w.dip | awk -v OFS='\t' '{ print \$1, NR % 2 ? \"a\" : \"b\" }' > w.tsv &&
    chordseq train -q --epochs 1 --encoder.max-len 64 --encoder.track 2 --encoder.hidden 8 --tokenizer diplotype --labels w.tsv -i w.dip -o mw &&
    $d -q -R r.bed --names both r.bam | chordseq classify -q -m mw - | cut -f 1 | tr '\n' ' ' | grep -qx 'name kim:c1:5-10 kim:c1:29-30 kim:c2:1-12 '"
T 'a consensus with two-base letters is read' chordseq classify -q -m m "$tiny/mixed.fa"
N diplotype-model.err   chordseq classify -m "$tiny/model.safetensors" g.dip
N diplotype-strand.err  chordseq classify --strand both -m m g.dip
N diplotype-rc.err      $train --tokenizer diplotype --rc -i g.dip -o x

# ---- refusals ------------------------------------------------------------------------------------

N diplotype-noref.err   chordseq diplotype r.sam
N diplotype-two.err     $d r.sam r.bam
N diplotype-absent.err  $d absent.bam
N diplotype-fasta.err   $d ref.fa
T "genotypes with VCF 4.4's first sign of phase: the record, and the command that removes it" sh -c '
    sed "/^#/!s,	\([01]\)|,	/\1|," g.vcf > first.vcf && ! cmp -s g.vcf first.vcf && ! '"$d"' first.vcf 2> msgs &&
    grep -q "first.vcf.: record [0-9]* (c1:[0-9]*) has a genotype with a sign before its first allele, such as ./0|1., which htslib" msgs &&
    remedy=$(sed -n "s/.*; remove the sign: //p" msgs) && eval "$remedy first.vcf" | cmp - g.vcf'
T 'genotypes without the first line of VCF are refused, with the line' sh -c "gzip -cd g.vcf.gz | sed 1d > none.vcf && ! $d none.vcf 2> msgs &&
    grep -q 'none.vcf. is not a SAM, BAM, CRAM, VCF or BCF file: its header .* insert ##fileformat=VCFv4.2 as its first line' msgs"
T 'what genotypes lack is told: samples, this sample, the contig in the reference' sh -c "cut -f 1-8 g.vcf > bare.vcf && ! $d bare.vcf 2> msgs &&
    grep -q 'bare.vcf. has no samples, so no genotypes; give a file with columns FORMAT and samples' msgs &&
    ! $d --sample kin g.vcf 2> msgs && grep -q 'has no sample .kin.; did you mean .kim.? its header lists them (bcftools query -l)' msgs &&
    printf '>c1\nACGTACGTACGTACGTACGTACGTACGTAC\n' > one.fa && sed '/^@/!s/	c1	/	c2	/' r.sam > c2.sam && for f in g.vcf c2.sam; do ! chordseq diplotype -f one.fa \$f > got 2> msgs &&
    grep -q 'reference .one.fa. has no contig .c2., which .*; is it the same assembly?' msgs || exit; done"
T 'genotypes on contigs of other names: a warning, once; none if only records are lacking' sh -c "
    printf '>c1\n%030d\n>z\nACGTAC\n>y\nACGTAC\n' 0 | tr 0 A > more.fa && sed '/^##fileformat/a ##contig=<ID=y,length=6>' g.vcf | bgzip > more.vcf.gz &&
    bcftools view -Ob -o more.bcf more.vcf.gz && for f in more.vcf.gz more.bcf; do bcftools index -f \$f &&
    chordseq diplotype -f more.fa -r z:1-2 -r z:4-6 \$f 2> msgs > got && [ \$(grep -c 'has the contig .z. of a region, so it has no records there' msgs) = 1 ] &&
    chordseq diplotype -f more.fa -r y \$f 2> msgs > got && ! grep warning msgs || exit; done"
N diplotype-region.err  $d -r c3:1-5 r.bam
N diplotype-behind.err  $d -r c1:31-40 r.bam
N diplotype-index.err   $d -r c1:1-5 r.sam
T 'a given index' sh -c "mkdir given && cp r.bam g.vcf.gz given && cp r.bam.bai given/r.index && cp g.vcf.gz.[ct][sb]i given/g.index &&
    for f in r.bam g.vcf.gz; do $d -q -R r.bed \$f > want && $d -q -R r.bed given/\$f##idx##given/\${f%%.*}.index > got && cmp want got || exit; done"
T 'an index beside plain SAM is not its own' sh -c "cp r.bam.bai r.sam.bai && ! $d -q -r c1:1-5 r.sam 2> msgs && rm r.sam.bai &&
    grep -q 'r.sam. has no index' msgs"
T 'contigs must not come back' sh -c "{ cat g.vcf; grep '^c1	5' g.vcf; } > back.vcf && ! $d -q back.vcf -o gone 2> msgs && [ ! -e gone ] &&
    grep -q 'record at c1:5 comes after those of other contigs' msgs"
printf 'c1\t4\n' > odd.bed
N diplotype-bed.err     $d -R odd.bed r.bam
T 'a line of names and an empty interval of BED are refused, with the remedy' sh -c "printf 'chrom\tstart\tend\nc1\t4\t4\n' > odd.bed && ! $d -R odd.bed r.bam 2> msgs &&
    grep -q 'line 1: start and end must be numbers; put .#. before lines of other text' msgs && sed -i 's/^chrom/#&/' odd.bed &&
    ! $d -R odd.bed r.bam 2> msgs && grep -q 'line 2: the start is not below the end; starts count from 0' msgs"
T 'GTF given as BED is refused, with a conversion' sh -c "printf 'c1\tx\texon\t4\t9\t.\t+\t.\tgene_id \"a\";\n' > odd.bed && ! $d -R odd.bed r.bam 2> msgs &&
    grep -q 'line 1: looks like GTF or GFF3; convert it to BED' msgs"
T 'errors name standard input' sh -c "printf 'BZh91AY&SY' | $d -R - r.bam 2> msgs; [ \$? = 1 ] &&
    grep -q 'standard input. is compressed, but not by gzip or bgzip' msgs &&
    ! $d -R - r.bam < . 2> msgs && grep -q 'cannot read .standard input.: Is a directory' msgs"
echo '# no region' > no.bed
N diplotype-nobed.err   $d -R no.bed r.bam
N diplotype-nobed.err   $d -R no.bed g.vcf
N diplotype-who.err     $d -s ann g.vcf
printf '>c1\nACGTACGTACGTACGTACGTACGTACGTACG\n' > long.fa
N diplotype-length.err  chordseq diplotype -f long.fa r.sam
printf '>c1\nACGTTCGTACGTACGTACGTACGTACGTAC\n' > other.fa
N diplotype-other.err   chordseq diplotype -f other.fa g.vcf
sed 's/SM:kim/SM:kim\n@RG\tID:2\tSM:lee/' r.sam > two.sam
N diplotype-samples.err $d two.sam
sed '/^@RG/s/ID:1	//' r.sam > noid.sam
T 'an invalid header' sh -c "! $d noid.sam 2> msgs && grep -q 'noid.sam.* has an invalid line, .*;.* -v shows' msgs"
{ head -n 4 r.sam; sed -n '$p' r.sam | sed 's/c1\t1/c2\t1/; s/20M/12M8S/'; tail -n 1 r.sam; } > back.sam
N diplotype-order.err   $d back.sam
head -c 150 r.bam > cut.bam
N diplotype-cut.err     $d cut.bam
N diplotype-memory.err  $d --max-memory 50 g.vcf
printf '#chordseq-diplotype\t1\n>a\nACB\n' > code.dip
N diplotype-code.err    chordseq tokenize -m d.json code.dip
N diplotype-full.err    $d -o /dev/full r.sam

# ---- real reads ----------------------------------------------------------------------------------

# Sites of 20:10,000,001-10,001,900 that differ from the reference: ours, those of Genome in a
# Bottle, and those of bcftools on the same reads.
na=$CS_SHARED/data/ingest/na12878_hg19_chr20
if [ -r "$na/NA12878_small.bam" ]; then
    gzip -dc "$na/ucsc.hg19.chr20.unittest.fasta.gz" > hg19.fa
    cp "$na/test_nist.b37_chr20_100kbp_at_10mb.vcf.gz" nist.vcf.gz
    bcftools index nist.vcf.gz
    at=chr20:10000001-10001900
    bcftools mpileup -f hg19.fa -r $at "$na/NA12878_small.bam" 2> err | bcftools call -mv -Oz -o mp.vcf.gz 2> err
    bcftools index mp.vcf.gz
    for x in "ours $na/NA12878_small.bam" 'nist nist.vcf.gz' 'mp mp.vcf.gz'; do
        set -- $x
        chordseq diplotype -q -f hg19.fa -r $at "$2" | sed '1,2d' | tr -d '\n' > "$1"
    done
    # concordance A B: sites where either differs from the reference, and how many of them agree
    printf '>r\n' > ref.txt
    samtools faidx hg19.fa $at | sed 1d | tr -d '\n' | tr acgt ACGT > ref.txt
    cat > same.awk <<'END'
        { s[FNR == 1 ? ++n : n] = $0 }
        END { for (i = 1; i <= length(s[1]); i++) { r = substr(s[1], i, 1); a = substr(s[2], i, 1)
                  b = substr(s[3], i, 1); if (a != r || b != r) { all++; same += a == b } }
              print same "/" all }
END
    echo "# with the Genome in a Bottle calls: $(awk -f same.awk ref.txt ours nist) sites agree"
    echo "# with bcftools mpileup and call: $(awk -f same.awk ref.txt ours mp) sites agree"
    T 'real reads: the truth but for an insertion that a third of the reads miss' \
        sh -c '[ "$(awk -f same.awk ref.txt ours nist)" = 13/14 ]'
    T 'real reads: what bcftools calls' sh -c '[ "$(awk -f same.awk ref.txt ours mp)" = 14/14 ]'
else
    S 'real reads: the truth' 'no shared data'
    S 'real reads: what bcftools calls' 'no shared data'
fi
