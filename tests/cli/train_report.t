# train_report.t - `chordseq train`: its reports on data and run: strands, folds, page, logs.
. "$srcdir/tests/cli/lib.sh"

# Purines on one strand; then the same with half of the records reversed.
awk 'BEGIN { srand(2); for (i = 0; i < 240; i++) { s = ""; t = ""; for (j = 0; j < 80; j++) { k = 1 + int(8 * rand())
    s = s substr(i % 2 ? "AAAGGACT" : "GGGAAGCT", k, 1); t = substr(i % 2 ? "TTTCCTGA" : "CCCTTCGA", k, 1) t }
    h = ">r" i " organism=o" int(i / 6) " class=" (i % 2 ? "a" : "g") "\n"
    print h s > "sense.fa"; print h (i % 4 < 2 ? s : t) > "mixed.fa" } }'
# Short epochs: the regression is trained on one.
fast="chordseq train -@ 1 --label-key class --preset fast --samples-per-epoch 240 --budget 20k"

# ---- strands -------------------------------------------------------------------------------------

for rc in no-rc rc; do $fast --$rc --print-config sense.fa 2> err > $rc.cfg; done
T 'records of one strand: words are not canonical' sh -c 'grep -qx tokenizer.canonical=0 no-rc.cfg && grep -qx tokenizer.canonical=1 rc.cfg'
T 'records of one strand: --no-rc is advised' sh -c '"$@" sense.fa -o sense.m 2> msgs &&
    [ "$(grep -c "one strand: 5-mers separate [0-9.]* % .*; use --no-rc if" msgs)" = 1 ]' - $fast
T 'the line of an epoch has its speed' grep -q 'epoch [1-9][0-9]*: loss .* [kM]*bases/s, [0-9]* % of peak, [0-9]* % done$' msgs
T 'also for values' sh -c 'sed -n "s/^>\([^ ]*\) .*class=\(.\)/\1\t\2/p" sense.fa | sed "s/a\$/1/; s/g\$/0/" > values.tsv &&
    chordseq train -@ 1 --head regress --labels values.tsv --budget 20k -o v.m sense.fa 2> msgs && grep -q "one strand: 5-mers separate .*; use --no-rc if" msgs'
T 'no advice for both strands or with --rc given' sh -c '"$@" mixed.fa -o mixed.m 2> msgs && "$@" --no-rc sense.fa -o sense.m 2>> msgs &&
    ! grep "one strand" msgs' - $fast

T 'names of classes that outputs or other programs read as something else' sh -c 'sed "s/class=$1/class=NA/; s/class=$2/class=unclassified/" mixed.fa > named.fa && shift 2 &&
    "$@" --print-config named.fa 2> msgs > named.cfg && grep -q "warning: .NA. is a class, not a missing label" msgs && grep -q "warning: outputs cannot tell the class .unclassified. from" msgs' - \
    $(sed -n "s/.*class=\([^ ]*\).*/\1/p" mixed.fa | sort -u | head -n 2) $fast

T 'labels of a map that no record has' sh -c 'printf "nosuch\\tx\n" > typo.tsv && "$@" --print-config --label-map typo.tsv mixed.fa 2> msgs > map.cfg &&
    grep -q "^chordseq: 1 of the 1 labels of .typo.tsv. is not in the input; first: .nosuch.$" msgs' - $fast

# ---- cross-validation ----------------------------------------------------------------------------

cross="chordseq train -@ 1 --label-key class --split-by organism --samples-per-epoch 240 --budget 20k -o cross.m"
T 'folds, their mean and error, then all records' sh -c '"$@" --preset balanced --folds 4 --html cross.html mixed.fa 2> msgs &&
    [ "$(grep -c "fold [1-4] of 4, 60 validation records: balanced .*; bag of words [01].*; regression" msgs)" = 4 ] &&
    [ "$(grep -c "error of 4 folds: balanced accuracy [01].[0-9]* +- 0.[0-9]*, .* +- .*; bag .* +- " msgs)" = 1 ] &&
    grep -q "calibrated on 240 validation samples" msgs' - $cross
T 'the last weights of a fold are validated: no line has a best epoch' sh -c 'grep -q "epoch [1-9][0-9]*: loss .* balanced accuracy" msgs && ! grep "best [01]" msgs'
chordseq model show cross.m > card
T 'the mean over the folds is correct' sh -c 'sed -n "s/^training.folds.//p" card | tr -d "{}[]\"" | tr , : | awk -F : "
    { for (i = 1; i <= NF; i++) if (\$i == \"each\" && !n++) { m = (\$(i+1) + \$(i+2) + \$(i+3) + \$(i+4)) / 4; s = 0
        for (k = 1; k <= 4; k++) s += (\$(i+k) - m) ^ 2; d = m - \$(i-3); e = sqrt(s / 12) - \$(i-1) } }
    END { exit !(n && d < 1e-5 && d > -1e-5 && e < 1e-5 && e > -1e-5) }"'
T 'the model is trained on all records' sh -c 'grep -q "^validation	balanced accuracy [01].* in cross-validation$" card &&
    grep -q "training.data.*\"train_records\":240,.*\"valid_records\":0" card &&
    grep -q "training.valid_balanced_accuracy.[01]" card && grep -q "training.baseline_bag_balanced.[01]" card'
T 'the page has a row per fold' sh -c '[ "$(grep -c "<h2>Cross-validation</h2>" cross.html)" = 1 ] &&
    [ "$(sed -n "/Cross-validation/,/<.table>/p" cross.html | grep -c "<tr><td.*>60<")" = 4 ] && grep -q "standard error" cross.html'
# Genes of two orders of amino acids, in any codons.
awk 'BEGIN { srand(3); split("TTATTGCTTCTCCTACTG TCTTCCTCATCGAGTAGC CGTCGCCGACGGAGAAGG GTTGTCGTAGTG GCTGCCGCAGCG GGTGGCGGAGGG CCTCCCCCACCG ACTACCACAACG", codon, " ")
    for (i = 0; i < 60; i++) { s = "ATG"; p = int(8 * rand()); for (j = 0; j < 60; j++) {
        p = rand() < 0.5 ? int(8 * rand()) : (p + (i % 2 ? 1 : 7)) % 8; c = codon[p + 1]; s = s substr(c, 1 + 3 * int(rand() * length(c) / 3), 3) }
        print ">r" i " organism=o" int(i / 4) " class=" (i % 2 ? "a" : "g") "\n" s } }' > genes.fa
T 'the final bag of the network has as many steps as the folds at their lowest losses' sh -c '"$@" -v --preset balanced --budget 40k --folds 3 --head.dropout 0 mixed.fa 2> msgs &&
    awk "/starts from the bag of words at step/ { n++; sum += \$(NF - 4) } / bag of words: [0-9]* steps, the mean/ { d = \$6 - sum / 3 }
        END { exit !(n == 3 && sum > 0 && d <= 0.5 && d >= -0.5) }" msgs && grep -q "training the network on all" msgs' - $cross
T 'records of 150 bases: folds of both bags, the best is the model' sh -c '"$@" --preset balanced --budget 24k --folds 2 --html genes.html -o genes.m genes.fa 2> msgs &&
    [ "$(grep -c "fold [12] of 2, .*; bag of words [01].*; bag of reading frames [01].*; regression" msgs)" = 2 ] &&
    sed -n "/training the bag of reading frames on all records/,\$p" msgs > last && grep -q "^chordseq: bag of reading frames, epoch [1-9]" last &&
    ! grep -q "bag of words\|network, epoch" last &&
    [ "$(sed -n "/Cross-validation/,/<.table>/p" genes.html | grep -c "bag of reading frames, balanced")" = 1 ]' - $cross
chordseq model show genes.m > card
mean() { sed -n "s/.*\"$1\":{\"mean\":\([0-9.]*\).*/\1/p" card; }
T 'by the means over the folds' awk -v f="$(mean frames_balanced_accuracy)" -v w="$(mean bag_balanced_accuracy)" -v n="$(mean balanced_accuracy)" \
    '$1 == "tokenizer" { tok = $2 } $1 == "training.valid_balanced_accuracy" { d = f - $2 } /training.folds.*"model":"bag of reading frames"/ { m = 1 }
    END { exit !(f > w && f > n && d < 1e-5 && d > -1e-5 && tok == "orf" && m) }' card
T 'folds without a budget of time are reproducible' sh -c 'for f in once again; do "$@" -q --preset fast --folds 2 -o $f.m mixed.fa &&
    chordseq model show $f.m | sed -n "s/^sha256.//p" > $f.sum || exit 1; done && cmp once.sum again.sum' - $cross
T 'eval reports the cross-validation' sh -c 'chordseq eval -m cross.m --label-key class mixed.fa 2>&1 > eval.tsv | grep -q "cross-validation in training: balanced accuracy"'
mv cross.html ended.html
rm -f cross.*
# refused WORDS OPTION...: fails with WORDS in one message
refused() { words=$1; shift; T "refused: $words" sh -c 'w=$1; shift; ! "$@" 2> err && [ "$(wc -l < err)" = 1 ] &&
    grep -q "error: train: $w" err' - "$words" $cross "$@"; }
refused "class .g. has 40 groups by organism, too few for --folds 50, and 1 other class has too few; lower it, give .*leave these classes out" --folds 50 sense.fa
echo mine > cross.m.fold
refused ".cross.m.fold. exists, but --folds writes its models there" --folds 2 mixed.fa
T 'an existing file is kept' grep -qx mine cross.m.fold
rm cross.m.fold
awk '/^>/ { h = substr($1, 2); next } { print h "\t" 1e4 * gsub(/A/, "") }' sense.fa > adenines.tsv
values="chordseq train -@ 1 --head regress --labels adenines.tsv --budget 200k --no-rc"
T 'folds of values: their R2, then all records' sh -c '"$@" --split-by organism --folds 3 -o values.m sense.fa 2> msgs &&
    [ "$(grep -c "fold [123] of 3, [0-9]* validation records: R2 0.[0-9]*, loss [0-9.]*$" msgs)" = 3 ] &&
    awk "/^chordseq: fold/ { n++; sub(/,/, \"\", \$10); sum += \$10 } /error of 3 folds: R2/ { for (i = 1; i < NF; i++) if (\$i == \"R2\") m = \$(i + 1) }
        END { d = m - sum / 3; exit !(n == 3 && m > 0 && d < 1e-4 && d > -1e-4) }" msgs &&
    chordseq model show values.m > card && grep -q "^training.folds.*\"r2\":{\"mean\":0.[0-9]*," card && grep -q "^training.valid_r2.0" card &&
    grep -q "^training.data.*\"train_records\":240,.*\"valid_records\":0" card' - $values
T 'the model of all records is standardized by them' sh -c 'want=$(awk "{ s += \$2 } END { printf \"%g\", s / NR }" adenines.tsv) &&
    grep -q "^standardized.value: mean $want," card'
awk '/^>/ { h = substr($1, 2); next } { s = $0; print h "\t" (gsub(/A/, "", s) > 24) "\t" (gsub(/T/, "", s) > 1) }' sense.fa > twice.body
{ printf 'id\tmany\tfew\n'; cat twice.body; } > twice.tsv
T 'folds of labels' sh -c '"$@" 2> msgs && [ "$(grep -c "fold [12] of 2, [0-9]* validation records: balanced accuracy [01].[0-9]*, accuracy .*, loss " msgs)" = 2 ] &&
    grep -q "error of 2 folds: balanced accuracy [01].[0-9]* +- [0-9.]*, accuracy" msgs' - \
    chordseq train -@ 1 --head multilabel --labels twice.tsv --budget 20k --folds 2 -o labels.m sense.fa
T 'too few groups of values' sh -c '! "$@" --split-by class --folds 3 -o x.m sense.fa 2> msgs &&
    grep -q "error: train: the records have 2 groups by class, too few for --folds 3; lower it, or give another --split-by$" msgs' - $values
rm -f values.m labels.m
refused '--folds takes at least 2' --folds 1 sense.fa
refused '--folds and --resume exclude each other' --folds 3 --resume sense.fa
refused '--folds and --stop-at exclude each other' --folds 3 --stop-at 0.9 sense.fa
refused '--folds and --split exclude each other' --folds 3 --split sense.fa sense.fa
refused '--folds is for predictions of sequences' --folds 3 --head token sense.fa
T 'a refused run leaves no file' sh -c '[ -z "$(ls | grep "^cross\|fold\|tmp")" ]'

# ---- the page during training --------------------------------------------------------------------

T 'a page during training' sh -c '"$@" 2> msgs && grep -q paused msgs && grep -q "not calibrated" live.html &&
    grep -q "<h2>Training</h2>" live.html && grep -q "<h2>Lengths</h2>" live.html' - \
    chordseq train -@ 1 --label-key class --preset none --tokenizer.k 2 --encoder.max-len 128 --encoder.track 2 --encoder.hidden 8 \
    -B 2k --epochs 20 --stop-after 20 --html live.html -o live.m mixed.fa
T 'the page reloads itself' sh -c '[ "$(grep -c "http-equiv=.refresh. content=.10." live.html)" = 1 ] &&
    [ "$(grep -c "This page reloads itself every 10 s" live.html)" = 1 ] && ! grep -q refresh ended.html'
T 'the page has the bases of the records' sh -c '[ "$(grep -c "<p>24 records with 1920 bases, of which 24 have a class" live.html)" = 1 ]'

# ---- logs ----------------------------------------------------------------------------------------

logged="chordseq train -q -@ 1 --label-key class --preset none --tokenizer.k 2 --encoder.max-len 128 --encoder.track 2
    --encoder.hidden 8 -B 2k --epochs 3 -o log.m mixed.fa"
T 'a table of steps, and events' $logged --step-metrics whole.tsv --tensorboard events --metrics epochs.tsv
T 'a row per step' sh -c '[ $(($(wc -l < whole.tsv) - 1)) = "$(tail -n 1 epochs.tsv | cut -f 2)" ] &&
    awk -F "\t" "NF != 8 || (NR > 1 && (\$1 != NR - 1 || \$4 <= 0 || \$6 <= 0)) { exit 1 }" whole.tsv'
T 'paused with --step-metrics' $logged --step-metrics part.tsv --stop-after 5
printf '6\t1\tof a step that is repeated' >> part.tsv
T 'resumed with --step-metrics' $logged --step-metrics part.tsv --resume
T 'a resumed run has the same step metrics' sh -c 'for f in whole part; do cut -f 1-7 $f.tsv > $f.cut; done; cmp whole.cut part.cut'
T 'the table of epochs as CSV, compressed' sh -c '"$@" --metrics epochs.csv.gz && gzip -dc epochs.csv.gz | cut -d , -f 1-9 > csv.cut &&
    cut -f 1-9 epochs.tsv | tr "\\t" , | cmp - csv.cut' - $logged
for f in '--step-metrics steps.tsv.gz' '--step-metrics steps.csv' '-o x.m.gz' '-o x.m --checkpoint x.gz'; do
    T "refused before the first step: $f" sh -c '! "$@" --metrics early.tsv 2> msgs && [ ! -e early.tsv ] && [ "$(wc -l < msgs)" = 1 ] &&
        grep -q "compressed" msgs' - $logged $f
done
for f in model.csv model.bam model.xz; do
    T "refused: a model named $f" sh -c '! "$@" 2> msgs && grep -q "error: train: .$0.: this output is a model, not" msgs && [ ! -e "$0" ]' $f $logged -o $f
done
for f in '--html page --checkpoint page' '--html page --step-metrics page' '--html log.m.ckpt'; do
    T "refused: a page in the place of another output: $f" sh -c '! "$@" 2> msgs && grep -q "two outputs write to .\(page\|log.m.ckpt\)" msgs && [ ! -e page ]' - \
        $logged $f
done
# Killed while it writes its third checkpoint: after step 6, of ten in an epoch.
if [ -e "$builddir/tests/cli/kill_at.so" ]; then
    T 'killed between epochs, and resumed: one row per step' sh -c 'rm -f log.m*
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" KILL_AT="9 0 3" LD_PRELOAD=$builddir/tests/cli/kill_at.so "$@" 2> msgs
        grep -q "kill_at: now" msgs && [ "$(tail -n 1 kill.tsv | cut -f 1)" = 6 ] && "$@" --resume && cut -f 1-7 kill.tsv | cmp - whole.cut && rm -f .*tmp* *tmp*' - \
        $logged --step-metrics kill.tsv --checkpoint-steps 2
else
    S 'killed between epochs' 'no shared objects here'
fi
awk '/^>/ { h = substr($1, 2); next } { printf "%s\t%.3f\n", h, gsub(/A/, "") / 80 }' sense.fa > share.tsv
awk '{ print $1 "\t" $2 "\t" 1e4 * $2 + 5e4 "\t" $2 / 1e5 }' share.tsv > sizes.body && { printf 'id\tshare\tbig\tlittle\n'; cat sizes.body; } > sizes.tsv
T 'values of any units are learnt, and predicted in these units' sh -c '"$@" -o sizes.m 2> msgs && ! grep warning msgs &&
    grep -q "validation loss .*, R2 0[.][89][0-9]*$" msgs &&
    chordseq eval -q -m sizes.m --labels sizes.tsv sense.fa > sizes.eval &&
    [ "$(awk -F "\t" "\$2 == \"all\" && \$4 == \"r2\" && \$5 > 0.8" sizes.eval | wc -l)" = 4 ] &&
    awk -F "\t" "\$2 == \"all\" && \$4 == \"mae\" && \$3 == \"big\" { b = \$5 } \$2 == \"all\" && \$4 == \"mae\" && \$3 == \"little\" { l = \$5 }
        END { exit !(b < 1e3 && b > 1e7 * l && b < 1e11 * l) }" sizes.eval' - \
    chordseq train -@ 1 --head regress --labels sizes.tsv --valid-frac 0.3 --preset fast --budget 2M --seed 1 sense.fa
T 'explain has their units, too' sh -c 'head -n 2 sense.fa > one.fa
    chordseq explain -q -m sizes.m --label big -f one.fa --tsv big.tsv -o big.bedgraph r0 &&
    awk -F "\t" "NR == FNR { if (FNR > 1) s = \$0; next } FNR > 1 { b = \$3 == \"A\" ? 2 : 1
        printf \">%d\n%s%s%s\n\", FNR - 1, substr(s, 1, FNR - 2), substr(\"ACGT\", b, 1), substr(s, FNR) }" one.fa big.tsv > mutants.fa &&
    chordseq classify -q -m sizes.m --strand forward mutants.fa > big.calls &&
    awk -F "\t" "NR == FNR { p[FNR] = \$4; next } FNR > 1 { d = p[FNR] - \$(\$3 == \"A\" ? 7 : 6); n++; most = p[FNR] > 4e4 ? n : most
        if (d * d > 0.01) bad++ } END { exit bad > 0 || n != 80 || most != 80 }" big.calls big.tsv'
T 'model show states their means' sh -c 'chordseq model show sizes.m | grep -q "^standardized.big: mean 5[0-9]*.*, standard deviation [0-9.]* of the training records$"'
T 'the loss of validation is that of training: of standardized values' sh -c '"$@" 2> msgs &&
    tail -n 1 units.tsv | awk -F "\t" "{ exit !(\$4 < 3 && \$6 < 3 && \$4 > 0 && \$6 > 0) }"' - chordseq train -@ 1 --head regress \
    --labels sizes.tsv --valid-frac 0.3 --preset fast --budget 2M --metrics units.tsv -o units.m sense.fa
T 'a resumed run with other values is refused' sh -c 'small="-@ 1 --head regress --tokenizer base --encoder cdil --encoder.layers 1 --encoder.hidden 4"
    chordseq train $small --labels sizes.tsv --epochs 2 --stop-after 1 -o again.m sense.fa 2> msgs &&
    awk -F "\t" "NR > 1 { \$3 *= 2 } 1" OFS="\t" sizes.tsv > double.tsv &&
    ! chordseq train $small --labels double.tsv --epochs 2 --resume -o again.m sense.fa 2> msgs && grep -q "belongs to another run" msgs &&
    ! chordseq train $small --labels sizes.tsv --epochs 2 --resume --no-standardize -o again.m sense.fa 2> msgs && grep -q "no-standardize" msgs &&
    chordseq train $small --labels sizes.tsv --epochs 2 --resume -o again.m sense.fa 2> msgs'
T 'a head that goes on keeps its units, and reports others' sh -c 'small="-@ 1 -q --epochs 1 --head regress"
    chordseq train $small --labels sizes.tsv --init sizes.m -o more.m sense.fa 2> msgs && ! grep "far from" msgs &&
    for m in sizes more; do chordseq model show $m.m | grep "^standardized" > $m.units; done && cmp sizes.units more.units &&
    awk -F "\t" "NR > 1 { \$3 *= 1e6 } 1" OFS="\t" sizes.tsv > million.tsv &&
    chordseq train $small --labels million.tsv --init sizes.m -o more.m sense.fa 2> msgs &&
    grep -q "warning: 1 of 3 values to predict is far from a mean of 0 or a standard deviation of 1: .big. has a mean of [0-9.e+]* and .*, standardized as for the initial model; the head is that of --init; --new-head replaces it" msgs &&
    chordseq train $small --labels million.tsv --init sizes.m --new-head -o more.m sense.fa 2> msgs && ! grep warning msgs &&
    chordseq model show more.m | grep -q "^standardized.big: mean 5[0-9.]*e+10"'
T 'without standardization, values of another size are reported' sh -c 'small="--no-standardize --epochs 1 --tokenizer base --encoder cdil --encoder.layers 1 --encoder.hidden 4"
    chordseq train -q --head regress --labels sizes.tsv $small -o x.m sense.fa 2> msgs &&
    grep -q "warning: 2 of 3 values to predict are far from a mean of 0 or a standard deviation of 1: .big. has a mean of [0-9.e+]* and a standard deviation of [0-9.e+]*; omit --no-standardize" msgs &&
    awk "NR > 1 { print \$1 \"\t\" \$2 \"\t\" 20 * \$2 }" sizes.tsv > uneven.tsv &&
    chordseq train -q --head regress --labels uneven.tsv $small -o x.m sense.fa 2> msgs && grep -q "warning: the values to predict have standard deviations from 0.[0-9]* to [0-9.]*, and the largest decides the loss; omit" msgs &&
    chordseq train -q --head regress --labels share.tsv $small -o x.m sense.fa 2> msgs && ! grep -e "far from" -e deviations msgs &&
    ! chordseq model show x.m | grep standardized'
awk '{ print $1 "\t" $2 "\t" substr($1, 2) % 7 / 7 }' share.tsv > two.body && { printf 'id\tshare\tchance\n'; cat two.body; } > two.tsv
regress="chordseq train -@ 1 --head regress --valid-frac 0.3 --encoder.max-len 128 --encoder.track 2 --encoder.hidden 8"
T 'R2 of values is in the table and the line of an epoch' sh -c '
    '"$regress"' --labels two.tsv --epochs 3 --metrics r2.tsv --stop-after 1 -o r2.m sense.fa 2> msgs &&
    '"$regress"' --labels two.tsv --epochs 3 --metrics r2.tsv --resume -o r2.m sense.fa 2>> msgs &&
    [ "$(head -n 1 r2.tsv | cut -f 12-)" = "valid_r2	valid_r2:share	valid_r2:chance" ] &&
    awk -F "\t" "NR > 1 && (NF != 14 || (\$13 + \$14) / \$12 > 2.001 || (\$13 + \$14) / \$12 < 1.999) { exit bad = 1 } END { exit bad || NR != 4 }" r2.tsv &&
    grep "mean R2 -*[0-9.]* (lowest -*[0-9.]*: [sc]h[a-z]*), lowest loss" msgs &&
    '"$regress"' --labels share.tsv --epochs 1 --metrics r2.tsv -o r2.m sense.fa 2> msgs &&
    [ "$(head -n 1 r2.tsv | cut -f 12-)" = valid_r2 ] && grep -q "loss [0-9.]*, R2 -*[0-9.]*, lowest" msgs'
T 'R2 of training is that of eval' sh -c '
    awk "{ print \$1 \"\t\" (NR % 3 ? \"train\" : \"valid\") }" share.tsv > part.tsv &&
    '"$regress"' -q --no-rc --split part.tsv --labels two.tsv --epochs 1 --metrics r2.tsv -o r2.m sense.fa 2> msgs &&
    chordseq eval -q -m r2.m --split part.tsv --labels two.tsv sense.fa > r2.eval &&
    awk -F "\t" "\$2 == \"all\" && \$4 == \"r2\" { print \$5 }" r2.eval > a && tail -n 1 r2.tsv | cut -f 12- | tr "\t" "\n" |
    paste - a | awk "\$1 / \$2 > 1.001 || \$1 / \$2 < 0.999 { exit bad = 1 } END { exit bad || NR != 3 }"'
if command -v python3 > /dev/null; then
    python3 "$srcdir/tests/cli/events.py" events/events.out.tfevents.* > events.txt 2>&1
    T 'events with right checksums' sh -c 'head -n 1 events.txt | grep -qx "version brain.Event:2"'
    T 'accuracies of a regression are events, too' sh -c 'chordseq train -q -@ 1 --head regress --labels share.tsv --epochs 2 --valid-frac 0.3 \
            --encoder.max-len 128 --encoder.track 2 --encoder.hidden 8 --tensorboard values --metrics values.tsv -o value.m sense.fa &&
        python3 "$srcdir/tests/cli/events.py" values/events.out.tfevents.* | awk "\$2 == \"valid/accuracy\" { printf \"%.4f\\n\", \$3 }" > a &&
        tail -n +2 values.tsv | cut -f 7 > b; cmp a b && [ "$(wc -l < a)" = 2 ] &&
        [ "$(python3 "$srcdir/tests/cli/events.py" values/events.out.tfevents.* | grep -c " valid/r2 ")" = 2 ]'
    T 'long names of values are cut behind a character, and stay apart' sh -c 'name=$(awk "BEGIN { for (i = 0; i < 60; i++) s = s \"\\303\\251\"; print s }") &&
        awk -v n="$name" "BEGIN { print \"name\tx\" n \"1\tb\tx\" n \"2\" } { print \$1 \"\t\" \$2 \"\t\" NR \"\t\" NR % 3 }" share.tsv > long.tsv &&
        chordseq train -q -@ 1 --head regress --labels long.tsv --epochs 1 --encoder.max-len 128 --encoder.track 2 --encoder.hidden 8 \
            --tensorboard long -o value.m sense.fa && PYTHONIOENCODING=utf-8 python3 "$srcdir/tests/cli/events.py" long/events.out.tfevents.* > events.long &&
        for i in 1 3; do grep -q "^[0-9]* valid/r2/$i x$(echo "$name" | cut -b 1-88) " events.long || exit; done && grep -q "^[0-9]* valid/r2/b " events.long'
    T 'events equal the tables' sh -c 'awk "\$2 == \"train/loss\" { print \$1, \$3 }" events.txt > a
        tail -n +2 whole.tsv | cut -f 1,4 | tr "\t" " " > b; cmp a b && awk "\$2 == \"valid/loss\" { print \$1, \$3 }" events.txt > a
        tail -n +2 epochs.tsv | cut -f 2,6 | tr "\t" " " > b; cmp a b'
else
    S 'an event file' 'there is no python3'
fi
T 'an unwritable folder is reported before training' sh -c '! "$@" --tensorboard no/such/folder 2> err &&
    grep -q "cannot create .no/such/folder" err && [ "$(wc -l < err)" = 1 ]' - $logged

T 'it is reported before the bags of a preset' sh -c '! "$@" 2> err && grep -q "cannot create .no/such/folder" err &&
    ! grep -q "bag" err' - chordseq train -@ 1 --label-key class --preset balanced --budget 200k \
    --tensorboard no/such/folder -o log.m sense.fa
T 'a file is no folder' sh -c '! "$@" --tensorboard mixed.fa 2> err && grep -q "cannot create .mixed.fa/events.*: Not a directory" err' - $logged

# ---- refused before anything is written ----------------------------------------------------------

printf 'a\tg\n' > same.tsv
printf 'ghost\ta\nspirit\tg\n' > ghosts.tsv
cross="chordseq train -@ 1 --samples-per-epoch 240 -o cross.m"
refused 'a budget of 1000 bases is below one step of about 5120; increase' --label-key class --budget 1k --preset balanced \
    --step-records 64 sense.fa
refused "record .r0. is not in .ghosts.tsv.; --skip-unlabelled" --budget 20k --labels ghosts.tsv sense.fa
refused "all 240 records have one class, .g.; training needs" --budget 20k --label-key class --label-map same.tsv sense.fa
refused 'a budget of 0.0001 s ends before the first step; increase it' --label-key class --budget 0.0001s sense.fa
T 'a refused run leaves no file' sh -c '[ -z "$(ls | grep "^cross\|tmp")" ]'
T 'a bag is the model: the log gives the reason' sh -c '"$@" --budget 0.5s --label-key class sense.fa 2> msgs &&
    if grep -q "trained 0 steps" msgs; then grep -q "the budget ended before the network.s first step; wrote the bag as the model$" msgs
    else ! grep -q "budget ended before the network.s first step" msgs; fi' - $cross
T 'the time left is that of the whole budget, not of the bag' sh -c 'timeout -s INT 4 "$@" -v --budget 9s --label-key class sense.fa 2> msgs
    grep -m 1 "bag of words, epoch 1: .* s of the budget left$" msgs | awk "{ exit !(\$(NF - 5) >= 7 && \$(NF - 5) <= 9) }"' - $cross
cat > terminal.py <<'END'
import os, pty, re, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
try:
    while more := os.read(fd, 4096):
        text += more
except OSError:                  # the end of a terminal
    pass
os.waitpid(pid, 0)
seen = re.findall(r"samples \((bag of words|network)\), [^%]* (\d+) %", text.decode())     # of stages of some seconds
share = [int(v) for _, v in seen]
assert seen and share == sorted(share), seen
END
progress='the progress on a terminal names the stage and has the share of the whole budget'
if python3 -c 'import pty; pty.openpty()' 2> /dev/null; then
    T "$progress" python3 terminal.py env TERM=xterm $cross --preset balanced --budget 5s --label-key class sense.fa
else
    S "$progress" 'no pseudo-terminal'
fi
T 'a class with one record is reported, the others are trained' sh -c 'awk "/^>/ { n++ } n > 1 { sub(/class=g/, \"class=a\") } 1" sense.fa > lone.fa
    "$@" --preset fast --budget 20k --label-key class lone.fa 2> msgs && [ "$(grep -c "1 of 2 classes has no validation record; first: .g., which has one record; give it more" msgs)" = 1 ]' - $cross
T 'a label cut at a blank is reported once' sh -c 'sed "s/class=g/class=Homo sapiens/" sense.fa > blank.fa
    "$@" --preset fast --budget 20k --label-key class blank.fa 2> msgs &&
    [ "$(grep -c "warning: labels end at a blank: .r[0-9]*. has .Homo., without .sapiens. (120 of 240 records); write ._. for blanks, or give --labels$" msgs)" = 1 ]' - $cross

# ---- presets with other input --------------------------------------------------------------------

chordseq simulate temporal-order --length 20 -n 40 --seed 3 -o order.tsv
T 'a preset for values: network and optimisation' sh -c '"$@" --preset balanced --print-config order.tsv > cfg &&
    for s in encoder.max-len=64 encoder.track=4 lr=0.003 step-records=16 rc=0 mutate=0 crop-max=0 head.composition=0
    do grep -qx "$s" cfg || { echo "# no $s"; exit 1; }; done' - $cross
T 'the preset trains on real values' sh -c '"$@" --preset balanced --budget 20k order.tsv 2> msgs && grep -q "^chordseq: trained" msgs &&
    ! grep -q "bag\|regression" msgs' - $cross
refused '--preset fast is a bag of words of nucleotides, and the input has values; use balanced or best' \
    --preset fast --budget 20k order.tsv
T 'a preset without effect is reported' sh -c '"$@" --preset balanced --head regress --epochs 1 order.tsv 2> msgs &&
    grep -q "warning: --preset balanced has no effect: it is for classes of sequences, without --init$" msgs' - $cross
T 'a preset sets the maximum length of any encoder' sh -c 'for e in psf paramixer linformer chordmixer; do
    "$@" --preset balanced --encoder $e --print-config --label-key class sense.fa | grep -qx "encoder.max-len=128" ||
    { echo "# $e"; exit 1; }; done' - $cross
T 'more factors than reach all tokens' sh -c '"$@" --preset balanced --encoder psf --print-config --label-key class sense.fa |
    grep -qx "encoder.factors=12"' - $cross
T 'more tokens than bases' sh -c '"$@" --preset balanced --tokenizer codon --print-config --label-key class sense.fa |
    grep -qx "encoder.max-len=256"' - $cross
