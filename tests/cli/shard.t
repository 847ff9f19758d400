# shard.t - merged outputs of shards equal those of one run.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
cat > shards <<'END'
#!/bin/sh
# shards N NAME CMD...: NAME.I.EXT of all parts, where CMD's words say OUT.EXT, and their manifests
n=$1 name=$2; shift 2
for i in $(seq "$n"); do
    cmd=$(echo "$@" | sed "s|OUT\.|$name.$i.|g")
    chordseq $cmd -q -@ $((i % 3 + 1)) --shard "$i/$n" --manifest "$name.$i.json" < "${in:-/dev/null}" || exit
done
END
cat > same <<'END'
#!/bin/sh
# same NUMBERS OPTIONS CMD...: for every N of NUMBERS the merged outputs are those of one run.
# Words OUT.EXT in OPTIONS name outputs.
numbers=$1 options=$2; shift 2
rm -rf ref; mkdir ref
chordseq "$@" -q $(echo "$options" | sed 's|OUT\.|ref/all.|g') < "${in:-/dev/null}" || exit
for n in $numbers; do
    rm -f p.* all.*
    shards "$n" p "$@" $options || exit
    chordseq merge -q $(echo "$options" | sed 's|OUT\.|all.|g; s/--all\|--no-version\|--use-names//; s/--format [a-z]*//') \
        $(ls p.*.json | sort -r) || exit
    for f in ref/*; do cmp "$f" "${f#ref/}" || exit; done
done
END
chmod +x shards same
PATH=$tmp:$PATH

lines='-o OUT.tsv --all --jsonl OUT.jsonl --kraken OUT.kraken --cami-binning OUT.binning'
c="classify -m $tiny/model.safetensors"
e="embed -m $tiny/model.safetensors"

# ---- every output --------------------------------------------------------------------------------

"$builddir/tests/bench/gen_fasta" 61440 1 10 60 > many.fa
printf '>empty\n>short\nA\n>unknown\nNNNNNNNNNNNN\n' > odd.fa
T 'lines, for 1, 2, 3 and 7 parts' same '1 2 3 7' "$lines" $c many.fa odd.fa
T 'parts have equal shares' sh -c 'for i in 1 2 3 4 5 6 7; do
    n=$(wc -l < p.$i.tsv) all=$(wc -l < all.tsv)
    [ $((9 * n)) -gt $all ] && [ $((5 * n)) -lt $all ] || exit; done'
T 'vectors' same 3 '-o OUT.npy' $e many.fa odd.fa
T 'row names of vectors' sh -c 'cmp ref/all.npy.names.tsv all.npy.names.tsv && [ $(wc -l < all.npy.names.tsv) -gt 1000 ]'
T 'names elsewhere' same 3 '-o OUT.npy --names OUT.txt' $e odd.fa
T 'vectors as a table' same 3 '-o OUT.tsv --format tsv' $e many.fa
# Outputs that merge does not join.
T 'folders and alignments beside a manifest' sh -c 'shards 3 f $1 many.fa -o OUT.tsv --split-dir OUT.d --bam OUT.bam &&
    chordseq $1 -q many.fa --split-dir f.d --bam f.bam --no-PG' - "$c"
T 'folders joined by cat' sh -c 'ls f.d | grep -q . && for p in f.d/*; do cat f.[123].d/${p#f.d/} | cmp - $p || exit; done'
with samtools T 'alignments by samtools' sh -c 'samtools view f.bam > f.sam && samtools cat f.1.bam f.2.bam f.3.bam |
    samtools view - | cmp - f.sam && [ -s f.sam ]'
T 'more parts than records' same 7 "$lines" $c odd.fa
T 'some shards are empty' sh -c 'for i in 1 2 3 4 5 6 7; do ! grep -q "\"records\":0," p.$i.json ||
    { [ $(wc -l < p.$i.tsv) = 1 ] && [ ! -s p.$i.jsonl ] && empty=y; } || exit; done; [ "$empty" ]'
T 'parts by number' env in=odd.fa same 7 "$lines" $c -
T 'no records at all' sh -c ': > none.fa && same 3 "$1" $2 none.fa && same 2 "-o OUT.npy" $3 none.fa' - "$lines" "$c" "$e"

# reports NAME CMD...: reports from counts equal those of one run
reports()
{
    r='--report OUT.kreport --krona OUT.krona --cami-profile OUT.profile --summary OUT.json'
    rm -rf ref p.*; mkdir ref
    (cd ref && exec chordseq "$@" -q -o all.tsv $(echo "$r" | sed 's|OUT\.|all.|g')) &&
    (cd ref && shards 3 ../p "$@" -o OUT.tsv --html OUT.html) &&
    chordseq merge -q -o all.tsv $(echo "$r" | sed 's|OUT\.|all.|g') p.*.json || return
    for f in tsv kreport krona profile; do cmp ref/all.$f all.$f || return; done
    for f in ref/all.json all.json; do
        sed '/"command_line"/d; s/"threads": "[0-9]*"//' $f > $f.same
    done
    cmp ref/all.json.same all.json.same
}
T 'reports' reports $c --sample s1 ../many.fa ../odd.fa
d=$srcdir/refdata/model/default.safetensors
head -n 400 many.fa > few.fa
T 'reports by taxa above classes' reports classify -m "$d" --call taxon --min-prob 0.9 ../few.fa ../odd.fa

# ---- every input ---------------------------------------------------------------------------------

fq=$tiny/reads.fq
gzip -c "$fq" > reads.fq.gz
awk 'NR % 4 == 1 { $1 = $1 "/1" } { print }' "$fq" > r1.fq
awk 'NR % 4 == 1 { $1 = $1 "/2" } { print }' "$fq" | gzip -c > r2.fq.gz
awk 'NR == FNR { a[FNR] = $0; next } { b = b $0 "\n" } FNR % 4 == 0 { for (i = FNR - 3; i <= FNR; i++) print a[i]
    printf "%s", b; b = "" }' r1.fq - <<END > both.fq
$(gzip -dc r2.fq.gz)
END
T 'FASTQ' same 3 "$lines" $c "$fq"
T 'gzip, and another file' same 3 "$lines" $c reads.fq.gz many.fa
T 'a pipe' env in=reads.fq.gz same 3 "$lines" $c -
T 'a list of files' sh -c 'printf "many.fa\n%s\n" "$2" > list && same 2 "-o OUT.tsv" $1 --input-list list' - "$c" "$fq"
T 'pairs of two files' same '2 7' "$lines" $c -1 r1.fq -2 r2.fq.gz
T 'interleaved pairs' same 3 "$lines" $c --interleaved both.fq
cat > single.fa <<'END'
>a/1
ACGTACGTACXTTGCA
>single1
ACGTXACGTTTGCAAG
>b/1
ACGTACGTACGTTGCA
>b/2
ACGTACGTACGTTGCA
>single2
ACGTACXTACGTTGCA
END
T 'a part warns of its own records without a mate, and of its own with X' sh -c 'warns() { grep -q "warning: $1.*$2.*first: .$3.\$" msgs; }
    chordseq $1 --interleaved -o mates.tsv single.fa 2> msgs && warns "3 of 4" "have no adjacent mate" a/1 && warns "3 of 5" "contain X" a/1 &&
    chordseq $1 --interleaved --shard 1/2 -o mates.tsv single.fa 2> msgs && warns "1 of 2" "has no adjacent mate" a/1 &&
    chordseq $1 --interleaved --shard 2/2 -o mates.tsv single.fa 2> msgs && warns "2 of 2" "have no adjacent mate" single1 &&
    chordseq $1 --shard 1/2 -o mates.tsv - < single.fa 2> msgs && warns "2 of 3" "contain X" a/1 &&
    chordseq $1 --shard 2/2 -o mates.tsv - < single.fa 2> msgs && warns "1 of 2" "contains X" single1' - "$c"
T 'vectors of pairs' same 3 '-o OUT.npy' $e --interleaved both.fq
alignments()
{
    cp "$tiny/strands.fa" "$tiny/strands.fa.fai" .
    grep -v '^noseq' "$tiny/strands.sam" | samtools sort -O sam -o s.sam - 2> /dev/null
    samtools view -b -o s.bam s.sam && samtools view -C -T strands.fa -o s.cram s.sam || return
    for f in "$tiny/strands.sam" s.bam "--reference strands.fa s.cram"; do
        same 2 "$lines" $c $f || return
    done
}
with samtools T 'SAM, BAM and CRAM' alignments
region_reports()
{
    contig=$(sed -n '1s/^>\([^ ]*\).*/\1/p' strands.fa) && samtools index s.bam && reports $c -r "$contig:1-200" -r "$contig:300-400" ../s.bam &&
    grep -q "\"region\": \[\"$contig:1-200\", \"$contig:300-400\"\]" ref/all.json
}
with samtools T 'reports of regions, which the options of the summary name' region_reports

# ---- parts by bytes ------------------------------------------------------------------------------

# reads COMMENT-EVERY WIDTH: FASTQ with qualities that look like headers, and some comments
reads()
{
    awk -v every="$1" -v width="$2" 'function rand_() { x = x * 16807 % 2147483647; return x / 2147483647 }
        function put(s, i) { for (i = 1; i <= length(s); i += width) print substr(s, i, width) }
        BEGIN { x = 7; for (r = 0; r < 1200; r++) { n = 20 + int(300 * rand_()); s = q = ""
        while (length(s) < n) { s = s substr("ACGTTGCAAG", 1 + int(6 * rand_()), 5)
            q = q substr("@r7+\nIIII>+~@A!@r12", 1 + int(12 * rand_()), 5); gsub(/\n/, "@", q) }
        print "@r" r (r % every ? "" : " c" r); put(s); print "+" (r % 3 ? "" : "r" r); put(q)
        if (r % 50 == 0) print "" } }'
}
"$builddir/tests/bench/gen_fasta" 409600 3 1 3000 > long.fa
reads 1 1000 > plenty.fq
reads 40 60 > some.fq
reads 5000 1000 > none.fq
bytes() { same "$@" && grep -q '"by":"bytes"' p.1.json; }
T 'FASTA' bytes 7 '-o OUT.tsv' $c long.fa
T 'DOS' sh -c 'sed "s/$/\r/" long.fa > dos.fa && same 3 "-o OUT.tsv" $1 dos.fa' - "$c"
T 'old Macintosh' sh -c 'tr "\n" "\r" < long.fa > mac.fa && same 3 "-o OUT.tsv" $1 mac.fa' - "$c"
T 'FASTQ' bytes 5 '-o OUT.txt --format tsv' $e plenty.fq
T 'FASTQ of several lines with few comments' bytes 7 '-o OUT.tsv' $c some.fq
T 'FASTQ without comments' bytes 3 '-o OUT.tsv' $c none.fq
T 'several files' bytes 7 '-o OUT.tsv' $c odd.fa some.fq none.fa long.fa "$fq"
T 'a record longer than a part' sh -c '{ cat odd.fa; echo ">long"; sed 1d long.fa | tr -d "\n>" | tr -c ACGT A
    echo; cat odd.fa; } > one.fa && same 7 "-o OUT.tsv" $1 one.fa' - "$c"
bgzf()
{
    for f in long.fa some.fq plenty.fq; do bgzip -c $f > $f.gz && bytes 4 '-o OUT.tsv' $c $f.gz || return; done
    gzip -c plenty.fq | cat some.fq.gz - plenty.fq.gz > mixed.fq.gz
    bytes 5 '-o OUT.tsv' $c mixed.fq.gz long.fa.gz || return
    # An index is read for parts that begin beyond the first 64 kB.
    bgzip -c mac.fa > other.gz && cp long.fa.gz i.gz && [ $(wc -c < i.gz) -gt 120000 ] || return
    head -c 300 i.gz > i.gz.gzi && bytes 4 '-o OUT.tsv' $c i.gz || return
    bgzip -r i.gz && cp i.gz.gzi true.gzi || return
    { head -c 8 true.gzi; tail -c +10 true.gzi; printf '\0'; } > i.gz.gzi
    bytes 4 '-o OUT.tsv' $c i.gz && cp true.gzi i.gz.gzi && bytes 4 '-o OUT.tsv' $c i.gz || return
    cp other.gz i.gz && touch -d 2001-01-01 i.gz.gzi && bytes 4 '-o OUT.tsv' $c i.gz
}
with bgzip T 'BGZF, with gzip in between, with and without an index' bgzf
{ cat plenty.fq; echo '@bad x'; echo ACGT; echo +; echo II; } > bad.fq
N shard_line.txt chordseq $c -q --shard 3/3 -o x.tsv bad.fq
T 'other parts are unaffected' chordseq $c -q --shard 2/3 -o y.tsv bad.fq
T 'a damaged block is reported' sh -c '! command -v bgzip > path || {
    bgzip -c plenty.fq > dam.fq.gz && printf X | dd of=dam.fq.gz bs=1 seek=100000 conv=notrunc 2> /dev/null
    for i in 1 2 3 4; do chordseq $1 -q --shard $i/4 -o y.tsv dam.fq.gz 2> err || cp err msgs; done
    [ -f msgs ] && grep -q "wrong checksum\|damaged" msgs; }' - "$c"

# ---- other commands ------------------------------------------------------------------------------

"$builddir/tests/cli/make_model" token.safetensors 5 tokenizer=base head=token label=sea label=island encoder.hidden=8
for f in bed tsv 'bedgraph --class island'; do
    T "predict as $f" same 3 "-o OUT.bed" predict -m token.safetensors --format $f odd.fa "$tiny/strands.fa"
done
cp "$tiny/variants.fa" "$tiny/variants.vcf" .
v="variant -m $m -f variants.fa -w 128 --circular ring"
T 'variants' same '1 2 3 7' '-o OUT.vcf --tsv OUT.tsv --no-version' $v variants.vcf
T 'variants of a pipe' env in=variants.vcf same 2 '-o OUT.vcf --no-version' $v -
T 'variants are no table' sh -c 'for f in x.csv x.bcf; do
    ! chordseq merge -q -o $f p.*.json 2> msgs && [ ! -e $f ] && grep -q "CSV is for tables; this output is text\|this output is not BCF; this output is text" msgs || exit; done'
T 'the header names the command of the first part' sh -c 'shards 2 v $1 -o OUT.vcf variants.vcf &&
    chordseq merge -q -o all.vcf v.2.json v.1.json && chordseq $1 -q --no-version -o one.vcf variants.vcf &&
    grep -v "^##chordseq" all.vcf | cmp - one.vcf &&
    [ "$(grep -c "^##chordseq_variantCommand=.*--shard 1/2" all.vcf)" = 1 ]' - "$v"

# ---- places --------------------------------------------------------------------------------------

shards 2 p $c -o OUT.tsv --kraken OUT.kraken many.fa
chordseq $c -q -o all.tsv many.fa
g='chordseq merge -q'
T 'a manifest that goes to a named pipe' sh -c 'mkfifo pipe && { cat pipe > piped.json & } &&
    timeout 20 chordseq $2 -q --shard 1/2 --manifest pipe -o piped.tsv many.fa && wait && $1 -o - piped.json p.2.json | cmp - all.tsv' - "$g" "$c"
T 'standard output' sh -c '$1 -o - p.1.json p.2.json | cmp - all.tsv' - "$g"
T 'files moved with their manifests' sh -c 'mkdir a b && mv p.1.* a && mv p.2.* b &&
    $1 -o - b/p.2.json a/p.1.json | cmp - all.tsv' - "$g"
T 'manifests moved alone' sh -c 'mkdir x && mv a/p.* b/p.* . && mv p.1.json p.2.json x &&
    $1 -o - x/p.2.json x/p.1.json | cmp - all.tsv && mv x/* .' - "$g"
T 'options of messages and checks may differ' sh -c 'chordseq $2 -q --force --verbosity 2 --check-finite off --shard 2/2 \
    --manifest forced.json -o forced.tsv many.fa && $1 -o - p.1.json forced.json | cmp - all.tsv' - "$g" "$c"
T 'outputs in folders of their own, merged twice under their name' sh -c 'mkdir d1 d2 && for i in 1 2; do
    chordseq $2 -q --shard $i/2 --manifest d$i.json -o d$i/d.tsv many.fa || exit; done
    $1 -o d.tsv d1.json d2.json && $1 -o d.tsv d1.json d2.json && cmp d.tsv all.tsv' - "$g" "$c"
T 'an output merged under its name if one shard has all records' sh -c 'printf ">r\nACGTACGTAC\n" > r.fa && for i in 1 2; do
    chordseq $2 -q --shard $i/2 --manifest d$i.json --jsonl d$i/d.jsonl -o d$i/d.tsv r.fa || exit; done
    for i in 1 2; do $1 --jsonl d.jsonl d1.json d2.json || exit; done
    cmp d.jsonl d1/d.jsonl && [ ! -s d2/d.jsonl ]' - "$g" "$c"

# The BED file and the device may be in different places, and the BED file must have the same content.
T 'regions of a file in another folder, on a device with another name' sh -c 'mkdir b1 b2 b3 &&
    awk "BEGIN { print \"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:999\"
        for (i = 1; i < 60; i++) print \"r\" i \"\t0\tc\t\" i \"\t9\t8M\t*\t0\t0\tACGTTGCA\t*\" }" > b.sam &&
    chordseq $2 -q --bam b.bam -W b.sam && printf "c\t9\t30\n" | tee b1/r.bed > b2/r.bed && printf "c\t9\t31\n" > b3/r.bed &&
    for i in 1 2 3; do chordseq $2 -q --shard $((i > 1 ? 2 : 1))/2 --manifest b$i.json -o b$i/b.tsv -R b$i/r.bed \
        --device $([ $i = 1 ] && echo auto || echo cpu) b.bam || exit; done
    chordseq $2 -q -R b1/r.bed -o b.tsv b.bam && $1 -o b.both.tsv b1.json b2.json && cmp b.tsv b.both.tsv' - "$g" "$c"
T 'other regions are refused' sh -c '! $1 -o b.both.tsv b1.json b3.json 2> msgs &&
    grep -q "different options: --regions-file is .7 bytes, sha256:.* and .7 bytes, sha256:" msgs' - "$g"
T 'other exons are refused' sh -c 'for i in 1 2 3; do mkdir e$i && printf "c1\t$((i > 2 ? 8 : 7))\t9\tx\t0\t+\n" > e$i/e.bed || exit
    chordseq $2 -q --shard $((i > 1 ? 2 : 1))/2 --manifest e$i.json -o e$i/e.vcf --exons e$i/e.bed variants.vcf || exit; done
    $1 -o e.vcf e1.json e2.json && ! $1 -o e.vcf e1.json e3.json 2> msgs && grep -q "different options: --exons is .1[0-9] bytes, sha256:" msgs' - "$g" "$v"

# ---- refusals ------------------------------------------------------------------------------------

mkdir other
for o in '--min-prob 0.5' '--strand both' '--max-unknown 0.5'; do
    chordseq $c -q --shard 2/2 --manifest "other/2${o%% *}.json" -o other/2.tsv $o many.fa
done
chordseq $c -q --shard 2/2 --manifest other/2.input.json -o other/2.input.tsv odd.fa
for i in 1 2; do chordseq $e -q --shard $i/2 --manifest other/$i.command.json -o other/$i.npy many.fa; done
chordseq classify -m fast -q --shard 2/2 --manifest other/2.model.json -o other/2.tsv many.fa
chordseq $c -q --shard 2/3 --manifest other/2.of3.json -o other/2.tsv many.fa
sed 's/"chordseq_version":"[^"]*"/"chordseq_version":"9"/' p.2.json > other/2.version.json
N shard_other.txt sh -c 'for what in --min-prob --strand --max-unknown .input .command .model .of3 .version; do
    $1 -o new.tsv p.1.json other/2$what.json && exit; done; exit 2' - "$g"
N shard_missing.txt $g -o new.tsv p.2.json
N shard_double.txt $g -o new.tsv p.2.json p.1.json p.2.json
N shard_nothing.txt $g -o new.tsv
N shard_no_output.txt $g p.1.json p.2.json
N shard_no_such.txt $g -o new.tsv --jsonl new.jsonl p.1.json p.2.json
N shard_no_counts.txt $g -o new.npy --report new.txt other/1.command.json other/2.command.json
N shard_no_manifest.txt $g -o new.tsv p.1.json p.2.tsv
N shard_npy_pipe.txt sh -c '{ $1 -o - other/1.command.json other/2.command.json; echo $? > status; } | cat
    exit $(cat status)' - "$g"
for i in 1 2; do for f in bed tsv; do chordseq predict -q -m "$m" --shard $i/2 --manifest other/$i.$f.json -o other/$i.$f odd.fa || exit; done; done
T 'a name of another format than the shards is refused' sh -c 'for o in command:new.tsv command:new.npz command:new.csv bed:new.tsv bed:new.bedgraph tsv:new.bed; do
    ! $1 -o ${o#*:} other/1.${o%%:*}.json other/2.${o%%:*}.json 2> msgs && grep -q "names another format than that of the shards" msgs &&
    [ ! -e ${o#*:} ] || exit; done' - "$g"
N shard_own_part.txt $g -o p.1.tsv p.1.json p.2.json
N shard_own_manifest.txt $g -o p.2.json p.1.json p.2.json
N shard_twice.txt $g -o new.tsv --kraken new.tsv p.1.json p.2.json
cp p.2.tsv kept
echo more >> p.2.tsv
N shard_longer.txt $g -o new.tsv p.1.json p.2.json
sed 's/0/1/' kept > p.2.tsv
N shard_changed.txt $g -o new.tsv p.1.json p.2.json
head -c 500 kept > p.2.tsv
N shard_cut.txt $g -o new.tsv p.1.json p.2.json
rm p.2.tsv
N shard_gone.txt $g -o new.tsv p.1.json p.2.json
mv kept p.2.tsv
head -c 300 p.2.json > cut.json
N shard_cut_manifest.txt $g -o new.tsv p.1.json cut.json
T 'a refused run leaves no file' sh -c '! ls | grep "^new\|\.tmp\."'
T 'inputs are unchanged' sh -c '$1 -o - p.1.json p.2.json | cmp - all.tsv' - "$g"

N shard_bad.txt sh -c 'for s in 0/2 3/2 2 2/ /2 1/0 a/2 1/2x -1/2 1/100001; do
    chordseq $1 -q --shard $s odd.fa && exit; done; exit 2' - "$c"
N shard_alone.txt chordseq $c -q --manifest x.json -o x.tsv odd.fa
N shard_stdout.txt chordseq $c -q --shard 1/2 --manifest x.json odd.fa
N shard_same.txt chordseq $c -q --shard 1/2 --manifest same -o same odd.fa
N shard_same_report.txt chordseq $c -q --shard 1/2 --manifest same -o x.tsv --report same odd.fa
T 'an output that is a pipe has no manifest' sh -c 'mkfifo out.pipe && { cat out.pipe > /dev/null & } &&
    ! timeout 20 chordseq $1 -q --shard 1/2 --manifest x.json -o out.pipe odd.fa 2> msgs && wait &&
    grep -q "manifest needs files, and .out.pipe. of --output is none; write a file, or omit --manifest\$" msgs' - "$c"
T 'reports without a table' sh -c 'for i in 1 2; do chordseq $1 -q --shard $i/2 --manifest null.$i.json -o /dev/null many.fa || exit; done
    chordseq merge -q --report null.kreport null.?.json && chordseq $1 -q --report want.kreport -o /dev/null many.fa && cmp want.kreport null.kreport &&
    ! chordseq merge -q -o null.tsv null.?.json 2> msgs && grep -q "has no --output; that shard was run without it" msgs' - "$c"
N shard_folder.txt chordseq $c -q --shard 1/2 --manifest none/x.json -o x.tsv odd.fa
T 'NPZ has no manifest' sh -c '! chordseq $1 -q --shard 1/2 --manifest x.json --format npz -o x.vec odd.fa 2> msgs &&
    grep -q "manifest needs NPY or a plain table, not NPZ: .x.vec.$" msgs' - "$e"
N shard_bgzf_vcf.txt chordseq $v -q --shard 1/2 --manifest x.json -o x.vcf.gz variants.vcf
T 'a part without a manifest' sh -c 'chordseq $1 -q --shard 1/2 many.fa | head -n 40 > p1 && head -n 40 p.1.tsv | cmp - p1' - "$c"
T 'no file remains of these either' sh -c '! ls | grep "^x\."'
