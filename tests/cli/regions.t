# regions.t - `predict` with a model of whole sequences: windows, and the path of classes along a record.
. "$srcdir/tests/cli/lib.sh"

# Pieces rich in AT (sea) or GC (island) to train on. `long.fa`: an island of 4 kb in a sea of 20, a sea alone,
# one with unknown bases in its middle, and records shorter than a window.
awk 'function rand_() { x = x * 16807 % 2147483647; return x / 2147483647 }
    function bases(n, gc,    s, i) { s = ""
        for (i = 0; i < n; i++) s = s substr(gc ? "GGCGCCGATC" : "AATTATTCAG", 1 + int(10 * rand_()), 1)
        return s }
    function unknown(n,    s) { s = ""; while (n-- > 0) s = s "N"; return s }
    BEGIN { x = 7
    for (r = 0; r < 80; r++)
        printf ">r%d class=%s\n%s\n", r, r % 2 ? "island" : "sea", bases(200 + int(800 * rand_()), r % 2) > "train.fa"
    printf ">planted\n%s%s%s\n", bases(11301, 0), bases(4000, 1), bases(4700, 0) > "long.fa"
    printf ">none\n%s\n", bases(15000, 0) > "long.fa"
    printf ">gap\n%s%s%s\n", bases(3000, 0), unknown(3000), bases(3001, 0) > "long.fa"
    printf ">short\n%s\n>empty\n\n>unknown\n%s\n", bases(120, 1), unknown(3000) > "long.fa"
    printf ">last\n%s%s\n", bases(2500, 1), bases(2600, 0) > "long.fa" }'
T 'training' chordseq train -q --label-key class --tokenizer kmer --tokenizer.k 4 --encoder chordmixer \
    --encoder.depth none --encoder.track 4 --encoder.hidden 8 --lr 0.02 --epochs 12 --step-records 8 --seed 1 -i train.fa -o m.safetensors
predict="chordseq predict -q -m m.safetensors --window-length 500"

# ---- regions -------------------------------------------------------------------------------------

T 'regions' $predict long.fa -o runs.bed
T 'records are covered without gaps' sh -c 'awk -F "\t" "NR == FNR { if (/^>/) name = substr(\$0, 2)
    else len[name] = length(\$0); next }
    { if (\$2 != end[\$1] + 0 || \$3 <= \$2 || \$5 < 0 || \$5 > 1000 || \$6 != \".\" || \$7 > 1) exit 1
      if (\$1 in class && class[\$1] == \$4) exit 1
      class[\$1] = \$4; end[\$1] = \$3 }
    END { for (r in len) if (r != \"empty\" && r != \"unknown\" && len[r] != end[r]) exit 1
          exit \"empty\" in end || \"unknown\" in end }" long.fa runs.bed'
T 'the island is found, to half a window' awk -F '\t' '$1 == "planted" && $4 == "island" { n++
    if ($2 < 11050 || $2 > 11550 || $3 < 15050 || $3 > 15550) exit 1 } END { if (n != 1) exit 1 }' runs.bed
T 'at an end, too' sh -c 'awk -F "\t" "\$1 == \"last\" { print \$4 }" runs.bed | paste -s -d " " - | grep -x "island sea"'
T 'records of one class have one line' awk -F '\t' '$1 ~ /^(none|gap|short)$/ { n[$1]++ }
    END { if (n["none"] != 1 || n["gap"] != 1 || n["short"] != 1) exit 1 }' runs.bed
T 'overlapping windows find it, too' sh -c "$predict --window-overlap 250 long.fa | awk -F '\t' '
    \$1 == \"planted\" && \$4 == \"island\" && \$2 > 11150 && \$2 < 11450 && \$3 > 15150 && \$3 < 15450' | grep -q ."
T 'a higher penalty leaves one class' sh -c "$predict --switch-penalty 500 long.fa | cut -f 1 | sort | uniq -d |
    grep . && exit 1 || exit 0"
T '--min-length is of records, not of windows' sh -c "$predict --min-length 6000 long.fa > some.bed &&
    awk '/^(planted|none|gap)\t/' runs.bed | cmp - some.bed"
T 'records without a prediction are counted' sh -c 'chordseq predict -m m.safetensors --window-length 500 long.fa 2>&1 |
    grep -q "1 record has no prediction and no line: no_known_base"'
T 'records and bases are counted, not windows' sh -c 'chordseq predict -m m.safetensors --window-length 500 \
    --window-overlap 250 long.fa 2>&1 | grep -q "segmented 7 records (5 predictions), 52.2 kbases in"'

T 'windows without memory are counted as such' sh -c 'chordseq predict -m m.safetensors --window-length 500 --max-memory 1 -B 1 long.fa 2> msgs
    grep -q "warning: 97 of 109 windows need more memory .* a smaller --window-length needs less; first: .planted" msgs'

# ---- shares of classes ---------------------------------------------------------------------------

T 'equal shares change nothing' sh -c "$predict --prior island=0.5 long.fa | cmp - runs.bed"
T 'a class with the share 0 does not occur' sh -c "$predict --prior island=0 long.fa | cut -f 4 | sort -u | grep -qx sea"
T 'a lower share lowers the probability at either end and in between' sh -c "printf 'island\t0.05\n' > rare.tsv &&
    $predict --format tsv long.fa -o usual.tsv && $predict --format tsv --prior-file rare.tsv long.fa | paste usual.tsv - |
    awk -F '\t' 'NR > 1 { if (\$12 > \$6) exit 1; lower += \$12 < \$6 } END { exit lower < 10 }'"
T 'a record of one window has the probabilities of classify' sh -c "printf '>one\n%s\n' ATTAGGCATTACGCGATAGC > one.fa &&
    chordseq classify -q -m m.safetensors --all --prior island=0.2 one.fa | tail -n 1 > a && $predict --format tsv --prior island=0.2 one.fa |
    tail -n 1 | paste a - | awk -F '\t' '{ d = \$7 - \$13; if (NF != 13 || d * d > 4e-6 || \$7 < 0.01 || \$7 > 0.99) exit 1 }'"

# ---- independence of a record's prediction -------------------------------------------------------

T 'threads, batches and chunks' sh -c "for o in '-@ 1' '-@ 4 -B 300' '--chunks-in-flight 2'; do
    $predict \$o long.fa | cmp - runs.bed || exit 1; done"
T 'a pipe' sh -c "$predict < long.fa | cmp - runs.bed && gzip -c long.fa | $predict - | cmp - runs.bed"
T 'neighbours' sh -c "for r in planted last short; do grep -A 1 \"^>\$r\" long.fa | $predict; done > alone &&
    grep -E '^(planted|last|short)	' runs.bed | sort > want && sort alone | cmp - want"
T 'shards' sh -c "for i in 1 2 3; do $predict --shard \$i/3 --manifest \$i.json -o \$i.bed long.fa || exit 1; done
    chordseq merge -q -o merged.bed 1.json 2.json 3.json && cmp merged.bed runs.bed"

# ---- strands -------------------------------------------------------------------------------------

revcomp long.fa > rc.fa
for f in long rc; do
    $predict --strand both --format tsv $f.fa | tail -n +2 > both.$f
done
T 'with both strands, the reverse complement is mirrored' awk -F '\t' '
    NR == FNR { a[$1, ++n[$1]] = $2; b[$1, n[$1]] = $3; p[$1, n[$1]] = $5; end[$1] = $3; next }
    { k = n[$1] - i[$1]++
      left = end[$1] - b[$1, k] - $2; right = end[$1] - a[$1, k] - $3
      if (p[$1, k] != $5 || left < -1 || left > 1 || right < -1 || right > 1) exit 1 }' both.long both.rc
T 'and it differs from forward' sh -c "$predict --format tsv long.fa | tail -n +2 | cmp -s - both.long && exit 1 || exit 0"

# ---- formats -------------------------------------------------------------------------------------

T 'rows per window' $predict --format tsv long.fa -o rows.tsv
T 'rows agree with runs' awk -F '\t' 'NR == FNR { end[$1, $4, $2] = $3; n += $3 - $2; next }
    FNR == 1 { if ($0 != "record\tstart\tend\tclass\tsea\tisland") exit 1; next }
    { if ($5 + $6 < 0.99999 || $5 + $6 > 1.00001 || ($4 == "sea") != ($5 > $6)) exit 1
      if ($1 != name || $4 != class) { if (!(($1, $4, $2) in end)) exit 1 }
      name = $1; class = $4; bases += $3 - $2 }
    END { if (bases != n) exit 1 }' runs.bed rows.tsv
T 'a graph of one class' sh -c "$predict --format bedgraph --class island long.fa > graph &&
    tail -n +2 rows.tsv | cut -f 1-3,6 | cmp - graph"

# ---- refusals ------------------------------------------------------------------------------------

N predict-graph.err $predict --format bedgraph long.fa
N regions-long.err chordseq predict -m m.safetensors --long-sequence fit long.fa
N regions-overlap.err chordseq predict -m m.safetensors --window-length 500 --window-overlap 251 long.fa
"$builddir/tests/cli/make_model" values 3 head=regress labels=2 encoder.max-len=64 encoder.track=4 encoder.hidden=4
N regions-values.err chordseq predict -m values long.fa
"$builddir/tests/cli/make_model" token 5 tokenizer=base head=token label=sea label=island encoder.hidden=8
N regions-token.err chordseq predict -m token --switch-penalty 2 long.fa
T 'shares are for models that predict per sequence' sh -c '! chordseq predict -m token --prior sea=0.5 long.fa 2> err &&
    grep -q "error: predict: --prior is for models that predict per sequence; this one predicts per token" err'
T 'two sources of shares are refused' sh -c "! $predict --prior sea=0.5 --prior-file rare.tsv long.fa 2> err && grep -q 'prior and --prior-file exclude each other' err"
T 'a model of short sequences reads windows of its maximum' sh -c 'chordseq predict -q -m "$tiny/model.safetensors" \
    --format tsv long.fa | awk -F "\t" "NR > 1 && \$1 == \"none\" && \$3 - \$2 > 1536 { exit 1 } END { exit NR < 11 }"'

# ---- the default model ---------------------------------------------------------------------------

taxa=$CS_SHARED/data/taxa
if [ -r "$taxa/bacteria.fa.gz" ]; then
    # A prophage and 3 kb of a plastid, in records without any; these may be in the training set.
    record() { gzip -dc "$1" | awk -v name="$2" '/^>/ { on = substr($1, 2) == name; next } on' | tr -d '\n'; }
    phage=$(record "$taxa/bacteria.fa.gz" NC_022737.1:2052493-2102492 | cut -c 4001-23000)
    host=$(record "$taxa/bacteria.fa.gz" NZ_ALJK01000034.1)$(record "$taxa/bacteria.fa.gz" NZ_ALJK01000044.1)
    fungus=$(gzip -dc "$taxa/nuclear_fungi.fa.gz" | awk '/^>/ { if (n >= 20000) exit; s = ""; n = 0; next }
        { s = s $0; n += length($0) } END { print s }' | cut -c 1-20000)
    plastid=$(gzip -dc "$taxa/plastid.fa.gz" | awk '/^>/ { if (n >= 40000) exit; s = ""; n = 0; next }
        { s = s $0; n += length($0) } END { print s }' | cut -c 30001-33000)
    {
        printf '>lysogen\n%s\n' "$(echo "$host" | cut -c 1-15000)$phage$(echo "$host" | cut -c 15001-)"
        printf '>free\n%s\n' "$host"
        printf '>inserted\n%s\n' "$(echo "$fungus" | cut -c 1-9000)$plastid$(echo "$fungus" | cut -c 9001-)"
        printf '>nuclear\n%s\n' "$fungus"
    } > real.fa
    T 'the default model' sh -c 'CHORDSEQ_MODEL=$srcdir/refdata/model/default.safetensors \
        chordseq predict -q real.fa -o real.bed'
    T 'the prophage is found' awk -F '\t' '$1 == "lysogen" && $4 == "virus" { n += $3 < 34000 ? $3 : 34000
        n -= $2 > 15000 ? $2 : 15000 } END { exit !(n > 15000) }' real.bed
    T 'the insertion is found' awk -F '\t' '$1 == "inserted" && $4 == "plastid" && $2 < 10500 && $3 > 10500' real.bed
    T 'and nothing like it where there is none' awk -F '\t' '$1 == "free" && $4 == "virus" ||
        $1 == "nuclear" && $4 != "eukaryota" { exit 1 }' real.bed
else
    S 'the default model' 'no taxa set'
fi
