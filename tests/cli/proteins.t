# proteins.t - `chordseq model proteins`: a protein database for a model.
. "$srcdir/tests/cli/lib.sh"

OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

awk -v replaced=0.17 -f "$srcdir/tests/cli/families.awk" > genomes.fa
awk '/^>/ { new = $1 ~ /7$/ } new' genomes.fa > new.fa
chordseq train -q --label-key class --split split.tsv --encoder chordmixer --encoder.max-len 4k \
    --encoder.depth none --tokenizer kmer --tokenizer.k 2 --tokenizer.canonical --crop-max 300 \
    --crop-min 200 --samples-per-epoch 64 --epochs 1 -o bag.m genomes.fa

proteins="chordseq model proteins -q -i genomes.fa --label-key class --split split.tsv --crops 400"
T 'a database' $proteins bag.m proteins.m
T 'the file is sound' chordseq model verify proteins.m
T 'show names it' sh -c 'chordseq model show proteins.m | grep -q "^proteins	[0-9]*	[0-9]* amino acids"'
T 'a second run writes the same file' sh -c '$1 bag.m again.m && cmp proteins.m again.m' - "$proteins"
T 'the file does not depend on the number of threads' sh -c 'for n in 1 3; do $1 -@ $n bag.m again.m && cmp proteins.m again.m || exit; done' - "$proteins"
T 'the proteins separate the classes of new families' sh -c 'chordseq classify -q -m proteins.m new.fa | tee predictions.tsv |
    awk "NR > 1 && \$3 == (\$1 ~ /^g1/ ? \"one\" : \"two\") && \$4 > 0.9 { n++ } END { exit n != 2 }"'
T 'which the model alone does not' sh -c 'chordseq classify -q -m bag.m new.fa |
    awk "NR > 1 && \$4 > 0.9 { n++ } END { exit n > 0 }"'

# ---- predictions ---------------------------------------------------------------------------------

awk '/^>/ { print; next } { r = ""; for (i = length($0); i > 0; i--) r = r substr("TGCA", index("ACGT",
    substr($0, i, 1)), 1); print r }' new.fa > turned.fa
T 'the reverse complement has the same prediction' sh -c 'chordseq classify -q --strand both -m proteins.m turned.fa > a &&
    chordseq classify -q --strand both -m proteins.m new.fa | cmp - a'
T 'for any number of threads and tokens of a batch' sh -c 'chordseq classify -q --all -@ 1 -m proteins.m genomes.fa > a &&
    chordseq classify -q --all -@ 3 --batch-tokens 300 -m proteins.m genomes.fa | cmp - a'
awk '!/^>/ { s = s $0 } END { for (i = 0; i < 4; i++) s = s s; print ">long\n" s; print ">half\n" substr(s, 1, length(s) / 2) }' \
    genomes.fa > long.fa
T 'for long records that threads share' sh -c 'awk "!/^>/ && length(\$0) > 50000 { n++ } END { exit n != 2 }" long.fa &&
    for n in 1 2 3 7; do chordseq classify -q --all -@ $n -m proteins.m long.fa genomes.fa > long.$n && cmp long.1 long.$n || exit 1; done'
T 'in windows' sh -c 'chordseq classify -q --window-length 400 --long-sequence window -m proteins.m new.fa | grep -c "g[01]7	806	\(one\|two\)" | grep -qx 2'

# ---- beside a table; weights of other models -----------------------------------------------------

T 'beside a table of peptide words' sh -c 'chordseq model lookup -q -i genomes.fa --label-key class --split split.tsv --sample 1 --crops 400 bag.m table.m &&
    $1 table.m both.m && chordseq model show both.m | grep -c "^proteins	\|^lookup	" | grep -qx 2' - "$proteins"
T 'weights of another database' sh -c '$1 --weights proteins.m bag.m lent.m && cmp proteins.m lent.m' - "$proteins"
T 'weights of several models are averaged' sh -c '$1 --weights proteins.m --weights lent.m bag.m mean.m && cmp proteins.m mean.m' - "$proteins"
N proteins-weights.err $proteins --weights bag.m bag.m x.m
T 'without sequences the database is kept' sh -c '$1 --seed 5 bag.m other.m && ! cmp -s proteins.m other.m &&
    chordseq model proteins -q --weights proteins.m other.m own.m && cmp proteins.m own.m' - "$proteins"
T 'refitted, the database stays' sh -c '$1 --seed 5 --refit proteins.m own.m && cmp other.m own.m' - "$proteins"
T 'to mutated crops: other weights, the same proteins' sh -c '$1 --refit --mutate 0.05 --mutate-indels 0.05 proteins.m own.m &&
    ! cmp -s proteins.m own.m && chordseq model proteins -q --weights proteins.m own.m back.m && cmp proteins.m back.m' - "$proteins"
T 'a table is refitted without the proteins' sh -c 'chordseq model lookup -q -i genomes.fa --label-key class --split split.tsv --crops 400 --refit both.m own.m &&
    cmp both.m own.m'
LC_ALL=C sed 's/\(shadow[^0-9]*\)2/\10/' other.m > older.m
T 'weights come with the settings of the search' sh -c '! cmp -s other.m older.m &&
    chordseq model proteins -q --weights proteins.m older.m own.m && cmp proteins.m own.m'
N proteins-settings.err chordseq model proteins -q --weights proteins.m --weights older.m other.m x.m
N proteins-keep.err chordseq model proteins -q --weights proteins.m bag.m x.m

# ---- a tree of classes ---------------------------------------------------------------------------

awk -v replaced=0.17 -v classes=3 -f "$srcdir/tests/cli/families.awk" |
    sed 's/class=two/tax=E;two/; s/class=\(one\|three\)/tax=D;\1/' > tree.fa
awk '/^>/ { new = $1 ~ /7$/ } new' tree.fa > new.fa
chordseq train -q --label-key tax --lineage domain,kind --head tree --split split.tsv --encoder chordmixer \
    --encoder.max-len 4k --encoder.depth none --tokenizer kmer --tokenizer.k 2 --tokenizer.canonical --crop-max 300 \
    --crop-min 200 --samples-per-epoch 64 --epochs 1 -o bag.m tree.fa
proteins="chordseq model proteins -q -i tree.fa --label-key tax --split split.tsv --crops 400"
T 'a database of a tree' $proteins bag.m tree.m
T 'the uppermost taxa are compared first' sh -c 'chordseq model show tree.m | grep -q "^proteins	[0-9]*	[0-9]* amino acids	2 top taxa$"'
T 'which may be named, by names or taxids' sh -c '$1 --top-taxa D,E bag.m again.m && cmp tree.m again.m &&
    $1 --top-taxa "$(chordseq model show tree.m | sed -n "s/^taxon \([0-9]*\)	domain	  D$/\1/p"),E;two" bag.m again.m && cmp tree.m again.m' - "$proteins"
T 'genomes of new families get their taxon' sh -c 'chordseq classify -q -m tree.m --min-prob 0 new.fa |
    awk -F "\t" "BEGIN { want[0] = \"E;two\"; want[1] = \"D;one\"; want[2] = \"D;three\" }
        NR > 1 && \$3 == want[substr(\$1, 2, 1)] { n++ } END { exit n != 3 }"'
T 'all classes may be top taxa' sh -c '$1 --refit --top-taxa "D;one,D;three,E" tree.m flat.m &&
    chordseq model show flat.m | grep -q "^proteins	.*amino acids$" && ! cmp -s tree.m flat.m' - "$proteins"
T 'a taxon may be below another' sh -c '$1 --refit --top-taxa "D,D;one,E" tree.m below.m && cmp flat.m below.m' - "$proteins"
T 'refitted, the taxa stay' sh -c '$1 --refit flat.m again.m && cmp flat.m again.m' - "$proteins"
T 'weights of the same tree' sh -c '$1 --weights tree.m bag.m again.m && cmp tree.m again.m' - "$proteins"
N proteins-tree.err  $proteins --weights flat.m bag.m x.m
N proteins-taxon.err $proteins --top-taxa D,F bag.m x.m
N proteins-kept.err  chordseq model proteins --weights flat.m --top-taxa D,E tree.m x.m
N proteins-head.err  $proteins --top-taxa one proteins.m x.m

# ---- what cannot be ------------------------------------------------------------------------------

N proteins-split.err chordseq model proteins -i tree.fa --label-key tax bag.m x.m
N proteins-input.err chordseq model proteins bag.m x.m
N proteins-none.err  $proteins --protein-length 500 bag.m x.m
T 'nothing is written then' [ ! -e x.m ]

# ---- train --proteins ----------------------------------------------------------------------------

train="chordseq train --label-key class --split split.tsv --encoder chordmixer --encoder.max-len 4k --encoder.depth none
    --tokenizer kmer --tokenizer.k 2 --tokenizer.canonical --crop-max 300 --crop-min 200 --samples-per-epoch 64
    --valid-samples 200 --epochs 1 --checkpoint train.ckpt --html page.html genomes.fa"
awk -v replaced=0.17 -f "$srcdir/tests/cli/families.awk" > genomes.fa
awk '/^>/ { new = $1 ~ /7$/ } new' genomes.fa > new.fa
T 'train adds them' sh -c '$1 --proteins 200k -o added.m 2> log &&
    chordseq model show added.m | grep -c "^proteins	\|^lookup	" | grep -qx 2' - "$train"
T 'with the accuracy of both halves' sh -c 'awk "/peptide words and .* proteins: validation/ { sub(/,/, \"\", \$13); n += \$13 > 0.9 && \$16 < 0.8 } END { exit n != 1 }" log &&
    chordseq model show added.m | grep -q "^validation	balanced accuracy [0-9.]* on held-out data$" &&
    chordseq model show added.m | awk -F "\t" "/valid_balanced_accuracy/ { n += \$2 > 0.9 } /without_proteins/ { n += \$2 < 0.8 } END { exit n != 2 }"'
T 'and calibrates with them' sh -c 'grep -q "calibrated on 200 validation samples" log && grep -q "</html>" page.html'
T 'they separate the classes of new families' sh -c 'chordseq classify -q --min-prob 0 -m added.m new.fa |
    awk "NR > 1 && \$3 == (\$1 ~ /^g1/ ? \"one\" : \"two\") { n++ } END { exit n != 2 }"'
T 'the predictions are the same on other threads' sh -c '$1 -q -@ 3 --proteins 200k -o again.m &&
    for m in added again; do chordseq classify -q --all -m $m.m genomes.fa > $m.tsv || exit; done && cmp added.tsv again.tsv' - "$train"
T 'and after it was resumed' sh -c '$1 -q --resume --proteins 200k -o again.m &&
    chordseq classify -q --all -m again.m genomes.fa | cmp - added.tsv' - "$train"
sed '/^>g.6/ { s/class=one/class=three/; s/class=two/class=one/; s/class=three/class=two/ }' genomes.fa |
    awk 'BEGIN { srand(8) } { print } /class=/ { rich = /one/ ? "AACGT" : "ACGTT"; for (i = 0; i < 400; i++) printf "%s", substr(rich, 1 + int(5 * rand()), 1) }' > mixed.fa
none="chordseq train --label-key class --split split.tsv --preset none --tokenizer kmer --tokenizer.k 1 --encoder chordmixer
    --encoder.max-len 4k --encoder.depth none --epochs 20 --lr 0.01 --no-rc --proteins 200k -o none.m"
T 'not if the validation is clearly worse with them' sh -c '$1 mixed.fa 2> log && grep -q "validation is 0.0000, not 1.0000; wrote the model without them" log &&
    ! chordseq model show none.m | grep "^proteins\|^lookup\|without_proteins"' - "$none"
awk 'BEGIN { srand(9) } { print } /class=/ { getline; for (i = 0; i < 800; i++) printf "%s", substr("ACGT", 1 + int(4 * rand()), 1); print "" }' genomes.fa |
    awk '/^>/ || length($0) > 700 && !/TAA$/' > random.fa
T 'nor if the records share none' sh -c '$1 random.fa 2> log && grep -q "warning: the groups of a class share too little for --proteins, .*; the model gets none" log &&
    ! chordseq model show none.m | grep "^proteins\|^lookup\|without_proteins"' - "$none"
T 'a budget of time reserves their fit' sh -c 'chordseq train -v --label-key class --split split.tsv --preset fast --budget 4s --proteins 200k -o budget.m genomes.fa 2> log &&
    grep -q "info: made [0-9]* peptide words and [0-9]* proteins in " log && grep -q "peptide words, proteins and calibration take about [0-9.]* s of the budget$" log &&
    chordseq model show budget.m | grep -q "^proteins	"'
best="chordseq train --label-key class --preset best --budget 200k -v -o best.m"
T 'the preset best adds them' sh -c '$1 --split split.tsv genomes.fa 2> log && chordseq model show best.m | grep -q "^proteins	" &&
    $1 --split split.tsv --print-config genomes.fa 2> log | grep -qx "proteins=12000000"' - "$best"
T 'but not if told otherwise' sh -c '$1 --split split.tsv --proteins 0 genomes.fa 2> log && ! chordseq model show best.m | grep "^proteins"' - "$best"
N proteins-folds.err  chordseq train --label-key class --proteins 1M --folds 2 -o x.m genomes.fa
N proteins-device.err chordseq train --label-key class --split split.tsv --proteins 1M -o /dev/null genomes.fa
awk '$2 == "valid" && n++ { $2 = "skip" } 1' split.tsv | tr ' ' '\t' > one.tsv
N proteins-one.err    chordseq train --label-key class --split one.tsv --proteins 1M -o x.m genomes.fa
T 'best leaves them out then' sh -c '$1 --split one.tsv genomes.fa 2> log && grep -q "info: --proteins does not apply: --proteins needs two groups" log &&
    ! chordseq model show best.m | grep "^proteins"' - "$best"
T 'and with folds' sh -c '$1 --folds 2 genomes.fa 2> log && grep -q "info: --proteins does not apply with --folds" log &&
    ! chordseq model show best.m | grep "^proteins"' - "$best"
