# precision.t - --precision bf16 on the CPU: reproducible predictions, and refusal to mix runs with
# those in fp32.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
c="chordseq classify -q -m $m"
"$builddir/tests/bench/gen_fasta" 20000 1 100 900 > x.fa

# ---- on any processor ----------------------------------------------------------------------------

T 'a summary records precision and kernels' sh -c "$c -o x.tsv --summary x.json x.fa &&
    grep -q '\"precision\": \"fp32\"' x.json && grep -q '\"kernels\": \"vector+fused\"' x.json"
T 'a summary records reference kernels' sh -c "CHORDSEQ_DISABLE=avx2,neon $c -o x.tsv --summary x.json x.fa &&
    grep -q '\"kernels\": \"reference\"' x.json"
for i in 1 2; do
    CHORDSEQ_DISABLE=$(test $i = 1 || echo avx2,neon) $c --shard $i/2 --manifest p.$i.json -o p.$i.tsv x.fa || exit
done
N precision-kernels.err chordseq merge -q -o all.tsv p.1.json p.2.json
CHORDSEQ_DISABLE=avx512 $c --shard 2/2 --manifest p.2.json -o p.2.tsv x.fa || exit
T 'levels with the same bits are merged' sh -c "chordseq merge -q -o all.tsv p.1.json p.2.json && $c x.fa | cmp - all.tsv"

# ---- with products in bf16 -----------------------------------------------------------------------

chordseq --version --verbose | grep -q '^bf16 *yes' || { S 'bf16' 'no bf16 products'; exit; }
for e in chordmixer:amx cdil:amx linformer:amx chordmixer cdil linformer; do
    CHORDSEQ_DISABLE=${e#"${e%amx}"}; export CHORDSEQ_DISABLE; e=${e%:amx}
    b="chordseq classify -q --all --min-prob 0 --precision bf16 -m $srcdir/refdata/selftest/$e.safetensors"
    T "$e: threads and batches" sh -c "$b -@ 1 x.fa > $e.tsv && $b -@ 2 -B 2000 x.fa | cmp - $e.tsv"
    T "$e: a record alone" sh -c "awk '/^>/ && ++n > 1 { exit } { print }' x.fa > one.fa && $b one.fa > one.tsv && head -n 2 $e.tsv | cmp - one.tsv"
    T "$e: without fused kernels" sh -c "CHORDSEQ_DISABLE=fused $b x.fa > plain.tsv"
    T "$e: near fp32, but not the same" sh -c "${b%--precision*} -m $srcdir/refdata/selftest/$e.safetensors x.fa > fp32.tsv
        paste fp32.tsv $e.tsv | awk -F '\t' 'NR > 1 { for (i = 6; i <= NF / 2; i++) { d = \$i - \$(i + NF / 2)
            if (d > 0.02 || d < -0.02) exit 1; n += d != 0 } } END { exit !n }'"
done
unset CHORDSEQ_DISABLE
b="$c --precision bf16"
$b --shard 2/2 --manifest p.2.json -o p.2.tsv x.fa || exit
N precision-merge.err chordseq merge -q -o all.tsv p.1.json p.2.json
T 'shards of one precision' sh -c "$b --shard 1/2 --manifest p.1.json -o p.1.tsv x.fa &&
    chordseq merge -q -o all.tsv p.1.json p.2.json && $b x.fa | cmp - all.tsv"
T 'a summary records it' sh -c "$b -o x.tsv --summary x.json x.fa && grep -q '\"precision\": \"bf16\"' x.json"
T 'vectors in bf16' sh -c 'chordseq embed -q --format tsv -o - --precision bf16 -m "$1" x.fa > a.tsv &&
    chordseq embed -q --format tsv -o - -m "$1" x.fa > b.tsv && ! cmp -s a.tsv b.tsv' - "$m"

if [ -e "$builddir/tests/cli/kill_at.so" ]; then
    env LD_PRELOAD="$builddir/tests/cli/kill_at.so" KILL_AT='9 10 0' \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
        $c --resume --resume-every 0 -o r.tsv x.fa 2> /dev/null
    N precision-resume.err $b --resume --resume-every 0 -o r.tsv x.fa
    N precision-resume-kernels.err env CHORDSEQ_DISABLE=fused $c --resume --resume-every 0 -o r.tsv x.fa
else
    S 'a resumed run' 'no shared objects here'
fi

# ---- gradients -----------------------------------------------------------------------------------

T 'an explanation in bf16' sh -c 'for p in fp32 bf16; do
        chordseq explain -q -m "$1" --precision $p -f x.fa -r r1 -o $p.tsv || exit; done
    ! cmp -s fp32.tsv bf16.tsv && [ "$(wc -l < fp32.tsv)" = "$(wc -l < bf16.tsv)" ]' - "$m"

awk '/^>/ { printf "%s class=%s\n", $1, ++n % 2 ? "one" : "two"; next }
    n % 2 { gsub(/AA/, "TA") } { print }' x.fa > t.fa
small='--encoder.max-len 1024 --tokenizer base -B 2048 --epochs 2 --seed 1 --label-key class --lr 0.002'
loss() { awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "train_loss") c = i } END { print $c }' "$1"; }
for e in 'chordmixer --encoder.hidden 24' 'cdil --encoder.channels 24' 'cdil --encoder.channels 40 --encoder.convs one' \
    'cdil --encoder.channels 24 --encoder.layers 3'; do
    case $e in *layers*) CHORDSEQ_DISABLE=amx; export CHORDSEQ_DISABLE ;; esac
    t="chordseq train -q $small --encoder $e t.fa"
    T "$e: training" sh -c "$t -o 32.m --metrics 32.tsv && $t --precision bf16 -@ 1 -o 16.m --metrics 16.tsv"
    T "$e: loss $(loss 16.tsv), in fp32 $(loss 32.tsv)" awk -v a="$(loss 16.tsv)" -v b="$(loss 32.tsv)" 'BEGIN {
        exit !(a > 0 && a != b && a - b < 0.01 * b && b - a < 0.01 * b) }'
    T "$e: two threads" $t --precision bf16 -@ 2 -o 2.m
    same_weights "$e: weights do not depend on threads" 16.m 2.m
    T "$e: paused" $t --precision bf16 -o part.m --stop-after 3
    T "$e: resumed" $t --precision bf16 -o part.m --resume --recompute
    same_weights "$e: a resumed run gives the same weights" 16.m part.m
done
unset CHORDSEQ_DISABLE
T 'paused in bf16' $t --precision bf16 -o mixed.m --stop-after 3
N precision-train.err $t -o mixed.m --resume

# ---- with AMX ------------------------------------------------------------------------------------

chordseq --version --verbose | grep -q '^amx *yes' || { S 'amx' 'no AMX'; exit; }
N precision-train-amx.err env CHORDSEQ_DISABLE=amx $t --precision bf16 -o mixed.m --resume
CHORDSEQ_DISABLE=amx $b --shard 1/2 --manifest p.1.json -o p.1.tsv x.fa || exit
N precision-merge-amx.err chordseq merge -q -o all.tsv p.1.json p.2.json
