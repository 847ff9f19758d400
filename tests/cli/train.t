# train.t - `chordseq train`: refusals, training, and bit-exact resuming.
. "$srcdir/tests/cli/lib.sh"

# Two classes that are easy to distinguish, in groups of three pieces.
awk 'BEGIN { srand(1); for (i = 0; i < 48; i++) { c = i % 2; s = ""
    for (j = 0; j < 90 + i; j++) s = s substr(c ? "AAATTACG" : "GGGCCATC", 1 + int(8 * rand()), 1)
    printf ">r%d organism=o%d class=%s\n%s\n", i, int(i / 6) * 2 + c, c ? "at" : "gc", s } }' > all.fa
awk -v RS='>' 'NR > 1 { split($3, c, "="); print ">" $0 > (c[2] ".fa") }' all.fa
awk '/^>/ { sub(/class=/, "", $3); print substr($1, 2) "\t" $3 }' all.fa > labels.tsv

small="--encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --tokenizer.k 2 -B 512 --lr 0.01"
short="--epochs 3 --samples-per-epoch 24 --crop-min 40 --crop-max 80 --rc --seed 4 --ema 0.9"
train="chordseq train -q $small $short"

# ---- refused -------------------------------------------------------------------------------------

N train-no-output.err    $train --label-key class all.fa
N train-stdout.err       $train -o - --label-key class all.fa
N train-no-labels.err    $train -o x.m all.fa
N train-two-labels.err   $train -o x.m --label-key class --labels labels.tsv all.fa
T 'a label that is too long is named as that' sh -c 'sed "1s/class=/class=$(printf %01100d 0)/" all.fa > wide.fa
    for o in "" --skip-unlabelled; do ! "$@" $o wide.fa 2> err && grep -q "label of record .r0. has 1102 bytes; at most 1023 are supported" err || exit; done' - \
    $train -o x.m --label-key class
T 'a group that is too long is named as that' sh -c 'sed "3s/organism=/&$(printf %01100d 0)/" all.fa > wide.fa && printf "r0\ttrain\t$(printf %01100d 0)\n" > wide.tsv &&
    for o in "--split-by organism" "--split-by organism:1"; do ! "$@" $o wide.fa 2> err &&
        grep -q "group of record .r1. by --split-by has 1102 bytes; at most 1023 are supported" err || exit; done
    ! "$@" --split wide.tsv all.fa 2> err && grep -q "group of record .r0. by --split has 1100 bytes" err' - \
    $train -o x.m --label-key class
N train-no-key.err       $train -o x.m --label-key kind all.fa
N train-encoder.err      $train -o x.m --encoder lstm --label-key class all.fa
N train-option.err       $train -o x.m --encoder.heads 8 --label-key class all.fa
N train-option-k.err     $train -o x.m --tokenizer base --tokenizer.k=3 --label-key class all.fa
N train-option-none.err  $train -o x.m --encoder.nix 3 --label-key class all.fa
N train-heads.err        chordseq train -q -o x.m --encoder transformer --encoder.heads 5 --label-key class all.fa
N train-too-long.err     chordseq train -q -o x.m --encoder linformer --encoder.max-len 20 --label-key class all.fa
for c in at gc; do echo ">$c class=$c"; sed '/^>/d' $c.fa | tr -d '\n'; echo; done > long.fa
# The encoder is the model's, so no longer one is suggested.
N train-init-long.err    chordseq train -q -o x.m --init "$tiny/model.safetensors" --label-key class long.fa
N train-crop.err         $train -o x.m --crop-max 30 --label-key class all.fa
N train-class-file.err   $train -o x.m --class at --label-key class all.fa
N train-weights.err      $train -o x.m --class-weights 1,2,3 --label-key class all.fa
N train-weights-name.err $train -o x.m --class-weights nowhere=2 --label-key class all.fa
N train-weights-num.err  $train -o x.m --class-weights at=1,gc=-1 --label-key class all.fa
N train-weights-max.err  $train -o x.m --class-weights 1e39,1 --label-key class all.fa
N train-weights-0n.err   $train -o x.m --class-weights at=0,gc=0 --label-key class all.fa
N train-weights-0.err    $train -o x.m --class-weights 0,0 --label-key class all.fa
N train-monitor.err      $train -o x.m --head regress --monitor balanced-accuracy --labels labels.tsv all.fa
N train-lr-end.err       $train -o x.m --schedule polynomial --lr-end 1 --label-key class all.fa
N train-lr-end2.err      chordseq train -o x.m --preset balanced --schedule polynomial --lr-end 0.005 --label-key class all.fa
N train-same.err         $train -o x.m --metrics ./x.m --label-key class all.fa
N train-same-2.err       $train -o x.m --checkpoint x.m --label-key class all.fa
sed 's/class=gc/class=gc\xe9/' all.fa > latin.fa
T 'a label that is not UTF-8 is refused before training' sh -c '! "$@" 2> err &&
    grep -q "train: the label .gc.* is not UTF-8.*--label-map" err' - $train -o x.m --label-key class latin.fa
N train-split-by.err     $train -o x.m --split-by organisms --label-key class all.fa
T 'a key that no record has, also beside one that is too short' sh -c '
    { printf ">tiny class=at\nA\n"; cat all.fa; } | "$@" 2> err
    [ $? = 2 ] && grep -q "1 of 49 records is too short and was left out" err && grep -q "no record has .organisms=. in its header" err' - \
    $train -o x.m --split-by organisms --label-key class -
N train-one-class.err    $train -o x.m --label-key class at.fa
T 'a key that no record has, beside a class without records' sh -c ': > none.fa && ! "$@" 2> err && grep -q "error: train: all 24 records have one class, .at." err' - \
    $train -o x.m --class at=at.fa --class none=none.fa
tab=$(printf 'a\tb')
T 'a mistyped encoder gets a suggestion' sh -c '! "$@" --encoder chordmixr 2> err && grep -q "no encoder .chordmixr.; did you mean .chordmixer.? " err &&
    ! "$@" --encoder.hiden 3 2> err && grep -q "did you mean .--encoder.hidden.? " err && ! "$@" --encoder.widht 3 2> err && ! grep -q mean err' - \
    $train -o x.m --label-key class all.fa
N train-name-tab.err     chordseq train -q -o x.m --class "$tab=at.fa" --class gc=gc.fa
T 'a newline in a label is refused' sh -c '! chordseq train -q -o x.m --class "a
b=at.fa" --class gc=gc.fa 2> err && grep -q "class name .*control character" err && [ ! -e x.m ]'
head -n 10 labels.tsv > some.tsv
N train-unlabelled.err   $train -o x.m --labels some.tsv all.fa
sed '3s/$/ /' labels.tsv > space.tsv
N train-label-space.err  $train -o x.m --labels space.tsv all.fa
printf '>s1 of x\nACGTACGTAC\n>s2 of y\nGGTTACGTAC\n' > two.fa
for wrong in 's1 |with a space after it; remove the space' 's1 of x|with the rest of its header line; a name ends at the first blank' \
    '>s1|with the first character of its header line; remove it'; do
    printf '%s\ta\ns2\tb\n' "${wrong%|*}" > wrong.tsv
    T "a name in a table ${wrong#*|}" sh -c '! "$@" --labels wrong.tsv two.fa 2> err && grep -q "wrong.tsv. has the name of record .s1. $0" err' "${wrong#*|}" $train -o x.m
done
T 'labels from a spreadsheet: CSV with names of columns, quotes and CRLF' sh -c 'awk -F "\t" "BEGIN { printf \"\357\273\277\\\"Sample ID\\\",class\\r\\n\" }
        !/^#/ { printf \"\\\"%s\\\",%s\\r\\n\", \$1, \$2 } END { printf \",\\r\\n\" }" labels.tsv > sheet.csv &&
    "$@" -o sheet.m --labels sheet.csv && "$@" -o rows.m --labels labels.tsv &&
    [ "$(chordseq model show sheet.m | grep -e ^label -e ^sha256)" = "$(chordseq model show rows.m | grep -e ^label -e ^sha256)" ]' - $train --epochs 1 all.fa
T 'names of records in another column are reported as that' sh -c 'awk "BEGIN { print \",id,value\" } !/^#/ { print NR \",\" \$1 \",\" NR / 100 }" labels.tsv > index.csv &&
    ! "$@" --head regress --labels index.csv 2> err && grep -q "index.csv. has the name of record .* in column 2; the first one must have" err' - $train -o x.m all.fa
T 'a label that names no class and a table with quotes are reported as that' sh -c 'sed "3s/\t.*/\t/" labels.tsv > no.tsv && ! "$@" --labels no.tsv 2> err &&
    grep -q "the label .. of record .*names no class; --skip-unlabelled" err && sed "s/^\([^\t]*\)/\"\1\"/" labels.tsv > quoted.tsv &&
    ! "$@" --labels quoted.tsv 2> err && grep -q "quoted.tsv. has the name of record .* in quotes; remove the quotes" err &&
    ! ls x.m* 2> /dev/null' - $train -o x.m all.fa
T 'no checkpoint beside a device' sh -c '"$@" --stop-after 1 -o /dev/null all.fa 2> msgs && ! ls /dev/null.* && ! grep -q "holds the state" msgs &&
    "$@" -o /dev/null all.fa 2> msgs && ! ls /dev/null.* && ! grep "error" msgs && ! "$@" -o /dev/null --html d.html all.fa 2> msgs &&
    grep -q "html reads the model again, but ./dev/null. is not a regular file" msgs && [ ! -e d.html ] &&
    ! "$@" -o /dev/null --folds 2 all.fa 2> msgs && grep -q "folds writes models beside ./dev/null.,.* give a file with -o" msgs || exit
    ! "$@" --resume -o /dev/null all.fa 2> msgs && grep -q "resume needs --checkpoint FILE, as ./dev/null. is not a regular file" msgs' - $train --label-key class
T 'too few samples for a calibration are reported' sh -c '"$@" 2> msgs && grep -q "not calibrated: [0-9]* validation samples, at least 100 are needed" msgs' - \
    chordseq train -o few.m --epochs 1 --tokenizer base --encoder.max-len 256 --label-key class all.fa
T 'records of N only are reported' sh -c '{ cat all.fa; printf ">n class=at\nNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN\n"; } > n.fa && "$@" 2> msgs &&
    grep -q "warning: 1 of 49 records has only unknown bases (N), .*first: .n." msgs && sed "\$s/N\$/C/" n.fa > c.fa && mv c.fa n.fa &&
    "$@" 2> msgs && ! grep "unknown bases" msgs' - chordseq train -o n.m --epochs 1 --tokenizer base --encoder.max-len 256 --label-key class n.fa
T 'records of lower-case n only are reported where case counts' sh -c '{ cat all.fa; printf ">n class=at\nnnnnnnnnnnnnnnnnNNNNNNNNNNNNNNNNN\n"; } > n.fa &&
    "$@" --tokenizer.case 2> msgs && grep -q "warning: 1 of 49 records has only unknown bases (N), .*first: .n." msgs && "$@" 2> msgs &&
    grep -q "warning: 1 of 49 records has only unknown" msgs' - chordseq train -o n.m --epochs 1 --tokenizer base --encoder.max-len 256 --label-key class n.fa
for to in '-o no/x.m' '-o x.m --metrics no/x.tsv' '-o x.m --checkpoint no/x.ckpt'; do
    T "refused before it starts: $to" sh -c '! "$@" 2> err && grep -q "cannot create .no/x" err' - \
        $train $to --label-key class all.fa
done
if [ -w /dev/full ]; then
    # Before the first epoch, of which the table of metrics would tell.
    for to in '-o /dev/full --metrics early.tsv' '-o x.m --metrics /dev/full' '-o x.m --checkpoint /dev/full' \
        '-o x.m --step-metrics /dev/full --metrics early.tsv' '-o x.m --html /dev/full --metrics early.tsv'; do
        T "a full disk is found before it starts: $to" sh -c '! "$@" 2> err && [ ! -e early.tsv ] && [ "$(wc -l < err)" = 1 ] &&
            grep -q "error: train: cannot write ./dev/full.: No space left on device" err' - $train $to --label-key class all.fa
    done
fi
T 'a failed run leaves no file' sh -c '[ -z "$(ls | grep "^x\|tmp")" ]'

printf 'at\t7\t-\tnowhere\n' > taxa.tsv
N train-taxonomy.err     $train -o x.m --taxonomy taxa.tsv --label-key class all.fa
printf 'at\t7\tgenus\nup\t5\tfamily\ngc\t-\t-\tup\tGC rich\n' > taxa.tsv

# ---- messages ------------------------------------------------------------------------------------

T 'weights by name equal weights in order' sh -c '
    "$@" --class-weights 0.5,3 -o list.m all.fa && "$@" --class-weights at=3,gc=0.5 -o named.m all.fa &&
    "$@" --class-weights at=3,gc=1 -o two.m all.fa && "$@" --class-weights at=3 -o one.m all.fa' - $train --label-key class
T 'a class without a weight weighs 1' sh -c '[ "$(chordseq model show list.m | grep ^sha256)" = "$(chordseq model show named.m | grep ^sha256)" ] &&
    [ "$(chordseq model show one.m | grep ^sha256)" = "$(chordseq model show two.m | grep ^sha256)" ] &&
    [ "$(chordseq model show one.m | grep ^sha256)" != "$(chordseq model show named.m | grep ^sha256)" ]'
T 'weights by names with commas and backslashes' sh -c 'sed "s/ class=at/ class=a,t/; s/ class=gc/ class=g\\\\,c/" all.fa > comma.fa &&
    grep -qF "class=g\\,c" comma.fa && "$@" --class-weights "a\\,t=3,g\\\\\\,c=0.5" -o comma.m comma.fa &&
    [ "$(chordseq model show comma.m | grep ^sha256)" = "$(chordseq model show named.m | grep ^sha256)" ] &&
    ! "$@" --class-weights a,t=3 -o x.m comma.fa 2> msgs && grep -q "expected CLASS=NUM, .*not .a.$" msgs' - $train --label-key class
# prints WORDS OPTION...: a run with these options prints WORDS
prints() { words=$1; shift; T "prints: $words" sh -c 'w=$1; shift; "$@" 2> msgs && grep -q "chordseq: $w" msgs' - \
    "$words" chordseq train $small --epochs 1 -o msgs.m "$@" all.fa; }
{ printf 'name\tclass\n'; cat labels.tsv; printf 'ghost\tgc\n'; } > more.tsv
prints "2 of the 50 records of 'more.tsv' are not in the input; first: 'name'" --labels more.tsv
awk '/^>/ { print substr($1, 2) "\t" ($3 ~ /gc/ ? "train" : "valid") }' all.fa > apart.tsv
prints "warning: 1 of 2 classes has no training record; first: 'at'" --label-key class --split apart.tsv
prints "warning: 1 of 2 classes has no validation record; first: 'gc'" --label-key class --split apart.tsv
{ cat apart.tsv; printf 'r9\tvalid\nghost\ttrain\n'; } > ghost.tsv
prints "1 of the 49 records of 'ghost.tsv' is not in the input; first: 'ghost'" --label-key class --split ghost.tsv
awk '/^>/ { printf ">%s again %s\n", substr($1, 2) "b", $3; next } 1' all.fa > twice.fa
awk '/^>/ { n = substr($1, 2); print n "\t" (++k % 4 ? "train" : "valid"); print n "b\ttrain" }' all.fa > leak.tsv
prints 'warning: the warm-up of 100 steps is not shorter than the run of [0-9]* steps: the learning rate never' --label-key class \
    --warmup 100
prints 'warning: 12 of 12 validation records have the same sequence as a training record' --label-key class \
    --split leak.tsv twice.fa
# Reason and remedy for classes without validation records.
sed '/class=gc/s/organism=[^ ]*/organism=one/' all.fa > one.fa
T 'reports a class of one group' sh -c '"$@" 2> msgs && grep -q "warning: 1 of 2 classes has no validation record; first: .gc., whose 24 records are one group by organism; give" msgs' - \
    chordseq train $small --epochs 1 -o msgs.m --label-key class --split-by organism one.fa
T 'a record without a row of --split is named with the parts' sh -c 'sed 1d apart.tsv > rows.tsv && ! "$@" -o msgs.m --label-key class --split rows.tsv all.fa 2> err &&
    grep -q "record .*. is not in .rows.tsv.; add it with its part: train, valid or skip$" err' - $train
N train-split-none.err  chordseq train $small --epochs 1 -o msgs.m --label-key class --split-by class all.fa
prints "warning: no validation records: writing the latest model" --label-key class --split-by class --valid-frac 0
sed '/^>/ s/class=/class=x/' all.fa | awk '/^>/ { keep = !n++ } keep' | cat - all.fa > three.fa
T 'reports a class with one record' sh -c '"$@" 2> msgs && grep -q "warning: 1 of 3 .*: .xgc., which has one record; give" msgs' - \
    chordseq train $small --epochs 1 -o msgs.m --label-key class three.fa
: > none.fa
T 'reports a class without a record' sh -c '"$@" 2> msgs && grep -q "warning: 1 of 3 .*: .no., which has no record at all$" msgs' - \
    chordseq train $small --epochs 1 -o msgs.m --class gc=gc.fa --class at=at.fa --class no=none.fa
sed '1s/organism=[^ ]*//' all.fa > lacks.fa
T 'reports a record without the key' sh -c '"$@" 2> msgs && grep -q "1 of 48 records has no .organism. for --split-by" msgs' - \
    chordseq train $small --epochs 1 -o msgs.m --label-key class --split-by organism lacks.fa
T 'the model records the split' sh -c 'chordseq model show msgs.m > card &&
    grep -q "split_by.organism$" card && grep -q "groups.17$" card'
T 'a row per epoch, compressed; a model is not' sh -c '"$@" --epochs 2 --metrics t.tsv.gz -o o.m all.fa &&
    [ "$(gzip -dc t.tsv.gz | wc -l)" = 3 ] && ! "$@" --epochs 1 -o o.gz all.fa 2> msgs && grep -q "not compressed; omit .[.]gz" msgs' \
    - chordseq train $small --label-key class
T 'help and manual name all heads, encoders and tokenizers' sh -c 'chordseq train --help > help
    for n in class tree multilabel regress token variant chordmixer psf base kmer bpe diplotype; do
    sed -n "/^Model:/,/^ *--tokenizer.k/p" help | grep -qw $n && grep -qw -- $n "$srcdir/man/chordseq-train.1" || exit; done'
T 'help shows options of the chosen encoder only' sh -c 'chordseq train --help > help && chordseq train --encoder psf --help > psf &&
    grep -q "^Encoder chordmixer:" help && ! grep -q "^Encoder psf:" help && grep -q "options follow --tokenizer NAME or --encoder NAME" help &&
    ! grep -q "^Encoder chordmixer:" psf && grep -q "^Encoder psf:" psf'

# ---- one data set, four ways to label it ---------------------------------------------------------

T 'labels from the header' $train -o key.m --split-by organism --label-key class --taxonomy taxa.tsv all.fa
P train-taxonomy.tsv     sh -c 'chordseq model show key.m | grep -E "^(label|taxon)"'
T 'labels from a table' $train -o table.m --split-by organism --labels labels.tsv all.fa
same_weights 'labels of header and table give the same weights' key.m table.m
T 'one file per class' $train -o file.m --class gc=gc.fa --class at=at.fa
printf 'gc\thigh\nat\tlow\n' > map.tsv
T 'labels by another name' $train -o map.m --label-map map.tsv --label-key class all.fa
T 'the map names the classes' sh -c 'chordseq model show map.m | grep -q "^label 0.high$"'
T 'the map names the classes of --class: the same model' sh -c '"$@" --label-map map.tsv -o mapped.m --class gc=gc.fa --class at=at.fa && "$@" -o plain.m --class high=gc.fa --class low=at.fa &&
    chordseq model show mapped.m | grep -q "^label 0.high$"' - $train
same_weights 'mapped and given classes give the same weights' mapped.m plain.m
printf 'gc\thigh\nodd\t-\n' > omit.tsv
printf '>a\nACGTACGT\n>b\nGGTTACGT\n>c\nACGATAGT\n>d\nCCGATACC\n' > spelt.fa
printf 'a\tVirus\nb\tvirus\nc\tvirUS\nd\tphage\n' > spelt.tsv
T 'classes that differ only by case are separate, with a warning that tells the remedy' sh -c '"$@" -o spelt.m --labels spelt.tsv spelt.fa 2> msgs &&
    [ "$(chordseq model show spelt.m | grep -c ^label)" = 4 ] &&
    grep -q "warning: 2 classes differ from another one only by case, quotes or underscores; first: .Virus. and .virUS.; if they are one class, unite them with --label-map$" msgs &&
    printf "Virus\tvirus\n" > unite.tsv && "$@" -o spelt.m --label-map unite.tsv --labels spelt.tsv spelt.fa 2> msgs && grep -q "warning: 1 class differs .* .virUS. and .virus.;" msgs &&
    printf "virUS\tvirus\n" >> unite.tsv && "$@" -o spelt.m --label-map unite.tsv --labels spelt.tsv spelt.fa 2> msgs && ! grep "only by case" msgs &&
    printf "a\t\"E. coli\"\nb\te._coli\nc\tE. coli\nd\tphage\n" > quotes.tsv && "$@" -o spelt.m --labels quotes.tsv spelt.fa 2> msgs &&
    grep -q "warning: 2 classes differ .* only by case, quotes" msgs' - $train
T 'labels of variants are in their files' sh -c '! chordseq train -q --head variant --labels spelt.tsv -T spelt.fa -o spelt.m spelt.tsv 2> msgs &&
    grep -q "variant files contain labels: an INFO field of VCF (--label-key), or the column .label. of a table$" msgs'
T 'the class - omits the records of a file' sh -c 'sed "s/^>/>odd/" at.fa > odd.fa && "$@" --label-map omit.tsv -o omit.m --class gc=gc.fa --class odd=odd.fa --class at=at.fa &&
    [ "$(chordseq model show omit.m | grep -c ^label)" = 2 ] && chordseq model show omit.m | grep -q "^label 1.at$"' - $train
T 'eval maps the classes of files' sh -c 'chordseq eval -q -m mapped.m --label-map map.tsv --class gc=gc.fa --class at=at.fa > mapped.e &&
    chordseq eval -q -m mapped.m --class high=gc.fa --class low=at.fa | cmp - mapped.e &&
    ! chordseq eval -q -m mapped.m --class gc=gc.fa 2> msgs && grep -q "label .gc. is not a class of the model.*label-map" msgs'
T 'options of variants without effect are refused' sh -c 'for o in "--ends fill" "--circular c1" "--window-length 500"; do
    "$@" --label-key class -o none.m $o all.fa 2> msgs; [ $? = 2 ] && grep -q -e "train: ${o% *} is for --head variant" msgs && [ ! -e none.m ] || exit; done' - $train
T 'a map without effect is refused' sh -c '! "$@" --head regress --label-map map.tsv --label-key class -o x.m all.fa 2> msgs &&
    grep -q "label-map is for classes, but the head predicts values" msgs' - $train
T 'some records without labels' $train --skip-unlabelled -o some.m --labels some.tsv all.fa
gzip -c all.fa > all.fa.gz
T 'standard input, compressed' sh -c "$train -o in.m --split-by organism --label-key class - < all.fa.gz"
cp key.m first.m
T 'labels from the header again' $train -o key.m --split-by organism --label-key class --taxonomy taxa.tsv all.fa
T 'a second run writes the same file' cmp first.m key.m
same_weights 'the path of the input does not matter' key.m in.m

# ---- a split that is written ---------------------------------------------------------------------

parts="$train --label-key class --group-balance 0.5"
T 'the split of a run' $parts --split-by organism -o parts.m --metrics parts.m.tsv --split-out parts.tsv all.fa
T 'repeats the run' $parts --split parts.tsv -o again.m --metrics again.m.tsv --split-out again.csv all.fa
same_weights 'with the same weights' parts.m again.m
cut -f 1-9 parts.m.tsv > a; cut -f 1-9 again.m.tsv > b
T 'with the same metrics' cmp a b
T 'and gives the same split, also as CSV' sh -c 'tr , "\t" < again.csv | cmp - parts.tsv && [ "$(wc -l < parts.tsv)" = 48 ]'
T 'eval takes its validation records' sh -c 'chordseq eval -q -m parts.m --label-key class --split parts.tsv all.fa | awk -F "\t" "\$4 == \"records\" { print \$5; exit }" > a
    grep -c "	valid	" parts.tsv | cmp - a'
T 'records that are left out need no part' sh -c '"$@" --skip-unlabelled -o left.m --labels some.tsv --split-out left.tsv all.fa && [ "$(wc -l < left.tsv)" -lt 48 ] &&
    "$@" --skip-unlabelled -o left2.m --labels some.tsv --split left.tsv all.fa' - $train
same_weights 'as in the run without a table' left.m left2.m
T 'what a table of names cannot have' sh -c 'sed "s/^>r1 />r0 /" all.fa > one_name.fa; sed "s/^>r1 />#1 /" all.fa > mark.fa
    ! "$@" --split-by organism --split-out x.tsv one_name.fa 2> msgs && grep -q "records named .r0. are in several parts or groups" msgs &&
    ! "$@" --split-out x.tsv mark.fa 2> msgs && grep -q "the name .#1., as it begins with" msgs && [ ! -e x.tsv ] && [ ! -e x.m ]' - \
    $train --label-key class -o x.m
N train-split-same.err  $train --label-key class -o x.m --metrics x.tsv --split-out x.tsv all.fa
N train-split-fold.err  $train --label-key class -o x.m --folds 2 --split-out x.tsv all.fa
N train-split-dir.err   $train --label-key class -o x.m --split-out none/x.tsv all.fa

# ---- training ------------------------------------------------------------------------------------

T 'a longer run' chordseq train -q $small --epochs 12 --samples-per-epoch 64 --crop-max 80 --crop-min 60 \
    --split-by organism --label-key class -o good.m --metrics good.tsv all.fa
T 'balanced accuracy above 0.9' sh -c 'tail -n 1 good.tsv | awk "{ exit !(\$8 > 0.9) }"'
T 'a run that has ended is not resumed' sh -c '"$@" -o short.m -q && "$@" -o short.m --resume 2> msgs &&
    grep -q "the run ended at step 1; there is nothing left to train" msgs && ! grep -q "resuming" msgs' - \
    chordseq train $small --max-steps 1 --label-key class all.fa
T 'early stopping needs validation' sh -c '"$@" --patience 2 2> msgs && grep -q "warning: --patience and --stop-at have no effect without validation" msgs' - \
    chordseq train $small --max-steps 1 --valid-frac 0 --label-key class -o short.m all.fa
T 'one row per epoch under the header' sh -c '[ "$(wc -l < good.tsv)" = 13 ]'
T 'of epochs of the same balanced accuracy the one of the lowest loss is the model' sh -c '
    best=$(awk -F "\t" "NR > 1 && (\$8 > b || (\$8 == b && \$6 < l)) { n += \$8 == b; b = \$8; l = \$6; e = \$1 } END { if (n) print e }" good.tsv)
    chordseq model show good.m | grep -qx "training.epoch	$best"'
T 'the log has one line for many short epochs, --verbose a line for each' sh -c '"$@" 2> msgs && [ "$(grep -c "epoch [0-9]*: loss" msgs)" -lt 3 ] &&
    grep -q "^chordseq: model, epoch 30: loss .*, balanced accuracy .* of peak$" msgs && "$@" -v 2> msgs && [ "$(grep -c "^chordseq: model, epoch [0-9]*: loss" msgs)" = 30 ]' - \
    chordseq train $small --epochs 30 --max-steps 30 --samples-per-epoch 1 --crop-max 80 --crop-min 60 --label-key class -o log.m gc.fa at.fa

T 'a run without validation' $train -o all.m --valid-frac 0 --metrics all.tsv --label-key class all.fa
T 'metrics without validation are NA' awk -F '\t' 'NF != 11 || $6 != "NA" || $9 != "NA" { if (NR > 1) exit 1 }
    NR > 1 && $11 !~ /^[0-9]+$/ { exit 1 }' all.tsv

awk '/^>/ { print; next } { print substr($0, 1, 6 + NR % 4) }' all.fa > brief.fa
T 'deletions leave a token of the shortest records' chordseq train -q --tokenizer.k 6 -B 512 --epochs 2 --mutate-indels 0.5 \
    --label-key class -o brief.m brief.fa

# ---- from another model --------------------------------------------------------------------------

still="chordseq train -q $small --epochs 1 --lr 1e-9 --weight-decay 0 --samples-per-epoch 24"
T 'a run that starts from a model' $still --split-by organism --label-key class -o next.m \
    --metrics next.tsv --init good.m all.fa
T 'a run that starts from a model has its accuracy from the first epoch' sh -c 'tail -n 1 next.tsv | awk "{ exit !(\$8 > 0.9) }"'
T 'a model with other classes starts from it' $still --label-map map.tsv --label-key class -o other.m \
    --init good.m all.fa
T 'class names are kept' sh -c 'chordseq model show other.m | grep -q "^label 0.high$"'
T 'a new head is reported, also if only the order differs' sh -c '
    for f in "gc at" "at gc"; do set -- $f; chordseq train $0 --epochs 1 --init good.m --class $1=$1.fa --class $2=$2.fa \
    -o order.m 2> msgs.$1 || exit; done; grep -q "the head is initialised anew: the labels of .good.m. or" msgs.at &&
    ! grep -q anew msgs.gc' '-B 512'
T 'a new head of another type is reported' sh -c 'awk "{ print \$1 \"\t\" NR % 2 }" labels.tsv > values.tsv &&
    chordseq train $0 --epochs 1 --init good.m --head regress --labels values.tsv -o type.m all.fa 2> msgs &&
        grep -q "validation loss .*, R2 -*[0-9]*[.][0-9]*$" msgs &&
    grep -q "the head is initialised anew: that of .good.m. is class, not regress" msgs' '-B 512'
N train-init.err         $train -o x.m --init good.m --encoder.hidden 9 --label-key class all.fa
N train-init-part.err    chordseq train -q -o x.m --init good.m --encoder cdil --label-key class all.fa
# The head's settings are the model's, too, other than those given.
T 'a model with a head of its own' $still -o pool.m --head.pool max+mean --head.hidden 4 --head.dropout 0.1 --label-key class all.fa
T 'the head keeps its settings' sh -c 'chordseq train -q "$@" --label-key class -o kept.m --init pool.m all.fa &&
    for m in pool kept; do chordseq model show $m.m | grep "^head" > $m.set; done && cmp pool.set kept.set && grep -q "pool.max+mean" kept.set' - \
    -B 512 --epochs 1 --samples-per-epoch 24
T 'a given dropout replaces those of head and encoder' sh -c 'chordseq train -q "$@" --label-key class -o kept.m --init pool.m --head.dropout 0.3 \
    --encoder.dropout 0.2 all.fa && chordseq model show kept.m | grep -cx "head.dropout.0.3\|encoder.dropout.0.2" | grep -qx 2' - -B 512 --epochs 1 --samples-per-epoch 24
N train-init-head.err    chordseq train -q -o x.m --init pool.m --head.hidden 5 --label-key class all.fa
T '--new-head takes new settings with the same classes' sh -c 'chordseq train -q "$@" --label-key class -o kept.m --init pool.m --new-head --head.pool cls \
    all.fa && chordseq model show kept.m | grep -cx "head.pool.cls\|head.hidden.0" | grep -qx 2' - -B 512 --epochs 1 --samples-per-epoch 24
N train-new-head.err     chordseq train -q -o x.m --new-head --label-key class all.fa
N train-init-pool.err    chordseq train -q -o x.m --init pool.m --head.pool=cls --label-key class all.fa
T 'a head for other classes has what is given' sh -c 'chordseq train -q "$@" --label-map map.tsv --label-key class -o kept.m --init pool.m --head.hidden 5 all.fa &&
    chordseq model show kept.m | grep -q "^head.hidden.5$" && chordseq model show kept.m | grep -q "^head.pool.max+mean$"' - \
    -B 512 --epochs 1 --samples-per-epoch 24
T 'an initial model that comes with chordseq keeps its encoder' sh -c '! "$@" --init default --encoder.depth own 2> err &&
    grep -q "the initial model has .* and keeps it" err' - $train -o x.m --label-key class all.fa
N train-freeze.err       $train -o x.m --freeze encoder --label-key class all.fa
from="chordseq train -q -B 512 $short --lr 0.02 --init good.m --label-map map.tsv --label-key class all.fa"
T 'a run with --init only' $from -o came.m
T '--init takes all settings of tokenizer and encoder' sh -c 'for m in good came; do chordseq model show $m.m | grep -E "^(tokenizer|encoder)" > $m.set; done
    cmp good.set came.set'
T 'the provenance names the initial model and the checksum of its weights' sh -c '
    sum=$(chordseq model show good.m | sed -n "s/^sha256.//p") && chordseq model show came.m |
    grep -qxF "training.initial_model	{\"name\":\"good.m\",\"sha256\":\"$sum\"}"'
T 'training with a frozen encoder' $from -o probe.m --metrics probe.tsv --freeze encoder --epochs 6
T 'a frozen encoder trains to a balanced accuracy above 0.8' sh -c 'tail -n 1 probe.tsv | awk "{ exit !(\$8 > 0.8) }"'
tune="$from --freeze-epochs 1 --encoder-lr 0.1"
T '--freeze-epochs' $tune -o tune.m
for n in 1 3; do
    T "paused after $n steps" $tune -o tuned.m --stop-after $n
    T 'resumed' $tune -o tuned.m --resume
    same_weights "fine-tuning resumed after $n steps gives the same weights" tune.m tuned.m
done
again="chordseq train -q -B 512 $short --label-key class all.fa -o moved.m"
T 'a resumed run may name the file of --init in another way' sh -c '"$@" --init good.m --stop-after 1 &&
    cp moved.m.ckpt first.ckpt && "$@" --init "$tmp/./good.m" --resume && mv first.ckpt moved.m.ckpt && cp good.m other.m &&
    ! "$@" --init other.m --resume 2> err && grep -q "belongs to another run: it has .init=" err' - $again

# ---- resuming ------------------------------------------------------------------------------------

run="$train --split-by organism --label-key class --accumulate 2 --encoder.dropout 0.1 all.fa"
T 'an uninterrupted run' $run -o whole.m --metrics whole.tsv
for n in 1 3 5; do
    T "paused after $n steps" $run -o part.m --metrics part.tsv --stop-after $n --checkpoint-blocks $n
    T 'resumed with one thread and other memory' $run -o part.m --metrics part.tsv --resume --threads 1 --recompute
    same_weights "a run resumed after $n steps gives the same weights" whole.m part.m
    cut -f 1-9 whole.tsv > a; cut -f 1-9 part.tsv > b
    T "a run resumed after $n steps gives the same metrics" cmp a b
done
steady="$train --split-by organism --label-key class --accumulate 2 --encoder.dropout 0.1 --schedule constant --warmup 2 all.fa"
T 'a run of 6 epochs at a constant rate' $steady --epochs 6 -o six.m --metrics six.tsv
T 'a run of 2' $steady --epochs 2 -o two.m --metrics two.tsv
T 'continued to 6' $steady --epochs 6 -o two.m --metrics two.tsv --resume
same_weights 'a run that is continued gives the same weights' six.m two.m
cut -f 1-9 six.tsv > a; cut -f 1-9 two.tsv > b
T 'a run that is continued gives the same metrics' cmp a b
T 'a run that early stopping has ended stays so' sh -c '"$@" --lr 1e-9 --patience 2 --epochs 8 -o bad.m && "$@" --lr 1e-9 --patience 2 --epochs 9 -o bad.m --resume &&
    chordseq model show bad.m.ckpt | grep -qx "finished epochs	3"' - $steady
N train-fewer.err $steady --epochs 3 -o two.m --resume
N train-more.err $run -o part.m --epochs 9 --resume
T 'a warm-up by share does not allow it' sh -c '"$@" --max-steps 1 -o x.m && ! "$@" --max-steps 1 --epochs 4 -o x.m --resume 2> err && rm x.* &&
    grep -q "has .epochs=3., this command .epochs=4.; give the same" err' - $steady --warmup 0.5
T 'model show prints the state of a checkpoint' sh -c '"$@" -o seen.m --stop-after 4 && chordseq model show seen.m.ckpt > shown &&
    for row in "state unfinished" "finished epochs 1" "finished steps 4" "accumulate 2" "encoder.dropout 0.1"; do
        grep -qx "${row% *}	${row##* }" shown || { cat shown; exit 1; }
    done && chordseq model show part.m.ckpt | grep -qx "state	ended"' - $run
latin=$(printf 'caf\351')
cp part.m "$latin.m"
cp all.fa "$latin.fa"
again="chordseq train -q -B 512 $short --lr 0.02 --label-key class -o latin.m --init"
T 'paused, with paths that are not UTF-8' $again "$latin.m" --stop-after 1 "$latin.fa"
T 'resumed' $again "$latin.m" --resume "$latin.fa"
T 'the model names the input' sh -c 'tr -d "\\\\" < latin.m | grep -aq "name\":\"cafxe9.fa\".*sha256"'
T 'other records for validation' sh -c "! $train --label-key class --accumulate 2 --encoder.dropout 0.1 \
    all.fa -o part.m --resume 2> err && grep -q \"belongs to another run: it has 'data=\" err"
N train-other.err $run -o part.m --resume --lr 0.5
T 'other names of the classes are found' sh -c '"$@" --class gc=gc.fa --class at=at.fa --stop-after 1 && ! "$@" --class at=gc.fa --class gc=at.fa --resume 2> err &&
    grep -q "belongs to another run: it has .labels.content=sha256:" err' - $train -o swapped.m
mv part.m moved.m
N train-lost.err $run -o part.m --resume
N train-lost.err $run -o part.m --checkpoint part.m.ckpt --resume
mv moved.m part.m
printf x | dd of=part.m.ckpt bs=1 seek=200 conv=notrunc 2> /dev/null
N train-damaged.err $run -o part.m --resume
T 'a checkpoint is no model' sh -c 'for c in "classify -m" "train -o x.m --label-key class --init"; do
    ! chordseq $c seen.m.ckpt all.fa 2> msgs && grep -q "seen.m.ckpt. is the checkpoint of a training, not a model" msgs || exit; done'
T 'model show refuses it, too' sh -c '! chordseq model show part.m.ckpt 2> err && grep -q "is not a valid checkpoint: its checksum is wrong" err'

T 'a difference at the end of a long value is found' sh -c 'one=1.$(printf %0600d 0) && "$@" --class-weights "$one,1" --stop-after 1 -o wide.m &&
    ! "$@" --class-weights "$one,2" --resume -o wide.m 2> err && grep -q "belongs to another run: it has .class-weights=1.0*,1., this command" err' - \
    $train --label-key class all.fa

# ---- a budget ------------------------------------------------------------------------------------

spend="chordseq train $small -@ 1 --samples-per-epoch 400 --split-by organism --label-key class all.fa"
T 'a budget of bases' $spend -q --budget 200k -o bases.m --metrics bases.tsv
T 'a budget of bases ends with a rate near 0 after about 12 validations' awk -F '\t' '
    END { exit !($3 < 1e-4 && NR >= 7 && NR <= 16) }' bases.tsv
T 'without a checkpoint --resume starts at the first step' sh -c '"$@" --budget 200k -o anew.m --resume 2> err &&
    grep -q "there is no checkpoint .anew.m.ckpt.; starting at the first step" err' - $spend
same_weights '--resume without a checkpoint gives the same weights' bases.m anew.m
for n in 1 60; do
    T "paused after $n steps" $spend -q --budget 200k -o spent.m --metrics spent.tsv --stop-after $n
    T 'resumed' $spend -q --budget 200k -o spent.m --metrics spent.tsv --resume
    same_weights "a budget resumed after $n steps gives the same weights" bases.m spent.m
    cut -f 1-9 bases.tsv > a; cut -f 1-9 spent.tsv > b
    T "a budget resumed after $n steps gives the same metrics" cmp a b
done
T 'a budget of time is kept' sh -c 'a=$(date +%s); "$@" --budget 4s -o timed.m --metrics timed.tsv 2> msgs &&
    [ $(($(date +%s) - a)) -le 12 ] && ! grep -q paused msgs && tail -n 1 timed.tsv | awk "{ exit !(\$3 < 1e-3) }"' - $spend
T 'a budget of time is kept by two runs in total' sh -c 'rm -f timed.m*; "$@" --budget 4s --max-time 1 -o timed.m 2> msgs && grep -q paused msgs &&
    "$@" --budget 4s --resume -o timed.m --metrics timed.tsv 2> msgs && ! grep -q paused msgs && grep -q "resuming after step [0-9]" msgs &&
    tail -n 1 timed.tsv | awk "{ exit !(\$10 > 2 && \$10 < 8) }"' - $spend
T 'a budget of time includes the calibration' sh -c 'awk "BEGIN { srand(5); for (c = 0; c < 2000; c++) for (r = 0; r < 10; r++) {
        print \">c\" c \"r\" r, \"class=c\" c; s = \"\"; for (i = 0; i < 30; i++) s = s substr(\"ACGT\", 1 + int(4 * rand()), 1); print s } }" > many.fa &&
    "$@" -v --budget 6s --label-key class -o many.m --metrics many.tsv many.fa 2> msgs && grep -q "calibrated on 2000" msgs &&
    tail -n 1 many.tsv | awk "NR == FNR { if (/calibration takes about/) all = 6 - \$6; next } END { exit !(all != \"\" && all < 5 && (all < 2 || \$10 < all + 1)) }" msgs -' - chordseq train -@ 1 $small
T 'a budget of bases without validation' $spend -q --budget 20k --valid-frac 0 -o none.m
# Batches wait in a queue: the budget ends some epochs just as the last batch enters it.
T 'an epoch without validation ends once' sh -c 'for n in 40 44 48 52 56 60; do "$@" --samples-per-epoch $n -o none.m --metrics none.tsv &&
    awk "NR > 2 && \$2 <= last { exit 1 } { last = \$2 }" none.tsv || exit; done' - \
    chordseq train -q $small --step-records 4 --crop-min 40 --crop-max 40 --budget 7k --valid-frac 0 --label-key class all.fa
N train-budget-short.err $spend -q --budget 0.0001s -o x.m
T 'a budget shorter than a step is refused' sh -c '! "$@" 2> err && [ "$(wc -l < err)" = 1 ] &&
    grep -q "error: train: a budget of 10[0-9]* bases is below one step of [0-9]*; increase it" err' - \
    $spend -q --budget 1k -B 8k --step-records 64 -o x.m
N train-budget-word.err  $spend -q --budget 10 -o x.m
N train-budget-two.err   $spend -q --budget 10m --epochs 3 -o x.m
T 'a refused run leaves no file' sh -c '[ -z "$(ls | grep "^x")" ]'

# ---- presets -------------------------------------------------------------------------------------

# config OPTION...: settings of the run
config() { chordseq train --print-config --label-key class "$@" all.fa; }
config --preset fast --lr 0.1 --no-rc > fast.cfg
T 'a preset and overriding options' sh -c 'for s in lr=0.1 rc=0 encoder.depth=none tokenizer.k=6 encoder.max-len=8388608; do
    grep -qx "$s" fast.cfg || exit; done'
config > auto.cfg
config --preset balanced > balanced.cfg
T 'auto is balanced, sized by the longest record' sh -c 'cmp auto.cfg balanced.cfg && grep -qx preset=balanced auto.cfg &&
    grep -qx encoder.max-len=256 auto.cfg && grep -qx rc=1 auto.cfg'
config --preset balanced --tokenizer.k 4 > words.cfg
T 'a network has a composition path if tokens form words' sh -c 'grep -qx head.composition=6 balanced.cfg &&
    grep -qx head.composition-channels=96 balanced.cfg && grep -qx composition-lr=0.1 balanced.cfg && grep -qx head.composition=0 words.cfg'
config --preset none --encoder.track 2 > none.cfg
config --encoder.track 2 > own.cfg
T 'none if the model is given' sh -c 'cmp own.cfg none.cfg && grep -qx rc=0 own.cfg'
config --encoder-lr 0.5 2> msgs > rate.cfg
T '--encoder-lr is not a setting of the encoder' sh -c 'grep -qx preset=balanced rate.cfg && grep -q "warning: --encoder-lr has no effect without --init$" msgs'
awk '/^>/ { h = $0; next } { c = h; sub(/.*class=/, "", c); s[c] = s[c] $0 } END { for (c in s) print ">" c " class=" c "\n" s[c] }' all.fa > joined.fa
T 'crops are compared with those of the preset' sh -c '"$@" --crop-max 300 > crop.cfg && grep -qx crop-min=250 crop.cfg && ! "$@" --crop-min 20k 2> err &&
    grep -q "error: train: --crop-min 20000 is longer than --crop-max [0-9]*$" err' - chordseq train -q --print-config --label-key class joined.fa
awk 'BEGIN { for (i = 0; i < 1000; i++) printf ">r%d tax=a;b%d\nACGTACGTAC\n", i, i }' > flat.fa
T 'options without effect are reported' sh -c '"$@" --class-balance 0.5 > none.cfg 2> msgs && grep -q "warning: --class-balance has no effect without --samples-per-epoch$" msgs &&
    "$@" --class-balance 0.5 --samples-per-epoch 10 > none.cfg 2> msgs && ! grep -q "no effect" msgs' - \
    chordseq train --preset none --print-config --label-key class all.fa
T 'a thousand flat lineages: a tree is advised' sh -c 'chordseq train --print-config --label-key tax flat.fa 2> msgs > flat.cfg &&
    grep -q "the 1000 classes are lineages; --head tree" msgs'
T 'options without effect are reported even with their default values' sh -c '"$@" --class-balance 1 --crop-min 500 --cycles 0.5 --schedule linear --tolerance 0.04 --lr-end 1e-8 > none.cfg 2> msgs &&
    [ "$(grep -c "warning: --class-balance has no\|warning: --crop-min has no\|warning: --cycles is for\|warning: --lr-end is for\|warning: --tolerance has no" msgs)" = 5 ]' - \
    chordseq train --print-config --tokenizer.k 2 --label-key class all.fa
T 'print-config writes nothing' sh -c '[ -z "$(ls | grep "^x")" ]'
easy="chordseq train -@ 1 --label-key class --split-by organism all.fa"
T 'preset fast and the regression baseline' sh -c '"$@" --preset fast --budget 200k -o fast.m --metrics fast.tsv 2> msgs &&
    grep -q "regression on 5-mers: balanced accuracy [01]" msgs && grep -q "bag of words, epoch [1-9][0-9]*: loss .*best" msgs' - $easy
T 'preset fast trains to a balanced accuracy above 0.9' sh -c 'tail -n 1 fast.tsv | awk "{ exit !(\$8 > 0.9) }"'
if (ulimit -v 1500000 && chordseq --version) > version 2>&1; then
    # A row of word frequencies has two kilobytes: 59 MiB for 30,000 samples.
    T 'memory does not grow with the validation samples of the regression' sh -c 'for n in 20k 50k; do
        "$@" --valid-samples $n 2>&1 | sed -n "s/.*peak of the process \([0-9]*\)[.].*/\1/p"; done > peaks && cat peaks &&
        awk "{ p[NR] = \$1 } END { exit !(NR == 2 && p[2] - p[1] < 30) }" peaks' - \
        chordseq train -v -@ 1 --preset fast --budget 5k --label-key class -o rows.m all.fa
else
    S 'memory of the regression' 'the program does not start under ulimit -v (a sanitizer?)'
fi
less="$easy --preset fast --patience 2 --budget 200k"
T 'without improvement, the rate anneals' sh -c '"$@" -o annealed.m --metrics annealed.tsv 2> msgs &&
    [ "$(grep -c "^chordseq: bag of words: no improvement since epoch [0-9]*; annealing$" msgs)" = 1 ]' - $less
T 'annealed training ends early with a rate near 0' sh -c 'tail -n 1 annealed.tsv | awk "{ exit !(\$3 < 1e-4) }" &&
    [ $((2 * $(tail -n 1 annealed.tsv | cut -f 2))) -lt "$(tail -n 1 fast.tsv | cut -f 2)" ]'
T 'paused while it anneals' $less -q -o later.m --stop-after $(($(tail -n 1 annealed.tsv | cut -f 2) - 1))
T 'resumed' $less -q -o later.m --resume
same_weights 'annealing resumed gives the same weights' annealed.m later.m
T 'the model keeps preset and baseline' sh -c 'chordseq model show fast.m > card && grep -q "training.preset.fast$" card &&
    grep -q "training.baseline_regression_balanced" card && grep -q "^strand.both" card'
T 'a budget only' sh -c '"$@" --budget 60k -o easy.m 2> msgs && grep -q "^chordseq: bag of words, ep" msgs &&
    grep -q "^chordseq: network, epoch [1-9].*: .*bag [01]" msgs && grep -q " trained " msgs' - $easy
awk '/^>/ { h = $0; next } { c = h; sub(/.*class=/, "", c); s[c] = s[c] $0
    if (length(s[c]) >= 200) { print h "\n" s[c]; s[c] = "" } }' all.fa > long.fa
T 'records of 150 bases have a bag of reading frames, too' sh -c '"$@" --budget 30k -o long.m 2> msgs &&
    grep -q "^chordseq: bag of words, epoch [1-9]" msgs && grep -q "^chordseq: bag of reading frames, epoch [1-9].*: .*bag [01]" msgs &&
    grep -q "^chordseq: network, epoch [1-9]" msgs' - chordseq train -@ 1 --label-key class long.fa
T 'at least the accuracy of the bag' sh -c 'chordseq eval -q -m easy.m --label-key class all.fa > easy.eval &&
    awk -F "\t" "\$1 == \"record\" && \$2 == \"all\" && \$4 == \"balanced_accuracy\" { ok = \$5 > 0.9 } END { exit !ok }" easy.eval'
T 'a page of the validation' sh -c '"$@" --preset fast --budget 20k -o page.m --html page.html 2> msgs && [ "$(grep -c "<h2>Training</h2>" page.html)" = 1 ] &&
    grep -q "Confusion" page.html && grep -q "regression on 5-mers" page.html' - $easy
N train-html-none.err $easy -q --valid-frac 0 --html x.html -o x.m
N train-html-same.err $easy -q --html x.m -o x.m
T 'eval reports the baselines' sh -c 'chordseq eval -m easy.m --label-key class all.fa 2> msgs > /dev/null &&
    grep -q "validation in training: balanced accuracy [01].*; regression on 5-mers [01]" msgs'
# Some wrong labels: the bag's lowest loss is not its last one.
awk '/^>/ && n++ % 7 == 0 { if (!sub(/class=at/, "class=gc")) sub(/class=gc/, "class=at") } 1' all.fa > noisy.fa
T 'the network starts from the logits of the bag at its lowest loss' sh -c '"$@" --preset balanced --lr 1e-9 --budget 30k -v -o begun.m 2> msgs &&
    awk "{ gsub(/[;,]/, \"\") } / epoch / { l = 0; for (i = 1; i < NF; i++) if (\$i == \"loss\") l = \$(i + 1) }
        /bag of words epoch/ && (!want || l < want) { want = l } /starts from the bag of words at step/ { said = \$NF }
        /network epoch 1:/ { d = l - want; exit !(d < 0.002 && d > -0.002 && said == want) }" msgs' - \
    ${easy%all.fa}noisy.fa
T 'the log says why the network starts without the bag' sh -c '"$@" --preset balanced --head.composition-hidden 8 --budget 20k -v -o begun.m 2> msgs &&
    [ "$(grep -c "the network starts without the bag: .*the shape of tensor" msgs)" = 1 ] && ! grep -q "starts from the bag" msgs' - $easy
T 'a proposed budget keeps what --init-composition gives' sh -c 'for b in "" "--budget 1m"; do
    "$@" $b -o given.m --stop-after 1 --step-metrics given.tsv 2> /dev/null && tail -n 1 given.tsv | cut -f 4 || exit; done > losses &&
    [ "$(wc -l < losses) $(uniq losses | wc -l)" = "2 1" ]' - $easy --preset balanced --valid-frac 0 --init-composition fast.m
T 'paused after the bag' $easy -q --budget 60k -o easier.m --stop-after 2
T 'resumed' $easy -q --budget 60k -o easier.m --resume
same_weights 'a run resumed after the bag gives the same weights' easy.m easier.m
N train-preset-resume.err $easy -q -o easier.m --resume

# ---- signals: the state of a whole step is kept --------------------------------------------------

long="chordseq train $small --epochs 5000 --samples-per-epoch 64 --crop-max 80 --crop-min 60 --label-key class all.fa"
cat > stopped <<'END'
"$@" -o sig.m 2> sig.err &
pid=$!
for i in $(seq 600); do [ -s sig.m ] && break; sleep 0.1; done
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] && grep -q 'paused by a signal' sig.err
END
T 'SIGTERM: checkpoint, sentence, status 143' sh stopped $long
T 'training resumes after SIGTERM' $long -q -o sig.m --resume --stop-after 2
T 'max-time pauses like a signal, with status 0' $long -q -o time.m --max-time 0.2
T 'training resumes after --max-time' $long -q -o time.m --resume --stop-after 2

# ---- full disk -----------------------------------------------------------------------------------

if [ -w /dev/full ]; then
    N train-full.err $train --split-by organism --label-key class -o full.m --metrics /dev/full all.fa
else
    S 'a full disk' 'there is no /dev/full'
fi

# The reader of standard output is gone before it is written.
T 'a table or page whose reader closed it is an error' sh -c 'for o in metrics html; do
    rm -f no_reader; { until [ -e no_reader ]; do sleep 0.1; done; "$@" --split-by organism --label-key class -o closed.m --$o /dev/stdout all.fa 2> msgs; echo $? > status; } | { exec < /dev/null; : > no_reader; }
    [ "$(cat status)" = 1 ] && grep -q "cannot write ./dev/stdout.: its reader closed it" msgs || exit; done' - $train
# ---- Linformer -----------------------------------------------------------------------------------

chordseq simulate temporal-order --length 96 -n 1000 --seed 3 -o order.tsv
T 'linformer learns from rare tokens' sh -c 'chordseq train -@ 1 --preset none --encoder linformer --encoder.k 8 --encoder.dim 16 \
    --encoder.layers 1 --encoder.hidden 32 --encoder.max-len 96 --head.pool cls --epochs 6 --lr 0.01 --warmup 20 --step-records 16 \
    --weight-decay 0 -o order.m order.tsv 2> msgs && grep trained msgs | awk "{ exit !(\$NF > 0.6) }"'
