# predict.t - a class per base: training on intervals, outputs, evaluation.
. "$srcdir/tests/cli/lib.sh"

# Islands of GC-rich bases among AT-rich ones, in 60 records of 100 to 300 bases, some without any.
awk 'function rand_() { x = x * 16807 % 2147483647; return x / 2147483647 }
    BEGIN { x = 7; for (r = 0; r < 60; r++) { n = 100 + int(200 * rand_()); s = ""
    from = r % 10 ? int(n / 2 * rand_()) : n; to = from + 30 + int(20 * rand_())
    for (i = 0; i < n; i++) { u = rand_(); gc = i >= from && i < to
        s = s substr(gc ? "GGCGCCGA" : "AATTATTC", 1 + int(8 * u), 1) }
    printf ">r%d\n%s\n", r, s > "in.fa"
    if (from < n) printf "r%d\t%d\t%d\tisland\n", r, from, to > "in.bed" } }'
common='--head token --tokenizer base --encoder chordmixer --encoder.hidden 16 --encoder.track 4
    --background sea --lr 0.02 --epochs 12 --seed 3 -q'

# ---- training and evaluation ---------------------------------------------------------------------

T 'training' chordseq train $common --intervals in.bed -i in.fa -o m.safetensors --metrics m.tsv
T 'metrics per token' sh -c 'chordseq eval -q -m m.safetensors --intervals in.bed --background sea \
    -i in.fa -o e.tsv --json e.json'
T 'most tokens are correct' awk -F '\t' '$1 == "token" && $2 == "all" && $3 == "." { v[$4] = $5 }
    $3 == "island" && $4 == "recall" { recall = $5 }
    END { if (!(v["accuracy"] > 0.9 && v["balanced_accuracy"] > 0.85 && v["mcc"] > 0.7 &&
          recall > 0.7 && v["tokens"] > 6000)) exit 1 }' e.tsv
T 'eval equals the validation of the last epoch' awk -F '\t' 'NR > 1 { acc = $7 } END { if (acc < 0.85) exit 1 }' m.tsv

# ---- predictions ---------------------------------------------------------------------------------

T 'runs' chordseq predict -q -m m.safetensors in.fa -o runs.bed
T 'runs cover every record without gaps' sh -c 'awk -F "\t" "NR == FNR { if (/^>/) name = substr(\$0, 2)
    else len[name] = length(\$0); next }
    { if (\$2 != end[\$1] + 0 || \$3 <= \$2 || \$5 < 500 || \$5 > 1000 || \$7 < 0.5) exit 1
      if (\$1 in class && class[\$1] == \$4) exit 1
      class[\$1] = \$4; end[\$1] = \$3 }
    END { for (r in len) if (len[r] != end[r]) exit 1 }" in.fa runs.bed'
T 'rows per base' chordseq predict -q -m m.safetensors --format tsv in.fa -o rows.tsv
T 'the format is that of the name' sh -c 'for f in x.tsv:tsv x.csv:tsv x.tsv.gz:tsv x.bed:bed x.txt:bed x.bdg:bedgraph x.bedgraph.gz:bedgraph; do
    o=${f%:*} c=; case $f in *graph) c="--class island";; esac
    chordseq predict -q -m m.safetensors $c -o $o in.fa && mkdir -p given && chordseq predict -q -m m.safetensors $c --format ${f#*:} -o given/$o in.fa &&
    cmp $o given/$o || exit; done; cmp x.bed runs.bed && cmp x.tsv rows.tsv && chordseq predict -q -m m.safetensors in.fa | cmp - runs.bed &&
    ! cmp -s x.txt x.tsv && rm -r x.* given'
T 'also of shards' sh -c 'for i in 1 2; do chordseq predict -q -m m.safetensors --shard $i/2 --manifest p.$i.json -o p.$i.tsv in.fa || exit; done
    chordseq merge -q -o whole.tsv p.1.json p.2.json && cmp whole.tsv rows.tsv'
T 'rows agree with runs' awk -F '\t' 'NR == FNR { for (i = $2; i < $3; i++) class[$1, i] = $4; n += $3 - $2; next }
    FNR == 1 { if ($0 != "record\tposition\tclass\tsea\tisland") exit 1; next }
    { if (class[$1, $2] != $3 || $4 + $5 < 0.99999 || $4 + $5 > 1.00001) exit 1; rows++ }
    END { if (rows != n) exit 1 }' runs.bed rows.tsv
T 'other formats are refused by their names' sh -c 'for f in json html vcf bam gff3; do ! chordseq predict -q -m m.safetensors in.fa -o x.$f 2> msgs &&
    [ ! -e x.$f ] && grep -q ".x.$f.: .*; this output is BED, bedGraph or a table: .bed, .bedgraph, .tsv or .csv" msgs || exit; done
    ! chordseq predict -q -m m.safetensors --format tsv in.fa -o x.json 2> msgs && grep -q "a table is written as .tsv or .csv" msgs'
T 'a graph of one class' sh -c 'chordseq predict -q -m m.safetensors --format bedgraph --class island in.fa |
    cut -f 4 > graph && cut -f 5 rows.tsv | tail -n +2 | cmp - graph'
T 'a misspelt class name gets a suggestion' sh -c '! chordseq predict -q -m m.safetensors --format bedgraph --class \
    ilsand in.fa 2>&1 | grep -v "the model has no label .ilsand.; did you mean .island.[?]"'
T 'a record without a name is *' sh -c 'printf ">\nACGTACGTAC\n" | chordseq predict -q -m m.safetensors - |
    grep -q "^[*]	0	"'
T 'the same for any number of threads and batch size' sh -c 'for o in "-@ 1" "-@ 4 -B 300" "--chunks-in-flight 2"; do
    chordseq predict -q -m m.safetensors $o in.fa | cmp - runs.bed || exit 1; done'

T 'neighbours do not decide whether a record keeps to --max-memory' sh -c 'for o in "" "-B 1" "-B 700" "-@ 1"; do
    chordseq predict -qq -m m.safetensors --max-memory 150Ki $o in.fa > some && { [ -e some.first ] || cp some some.first; } && cmp some some.first || exit; done
    n=$(cut -f 1 some | uniq | wc -l) && [ "$n" -gt 5 ] && [ "$n" -lt 55 ]'

# Products with the embedding of T overflow.
"$builddir/tests/cli/make_model" nan.model 5 tokenizer=base head=token labels=2 huge=5 encoder.max-len=64 encoder.track=4 encoder.hidden=8
T 'the score of a run is 0 if its probability is not finite' sh -c 'printf ">a\nACG\n>b\nACGTCG\n" | chordseq predict -q -m nan.model --check-finite off - > nan.bed &&
    tail -n 1 nan.bed | grep -qx "b	0	6	classA	0	[.]	-*nan" && awk "\$5 < 0 || \$5 > 1000 { exit 1 }" nan.bed'

# ---- strands -------------------------------------------------------------------------------------

revcomp in.fa > rc.fa
for f in in rc; do
    chordseq predict -q -m m.safetensors --strand both --format tsv $f.fa | tail -n +2 > both.$f
done
T 'with both strands, the reverse complement is mirrored' awk -F '\t' 'NR == FNR { p[$1, $2] = $5; n[$1]++; next }
    { if (p[$1, n[$1] - 1 - $2] != $5) exit 1 }' both.in both.rc
T 'and it differs from forward' sh -c 'tail -n +2 rows.tsv | cmp -s - both.in && exit 1 || exit 0'

# ---- other tokens --------------------------------------------------------------------------------

for k in '5 1' '6 3'; do
    set -- $k
    T "words of $1, stride $2" chordseq train $common --tokenizer kmer --tokenizer.k "$1" \
        --tokenizer.stride "$2" --intervals in.bed -i in.fa -o k$1.safetensors
    T "words of $1 cover every base" sh -c "chordseq predict -q -m k$1.safetensors in.fa |
        awk -F '\t' '{ n += \$3 - \$2 } END { exit n != '\$(grep -v '>' in.fa | tr -d '\n' | wc -c)' }'"
done
N predict-strand.err chordseq predict -m k6.safetensors --strand both in.fa
# The middle base of an even word differs between strands.
T 'words of 4 bases' chordseq train $common --epochs 1 --rc --tokenizer kmer --tokenizer.k 4 \
    --intervals in.bed -i in.fa -o k4.safetensors
T 'they are for one strand' sh -c 'chordseq model show k4.safetensors | grep -q "^strand.forward$"'
N predict-strand.err chordseq predict -m k4.safetensors --strand both in.fa
for k in 3 7; do
    T "words of $k" chordseq train $common --epochs 2 --tokenizer kmer --tokenizer.k $k --intervals in.bed \
        -i in.fa -o odd.safetensors
    for f in in rc; do
        chordseq predict -q -m odd.safetensors --strand both --format tsv $f.fa | tail -n +2 > both.$f
    done
    T 'mirrored predictions' awk -F '\t' 'NR == FNR { p[$1, $2] = $5; n[$1]++; next }
        { if (p[$1, n[$1] - 1 - $2] != $5) exit 1 }' both.in both.rc
done

# ---- masks: unknown bases are neither trained on nor evaluated -----------------------------------

awk -F '\t' 'NR == FNR { if (/^>/) name = substr($0, 2); else len[name] = length($0); next }
    { print; print $1 "\t" $3 "\t" len[$1] "\t-" }' in.fa in.bed > masked.bed
T 'masked intervals are not evaluated' sh -c 'chordseq eval -q -m m.safetensors --intervals masked.bed \
    --background sea --skip-unlabelled -i in.fa -o masked.tsv'
T 'unmasked ones are' sh -c 'awk -F "\t" "NR == FNR { if (/^>/) name = substr(\$0, 2); else len[name] = length(\$0); next }
    { len[\$1] = \$3 } END { for (r in len) n += len[r]; print n }" in.fa in.bed > want &&
    awk -F "\t" "\$3 == \".\" && \$4 == \"tokens\" { print \$5 }" masked.tsv | cmp - want'
T 'without a background, only intervals are evaluated' sh -c 'chordseq eval -q -m m.safetensors \
    --intervals in.bed --skip-unlabelled -i in.fa | awk -F "\t" "\$3 == \".\" && \$4 == \"tokens\" { print \$5 }" > got &&
    awk "{ n += \$3 - \$2 } END { print n }" in.bed | cmp - got'

# Before training, the loss is about the same for any number of crops without an interval.
awk '/^>/ { name = substr($0, 2); next } { print name "\t0\t9\ta\n" name "\t9\t18\tb" }' in.fa > ends.bed
ends="chordseq train --head token --tokenizer base --encoder cdil -q --epochs 1 --lr 1e-9 --intervals ends.bed -i in.fa"
T 'whole records' $ends -o x --metrics whole.tsv
T 'crops' $ends -o x --metrics crops.tsv --crop-min 20 --crop-max 30 --samples-per-epoch 100
T 'unknown tokens are not in the loss' awk -F '\t' 'FNR == 2 { loss[n++] = $4 }
    END { r = loss[1] / loss[0]; exit !(r > 0.6 && r < 1.6) }' whole.tsv crops.tsv

# ---- refusals ------------------------------------------------------------------------------------

printf 'r1\t0\t10\ta\nr2\t0\t5\tb\nr1\t5\t20\tb\n' > overlap.bed
N predict-overlap.err chordseq train $common --intervals overlap.bed -i in.fa -o x
T 'a class with a control character names its line' sh -c '{ head -n 1 in.bed; printf "r2\t1\t9\tis\001land\n"; } > odd.bed
    ! chordseq train "$@" --intervals odd.bed -i in.fa -o gone 2> msgs && grep -q "control character; rename it (.odd.bed. line 2)" msgs' - $common
printf 'r1\t0\t10\n' > three.bed
N predict-three.err chordseq train $common --intervals three.bed -i in.fa -o x
printf 'r1\t0\t10\tisland\nr1\t5\t10000\tisland\n' > long.bed
N predict-long.err chordseq train $common --intervals long.bed -i in.fa -o x
printf 'r1\t0\t10\tbay\n' > bay.bed
N predict-bay.err chordseq eval -m m.safetensors --intervals bay.bed -i in.fa
N predict-none.err chordseq train --head token --tokenizer base -i in.fa -o x
N predict-class.err chordseq train --label-key x --intervals in.bed -i in.fa -o x
N predict-uncovered.err chordseq eval -m m.safetensors --intervals in.bed -i in.fa
N predict-masked.err chordseq predict -m "$srcdir/refdata/model/human-lm.safetensors" in.fa
T 'a model trained from one of masked tokens predicts its own classes' sh -c 'chordseq pretrain -q --tokenizer base --window 60 --epochs 1 --encoder cdil --encoder.layers 1 --encoder.channels 4 --threads 1 -o masked.m in.fa &&
    chordseq train -q --preset none --init masked.m --encoder cdil --encoder.layers 1 --encoder.channels 4 --head token --tokenizer base --intervals ends.bed --max-steps 2 -o own.m in.fa &&
    chordseq predict -q -m own.m in.fa > own.bed && [ -s own.bed ] && ! chordseq classify -m own.m in.fa 2> msgs && grep -q "predicts per token, not per sequence" msgs'
N predict-classify.err chordseq classify -m m.safetensors in.fa
T 'a model for another command has exit status 1' sh -c 'for m in m.safetensors "$1"; do for c in "classify in.fa" "explain -f in.fa r1"; do
    chordseq $c -m "$m" > /dev/null 2> msgs; [ $? = 1 ] && grep -q "error: ${c%% *}: .*model" msgs || exit; done; done' - \
    "$srcdir/refdata/model/variant.safetensors"
T 'a model of variants is for another command' sh -c '! chordseq predict -m "$1" in.fa > /dev/null 2> msgs && grep -q "chordseq variant" msgs' - \
    "$srcdir/refdata/model/variant.safetensors"
N predict-graph.err chordseq predict -m m.safetensors --format bedgraph in.fa
N predict-window.err chordseq predict -m m.safetensors --long-sequence window --window-length 100 in.fa
T 'nor in the metrics' sh -c 'chordseq predict -m m.safetensors --max-memory 1 -B 1 -o none.bed in.fa 2>&1 |
    grep -q "60 records need more memory .*; this model takes sequences whole; first" &&
    ! chordseq predict -m m.safetensors --max-memory 1 -B 1 --long-sequence error in.fa 2>&1 |
    grep -- --long-sequence'
N predict-full.err sh -c 'chordseq predict -q -m m.safetensors in.fa > /dev/full'
