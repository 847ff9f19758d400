# pretrain.t - `chordseq pretrain`: refusals, omitted input, training, reproducibility.
. "$srcdir/tests/cli/lib.sh"

# Contigs with a pattern: after AC comes G, after GT comes A, else any base.
awk 'BEGIN { srand(2); for (c = 1; c <= 6; c++) { s = ""; a = b = "A"
    for (i = 0; i < (c < 6 ? 1500 : 40); i++) {
        x = substr("ACGT", 1 + int(4 * rand()), 1)
        if (a b == "AC") x = "G"; if (a b == "GT") x = "A"
        s = s x; a = b; b = x }
    printf ">c%d%s\n%s\n", c, c == 5 ? ":1-1500" : "", s }
    printf ">n\n"; for (i = 0; i < 600; i++) printf "N"; print "" }' > g.fa
: > empty.fa
printf '>a\n' > none.fa
awk 'BEGIN { print ">a"; for (i = 0; i < 500; i++) printf "N"; print "" }' > n.fa
gzip -c g.fa > plain.fa.gz
cp g.fa h.fa
printf 'c2\t100\t700\nc2\t650\t900\nc4\t0\t1500\n' > val.bed
printf 'c9\t1\t2\n' > bad.bed
printf 'c1\t1\t2000\n' > long.bed

small="--encoder cdil --encoder.channels 8 --encoder.layers 2 --tokenizer base -B 512 --lr 0.01"
pre="chordseq pretrain -q $small --window 100 --seed 3"
loud="chordseq pretrain -v $small --window 100"

# ---- refused -------------------------------------------------------------------------------------

N pretrain-none.err     $pre -o x.m
N pretrain-output.err   $pre g.fa
N pretrain-pipe.err     sh -c "$pre -o x.m - < g.fa"
N pretrain-missing.err  $pre -o x.m missing.fa
N pretrain-gzip.err     $pre -o x.m plain.fa.gz
N pretrain-empty.err    $pre -o x.m empty.fa
N pretrain-nobase.err   $pre -o x.m none.fa
N pretrain-contig.err   $pre -o x.m --val-contigs c1,c7 g.fa
N pretrain-skip.err     $pre -o x.m --skip-contigs c1,c2,c3,c4,c5,c6,n g.fa
N pretrain-bed.err      $pre -o x.m --val-regions bad.bed g.fa
: > none.bed
N pretrain-region.err   $pre -o x.m --val-regions none.bed g.fa
N pretrain-long.err     $pre -o x.m --val-regions long.bed g.fa
N pretrain-twice.err    $pre -o x.m --val-regions val.bed g.fa h.fa
N pretrain-min.err      $pre -o x.m --window-min 200 g.fa
N pretrain-token.err    $pre -o x.m --tokenizer kmer --window 5 g.fa
N pretrain-max.err      chordseq pretrain -q -o x.m --tokenizer base --encoder linformer --encoder.max-len 50 --window 51 g.fa
N pretrain-share.err    $pre -o x.m --mask-hide 0.9 --mask-swap 0.2 g.fa
T 'options of another schedule are reported' sh -c '"$@" --schedule linear --cycles 0.5 2>&1 | grep -q "warning: --cycles is for --schedule cosine"' - \
    $pre --max-steps 1 -o idle.m g.fa
T 'a failed run leaves no file' sh -c '[ -z "$(ls | grep "^x\|tmp")" ]'

# ---- odd genomes ---------------------------------------------------------------------------------

N pretrain-unknown.err  sh -c "chordseq pretrain -q $small --window 100 -o n.m --epochs 1 --valid-frac 0 n.fa"
T 'a model that would be untrained is not written' [ ! -e n.m ]
cat n.fa g.fa > some.fa
T 'some windows of N' sh -c "chordseq pretrain $small --window 100 -o some.m --epochs 1 --valid-frac 0 some.fa 2> n.err"
T 'a warning names them' grep -q 'windows have too few known bases and were left out' n.err
T 'validation windows that cannot be used are reported' sh -c "chordseq pretrain $small --window 100 -o n.m --epochs 2 --val-contigs n g.fa 2> msgs &&
    [ \"\$(grep -c 'warning: none of the 8 validation windows can be used: [0-9]* are too short and [0-9]* have too few known bases; writing the latest' msgs)\" = 1 ]"
T 'no validation metrics' sh -c "chordseq pretrain $small --window 100 -o n.m --metrics n.tsv --epochs 1 \
    --valid-frac 0 g.fa 2> /dev/null && awk -F '\t' 'NR == 2 { exit !(NF == 12 && \$6 == \"NA\" && \$12 == \"NA\") }' n.tsv"
T 'a window longer than any contig' $pre -o long.m --window 5000 --epochs 1 --valid-frac 0 g.fa
T 'a file given twice is reported' sh -c '"$@" -o twice.m --max-steps 1 g.fa ./g.fa 2> msgs &&
    grep -qx "chordseq: warning: 1 of 2 input files was given before and is read again; first: .\./g.fa." msgs' - $pre
T 'random lengths' $pre -o drawn.m --window-min 40 --epochs 1 g.fa
T 'regions' sh -c "$loud -o bed.m --val-regions val.bed --epochs 1 g.fa 2> bed.err"
P pretrain-bases.txt     grep 'training bases' bed.err
T 'names of pieces' sh -c "$loud -o names.m --val-contigs c5 --skip-contigs n,c4 --epochs 1 g.fa 2> names.err"
P pretrain-names.txt     grep 'training bases' names.err
T 'a name may be repeated, or be all of a name with a colon' sh -c "for v in c5,c5 c5:1-1500 c5,c5:1-1500,; do
    $loud -o names.m --val-contigs \$v --skip-contigs c4,n,c4 --epochs 1 g.fa 2> same.err &&
    [ \"\$(grep 'training bases' same.err)\" = \"\$(grep 'training bases' names.err)\" ] || exit; done"
T 'the first name that no contig has is reported' sh -c "for v in c1,c5:1,c8 c1,c5:1-1500:2,c8 c1,,c8; do
    ! $pre -o x.m --val-contigs \$v g.fa 2> msgs && name=\${v#c1,} && grep -q \"val-contigs '\${name%,c8}': the input has no such contig\" msgs || exit; done"

# ---- tokens of both strands ----------------------------------------------------------------------

frames="--tokenizer frames --tokenizer.min-codons 10"
T 'codons of reading frames' sh -c "$pre $frames --window 300 --epochs 1 -o frames.m g.fa"
awk '/^>c/ { getline s; for (i = 1; i + 299 <= length(s); i += 300)
    printf ">%s_%d class=%d\n%s\n", substr($1, 2), i, ++n % 2, substr(s, i, 300) }' g.fa > pieces.fa
T 'they start a classifier' sh -c "chordseq train -q --preset none $small $frames --init frames.m --label-key class \
    --max-steps 2 -o c.m pieces.fa && chordseq classify -q -m c.m pieces.fa | grep -qc 'c1_1'"
awk '/^>c4/ { getline s; r = substr(s, 301, 1)
    printf "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    printf "c4\t301\t.\t%s\t%s\t.\t.\t.\n", r, r == "A" ? "C" : "A" }' g.fa > one.vcf
T 'they give vectors of sequences and scores of variants' sh -c 'chordseq embed -q -m frames.m -o - pieces.fa | grep -q "^c1_1.*[0-9]" &&
    chordseq variant -q --score embedding -m frames.m -f g.fa -w 300 --tsv one.tsv -o /dev/null one.vcf && [ "$(wc -l < one.tsv)" = 2 ] && ! grep -q NO_KNOWN one.tsv'
N pretrain-codon.err $pre --tokenizer codon -o x.m g.fa
N pretrain-orf.err $pre --tokenizer orf -o x.m g.fa
N pretrain-frames.err chordseq predict -q -m frames.m g.fa
sed 's/$/\tone/' val.bed > one.bed
N pretrain-tokens.err chordseq train -q --preset none $small $frames --init frames.m --head token --intervals one.bed --background other -o x.m g.fa

# ---- training lowers the loss --------------------------------------------------------------------

# A quarter of the bases is determined, the rest random: perplexity 4 means no training.
T 'a run' $pre -o good.m --metrics good.tsv --epochs 40 --val-contigs c5 g.fa
T 'its bases are shown' sh -c 'chordseq model show good.m | grep -q "^trained on	[1-9][0-9]* bases; 1500 held out$"'
T 'perplexity well below 4' sh -c 'tail -n 1 good.tsv | awk "{ exit !(\$12 < 3.4) }"'
T 'the loss is its logarithm' sh -c 'tail -n 1 good.tsv | awk "{ d = exp(\$6) - \$12; exit !(d * d < 1e-6) }"'
T 'the recorded command keeps options in one word with a path, not folders' sh -c "$pre --max-steps 1 --checkpoint=./word.ckpt -o./word.m -i./g.fa &&
    chordseq model show word.m | grep -q '^training.command	.* --checkpoint=word.ckpt -oword.m -ig.fa\$'"
T 'and letters before them' sh -c "mkdir in out && cp g.fa in && for o in \"-qo\$PWD/out/word.m -qqi\$PWD/in/g.fa\" '-qoout/word.m -qqiin/g.fa'; do
    $pre --max-steps 1 \$o && chordseq model show out/word.m | grep -q '^training.command	.* 1 -qoword.m -qqig.fa\$' || exit; done"
P pretrain-show.txt      sh -c 'chordseq model show good.m | grep -E "^(mask|vocab|label|head.predictor)"'
T 'k-mers, whose runs hide bases' $pre --tokenizer kmer --tokenizer.k 3 --decoder linear --metrics k.tsv -o k.m \
    --epochs 40 --val-contigs c5 g.fa
T 'training halves their loss' sh -c 'awk "NR == 2 { a = \$12 } END { exit !(\$12 < 0.5 * a) }" k.tsv'

steady="$pre --val-contigs c5 --schedule constant --warmup 0"
T 'a run of 3 epochs at a constant rate' $steady --epochs 3 -o three.m g.fa
T 'a run of 1' $steady --epochs 1 -o one.m g.fa
T 'continued to 3' $steady --epochs 3 -o one.m --resume g.fa
same_weights 'a run that is continued gives the same weights' three.m one.m
N pretrain-more.err     $pre --epochs 50 --val-contigs c5 --resume -o good.m g.fa

# ---- a budget ------------------------------------------------------------------------------------

spend="$pre --val-contigs c5"
T 'a budget of bases' $spend --budget 40k -o bases.m --metrics bases.tsv g.fa
T 'it ends with a rate near 0 after about 12 validations' awk -F '\t' 'END { exit !($3 < 1e-4 && NR >= 7 && NR <= 16) }' bases.tsv
for n in 1 50; do
    T "paused after $n steps" $spend --budget 40k -o spent.m --metrics spent.tsv --stop-after $n g.fa
    T 'resumed' $spend --budget 40k -o spent.m --metrics spent.tsv --resume g.fa
    same_weights "a budget resumed after $n steps gives the same weights" bases.m spent.m
    cut -f 1-9 bases.tsv > a; cut -f 1-9 spent.tsv > b
    T "a budget resumed after $n steps gives the same metrics" cmp a b
done
T 'a budget of time is kept' sh -c 'a=$(date +%s); "$@" --budget 4s -o timed.m --metrics timed.tsv g.fa &&
    [ $(($(date +%s) - a)) -le 12 ] && tail -n 1 timed.tsv | awk "{ exit !(\$3 < 3e-3 && \$10 < 8) }"' - $spend
T 'an epoch without validation ends once' sh -c 'for b in 5k 6k 7k 8k; do "$@" --budget $b --valid-frac 0 -o none.m --metrics none.tsv g.fa &&
    awk "NR > 2 && \$2 <= last { exit 1 } { last = \$2 }" none.tsv && [ "$(wc -l < none.tsv)" -ge 5 ] || exit; done' - $pre
T 'no window can be used' sh -c '! "$@" --budget 1s --valid-frac 0 -o x.m n.fa 2> err && grep -q "can be used: .*; change --window or --max-unknown" err' - $pre
N pretrain-budget.err    $pre --budget 1k --epochs 2 -o x.m g.fa
N pretrain-early.err     $pre --budget 0.00001s -o x.m g.fa

# ---- diplotypes ----------------------------------------------------------------------------------

# One site in ten copies the site two before it, which is random.
awk 'BEGIN { srand(4); print "#chordseq-diplotype\t1"
    for (p = 0; p < 40; p++) { printf ">s%d region=c1:1-200", p
        for (i = 0; i < 200; i++) { r = substr("ACGT", 1 + (i * 7 + int(i / 3)) % 4, 1)
            if (i % 10 == 4) h = r = substr("AMC", 1 + int(3 * rand()), 1)
            if (i % 10 == 6) r = h
            if (i % 80 == 0) print ""
            printf "%s", r }
        print "" } }' > d.dip
sed 's/$/\r/' d.dip > crlf.dip
gzip -c d.dip > plain.dip.gz
sed '3s/A/B/' d.dip > code.dip
{ cat d.dip; printf 'AC\nACG\n'; } > lines.dip
dip="chordseq pretrain -q --encoder cdil --encoder.channels 8 --encoder.layers 3 -B 512 --lr 0.01 --window 100 --seed 3 --threads 1"
T 'diplotypes' $dip --tokenizer diplotype --epochs 16 --metrics d.tsv -o d.m d.dip
T 'training on diplotypes halves the loss' sh -c 'awk "NR == 2 { a = \$12 } END { exit !(\$12 < 0.5 * a && \$12 < 1.4) }" d.tsv'
T 'diplotypes, one epoch' $dip --tokenizer diplotype --epochs 1 -o once.m d.dip
T 'diplotypes with CR LF' $dip --tokenizer diplotype --epochs 1 -o crlf.m crlf.dip
same_weights 'CR LF line ends do not change the weights' once.m crlf.m
with bgzip T 'compressed diplotypes' sh -c "bgzip -c d.dip > b.dip.gz && $dip --tokenizer diplotype --epochs 1 -o bgz.m b.dip.gz"
with bgzip same_weights 'compression of diplotypes does not change the weights' once.m bgz.m
T 'FASTA with ambiguity codes' $dip --tokenizer diplotype --epochs 1 -o fasta.m g.fa
awk '/^>/ { n++ } n % 2 && /^[A-Z]/ { gsub(/[A-Z]/, "a") } { print }' d.dip > some.dip
T 'sites with an N' sh -c "chordseq pretrain --tokenizer diplotype --encoder cdil --encoder.layers 2 \
    --window 100 --epochs 1 --valid-frac 0 -o some.m some.dip 2> n.err && grep -q 'windows have too few known bases' n.err"
T 'pieces of diplotypes' sh -c "chordseq tokenize -q --train bpe --alphabet diplotypes --vocab-size 120 -i d.dip -o t.json &&
    $dip --tokenizer bpe --tokenizer.file t.json --epochs 1 -o bpe.m d.dip"
T 'a classifier starts from it' sh -c 'awk "/^>/ { printf \"%s\\t%s\\n\", substr(\$1, 2), n++ % 2 }" d.dip > d.lab &&
    chordseq train -q -o dfine.m --init bpe.m --labels d.lab --epochs 1 -i d.dip'
N pretrain-dip-rc.err    $dip --tokenizer diplotype --rc -o x.m d.dip
N pretrain-dip-base.err  $dip --tokenizer base -o x.m d.dip
N pretrain-dip-gzip.err  $dip --tokenizer diplotype -o x.m plain.dip.gz
N pretrain-dip-lines.err $dip --tokenizer diplotype -o x.m lines.dip
N pretrain-dip-code.err  $dip --tokenizer diplotype -o x.m code.dip

# ---- reproducibility -----------------------------------------------------------------------------

run="$pre --epochs 3 --windows-per-epoch 30 --rc --window-min 60 --ema 0.9 --encoder.norm layer"
T 'one thread' $run -o one.m --metrics one.tsv --threads 1 g.fa
T 'four threads' $run -o four.m --threads 4 g.fa
same_weights 'weights do not depend on threads' one.m four.m
with bgzip T 'a compressed genome' sh -c "bgzip -c g.fa > b.fa.gz && $run -o bgz.m b.fa.gz"
with bgzip same_weights 'compression does not change the weights' one.m bgz.m
T 'windows with exactly the maximum of unknown bases are used' sh -c '
    awk "BEGIN { for (i = 0; i < 20; i++) { printf \">n%d\\n\", i; for (j = 0; j < 100; j++)
        printf \"%s\", j < 29 ? \"N\" : substr(\"ACGT\", 1 + int((j * j + i * j) / 3) % 4, 1); print \"\" } }" > share.fa &&
    chordseq pretrain --window 100 --max-unknown 0.29 --encoder.channels 8 --encoder cdil -B 512 --max-steps 1 -q -o share.m share.fa 2> err &&
    ! grep "too few known" err'
T 'bases are counted' sh -c "$run -o full.m --step-metrics steps.tsv g.fa"
T 'every step adds bases, at most those of its windows' awk 'NR > 2 && $7 <= n { exit bad = 1 }
    { n = $7 } END { exit bad || n < 5000 || n > 3 * 30 * 100 }' steps.tsv
for n in 1 4 7; do
    T "paused after $n steps" $run -o part.m --metrics part.tsv --stop-after $n g.fa
    T 'resumed' $run -o part.m --metrics part.tsv --resume g.fa
    same_weights "a run resumed after $n steps gives the same weights" one.m part.m
    cut -f 1-9,12 one.tsv > a; cut -f 1-9,12 part.tsv > b
    T "a run resumed after $n steps gives the same metrics" cmp a b
done
T 'paused at the last step' $run -o last.m --max-steps 4 --stop-after 4 g.fa
T 'resumed' $run -o last.m --max-steps 4 --resume g.fa
T 'validates and writes the model' chordseq model show last.m
T 'a run with held-out regions' $run -o aside.m --val-regions val.bed --stop-after 1 g.fa
printf 'c1\t0\t1500\n' > val.bed
T 'it refuses to resume with other regions' sh -c "! $run -o aside.m --val-regions val.bed --resume g.fa 2> err &&
    grep -q \"belongs to another run: it has 'data=\" err"
words="--tokenizer bpe --tokenizer.file w.json"
T 'it refuses to resume with another vocabulary of the same path, size and number of pieces' sh -c '
    for s in ACGTTGCA AACCGGTT; do awk -v s=$s "BEGIN { print \">w\"; for (i = 0; i < 200; i++) print substr(s s, 1 + i % 7, 8) }" > w.fa &&
    chordseq tokenize -q --train bpe --vocab-size 24 -o $s.json w.fa || exit; done
    run() { "$@" '"$words"' --encoder.channels 8 --encoder cdil --seed 2 -B 512 --epochs 1 -q; }
    awk "/^>/ { print \$1 \" class=\" n++ % 2; next } { print }" g.fa > two.fa
    for c in "pretrain --window 100 g.fa" "train --preset none --label-key class two.fa"; do
        cp ACGTTGCA.json w.json && run chordseq $c -o w.m --stop-after 1 && cp AACCGGTT.json w.json &&
        ! run chordseq $c -o w.m --resume 2> err && grep -q "belongs to another run: it has .vocabulary=w.json sha256:" err &&
        cp ACGTTGCA.json w.json && run chordseq $c -o w.m --resume || exit; done'
N pretrain-other.err     $run -o part.m --resume --mask-ratio 0.3 g.fa

# ---- from another model --------------------------------------------------------------------------

more="chordseq pretrain -q -B 512 --window 100 --seed 3 --val-contigs c5 --lr 0.01"
still="--lr 1e-12 --warmup 1e9 --weight-decay 0 --max-steps 1"
T 'a model with layer normalisation' $pre --encoder.norm layer --epochs 12 --val-contigs c5 --metrics base.tsv -o base.m g.fa
T 'a run that starts from a model, at a rate of nearly 0' $more $still --init base.m -o still.m --metrics still.tsv g.fa
same_weights 'has its weights, with those of the decoder' base.m still.m
T 'it begins with the validation loss of that model' sh -c '[ "$(awk "NR > 1 && (n == \"\" || \$6 < n) { n = \$6 } END { print n }" base.tsv)" = "$(tail -n 1 still.tsv | cut -f 6)" ]'
T 'it takes all settings, and only the training is its own' sh -c 'for m in base still; do
    chordseq model show $m.m | grep -v "^training\|^trained" > $m.set; done; cmp base.set still.set'
T 'the provenance names the initial model and the checksum of its weights' sh -c '
    sum=$(chordseq model show base.m | sed -n "s/^sha256.//p") && chordseq model show still.m |
    grep -qxF "training.initial_model	{\"name\":\"base.m\",\"sha256\":\"$sum\"}"'
T 'the loss improves with further training' sh -c '"$@" --epochs 6 --init base.m -o later.m --metrics later.tsv g.fa &&
    awk "FNR > 1 && (!(FILENAME in best) || \$6 < best[FILENAME]) { best[FILENAME] = \$6 }
        END { exit !(best[\"later.tsv\"] < best[\"base.tsv\"]) }" base.tsv later.tsv' - $more
N pretrain-init-decoder.err $more --init base.m --decoder linear -o x.m g.fa
N pretrain-init-layers.err $more --init base.m --decoder-layers 3 -o x.m g.fa
N pretrain-init-encoder.err $more --init base.m --encoder.layers 3 -o x.m g.fa
N pretrain-init-tokenizer.err $more --init base.m --tokenizer kmer -o x.m g.fa
N pretrain-init-class.err $more --init c.m -o x.m g.fa
T 'an encoder with a maximum length' chordseq pretrain -q --tokenizer base --encoder linformer --encoder.max-len 50 --encoder.layers 1 --window 50 --max-steps 2 -o short.m g.fa
T 'an encoder with a second stack' $pre --encoder.decoder 8,8 --max-steps 2 -o second.m g.fa
N pretrain-init-drop.err $more --init second.m --encoder.decoder 0 -o x.m g.fa
N pretrain-init-max.err $more --init short.m --window 51 -o x.m g.fa
N pretrain-init-same.err $more --init base.m -o base.m g.fa
T 'options that repeat the settings of the model are accepted, and dropout may differ' sh -c '
    "$@" --init base.m --decoder light --decoder-layers 2 --tokenizer base --encoder cdil --encoder.layers 2 --encoder.dropout 0.2 \
    --max-steps 1 -o same.m g.fa && chordseq model show same.m | grep -qx "encoder.dropout.0.2"' - $more
T 'a linear decoder stays linear' sh -c '"$@" --init k.m --max-steps 1 -o linear.m g.fa &&
    for m in k linear; do chordseq model show $m.m | grep "^tensor" > $m.set; done && cmp k.set linear.set' - $more
T 'the vocabulary comes from the model, not from its file' sh -c 'rm t.json && "$@" --val-contigs s0 --init bpe.m --max-steps 2 -o bpe2.m d.dip &&
    for m in bpe bpe2; do chordseq model show $m.m | grep "^tensor\|^label\|^vocab" > $m.set; done && cmp bpe.set bpe2.set' - $more
T 'an exported folder starts the same run as the file' sh -c 'chordseq model export base.m folder 2> msgs &&
    for m in base.m folder; do "$@" --max-steps 3 --init $m -o $m.next g.fa || exit; done' - $more
same_weights 'with the same weights' base.m.next folder.next
with lapack T 'a model of low rank keeps its rank' sh -c 'chordseq model factorize --rank 3 -o low.m short.m 2> msgs && "$@" --window 50 --init low.m --max-steps 2 -o low2.m g.fa &&
    for m in low low2; do chordseq model show $m.m | grep "^tensor" > $m.set; done && cmp low.set low2.set' - $more
for length in '--epochs 2' '--budget 20k'; do
    T "$length from a model" $more $length --init base.m -o whole.m g.fa
    for n in 1 7; do
        T "paused after $n steps" $more $length --init base.m -o half.m --stop-after $n g.fa
        T 'resumed' $more $length --init base.m -o half.m --resume g.fa
        same_weights "$length resumed after $n steps gives the same weights" whole.m half.m
    done
done
T 'a run is not resumed with another initial model, or with none' sh -c '"$@" --init base.m --stop-after 1 &&
    for o in "--init later.m" "--encoder cdil --encoder.channels 8 --encoder.layers 2 --encoder.norm layer --tokenizer base"; do
        ! "$@" $o --resume 2> err && grep -q "belongs to another run: .*init=" err || exit; done' - $more -o other.m g.fa

# ---- fine-tuning ---------------------------------------------------------------------------------

awk '/^>c[1-4]/ { printf "%s class=%s\n", $1, /[12]$/ ? "a" : "b"; next } /^>/ { exit } { print }' g.fa > lab.fa
T 'fine-tuning' chordseq train -q -o fine.m --init good.m --label-key class --epochs 1 --valid-frac 0 lab.fa
T 'fine-tuning keeps the mask and the encoder' sh -c 'for m in good fine; do
    chordseq model show $m.m | grep -E "^(mask|encoder)" > $m.set; done; cmp good.set fine.set'
