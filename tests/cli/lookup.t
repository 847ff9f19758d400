# lookup.t - `chordseq model lookup`: a table of peptide words for a model.
. "$srcdir/tests/cli/lib.sh"

OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

awk -v replaced=0 -f "$srcdir/tests/cli/families.awk" > genomes.fa
awk '/^>/ { new = $1 ~ /7$/ } new' genomes.fa > new.fa
chordseq train -q --label-key class --split split.tsv --encoder chordmixer --encoder.max-len 4k \
    --encoder.depth none --tokenizer kmer --tokenizer.k 2 --tokenizer.canonical --crop-max 300 \
    --crop-min 200 --samples-per-epoch 64 --epochs 1 -o bag.m genomes.fa
# --encoder.max-len 4k sets the number of blocks; the model has none.
T 'a model without blocks takes sequences of any length' sh -c '
    awk "!/^>/ { s = s \$0 } END { print \">all\\n\" s s s }" new.fa > long.fa && [ "$(wc -c < long.fa)" -gt 4100 ] &&
    chordseq classify -q --min-prob 0 -m bag.m long.fa | grep -q "^all.*[.]$"'

# For long sequences, only token counts are stored.
"$builddir/tests/cli/make_model" reading.m 1 tokenizer=orf encoder.depth=none encoder.max-len=4096
# around LINES: a sequence of 40 LINES bases between shorter ones
around()
{
    awk -v lines="$1" 'BEGIN { srand(2); for (i = 0; i < 6000; i++) { s = ""; for (k = 0; k < 40; k++) s = s substr("ACGT", int(rand() * 4) + 1, 1); line[i] = s }
        for (r = 0; r < 3; r++) { n = r == 1 ? lines : 500; print ">r" r; for (i = 0; i < n; i++) print line[(i * 7 + int(i / 6000)) % 6000] } }'
}
around 2500 > long.fa
T 'the prediction for a long sequence does not depend on the batch' sh -c '
    chordseq classify -q --all -@ 1 -m reading.m long.fa > a &&
    chordseq classify -q --all -@ 3 --batch-tokens 300 -m reading.m long.fa | cmp - a &&
    awk "/^>/ { n++ } n == 2" long.fa | chordseq classify -q --all -m reading.m - | grep "^r1	100000	" > b &&
    grep "^r1	" a | cmp - b'
# peak_MiB FILE: of a run
peak_MiB() { chordseq classify -v -@ 1 -m reading.m "$1" 2>&1 > /dev/null | sed -n 's/.*peak of the process \([0-9]*\)[.].*/\1/p'; }
if (ulimit -v 1500000 && chordseq --version) > version 2>&1; then
    around 500 > short.fa
    around 200000 > long.fa
    T 'at most 4 bytes per base' sh -c 'echo "$1 MiB, $2 MiB" && [ "$(($2 - $1))" -le $((4 * 8)) ]' - \
        "$(peak_MiB short.fa)" "$(peak_MiB long.fa)"
else
    S 'at most 4 bytes per base' 'the program does not start under ulimit -v (a sanitizer?)'
fi

lookup="chordseq model lookup -q -i genomes.fa --label-key class --split split.tsv --sample 2 --crops 400"
T 'a table' $lookup bag.m table.m
T 'the file is sound' chordseq model verify table.m
T 'show reports the table, and whose validation it is' sh -c 'chordseq model show table.m > shown &&
    grep -q "^lookup	[0-9]* peptide words	k 12	one in 2	" shown &&
    grep -q "^validation	balanced accuracy .* of the network alone\$" shown &&
    ! chordseq model show bag.m | grep -q "of the network alone"'
T 'a second run writes the same file' sh -c '$1 bag.m again.m && cmp table.m again.m' - "$lookup"
T 'the file does not depend on the number of threads' sh -c 'for n in 1 3; do $1 -@ $n bag.m again.m && cmp table.m again.m || exit; done' - "$lookup"
T 'the table separates the classes of new families' sh -c 'chordseq classify -q -m table.m new.fa | tee predictions.tsv |
    awk "NR > 1 && \$3 == (\$1 ~ /^g1/ ? \"one\" : \"two\") && \$4 > 0.9 { n++ } END { exit n != 2 }"'
T 'the model alone does not' sh -c 'chordseq classify -q -m bag.m new.fa |
    awk "NR > 1 && \$4 > 0.9 { n++ } END { exit n > 0 }"'
T 'training from the model reports that it drops the table' sh -c '
    chordseq train --init table.m --label-key class --split split.tsv --epochs 1 -o next.m genomes.fa 2> msgs &&
    grep -q "the peptide words of .table.m. are not copied; .chordseq model. can add new ones" msgs &&
    chordseq train --init bag.m --label-key class --split split.tsv --epochs 1 -o next.m genomes.fa 2> msgs && ! grep "not copied" msgs'

# ---- predictions ---------------------------------------------------------------------------------

awk '/^>/ { print; next } { r = ""; for (i = length($0); i > 0; i--) r = r substr("TGCA", index("ACGT",
    substr($0, i, 1)), 1); print r }' new.fa > turned.fa
T 'the reverse complement has the same prediction' sh -c 'chordseq classify -q --strand both -m table.m turned.fa > a &&
    chordseq classify -q --strand both -m table.m new.fa | cmp - a'
T 'also if the network reads both strands, which have the same evidence' sh -c '
    chordseq train -q --label-key class --split split.tsv --encoder.max-len 4k --encoder.depth none --tokenizer kmer --tokenizer.k 2 \
        --crop-max 300 --crop-min 200 --samples-per-epoch 64 --epochs 1 -o plain.m genomes.fa && $1 plain.m both.m &&
    for w in "--strand both" "--strand both --long-sequence window --window-length 300"; do
        chordseq classify -q --all $w -m both.m turned.fa > a && chordseq classify -q --all $w -m both.m new.fa | cmp - a || exit; done &&
    awk -F "\t" "NR > 1 && \$3 == (\$1 ~ /^g1/ ? \"one\" : \"two\") && \$4 > 0.9 { n++ } END { exit n != 2 }" a' - "$lookup"
T 'for any number of threads and tokens of a batch' sh -c 'chordseq classify -q --all -@ 1 -m table.m genomes.fa > a &&
    chordseq classify -q --all -@ 3 --batch-tokens 300 -m table.m genomes.fa | cmp - a'
T 'in windows' sh -c 'chordseq classify -q --window-length 300 --long-sequence window -m table.m new.fa | grep -c "g[01]7	806	\(one\|two\)" | grep -qx 2'
T 'eval uses it' sh -c 'chordseq eval -q -m table.m --label-key class -i new.fa > with.tsv &&
    chordseq eval -q -m bag.m --label-key class -i new.fa > without.tsv && ! cmp -s with.tsv without.tsv'
with lapack T 'a low-rank model keeps it' sh -c 'chordseq model factorize --energy 1 -o low.m table.m > /dev/null &&
    chordseq model show low.m | grep -q ^lookup'

# ---- weights of other models ---------------------------------------------------------------------

T 'weights of another table' sh -c '$1 --weights table.m bag.m lent.m && cmp table.m lent.m' - "$lookup"
T 'the mean of the weights of several tables' sh -c '$1 --weights table.m --weights lent.m bag.m mean.m && cmp table.m mean.m' - "$lookup"
N lookup-weights.err $lookup --weights bag.m bag.m x.m
T 'without sequences the table is kept' sh -c '$1 --seed 5 bag.m other.m && ! cmp -s table.m other.m &&
    chordseq model lookup -q --weights table.m other.m own.m && cmp table.m own.m' - "$lookup"
T 'refitted, the table stays' sh -c '$1 --seed 5 --refit table.m own.m && cmp other.m own.m' - "$lookup"
T 'to mutated crops: other weights, the same words' sh -c '$1 --refit --mutate 0.05 --mutate-indels 0.05 table.m own.m &&
    ! cmp -s table.m own.m && chordseq model lookup -q --weights table.m own.m back.m && cmp table.m back.m' - "$lookup"
N lookup-refit.err $lookup --refit bag.m x.m
N lookup-refit-weights.err $lookup --refit --weights table.m table.m x.m
N lookup-refit-weights.err chordseq model lookup -q --refit --weights table.m table.m x.m
N lookup-keep.err chordseq model lookup -q --weights table.m bag.m x.m

# ---- a tree of classes ---------------------------------------------------------------------------

awk -v replaced=0 -v classes=3 -f "$srcdir/tests/cli/families.awk" |
    sed 's/class=two/tax=E;two/; s/class=\(one\|three\)/tax=D;\1/' > tree.fa
chordseq train -q --label-key tax --lineage domain,kind --head tree --split split.tsv --encoder chordmixer \
    --encoder.max-len 4k --encoder.depth none --tokenizer kmer --tokenizer.k 2 --tokenizer.canonical --crop-max 300 \
    --crop-min 200 --samples-per-epoch 64 --epochs 1 -o trees.m tree.fa
of_tree="chordseq model lookup -q -i tree.fa --label-key tax --split split.tsv --sample 2 --crops 400"
T 'a table of top taxa' sh -c '$1 trees.m top.m && chordseq model show top.m | grep -q "^lookup	.*	2 top taxa$" &&
    chordseq model verify top.m' - "$of_tree"
T 'which may be named' sh -c '$1 --top-taxa D,E trees.m again.m && cmp top.m again.m' - "$of_tree"
# probabilities MODEL: of the classes, for the new families; the header names them
probabilities() { awk '/^>/ { new = $1 ~ /7$/ } new' tree.fa | chordseq classify -q --all --min-prob 0 -m "$1" -; }
probabilities trees.m > without.tsv
probabilities top.m > with.tsv
T 'it tells top taxa apart, not the classes of one' awk -F '\t' '
    FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { one = $at["prob_D;one"]; two = $at["prob_E;two"]; three = $at["prob_D;three"]; ratio = one / three }
    NR == FNR { of[$1] = ratio; next }
    { right += ($1 ~ /^g0/ ? two : one + three) > 0.9; same += one > 0.1 && ratio / of[$1] < 1.01 && ratio / of[$1] > 0.99 }
    END { print right, same; exit right != 3 || same != 2 }' without.tsv with.tsv
T 'all classes may be top taxa' sh -c '$1 --top-taxa "D;one,D;three,E" trees.m flat.m &&
    chordseq model show flat.m | grep -q "^lookup	.*,H$"' - "$of_tree"
T 'refitted, the taxa stay' sh -c '$1 --refit top.m again.m && cmp top.m again.m' - "$of_tree"
T 'beside proteins of the tree' sh -c 'chordseq model proteins -q -i tree.fa --label-key tax --split split.tsv --crops 400 top.m both.m &&
    chordseq model show both.m | grep -c "2 top taxa$" | grep -qx 2'
N lookup-tree.err  $of_tree --weights flat.m trees.m x.m
N lookup-kept.err  chordseq model lookup --weights top.m --top-taxa D,E top.m x.m
N lookup-words-kept.err $of_tree --refit --top-taxa D,E top.m x.m
N lookup-head.err  $lookup --top-taxa one bag.m x.m

# ---- what cannot be ------------------------------------------------------------------------------

N lookup-split.err chordseq model lookup -i genomes.fa --label-key class bag.m x.m
N lookup-input.err chordseq model lookup bag.m x.m
N lookup-none.err  $lookup --min-groups 9 bag.m x.m
N lookup-words.err $lookup --peptide-alphabet LVIM,C bag.m x.m
awk 'BEGIN { printf "#chordseq-series\t1\tchannels=1\ttargets=1\ng00\t0\t"; for (i = 1; i < 400; i++) printf "%d,", i; print 1 }' > series.txt
for database in lookup proteins; do
    N lookup-series.err chordseq model $database -q --class one=series.txt --split split.tsv bag.m x.m
done
T 'no output after an error' [ ! -e x.m ]
