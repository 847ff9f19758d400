# model.t - `chordseq model`: show, verify, export.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors

P file-show.tsv    chordseq model show "$m"
P file-verify.txt  chordseq model verify "$m"
P file-show.tsv    sh -c 'CHORDSEQ_MODEL=$1 chordseq model show' - "$m"
P file-verify.txt  sh -c 'CHORDSEQ_MODEL=$1 chordseq model verify' - "$m"

T 'options of other actions are refused' sh -c 'for a in "show --rank 4:factorize" "verify -i x.fa:factorize, lookup, proteins, calibrate" \
    "show --license mit:export" "show -@ 2:lookup, proteins" "show --mutate 0:lookup, proteins"; do ! chordseq model ${a%%:*} "$1" 2> err &&
    grep -q "error: model: --[a-z]* is for ${a#*:}, not for " err || { cat err; exit 1; }; done' - "$m"

# Other programs may write control characters, and calibration may leave no calls.
LC_ALL=C sed 's/"command\\":\\"chordseq tr/"command\\":\\"chordseq\\\\n/; s/max_error\\":0.1/max_error\\":0.0/' \
    "$srcdir/refdata/model/fast.safetensors" > other.m
T 'texts with control characters are shown in one line' sh -c 'chordseq model show other.m > shown &&
    grep -q "^training.command	\"chordseq.nain -v " shown && ! grep -v "	" shown'
T 'of no calls none are right' [ "$(grep -c '	called 0 %$' shown)" -gt 5 ]

# taxa.safetensors states an error rate of calls, without a test for unlike sequences.
T 'no line of show ends in a tab' sh -c 'for f in taxa fast variant; do chordseq model show "$1/$f.safetensors" > shown && ! grep "	\$" shown || exit; done &&
    chordseq model show "$1/taxa.safetensors" | grep -qx "calls	estimated error at most 0.1	from 100 bases on"' - "$srcdir/refdata/model"

# ---- export --------------------------------------------------------------------------------------

T 'a folder' chordseq model export --license mit "$m" folder
T 'the exported files' [ "$(echo $(LC_ALL=C ls folder))" = \
    'README.md SHA256SUMS config.json labels.tsv model.safetensors tokenizer.json' ]
T 'exported checksums are correct' sh -c 'cd folder && sha256sum -c --quiet SHA256SUMS'
T 'the exported model is the same' sh -c '[ "$(chordseq model verify folder/model.safetensors | sed "s/.*sha256//")" = \
    "$(chordseq model verify "$1" | sed "s/.*sha256//")" ]' - "$m"
T 'the exported model predicts like the original' sh -c 'chordseq classify -q -m folder/model.safetensors "$2" > a &&
    chordseq classify -q -m "$1" "$2" | cmp - a' - "$m" "$tiny/mixed.fa"
T 'the folder predicts the same' sh -c 'chordseq classify -q -m folder "$1" | cmp - a &&
    CHORDSEQ_MODEL=folder/ chordseq classify -q "$1" | cmp - a && chordseq model show folder > /dev/null' - "$tiny/mixed.fa"
with python3 T 'JSON is valid' python3 -c '
import json
c, t = json.load(open("folder/config.json")), json.load(open("folder/tokenizer.json"))
assert len(c["id2label"]) == c["num_labels"] == len(c["label2id"])
assert len(t["vocab"]) == c["vocab_size"] and sorted(t["vocab"].values()) == list(range(c["vocab_size"]))'
T 'the card begins with its front matter' sh -c '[ "$(head -n 2 folder/README.md)" = "$(printf -- "---\nlicense: mit")" ]'
T 'the card says how the model is used' grep -q '^chordseq classify -m FOLDER sequences.fa' folder/README.md
T 'the card of a pretrained model has a task and a command for it' sh -c 'chordseq model export "$1" lm 2> /dev/null &&
    grep -q "^pipeline_tag: fill-mask" lm/README.md && grep -q "^Predicts masked tokens of a" lm/README.md &&
    grep -q "^chordseq variant --score llr -m FOLDER --reference genome.fa calls.vcf" lm/README.md && ! grep "also gets" lm/README.md &&
    printf ">c\n%01000d\n" 0 | sed s/0/ACGT/g > genome.fa && printf "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nc\t2002\t.\tC\tG\t.\t.\t.\n" > calls.vcf &&
    chordseq variant -q --score llr -m lm --reference genome.fa -w 64 --tsv alleles.tsv calls.vcf && [ "$(wc -l < alleles.tsv)" = 2 ]' - \
    "$srcdir/refdata/model/human-lm.safetensors"
with python3 T 'the exported vocabulary has the masked token' python3 -c '
import json
t = json.load(open("lm/tokenizer.json"))
assert t["mask_id"] == t["vocab"]["[MASK]"] == len(t["vocab"]) - 1 and t["pad_id"] == 0 and t["unk_id"] == 1'
T 'the command of the card scores variants, with exons for a model that reads them' sh -c 'printf "c\tx\texon\t1950\t2050\t.\t+\t.\tgene_id \"g\"\n" > exons.gtf
    for m in variant variant-exons; do rm -rf alleles && chordseq model export "$1/$m.safetensors" alleles 2> /dev/null &&
        grep -q "^Predicts the labels\{0,1\} of a variant of a nucleotide sequence .*: [12] labels\{0,1\}[.]$" alleles/README.md &&
        ! grep " 1 labels" alleles/README.md && command=$(grep "^chordseq.* FOLDER" alleles/README.md) &&
        $(echo "$command" | sed s/FOLDER/alleles/) 2> /dev/null | grep -q "CS_SPLICE=0[.]" || exit; done' - "$srcdir/refdata/model"
T 'the command of the card evaluates a model of real values, which no other command takes' sh -c '
    { printf "#chordseq-series\t1\tchannels=1\ttargets=1\n"; for i in 1 2 3 4 5 6 7 8; do printf "a$i\t1\t0,1,1,0,0,1,1\nb$i\t0\t1,0,0,1,1,0,0,0\n"; done; } > series.tsv
    chordseq train -q --encoder.max-len 64 --encoder.track 2 --encoder.hidden 8 --epochs 1 -o real -i series.tsv && chordseq model export real values &&
    grep -q "\"num_channels\": 1" values/config.json && grep -q "\"type\": \"real\"" values/tokenizer.json &&
    command=$(grep "^chordseq.* FOLDER" values/README.md) && chordseq eval -m real series.tsv > want && $(echo "$command" | sed s/FOLDER/values/) | cmp - want'
T 'names with markup are cells of a table of the card' sh -c 'awk "BEGIN { for (i = 0; i < 20; i++) print \">r\" i \" class=\" (i % 2 ? \"x|y\" : \"z\\\\|*\") \"\nACGTACGGTACGATCGATTAC\" }" > "a|b\`.fa" &&
    chordseq train -q -o odd.m --encoder.max-len 64 --encoder.track 4 --tokenizer.k 1 --epochs 1 --label-key class "a|b\`.fa" && chordseq model export odd.m odd &&
    grep -F "| a\\|b\\\`.fa | " odd/README.md && grep -F "| x\\|y | 9" odd/README.md && grep -F "| z\\\\\\|\\* | 9" odd/README.md &&
    grep -Fx -- "- z\\\\\\|\\*" odd/README.md && chordseq classify -q -m odd "a|b\`.fa" > /dev/null'
T 'a command with backticks stays one block of code of the card' sh -c 'n=$(printf "a\n\140\140\140\n\140\140\140\140.fa") && cp "a|b\`.fa" "$n" &&
    chordseq train -q -o ticks.m --encoder.max-len 64 --encoder.track 4 --tokenizer.k 1 --epochs 1 --label-key class "$n" && chordseq model export ticks.m ticks &&
    awk "/^\140\140\140\140\140\$/ { n++ } /^chordseq train / { at = n } END { exit n != 2 || at != 1 }" ticks/README.md'
# As other keys without a value; 0 would be the limit of programs that read it.
T 'the maximum length is null if there is none' sh -c 'grep -q "\"max_length\": [1-9]" folder/config.json && chordseq train -q -o any.m \
    --encoder cdil --encoder.channels 4 --encoder.layers 2 --tokenizer base --epochs 1 --label-key class "a|b\`.fa" && chordseq model export any.m any &&
    grep -q "\"max_length\": null" any/config.json && chordseq model export any any2 && cmp any/model.safetensors any2/model.safetensors'
T 'exporting again into the same folder' chordseq model export "$m" folder
T 'not beside a part of another model' sh -c 'cp -r folder mixed && echo other > mixed/calibration.json && cp mixed/README.md kept && rm -f msgs &&
    ! chordseq model export --license gpl "$1" mixed 2> msgs && grep -q "mixed/calibration.json. is of another model, this one has none; remove it" msgs &&
    cmp mixed/README.md kept && ! ls mixed | grep tmp' - "$m"

# ---- import --------------------------------------------------------------------------------------

# That it predicts as its authors' code does, tests/nn/test_import.c shows.
published=$CS_SHARED/golden/cdil_dna_pretrained/human_100k_epoch9_checkpoint.safetensors
if [ -r "$published" ]; then
    T 'a published checkpoint' chordseq model import "$published" cdil.m
    T 'an imported model is shown' sh -c 'chordseq model show cdil.m | grep -q "^encoder.decoder	16,16,16,16,16,16,16,16,5\$"'
    T 'an imported model predicts' sh -c '[ "$(chordseq classify -q -m cdil.m "$1" | wc -l)" -gt 1 ]' - "$tiny/mixed.fa"
    N file-alphabet.err sh -c 'ln -s "$1" published; chordseq model import --alphabet acgt published x.m' - "$published"
else
    S 'a published checkpoint' "no '$published'"
fi

# ---- label ---------------------------------------------------------------------------------------

printf '%s\t%s\t%s\t%s\t%s\n' classA 562 species 561 'Escherichia coli' classB - - 561 - \
    561 561 genus 2 Escherichia 2 2 domain - Bacteria > taxa.tsv
T 'a taxonomy of some classes' chordseq model label --taxonomy taxa.tsv "$m" labelled.m
P file-taxa.tsv     sh -c 'chordseq model show labelled.m | grep -E "^(label|taxon)"'
T 'weights are unchanged' sh -c '[ "$(chordseq model verify labelled.m | sed "s/.*sha256//")" = \
    "$(chordseq model verify "$1" | sed "s/.*sha256//")" ]' - "$m"
T 'the default model has its taxonomy' sh -c '
    chordseq model label --taxonomy "$1/taxonomy.tsv" "$1/default.safetensors" default.m &&
    for m in default.m "$1/default.safetensors"; do
        chordseq model show "$m" | grep -E "^(sha256|label|taxon)" > "${m##*/}.taxa"
    done; cmp default.m.taxa default.safetensors.taxa' - "$srcdir/refdata/model"
# The file has 8M, then 8 * 1024 * 1024.
T 'sizes of older files are unchanged' sh -c '
    chordseq model label --taxonomy "$1/taxonomy.tsv" "$1/fast.safetensors" fast.m &&
    for m in "$1/fast.safetensors" fast.m; do
        chordseq model show "$m" | grep -qx "encoder.max-len	8388608" || exit; done' - "$srcdir/refdata/model"
T 'a note of validated precisions' chordseq model checked labelled.m checked.m
P file-checked.tsv  sh -c 'chordseq model show checked.m | grep ^precision'
T 'the note is removed' sh -c 'chordseq model --precision fp32 checked checked.m again.m && cmp labelled.m again.m'
N file-taxa.err     chordseq model label "$m" x.m
N file-taxa2.err    chordseq model label --taxonomy taxa.tsv --taxa taxa.tsv "$m" x.m
N file-taxa3.err    chordseq model label --taxonomy none.tsv "$m" x.m

# ---- compact -------------------------------------------------------------------------------------

fast=$srcdir/refdata/model/fast.safetensors
T 'a smaller file' sh -c 'chordseq model compact "$1" small.m && [ "$(($(wc -c < small.m) * 2))" -lt 1649772 ]' - "$fast"
T 'only tensors in the file are counted and listed' sh -c 'n=$(head -c 100000 small.m | grep -ao "\"dtype\"" | wc -l)
    [ $n -lt 20 ] && chordseq model verify small.m | grep -q ": OK, $n tensors," &&
    [ $(chordseq model show small.m | grep -c "^tensor") = $n ]'
T 'compacting twice gives the same file' sh -c 'chordseq model compact small.m smaller.m && cmp small.m smaller.m'
T 'a compacted model stays small after model checked' sh -c 'chordseq model checked small.m fast-checked.m &&
    [ "$(chordseq model verify small.m | cut -d , -f 3)" = "$(chordseq model verify fast-checked.m | cut -d , -f 3)" ]'
T 'a compacted model predicts the same but for rounding' sh -c 'for m in "$1" small.m; do
        chordseq classify -q --all -m "$m" "$2" | cut -f 1,3,4; done | sort |
    awk "\$1 == last { n++; d = \$3 - p; bad += d > 0.01 || d < -0.01 }
         { last = \$1; p = \$3 } END { exit !n || bad }"' - "$fast" "$tiny/mixed.fa"
awk 'BEGIN { srand(1); for (i = 0; i < 16; i++) { print ">r" i " class=c" i % 2; r = ""
    for (k = 0; k < 300; k++) r = r substr("ACGTGC", 1 + int(rand() * (4 + 2 * (i % 2))), 1); print r } }' > two.fa
T 'training starts from it, and writes whole models' sh -c 'chordseq train -q --init small.m --label-key class \
    --epochs 1 -o next.m two.fa && chordseq model show next.m | grep -q "encoder.block.22.fc2.weight" &&
    [ "$(($(wc -c < next.m)))" -gt 1300000 ]'

# ---- refused -------------------------------------------------------------------------------------

N file-words.err   chordseq model
T 'an unknown action gets a suggestion' sh -c '! chordseq model shw 2> err && grep -q "no action .shw.; did you mean .show.? " err'
T 'help lists actions and tasks' sh -c 'chordseq model --help | grep -q " export FILE DIR$" && chordseq simulate --help | grep -q "adding|xor|"'
N file-words2.err  chordseq model show "$m" "$m"
N file-words3.err  chordseq model export "$m"
N file-import.err  sh -c 'ln -s "$1" own; chordseq model import own x.m' - "$m"
N file-none.err    chordseq model show no-such-file
head -c 2000 "$m" > cut
N file-cut.err     chordseq model verify cut
cat "$m" > bent
printf x | dd of=bent bs=1 seek="$(($(wc -c < bent) - 5))" conv=notrunc 2> /dev/null
N file-bent.err    chordseq model verify bent
echo text > file
N file-folder.err  chordseq model export "$m" file/in
