# outputs.t - all outputs of one run of `chordseq classify`, read by other programs.
. "$srcdir/tests/cli/lib.sh"

printf '%s\t%s\t%s\t%s\t%s\n' classA 562 species 561 'Escherichia coli' classB - - 561 - \
    561 561 genus 2 Escherichia 2 2 domain 131567 Bacteria 131567 131567 'cellular root' 1 'cellular organisms' \
    classC 10239 'acellular root' 1 Viruses > taxa.tsv
chordseq model label --taxonomy taxa.tsv "$tiny/model.safetensors" m || exit 1
cp "$tiny/mixed.fa" "$tiny/reads.fq" .

# The sixth digit depends on the processor; three are compared.
digits() { sed -E 's/([0-9]\.[0-9]{3})[0-9]+/\1/g' "$1"; }

# ---- one run, every report -------------------------------------------------------------------------

all='--jsonl all.jsonl --kraken all.kraken --report all.report --krona all.krona --cami-binning all.bin
     --cami-profile all.profile --bam all.sam --split-dir all.split --summary all.json -o all.tsv'
T 'all outputs in one run' chordseq classify -q -m m --sample s1 --min-prob 0.4 $all mixed.fa
P out.jsonl        digits all.jsonl
P out.kraken       cat all.kraken
P out.report       cat all.report
P out.krona        cat all.krona
P out.binning      cat all.bin
P out.profile      cat all.profile
P out.sam          sh -c 'grep -v "^@PG" all.sam | sed -E "s/([0-9]\.[0-9]{3})[0-9]+/\1/g" | cut -f 1-9,12-'
P out.split        sh -c 'cd all.split && for f in *; do grep -c "^>" "$f" | sed "s/^/$f /"; done'
P out.json         sh -c 'grep -v "command_line\|\"path\"\|\"options\"" all.json'
T 'outputs of one run equal those of single runs' sh -c '
    for o in jsonl kraken report krona cami-binning cami-profile; do
        chordseq classify -q -m m --sample s1 --min-prob 0.4 --$o - mixed.fa > "one.$o"
    done
    chordseq classify -q -m m --min-prob 0.4 mixed.fa | cmp - all.tsv && cmp one.jsonl all.jsonl &&
    cmp one.kraken all.kraken && cmp one.cami-binning all.bin &&
    chordseq classify -q -m m --min-prob 0.4 -o x --report - mixed.fa | cmp - all.report &&
    chordseq classify -q -m m --min-prob 0.4 -o x --krona - mixed.fa | cmp - all.krona'
P out-names.kraken sh -c 'chordseq classify -q -m m --kraken - --use-names reads.fq | head -n 4'
T 'equal runs write equal bytes' sh -c '
    set -- --jsonl a.1 --kraken a.2 --report a.3 --bam a.4 --summary a.5 --split-dir a.6 --split-gz
    chordseq classify -q -m m "$@" -@ 1 reads.fq && mkdir first && mv a.? first/ &&
    chordseq classify -q -m m "$@" -@ 1 reads.fq && for k in 1 2 3 4 5; do cmp a.$k first/a.$k || exit; done
    diff -r a.6 first/a.6'
T 'every record of the report is one of the table' sh -c '
    want=$(awk "NR > 1" all.tsv | wc -l)
    got=$(awk -F "\t" "\$4 == \"U\" || \$4 == \"R\" { n += \$2 } END { print n }" all.report)
    direct=$(awk -F "\t" "{ n += \$3 } END { print n }" all.report)
    [ "$want" = "$got" ] && [ "$want" = "$direct" ]'
T 'reports of an empty input' sh -c ': > empty.fa
    chordseq classify -q -m m --report - --krona k --cami-profile p --summary s -o x empty.fa > r 2> /dev/null &&
    printf "  0.00\t0\t0\tU\t0\tunclassified\n  0.00\t0\t0\tR\t1\troot\n" | cmp - r && [ ! -s k ] && [ -s s ]'
T 'a model without a taxonomy puts its classes under the root' sh -c '
    chordseq classify -q -m "$1" -o x --report - mixed.fa | cut -f 4-6 | sort > r && [ "$(wc -l < r)" = 5 ] &&
    grep -q "^D	2000000001	  classA$" r' - "$tiny/model.safetensors"

# ---- alignments --------------------------------------------------------------------------------------

with samtools T 'samtools reads the BAM' sh -c '
    samtools view -b "$1" -o in.bam 2> /dev/null && chordseq classify -q -m m --bam out.bam in.bam &&
    samtools quickcheck out.bam &&
    samtools view -F 0x900 in.bam | cut -f 1-11 > a && samtools view out.bam | cut -f 1-11 | cmp - a' - "$tiny/strands.sam"
with samtools T 'output alignments keep the tags of their records' sh -c '
    chordseq classify -q -m m in.bam | sed "s|/[12]	|	|" | awk "NR > 1 { print \$1, \$3 }" > a &&
    samtools view out.bam | sed -E "s/\t.*cl:Z:/ /; s/\t.*//" | cmp - a &&
    [ "$(samtools view out.bam | grep -c "	ct:i:")" = "$(wc -l < a)" ]'
with bgzip T 'padding of a BAM header stays out of SAM' sh -c 'printf "BAM\001\020\000\000\000@HD\tVN:1.6\n\000\000\000\000\000\000\000\000\000" | bgzip > padded.bam &&
    chordseq classify -qq -m m --no-PG --bam padded.sam -o padded.tsv padded.bam && printf "@HD\tVN:1.6\n" | cmp - padded.sam'
with samtools T 'output alignments have a chained @PG line' sh -c 'samtools view -H --no-PG out.bam | grep -q "ID:chordseq.*PP:samtools" &&
    chordseq classify -q -m m --bam no.bam --no-PG in.bam &&
    ! samtools view -H --no-PG no.bam | grep -q "ID:chordseq"'
with samtools T 'tags of an earlier run are replaced' sh -c 'chordseq classify -q -m m --bam again.bam out.bam &&
    samtools view again.bam > a && samtools view out.bam | cmp - a'
T 'tags of these names that occur twice are replaced' sh -c 'printf "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGTTGCA\t*\tcl:Z:x\tcl:i:3\tcr:Z:x\tXX:i:1\tcr:Z:y\n" > tags.sam &&
    chordseq classify -q -m m --min-prob 0 --bam twice.sam tags.sam && [ "$(grep -v "^@" twice.sam | tr "\t" "\n" | grep -c "^c[lr]:")" = 1 ] && grep -q "XX:i:1	cl:Z:class" twice.sam'
with samtools T 'a CRAM' sh -c 'chordseq classify -q -m m --reference "$1" --bam out.cram in.bam &&
    samtools quickcheck out.cram && samtools view -T "$1" out.cram | cut -f 1-6,10 > a &&
    samtools view out.bam | cut -f 1-6,10 | cmp - a' - "$tiny/strands.fa"
# A reader of a pipe must not take a part for the whole.
for n in $(seq 300); do cat mixed.fa; done > many.fa
with samtools T 'a run that fails leaves no end marker' sh -c '
    for o in bam cram; do
        { cat many.fa; sleep 0.5; printf ">bad\nAC!GT\n"; } |
            chordseq classify -q -m m -B 2k -O $o --bam - -o x 2> err > cut.$o
        [ $? = 1 ] && grep -q bad err || exit 1
        samtools quickcheck -vvv cut.$o 2>&1 | grep -q "missing EOF" || exit 1
    done'
with samtools T 'contigs in another order than the reference' sh -c '
    printf ">c2\nACGTTGCAACGTTGCA\n>c1\nTTGCATTGCATTGCAT\n" > order.fa
    { printf "@SQ\tSN:c1\tLN:16\n@SQ\tSN:c2\tLN:16\n"
      printf "r\t0\tc1\t1\t60\t16M\t*\t0\t0\tTTGCATTGCATTGCAT\t*\n"; } > order.sam
    sums() { sed -nE "s/^@SQ.*SN:([^\t]*).*M5:([0-9a-f]*).*/\1 \2/p" | sort; }
    chordseq classify -q -m m --reference order.fa --bam order.cram order.sam &&
    samtools view -H order.cram | sums > a && [ "$(wc -l < a)" = 2 ] && samtools dict order.fa | sums | cmp - a'
with samtools T 'contigs missing from the reference' sh -c 'sed "1i @SQ\tSN:c0\tLN:9" order.sam > more.sam
    chordseq classify -q -m m --reference order.fa --bam more.cram more.sam
    [ $? -le 1 ] && ! ls | grep -q "more.cram.tmp"'
with samtools T 'reads come out as unaligned records' sh -c '
    chordseq classify -q -m m --bam - reads.fq | samtools fastq - 2> /dev/null > a &&
    sed "s/ .*//" reads.fq | cmp - a'
T 'names that are not those of SAM are refused' sh -c 'printf ">ok\nACGTACGT\n>@x\nACGTACGT\n" > at.fa
    for o in "x.sam -O sam" x.bam; do
        ! chordseq classify -q -m m --bam $o at.fa 2> msgs && grep -q "record .@x. does not fit the format" msgs && [ ! -e "${o%% *}" ] || exit; done'
# Options of samtools for writing: the first block of level 0 holds the text as it is.
with samtools T 'an index beside it' sh -c 'samtools sort -o sorted.bam in.bam && rm -f i.*
    chordseq classify -q -m m --bam i.bam -W sorted.bam && chordseq classify -q -m m --bam j.bam --write-index=bai sorted.bam &&
    chordseq classify -q -m m -T "$1" --bam i.cram -W sorted.bam && [ -f i.cram.crai ] && [ ! -e i.bam.bai ] && [ -f i.bam.csi ] &&
    samtools index -b sorted.bam && samtools view -F 0x900 sorted.bam "$2" | cut -f 1-6 > a && [ -s a ] &&
    for f in i.bam j.bam; do samtools view $f "$2" | cut -f 1-6 | cmp a - || exit; done &&
    samtools view -T "$1" i.cram "$2" | cut -f 1-6 | cmp a -' - "$tiny/strands.fa" "$(sed -n '1s/^>\([^ ]*\).*/\1/p' "$tiny/strands.fa"):1-200"
with samtools T 'an index of an earlier output of this name is reported' sh -c 'for b in i.bam.bai i.bai; do
    cp i.bam.csi $b && chordseq classify -q -m m --bam i.bam -W sorted.bam 2> msgs && rm $b &&
    grep -q "the index .$b. is of an earlier .i.bam." msgs && [ "$(grep -c index msgs)" = 1 ] || exit; done'
# htslib's sam_index_build3() loses the header of a file that is not sorted.
with samtools N bam-unsorted.err sh -c "$ignore_leaks"'
    samtools sort -n -o names.bam in.bam && chordseq classify -q -m m --bam x.bam -W names.bam
    e=$?; ls x.bam* 2> /dev/null || exit $e'
T 'a level of compression' sh -c 'chordseq classify -q -m m --bam a.bam -O bam,level=0 reads.fq &&
    chordseq classify -q -m m --bam b.bam --output-fmt-option level=9 reads.fq && [ $(wc -c < a.bam) -gt $(wc -c < b.bam) ]'
with samtools T 'the version of CRAM' sh -c 'chordseq classify -q -m m -T "$1" --bam v.cram --output-fmt-option version=3.1 in.bam &&
    head -c 6 v.cram | od -An -tx1 | grep -q "43 52 41 4d 03 01"' - "$tiny/strands.fa"
N bam-option.err    chordseq classify -m m --bam x.bam -O bam,colour=1 reads.fq
N bam-format.err    chordseq classify -m m --bam x.bam -O vcf reads.fq
T 'the name of an index is not that of another output' sh -c 'for o in i.bam.csi ./i.bam.csi; do rm -f i.bam*
    printf "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:99\n" > sorted.sam
    for r in "" --resume; do chordseq classify -q $r -m m --bam i.bam -W -o $o sorted.sam 2> msgs
    [ $? = 2 ] && [ ! -e i.bam ] && [ ! -e i.bam.csi ] && grep -q "two outputs write to .i.bam.csi" msgs || exit; done; done'
T 'BAM is not written under the name of another format' sh -c 'for f in x.csv x.tsv.gz x.bcf x.npz x.sam.gz x.bam.gz; do
    chordseq classify -q -m m --bam $f reads.fq 2> msgs; [ $? = 2 ] && grep -q "bam .$f.: SAM, BAM or CRAM is written" msgs && [ ! -e $f ] || exit
    done; chordseq classify -q -m m -O sam --bam x.csv reads.fq && head -n 1 x.csv | grep -q "^@HD" &&
    chordseq classify -q -m m --bam plain reads.fq && od -An -tx1 plain | head -n 1 | grep -q "^ 1f 8b"'
N bam-index.err     chordseq classify -m m --bam x.sam -W reads.fq
N bam-crai.err      chordseq classify -m m --bam x.cram --write-index=csi reads.fq
N bam-pipe.err      chordseq classify -m m --bam - -W reads.fq
N bam-without.err   chordseq classify -m m -W reads.fq
T '-O is the format of --bam' sh -c 'chordseq classify -q -m m --bam - -O sam reads.fq | head -c 7 | grep -q "^@HD	VN:"'
with samtools N out-references.err sh -c 'sed "s/LN:600/LN:700/" "$1" > other.sam
    chordseq classify -q -m m --bam x.bam in.bam other.sam; e=$?; [ ! -e x.bam ] && exit $e' - "$tiny/strands.sam"

# Two inputs of one @RG each and one in common, of programs with one ID, and a comment.
lane() { printf '@HD\tVN:1.6\tSO:coordinate\tSS:coordinate:x\n@SQ\tSN:c\tLN:99\n@RG\tID:%s\tSM:%s\n@RG\tID:both\tSM:s\n' $1 $1
    printf '@PG\tID:bwa\tPN:bwa\tCL:bwa %s\n@PG\tID:sort\tPN:sort\tPP:bwa\n@CO\tby %s\n@CO\tall\n' $1 $1
    printf '%s\t0\tc\t%s\t60\t8M\t*\t0\t0\tACGTTGCA\tIIIIIIII\tRG:Z:%s\tPG:Z:bwa\tNM:i:0\n' $1 $2 $1; }
lane x 9 > x.sam; lane y 5 > y.sam; sed 's/SM:s$/SM:t/' y.sam > z.sam
for f in bam sam; do
    with samtools T "several inputs: the header of all, in $f" sh -c 'samtools view -b --no-PG -o x.bam x.sam &&
        chordseq classify -q -m m --no-PG --bam xy.$1 x.bam y.sam && samtools view -H --no-PG xy.$1 > head && grep -v "^@RG\|^@PG\|^@CO" head | tr "\n" " " > rest &&
        [ "$(cat rest)" = "@HD	VN:1.6	SO:unsorted @SQ	SN:c	LN:99 " ] && [ "$(grep -c "^@RG" head)" = 3 ] && grep -q "^@RG	ID:y	SM:y$" head &&
        [ "$(grep -c "^@PG" head)" = 4 ] && grep -q "^@PG	ID:bwa	.*CL:bwa x$" head && grep -q "^@PG	ID:bwa[.].*CL:bwa y$" head &&
        grep -q "^@PG	ID:sort[.].*	PP:bwa[.]" head && [ "$(grep "^@CO" head | cut -f 2 | tr "\n" ,)" = "by x,all,by y," ] &&
        [ "$(samtools view xy.$1 | cut -f 1 | tr -d "\n")" = xy ] &&
        samtools view xy.$1 | grep -q "^x	.*PG:Z:bwa	" && samtools view xy.$1 | grep "^y	" | grep -q "RG:Z:y	PG:Z:$(sed -n "s/^@PG	ID:\([^	]*\).*CL:bwa y$/\1/p" head)	NM:i:0"' - $f
done
T 'a program that stands before its parent keeps it' sh -c 'awk "/ID:bwa/ { held = \$0; next } { print } held && /ID:sort/ { print held }" y.sam > turn.sam &&
    [ "$(grep -n "PP:bwa" turn.sam | cut -d : -f 1)" -lt "$(grep -n "ID:bwa" turn.sam | cut -d : -f 1)" ] &&
    chordseq classify -q -m m --no-PG --bam turned.sam x.sam turn.sam && [ "$(grep -c "^@PG" turned.sam)" = 4 ] &&
    id=$(sed -n "s/^@PG	ID:\([^	]*\).*CL:bwa y$/\1/p" turned.sam) && [ "$id" != bwa ] && grep -q "^@PG	ID:sort[.].*	PP:$id$" turned.sam'
T 'programs in a circle follow the others' sh -c 'awk "/ID:bwa/ { print \"@PG\tID:a\tPP:b\n@PG\tID:c\tPP:a\n@PG\tID:b\tPP:a\" } { print }" y.sam > circle.sam &&
    chordseq classify -q -m m --no-PG --bam circles.sam x.sam circle.sam &&
    [ "$(sed -n "s/^@PG	ID:\([a-z]*\).*/\1/p" circles.sam | tr "\n" " ")" = "bwa sort bwa sort a c b " ]'
T 'the header of one input is unchanged' sh -c 'chordseq classify -q -m m --no-PG --bam one.sam x.sam && sed "/^[^@]/d" one.sam > a && sed "/^[^@]/d" x.sam | cmp - a'
T 'headers with many comments take little time' sh -c 'for f in u v; do
        awk -v f=$f "BEGIN { print \"@SQ\tSN:c\tLN:99\"; for (i = 0; i < 5000; i++) print \"@CO\t\" i % 4990, i % 2 ? f : \"\" }" > $f.sam || exit
    done
    timeout 30 chordseq classify -q -m m --no-PG --bam uv.sam u.sam v.sam && grep "^@CO" uv.sam > all &&
    { sed 1d u.sam; sed 1d v.sam | grep "v$" | awk "!n[\$0]++"; } | cmp - all'
T 'sequences before alignments, and mates' sh -c 'printf ">f\nACGTTGCA\n" > f.fa && chordseq classify -q -m m --bam fy.sam f.fa y.sam &&
    grep -q "^@RG	ID:y" fy.sam && grep -q "^@HD.*unsorted" fy.sam && sed "s/^y	/x	/" y.sam > mate.sam &&
    chordseq classify -q -m m --bam mates.sam -1 x.sam -2 mate.sam && grep -q "^@RG	ID:y" mates.sam && [ "$(grep -c "^x	" mates.sam)" = 2 ]'
N bam-groups.err    chordseq classify -m m --bam xz.bam x.sam z.sam
sed 's/^@RG	ID:x/@RG/; s/	RG:Z:x//' x.sam > noid.sam
# htslib 1.24 refuses to read such a header.
for inputs in 'x.sam noid.sam' 'noid.sam x.sam' '--no-PG noid.sam f.fa'; do
    T "an invalid header: $inputs" sh -c "! chordseq classify -q -m m --bam xz.bam $inputs 2> msgs && [ ! -e xz.bam ] &&
        grep -q 'noid.sam.* has an invalid line, .*;.* -v shows' msgs"
done
T 'an invalid header of a pipe' sh -c '! chordseq classify -q -m m --bam xz.bam x.sam - < noid.sam 2> msgs &&
    grep -q "standard input.* has an invalid line, " msgs && [ ! -e xz.bam ]'
T 'the line of a header that is invalid is named, not a record' sh -c 'n=$(sed -n "/^@RG/=" noid.sam) && for o in "" "--bam xz.bam"; do
    ! chordseq classify -q -m m $o noid.sam 2> msgs && grep "the header of .noid.sam. has an invalid line, number $n (@RG);\|cannot read the header" msgs || exit; done'
T 'an invalid header can be copied, but not changed' sh -c 'printf "@RG\tSM:s\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGTTGCA\t*\n" > rg.sam &&
    ! chordseq classify -q -m m --bam xz.bam rg.sam 2> msgs && grep -q "invalid line, such as @RG or @PG without ID;" msgs || exit
    grep -q "cannot read the header" msgs || { grep -q "; correct it, or use --no-PG" msgs &&
        chordseq classify -q -m m --no-PG --bam copy.sam rg.sam && cut -f 1-11 copy.sam | cmp - rg.sam; }'
T 'an error of references names standard input' sh -c 'sed "s/LN:99/LN:98/" x.sam > other.sam && ! chordseq classify -q -m m --bam xz.bam - other.sam < x.sam 2> msgs &&
    grep -q "other references than .standard input.;" msgs'
T 'a pipe of alignments after sequences' sh -c '! chordseq classify -q -m m --bam xz.bam f.fa - < x.sam 2> msgs && [ ! -e xz.bam ] &&
    grep -q "standard input. has references, which the header of the output lacks.*; give that input first, or as a file" msgs'
N bam-several.err   chordseq classify -m m --bam xy.bam -W x.sam y.sam
# A pipe is read after the header is written.
T 'a pipe later on with a read group of its own: a warning, and no PG tags of another program' sh -c '
    chordseq classify -m m --no-PG --bam xy.sam x.sam - < y.sam 2> msgs && [ "$(grep -c "not in the header" msgs)" = 1 ] &&
    grep -q "warning: the read group .y. of .standard input. is not in the header.*or as a file" msgs &&
    grep -q "^y	.*RG:Z:y	NM" xy.sam && grep -q "^x	.*PG:Z:bwa	" xy.sam && [ "$(grep -c "^@PG" xy.sam)" = 2 ]'
T 'a pipe later on with a program of its own: a warning' sh -c 'sed "/^@RG	ID:y/d; s/	RG:Z:y//" y.sam | sed "s/:bwa/:bwb/" |
    chordseq classify -m m --bam xy.sam x.sam - 2> msgs && grep -q "^y	.*PG:Z:bwb" xy.sam && grep -q "warning: the program .bwb. of .standard input. is not in the header" msgs'
N bam-later.err     sh -c 'chordseq classify -q -m m --bam xy.bam x.sam - < z.sam'
T 'lines whose tags are in another order are equal' sh -c 'sed "s/^\(@[RP]G\)	\(ID:[^	]*\)	\(.*\)/\1	\3	\2/" x.sam > order.x.sam &&
    grep -q "^@RG	SM:x	ID:x$" order.x.sam && chordseq classify -q -m m --no-PG --bam xx.sam x.sam order.x.sam && cat order.x.sam |
    chordseq classify -m m --no-PG --bam xx.2.sam x.sam - 2> msgs && ! grep "not in the header" msgs && cmp xx.sam xx.2.sam &&
    [ "$(grep -c "^@[RP]G" xx.sam)" = 4 ]'
T 'a pipe before a file keeps the read group of the file' sh -c 'chordseq classify -q -m m --bam xy.sam - x.sam < y.sam && grep -q "^@RG	ID:x" xy.sam'

# ---- a folder of sequences -----------------------------------------------------------------------------

T 'a folder holds every read once, unchanged' sh -c '
    chordseq classify -q -m m --split-dir reads reads.fq && ls reads > a &&
    printf "class%s.fastq\n" A B C > b && echo unclassified.fastq >> b && cmp a b &&
    cat reads/* | paste - - - - | sort > a && paste - - - - < reads.fq | sort | cmp - a'
T 'a class without records has a file, too, also of empty input' sh -c '
    printf "class%s.fasta\n" A B C > b && echo unclassified.fasta >> b && : > no.fa &&
    head -n 2 mixed.fa | chordseq classify -q -m m --split-dir few - && ls few | cmp - b &&
    chordseq classify -q -m m --split-dir none no.fa && ls none | cmp - b && ! cat none/* | grep .'
T 'files of an earlier run are reported' sh -c 'chordseq classify -q -m m --split-dir few reads.fq 2> msgs && ls few | wc -l | grep -qx 8 &&
    grep -q "warning: .few. also holds 4 files that this run did not write, such as .classA.fasta.; if an earlier run did, use an empty" msgs &&
    rm few/*.fasta && : > few/notes.txt && chordseq classify -q -m m --split-dir few reads.fq 2> msgs && ! grep . msgs'
T 'mates keep their own comments' sh -c '
    printf ">a/1 first\nACGTACGT\n" > p1.fa && printf ">a/2 second\nTTGCACGT\n" > p2.fa &&
    chordseq classify -q -m m --split-dir mates -o calls -1 p1.fa -2 p2.fa &&
    [ "$(cat mates/* | grep "^>" | cut -d " " -f 2 | paste -s -d " " -)" = "first second" ]'
with samtools T 'files of mates have the same records, if one has no bases in alignments' sh -c '
    { printf "a\t77\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\tIIIIIIII\na\t141\t*\t0\t0\t*\t*\t0\t0\t*\t*\n"
    printf "b\t77\t*\t0\t0\t*\t*\t0\t0\t*\t*\nb\t141\t*\t0\t0\t*\t*\t0\t0\tTTGCACGT\tIIIIIIII\n"; } | samtools view -b -o bare.bam - 2> log &&
    chordseq classify -q -m m --split-dir bare --interleaved bare.bam && ! ls bare/*.fasta 2> log &&
    for i in 1 2; do cat bare/*_$i.fastq | awk "NR % 4 == 1" | sort | paste -s -d " " - | grep -qx "@a @b" || exit; done'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat reads.fq; done > many.fq
with bgzip T 'compressed, block by block' sh -c '
    chordseq classify -q -m m --split-dir gz --split-gz many.fq && for f in gz/*; do bgzip -t "$f" || exit; done
    zcat gz/* | paste - - - - | sort > a && paste - - - - < many.fq | sort | cmp - a'
T 'safe file names' sh -c '"$builddir/tests/cli/make_model" odd 1 labels=4 tokenizer=kmer tokenizer.k=3 \
    encoder.max-len=4096 encoder.track=4 encoder.hidden=4 "label=../up" "label=-x y" "label=unclassified" "label=__up" &&
    chordseq classify -q -m odd --split-dir odd.d reads.fq && ls odd.d > a && [ "$(cat a)" = "_._up.fastq
__up.fastq
_x_y.fastq
unclassified.2.fastq
unclassified.fastq" ]'
T 'files of mates are not those of a class that ends in _1' sh -c '"$builddir/tests/cli/make_model" one 1 labels=2 \
    encoder.max-len=64 encoder.track=4 encoder.hidden=4 label=unclassified_1 label=unclassified_2 &&
    printf ">a/1\nNNNN\n>a/2\nNNNN\n>b\nACGTTACG\n" > one.fa &&
    chordseq classify -q -m one --split-dir one.d --interleaved -o calls one.fa 2> msgs && ls one.d > a &&
    [ "$(cat one.d/* | grep -c "^>")" = 3 ] && [ "$(grep -c "^unclassified[.]2_[12][.]fasta$" a)" = 2 ] &&
    [ "$(cat one.d/unclassified_[12].fasta | grep -c "^>")" = 1 ]'
# File systems allow 255 bytes.
T 'long class names are cut, and stay distinct' sh -c 'long=$(printf "%0250d" 0) && awk -v c=$long "BEGIN { srand(2)
    for (r = 0; r < 30; r++) { s = \"\"; for (i = 0; i < 60; i++) s = s substr(r % 2 ? \"ACGG\" : \"ACTT\", 1 + int(4 * rand()), 1)
        printf \">r%d class=%s%d\n%s\n\", r, c, r % 2, s } }" > long.fa &&
    chordseq train -q --label-key class --tokenizer kmer --tokenizer.k 2 --encoder.depth none --encoder.track 4 --encoder.hidden 4 \
        --epochs 1 --preset none -o long -i long.fa &&
    chordseq classify -q -m long --split-gz --split-dir long.d -1 p1.fa -2 p2.fa && ls long.d > names &&
    [ "$(grep -c "^0\{200\}_[12].fasta.gz$" names)" = 2 ] && [ "$(grep -c "^0\{200\}[.]2_[12].fasta.gz$" names)" = 2 ]'

# ---- a page to look at ---------------------------------------------------------------------------------

T 'a page' chordseq classify -q -m m --html page.html --min-prob 0.4 mixed.fa
T 'fetches and runs nothing' sh -c '! grep -iE "(src|href)=|url\(|@import|<script|https?:| on[a-z]+=" page.html'
T 'counts in the page equal those of the table' sh -c 'tr -d "\n" < page.html | sed "s/<tr>/\n/g" > rows
    for c in classA classB classC; do
        n=$(chordseq classify -q -m m --min-prob 0.4 mixed.fa | grep -c "	$c	")
        grep "^<td>$c</td>" rows | grep -q "<td class=\"n\">$n</td>" || exit
    done'
"$builddir/tests/cli/make_model" sharp 1 labels=3 tokenizer=kmer tokenizer.k=3 encoder.max-len=4096 \
    encoder.track=4 encoder.hidden=4 'label=<b>&"x' "label=</table>'" label=c
T 'lists the reasons that occurred, if any' sh -c 'chordseq classify -q -m m --html all.html --min-prob 0 "$1" &&
    ! grep -q "Unclassified records" all.html && grep -q "<td>empty" page.html && ! grep -q "<td>no_memory" page.html &&
    grep -q ">16<" page.html && ! grep -q "1,024" page.html' - "$tiny/strands.fa"
T 'names are escaped' sh -c 'chordseq classify -q -m sharp --html sharp.html mixed.fa &&
    grep -q "<td>&#60;b&#62;&#38;&#34;x</td>" sharp.html && grep -q "<td>&#60;/table&#62;&#39;</td>" sharp.html &&
    ! grep -q "<b>" sharp.html && [ "$(grep -c "</table>" sharp.html)" = 2 ]'
with python3 T 'every tag is closed' python3 -c '
from html.parser import HTMLParser
class Check(HTMLParser):
    stack, seen = [], 0
    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.stack.append(tag)
        self.seen += tag == "rect"
    def handle_startendtag(self, tag, attrs):
        self.seen += tag == "rect"
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
for page in "page.html", "sharp.html":
    c = Check()
    c.feed(open(page).read())
    assert not c.stack and c.seen > 20'
T 'an empty input has a page' sh -c 'chordseq classify -q -m m --html e.html -o x empty.fa 2> /dev/null && grep -q "</html>" e.html'

# ---- all or none -----------------------------------------------------------------------------------------

head -c 900 mixed.fa > cut.fa; printf '>bad\nAC!GT\n' >> cut.fa
T 'a run that fails leaves no output' sh -c '
    for o in jsonl kraken report krona cami-binning cami-profile bam summary; do set -- "$@" --$o none.$o; done
    ! chordseq classify -q -m m "$@" --split-dir none.split cut.fa 2> /dev/null && ! ls -d none.* 2> /dev/null'
N out-reader.err   sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do cat many.fq; done > most.fq
    { chordseq classify -q -m m --kraken - --report gone.report most.fq; echo $? > status; } | head -n 1 > /dev/null
    [ ! -e gone.report ] && exit "$(cat status)"'
T 'the output whose reader closed it is named' sh -c 'mkfifo pipe && { head -n 1 < pipe > /dev/null & } &&
    ! chordseq classify -q -m m --jsonl pipe -o gone.tsv most.fq 2> msgs && [ ! -e gone.tsv ] && grep -q "the reader of .pipe. closed it; the other" msgs'
N out-twice.err    chordseq classify -m m --kraken - --report - mixed.fa
N out-twice2.err   chordseq classify -m m -o x --report x mixed.fa
T 'an output is not the file that standard output goes to' sh -c '! chordseq classify -q -m m --summary x mixed.fa > x 2> msgs && [ ! -s x ] && rm x &&
    grep -q "classify: --output and --summary both write to .x.; rename one" msgs &&
    ! chordseq variant -q -m m -f "$1.fa" --tsv x "$1.vcf" > x 2> msgs && [ ! -s x ] && rm x && grep -q "two outputs write to .x." msgs' - "$tiny/variants"
T 'outputs that are one file through a link are refused' sh -c 'ln -s x1.tsv x2.tsv && ln -s ./x2.tsv x3.tsv &&
    for o in "x1.tsv --report x2.tsv" "x3.tsv --report x2.tsv"; do
        ! chordseq classify -q -m m -o $o reads.fq 2> msgs && grep -q "both write to .x[123].tsv" msgs && [ ! -e x1.tsv ] || exit; done'
N out-folder.err   chordseq classify -m m --split-dir taxa.tsv mixed.fa
N out-stdout.err   chordseq classify -m m --split-dir - mixed.fa
N out-goes.err     chordseq classify -m m --split-gz mixed.fa
N out-goes2.err    chordseq classify -m m --no-PG mixed.fa
N out-sample.err   sh -c 'chordseq classify -m m --sample "$(printf "a\tb")" --cami-profile p mixed.fa'
T 'a sample that no output names is reported' sh -c 'chordseq classify -q -m m --sample s1 mixed.fa 2>&1 > x.tsv | grep -q "warning: --sample has no effect" &&
    for o in "--summary x.summary" "--cami-binning x.bin" "--shard 1/1 --manifest x.json"; do
        chordseq classify -q -m m --sample s1 -o x.tsv $o mixed.fa 2> msgs && ! grep "no effect" msgs || exit; done; rm x.*'
T 'an interval without checkpoints is refused' sh -c 'chordseq classify -q -m m --resume-every 5 -o x.tsv mixed.fa 2> msgs; [ $? = 2 ] &&
    grep -q "classify: --resume-every needs --resume" msgs && [ ! -e x.tsv ]'
N out-all.err      chordseq classify -m m --all --kraken k mixed.fa
N out-missing.err  chordseq classify -m m --report no/r.txt mixed.fa
"$builddir/tests/cli/make_model" values 3 head=regress labels=2 encoder.max-len=64 encoder.track=4 encoder.hidden=4
N out-values.err   chordseq classify -m values --report r mixed.fa
P out-values.jsonl sh -c 'chordseq classify -q -m values --jsonl - mixed.fa | sed -E "s/([0-9]\.[0-9]{2})[0-9]+/\1/g" | head -n 5'

# ---- other programs ----------------------------------------------------------------------------------------

with python3 T 'JSON is valid' python3 -c '
import json
for line in open("all.jsonl"):
    r = json.loads(line)
    assert set(r) == {"name", "comment", "length", "label", "taxid", "rank", "probability", "reason", "probabilities"}
s = json.load(open("all.json"))
assert s["input"]["records"] == s["called"]["records"] + s["unclassified"]["records"]
assert s["called"]["records"] == sum(c["records"] for c in s["classes"])
assert s["unclassified"]["records"] == sum(r["records"] for r in s["reasons"].values())
assert len(s["model"]["sha256"]) == 64 and s["options"]["min-prob"] == "0.4"
assert s["options"]["resume-every"] == "10"'
# A byte that begins no character, one that begins a character of three (Latin-1's), and half of a pair of UTF-16.
printf '>a\200b "\\\nACGTACGTAC\n>caf\351 b\nACGTACGTAC\n>u\355\240\200\nACGTACGTAC\n' > bytes.fa
with python3 T 'JSON is valid for names that are not UTF-8' sh -c 'chordseq classify -q -m m --jsonl - bytes.fa | python3 -c "
import json, sys
r, q, u = map(json.loads, sys.stdin.buffer.read().decode(\"utf-8\").splitlines())
assert r[\"name\"] == \"a\ufffdb\" and r[\"comment\"] == chr(34) + chr(92), r
assert q[\"name\"] == \"caf\ufffd\" and q[\"comment\"] == \"b\", q
assert u[\"name\"] == \"u\ufffd\ufffd\ufffd\", u"'
# The report must equal counts of the reads in Kraken 2's output.
with python3 T 'report counts equal the sums over reads' python3 -c '
n = {}
for line in open("all.kraken"):
    c, name, taxid, length, hits = line.rstrip("\n").split("\t")
    assert (c == "U") == (taxid == "0") and hits
    n[taxid] = n.get(taxid, 0) + 1
path, clade, seen = [], {}, []
for line in open("all.report"):
    share, below, direct, rank, taxid, name = line.rstrip("\n").split("\t")
    level = (len(name) - len(name.lstrip(" "))) // 2
    path[level:] = [taxid]
    seen.append((share, int(below), taxid))
    assert n.get(taxid, 0) == int(direct)
    for t in path:
        clade[t] = clade.get(t, 0) + int(direct)
total = sum(n.values())
for share, below, taxid in seen:
    assert clade[taxid] == below and share == "%6.2f" % (100 * below / total)'
# A reader stalls with a full pipe when the input proves to be damaged.
awk '{ a = a $0 "\n" } END { for (i = 0; i < 300; i++) printf "%s", a }' mixed.fa > many.fa
for o in 'jsonl in' 'bam in -O sam'; do
    T "a failed run does not wait for the reader of --$o" sh -c 'mkfifo in && { (exec 3< in; exec sleep 20) & stalled=$!
        { cat many.fa; sleep 0.5; printf "@x\nACGT\n"; } | timeout 10 chordseq classify -q --chunks-in-flight 100 -m m --$1 - 2> msgs
        status=$?; kill $stalled; rm in; [ "$status" = 1 ] && grep -q "is not a nucleotide code" msgs; }' - "$o"
done
T 'a failed run does not wait for an input that stalls' sh -c 'mkfifo in && { (cat many.fa; exec sleep 20) > in & stalled=$!
    timeout 10 chordseq classify -q -m m -o /dev/full in 2> msgs
    status=$?; kill $stalled; rm in; [ "$status" = 1 ] && grep -q "cannot write ./dev/full" msgs; }'
rm many.fa

# kreport2krona.py and kreport2mpa.py of KrakenTools use the rank code: besides unclassified, other
# letters are omitted with their own reads unless --intermediate-ranks is given.
T 'KrakenTools includes every top class' sh -c 'chordseq classify -q -m "$1" -o x --report r mixed.fa &&
    awk -F "\t" "{ n += \$3 } \$4 ~ /^[URKDPCOFGS]\$/ { kept += \$3; if (\$4 == \"D\") top++ }
        END { exit !(n > 0 && kept == n && top == 3) }" r' - "$tiny/model.safetensors"
T 'including Viruses beside domains' sh -c 'awk -F "\t" "{ code[\$5] = \$4 }
    END { exit !(code[10239] == \"D\" && code[131567] == \"R1\" && code[2] == \"D\") }" all.report'
T 'an unclassified line without such records' sh -c 'head -n 20 "$2" > called.fq &&
    chordseq classify -q -m "$1" -o x --report r called.fq && printf "  0.00\t0\t0\tU\t0\tunclassified\n" > u && head -n 1 r | cmp - u' - "$tiny/model.safetensors" "$tiny/reads.fq"
with multiqc T 'multiqc' sh -c 'mkdir mq && cp all.report mq/s1.report.txt && multiqc -q -m kraken -o mq.out mq > /dev/null &&
    ls mq.out/multiqc_data/*kraken*'
with ktImportText T 'Krona' ktImportText -o krona.html all.krona
