# selftest.t - chordseq selftest: every encoder, device and level; wrong results are detected.
. "$srcdir/tests/cli/lib.sh"

v=$srcdir/refdata/selftest
d=$srcdir/refdata/model/default.safetensors
self="chordseq selftest -@ 1 --vectors '$v' -m '$d'"

T 'all comparisons pass' sh -c "$self > all.tsv && ! grep -v 'ok\$' all.tsv"
T 'five columns' awk -F '\t' 'NF != 5 || $4 !~ /^[0-9].[0-9][0-9]e-[0-9][0-9]$/ { exit 1 }' all.tsv
for e in $(sed -n 's|^encoders .*/enc_\(.*\)\.c$|\1|p' "$srcdir/registry.am") default-model; do
    T "$e is compared" grep -q "^$e	cpu	reference	" all.tsv
done
levels() { cut -f 2,3 "$1" | grep '^cpu' | uniq | cut -f 2 | tr '\n' ' '; }
case $(chordseq --version --verbose | sed -n 's/^kernels *//p') in
portable) want='reference ' ;;
avx2) want='reference avx2 avx2+fused ' ;;
avx512) want='reference avx2 avx2+fused avx512 avx512+fused ' ;;
neon) want='reference neon neon+fused ' ;;
esac
for level in bf16 amx; do
    chordseq --version --verbose | grep -q "^$level *yes" && want="$want$level "
done
T 'every level' test "$(levels all.tsv)" = "$want"
T 'a disabled level is skipped' sh -c "CHORDSEQ_DISABLE=avx2,neon,fused $self > some.tsv &&
    cut -f 3 some.tsv | uniq | grep -vx -- - > levels; [ \"\$(cat levels)\" = reference ]"
T 'the numbers are the same with threads' sh -c "$self -@ 3 | cmp - all.tsv"

# A processor with wrong results, simulated by a broken kernel.
broken=$builddir/tests/cli/broken_kernel
if [ -x "$broken" ] && [ "$want" != 'reference ' ]; then
    N - sh -c "'$broken' selftest -@ 1 --vectors '$v' -m '$d' > broken.tsv"
    mv .err msgs
    T 'the failure is reported' grep -q '^chordseq: error: selftest: [0-9]* of [0-9]* comparisons failed' msgs
    T 'the level is named' sh -c "grep FAILED broken.tsv | cut -f 3 | sort -u > levels &&
        printf 'avx2\navx2+fused\n' | cmp - levels"
else
    S 'a broken kernel' 'no AVX2'
fi

# A GPU, emulated: every precision, and kernels for many rows, also those that have to be asked for.
gpu=$builddir/tests/gpu/chordseq_host
if [ -x "$gpu" ]; then
    T 'a GPU is compared' sh -c "CHORDSEQ_WGMMA_BACKWARD=1 CS_HOST_MULTIPROCESSORS=1 CHORDSEQ_DISABLE=avx2,neon,fused '$gpu' ${self#chordseq} > gpu.tsv"
    T 'all of its comparisons pass' sh -c "! grep -v 'ok\$' gpu.tsv"
    T 'in every precision' test "$(sed -n 's/^cdil	cuda	//p' gpu.tsv | cut -f 1 | tr '\n' ' ')" = '- tf32 bf16 '
    T 'on many rows' test "$(grep -c '^many-rows\(-gradient\)*	cuda	bf16	' gpu.tsv)" = 2
else
    S 'a GPU' 'no CUDA emulator'
fi

# Corrupted files, detected by all kernels. Output of a failing command: msgs and seen.
fails() { N - env CHORDSEQ_DISABLE=avx2,neon,fused "$@"; mv .out seen; mv .err msgs; }
cp -r "$v" damaged && chmod -R u+w damaged
flip() { printf '\125' | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null; }
flip damaged/cdil.safetensors 30000
sed '3s/0\.[0-9]*/0.5/g' "$v/sequences.tsv" > damaged/sequences.tsv
fails chordseq selftest -@ 1 --vectors damaged -m "$d"
T 'the broken kernel is named' sh -c "grep -q 'cdil on cpu.*checksum' msgs && grep -q '^cdil.*FAILED' seen &&
    ! grep -vE '^(cdil|default-model)' seen | grep FAILED"
T 'a wrong probability is detected' grep -q '^default-model.*FAILED' seen
cp "$v/cdil.safetensors" damaged
head -n 4 "$v/sequences.tsv" > damaged/sequences.tsv
fails chordseq selftest -@ 1 --vectors damaged -m "$d"
T 'a truncated table' grep -q "missing in the table" msgs
fails chordseq selftest -@ 1 --vectors "$v" -m "$tiny/model.safetensors"
T 'another model is detected' grep -q 'is not the model' msgs
: > damaged/predictions.safetensors
fails chordseq selftest -@ 1 --vectors damaged -m "$d"
fails chordseq selftest -@ 1 --vectors no-such-folder -m "$d"
fails chordseq selftest -@ 1 --vectors "$v" -m no-such-model
T 'a missing model is no comparison that failed' sh -c "grep -q \"selftest: cannot open 'no-such-model'\" msgs && [ ! -s seen ]"

# In a source tree, the program finds its data.
mkdir -p tree/build tree/refdata/model && cp "$builddir/chordseq" tree/build
cp -r "$v" tree/refdata && cp "$d" tree/refdata/model
T 'data of a source tree' sh -c 'CHORDSEQ_DISABLE=avx2,neon,fused tree/build/chordseq selftest -@ 1 | cmp - some.tsv'
