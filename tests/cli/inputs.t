# inputs.t - records from pairs, lists of files, flags, regions and references.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
c="chordseq classify -q -m '$m'"

# ---- pairs -------------------------------------------------------------------------------------

# Records of two lines, so that lines can be shuffled.
records()
{
    "$builddir/tests/bench/gen_fasta" "$@" |
        awk '/^>/ { if (NR > 1) print ""; print; next } { printf "%s", $0 } END { print "" }'
}

# Mates of 98 and 94 bases: the length column of Kraken's paired output.
records 4900 3 98 98 | awk '/^>/ { print $1 "/1 first"; next } 1' > a.fa
records 4700 4 94 94 | awk '/^>/ { print $1 "/2 second"; next } 1' > b.fa
paste a.fa b.fa | awk -F '\t' 'NR % 2 { h = $1; g = $2; next } { print h; print $1; print g; print $2 }' > ab.fa
T 'prepared files' sh -c '[ $(grep -c ">" a.fa) = $(grep -c ">" b.fa) ] &&
    [ $(wc -l < a.fa) = $((2 * $(grep -c ">" a.fa))) ]'
T 'one call per pair, length 98|94' sh -c "$c -1 a.fa -2 b.fa > pairs.tsv &&
    [ \$(wc -l < pairs.tsv) = \$((1 + \$(grep -c '>' a.fa))) ] &&
    awk -F '\t' 'NR > 1 && (\$2 != \"98|94\" || \$1 ~ /\//) { exit 1 }' pairs.tsv"
T 'files with names of mates are noted, unless they are given as such' sh -c 'awk "/^>/ { print \"@\" substr(\$0, 2); next }
        { q = \$0; gsub(/./, \"I\", q); print \$0 \"\n+\n\" q }" a.fa > s_R1_001.fq && sed "/^@/s,/1,/2," s_R1_001.fq > s_R2_001.fq &&
    mkdir l_1 l_2 && cp s_R1_001.fq l_1/s.fq && cp s_R1_001.fq l_2/s.fq && for i in classify embed; do
        chordseq $i -m "$1" -o got.tsv s_R1_001.fq s_R2_001.fq 2> msgs && [ "$(grep -c "s_R1_001.fq. and .s_R2_001.fq. are read as single reads; give mates with -1 and -2" msgs)" = 1 ] &&
        chordseq $i -m "$1" -o got.tsv -1 s_R1_001.fq -2 s_R2_001.fq 2> msgs && ! grep -q "single reads" msgs &&
        chordseq $i -m "$1" -o got.tsv l_1/s.fq l_2/s.fq 2> msgs && ! grep -q "single reads" msgs || exit; done' - "$m"
T 'the order of mates does not matter' sh -c "sed 's|/2|/1|' b.fa > c.fa; sed 's|/1|/2|' a.fa > d.fa
    $c -1 c.fa -2 d.fa | sed 's/94|98/98|94/' | cmp - pairs.tsv"
T 'interleaved mates have the same predictions' sh -c "$c --interleaved ab.fa | cmp - pairs.tsv"
T 'in any batch, with any number of threads' sh -c "$c -B 300 --chunks-in-flight 1 -@ 3 -1 a.fa -2 b.fa |
    cmp - pairs.tsv"
T 'several files of pairs' sh -c "{ cat pairs.tsv; tail -n +2 pairs.tsv; } > twice.tsv
    $c -1 a.fa -1 a.fa -2 b.fa -2 b.fa | cmp - twice.tsv"
T 'a pair with one empty mate' sh -c "sed '2s/.*/NNNN/' b.fa > n.fa &&
    $c -1 a.fa -2 n.fa | sed -n 2p | cut -f 2,5 | grep -qx '98|4	.'"
head -n 20 a.fa > short.fa
sed '5s/>/>x/' b.fa > other.fa
N pairs-short1.err  chordseq classify -m "$m" -1 short.fa -2 b.fa
head -n 20 b.fa > shorter.fa
N pairs-short2.err  chordseq classify -m "$m" -1 a.fa -2 shorter.fa
N pairs-names.err   chordseq classify -m "$m" -1 a.fa -2 other.fa
# Orphans before, between and after pairs; one pair with its second mate first.
awk '/^>/ { n++ } n != 2 && n != 7 { print }' ab.fa > orphans.fa
T 'records without a mate are predicted alone, counted and named' sh -c "
    chordseq classify -m '$m' --interleaved --split-dir both.d -o got.tsv orphans.fa 2> msgs &&
    grep -q 'warning: 2 of [0-9]* records have no adjacent mate.*first: .r0/1.' msgs &&
    { sed '2d;5d' pairs.tsv; chordseq classify -q -m '$m' orphans.fa | grep '^r0/1\|^r3/2'; } | sort > want &&
    sort got.tsv | cmp - want && [ \$(cat both.d/* | grep -c '>') = \$(grep -c '>' orphans.fa) ]"
T 'the second mate may come first' sh -c "awk '/^>/ { n++ } { r[n] = r[n] \$0 \"\n\" }
    END { for (i = 1; i < n; i += 2) printf \"%s%s\", r[i + 1], r[i] }' ab.fa | $c --interleaved | cmp - pairs.tsv"
T 'in chunks of any size' sh -c "awk '/^>/ { n++ } n % 7 != 3' ab.fa ab.fa ab.fa > many.fa
    $c --interleaved many.fa > a && $c --interleaved -B 100 --chunks-in-flight 1 many.fa | cmp - a"
N pairs-files.err   chordseq classify -m "$m" -1 a.fa
# RUN.SPOT.MATE; RUN.SPOT alone is the name of both mates, with the number of a spot at its end.
T 'mates of fastq-dump -I' sh -c "for f in a b ab; do sed 's|^>\(r[0-9]*\)/|>\1.5.|' \$f.fa > dots_\$f.fa; done && grep -q '^>r0.5.1 ' dots_ab.fa &&
    $c -1 dots_a.fa -2 dots_b.fa > dots.tsv && sed 's/^\(r[0-9]*\)\.5	/\1	/' dots.tsv | cmp - pairs.tsv && $c --interleaved dots_ab.fa | cmp - dots.tsv"
T 'spots are not mates' sh -c "for f in a b; do sed 's|^>r\([0-9]*\)/.|>run.\1|' \$f.fa > spots_\$f.fa; done &&
    $c -1 spots_a.fa -2 spots_b.fa | sed 's/^run\./r/' | cmp - pairs.tsv && printf '>run.1\nACGTACGTACGT\n>run.2\nACGTACGTACGT\n' > spots.fa &&
    $c --interleaved spots.fa 2> msgs | cut -f 1 | grep -cx 'run.[12]' | grep -qx 2 && grep -q 'no adjacent mate' msgs"
T 'one file is not for both mates' sh -c '! chordseq classify -q -m "$1" -1 b.fa -1 a.fa -2 a.fa -2 ./a.fa 2> err &&
    grep -q "a.fa. is given for -1 and for -2; if mates alternate in it, give it with --interleaved" err' - "$m"
N region-fasta.err    chordseq classify -m "$m" -r x a.fa
N pairs-both.err    chordseq classify -m "$m" -1 a.fa -2 b.fa ab.fa

# ---- a file of file names ----------------------------------------------------------------------

sh -c "$c a.fa b.fa" > both.tsv
sh -c "$c a.fa" > a.tsv
printf '# mates\na.fa\n\nb.fa\r\n' > list
T 'a file of file names' sh -c "$c --input-list list | cmp - both.tsv"
T '--input-list reads standard input' sh -c "$c --input-list - < list | cmp - both.tsv"
T '--input-list reads standard input from its position' sh -c "{ printf 'gone\n'; cat list; } > more &&
    { read -r first && $c --input-list -; } < more | cmp - both.tsv"
with python3 T '--input-list reads a socket' python3 -c '
import socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.sendall(open("list", "rb").read())
ours.shutdown(socket.SHUT_WR)
got = subprocess.run(sys.argv[1:] + ["--input-list", "-"], stdin=theirs, stdout=subprocess.PIPE)
assert got.returncode == 0 and got.stdout == open("both.tsv", "rb").read()' chordseq classify -q -m "$m"
T 'a list of files given as input is named' sh -c "echo a.fa > names && ! $c -i names > out 2> msgs &&
    grep -q 'the line names a file: give a list of files with --input-list' msgs"
T 'after other files' sh -c "echo b.fa > rest && $c --input-list rest a.fa | cmp - both.tsv"
T '--input-list ignores a byte order mark' sh -c "{ printf '\357\273\277'; cat list; } > marked && $c --input-list marked | cmp - both.tsv"
: > nobody
printf '>bad\n!\n' > bad.fa
N list-empty.err    chordseq classify -m "$m" --input-list nobody
T 'a listed file that is missing is named with its line' sh -c 'printf "# two\n\na.fa\r\ngone.fa" > gone.list
    for l in gone.list -; do ! chordseq classify -m "$1" --input-list $l < gone.list 2> msgs &&
    grep -q "line 4: cannot open .gone.fa.: No such file" msgs || exit; done; grep -q "standard input. line 4" msgs &&
    ! chordseq classify -m "$1" --input-list a.fa 2> msgs && grep -q "a.fa. line 1: cannot open .>" msgs' - "$m"
N list-missing.err  chordseq classify -m "$m" --input-list no-such-list

# ---- formats -----------------------------------------------------------------------------------

T '--input-fmt' sh -c "$c --input-fmt fasta a.fa b.fa | cmp - both.tsv && gzip -c a.fa | $c --input-fmt fasta - b.fa | cmp - both.tsv"
N fmt-fastq.err     chordseq classify -m "$m" --input-fmt fastq a.fa
N fmt-stdin.err     sh -c 'chordseq classify -m "$1" --input-fmt fasta - < "$2"' - "$m" "$tiny/reads.fq"
printf '\n\n' | cat - a.fa > blank.fa; printf '\n\n' | cat - "$tiny/reads.fq" > blank.fq
T 'after blank lines, too' sh -c "$c --input-fmt fasta blank.fa | cmp - a.tsv && $c --input-fmt fastq blank.fq > /dev/null"
N fmt-blank.err     chordseq classify -m "$m" --input-fmt fasta blank.fq
N fmt-blank-fa.err  chordseq classify -m "$m" --input-fmt fastq blank.fa
T 'SAM without a header: it is missed only where a contig is named' sh -c '
    printf "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tII\n" > short.sam && ! chordseq classify -q -m "$1" short.sam 2> msgs &&
    grep -q "line 1: not a valid SAM record; -v shows" msgs && printf "r\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n" > bare.sam &&
    ! chordseq classify -q -m "$1" bare.sam 2> msgs && grep -q "not a valid SAM record; there is no header" msgs' - "$m"
N fmt-blank-sam.err chordseq classify -m "$m" --input-fmt sam blank.fa
N fmt-none.err      chordseq classify -m "$m" --input-fmt gff a.fa

# ---- alignments --------------------------------------------------------------------------------

for bad in x -1 99999999 4,1024; do
    N "flags$bad.err"   chordseq classify -m "$m" -F "$bad" a.fa
done
if samtools --version > /dev/null 2>&1; then
    records 3000 9 3000 3000 | sed 's/^>.*/>chr1/' > one.fa
    { cat one.fa; echo '>chr2'; sed -n 2p one.fa | cut -c 1-500; } > ref.fa
    seq=$(sed -n 2p one.fa)
    part() { printf '%s' "$seq" | cut -c "$1-$(($1 + 59))"; }
    {
        printf '@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:3000\n@SQ\tSN:chr2\tLN:500\n'
        for r in '1 99 p' '101 147 p' '301 0 single' '301 256 second' '501 1024 dup' '901 2064 supp'
        do
            set -- $r
            printf '%s\t%s\tchr1\t%s\t60\t60M\t*\t0\t0\t%s\t*\n' $3 $2 $1 "$(part $1)"
        done
    } > x.sam
    samtools view -b -o x.bam x.sam && samtools index x.bam
    names() { chordseq classify -q -m "$m" "$@" | tail -n +2 | cut -f 1 | tr '\n' ' '; }
    is() { what=$1 want=$2; shift 2; names "$@" > got; T "$what" test "$(cat got)" = "$want"; }
    is 'mates keep their names'          'p/1 p/2 single dup '               x.bam
    is 'as from SAM'                     'p/1 p/2 single dup '               x.sam
    is '-F takes the place of the default' 'p/1 p/2 single second supp '     -F 0x400 x.bam
    is '-F by names'                     'p/1 p/2 single '    -F DUP,SECONDARY,SUPPLEMENTARY x.bam
    is '-f asks for flags'               'p/1 p/2 '                          -f 1 x.bam
    is 'a region'                        'p/2 single '                       -r chr1:120-310 x.bam
    is 'regions, each alignment once'    'p/2 single dup '  -r chr1:120-310 -r chr1:300-600 x.bam
    is 'a reference without alignments'  ''                                  -r chr2 x.bam
    printf 'chr1\t119\t310\n' > one.bed; printf 'chr1\t299\t600\n' > two.bed; : > none.bed
    is 'regions of a BED file'           'p/2 single '                       -R one.bed x.bam
    printf 'track name=x\r\n# n\r\n \r\nchr1  119 310 name one \r\n' > blanks.bed
    is 'with blanks between columns, as samtools reads them' 'p/2 single '  -R blanks.bed x.bam
    is 'after those of -r'               'p/2 single dup '  -r chr1:120-310 -R two.bed x.bam
    # Against a model: spliced, placed without being mapped, of two contigs, near and far apart.
    T 'random regions of BAM and CRAM' sh -c 'awk "BEGIN { srand(5); OFS = \"\t\"
            print \"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:200000\n@SQ\tSN:b\tLN:90000\"
            for (c = 0; c < 2; c++) for (p = 1; p < (c ? 80000 : 150000); p += int(1000 * rand() ^ 3)) {
                k = int(7 * rand()); n = int(20000 * rand())
                print \"r\" i++, k ? 0 : 4, c ? \"b\" : \"a\", p, 60, k == 0 ? \"*\" : k == 1 ? \"20M\" n \"N20M\" : \
                    k == 2 ? \"5S20M9D15M\" : k == 3 ? \"10H20=3I17X\" : \"40M\", \"*\", 0, 0, \
                    \"ACGTTGCAACGGTTCCAAGATTACAGATTACACCGGTTAC\", \"*\" } }" > random.sam
        samtools view -b -o random.bam random.sam && samtools index random.bam || exit
        samtools view -C --output-fmt-option no_ref=1 --output-fmt-option seqs_per_slice=20 -o random.cram random.sam &&
            samtools index random.cram || exit
        for seed in 1 2 3 4 5 6 7 8; do
            awk "BEGIN { srand($seed); for (i = 0; i < 1 + $seed ^ 2; i++) { c = rand() < 0.4
                p = int((c ? 80000 : 180000) * rand()); print (c ? \"b\" : \"a\") \"\t\" p \"\t\" p + 1 + int(10 ^ (4 * rand())) } }" > random.bed
            awk -F "\t" -v n=0 "FNR == NR { c[n] = \$1; from[n] = \$2; to[n++] = \$3; next } /^@/ { next }
                { len = 0; s = \$6; while (match(s, /^[0-9]+./)) { op = substr(s, RLENGTH, 1)
                      if (op ~ /[MDN=X]/) len += substr(s, 1, RLENGTH - 1); s = substr(s, RLENGTH + 1) }
                  end = \$4 - 1 + (\$2 == 4 || len == 0 ? 1 : len)
                  for (k = 0; k < n; k++) if (c[k] == \$3 && from[k] < end && \$4 - 1 < to[k]) { print \$1; break } }" \
                random.bed random.sam > want
            for o in "-@ 1 random.bam" "-@ 8 random.bam" random.cram; do
                chordseq classify -q -m "$1" -R random.bed $o | tail -n +2 | cut -f 1 | cmp - want || exit; done
            cat want; done | sort -u | awk "END { exit NR < 300 }"' - "$m"
    is 'alignments by an expression'     'p/1 p/2 single '                   -e 'pos < 400' x.bam
    is 'from SAM, besides flags'         'single supp ' -e 'rname == "chr1"' -F 0x501 x.sam
    is 'in regions'                      'single '                -r chr1:120-310 -e 'pos > 200' x.bam
    N expr.err              chordseq classify -m "$m" -e 'pos <' x.bam
    N expr-fasta.err        chordseq classify -m "$m" -e 'pos < 400' a.fa
    for o in '-f 1' '-F DUP' '--exclude-flags=4'; do
        T "$o is not for FASTA" sh -c "! chordseq classify -m '$m' $o a.fa 2> msgs && grep -q 'a.fa. cannot be filtered with --.*-flags, which is for SAM' msgs"
    done
    T '-F 0 is, as it excludes none' chordseq classify -q -m "$m" -F 0 a.fa
    N region-none.err       chordseq classify -m "$m" -R none.bed x.bam
    N region-stdin.err      sh -c 'chordseq classify -m "$1" -R one.bed < x.bam' - "$m"
    for f in sam bam; do is "--input-fmt $f" 'p/1 p/2 single dup ' --input-fmt $f x.$f; done
    N fmt-bam.err           chordseq classify -m "$m" --input-fmt bam x.sam
    is 'pairs of a BAM sorted by name'   'p '                    --interleaved -f PAIRED x.bam
    with samtools T 'orphans of samtools collate, and their alignments' sh -c "samtools collate -Ou x.bam |
        chordseq classify -m '$m' --interleaved --bam tagged.bam -o got.tsv - 2> msgs && grep -q 'have no adjacent mate' msgs &&
        [ \"\$(tail -n +2 got.tsv | cut -f 1 | sort | tr '\n' ' ')\" = 'dup p single ' ] && [ \$(samtools view -c tagged.bam) = 4 ]"
    # Mate 2 before mate 1: alignments stay sorted.
    T 'alignments of pairs, in the order of the input' sh -c "sed 's/^p	99/p	163/; s/^p	147/p	83/' x.sam | samtools view -b -o turned.bam - &&
        chordseq classify -q -m '$m' --interleaved --bam same.bam -W -o same.tsv turned.bam && samtools view -F 0x900 turned.bam | cut -f 1-11 > a &&
        samtools view same.bam | cut -f 1-11 | cmp - a && [ \"\$(sed -n 2p same.tsv | cut -f 1,2)\" = 'p	60|60' ]"
    sed 's/chr1/1/; s/chr2/chr20/' x.sam | samtools view -b -o bare1.bam - && samtools index bare1.bam
    N region-other.err      chordseq classify -m "$m" -r chr1:1-5 bare1.bam
    N region-other2.err     chordseq classify -m "$m" -r 20 bare1.bam
    N region-order.err      chordseq classify -m "$m" -r chr1:9-5 x.bam
    N region-brace.err      chordseq classify -m "$m" -r "{chr1" x.bam
    N region-unknown.err    chordseq classify -m "$m" -r chr9:1-5 x.bam
    printf '9\t0\t5\n' > nine.bed
    N region-contig.err     chordseq classify -m "$m" -R nine.bed x.bam
    T 'a list of regions with commas is refused with the remedy' sh -c "for r in chr1:1-5,chr2 chr1,chr2 chr1:1-5,chr2:1-5; do
        ! chordseq classify -q -m '$m' -r \$r x.bam 2> msgs && grep -q '; give several regions one by one, not as a list with commas\$' msgs || exit; done"
    N region-sam.err        chordseq classify -m "$m" -r chr1 x.sam
    cp x.bam bare.bam
    N region-index.err      chordseq classify -m "$m" -r chr1 bare.bam
    # An index of another name.
    mkdir -p idx && mv x.bam.bai idx/x.bai 2> /dev/null || samtools index x.bam idx/x.bai; rm -f x.bam.bai
    is 'a given index'                   'p/2 single '           -r chr1:120-310 x.bam##idx##idx/x.bai
    is 'is not needed without regions'   'p/1 p/2 single dup '   x.bam##idx##idx/none.bai
    T 'in a run that can be resumed'     sh -c "chordseq classify -q -m '$m' -r chr1:120-310 -o want.tsv x.bam##idx##idx/x.bai &&
        chordseq classify -q -m '$m' -r chr1:120-310 -o got.tsv --resume x.bam##idx##idx/x.bai && cmp got.tsv want.tsv"
    T 'a given index that is none is named' sh -c "for i in none.bai ../one.bed; do ! chordseq classify -q -m '$m' -r chr1 x.bam##idx##idx/\$i 2> msgs &&
        grep -q \"cannot read .idx/\$i. as the index of .x.bam.\" msgs || exit; done"
    T 'a pipe is not an index' sh -c "mkfifo idx/pipe; timeout -s KILL 20 chordseq classify -q -m '$m' -r chr1 x.bam##idx##idx/pipe 2> msgs;
        [ \$? = 2 ] && rm idx/pipe && grep -q 'cannot use .idx/pipe. as the index of .x.bam.: it is not a regular file' msgs"
    T 'an old index is reported' sh -c "touch -d '2 hours ago' idx/x.bai && chordseq classify -q -m '$m' -r chr1 x.bam##idx##idx/x.bai > got 2> msgs &&
        grep -q 'the index .idx/x.bai. is older than .x.bam.' msgs && touch idx/x.bai"
    T 'no output overwrites it' sh -c "! chordseq classify -q -m '$m' -r chr1 -o idx/x.bai x.bam##idx##idx/x.bai 2> msgs &&
        grep -q 'is the same file as input .idx/x.bai' msgs"
    T 'a file is not its own mate by another index' sh -c "! chordseq classify -q -m '$m' -1 x.bam##idx##idx/x.bai -2 x.bam 2> msgs &&
        grep -q 'x.bam. is given for -1 and for -2' msgs"
    T 'a missing file with one is named' sh -c "! chordseq classify -q -m '$m' -r chr1 no.bam##idx##idx/x.bai 2> msgs &&
        grep -q 'cannot open .no.bam.' msgs"
    cp idx/x.bai x.bam.bai

    # References of CRAM: from --reference, REF_CACHE and REF_PATH; never from a network.
    samtools faidx ref.fa
    samtools view -C -T ref.fa -o x.cram x.sam 2> /dev/null && samtools index x.cram
    samtools view -H x.cram | sed 's/\tUR:[^\t]*//' > bare.sam &&
        samtools reheader -P bare.sam x.cram > gone.cram 2> /dev/null && samtools index gone.cram
    md5=$(samtools view -H gone.cram | sed -n 's/^@SQ.*SN:chr1.*M5:\([0-9a-f]*\).*/\1/p')
    mkdir -p cache
    tail -n +2 one.fa | tr -d '\n' > "cache/$md5"
    is '--reference'    'p/1 p/2 single dup '   --reference ref.fa gone.cram
    is '-T'             'p/1 p/2 single dup '   --input-fmt cram -T ref.fa gone.cram
    is 'fields of an expression' 'p/1 p/2 single '     -e 'pos < 400 && mapq == 60' -T ref.fa gone.cram
    REF_PATH=$PWD/cache/%s; export REF_PATH
    is 'REF_PATH'       'p/1 p/2 single dup '   gone.cram
    is 'and a region'   'p/2 single '           -r chr1:120-310 gone.cram
    mv gone.cram.crai idx
    is 'and its index'  'p/2 single '           -r chr1:120-310 gone.cram##idx##idx/gone.cram.crai
    mv idx/gone.cram.crai .
    unset REF_PATH
    REF_CACHE=$PWD/cache/%s; export REF_CACHE
    is 'REF_CACHE'      'p/1 p/2 single dup '   gone.cram
    unset REF_CACHE
    T 'a reference is no pipe' sh -c 'mkfifo wait && for o in gone.cram "--bam t.cram x.sam"; do
        ! timeout 20 chordseq classify -m "$1" -o t.tsv -T wait $o 2> msgs && grep -q "reference .wait.: it is not a regular file" msgs || exit; done' - "$m"
    # htslib 1.23 waits for the pipe, and crashes with the folder.
    T 'its index is a file' sh -c 'cp ref.fa noidx.fa && for make in mkfifo mkdir; do
        rm -rf noidx.fa.fai && $make noidx.fa.fai || exit; for o in gone.cram "--bam t.cram x.sam"; do
            timeout -s KILL 20 chordseq classify -m "$1" -o t.tsv -T noidx.fa $o 2> msgs
            [ $? = 2 ] && grep -q "cannot use .noidx.fa.fai. as the index of .noidx.fa.: it is not a regular file" msgs || exit
        done; done; timeout -s KILL 20 chordseq diplotype -f noidx.fa x.sam 2> msgs; [ $? = 2 ]' - "$m"
    # As from a file: containers of a stream are checked before htslib reads them.
    for n in 1 2 3 4 5 6 7 8 9; do cat x.sam; done | awk '!/^@/ || !seen[$0]++' | samtools sort -O sam -o many.sam - 2> /dev/null
    for v in 2.1 3.0 3.1; do
        samtools view -C -T ref.fa --output-fmt-option version=$v --output-fmt-option seqs_per_slice=7 -o many.cram many.sam 2> /dev/null
        samtools index many.cram && names --reference ref.fa many.cram > want
        T "CRAM $v from pipes and descriptors, with threads, in regions" sh -c '
            c="chordseq classify -q -m $1 --reference ref.fa"; list() { tail -n +2 | cut -f 1 | tr "\\n" " "; }
            cat many.cram | $c - | list | cmp - want && $c - < many.cram | list | cmp - want &&
            $c -@ 3 many.cram | list | cmp - want && $c -r chr1:1-200 -r "*" many.cram | list > some &&
            samtools view -T ref.fa -F 0x900 many.cram chr1:1-200 "*" | wc -l > n && [ "$(wc -w < some)" = $(cat n) ]' - "$m"
    done
    # Three contigs with spliced reads, in slices of four alignments.
    awk 'BEGIN { for (i = 0; i < 1000; i++) s = s "A"; for (c = 1; c < 4; c++) print ">s" c "\n" s }' > s.fa
    awk 'BEGIN { OFS = "\t"; print "@HD", "VN:1.6", "SO:coordinate"; for (i = 0; i < 30; i++) s = s "A"
        for (c = 1; c < 4; c++) print "@SQ", "SN:s" c, "LN:1000"
        for (c = 1; c < 4; c++) for (i = 0; i < 70; i++)
            print "s" c "." i, 0, "s" c, 1 + 10 * i, 60, i % 7 == 3 ? "2M200N28M" : "30M", "*", 0, 0, s, "*" }' > s.sam
    samtools view -b -o s.bam s.sam && samtools index s.bam
    samtools view -C -T s.fa --output-fmt-option seqs_per_slice=4 -o s.cram s.sam && samtools index s.cram
    for r in '-r s1 -r s2' '-r s2 -r s1:300 -r s3:4-5' '-r s3:1-9 -r s2:200-340 -r s2:340-500' '-r s1:330'; do
        T "alignments of $r, from BAM and CRAM, with and without threads" sh -c "
            samtools view -M s.bam $(echo "$r" | sed 's/-r//g') | cut -f 1 > want && [ -s want ] && for o in s.bam '-T s.fa s.cram'; do for t in 1 17; do
                chordseq classify -q -m '$m' -@ \$t $r \$o | tail -n +2 | cut -f 1 | cmp - want || exit; done; done"
    done
    T 'no download at run time; an error at once' sh -c "
        ! HOME=/nonexistent timeout 20 chordseq classify -m '$m' gone.cram > /dev/null 2> net.err &&
        [ \$? != 124 ] && grep -q 'a reference is needed (--reference FILE)' net.err"
else
    S 'alignments' 'no samtools'
fi

T 'a missing file or a folder is reported before the first input is read' sh -c 'for f in gone .; do
    ! chordseq classify -m "$1" -o x.tsv bad.fa "$f" 2> msgs && grep -q "cannot [a-z]* .$f.:" msgs || exit
    ! chordseq classify -m "$1" -1 bad.fa -2 "$f" 2> msgs && grep -q "cannot [a-z]* .$f.:" msgs || exit; done' - "$m"

T 'the input is opened before the model' sh -c '! chordseq classify -m no-model -o x.tsv gone 2> msgs && grep -q "open .gone.:" msgs'

# ---- files that change while they are read -------------------------------------------------------

# while_reading CHANGE FILE: run until its reader stops; change the file; continue
cat > while_reading <<'END'
#!/bin/sh
{ chordseq classify -@ 1 --chunks-in-flight 1 -m "$m" "$2" 2> msgs; echo $? > status; } | { read -r line; read -r line; sh -c "$1"; cat > /dev/null; }
END
chmod +x while_reading; export m
records 1500000 9 100 100 > steady.fa
cp steady.fa change.fa
T 'a file that shrinks is an error' sh -c './while_reading ": > change.fa" change.fa && [ "$(cat status)" = 1 ] &&
    grep -q "change.fa. shrank from [0-9]* to 0 bytes while it was read" msgs'
cp steady.fa change.fa
T 'a file that grows is a warning' sh -c './while_reading "printf \">x\\nACGT\\n\" >> change.fa" change.fa && [ "$(cat status)" = 0 ] &&
    grep -q "warning: .*change.fa. grew from [0-9]* to [0-9]* bytes while it was read" msgs'
T 'a replaced file is read as opened' sh -c './while_reading "cp steady.fa new.fa; mv new.fa change.fa" change.fa &&
    [ "$(cat status)" = 0 ] && ! grep -q "while it was read" msgs'

# ---- files that declare gigabytes ----------------------------------------------------------------

# itf8 NUMBER: five bytes; cram RECORDS LENGTH: CRAM 2.1 of one slice, whose reads have one length;
# apart METHOD FILE SIZE: the length of its one read is in a block of its own, the file, of SIZE bytes unpacked
byte() { printf "\\$(printf %03o $(($1 & 255)))"; }
itf8() { byte $((240 | $1 >> 28)); byte $(($1 >> 20)); byte $(($1 >> 12)); byte $(($1 >> 4)); byte $(($1 & 15)); }
cram()
{
    printf 'CRAM\2\1--------------------'
    printf '\24\0\0\0\0\0\0\0\0\0\1\0\0\0\0\17\17\13\0\0\0@HD\tVN:1.6\n'
    printf '\76\0\0\0\0\0\0\1\0\0\3\1\27'
    printf '\0\1\0\22\22\1\0\15\1RL\3\10\1'; itf8 $2; printf '\1\0\1\0'
    printf '\0\2\0\35\35\0\0\0'; itf8 $1; printf '\0\1\1\1\0----------------\0\5\0\0\0'
}
apart()
{
    n=$(($(wc -c < $2)))
    printf 'CRAM\2\1--------------------'
    printf '\42\0\0\0\0\0\0\0\0\0\1\0\0\0\0\35\35\31\0\0\0@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n'
    byte $((n + 57)); printf '\0\0\0\0\1\1\1\0\0\4\1\20'
    printf '\0\1\0\13\13\1\0\6\1RL\1\1\7\1\0'
    printf '\0\2\0\32\32\0\1\1\1\0\2\2\0\7\0----------------\0\5\0\0\0'
    byte $1; printf '\4\7'; byte $n; byte $3; cat $2
}
itf8 1900000000 > rl; gzip -nc rl > rl.gz
{ printf '\0\11\0\0\0\0\0\0\160'; cat rl; } > rans
apart 0 rl 5 > apart.cram; apart 1 rl.gz 5 > zipped.cram; apart 4 rans 5 > codec.cram
{ printf 123456789; cat apart.cram; } > after.cram
printf '0\t1\t9\t72\t16\t46\n' > apart.cram.crai; printf '>c\nACGTACGTA\n' > c.fa
cram 1 1900000000 > long.cram
cram 2000000000 1 > many.cram
cram 1 54 > small.cram
N guard-length.err   chordseq classify -m "$m" long.cram
N guard-records.err  chordseq classify -m "$m" many.cram
N guard-sum.err      chordseq classify -m "$m" apart.cram
N guard-codec.err    chordseq classify -m "$m" codec.cram
N guard-region.err   chordseq classify -m "$m" -r c:1-9 apart.cram
N guard-stdin.err    sh -c 'cat zipped.cram | chordseq classify -m "$1" -' - "$m"
N guard-reads.err    chordseq diplotype -f c.fa apart.cram
T 'from a descriptor at an offset; reads from a pipe' sh -c '
    ! { dd bs=1 count=9 > /dev/null 2>&1; chordseq classify -m "$1" - 2> msgs; } < after.cram && grep -q "declares 1900000000 bases" msgs &&
    ! cat zipped.cram | chordseq diplotype -f c.fa - 2> msgs && grep -q "declares 1900000000 bases" msgs' - "$m"
T 'plausible sizes are passed to htslib' sh -c "! chordseq classify -m '$m' small.cram 2> msgs && ! grep declares msgs"
printf 'BAM\1\377\377\377\177' | gzip -c > text.bam
printf 'BAM\1\0\0\0\0\377\377\377\177' | gzip -c > references.bam
T 'the header of a BAM file is checked' sh -c "for f in text references; do
    ! chordseq classify -m '$m' \$f.bam 2> msgs &&
    grep -q \"the header declares 2147483647.* \$f, more than a file\" msgs || exit; done"

# Files of variants and alignments that are not: of other compression, of no known format, cut, or standard input.
cp "$tiny/variants.fa" "$tiny/variants.vcf" .
# not_read COMMAND WORDS FILE: status STATUS, with WORDS in the message
not_read() { T "${1%% *}: $2" sh -c 'chordseq $1 $4 -f variants.fa -o gone.out -i "$3" < "$5" 2> msgs; [ $? = "$6" ] &&
    grep -q "$2" msgs && [ "$(grep -c . msgs)" = 1 ] && [ ! -e gone.out ]' - "$1" "$2" "$3" "${4:-}" "${5:-/dev/null}" "${6:-1}"; }
printf 'one\t1\t5\n' > some.bed
gzip -c variants.vcf | head -c 30 > cut.vcf.gz
for f in vcf sam; do
    if command -v xz > /dev/null; then { [ $f = vcf ] && cat variants.vcf || printf '@SQ\tSN:one\tLN:1000\n'; } | xz > some.$f.xz; fi
done
for c in "variant -m $m -w 128" diplotype; do
    not_read "$c" "'some.bed' is not a .*VCF or BCF file" some.bed
    not_read "$c" "'cut.vcf.gz' has compressed data without text; it is empty or truncated" cut.vcf.gz
    not_read "$c" "'standard input' has no index, which regions need; give the file itself" - '-r one:1-5' variants.vcf 2
    for f in some.*.xz; do
        [ ! -e "$f" ] || not_read "$c" "'$f' is compressed with xz, which is not supported; decompress it first" "$f"
    done
done
T 'a reference is a file' sh -c '! chordseq variant -m "$m" -f - -i variants.vcf -o gone.out < variants.fa 2> msgs &&
    grep -q "the reference cannot be standard input" msgs'

T 'a file that is given twice, by any path, is reported' sh -c 'cp "$tiny/mixed.fa" repeated.fa && ln -s repeated.fa again.fa && echo ./repeated.fa > again.list &&
    chordseq classify -q -m "$tiny/model.safetensors" repeated.fa "$tiny/reads.fq" again.fa --input-list again.list > out 2> msgs &&
    grep -qx "chordseq: warning: 2 of 4 input files were given before and are read again; first: .again.fa." msgs &&
    for f in repeated.fa "$tiny/reads.fq"; do chordseq classify -q -m "$tiny/model.safetensors" repeated.fa "$tiny/reads.fq" "$f" > out 2> msgs &&
        grep -qx "chordseq: warning: 1 of 3 input files was given before and is read again; first: .$f." msgs || exit; done'

# ---- archives ------------------------------------------------------------------------------------

with tar T 'a tar archive is named' sh -c 'cp "$tiny/mixed.fa" . && tar -cf all.tar mixed.fa && gzip -c all.tar > all.tar.gz &&
    for f in all.tar all.tar.gz -; do ! chordseq classify -q -m "$tiny/model.safetensors" $f < all.tar.gz 2> msgs &&
    grep -q "is a tar archive; extract its files" msgs || exit; done && tar -xOf all.tar.gz | chordseq classify -q -m "$tiny/model.safetensors" - > out'
with tar T 'a tar archive given as variants is named' sh -c 'for f in all.tar all.tar.gz -; do for c in variant diplotype; do
    ! chordseq $c -q -f "$tiny/variants.fa" $f < all.tar.gz > out 2> msgs && grep -q "is a tar archive; extract its files" msgs || exit; done; done'
T 'a zip archive is named' sh -c 'printf "PK\003\004\024\000\000\000" > all.zip && for f in all.zip -; do
    ! chordseq classify -q -m "$tiny/model.safetensors" $f < all.zip 2> msgs && grep -q "is a zip archive; extract its files (unzip), or pipe them in: unzip -p" msgs &&
    ! chordseq variant -q -f "$tiny/variants.fa" $f < all.zip > out 2> msgs && grep -q "is a zip archive; extract its files" msgs || exit; done'

T 'a BGZF file without its last block is read to its end, with a warning' sh -c '! command -v bgzip > path || {
    bgzip -c "$tiny/mixed.fa" | head -c -28 > cut.fa.gz && chordseq classify -m "$1" -o cut.tsv cut.fa.gz "$tiny/strands.fa" 2> msgs &&
    chordseq classify -q -m "$1" "$tiny/mixed.fa" "$tiny/strands.fa" | cmp - cut.tsv &&
    grep -q "warning: the BGZF end marker is missing in 1 of 2 inputs, which may be truncated; first: .cut.fa.gz" msgs; }' - "$m"
