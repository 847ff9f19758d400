# tokenize.t - `chordseq tokenize`: pieces and ids, those of Hugging Face's tokenizers, vocabularies
# trained, and models with a vocabulary.
. "$srcdir/tests/cli/lib.sh"

bpe=$srcdir/refdata/bpe

T 'ids equal those of Hugging Face' sh -c 'chordseq tokenize -m "$1/hg38.json" --format ids "$tiny/mixed.fa" |
    cmp - "$1/mixed.ids.tsv"' - "$bpe"
T 'on any number of threads' sh -c 'chordseq tokenize -@ 5 -m "$1/hg38.json" --format ids "$tiny/mixed.fa" |
    cmp - "$1/mixed.ids.tsv"' - "$bpe"
P tokenize-pieces.tsv chordseq tokenize -m "$bpe/hg38.json" "$tiny/strands.fa"
T 'the mean token length is reported' sh -c 'chordseq tokenize -m "$1/hg38.json" -o out "$tiny/reads.fq" 2> err &&
    grep -q "^chordseq: tokenized 40 records, .* mean token length [0-9.]* symbols, 0 unknown" err' - "$bpe"
T 'a vocabulary from a pipe' sh -c 'mkfifo pipe && cat "$1/hg38.json" > pipe & chordseq tokenize -q -m "$1/hg38.json" -o want "$tiny/reads.fq"
    while [ ! -p pipe ]; do sleep 0.1; done; chordseq tokenize -q -m pipe "$tiny/reads.fq" | cmp - want' - "$bpe"
T 'a model file serves as tokenizer' sh -c 'chordseq tokenize -q -m "$tiny/model.safetensors" "$tiny/reads.fq" |
    head -n 1 | grep -qE "^[^	]+	[ACGT]+ [ACGT]+ "'

T 'an empty input gives a warning' sh -c ': > none.fa; chordseq tokenize -m "$1/hg38.json" none.fa 2>&1 |
    grep -qx "chordseq: warning: the input has no records"' - "$bpe"
T 'a record without a name is *' sh -c 'printf ">\nACGT\n" | chordseq tokenize -q -m "$1/hg38.json" - |
    grep -q "^[*]	[ACGT]"' - "$bpe"

if python3 -c 'import tokenizers' 2> /dev/null; then
    T 'the Hugging Face library gives the same ids' sh -c 'python3 "$1/ids.py" "$1/hg38.json" "$tiny/mixed.fa" | cmp - "$1/mixed.ids.tsv"' - "$bpe"
else
    S 'the Hugging Face library gives the same ids' 'no python3 with tokenizers'
fi

# ---- training a vocabulary -----------------------------------------------------------------------

train_bpe="chordseq tokenize -q --train bpe --vocab-size 64"
T 'a vocabulary is trained' $train_bpe -i "$tiny/mixed.fa" -o a.json
T 'training prints the mean length of pieces' sh -c 'chordseq tokenize --train bpe --vocab-size 64 -o b.json "$1" 2> msgs
    tr -d " \t\n" < b.json | sed "s/.*\"vocab\":{//; s/}.*//" | tr , "\n" | tr -d \" | awk -F : "!/\[/ {
        n++; s += length(\$1) } END { printf \"mean length %.3f symbols, on\", s / n }" | grep -qFf - msgs' - "$tiny/mixed.fa"
T 'compressed input gives the same vocabulary' sh -c "gzip -c '$tiny/mixed.fa' | $train_bpe - | cmp - a.json"
T 'pieces of a sequence join to it' sh -c 'chordseq tokenize -q -m a.json "$tiny/reads.fq" |
    cut -f 2 | tr -d " " > got && awk "NR % 4 == 2" "$tiny/reads.fq" | cmp - got'
N tokenize-idle.err  chordseq tokenize -m "$bpe/hg38.json" --vocab-size 64 "$tiny/mixed.fa"
N tokenize-idle2.err $train_bpe --format ids "$tiny/mixed.fa"
T 'samples depend on the seed' sh -c "$train_bpe --sentences 20 --sentence-min 10 --sentence-max 30 --seed 3 '$tiny/reads.fq' > s1 &&
    $train_bpe --sentences 20 --sentence-min 10 --sentence-max 30 --seed 3 '$tiny/reads.fq' | cmp - s1 &&
    ! $train_bpe --sentences 20 --sentence-min 10 --sentence-max 30 --seed 4 '$tiny/reads.fq' | cmp -s - s1"
T 'a share of the input that is too short for sentences is reported' sh -c "
    awk 'BEGIN { for (i = 0; i < 3; i++) { s = \"\"; for (j = 0; j < 20 + 20 * (i == 0); j++) s = s substr(\"ACGT\", 1 + (i + j * j) % 4, 1); print \">\" i \"\\n\" s } }' > short.fa
    bpe() { chordseq tokenize --train bpe --vocab-size 16 --sentences 20 --sentence-min \$1 --sentence-max 40 short.fa 2> msgs > s; }
    bpe 30 && grep -q 'warning: 50 % of the input is in stretches shorter than a sentence of 30 symbols' msgs &&
    bpe 20 && ! grep -q shorter msgs"
T 'pairs that would be too long are reported as such' sh -c 'chordseq tokenize --train bpe --max-piece 2 -o two.json "$1" 2> msgs &&
    grep -q "tokens, not 4096: no other pair of at most 2 symbols occurs 2 times (--max-piece, --min-count)$" msgs' - "$tiny/mixed.fa"
T 'too few pairs are reported' sh -c "chordseq tokenize --train bpe --vocab-size 9999 '$tiny/strands.fa' 2> err > out &&
    grep -q 'warning: the vocabulary has .* tokens, not 9999' err"

N tokenize-none.err   chordseq tokenize "$tiny/mixed.fa"
N tokenize-both.err   chordseq tokenize --train bpe -m a.json "$tiny/mixed.fa"
N tokenize-kind.err   chordseq tokenize --train unigram "$tiny/mixed.fa"
N tokenize-small.err  chordseq tokenize --train bpe --alphabet diplotypes --vocab-size 70 "$tiny/mixed.fa"
printf '>a\nNNNN\n' > n.fa
N tokenize-empty.err  chordseq tokenize --train bpe n.fa
T 'the output is created before the input is read' sh -c '! chordseq tokenize --train bpe -o no-folder/v n.fa 2> err &&
    grep -q "cannot create .no-folder/v" err'
head -c 300 a.json > cut.json
N tokenize-cut.err    chordseq tokenize -m cut.json "$tiny/mixed.fa"
T 'a model that comes with the program by its name' sh -c 'chordseq tokenize -q -m fast "$1" > fast.tok &&
    chordseq tokenize -q -m "$2" "$1" | cmp - fast.tok' - "$tiny/mixed.fa" "$srcdir/refdata/model/fast.safetensors"
N tokenize-absent.err chordseq tokenize -m absent.json "$tiny/mixed.fa"

# ---- models --------------------------------------------------------------------------------------

awk 'NR % 4 == 1 { printf ">%s class=%s\n", substr($1, 2), NR % 8 == 1 ? "x" : "y" } NR % 4 == 2' \
    "$tiny/reads.fq" > l.fa
train="chordseq train -q --epochs 1 --encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --label-key class -i l.fa"
N tokenize-nofile.err $train --tokenizer bpe -o m
T 'a model is trained on pieces' $train --tokenizer bpe --tokenizer.file a.json -o m
mv a.json gone.json
T 'training starts from a model with the same pieces' $train --tokenizer.file gone.json --init m -o again
sed 's/"model"/ &/' gone.json > same.json
T 'training starts from a model with the same pieces of another folder' $train --tokenizer.file same.json --init m -o again
N tokenize-other.err   $train --tokenizer.file "$bpe/hg38.json" --init m -o again
T 'the model keeps them' sh -c 'chordseq classify -q -m m "$tiny/reads.fq" > c && [ "$(wc -l < c)" = 41 ]'
T 'on any number of threads' sh -c 'chordseq classify -q -@ 9 -m m "$tiny/reads.fq" | cmp - c'
T "the model's tokens equal those of its file" sh -c 'chordseq tokenize -q --format ids -m gone.json l.fa > want &&
    chordseq tokenize -q --format ids -m m l.fa | cmp - want'
T 'export restores the file' sh -c 'chordseq model export m dir > out 2>&1 &&
    chordseq tokenize -q --format ids -m dir/tokenizer.json l.fa | cmp - want'

# Two classes whose sequences differ in their case only.
awk 'BEGIN { srand(4); for (i = 0; i < 80; i++) { s = ""; for (k = 0; k < 200; k++) { c = substr("ACGT", 1 + int(4 * rand()), 1)
    s = s (i % 2 && k > 60 && k < 140 ? tolower(c) : c) } print ">r" i " class=" (i % 2 ? "masked" : "plain") "\n" s } }' > case.fa
case="--preset none --tokenizer base --tokenizer.case --encoder cdil --encoder.layers 3 --encoder.channels 8 --label-key class -i case.fa"
T 'lower-case bases as tokens of their own: train' sh -c 'chordseq train -q $1 --epochs 30 --step-records 8 --lr 0.02 -o case.m &&
    chordseq model show case.m | grep -q "^vocabulary	10$"' - "$case"
T 'the class depends on the case alone, on both strands and in the library' sh -c '
    chordseq classify -q --min-prob 0 -m case.m --strand both case.fa | awk -F "\t" "NR > 1 { n++; bad += (\$1 ~ /[13579]\$/) != (\$3 == \"masked\") } END { exit n != 80 || bad > 4 }" &&
    sed "/^>/!s/.*/\U&/" case.fa | chordseq classify -q --min-prob 0 -m case.m - | awk -F "\t" "NR > 1 && \$3 == \"masked\"" | grep -c . | grep -qx "[0-4]"'
T 'tokens of either case' sh -c 'printf ">a\nACGTNacgtnuX\n" | chordseq tokenize -q -m case.m - | cut -f 2 | grep -qx "A C G T <unk> a c g t <unk> t <unk>"'
T 'the report counts symbols, tokens and unknown ones' sh -c 'printf ">a\nACGTNacgtnuX\n>b\nAC\n" | chordseq tokenize -m case.m - 2> msgs > out &&
    grep -q "tokenized 2 records, 14 symbols: 14 tokens, mean token length 1.000 symbols, 3 unknown" msgs'
T 'FASTQ and gzip' sh -c 'awk "/^>/ { print \"@\" substr(\$1, 2); next } { print; print \"+\"; gsub(/./, \"I\"); print }" case.fa | gzip > case.fq.gz &&
    chordseq classify -q --min-prob 0 -m case.m case.fa > a.tsv && chordseq classify -q --min-prob 0 -m case.m case.fq.gz | cmp - a.tsv'
T 'pretraining keeps the case, also of the other strand' sh -c 'sed "/^>/!s/.*/\U&/" case.fa > upper.fa
    for x in case upper; do chordseq pretrain -q --tokenizer base --tokenizer.case --encoder.max-len 128 --encoder.track 4 --encoder.hidden 8 --window 100 \
        --rc --windows-per-epoch 64 --valid-windows 16 --epochs 1 --seed 1 --metrics $x.metrics -o $x.lm $x.fa || exit; done
    ! cmp -s case.metrics upper.metrics && chordseq model show case.lm | grep -q "^label 7	t$"'
T 'refused: mutations and explanations' sh -c '! chordseq train $1 --mutate 0.1 -o x.m 2> msgs && grep -q "without --tokenizer.case" msgs &&
    ! chordseq explain -m case.m -f case.fa r0 2> msgs && grep -q "of any case" msgs' - "$case"
