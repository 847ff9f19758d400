# errors.t - each failure has one message with position and remedy, and leaves no output.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
c="chordseq classify -m $m"
make=$builddir/tests/cli/make_model

# ---- the command line: status 2 ----------------------------------------------------------------

status() { want=$1; shift; T "status $want: $(words "$@")" sh -c '"$@" 2> /dev/null; [ $? = '"$want"' ]' - "$@"; }
status 2  $c --threads 0 "$tiny/mixed.fa"
N usage-threads.err    $c --threads 0 "$tiny/mixed.fa"
N usage-threads2.err   $c --threads 3.5 "$tiny/mixed.fa"
N usage-prob.err       $c --min-prob nan "$tiny/mixed.fa"
N usage-unknown.err    $c --min_prob 0.5 "$tiny/mixed.fa"
N usage-stdin.err      $c - -
N usage-stdin.err      $c /dev/stdin -
N usage-stdin.err      $c /dev/fd/0 /dev/stdin
N usage-batch.err      $c -B 0 "$tiny/mixed.fa"

T 'a command without operands says so' sh -c 'chordseq selftest extra 2> msgs; [ $? = 2 ] &&
    grep -q "selftest: unexpected argument .extra.; this command takes options only, which --help lists$" msgs'

# ---- devices of this build ------------------------------------------------------------------------

T 'an unknown device is named' sh -c '"$@" 2>&1 |
    grep -q "no compute device .gpu9. in this build: available are .cpu."' - $c --device gpu9 "$tiny/mixed.fa"
N usage-precision.err  $c --device cpu --precision tf32 "$tiny/mixed.fa"
N usage-bf16.err       env CHORDSEQ_DISABLE=bf16 $c --device cpu --precision bf16 "$tiny/mixed.fa"
T 'the processor computes in fp32' $c --precision fp32 "$tiny/mixed.fa"
T 'device auto always works' $c --device auto "$tiny/mixed.fa"

# ---- inputs: status 1 --------------------------------------------------------------------------

status 1  $c no-such-file
N input-missing.err    $c no-such-file
N input-directory.err  $c "$tmp"
gzip -c "$tiny/mixed.fa" > whole.fa.gz
head -c 900 whole.fa.gz > cut.fa.gz
N input-cut.err        $c cut.fa.gz
N input-cut-stdin.err  sh -c "cat cut.fa.gz | $c -"
# The CRC is the 8th to 5th byte from the end.
size=$(wc -c < whole.fa.gz)
{ head -c $((size - 8)) whole.fa.gz; printf 'CRC!'; tail -c 4 whole.fa.gz; } > crc.fa.gz
N input-crc.err        $c crc.fa.gz
printf '>a\nACGT\n>b\nAC!T\n' > bad.fa
N input-twice.err      sh -c "gzip -c whole.fa.gz | $c -"
N input-letter.err     $c bad.fa
printf '@a\nACGT\n+\nII\n' > bad.fq
N input-quality.err    $c bad.fq
N input-later.err      $c "$tiny/mixed.fa" bad.fa
chmod 000 bad.fq
if [ -r bad.fq ]; then
    S 'an unreadable file' 'running as root'
else
    N input-denied.err     $c bad.fq
fi

# No output and no temporary file remains.
T 'a failed run leaves no output' sh -c "! $c -o out.tsv bad.fa 2> /dev/null && ! ls | grep -q ^out"
T 'a failed run keeps the old output' sh -c "echo old > out.tsv
    ! $c -o out.tsv bad.fa 2> /dev/null && echo old | cmp - out.tsv && [ \"\$(ls out*)\" = out.tsv ]"

# A 0-byte input has no records: the header, a warning, status 0.
: > nothing
P empty.tsv            $c nothing
T 'an empty input gives a warning' sh -c "$c nothing 2>&1 > /dev/null |
    grep -qx 'chordseq: warning: the input has no records'"
# Only if named: empty standard input means a missing value or a failed pipe.
P empty.tsv            sh -c "$c -i - < /dev/null"
P empty.tsv            sh -c ": | $c -"
N input-none.err       sh -c "$c < /dev/null"
N input-none.err       sh -c ": | $c -o empty.out"
T 'a refused empty input leaves no output' [ ! -e empty.out ]
N input-none2.err      sh -c "chordseq tokenize -m $m < /dev/null"

# ---- models ------------------------------------------------------------------------------------

N model-empty.err      chordseq classify -m "" "$tiny/mixed.fa"
N model-missing.err    chordseq classify -m no-such-model "$tiny/mixed.fa"
N model-mistyped.err   chordseq classify -m defalt "$tiny/mixed.fa"
N model-environment.err env CHORDSEQ_MODEL=no/model chordseq classify "$tiny/mixed.fa"
T '100,000 tensors take little time' sh -c 'timeout 40 "$1" deep 1 encoder=paramixer encoder.layers=512 encoder.factors=48 encoder.channels=1 encoder.hidden=1 &&
    timeout 40 chordseq model show deep > /dev/null && rm deep' - "$make"
N model-garbage.err    chordseq classify -m "$tiny/mixed.fa" "$tiny/mixed.fa"
N model-directory.err  chordseq classify -m "$tmp" "$tiny/mixed.fa"
: > zero
N model-zero.err       chordseq classify -m zero "$tiny/mixed.fa"
head -c 20000 "$m" > cut-model
N model-cut.err        chordseq classify -m cut-model "$tiny/mixed.fa"
head -c 100 "$m" > cut-header
N model-header.err     chordseq classify -m cut-header "$tiny/mixed.fa"
"$make" real-model 1 channels=2 encoder.max-len=64 encoder.track=4 encoder.hidden=4
N model-alphabet.err   chordseq classify -m real-model "$tiny/mixed.fa"
sed 's/kmer/kmex/g' "$m" > future
N model-future.err     chordseq classify -m future "$tiny/mixed.fa"

# ---- outputs -----------------------------------------------------------------------------------

T '.gz and .bgz outputs are BGZF' sh -c "$c -q -o plain.tsv --jsonl plain.jsonl '$tiny/mixed.fa' &&
    $c -q -o t.tsv.gz --jsonl t.jsonl.bgz '$tiny/mixed.fa' && gzip -dc t.tsv.gz | cmp - plain.tsv &&
    gzip -dc < t.jsonl.bgz | cmp - plain.jsonl && for f in t.tsv.gz t.jsonl.bgz; do
    [ \"\$(tail -c 28 \$f | od -An -tx1 | tr -d ' \\n')\" = 1f8b08040000000000ff0600424302001b0003000000000000000000 ] || exit; done"
with bgzip T 'bgzip accepts .gz and .bgz outputs' sh -c 'bgzip -t t.tsv.gz && bgzip -t t.jsonl.bgz'
T '.csv tables have commas' sh -c "printf '>a,\"b\nACGTACGTACGT\n' > quote.fa && $c -q --min-prob 0 -o q.csv quote.fa &&
    [ \"\$(head -n 1 q.csv)\" = name,length,label,probability,reason ] && tail -n 1 q.csv | grep -q '^\"a,\"\"b\",12,'"
N suffix-parquet.err   $c -o x.parquet "$tiny/mixed.fa"
for f in json jsonl.gz html vcf sam gff3 bw; do
    T "a table is no .$f" sh -c "! $c -o x.$f '$tiny/mixed.fa' 2> msgs && [ ! -e x.$f ] && grep -q \"'x.$f': .* a table is written as .tsv or .csv\" msgs"
done
T 'a report is named by its format' sh -c "for o in html:json html:tsv.gz html:svg jsonl:html jsonl:tsv summary:html report:html krona:html kraken:jsonl \
    cami-profile:vcf cami-binning:sam; do ! $c -q -o refused.tsv --\${o%%:*} x.\${o#*:} '$tiny/mixed.fa' 2> msgs &&
    grep -q \"'x.\${o#*:}': this output is not .*; this output is \" msgs && [ ! -e refused.tsv ] || exit; done"
T 'a report may have another name, none, or be a pipe' sh -c "for o in html:htm html:txt jsonl:json summary:js report:tsv krona:txt kraken:bed kraken:out; do
    $c -q -o out.tsv --\${o%%:*} \${o%%:*}.\${o#*:} '$tiny/mixed.fa' || exit; done && $c -q --html html --report /dev/null -o out.tsv '$tiny/mixed.fa' &&
    mkfifo fifo && { cat fifo > from.fifo & } && $c -q --html fifo -o out.tsv '$tiny/mixed.fa' && wait"
N suffix-zst.err       $c --jsonl x.jsonl.zst "$tiny/mixed.fa"
N suffix-csv.err       $c --jsonl x.csv "$tiny/mixed.fa"
N suffix-resume.err    $c --resume -o x.tsv.gz "$tiny/mixed.fa"
T 'manifests without the tree of classes' sh -c 'for i in 1 2; do
        chordseq classify -q -m "$1" --shard $i/2 --manifest $i.json -o $i.tsv "$2" &&
        sed "s/\"taxonomy\":\"\([^\"\\]\|[\\].\)*\"/\"taxonomy\":null/; s/\"taxa\":\[.*\]\],/\"taxa\":[],/" $i.json > no.$i.json || exit
    done; for o in report krona summary cami-profile; do
        chordseq merge -q --$o no no.1.json no.2.json 2> msgs; [ $? = 1 ] && grep -q "no.1.json.: the classes are damaged" msgs && [ ! -e no ] || exit
    done' - "$m" "$tiny/mixed.fa"
T 'a damaged tree of a manifest or a model: what to do' sh -c 'sed "s/\(\"taxonomy\":\"\[{..taxid..:\)1,/\12,/" 1.json > bad.1.json && ! cmp -s 1.json bad.1.json &&
    ! chordseq merge -q --report no bad.1.json 2.json 2> msgs && grep "bad.1.json. has an invalid taxonomy: .*; rerun shard 1$" msgs && [ ! -e no ] || exit
    printf "classA\t5\n" > taxa.tsv && chordseq model label --taxonomy taxa.tsv "$1" tree.m && LC_ALL=C sed "s/\({..taxid..:\)1,/\12,/" tree.m > bad.m && ! cmp -s tree.m bad.m &&
    ! chordseq classify -q -m bad.m --report no "$2" 2> msgs && grep "bad.m. has an invalid taxonomy: .*; replace it with .chordseq model label.$" msgs' - "$m" "$tiny/mixed.fa"
N suffix-shard.err     $c --shard 1/2 --manifest x.json -o x.csv "$tiny/mixed.fa"
T 'tables are not named as binary files' sh -c "for o in '-o x.bam' '-o x.cram.gz' '-o x.npy' '-o x.bcf'; do
    ! $c \$o '$tiny/mixed.fa' 2> err && grep -q 'this output is not [A-Z]*; ' err || exit; done"
T 'no refused output is created' sh -c '! ls | grep "^x[.]"'
N output-full.err      $c -o /dev/full "$tiny/mixed.fa"
N output-full2.err     sh -c "$c $tiny/mixed.fa > /dev/full"
# htslib's bgzf_close() loses its buffers if it cannot write.
for o in v b; do
    N output-full-vcf.err  sh -c "$ignore_leaks; chordseq variant --score embedding -m $tiny/model.safetensors -f $tiny/variants.fa -O $o $tiny/variants.vcf > /dev/full"
done
N output-full-bam.err  sh -c "$ignore_leaks; $c --bam - $tiny/mixed.fa > /dev/full"
T 'BAM on a full disk, between records' sh -c "$ignore_leaks; awk '/^>/ { name = \$1; next }
    { for (k = 0; k < 300; k++) print name k \"\\n\" \$0 }' '$tiny/mixed.fa' > many.fa
    ! $c -q -o many.tsv --bam /dev/full many.fa 2> msgs && grep '^chordseq: error: classify: cannot write ./dev/full.: No space left on device\$' msgs"
N output-folder.err    $c -o no-such-folder/out.tsv "$tiny/mixed.fa"
N output-empty.err     $c -o "" "$tiny/mixed.fa"
# A limit of half a kilobyte per file.
N output-limit.err     sh -c "ulimit -f 1 && $c -q -o limited.tsv --all $tiny/mixed.fa $tiny/reads.fq $tiny/reads.fq $tiny/reads.fq"
T 'no partial output remains' sh -c '! ls | grep -q ^limited'
N output-is-dir.err    $c -o "$tmp" "$tiny/mixed.fa"
N output-closed.err    sh -c "$c $tiny/mixed.fa >&-"

# Sequences, alignments and variants are replaced by outputs of their own kind only,
# so that a missing option value destroys no data.
held=$tmp/held && mkdir "$held" && cp "$tiny"/mixed.fa "$tiny"/reads.fq "$tiny"/variants.vcf "$tiny"/strands.sam "$held"
chmod u+w "$held"/*                             # the sources of a release are read-only in distcheck
$c -q --bam "$held/mapped.bam" "$tiny/strands.sam" || exit
export m
(cd "$held" && gzip -c mixed.fa > mixed.fa.gz && gzip -c variants.vcf > variants.vcf.gz && mkdir ../kept && cp ./* ../kept)
keeps() {
    T "not replaced: $1" sh -c 'cd "$2" && for v in *; do eval "chordseq $1" 2> ../keeps.err > ../keeps.out; [ $? = 2 ] &&
        grep -q "$v. holds [a-z]*; writing another kind of file there needs --force" ../keeps.err &&
        diff -r . ../kept || exit; done' - "$1" "$held"
}
while read -r line; do keeps "$line"; done <<'EOF'
classify -m $m --report $v ../whole.fa.gz
classify -m $m --report $v < /dev/null
classify -m $m -o $v ../whole.fa.gz
classify -m $m -o ../html.tsv --html $v ../whole.fa.gz
classify -m $m --resume -o $v ../whole.fa.gz
embed -m $m --format tsv -o $v ../whole.fa.gz
simulate adding -n 2 -o $v
simulate cohort -i $tiny/variants.vcf -n 2 -o ../c.vcf --labels $v
bench --encoder psf -o $v encoders
model checked $m $v
train --class a=../whole.fa.gz --class b=../whole.fa.gz -o $v
EOF
T 'an output of the same kind is overwritten' sh -c '$1 --bam "$2/mapped.bam" "$3/strands.sam" && mkdir -p split &&
    chordseq simulate cohort -q -i "$3/variants.vcf" -n 2 -o "$2/variants.vcf" &&
    $1 -q --split-dir split whole.fa.gz && $1 -q --split-dir split whole.fa.gz' - "$c -q" "$held" "$tiny"
N output-kind.err      $c --bam "$held/mixed.fa" whole.fa.gz
T '--force overwrites any file' sh -c '$1 --force -o "$2/mixed.fa" whole.fa.gz && head -n 1 "$2/mixed.fa" |
    grep -q ^name' - "$c" "$held"
T 'tables and reports overwrite their own kind' sh -c 'for o in output jsonl kraken report krona cami-binning cami-profile \
    summary html; do set -- "$@" --$o twice.$o; done; "$@" && "$@"' - $c -q whole.fa.gz

# An output that is also an input, by any path: refused before either is opened.
cat "$tiny/mixed.fa" > x.fa && ln -s x.fa link.fa && ln x.fa hard.fa && mkdir in && cp x.fa in/classA.fasta
cp x.fa o.part && cp "$m" own.m && cp "$m" in/model.safetensors && echo x.fa > list
input_is_kept() {
    T "no output takes an input's place: $1" sh -c 'eval "chordseq $1" 2> own.err > own.out; [ $? = 2 ] &&
        grep -q "output .* is the same file as input .*; choose another output\|holds sequences; writing another" own.err &&
        for f in x.fa in/classA.fasta o.part; do cmp "$tiny/mixed.fa" $f || exit; done &&
        for f in own.m in/model.safetensors; do cmp "$m" $f || exit; done && ! ls | grep "tmp\|ckpt"' - "$1"
}
export m CHORDSEQ_MODEL=own.m
while read -r line; do input_is_kept "$line"; done <<'EOF'
classify -m $m -o x.fa x.fa
classify -m $m -i ./x.fa -o "$PWD/link.fa"
classify -m $m -o x.fa hard.fa
classify -m $m -o x.fa < link.fa
classify -m $m -o x.fa /dev/stdin < x.fa
classify -m $m x.fa >> x.fa
classify -m $m --bam x.fa --output-fmt sam -1 x.fa -2 hard.fa
classify -m $m -o o.tsv --input-list list --html x.fa
classify -m $m --split-dir in in/classA.fasta
classify -m $m --resume -o o o.part
classify -m $m -o o.tsv --shard 1/2 --manifest x.fa x.fa
classify -m own.m -o own.m x.fa
classify -o own.m x.fa
embed -m $m -o o.npy --names x.fa x.fa
predict -m own.m -o own.m x.fa
explain -m $m -f x.fa -r a -o x.fa
variant -m $m -i none.vcf -f x.fa --tsv x.fa
diplotype -i x.fa -o x.fa
tokenize -m own.m -o own.m x.fa
tokenize --train bpe -o x.fa x.fa
train --class a=x.fa --class b=none.fa -o x.fa
train --labels x.fa -i none.fa -o o.m --checkpoint x.fa
train --init own.m --label-key class -i x.fa -o own.m
pretrain -i x.fa -o o.m --metrics x.fa
eval -m own.m --label-key class --calibrate own.m x.fa
simulate cohort -i x.fa --effects x.fa
factorize -i x.fa --plot x.fa
model checked own.m own.m
model import own.m ./own.m
model factorize -o own.m own.m
model export in/model.safetensors in
EOF
for i in x.fa.fai x.fa.gzi x.fa.tbi x.fa.csi y.bam.bai y.bai y.bam.csi z.cram.crai z.crai; do
    T "no output takes the place of an index: $i" sh -c 'case $1 in x*) f=x.fa;; y*) f=y.bam;; *) f=z.cram;; esac
        [ -e "$f" ] || cp x.fa "$f"; echo index > "$1" && ln -f "$1" way && for o in "$1" way; do
        chordseq classify -m "$m" -o "$o" "$f" 2> msgs; [ $? = 2 ] && [ "$(cat "$1")" = index ] || exit
        grep -q "output .$o. is the same file as the index of input .$f.; choose another output" msgs || exit; done
        rm "$1" way; chordseq classify -m "$m" -o "$1" "$f" 2> msgs; [ $? = 2 ] && [ ! -e "$1" ] &&
        grep -q "output .$1. has the name of an index of input .$f." msgs' - "$i"
done
T 'an output is not an index that the run creates' sh -c '! chordseq explain -f x.fa -r a -o ./x.fa.fai 2> msgs &&
    grep -q "output ...x.fa.fai. has the name of an index of input .x.fa." msgs && rm x.fa.fai'
T 'an output is not the index of a reference' sh -c 'echo x > x.fa.fai; for o in "explain -f x.fa -r a -o" "predict x.fa -o" \
    "variant -i none.vcf -f x.fa --tsv" "diplotype x.fa -o" "tokenize x.fa -o"; do chordseq $o x.fa.fai 2> msgs
    [ $? = 2 ] && grep -q "the index of input .x.fa." msgs && [ "$(cat x.fa.fai)" = x ] || exit; done; rm x.fa.fai'
unset CHORDSEQ_MODEL
T 'a device may be input and output' $c -q -o /dev/null /dev/null

# ---- long records ------------------------------------------------------------------------------

# 10 Mbp exceed this model's 512 tokens: the record has a reason, others have predictions. Sanitizer
# builds are slow and use a fifth, with 10 Mbp in the messages.
n_long=10485760
! grep -q __asan_init "$builddir/chordseq" || n_long=2097152
full_size() { "$@" > .full 2> .full.err; s=$?; sed "s/\<$n_long\>/10485760/" .full; sed "s/\<$n_long\>/10485760/" .full.err >&2; return $s; }
"$builddir/tests/bench/gen_fasta" $n_long 7 104857600 104857600 > long.fa
{ printf '>before\nACGTACGTACGT\n'; cat long.fa; printf '>after\nACGTACGTACGT\n'; } > around.fa
P long-refused.tsv     full_size $c around.fa
T 'the message names record and limit' sh -c "$c around.fa 2>&1 > /dev/null | grep -qx \"chordseq: \
warning: 1 of 3 records exceeds the model's maximum of 512 tokens; --long-sequence window splits them; first: 'r0'\""
N long-error.err       full_size $c --long-sequence error around.fa
P long-windows.tsv     full_size sh -c "$c --long-sequence window --window-overlap 100 around.fa | cut -f 1,2,5"
T 'windows that fit are of the maximum length, which the message names' sh -c "head -c 9000 long.fa > part.fa &&
    $c --long-sequence fit part.fa > fit.tsv 2> err && $c --long-sequence window part.fa 2> msgs | cmp - fit.tsv && n=\$(sed -n 's/.*windows of \([0-9]*\) bases.*/\1/p' msgs) &&
    grep -q \"sequences of more than \$n bases exceed the memory of device 'cpu' or the model's maximum\" err"
N window-option.err    $c --window-length 100 around.fa
T 'fit splits nothing with a model whose memory does not grow with the length' sh -c 'chordseq classify -m "$1" \
    --long-sequence fit --max-memory 1Mi part.fa > fit.tsv 2> err && chordseq classify -q -m "$1" part.fa 2> msgs | cmp - fit.tsv &&
    ! grep -q windows err' - "$srcdir/refdata/model/fast.safetensors"
# Within the limit, the whole sequence is predicted.
"$make" long-model 5 tokenizer=kmer tokenizer.k=8 tokenizer.stride=8 encoder.max-len=2097152 \
    encoder.track=1 encoder.hidden=4
P long-predicted.tsv    full_size sh -c 'chordseq classify -m long-model around.fa > long.tsv && cut -f 1-3,5 long.tsv'
T 'batches of one token give the same prediction' sh -c 'chordseq classify -q -m long-model -B 1 \
    -@ 2 around.fa | cmp - long.tsv'
# Without enough memory, the record has a reason, or the run ends with its name: 1.3 M tokens of 352
# channels need 1.8 GB.
"$make" wide-model 5 tokenizer=kmer tokenizer.k=8 tokenizer.stride=8 encoder.max-len=2097152 \
    encoder.track=16 encoder.hidden=1
w="chordseq classify -@ 1 -m wide-model"
T 'records above --max-memory have a reason' sh -c "$w --max-memory 1Mi around.fa 2> mem.err |
    cut -f 1,5 > mem.tsv && printf 'name\treason\nbefore\t.\nr0\tno_memory\nafter\t.\n' |
    cmp - mem.tsv && grep -q 'warning: 1 of 3 records needs more memory .*--long-sequence window' mem.err"
N max-memory.err       full_size $w --max-memory 1Mi --long-sequence error around.fa
T 'windows keep to --max-memory' sh -c "$w --max-memory 1Mi --long-sequence window \
    --window-length 500 around.fa | awk -F '\t' 'NR > 1 && \$5 != \".\" { exit 1 }'"
T 'and --long-sequence fit chooses windows that do' sh -c "$w --max-memory 1Mi --long-sequence fit around.fa > fit.tsv 2> err && awk -F '\t' 'NR > 1 && \$5 != \".\" { exit 1 }' fit.tsv &&
    grep -q 'sequences of more than [0-9]* bases exceed --max-memory or the model.s maximum; they are split' err &&
    $w --max-memory 1Mi --long-sequence fit -B 1000000 around.fa 2> err | cmp - fit.tsv"
if (ulimit -v 1500000 && chordseq --version) > version 2>&1; then
    T 'records without memory have a reason' sh -c "(ulimit -v 1500000; $w around.fa 2> mem.err) |
        cut -f 1,5 | cmp - mem.tsv && grep -q 'warning: 1 of 3 records needs more memory' mem.err"
    T 'the error names a record without memory' sh -c '(ulimit -v 1500000
        chordseq classify -@ 1 -m wide-model --long-sequence error around.fa > /dev/null 2> mem.err
        [ $? = 1 ]) && grep -q "out of memory for record .r0. (10485760 bases), which needs [0-9]* \
bytes; --long-sequence window splits such records" mem.err'
    # --batch-tokens cannot split one sequence.
    T 'training names the option that shortens samples' sh -c '(ulimit -v 1500000
        chordseq train -@ 1 --class a=long.fa --class b=around.fa --tokenizer.k 8 --tokenizer.stride 8 \
            --encoder.max-len 2097152 --encoder.track 16 --encoder.hidden 1 --epochs 1 --valid-frac 0 -o o.m \
            2> mem.err; [ $? = 1 ]) && grep -q "tokens of one sequence need [0-9]* bytes of activations; \
shorten sequences with --crop-max, or use a machine with more memory$" mem.err'
else
    S 'too little memory' 'the program does not start under ulimit -v (a sanitizer?)'
fi
