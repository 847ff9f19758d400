# variant.t - `chordseq variant`: scores in INFO fields; other data are unchanged.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
export m
cp "$tiny/variants.fa" "$tiny/variants.vcf" . && chmod u+w variants.fa
cat > score <<'END'
#!/bin/sh
exec scored_on variants.fa "$@"
END
cat > scored_on <<'END'
#!/bin/sh
f=$1; shift
exec chordseq variant -q -m "$srcdir/refdata/tiny/model.safetensors" -f "$f" -w 128 --circular ring "$@"
END
chmod +x score scored_on
PATH=$tmp:$PATH

P variant.vcf      sh -c 'score --no-version variants.vcf | sed -E "s/(0\.[0-9]{3})[0-9]+/\1/g"'
P variant.tsv      sh -c 'score --tsv - -o /dev/null variants.vcf | sed -E "s/(0\.[0-9]{3})[0-9]+/\1/g"'
T 'header lines state the source of scores' sh -c 'score -o o.vcf variants.vcf &&
    grep -q "^##chordseq_variantVersion=[0-9]" o.vcf &&
    grep -q "^##chordseq_variantCommand=chordseq variant -q -m .* variants.vcf" o.vcf &&
    grep -q "^##chordseq_variantModel=sha256:[0-9a-f]\{64\}" o.vcf &&
    [ "$(grep -c "^##INFO=<ID=CS_L2,Number=A,Type=Float," o.vcf)" = 1 ]'
T 'other lines are copied' sh -c 'grep -v "ID=CS_" variants.vcf | sed "s/;CS_L2=9,9,9//" > in
    grep -v "^##chordseq\|ID=CS_" o.vcf | sed -E "s/;CS_[A-Z0-9]+=[^;\t]*//g; s/CS_[A-Z0-9]+=[^;\t]*/./" > out
    cmp in out'
T 'scores do not depend on threads, batch size and buffers' sh -c 'score --no-version variants.vcf > a
    for o in "-@ 1" "-@ 4 -B 100" "--chunks-in-flight 1"; do score --no-version $o variants.vcf | cmp a - || exit; done'
T 'a second run on its output changes nothing' sh -c 'score --no-version variants.vcf > a
    score --no-version a | cmp a -'
T 'a second run changes nothing if ID is not the first key of INFO' sh -c 'sed "s/<ID=CS_L2,Number=A,/<Number=A,ID=CS_L2,/" a > odd.vcf
    grep -q "<Number=A,ID=CS_L2" odd.vcf && score --no-version odd.vcf | cmp a -'
T 'a pipe, gzip and CR LF give the same scores' sh -c 'score --no-version - < variants.vcf | cmp a - &&
    score --no-version < variants.vcf | cmp a - && score --no-version -t 1 variants.vcf | cmp a - &&
    gzip -c variants.vcf | score --no-version - | cmp a - &&
    sed "s/$/\r/" variants.vcf | score --no-version - | cmp a -'
T 'a byte order mark is left out' sh -c '{ printf "\357\273\277"; cat variants.vcf; } > mark.vcf && score --no-version mark.vcf | cmp a - &&
    score --no-version - < mark.vcf | cmp a -'
T 'a single record has the same vector' sh -c 'for id in del multi round; do
    grep "^#" variants.vcf > one; grep "	$id	" variants.vcf >> one
    score --no-version one | grep "	$id	" > b; grep "	$id	" a | cmp - b || exit; done'
T 'a deletion in a repeat has one score at every position' sh -c '
    [ "$(grep -c "	\(leftmost\|repeat\)	" a)" = 2 ] &&
    [ "$(grep "	\(leftmost\|repeat\)	" a | cut -f 8 | sort -u | wc -l)" = 1 ]'
# AA at the end of the contig and AAA at its start are one repeat.
T 'and across the origin of a circular contig' sh -c 'awk "/^>/ { on = \$0 == \">ring\"; next } on { s = s \$0 }
        END { print \">ring\"; print \"AAA\" s \"CAA\" }" variants.fa > origin.fa
    { grep "^##fileformat" variants.vcf; printf "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
      for v in "1 AA A" "2 AA A" "304 CA C" "305 AA A" "1 A AA" "304 C CA" "306 A AA"; do printf "ring\t%s\t.\t%s\t%s\t.\t.\t.\n" $v; done; } > origin.vcf
    scored_on origin.fa --tsv origin.tsv -o /dev/null origin.vcf && [ "$(sed 1d origin.tsv | cut -f 8 | sort -u | wc -l)" = 2 ] &&
    [ "$(sed -n "2,5p" origin.tsv | cut -f 6- | sort -u | wc -l)" = 1 ] && ! grep NEAR_END origin.tsv'
T 'the options of the summary include those with several values' sh -c 'score --summary ring.json -o /dev/null variants.vcf &&
    tr -d " \n" < ring.json | grep -q "\"circular\":\[\"ring\"\]"'
T 'without --circular, contigs are linear' sh -c 'chordseq variant -q -m "$1" -f variants.fa -w 128 \
    --tsv t.tsv -o /dev/null variants.vcf && grep -q "	round	.*	NEAR_END	" t.tsv' - "$m"
T 'reasons use distinct names' sh -c '{ grep "^#" variants.vcf
    b=$(sed -n 2p variants.fa | cut -c 20)
    c=$(echo $b | tr ACGT CGTA); printf "one\t20\t.\t%s\t%s\t.\t.\t.\tGT\t0/1\n" $c $b; } > near.vcf
    ! score --tsv t.tsv -o /dev/null near.vcf && tail -n 1 t.tsv | grep -q "	NEAR_END	1	"'
T 'if all windows reach beyond their contigs: what to do' sh -c '{ grep "^#" variants.vcf; grep "	snv	" variants.vcf; } > long.vcf &&
    ! chordseq variant -m "$m" -f variants.fa -w 1190 -o /dev/null long.vcf 2> msgs && grep -q "NEAR_END .*; lower --window-length, or give --ends fill$" msgs'
T '--ends fill pads with N' sh -c 'score --ends fill --tsv t.tsv -o /dev/null variants.vcf &&
    grep -q "	end	.*	[.]	0	0[.]" t.tsv'
T 'positions beyond the contig mismatch REF' sh -c '{ grep "^#" variants.vcf | sed "s/	FORMAT.*//"
    printf "%s\t9999\t.\tA\tC\t.\t.\t.\n" one ring; } > behind.vcf; for e in skip fill; do
    ! score --ends $e --tsv t.tsv -o /dev/null behind.vcf && [ "$(grep -c "	REF_MISMATCH	" t.tsv)" = 2 ] || exit; done'
N variant-circular.err chordseq variant -m "$m" -f variants.fa --circular no variants.vcf
N variant-ref.err   chordseq variant -m "$m" variants.vcf
N variant-no-ref.err chordseq variant -m "$m" -f no.fa variants.vcf
N variant-model.err chordseq variant -m "$m" -f variants.fa --score model variants.vcf
T 'windows that are too short, with the least length' sh -c '! chordseq variant -m "$m" -f variants.fa -w 4 -o gone variants.vcf 2> msgs && [ ! -e gone ] &&
    grep -q "variant: --window-length 4 is too short; it must be at least 8$" msgs'
T 'columns separated by blanks are refused, with the columns of VCF' sh -c 'sed "/^#CHROM/s/\t/ /g" variants.vcf > blanks.vcf && ! score -o gone blanks.vcf 2> msgs &&
    grep -q "blanks.vcf.: the line #CHROM does not name .*, separated by tabs: #CHROM POS ID REF ALT QUAL FILTER INFO$" msgs'
N variant-long.err  chordseq variant -m "$m" -f variants.fa -w 2k variants.vcf
T 'the index of another output is refused' sh -c '! score -W -o t.vcf.gz --tsv t.vcf.gz.csi variants.vcf 2> msgs &&
    grep -q "two outputs write to .t.vcf.gz.csi" msgs && [ ! -e t.vcf.gz ]'
# The reader of standard output is gone before the last bytes of it are written.
T 'an output whose reader closed it leaves no others, with a message' sh -c 'for o in "--tsv gone" "--summary gone"; do
    rm -f no_reader; { until [ -e no_reader ]; do sleep 0.1; done; score $o variants.vcf 2> msgs; echo $? > status; } | { exec < /dev/null; : > no_reader; }
    [ "$(cat status)" = 1 ] && [ ! -e gone ] && grep -q "closed it; the other outputs are not written" msgs || exit; done'
T 'VCF is not written under the name of a table' sh -c 'for f in x.html x.json x.csv x.tsv.gz x.npz x.bam; do
    score -o $f variants.vcf 2> msgs; [ $? = 2 ] && grep -q "variant: .$f.: " msgs && [ ! -e $f ] || exit; done
    grep -q "not BAM" msgs && score -O v -o x.csv variants.vcf && head -n 1 x.csv | grep -q "^##fileformat=VCF"'
N variant-index.err score -W -o o.vcf variants.vcf
N variant-prefix.err score --prefix 1x variants.vcf
N variant-fasta.err score variants.fa
T 'alignments are refused by their kind' sh -c 'printf "@SQ\tSN:one\tLN:9\n" > a.sam && ! score -o gone a.sam 2> msgs && [ ! -e gone ] && grep -q "a.sam. is SAM, not a VCF or BCF file$" msgs'
T 'a header without a line ##fileformat is refused, of VCF and BCF' sh -c 'sed 1d variants.vcf > none.vcf && ! score -o gone none.vcf 2> msgs &&
    grep -q "none.vcf. is not a VCF or BCF file: its header does not start with ##fileformat=VCF; insert ##fileformat=VCFv4.2 as its first line$" msgs &&
    gzip -c none.vcf > none.vcf.gz && ! score -o gone none.vcf.gz 2> msgs && grep -q "none.vcf.gz.*; insert ##fileformat=VCFv4.2 as" msgs && score --no-version -O u -o u.bcf variants.vcf && score -o gone u.bcf && rm gone &&
    sed "s/##fileformat=VCF/##filexormat=VCF/" u.bcf > none.bcf && ! cmp -s u.bcf none.bcf && ! score -o gone none.bcf 2> msgs &&
    grep -q "none.bcf. is not a VCF or BCF file: its header does not start with ##fileformat=VCF$" msgs && [ ! -e gone ]'
T 'a letter that is no base is refused, of BCF, too' sh -c 'score --no-version -O u -o u.bcf variants.vcf && sed "s/GATTC/GxTTC/" u.bcf > x.bcf &&
    ! cmp -s u.bcf x.bcf && ! score -o gone.vcf x.bcf 2> msgs && grep -q ".x.bcf.: record 6 ([^ ]*) has .xTTC. in column REF" msgs && [ ! -e gone.vcf ]'
T 'records without a header are refused, from a file and a pipe, with where to find it' sh -c 'grep -v "^#" variants.vcf > records.vcf &&
    for f in records.vcf -; do ! score -o gone $f < records.vcf 2> msgs && [ ! -e gone ] &&
        grep -q "is not a VCF or BCF file: its records have no header; put that of the original file before them (bcftools view -h)$" msgs || exit; done
    printf "##gff-version 3\none\t.\tgene\t1\t9\t.\t+\t.\tID=a\n" > a.gff && ! score -o gone a.gff 2> msgs && grep -q "a.gff. is not a VCF or BCF file$" msgs'
N variant-twice.err score --exons a.gtf --exons b.gtf variants.vcf
cp variants.fa odd.fa
# An index with lines without bases, and with more than htslib can count. htslib 1.24 refuses some itself.
for n in '1000\t5\t0\t1' '1000\t5\t-5\t61' '1000\t5\t1099511627776\t1099511627777' '9000000000000000000\t5\t1\t2' \
    '1000\t9223372036854775000\t60\t61' '1000\t-5\t60\t61'; do
    printf "one\t$n\n" > odd.fa.fai
    T "refused: an index with lines of $n" sh -c '! scored_on odd.fa -o gone.vcf variants.vcf 2> msgs &&
        grep -q "odd.fa.fai.*\( line 1.*\|; recreate the index .\)samtools faidx" msgs'
done
T 'a file that is no index is named' sh -c 'cp variants.vcf odd.fa.fai; ! scored_on odd.fa -o gone.vcf variants.vcf 2> msgs &&
    grep -q "cannot use the reference .odd.fa. with its index .odd.fa.fai.; recreate the index" msgs'
# An index of the file as it was before a base was added, a contig renamed, or a line lost.
stale() {
    T "a stale index is named as that: $1" sh -c 'cp variants.fa old.fa && rm -f old.fa.fai && scored_on old.fa -o gone.vcf variants.vcf &&
        rm gone.vcf && sed "$1" variants.fa > old.fa && ! scored_on old.fa -o gone.vcf variants.vcf 2> msgs &&
        grep -q "old.fa.fai. is stale: .* is at another position; recreate it .samtools faidx." msgs &&
        rm old.fa.fai && scored_on old.fa -o gone.vcf variants.vcf && rm gone.vcf' - "$1"
}
stale '$s/$/A/'
stale '1s/one/two/'
stale '$d'
with samtools T 'an index that lacks contigs at the end: a warning' sh -c 'cp variants.fa old.fa && rm -f old.fa.fai && samtools faidx old.fa &&
    chordseq variant -m "$m" -w 128 -f old.fa -o /dev/null variants.vcf 2> msgs && ! grep "lacks the contigs" msgs &&
    printf ">more\nACGT\n" >> old.fa && chordseq variant -m "$m" -w 128 -f old.fa -o /dev/null variants.vcf 2> msgs &&
    grep -q "warning: the index .old.fa.fai. lacks the contigs at the end" msgs'
# htslib's index has the first of them only.
T 'two contigs of one name, at the end or not: a warning' sh -c 'long=$(head -c 1200 /dev/zero | tr "\0" A)
    for more in "$(head -n 1 "$1")" ">more\n$long\n>more x\n$long\n>end"; do
        rm -f two.fa.fai && { cat "$1" && printf "%b\nACGT\n" "$more"; } > two.fa &&
        chordseq variant -m "$m" -w 128 -f two.fa -o /dev/null variants.vcf 2> msgs &&
        n=$(grep ">" two.fa | cut -d " " -f 1 | sort | uniq -d | tr -d ">") && [ $(grep -c "index" msgs) = 1 ] &&
        grep -q "warning: .two.fa. has two contigs named .$n., of which only the first is read; rename one and recreate" msgs || exit; done
    sed p two.fa.fai > two && mv two two.fa.fai && chordseq variant -m "$m" -w 128 -f two.fa -o /dev/null variants.vcf 2> msgs &&
    grep -q "two contigs named" msgs' - variants.fa
with bgzip T 'an outdated index of a compressed file is refused' sh -c 'rm -f old.fa*; bgzip -c variants.fa > old.fa.gz && scored_on old.fa.gz -o gone.vcf variants.vcf &&
    rm gone.vcf && sed 2s/^/ACGT/ variants.fa | bgzip -i -I old.fa.gz.gzi -c > old.fa.gz && ! scored_on old.fa.gz -o gone.vcf variants.vcf 2> msgs &&
    grep -q "old.fa.gz.fai. is stale" msgs'
# htslib aborts where it finds a shorter block than the index of blocks has: in a file that was cut or compressed
# again, or shorter than the index of contigs.
with bgzip T 'a compressed reference without the blocks of its indexes is refused, also for CRAM' sh -c '
    "$builddir/tests/bench/gen_fasta" 300000 3 100000 100000 > blocks.fa && scored_ref() { ! chordseq variant -m "$m" -w 128 -f "$1" -o gone.vcf variants.vcf 2> msgs &&
        grep -q "$2" msgs && [ ! -e gone.vcf ] && { ! command -v samtools > path || { ! chordseq classify -q -m "$m" -T "$1" from.cram 2> msgs && grep -q "$2" msgs; }; }; }
    bgzip -c blocks.fa > blocks.fa.gz && bgzip -r blocks.fa.gz && chordseq variant -m "$m" -w 128 -f blocks.fa.gz -o out.vcf variants.vcf 2> msgs
    grep -q "NO_CONTIG" msgs && ! command -v samtools > path || { name=$(sed -n "s/^>\([^ ]*\).*/\1/p;1q" blocks.fa) &&
        printf "@SQ\tSN:$name\tLN:100000\nr\t0\t$name\t1\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\n" | samtools view -C -T blocks.fa -o from.cram - ; } || exit
    cp blocks.fa.gz whole.gz && head -c 20000 whole.gz > blocks.fa.gz && scored_ref blocks.fa.gz "blocks.fa.gz. does not end where its index .blocks.fa.gz.gzi. says" || exit
    bgzip -l 0 -c blocks.fa > blocks.fa.gz && bgzip -r blocks.fa.gz && cp whole.gz blocks.fa.gz && scored_ref blocks.fa.gz "does not end where its index" || exit
    bgzip -r blocks.fa.gz && { head -c 30 blocks.fa.gz.gzi; printf "\1"; tail -c +32 blocks.fa.gz.gzi; } > bent && mv bent blocks.fa.gz.gzi && scored_ref blocks.fa.gz "where its index" || exit
    head -n 500 blocks.fa | bgzip -c > blocks.fa.gz && bgzip -r blocks.fa.gz && scored_ref blocks.fa.gz "the index .blocks.fa.gz.fai. is stale"'
T 'protein as a reference is named' sh -c 'printf ">one\n%0400d\nQ\n" 0 | tr 0 L > protein.fa && ! chordseq variant -m "$m" -w 128 -f protein.fa -o gone.vcf variants.vcf 2> msgs &&
    grep -q "protein.fa.: byte 0x4c of .one. at [0-9]* is not a nucleotide; is this protein?" msgs'
# A reference in lower case and with ambiguous letters: R matches A and G, N no base.
{ sed '1!y/ACGTN/acgtn/' variants.fa | head -n 4; echo '>odd'; for i in 1 2 3 4; do
    echo ACGTTGCATGACGTTGCATGACGTTGCATGACGTTGCATG; done; echo ACGRTGCANGACGTTGCATGACGTTGCATGACGTTGCATG
    for i in 1 2 3 4; do echo ACGTTGCATGACGTTGCATGACGTTGCATGACGTTGCATG; done; } | grep -v '^$' > iupac.fa
T 'REF matches in any case and by ambiguity codes' sh -c 'o() { printf "odd\t%s\t%s\t%s\t%s\t.\t.\t.\n" "$@"; }
    { grep "^##fileformat" variants.vcf; printf "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"; o 164 a A T; o 164 g g T; o 164 c C T
    o 164 y Y T; o 164 n N T; o 169 n A T; o 162 lower cg c; o 164 del AT A; o 164 ins A AC; } > iupac.vcf
    chordseq variant -q -m "$1" -f iupac.fa -w 128 --tsv t.tsv -o /dev/null iupac.vcf &&
    [ "$(sed 1d t.tsv | cut -f 3,6 | tr "\t\n" "= ")" = "a=. g=. c=REF_MISMATCH:R y=AMBIGUOUS n=AMBIGUOUS n=REF_MISMATCH:N lower=. del=. ins=. " ]' - "$m"
T 'a window of unknown bases has a reason that the header and the manual state' sh -c '
    ! chordseq variant -m "$m" -w 128 --max-unknown 0 -f iupac.fa --tsv t.tsv -o o.vcf iupac.vcf 2> msgs && grep -q "	MOSTLY_UNKNOWN	" t.tsv &&
    grep -q "ID=CS_SKIP,.*MOSTLY_UNKNOWN" o.vcf && grep -q MOSTLY_UNKNOWN "$srcdir/man/chordseq-variant.1"'
T 'messages, summary and page name that reason as the field does' sh -c 'grep -q "^chordseq: scored 0 of .* MOSTLY_UNKNOWN" msgs && grep -q "error: .* MOSTLY_UNKNOWN (" msgs &&
    ! chordseq variant -f iupac.fa --max-unknown 0 --ends fill --summary o.json --html o.html -o o.vcf iupac.vcf 2> msgs &&
    n=$(grep -c "CS_SKIP=MOSTLY_UNKNOWN" o.vcf) && [ "$n" -gt 0 ] && grep -q "\"MOSTLY_UNKNOWN\": $n" o.json && grep -q "<td>MOSTLY_UNKNOWN</td>" o.html &&
    ! grep mostly_unknown o.json o.html'
# Both windows reach 64 bases to either side of the longer allele: inside the contig by one base, and outside.
T 'insertions and deletions at the ends of the contig' sh -c 'o() { printf "odd\t%s\t%s\t%s\t%s\t.\t.\t.\n" "$@"; }
    { grep "^##fileformat" variants.vcf; printf "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    o 62 del0 CG C; o 63 del1 GT G; o 62 ins0 C CA; o 63 ins1 G GA; o 293 del2 GTT G; o 294 del3 TTG T
    o 295 ins2 T TA; o 296 ins3 G GA; o 1 first ACGT A; o 358 last ATG A; } > ends.vcf
    for e in skip fill; do chordseq variant -q -m "$1" -f iupac.fa -w 128 --ends $e --max-unknown 0.8 --tsv $e.tsv -o /dev/null ends.vcf || exit; done
    [ "$(sed 1d skip.tsv | cut -f 3,6 | tr "\t\n" "= ")" = "del0=NEAR_END del1=. ins0=NEAR_END ins1=. del2=. del3=NEAR_END ins2=. \
ins3=NEAR_END first=NEAR_END last=NEAR_END " ] && [ "$(sed 1d fill.tsv | cut -f 6 | sort | uniq -c | tr -d "\n ")" = "10." ] &&
    awk -F "\t" "FNR > 1 { if (NR == FNR) { why[\$3] = \$6; v[\$3] = \$8 } else if (why[\$3] == \".\") { n++; bad += v[\$3] != \$8 } }
        END { exit n < 4 || bad }" skip.tsv fill.tsv' - "$m"

# Broken records are reported by number and reason.
broken() { sed "$1" variants.vcf > broken.vcf; N "$2" score -o gone.vcf broken.vcf; }
broken '13s/	50	/	fifty	/' variant-qual.err
broken '14s/	310	/	x	/' variant-pos.err
broken '15s/	GT.*//' variant-columns.err
broken '16s/0\/1/0\/1:3/' variant-sample.err
broken '/^#CHROM/s,	both,,' variant-header.err
broken '/^#CHROM/d' variant-chrom.err
# refused FILE WORDS: fails with WORDS in the message
refused() { T "refused: $1" sh -c '! score -o gone.vcf "$1" 2> msgs && grep -q "$1.*$2" msgs' - "$@"; }
{ sed 1q variants.vcf; printf '##a=b\0c\n'; sed 1d variants.vcf; } > nul.vcf
refused nul.vcf 'line 2 has a NUL byte'
{ grep '^#' variants.vcf | sed 's/	FORMAT.*//'; printf 'one\t300\t.\tT\tA\t.\t.\tDP=1\0;DB=2\n'; } > info.vcf
refused info.vcf 'record 1 (.*) has a NUL byte'
for q in 0x1F -0X1p4 'nan(1)'; do
    sed "13s/	50	/	$q	/" variants.vcf > qual.vcf
    refused qual.vcf "record 2 (.*) has '$q' in column QUAL"
done
T 'QUAL is any decimal number, also without a finite value' sh -c 'for q in 5e1 +.5 -0 nan INF -infinity 1e999; do
    sed "13s/	50	/	$q	/" variants.vcf > qual.vcf && ! cmp -s qual.vcf variants.vcf && score -o qual.out qual.vcf || exit; done'
T 'empty lines may end a file, but not come before a record' sh -c '{ cat variants.vcf; printf "\n\r\n"; } > blank.vcf &&
    score --no-version variants.vcf > a && score --no-version blank.vcf | cmp a - && sed "14s/^/\n/" variants.vcf > blank.vcf &&
    ! score -o gone.vcf blank.vcf 2> msgs && grep -q "blank.vcf.: record [0-9]* follows an empty line; remove that$" msgs'
for o in z b; do
    score -O $o -o whole variants.vcf && head -c $(($(wc -c < whole) - 28)) whole > cut.$o
    refused cut.$o 'end marker is missing after record 18; .* truncated'
done
head -c $(($(wc -c < variants.vcf) - 60)) variants.vcf > cut.vcf
refused cut.vcf 'record 17 .*it is the last one: is the file truncated?'
{ cat cut.vcf; grep -v '^#' variants.vcf; } > bent.vcf
T 'a last line without its end: a warning, of a file but not of a pipe' sh -c 'head -c -1 variants.vcf > ended.vcf; one="chordseq variant -m $m -w 128 -f variants.fa -o /dev/null"
    for q in "ended.vcf" "- < ended.vcf"; do eval "$one $q" 2> msgs; grep -q "warning: .*: record 18, the last one, has no line end: is the file truncated" msgs || exit; done
    cat ended.vcf | $one - 2> msgs && $one variants.vcf 2>> msgs && ! grep truncated msgs'
T 'a damaged record before the last one is not called truncated' sh -c '! score -o gone.vcf bent.vcf 2> msgs && ! grep -q truncated msgs'
{ grep '^#' variants.vcf | sed 's/	FORMAT.*//'; printf 'one\t3000000000\t.\tA\tC\t.\t.\t.\n'; } > far.vcf
# A contig of 5 G bases on two lines as a sparse file with data at its end only.
printf '>giant\n' > giant.fa
printf 'giant\t5000000000\t7\t2500000000\t2500000001\n' > giant.fa.fai
if dd if=/dev/null of=giant.fa bs=1 seek=4999930008 2> /dev/null; then
    yes ACGTTGCATG | head -n 7000 | tr -d '\n' >> giant.fa
    T 'on a contig of 5 gigabases' sh -c 'base=$(tail -c 250 giant.fa | head -c 1)
        { grep "^#" variants.vcf | sed "s/	FORMAT.*//"
        printf "giant\t4999999751\t.\t%s\t%sA,%sC\t.\t.\t.\n" $base $base $base; } > giant.vcf
        chordseq variant -q -m "$1" -f giant.fa -w 128 --tsv g.tsv -o /dev/null giant.vcf &&
        [ "$(grep -c "	[.]	0	0" g.tsv)" = 2 ]' - "$m"
else
    S 'on a contig of 5 gigabases' 'no sparse files'
fi
rm -f giant.fa
T 'positions of more than 32 bits are for text only' sh -c '! score -o o.vcf far.vcf && grep -q "	3000000000	" o.vcf &&
    ! score -o gone.bcf far.vcf 2> msgs && grep -q "far.vcf.*record 1.*32 bits.*-O v" msgs'
T 'no output remains' sh -c '! ls gone.* 2> /dev/null'

bcf() { with bcftools T "$@"; }
bcf 'BCF and compressed VCF hold the same' sh -c 'score -o a.vcf variants.vcf; bcftools view -H a.vcf > want
    for o in z b u; do score -O $o -o a.$o variants.vcf && bcftools view -H a.$o | cmp want - || exit; done
    score a.b | bcftools view -H | cmp want -'
bcf 'split before or after: the same scores' sh -c 'for f in a variants; do
    bcftools norm -m -any $f.vcf -o $f.split.vcf 2> /dev/null; done
    score -o b.vcf variants.split.vcf
    q="%CHROM %POS %ID %ALT %CS_L2 %CS_COS\n"
    bcftools query -f "$q" a.split.vcf > want && bcftools query -f "$q" b.vcf | cmp want -'
bcf 'an index: CSI, as in bcftools, or TBI on request' sh -c 'score -W -o a.vcf.gz variants.vcf &&
    score -W -o a.bcf variants.vcf && score --write-index=tbi -o c.vcf.gz variants.vcf && [ -f a.vcf.gz.csi ] &&
    [ -f a.bcf.csi ] && [ -f c.vcf.gz.tbi ] && [ ! -e a.vcf.gz.tbi ] && [ ! -e c.vcf.gz.csi ] &&
    ! score -W=tbi -o gone.bcf variants.vcf 2> msgs && grep -q "write-index=tbi is for compressed VCF" msgs &&
    for f in a.vcf.gz a.bcf c.vcf.gz; do [ "$(bcftools view -H $f one:300-330 | wc -l)" = 4 ] || exit; done'
T 'an index of an earlier output of this name is reported' sh -c 'score -W -o left.vcf.gz variants.vcf &&
    score -W -o left.vcf.gz variants.vcf 2> msgs && ! grep -q "index .left" msgs && for o in -W=tbi -Oz; do
    score $o -o left.vcf.gz variants.vcf 2> msgs && grep -q "the index .left.vcf.gz.csi. is of an earlier .left.vcf.gz." msgs || exit; done'
T 'an index needs a file' sh -c 'for o in -W -W=tbi; do
    score $o -O z -o - variants.vcf > got 2> msgs; [ $? = 2 ] && grep -q "needs a regular file" msgs && [ ! -s got ] || exit; done'
bcf 'regions: each record once, as bcftools has them' sh -c '
    for f in a.vcf.gz a.bcf; do score --no-version -r one:300-330 -r ring -r one:320-400 $f | grep -v "^#" | sort > got
        bcftools view -H -r one:300-330,ring,one:320-400 $f | sort | cmp - got && [ "$(wc -l < got)" -gt 4 ] || exit; done'
bcf 'regions without an end have the records behind the end of the contig, too' sh -c '
    { cat variants.vcf; printf "one\t99999\tbehind\tA\tC\t.\t.\t.\tGT\t0/1\n"; } | bcftools sort -O z -o behind.vcf.gz && bcftools index behind.vcf.gz || exit
    for r in one one:1 one:1- one:1-999999; do score -r $r behind.vcf.gz > ends 2> msgs && grep -v "^#" ends | cut -f 3 | grep -qx behind &&
    [ "$(grep -vc "^#" ends)" = "$(bcftools view -H -r one behind.vcf.gz | wc -l)" ] || exit; done
    score -r one:1-99998 behind.vcf.gz > ends && ! cut -f 3 ends | grep -x behind'
# regions WANT REGION...: the records of pos0.vcf.gz and pos0.bcf in them
cat > regions <<'END'
#!/bin/sh
want=$1; shift
for f in pos0.vcf.gz pos0.bcf; do
    score "$@" $f > pos0.out && [ "$(grep -v "^#" pos0.out | cut -f 3 | tr "\n" " ")" = "$want " ] || exit
done
END
chmod +x regions
bcf 'regions from base 1 on have a breakend at POS 0, once, in VCF and BCF' sh -c '
    { grep "^##" variants.vcf; printf "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\none\t0\tend\tN\tN[one:700[\t.\t.\t.\none\t3\tsnv\tA\tC\t.\t.\t.\n"; } > pos0.vcf
    bcftools view -Oz -o pos0.vcf.gz pos0.vcf && bcftools view -Ob -o pos0.bcf pos0.vcf && bcftools index pos0.vcf.gz && bcftools index pos0.bcf &&
    regions "end snv" -r one && regions end -r one:1-2 && regions snv -r one:2-9 && regions "end snv" -r one:1-5 -r one:1-3 &&
    regions "end snv" -r one:2-9 -r one:1-1'
bcf 'regions of a BED file, after those of -r' sh -c 'printf "one\t299\t330\nring\t0\t300\n" > v.bed
    score --no-version -r one:320-400 -R v.bed a.bcf | grep -v "^#" | sort | cmp - got'
bcf 'a region whose records have no score is no failure' sh -c '
    chordseq variant -m "$m" -f variants.fa -w 128 -r one:455-475 -o part a.vcf.gz 2> msgs && grep -q "scored 0 of 2 alternative alleles in 2 records, 2 SYMBOLIC" msgs &&
    printf "one\t454\t475\n" > symbols.bed && score -R symbols.bed -o part a.bcf && grep -v "^#" part | grep -c CS_SKIP=SYMBOLIC | grep -qx 2 &&
    bcftools view -r one:455-475 a.vcf.gz > part.vcf && ! score -o part part.vcf'
bcf 'regions in any order give records in the order of the file, which can be indexed' sh -c 'printf "ring\t0\t300\none\t599\t610\none\t299\t330\n" > v.bed
    for f in a.vcf.gz a.bcf; do bcftools view -H $f | awk "\$1 == \"ring\" || \$2 == 20 || \$2 >= 300 && \$2 <= 330 || \$2 >= 600" | grep -v nowhere | cut -f 1-5 > want
        score -r one:310-320 -r one:1-50 -R v.bed -W -o order.vcf.gz $f && [ -s order.vcf.gz.csi ] && [ "$(wc -l < want)" -gt 7 ] &&
        bcftools view -H order.vcf.gz | cut -f 1-5 | cmp - want || exit; done'
: > none.bed
N variant-region-none.err score -R none.bed a.vcf.gz
bcf 'levels of compression' sh -c 'bcftools view -H a.vcf > want
    for o in z b; do score -O ${o}0 -o 0.$o variants.vcf && score -O ${o}9 -o 9.$o variants.vcf &&
    bcftools view -H 9.$o | cmp - want && [ $(wc -c < 0.$o) -gt $(wc -c < 9.$o) ] || exit; done'
N variant-type.err score -O v1 variants.vcf
N variant-level.err score -O z10 variants.vcf
N variant-region.err score -r nine:1-10 a.vcf.gz
T 'a list of regions with commas is refused with the remedy' sh -c 'for r in one:1-10,one:20-30 one,one; do
    ! chordseq variant -q -m "$1" -f variants.fa -r $r a.vcf.gz 2> msgs && grep -q "; give several regions one by one, not as a list with commas\$" msgs || exit; done' - "$m"
N variant-region-index.err score -r one:1-10 variants.vcf
bcf 'a given index' sh -c 'mkdir -p given && cp a.vcf.gz a.bcf given && bcftools index -t -o a.tbi a.vcf.gz && bcftools index -o a.csi a.bcf &&
    score -r one:1-10 a.vcf.gz > want && grep -v "^##" want | tail -n +2 | grep . && for f in a.vcf.gz##idx##a.tbi a.bcf##idx##a.csi; do
    score -r one:1-10 given/$f > got && cmp want got || exit; done; ! score -r one:1-10 given/a.vcf.gz##idx##variants.vcf > got 2> msgs &&
    grep -q "cannot read .variants.vcf. as the index of .given/a.vcf.gz." msgs && rm -r given'
bcf 'an index older than its file is reported' sh -c 'mkdir given && for f in a.vcf.gz a.bcf; do cp $f $f.csi given && touch -d "2 hours ago" given/$f.csi &&
    score -r one:1-10 given/$f > got 2> msgs && grep -q "the index .given/$f.csi. is older than .given/$f.; if the file has changed" msgs &&
    score -r one:1-10 $f > got 2> msgs && ! grep older msgs && mv given/$f.csi old && score -r one:1-10 given/$f##idx##old > got 2> msgs &&
    grep -q "the index .old. is older than .given/$f." msgs || exit; done; rm -r given old'
bcf 'random regions of many blocks, sorted or not' sh -c 'awk "BEGIN { OFS = \"\t\"
        print \"##fileformat=VCFv4.2\n##contig=<ID=one>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\"; for (i = 0; i < 9000; i++)
        print \"one\", 1 + int(i / 15), \"id\" i, \"N\", \"A\", \".\", \".\", \".\" }" > many.vcf
    bcftools view -Oz -o many.vcf.gz many.vcf && bcftools view -Ob -o many.bcf many.vcf && bcftools index many.bcf && bcftools index -t many.vcf.gz
    awk "BEGIN { srand(9); for (i = 0; i < 40; i++) { p = int(590 * rand()); print \"one\t\" p \"\t\" p + 1 + int(5 * rand()) } }" > random.bed
    sort -k 2,2n random.bed > sorted.bed && awk "FNR == NR { for (p = \$2 + 1; p <= \$3; p++) in_bed[p] = 1; next } in_bed[\$2] { print \$3 }" \
        random.bed many.vcf | sort > want && [ $(wc -l < want) -gt 900 ] && for f in many.vcf.gz many.bcf; do for b in random sorted; do
    score -R $b.bed $f | grep -v "^#" | cut -f 3 | sort | cmp - want || exit; done; done'
bcf 'an index beside a file without blocks is not its own' sh -c 'bcftools index -t -o a.tbi a.vcf.gz
    cp a.tbi plain.vcf.tbi && cp a.tbi zip.vcf.gz.tbi && cp variants.vcf plain.vcf && gzip -c variants.vcf > zip.vcf.gz
    for f in plain.vcf zip.vcf.gz; do score -r one:1-10 $f > out 2> msgs
        [ $? = 1 ] && grep -q "$f. has no index" msgs || exit; done'
bcf 'TBI is refused for a contig longer than it reaches' sh -c 'sed "s/ID=one,length=[0-9]*/ID=one,length=600000000/" variants.vcf > huge.vcf
    grep -q 600000000 huge.vcf && score -W -o huge.vcf.gz huge.vcf && [ -f huge.vcf.gz.csi ] &&
    ! score -W=tbi -o gone.vcf.gz huge.vcf 2> msgs && grep -q "write-index=csi" msgs && [ ! -e gone.vcf.gz ]'
T 'an output that cannot be indexed is not written, and is refused at the first record out of order' sh -c '
    { grep "^#" variants.vcf; grep -v "^#" variants.vcf | sort -k 2,2nr; } > back.vcf
    for o in vcf.gz bcf; do ! score -W --tsv back.tsv -o back.$o back.vcf 2> msgs &&
    grep -q "back.vcf.: record [0-9]* (.*:[0-9]*) is out of order" msgs && [ "$(echo back.*)" = back.vcf ] || exit; done
    { grep "^#" variants.vcf; for c in one two one; do grep "^one" variants.vcf | head -n 1 | sed "s/^one/$c/"; done; } > apart.vcf
    ! score -W -o apart.vcf.gz apart.vcf 2> msgs && grep -q "apart.vcf.: record 3 (one:[0-9]*) is out of order" msgs && [ ! -e apart.vcf.gz ]'

# A model trained on variants: the label says whether the base becomes a G.
awk 'BEGIN {
    srand(3); for (c = 1; c <= 4; c++) { s = ""; for (i = 0; i < 2000; i++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
        printf ">c%d\n%s\n", c, s > "train.fa"
        for (p = 100; p < 1900; p += 30) { r = substr(s, p, 1); do a = substr("ACGT", 1 + int(4 * rand()), 1)
            while (a == r); y = a == "G"; t = p % 20 ? "T" : "S"
            printf "c%d\t%d\t%s\t%s\t%s\t%d\n", c, p, r, a, t, y > "rows"
            printf "c%d\t%d\t.\t%s\t%s\t.\t.\t%s=%d\n", c, p, r, a, t, y > "body" } } }'
{ printf 'chrom\tpos\tref\talt\ttissue\tlabel\n'; cat rows; } > train.tsv
{ printf '##fileformat=VCFv4.2\n'; for k in S T; do
    printf '##INFO=<ID=%s,Number=A,Type=Integer,Description="label">\n' $k; done
    for c in 1 2 3 4; do printf '##contig=<ID=c%d,length=2000>\n' $c; done
    printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'; cat body; } > train.vcf
printf 'c1\tskip\nc2\tvalid\nc3\ttrain\nc4\ttrain\n' > split
train_on() {
    T "train on $1" chordseq train -q --head variant --reference train.fa --tokenizer base --encoder.max-len 32 \
        --encoder.track 4 --encoder.hidden 8 --window-length 16 --split split --epochs 12 --step-records 8 \
        --lr 0.02 --metrics "$1.metrics" -o "$1.model" $2 -i "$1"
}
train_on train.tsv
train_on train.vcf '--label-key S,T --class-weights none'
T 'the split of contigs is written, and read' sh -c '"$@" --split split --split-out a.split -o a.model && sort split > b && sort a.split | cmp - b &&
    { cat train.tsv; printf "none\\t97\\tA\\tG\\tS\\t1\\n"; } > none.tsv && "$@" --split split -o a.model -i none.tsv' - \
    chordseq train -q --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 \
    --encoder.hidden 8 --window-length 16 --epochs 1 -i train.tsv
T 'one . for all alleles: no label' sh -c '{ cat train.vcf; printf "c4\t99\t.\tA\tC,G\t.\t.\tS=.\n"; } > dot.vcf
    chordseq train -q --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 \
        --encoder.hidden 8 --window-length 16 --epochs 1 --label-key S -o x.model -i dot.vcf'
T 'rows of one variant with both labels are left out' sh -c '{ cat train.tsv; for y in 1 0 1; do printf "c4\t97\tN\tA\tS\t$y\n"
        printf "c4\t97\tN\tA\tT\t1\n"; done; } > both.tsv
    chordseq train --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 \
        --encoder.hidden 8 --window-length 16 --epochs 1 -o x.model -i both.tsv 2> msgs && grep -q "warning: 3 rows with both label" msgs'
T 'rows with fewer or more columns than the first line' sh -c '
    for row in "c4\t9\tN\tA\tS" "c4\t9\tN\tA\tS\t1\t0"; do
        { cat train.tsv; printf "$row\n"; } > odd.tsv && ! chordseq train -q --head variant --reference train.fa --tokenizer base \
            --encoder.max-len 32 --encoder.track 4 --encoder.hidden 8 --window-length 16 -o x.model -i odd.tsv 2> msgs || exit
        grep "odd.tsv. line [0-9]*: \(fewer columns than the first line has$\|more .* has; name every column there\)" msgs || exit
    done'
T 'a table and a VCF give the same training' sh -c 'cut -f 4-9 train.tsv.metrics > a; cut -f 4-9 train.vcf.metrics | cmp a -'
T 'training separates the labels' awk -F '\t' 'NR > 1 && $7 > best { best = $7 } END { exit best < 0.9 }' train.tsv.metrics
# Tissue 31 comes first and always has label 1, 16 always 0.
T 'labels that are numbers are sorted with their targets' sh -c '
    awk "BEGIN { FS = OFS = \"\t\" } NR > 1 { \$6 = \$5 == \"S\"; \$5 = \$6 ? 31 : 16 } { print }" train.tsv > numbers.tsv &&
    chordseq train -q --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 --encoder.hidden 8 \
        --window-length 16 --split split --epochs 4 --step-records 8 --lr 0.02 -o numbers.model -i numbers.tsv &&
    grep "^#\|^c2" train.vcf > c2.vcf && chordseq variant -q -m numbers.model -f train.fa --tsv n.tsv -o /dev/null c2.vcf &&
    awk -F "\t" "NR == 1 { for (i = 8; i <= NF; i++) col[\$i] = i; next } { n++; bad += \$col[\"CS_31\"] <= \$col[\"CS_16\"] }
        END { exit n < 50 || 10 * bad > n }" n.tsv'
T 'the loss of validation is the cross-entropy of known labels' sh -c 'grep "^#\|^c2" train.vcf > c2.vcf
    chordseq variant -q -m train.tsv.model -f train.fa --tsv c2.tsv -o /dev/null c2.vcf &&
    awk -F "\t" "FILENAME == \"train.tsv.metrics\" { if (FNR > 1 && (best == \"\" || \$6 < best)) best = \$6; next }
        FILENAME == \"rows\" { y[\$1, \$2] = \$6; at[\$1, \$2] = \$5; next }
        FNR == 1 { for (i = 1; i <= NF; i++) col[\$i] = i; next }
        { p = \$col[\"CS_\" at[\$1, \$2]]; n++; loss -= log(y[\$1, \$2] ? p : 1 - p) }
        END { d = loss / n - best; exit n < 50 || d * d > 1e-8 }" train.tsv.metrics rows c2.tsv'
T 'scores on a held-out contig' sh -c 'grep "^#\|^c1" train.vcf > c1.vcf
    chordseq variant -q -m train.tsv.model -f train.fa --tsv c1.tsv -o c1.out.vcf c1.vcf &&
    grep -q "ID=CS_T,Number=A,Type=Float" c1.out.vcf &&
    awk -F "\t" "NR > 1 { n++; right += (\$8 > 0.5) == (\$5 == \"G\") } END { exit right < 0.9 * n }" c1.tsv'
T 'not by threads or batches, and alone as beside others' sh -c 'for o in "-@ 1" "-@ 3 -B 50"; do
    chordseq variant -q $o -m train.tsv.model -f train.fa --tsv t.tsv -o /dev/null c1.vcf && cmp t.tsv c1.tsv || exit; done
    grep "^#\|	1000	" c1.vcf | chordseq variant -q -m train.tsv.model -f train.fa --tsv t.tsv -o /dev/null - &&
    tail -n 1 t.tsv | grep -qxFf - c1.tsv'
T 'both strands: the prediction does not depend on which comes first' sh -c '
    chordseq variant -q --strand both -m train.tsv.model -f train.fa --tsv b.tsv -o /dev/null c1.vcf && ! cmp -s b.tsv c1.tsv'
T 'fields: only these, also where an earlier run has left more' sh -c 'chordseq variant -q -m train.tsv.model -f train.fa -o all.vcf c1.vcf &&
    printf "c1\t1\t.\tA\tC\t.\t.\t.\n" >> c1.vcf
    for in in c1.vcf all.vcf; do chordseq variant -q --fields CS_T -m train.tsv.model -f train.fa -o few.vcf $in || exit
    grep -q "ID=CS_S," few.vcf && [ "$(grep -v "^#" few.vcf | cut -f 8 | tr ";" "\n" | grep -o "^CS_[A-Z]*" | sort -u)" = CS_T ] || exit; done
    chordseq variant -q --fields CS_SKIP -m train.tsv.model -f train.fa -o few.vcf c1.vcf &&
    grep -v "^#" few.vcf | grep -c CS_ | grep -qx 1; sed -i \$d c1.vcf'
N variant-fields.err chordseq variant --fields CS_T,X -m train.tsv.model -f train.fa c1.vcf
T 'summary: counts as the table has them' sh -c '{ cat c1.vcf; printf "c1\t1\t.\tA\tC\t.\t.\t.\n"; } > more.vcf
    chordseq variant -m train.tsv.model -f train.fa --tsv m.tsv --summary m.json -o /dev/null more.vcf 2> msgs &&
    awk -F "\t" "NR == 1 { for (i = 8; i <= NF; i++) k[i] = \$i; n = NF; next } { all++; most = -1 }
        \$6 == \".\" { ok++; for (i = 8; i <= n; i++) { v = \$i + 0; if (v > most) most = v; h[k[i]] += v > 0.5; e[k[i]] += v > 0.8 } a += most > 0.5; b += most > 0.8 }
        END { print all, ok; for (x in h) print x, h[x], e[x]; print a, b }" m.tsv | sort > want &&
    { sed -n "s/.*scored \([0-9]*\) of \([0-9]*\) .*; \([0-9]*\) above 0.5, \([0-9]*\) above 0.8.*/\2 \1\n\3 \4/p" msgs; for x in CS_S CS_T; do
    sed -n "/\"$x\"/,/}/s/.*above_0.[58]\": \([0-9]*\).*/\1/p" m.json | tr "\n" " " | sed "s/^/$x /; s/ $/\n/"; done; } | sort | cmp - want &&
    grep -q "\"REF_MISMATCH\": 1" m.json && grep -q "\"command\": \"variant\"" m.json &&
    [ "$(sed -n "/\"CS_T\"/,/]/p" m.json | sed -n "/histogram/,/]/s/[^0-9]//gp" | grep -c .)" = 20 ]'
# The label depends on the new base: plots show contributions of its neighbours, not of the base itself.
T 'a page: distribution, top variants, contributions of bases' sh -c 'for o in "-@ 1" "-@ 2 -B 200"; do
    chordseq variant -q $o -m train.tsv.model -f train.fa --html page.html -o /dev/null more.vcf && sed "/<pre>/,/<.pre>/d" page.html > b.html || exit
    [ ! -e a.html ] || cmp a.html b.html || exit; cp b.html a.html; done
    [ "$(grep -c "class=\"logo\"" page.html)" = 10 ] && [ "$(grep -c "<tr><td>c1</td>" page.html)" = 20 ] && grep -q REF_MISMATCH page.html &&
    awk -F "\t" "\$5 != \"G\"" c1.vcf > low.vcf && chordseq variant -q -m train.tsv.model -f train.fa --html page.html -o /dev/null low.vcf'
cat > contributions.py <<'END'
import math, re, subprocess, sys
options = sys.argv[1]
page = open("page.html").read()
row = re.search(r"<tr><td>c1</td><td class=.n.>(\d+)</td><td>.</td><td>(.)</td><td>(.)</td><td>CS_(.)</td>", page).groups()
pos, ref, alt, label = int(row[0]), *row[1:]
seq = "".join(l.strip() for l in re.search(r">c1\n([^>]*)", open("train.fa").read()).group(1).split())
def score(s):
    open("mut.fa", "w").write(">c1\n" + s + "\n"); open("mut.vcf", "w").write("##fileformat=VCFv4.2\n##contig=<ID=c1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        f"c1\t{pos}\t.\t{ref}\t{alt}\t.\t.\t.\n")
    subprocess.run(f"rm -f mut.fa.fai; chordseq variant -q {options} -f mut.fa --tsv mut.tsv -o /dev/null mut.vcf", shell=True, check=True)
    names, values = (l.split() for l in open("mut.tsv"))
    p = float(values[names.index("CS_" + label)]); return math.log(p / (1 - p))
at = pos - 3
here = score(seq)
want = here - sum(score(seq[:at] + b + seq[at + 1:]) for b in "ACGT" if b != seq[at]) / 3
logo = re.search(r"class=.logo.*?</svg>", page, re.S).group(0)
most = float(re.search(r"<text x=.4. y=.38.>([0-9.e+-]+)<", logo).group(1))
got = {int(m[2]): float(m[1]) * 7.2 / 80 * (1 if float(m[3]) == 110 else -1) * most
       for m in re.finditer(r"matrix\(1.2 0 0 ([0-9.]+) (\d+) ([0-9.]+)\)", logo)}
value = got.get(60 + 10 * (25 - 2), 0.0)
assert abs(value - want) < 0.02 * most, (value, want, most)
END
with python3 T 'contributions equal differences of logits of mutants' python3 contributions.py '-m train.tsv.model'
T 'a report with the name of another format is refused' sh -c 'for o in --html:json --summary:html --tsv:html; do
    ! chordseq variant -q -m train.tsv.model -f train.fa ${o%:*} n.${o#*:} -o n.vcf c1.vcf 2> msgs && grep -q "n.${o#*:}.: this output is not " msgs &&
    [ ! -e n.vcf ] || exit; done'
N variant-html.err chordseq variant --html x.html --score embedding -m "$m" -f variants.fa variants.vcf
# Two genes in one sequence and its reverse complement: a label's strand selects the strand of windows.
T 'strand max: the larger of both strands, and exons choose one' sh -c '
    for s in forward both max; do chordseq variant -q --strand $s -m train.tsv.model -f train.fa --tsv $s.tsv -o /dev/null c1.vcf || exit; done
    printf "c1\t0\t2000\te\t0\t+\n" > plus.bed; sed "s/+/-/" plus.bed > minus.bed; cat plus.bed minus.bed > either.bed
    printf "c1\tx\texon\t1\t2000\t.\t-\t.\tgene_id \"g\"\nc1\tx\tgene\t1\t2000\t.\t+\t.\tg\n" > minus.gtf
    printf "c2\t0\t2000\te\t0\t+\n" > far.bed
    printf "c1\t0\t2000\t1\t900\t-\t0\t2000\t0\nc1\t1990\t1995\tb\t0\t.\t0\t0\t0\n" > numbers.bed
    { cat minus.gtf; printf "##FASTA\n>c1\nACGT\n"; } > minus.gff3; grep -v "##" minus.gff3 > artemis.gff3
    for f in plus.bed minus.bed minus.gtf either.bed far.bed numbers.bed minus.gff3 artemis.gff3; do
        chordseq variant -q --strand max --exons $f -m train.tsv.model -f train.fa --tsv $f.tsv -o /dev/null c1.vcf || exit; done
    cmp plus.bed.tsv forward.tsv && for f in minus.gtf numbers.bed minus.gff3 artemis.gff3; do cmp minus.bed.tsv $f.tsv || exit; done && cmp either.bed.tsv max.tsv && cmp far.bed.tsv max.tsv &&
    ! cmp -s minus.bed.tsv plus.bed.tsv && paste plus.bed.tsv minus.bed.tsv max.tsv | awk -F "\t" "NR > 1 && \$8 > 0 {
        n++; half = NF / 3; a = \$8; b = \$(8 + half); m = \$(8 + 2 * half); bad += m != (a > b ? a : b) } END { exit n < 50 || bad }"'
# Logits of all labels, weighted by the softmax over the strands of the last label's.
T 'strand weighted: the last label weights the strands' sh -c '
    chordseq variant -q --strand weighted -m train.tsv.model -f train.fa --tsv weighted.tsv -o /dev/null c1.vcf &&
    chordseq variant -q --strand weighted --exons minus.bed -m train.tsv.model -f train.fa --tsv one.tsv -o /dev/null c1.vcf && cmp one.tsv minus.bed.tsv &&
    paste plus.bed.tsv minus.bed.tsv weighted.tsv | awk -F "\t" "function l(p) { return log(p / (1 - p)) }
        NR > 1 && \$8 > 0 { h = NF / 3; sure = 0; for (k = 8; k <= NF; k++) if ((k - 1) % h > 6) sure += \$k < 0.001 || \$k > 0.999
            if (!sure) { w = 1 / (1 + exp(l(\$(2 * h)) - l(\$h))); for (k = 8; k <= h; k++) {
                n++; d = l(\$(2 * h + k)) - w * l(\$k) - (1 - w) * l(\$(h + k)); bad += d * d > 1e-4 } } } END { print n, bad; exit n < 10 || bad }"'
N variant-weighted.err chordseq variant --strand weighted -m "$m" --score embedding -f train.fa c1.vcf
# Windows of 16 bases: the exon, 95 to 1000, is near variants up to there.
for c in 1 2 3 4; do printf "c$c\t95\t1000\tx\t0\t+\n"; done > some.bed
cased="--tokenizer base --tokenizer.case --encoder.max-len 32 --encoder.track 4 --encoder.hidden 8 --window-length 16 --split split --epochs 3 --seed 1"
T 'train on marked exons' sh -c '
    chordseq train --head variant --reference train.fa $1 --exons some.bed -o cased.model -i train.tsv 2> msgs && grep -q "left out: NO_EXON" msgs &&
    chordseq model show cased.model | grep -q "^tokenizer.case	1$"' - "$cased"
T 'variants without an exon have no score, and the exon decides it' sh -c '
    chordseq variant -q --exons some.bed -m cased.model -f train.fa --tsv cased.tsv -o /dev/null c1.vcf &&
    awk -F "\t" "NR > 1 { near = \$2 < 1009; n[near]++; bad += near ? \$6 != \".\" || \$8 !~ /^[01]/ : \$6 != \"NO_EXON\" || \$8 ~ /^[01]/ }
        END { print bad, n[0], n[1]; exit bad || !n[0] || !n[1] }" cased.tsv &&
    sed "s/95/101/" some.bed > shorter.bed && chordseq variant -q --exons shorter.bed -m cased.model -f train.fa --tsv shorter.tsv -o /dev/null c1.vcf &&
    paste cased.tsv shorter.tsv | awk -F "\t" "NR > 1 && \$2 < 1009 { same = \$8 == \$(8 + NF / 2); bad += same == (\$2 < 110) } END { exit bad }"'
# A circular contig that begins K bases later, and its exon, which GFF3 lets end beyond it.
cat > turn.awk <<'END'
function turned(at) { return (at - K + 2000) % 2000 }
FILENAME == "train.fa" { if (FNR == 2) print ">c1\n" substr($0, K + 1) substr($0, 1, K) > "circle.fa"; next }
/^#/ { print > "circle.vcf"; next }
{ $2 = turned($2 - 1) + 1; print > "circle.vcf" }
END { printf "c1\t%d\t%d\tx\t0\t+\n", turned(95), turned(95) + 905 > "circle.bed" }
END
T 'where a circular contig begins does not change scores near its exons' sh -c '
    run() { chordseq variant "$@" --exons circle.bed -m cased.model -f circle.fa --tsv circle.tsv -o /dev/null circle.vcf 2> msgs; }
    for K in 0 3 90 100 101 131 990 1000 1003 96; do
        rm -f circle.*; awk -v K=$K -F "\t" -v OFS="\t" -f turn.awk train.fa c1.vcf && run --circular c1 && ! grep "beyond the end" msgs || exit
        cut -f 4- circle.tsv > turned.$K; cmp turned.0 turned.$K || exit; done
    [ "$(grep -c NO_EXON turned.0)" -gt 9 ] && [ "$(grep -vc NO_EXON turned.0)" -gt 9 ] && run && grep "beyond the end" msgs'
T 'a GFF3 file states circular contigs, by a feature of all their bases' sh -c '
    run() { chordseq variant "$@" -m cased.model -f circle.fa --tsv circle.tsv -o circle.out.vcf circle.vcf 2> msgs && cut -f 4- circle.tsv > got; }
    awk -v K=990 -F "\t" -v OFS="\t" -f turn.awk train.fa c1.vcf && run --exons circle.bed --circular c1 && mv got want && run --exons circle.bed && ! cmp -s got want || exit
    landmark() { { printf "##gff-version 3\n$1\tx\tregion\t1\t$2\t.\t+\t.\t$3\n"; awk "{ OFS = \"\t\"; print \$1, \"x\", \"exon\", \$2 + 1, \$3, \".\", \"+\", \".\", \"ID=e\" }" circle.bed; } > circle.gff3; }
    for c in c1 chrc1; do landmark $c 2000 "ID=r;Is_circular=true;Name=x" && run --exons circle.gff3 && cmp got want && ! grep "beyond the end" msgs &&
        grep -q ".circle.gff3. has 1 circular contig, whose windows continue across the origin; first: .$c.$" msgs || exit; done
    run --exons circle.gff3 --circular c1 && cmp got want && ! grep "circular contig" msgs || exit
    for a in "c1 1999 Is_circular=true" "c1 2000 Is_circular=false" "c1 2000 Not_Is_circular=true" "c2 2000 Is_circular=true"; do
        landmark $a && run --exons circle.gff3 && ! cmp got want > diff && grep -q "beyond the end" msgs && ! grep "circular contig" msgs || exit; done'
T 'no exon near any variant is no failure' sh -c 'printf "c4\t0\t20\tx\t0\t+\n" > far.bed &&
    chordseq variant --exons far.bed -m cased.model -f train.fa -o far.vcf c1.vcf 2> msgs && grep -q "scored 0 of 60 .*, 60 NO_EXON" msgs &&
    ! grep -v "^#" far.vcf | grep -v "CS_SKIP=NO_EXON"'
T 'refused: no exons, or exons without the case' sh -c '! chordseq variant -m cased.model -f train.fa c1.vcf 2> msgs && grep -q "give them with --exons" msgs &&
    ! chordseq train --head variant --reference train.fa $1 -o x.model -i train.tsv 2> msgs && grep -q "head variant needs --exons" msgs &&
    ! chordseq train --head variant --reference train.fa --tokenizer base --exons some.bed -o x.model -i train.tsv 2> msgs &&
    grep -q "exons is for --tokenizer base --tokenizer.case" msgs &&
    ! chordseq train --exons some.bed --label-key class -o x.model variants.fa 2> msgs && grep -q "exons is for --head variant" msgs' - "$cased"
T 'a page of marked exons' chordseq variant -q --exons some.bed -m cased.model -f train.fa --html page.html -o /dev/null c1.vcf
# Letters in lower case are lower, and would be grey.
T 'its plots have coloured letters in upper case' sh -c 'grep -q "fill=\"#109648\">A</text>" page.html &&
    ! grep -q ">[acgtn]</text>" page.html'
with python3 T 'contributions in a page of marked exons' python3 contributions.py "-m cased.model --exons some.bed"
# At 1000, and at 941 with the bases up to there.
T 'exons choose the same strand in any notation of a variant' sh -c '
    awk "FNR == 2 { r = substr(\$0, 941, 60); l = substr(r, 1, 59); b = substr(r, 60); a = b == \"A\" ? \"C\" : \"A\"
        print \"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\"
        printf \"c1\t1000\t.\t%s\t%s\t.\t.\t.\nc1\t941\t.\t%s\t%s\t.\t.\t.\n\", b, a, r, l a }" train.fa > long.vcf
    printf "c1\t995\t1005\te\t0\t-\n" > near.bed
    for f in near plus minus; do chordseq variant -q --exons $f.bed --strand forward -m train.tsv.model -f train.fa --tsv $f.long -o /dev/null long.vcf &&
        [ "$(sed 1d $f.long | cut -f 8- | sort -u | wc -l)" = 1 ] || exit; done; cmp near.long minus.long && ! cmp -s near.long plus.long'
T 'blocks of BED are exons' sh -c 'printf "c1\t100\t900\tt\t0\t+\t100\t900\t0\t2\t50,60,\t0,740,\nc1\t300\t400\tu\t0\t-\t300\t300\t0\t1\t100\t0\n" > blocks.bed
    printf "c1\t100\t150\tt\t0\t+\nc1\t840\t900\tt\t0\t+\nc1\t300\t400\tu\t0\t-\n" > plain.bed
    paste plain.bed plain.bed > pasted.bed
    for f in blocks plain pasted; do chordseq variant -q --exons $f.bed -m cased.model -f train.fa --tsv $f.tsv -o /dev/null c1.vcf || exit; done
    cmp blocks.tsv plain.tsv && cmp pasted.tsv plain.tsv && grep -q NO_EXON plain.tsv && for b in "2	50,60	0,741" "3	50,60	0,740" "1	50,60	0,740" "2	50	0,740" "0	1	0"; do
        printf "c1\t100\t900\tt\t0\t+\t100\t900\t0\t$b\n" > bad.bed
        ! chordseq variant -q --exons bad.bed -m cased.model -f train.fa c1.vcf 2> msgs && grep -q "line 1: columns ten to twelve are not the blocks" msgs || exit; done'
T 'a warning if no contig of the exons is in the reference' sh -c '
    sed "s/^c1/chrX/" plus.bed > x.bed; sed "s/^c1/chrc1/" plus.bed > chr.bed
    for f in x far chr; do chordseq variant --exons $f.bed -m train.tsv.model -f train.fa -o /dev/null c1.vcf 2> msgs.$f || exit; done
    grep -q "^chordseq: warning: no exon of .x.bed. is on a contig of .train.fa., .* such as .chrX. there and .c[0-9]. here$" msgs.x &&
    ! grep "no exon" msgs.far msgs.chr'
T 'a warning if exons are beyond the end of a contig' sh -c '
    n=$(awk "/^>/ { if (name) exit; name = 1; next } { n += length } END { print n }" train.fa)
    printf "c1\t%d\t%d\te\t0\t+\n" $((n - 10)) $n | cat - plus.bed > at.end.bed
    printf "c1\t%d\t%d\te\t0\t+\n" $((n - 10)) $((n + 1)) | cat - plus.bed > beyond.bed
    for f in at.end beyond; do chordseq variant --exons $f.bed -m train.tsv.model -f train.fa -o /dev/null c1.vcf 2> msgs.$f || exit; done
    grep -q "^chordseq: warning: .beyond.bed. has exons beyond the end of 1 of its 1 contig in .train.fa., .*; first: .c1., which has $n bases$" msgs.beyond &&
    ! grep "beyond the end" msgs.at.end'
T 'a warning counts exons without a strand' sh -c 'sed "s/+/./;p;s/[.]$/?/" plus.bed | cat - plus.bed > some.strands.bed
    chordseq variant --exons some.strands.bed -m train.tsv.model -f train.fa --tsv some.strands.all -o /dev/null c1.vcf 2> msgs &&
    n=$(wc -l < plus.bed) && grep -q "warning: $((2 * n)) of $((3 * n)) exons of .some.strands.bed. left out: no strand$" msgs &&
    chordseq variant --exons plus.bed -m train.tsv.model -f train.fa --tsv plus.all -o /dev/null c1.vcf 2> msgs && ! grep "left out: no strand" msgs &&
    cmp plus.all some.strands.all'
N variant-exons-strand.err sh -c 'sed "s/+/plus/" plus.bed > bad.bed; chordseq variant --exons bad.bed -m train.tsv.model -f train.fa c1.vcf'
T 'a contig may begin like a track line, and features of BED have no bases' sh -c 'printf "track1\t1\t9\tx\t0\t+\n" > odd.bed
    printf "track name=x\nbrowser hide all\nbrowser\nc1\t5\t5\tx\t0\t-\n" | cat - plus.bed odd.bed > tracks.bed
    chordseq variant --exons odd.bed -m train.tsv.model -f train.fa -o /dev/null c1.vcf 2> msgs && grep -q "such as .track1. there" msgs &&
    for f in plus tracks; do chordseq variant -q --exons $f.bed -m train.tsv.model -f train.fa --tsv $f.all -o /dev/null c1.vcf || exit; done
    cmp plus.all tracks.all'
T 'an exon without a contig' sh -c 'printf "\t1\t9\tx\t0\t+\n" > bad.bed
    ! chordseq variant --exons bad.bed -m train.tsv.model -f train.fa c1.vcf 2> msgs && grep -q "bad.bed. line 1: no contig" msgs'
with bzip2 T 'tables that cannot be read say why' sh -c 'mkdir folder && bzip2 -c plus.bed > bad.bed.bz2
    ! chordseq variant --exons folder -m train.tsv.model -f train.fa c1.vcf 2> msgs && grep -q "cannot read .folder.: Is a directory" msgs &&
    ! chordseq variant --exons bad.bed.bz2 -m train.tsv.model -f train.fa c1.vcf 2> msgs && grep -q "is compressed, but not by gzip" msgs'
N variant-exons-mixed.err sh -c 'cat plus.bed minus.gtf > bad.bed; chordseq variant --exons bad.bed -m train.tsv.model -f train.fa c1.vcf'
N variant-exons.err chordseq variant --exons train.tsv -m train.tsv.model -f train.fa c1.vcf
T 'messages about exons name standard input' sh -c 'for b in "# none" "c1 2"; do ! echo "$b" | chordseq variant --exons - -m train.tsv.model -f train.fa c1.vcf 2> msgs && grep -q ".standard input. " msgs || exit; done'
N variant-exons-none.err sh -c 'echo "# none" > none.bed; chordseq variant --exons none.bed -m train.tsv.model -f train.fa c1.vcf'
T 'of GTF, only features named exon count' sh -c 'sed "s/	exon	/	CDS	/" minus.gtf > cds.gtf && grep -q CDS cds.gtf &&
    ! chordseq variant --exons cds.gtf -m train.tsv.model -f train.fa c1.vcf 2> msgs && grep -q "cds.gtf. has no feature .exon. with a strand" msgs'
# Training on reverse complements of contigs with minus-strand rows gives the same model.
awk 'function turn(s,   i, r) { for (i = length(s); i > 0; i--) r = r substr("TGCA", index("ACGT", substr(s, i, 1)), 1); return r }
    FILENAME == "train.fa" { if (/^>/) print > "turned.fa"; else print turn($0) > "turned.fa"; next }
    FNR == 1 { print $0 "\tstrand"; next }
    { OFS = FS = "\t"; $2 = 2001 - $2; $3 = turn($3); $4 = turn($4); print $0, "-" }' train.fa FS='\t' train.tsv > turned.tsv
{ sed -n '1s/$/	strand/p' train.tsv; sed '1d; s/$/	+/' train.tsv; } > plus.tsv
T 'labels of the minus strand train the reverse complement' sh -c "$(printf '%s\n' 'train_odd() {
    chordseq train -q --preset none --head variant --reference "$1.fa" --tokenizer base --encoder.max-len 32 --encoder.track 4 \
        --encoder.hidden 8 --window-length 15 --split split --epochs 2 --step-records 1000 --strand max --metrics "$2.metrics" -o "$2.model" -i "$2"
    }
    train_odd turned turned.tsv && train_odd train plus.tsv &&
    paste turned.tsv.metrics plus.tsv.metrics | awk -F "\t" "NR > 1 { d = \$4 - \$(4 + NF / 2); n += d * d < 1e-8 } END { exit n != 2 }" && chordseq model show plus.tsv.model | grep -qx "strand	max"')"
# A label of the strand: rows on either strand tell it; it is no field.
{ cat plus.tsv; awk -F '\t' 'NR > 1 { OFS = FS; $5 = "strand"; $6 = 1; print; $6 = 0; $7 = "-"; print }' plus.tsv; } > sense.tsv
T 'a label that states the strand is trained, and is no field' sh -c "$(printf '%s\n' '
    chordseq train -q --preset none --head variant --head.compare context --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 \
        --encoder.hidden 8 --window-length 15 --split split --epochs 2 --step-records 1000 --strand weighted -o sense.model -i sense.tsv &&
    chordseq model show sense.model > sense.txt && grep -qx "strand	weighted" sense.txt && grep -q "^tensor	head.context.weight" sense.txt &&
    grep "^label" sense.txt | tail -n 1 | grep -q "strand$" &&
    chordseq variant -q -m sense.model -f train.fa --tsv sense.scores -o sense.vcf c1.vcf && ! grep -q CS_strand sense.scores sense.vcf && grep -q "CS_" sense.vcf')"
N variant-strand.err sh -c 'sed "4s/+$/x/" plus.tsv > bad.tsv
    chordseq train -q --head variant --reference train.fa -i bad.tsv -o x.model'
T 'training fills the ends of contigs with N' sh -c '
    for e in skip fill; do chordseq train --preset none --head variant --ends $e --reference train.fa --tokenizer base --encoder.max-len 512 \
        --encoder.track 4 --encoder.hidden 8 --window-length 256 --epochs 1 --step-records 64 -o x.model -i train.tsv 2> msgs.$e || exit; done
    grep -q "variants were left out: NEAR_END" msgs.skip && ! grep -q NEAR_END msgs.fill && grep -q "240 labelled variants" msgs.fill'
T 'in training, windows continue across the origin of circular contigs' sh -c '
    run() { chordseq train --preset none --head variant --reference train.fa --tokenizer base --encoder.max-len 512 \
        --encoder.track 4 --encoder.hidden 8 --window-length 256 --epochs 1 --step-records 64 -o x.model -i train.tsv "$@" 2> msgs; }
    run && grep "left out: NEAR_END" msgs | sed "s/.*warning: //" > all && run --circular c1 && grep "left out: NEAR_END" msgs | sed "s/.*warning: //" > some &&
    awk "{ n[NR] = \$1 } END { exit !(n[2] > 0 && n[2] < n[1]) }" all some && run --circular c1 --circular c2 --circular chrc3 --circular c4 &&
    ! grep NEAR_END msgs && grep -q "240 labelled variants" msgs && ! run --circular c9 && grep -q "train: --circular .c9. is not a contig of .train.fa.$" msgs'
T 'in training, windows continue across the origin of contigs that GFF3 states as circular' sh -c '
    for is in false true; do for c in 1 2 3 4; do printf "c$c\tx\tregion\t1\t2000\t.\t+\t.\tIs_circular=$is\nc$c\tx\texon\t1\t2000\t.\t+\t.\tID=e$c\n"; done > all.$is.gff3
    chordseq train --preset none --head variant --exons all.$is.gff3 --reference train.fa --tokenizer base --tokenizer.case --encoder.max-len 512 \
        --encoder.track 4 --encoder.hidden 8 --window-length 256 --epochs 1 --step-records 64 -o x.model -i train.tsv 2> msgs.$is || exit; done
    grep -q "variants were left out: NEAR_END" msgs.false && ! grep -q NEAR_END msgs.true && grep -q "240 labelled variants" msgs.true &&
    ! grep "circular contig" msgs.false && grep -q ".all.true.gff3. has 4 circular contigs, whose .*; first: .c1.$" msgs.true'
T 'differences of hidden layers begin with those of a model of sequences' sh -c '
    awk "{ if (/^>/) print; else for (i = 0; i < 20; i++) print (i ? \">\" n++ \"\n\" : \"\") substr(\$0, 1 + 90 * i, 80) }" train.fa > pieces.fa
    awk "BEGIN { print \"record\tg\tc\" } /^>/ { n = substr(\$1, 2); next } { print n \"\t\" (\$0 ~ /GG/) \"\t\" (\$0 ~ /CCC/) }" pieces.fa > pieces.tsv
    net="--tokenizer base --encoder cdil --encoder.layers 2 --encoder.depth all --encoder.channels 8 --head.hidden 6 --head.pool mean+max"
    chordseq train -q --preset none --head multilabel --labels pieces.tsv $net --epochs 2 -o multi.model -i pieces.fa &&
    chordseq train -q --preset none --head variant --init multi.model --freeze encoder --encoder-lr 1e-9 $net --head.compare hidden \
        --window-length 64 --reference train.fa --split split --epochs 1 --step-records 64 -o hidden.model -i train.tsv &&
    chordseq variant -q -m hidden.model -f train.fa --tsv h.tsv -o /dev/null c1.vcf && grep -q "	0[.][0-9]" h.tsv &&
    ! chordseq train -q --preset none --head variant --init multi.model --tokenizer base --encoder cdil --head.compare hidden \
        --reference train.fa -o x.model -i train.tsv 2> msgs && grep -q "needs a hidden layer" msgs'
N variant-explain.err chordseq explain -m train.tsv.model -f train.fa c1:1-50
N variant-classify.err chordseq classify -m train.tsv.model train.fa
N variant-embedding.err chordseq variant -m train.tsv.model -f train.fa --score embedding c1.vcf
T 'files of --input-list are read' sh -c 'sed -n "1p; /^c[12]/p" train.tsv > some.tsv; sed -n "1p; /^c[34]/p" train.tsv > more.tsv; echo more.tsv > list
    chordseq train --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 --encoder.hidden 8 \
        --window-length 16 --epochs 1 -o x.model --input-list list -i some.tsv 2> msgs && grep -q "240 labelled variants" msgs &&
    chordseq model show x.model | grep -q "more.tsv"'
# useless OPTION WORDS: has no effect on variants
useless() { T "refused: ${1%% *}, which has no effect" sh -c '! chordseq train -q --head variant --reference train.fa -o gone.model $1 -i train.tsv 2> msgs &&
    grep -q "$2" msgs' - "$@"; }
useless '--label-map split' 'label-map is for classes of sequences'
useless '--split-by x' 'split-by is for sequences; variants are split by contig'
useless --skip-unlabelled 'skip-unlabelled is for sequences'
N variant-train.err chordseq train -q --head variant -i train.tsv -o x.model
N variant-key.err   chordseq train -q --head variant --reference train.fa -i train.vcf -o x.model
T 'refused: a label that no header declares and no record has' sh -c '! chordseq train -q --head variant --reference train.fa \
    --label-key S,TYPO -o x.model -i train.vcf 2> msgs && grep -q "no header of the input declares the INFO field .TYPO. of --label-key" msgs'
T 'a label without a value is reported' sh -c 'sed "s/^##INFO=<ID=S,/##INFO=<ID=NIL,Number=A,Type=Integer,Description=\"label\">\n&/" train.vcf > nil.vcf
    for keys in S,NIL S,T; do chordseq train --head variant --reference train.fa --tokenizer base --encoder.max-len 32 --encoder.track 4 \
        --encoder.hidden 8 --window-length 16 --split split --epochs 1 --label-key $keys -o x.model -i nil.vcf 2> msgs.$keys || exit; done
    grep -q "warning: 1 of 2 labels has no value in a training record; first: .NIL." msgs.S,NIL && ! grep -q "no value" msgs.S,T'
T 'a table after a byte order mark' sh -c '{ printf "\357\273\277"; cat train.tsv; } > mark.tsv && chordseq train --head variant --reference train.fa \
    --tokenizer base --encoder.max-len 32 --encoder.track 4 --encoder.hidden 8 --window-length 16 --epochs 1 -o x.model -i mark.tsv 2> msgs &&
    grep -q "240 labelled variants" msgs'
N variant-column.err sh -c 'tr "\t" , < train.tsv > train.csv
    chordseq train -q --head variant --reference train.fa -i train.csv -o x.model'
N variant-label.err sh -c 'sed "5s/.$/2/" train.tsv > bad.tsv
    chordseq train -q --head variant --reference train.fa -i bad.tsv -o x.model'

mkdir with && cp "$builddir/chordseq" with/ && ln -s "$srcdir/refdata" with/refdata
T 'the default is the bundled model and its prediction' sh -c '
    with/chordseq variant -f variants.fa --circular ring --tsv d.tsv -o d.vcf variants.vcf 2> msgs &&
    grep -q "default model for variants.*splicing" msgs && head -n 1 d.tsv | grep -q "	CS_SPLICE$" &&
    grep -q "	snv	.*	[.]	0	0[.][0-9]" d.tsv && grep -q "encoder:cdil head:variant window:256" d.vcf &&
    grep -q "ID=CS_SPLICE,.*Description=\"Probability that the allele reduces the inclusion" d.vcf'
T '--exons selects the bundled model that reads exons' sh -c 'printf "one\t300\t400\tx\t0\t-\n" > one.bed
    with/chordseq variant -f variants.fa --exons one.bed --tsv e.tsv -o e.vcf variants.vcf 2> msgs &&
    grep -q "default model for variants.*splicing of the given exons" msgs && grep -q "	NO_EXON	" e.tsv && grep -q "	snv	.*	[.]	0	0[.][0-9]" e.tsv &&
    grep -q "ID=CS_SPLICE,.*reduces the inclusion of the given human exon" e.vcf && grep -q "ID=CS_SKIP,.*NO_EXON" e.vcf'
T 'the model states meaning, data and accuracy' sh -c 'chordseq model show "$1" > shown &&
    grep -q "^meaning	SPLICE: Probability that the allele reduces" shown && grep -q "^trained on	[0-9]* labelled alleles" shown &&
    grep -q "^sources	.*MaPSy" shown && [ "$(grep -c "^quality	.*: AUROC 0[.][678].*five folds by chromosome$" shown)" = 2 ]' - "$srcdir/refdata/model/variant.safetensors"
T 'the model that reads exons states them' sh -c 'chordseq model show "$1" > shown.exons && grep -q "^tokenizer.case	1$" shown.exons &&
    grep -q "^meaning	SPLICE: .*the given human exon" shown.exons && [ "$(grep -c "^quality	.*with the exon: AUROC 0[.]" shown.exons)" = 2 ]' - "$srcdir/refdata/model/variant-exons.safetensors"
T 'method is the name of what older files call judged' sh -c 'LC_ALL=C sed "s/method/judged/g" "$1" > judged.m &&
    ! cmp -s "$1" judged.m && chordseq model show judged.m | grep ^quality > old && grep ^quality shown | cmp - old' - "$srcdir/refdata/model/variant.safetensors"
T 'distances are of the one for sequences' sh -c 'with/chordseq variant --score embedding -f variants.fa -w 200 --tsv d.tsv \
    -o /dev/null variants.vcf 2> msgs && ! grep -q splicing msgs && ! grep -q distances msgs && head -n 1 d.tsv | grep -q CS_L2'
T 'a line says that the environment selected a model that gives distances' sh -c 'CHORDSEQ_MODEL=fast chordseq variant -f variants.fa \
    -o /dev/null variants.vcf 2> msgs && grep -q "^chordseq: CHORDSEQ_MODEL names .*fast.safetensors., which was not trained on variants: scores are distances" msgs'
T 'a line says the same of --model, but not with --score' sh -c 'chordseq variant -m "$m" -w 128 -f variants.fa -o /dev/null variants.vcf 2> msgs &&
    [ "$(grep -c "^chordseq: --model names .*model.safetensors., which was not trained on variants: scores are distances" msgs)" = 1 ] &&
    chordseq variant -m "$m" --score embedding -w 128 -f variants.fa -o /dev/null variants.vcf 2> msgs && ! grep distances msgs'

T 'a demonstration model is marked in show, copies and INFO lines' sh -c '
    chordseq model label --demonstration train.tsv.model demo.model && chordseq model show demo.model > shown &&
    [ "$(head -n 1 shown)" = "demonstration	not for real data" ] && chordseq model checked demo.model copy.model &&
    for m in demo.model copy.model train.tsv.model; do
        chordseq variant -q -m $m -f train.fa train.vcf | grep "^##INFO=<ID=CS_" > lines.$m && [ "$(wc -l < lines.$m)" = 4 ] || exit
    done
    [ "$(grep -c "(demonstration model, not for real data, sha256 [0-9a-f]*)\"" lines.demo.model)" = 4 ] &&
    cmp lines.demo.model lines.copy.model && ! grep demonstration lines.train.tsv.model'

# A model that predicts masked bases: no labels.
T 'pretrain' chordseq pretrain -q --tokenizer base --encoder.max-len 64 --encoder.track 4 --encoder.hidden 8 --window 64 \
    --windows-per-epoch 32 --valid-windows 8 --epochs 1 -o guess.model train.fa
T 'log-likelihood ratios' sh -c 'chordseq variant -q -m guess.model -f variants.fa -w 64 --tsv g.tsv \
    -o g.vcf variants.vcf && grep -q "ID=CS_LLR,Number=A,Type=Float" g.vcf &&
    grep -q "	snv	.*	[.]	0	-*[0-9]" g.tsv && grep -q "	mnv	.*	[.]	0	-*[0-9]" g.tsv && grep -q "	ins	.*	[.]	0	-*[0-9]" g.tsv &&
    grep -q "	del	.*	[.]	0	-*[0-9]" g.tsv'
bcf 'of insertions and deletions: split and moved, the same' sh -c '
    printf "##fileformat=VCFv4.2\n##contig=<ID=one,length=1000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" > in.vcf
    grep "^one	.*	\(ins\|del\|multi\|leftmost\|repeat\|mnv\)	" variants.vcf | cut -f 1-8 | sed "s/	[^	]*$/	./" >> in.vcf
    bcftools norm -f variants.fa -m -any in.vcf -o split.vcf 2> /dev/null
    for f in in split; do chordseq variant -q -m guess.model -f variants.fa -w 64 -o $f.out.vcf $f.vcf || exit; done
    bcftools norm -f variants.fa -m -any in.out.vcf 2> /dev/null | bcftools query -f "%POS %ALT %CS_LLR\n" | sort > a
    bcftools query -f "%POS %ALT %CS_LLR\n" split.out.vcf | sort > b; [ "$(wc -l < a)" -gt 5 ] && cmp a b'
# The sequence and its reverse complement: variants at mirrored positions.
awk 'BEGIN { srand(5); for (i = 0; i < 400; i++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
    for (i = 400; i > 0; i--) r = r substr("TGCA", index("ACGT", substr(s, i, 1)), 1)
    printf ">f\n%s\n>r\n%s\n", s, r > "turn.fa"
    print "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    for (p = 100; p < 300; p += 9) { b = substr(s, p, 1); a = substr("CGTA", index("ACGT", b), 1)
        printf "f\t%d\t.\t%s\t%s\t.\t.\t.\n", p, b, a
        printf "r\t%d\t.\t%s\t%s\t.\t.\t.\n", 401 - p, substr("TGCA", index("ACGT", b), 1),
            substr("TGCA", index("ACGT", a), 1) } }' > turn.vcf
T '--strand both: the same for the reverse complement, else not' sh -c 'for s in both forward; do
    chordseq variant -q --strand $s -m guess.model -f turn.fa -w 63 --tsv $s.tsv -o /dev/null turn.vcf || exit; done
    same() { awk -F "\t" "/^f/ { v = \$8 } /^r/ { d = v - \$8; n++; bad += d * d > 1e-10 } END { exit n < 20 || bad > 0 }" $1; }
    same both.tsv && ! same forward.tsv'
# The allele is masked on either strand, so neither changes the context of the other.
T 'swapping REF and ALT changes the sign only, on one strand and on both' sh -c '
    { grep "^#" variants.vcf; printf "one\t300\ta\t%s\t%s\t.\t.\t.\tGT\t0/1\n" T A A T; } > two.vcf
    for s in forward both; do
        chordseq variant -q -m guess.model -f variants.fa -w 64 --strand $s --tsv two.tsv -o /dev/null two.vcf &&
        awk -F "\t" "NR > 1 { s += \$8; a += \$8 < 0 ? -\$8 : \$8 } END { exit !(a > 0 && s * s < 1e-10) }" two.tsv || exit
    done'
N variant-llr.err   chordseq variant -m train.tsv.model -f variants.fa --score llr variants.vcf
T 'without --model: human-lm, which a line says, both strands' sh -c '
    for s in model both; do chordseq variant -f variants.fa -w 512 --ends fill --score llr --strand $s \
        --tsv own.$s -o /dev/null variants.vcf 2> msgs || exit; done; grep -q "^chordseq: no --model: using human-lm" msgs &&
    chordseq variant -q -m human-lm -f variants.fa -w 512 --ends fill --tsv named -o /dev/null variants.vcf &&
    cmp own.model own.both && cmp own.model named && grep -q "CS_LLR$" named && [ "$(grep -c "	snv	.*	[.]	0	-*[0-9]" named)" -gt 0 ]'
T 'human-lm is better than chance: an Alu element that it expects' sh -c '
    alu=GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGGGAGGCCGAGGCGGGCGGATCACGAGGTCAGGAGATCGAGACCATCCCGGCTAAAACGGTGAAACCCCGTCTCTACTAAAAATACAAAAAATTAGCCGGGCG
    printf ">alu\n%s\n" $alu > alu.fa
    { printf "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
      for p in $(seq 40 100); do b=$(printf %s $alu | cut -c $p); printf "alu\t$p\t.\t$b\t$(echo ACGT | tr -d $b | sed "s/./&,/g; s/,$//")\t.\t.\t.\n"; done; } > alu.vcf
    chordseq variant -q -m human-lm -f alu.fa -w 256 --max-unknown 1 --ends fill --tsv alu.tsv -o /dev/null alu.vcf
    awk -F "\t" "NR > 1 { n++; less += \$8 < 0 } END { exit !(n == 183 && less > 0.8 * n) }" alu.tsv'
T 'contigs missing from the reference: reasons and status 1' sh -c 'grep "^#\|^one" variants.vcf | sed "s/^one/two/" > two.vcf
    chordseq variant -f variants.fa -m guess.model -w 64 --tsv n.tsv -o /dev/null two.vcf 2> msgs; [ $? = 1 ] &&
    grep -q "warning: most records lie on contigs missing in .variants.fa." msgs && grep -q "NO_CONTIG" n.tsv &&
    grep -q "error: variant: no score for any of [0-9]* alternative alleles: [0-9]* NO_CONTIG" msgs'
T 'chr22 and 22 are one contig, with a line of warning' sh -c 'sed "s/^one/chrone/" variants.vcf > chr.vcf
    score --no-version --tsv b.tsv -o b.vcf chr.vcf && chordseq variant -m "$m" -f variants.fa -w 128 --circular ring \
    --tsv b.tsv -o b.vcf --no-version chr.vcf 2> msgs && [ "$(grep -c warning:.*names.differ msgs)" = 1 ] &&
    score --no-version variants.vcf | sed "s/^one/chrone/" | cmp b.vcf -'
T 'lengths in the header that contradict the reference' sh -c 'sed "s/^\(##contig=<ID=ring,length=\).*/\1299>/; s/^\(##contig=<ID=\)one,.*/\1chrone,length=7>/" variants.vcf > long.vcf &&
    for f in long variants; do chordseq variant -m "$m" -f variants.fa -w 128 -o /dev/null $f.vcf 2> msgs.$f || exit; done
    grep "warning: the header of .long.vcf. has other lengths for 2 contigs than .variants.fa." msgs.long | grep "first: .chrone., 7 and 1200 bases" &&
    ! grep "other lengths" msgs.variants'
N variant-strict.err score --strict-contigs chr.vcf
N variant-strict-exons.err sh -c 'printf "chrone\t10\t20\te\t0\t+\n" > e.bed; score --strict-contigs --exons e.bed variants.vcf'
T 'another assembly: the warning counts swapped alleles, not symbolic ones' sh -c '
    # Of SNVs on random bases a quarter has REF, a quarter ALT, and half neither.
    awk -v OFS="\t" "/^>/ { on = \$0 == \">one\"; next } on { s = s \$0 }
        END { print \"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\"
              for (k = 0; k < 12; k++) { p = 200 + 9 * k; b = substr(s, p, 1); at = index(\"ACGT\", b)
                  x = substr(\"CGTA\", at, 1); y = substr(\"GTAC\", at, 1)
                  print \"one\", p, \".\", k % 4 == 0 ? b : x, k % 4 == 1 ? b : y, \".\", \".\", \".\" } }" variants.fa > other.vcf
    sed "s/^\(one.*	[ACGT]	[ACGT]\)	/\1,<NON_REF>	/" other.vcf > blocks.vcf
    awk -v OFS="\t" "/^#/ { print; next } n++ % 4 == 0 { x = \$4; \$4 = \$5; \$5 = x; print }" other.vcf > swapped.vcf
    for f in other blocks swapped; do chordseq variant -m "$m" -f variants.fa -w 128 -o /dev/null $f.vcf 2> msgs.$f || exit; done
    grep -q "scored 6 of 12 .*, 6 REF_MISMATCH" msgs.other && grep -q "scored 6 of 24 .* 12 SYMBOLIC" msgs.blocks &&
    grep -q "most REF alleles differ" msgs.other && grep -q "most REF alleles differ" msgs.blocks &&
    grep -q "3 of 3 alternative alleles match" msgs.swapped && ! grep "most REF alleles differ" msgs.swapped'

# The published checkpoint of CDIL for DNA as a variant model's encoder.
published=$CS_SHARED/golden/cdil_dna_pretrained/human_100k_epoch9_checkpoint.safetensors
if [ -f "$published" ]; then
    T 'import the published encoder' chordseq model import "$published" published.model
    T 'fine-tune it' chordseq train -q --head variant --reference train.fa --tokenizer base --encoder cdil \
        --encoder.decoder 0 --init published.model --head.predictor cdil --window-length 64 --split split --epochs 2 \
        --step-records 16 --lr 0.01 --metrics tuned.tsv -o tuned.model -i train.tsv
    T 'probe it' chordseq train -q --head variant --reference train.fa --tokenizer base --encoder cdil \
        --encoder.decoder 0 --init published.model --head.predictor cdil --window-length 64 --split split --epochs 2 \
        --step-records 16 --lr 0.01 --freeze encoder -o probed.model -i train.tsv
    with python3 T 'a frozen encoder equals the imported one' python3 -c '
import json, struct
def encoder(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    t = json.loads(b[8:8 + n])
    return {k: b[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in t.items()
            if k.startswith("encoder.block.")}
published, probed, tuned = (encoder(n + ".model") for n in ("published", "probed", "tuned"))
assert len(probed) > 20 and set(probed) == set(tuned) and set(probed) <= set(published)
assert all(probed[k] == published[k] for k in probed)
assert any(tuned[k] != published[k] for k in tuned)'
    T 'the imported encoder scores variants' sh -c 'for m in tuned probed; do
        chordseq variant -q -m $m.model -f train.fa --tsv $m.tsv.out -o /dev/null c1.vcf &&
        awk -F "\t" "NR > 1 { n++; bad += \$8 !~ /^[01]([.]|$)/ && \$8 !~ /e-/ } END { exit n < 50 || bad > 0 }" $m.tsv.out || exit; done
        ! cmp -s tuned.tsv.out probed.tsv.out'
else
    S 'the published encoder' 'needs ../shared'
fi

# Files refused by bcftools (vcf.t has others).
if [ -d "$CS_SHARED/data/ingest" ]; then
    with bcftools T 'input that bcftools refuses is refused' sh -c '
        for f in "$CS_SHARED"/data/ingest/odd/hts-specs_vcf43/vcf/4.3/failed/*.vcf; do
        bcftools view "$f" > /dev/null 2>&1 && continue
        score -o o.vcf "$f" 2> err && { echo "$f"; exit 1; }; grep -q "${f##*/}" err || exit; done'
else
    S 'VCF files of all kinds' 'needs ../shared'
fi
