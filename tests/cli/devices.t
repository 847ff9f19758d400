# devices.t - emulated GPUs: several devices, memory, order of work, training.
#
# tests/gpu/host has the CUDA emulator; CS_HOST_... are read by it only. What streams may do in any
# order is in tests/gpu/test_prefetch.c.
. "$(dirname "$0")/lib.sh"

c=$builddir/tests/gpu/chordseq_host
if [ ! -x "$c" ]; then
    S devices 'no C++ compiler for the CUDA emulator'
    exit 0
fi
export CS_HOST_DEVICES=3 OMP_NUM_THREADS=1
m=$tiny/model.safetensors
in=$tiny/mixed.fa
g="$c classify -@ 2 -m $m -B 200 --all"

# ---- several -------------------------------------------------------------------------------------
$g -q --device cpu "$in" > cpu.tsv
$g -q --device cuda:1 "$in" > one.tsv
# near FILE FILE: equal within rounding
near()
{
    paste "$1" "$2" | awk -F '\t' '{ n = NF / 2
        for (i = 1; i <= n; i++) { d = $i - $(n + i)
            if ((i < 4 || i == 5 || NR == 1) ? $i != $(n + i) : d > 3e-6 || d < -3e-6) exit 1 } }'
}
T 'GPU and CPU give the same predictions' near cpu.tsv one.tsv
for d in cuda:0,2 cuda:2,1,0 auto; do
    T "predictions of $d are those of one, in order" sh -c "$g -q --device $d $in | cmp - one.tsv"
done
T 'predictions do not depend on delays of copies and kernels' sh -c "for lag in -1 -2 -3 7; do
    CS_HOST_LAG=\$lag $g -q --device cuda:0,1 $in | cmp - one.tsv || exit 1; done"
# same COMMAND...: equal bytes with one device and several
same()
{
    T "$2 is the same on several" sh -c '"$@" --device cuda:0 > s.one && [ -s s.one ] &&
        "$@" --device cuda:0,2 | cmp - s.one' - "$@"
}
same "$c" embed -q -m "$m" -B 300 --format tsv -o - "$in"
cp "$tiny/variants.fa" .
same "$c" variant -q -m "$m" -B 300 --no-version --reference variants.fa -O v \
    "$tiny/variants.vcf"
awk '/^>/ { print substr($1, 2) "\tclass" (n++ % 2 ? "A" : "B") }' "$in" > labels
same "$c" eval -q -m "$m" -B 300 --labels labels "$in"
T 'a missing device is named' sh -c "$g --device cuda:1,9 $in 2>&1 |
    grep -q \"no device 'cuda:9': there are 3, starting at 'cuda:0'\""
T 'commands for one device refuse a list' sh -c "$c bench --device cuda:0,1 encoders 2>&1 |
    grep -q \"'cuda:0,1' names 2 devices; this command uses one\""

# ---- training on several -------------------------------------------------------------------------
# train_on DEVICES NAME: writes NAME.tsv, NAME.m and messages to NAME.err
train_on()
{
    "$c" train -v -@ 1 --encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --tokenizer.k 2 -B 400 \
        --crop-min 4 --crop-max 200 --accumulate 3 --epochs 2 --labels labels --device "$1" -o "$2.m" \
        --metrics "$2.tsv" "$in" 2> "$2.err"
}
# as_one FILE FILE: losses and accuracies are equal within rounding
as_one()
{
    paste "$1" "$2" | awk -F '\t' 'NR > 1 { n = NF / 2; for (i = 4; i <= 9; i++)
        { d = ($i - $(n + i)) / ($i + ($i == 0)); if (d > 1e-4 || d < -1e-4) exit 1 } }
        END { exit NR != 3 }'
}
T 'training on one GPU' train_on cuda:2 trained1
# Without NCCL, even if installed.
mkdir none && : > none/libnccl.so.2
export LD_LIBRARY_PATH="$tmp/none"
for d in cuda:0,2 cuda:0,1,2; do
    T "the GPUs $d train" train_on $d trained2
    T 'the weights of one GPU' as_one trained1.tsv trained2.tsv
done
T 'without NCCL, sums run on the CPU' grep -q 'gradients are summed on the CPU' trained2.err
if [ -f "$builddir/tests/gpu/host/libnccl.so.2" ]; then
    LD_LIBRARY_PATH="$builddir/tests/gpu/host"
    export CS_HOST_UNIFIED=1        # the mock of NCCL adds on the host
    T 'training on two GPUs with NCCL' train_on cuda:0,1 trained3
    T 'the log names NCCL' grep -q 'gradients are summed by NCCL 2.19.5' trained3.err
    T 'the weights of one GPU' as_one trained1.tsv trained3.tsv
    T 'a second run' train_on cuda:0,1 trained4
    T 'two trainings on two GPUs give the same weights' sh -c 'for m in trained3 trained4; do chordseq model show $m.m | grep ^sha256; done |
        uniq | wc -l | grep -qx 1'
    MOCK_NCCL_KILL=1 train_on cuda:0,1 trained5
    T 'a rank killed during a sum is reported' grep -q 'train: rank 1 is gone: it was killed' trained5.err
fi
unset LD_LIBRARY_PATH CS_HOST_UNIFIED
T 'a missing device is named once' sh -c "$c train --device cuda:1,9 --accumulate 2 \
    --labels labels -o x.m $in 2>&1 | grep error: > x.err
    grep -q \"rank 1 failed: no device 'cuda:9': there are 3, starting at 'cuda:0'\" x.err &&
    [ \$(wc -l < x.err) = 1 ]"
T 'as many ranks as devices' sh -c "$c train --device cuda:0,1 --ranks 3 -o x.m $in 2>&1 |
    grep -q 'names 2 devices for 3 ranks; omit --ranks'"

# ---- memory --------------------------------------------------------------------------------------
own=$(((64 << 20) + 25600))              # memory of backend and parameters
T 'auto fits the free memory' sh -c "
    for mb in 1 8 64; do CS_HOST_MEMORY=\$(($own + (mb << 20))) $c classify -v -m $m --device cuda:0,1 \
        --all $in 2>&1 > auto.tsv | sed -n 's/.*batches of at most \([0-9]*\) tokens.*/\1/p'
    done > auto.n; cmp auto.tsv one.tsv && [ \$(uniq auto.n | wc -l) = 3 ] && sort -nc auto.n"
T 'auto is 64k on the CPU' sh -c "$c classify -v -m $m $in 2>&1 > /dev/null |
    grep -q 'batches of at most 65536 tokens'"
# Whichever allocation fails, the run succeeds, a record has a reason, or the error names memory.
T 'failed allocations are reported or harmless' sh -c "n=0; halved=0
    while n=\$((n + 1)) && [ \$n -lt 15 ]; do
        if CS_HOST_FAIL=\$n-\$((n + 1)) $c classify -@ 1 -m $m -B 2048 --all --device cuda $in \
            > fail.tsv 2> fail.err; then
            paste fail.tsv one.tsv | awk -F '\t' '\$5 != \"no_memory\" { for (i = 1; i <= NF / 2; i++)
                if (\$i != \$(NF / 2 + i)) exit 1 }' || exit 1
            if grep -q 'no memory for a batch of .* continuing with' fail.err; then
                cmp -s fail.tsv one.tsv && halved=1 || exit 1; fi
        else
            grep -q 'out of memory' fail.err && [ ! -s fail.tsv ] || exit 1
        fi
    done; [ \$halved = 1 ]"
CS_HOST_MEMORY=$((own + 60000))
export CS_HOST_MEMORY
long="$c classify -@ 2 -m $m -B 100 --all --device cuda:0,1 --long-sequence"
T 'a sequence without memory has the reason no_memory' sh -c "$long whole $in 2> long.err |
    cut -f 5 | grep -c no_memory | grep -qx 4 &&
    grep -q 'more memory than is available; --long-sequence cpu runs such' long.err"
T '--long-sequence cpu runs it on the CPU' sh -c "$long cpu $in 2> long.err > long.tsv &&
    grep -q '4 of 22 records were run on the CPU, because the device.s memory was exceeded' long.err"
T '--long-sequence cpu has the prediction of the CPU' near long.tsv cpu.tsv
T '--long-sequence fit splits it into windows' sh -c "$long fit $in 2> long.err > long.tsv &&
    n=\$(sed -n 's/.*sequences of more than \([0-9]*\) bases exceed the memory.*/\1/p' long.err) &&
    [ \$n -gt 274 ] && [ \$n -lt 439 ] && grep -q '5 of 22 records .* split into windows' long.err &&
    $g -q --device cpu --long-sequence window --window-length \$n $in > windows.tsv"
T '--long-sequence fit has the prediction of the same windows' near long.tsv windows.tsv
unset CS_HOST_MEMORY

# ---- predictions that are no numbers -------------------------------------------------------------
# Products with the embedding of T overflow.
"$builddir/tests/cli/make_model" nan.model 5 huge=5 encoder.max-len=64 encoder.track=4 encoder.hidden=8
printf '>clean\nACGACGACG\n>bad\nACGACGACT\n>worse\nTTTTTTTTT\n' > some.fa
for d in cpu cuda:0,1; do
    T "NaN is never a result: $d" sh -c "! $c classify -m nan.model --device $d some.fa > nan.tsv \
        2> nan.err && [ ! -s nan.tsv ] &&
        grep -q \"record 'bad': the model's prediction is not finite\" nan.err"
    T "unless it may be: $d" sh -c "$c classify -q --check-finite off -m nan.model --device $d some.fa |
        cut -f 1,4 | grep -c nan | grep -qx 2"
done
T 'without a finite probability a record has no call and no share' sh -c "$c classify -q --check-finite off -m nan.model --min-prob 0 \
        --shares all.shares some.fa > all.tsv && head -n 2 some.fa > clean.fa &&
    [ \$(cut -f 1,3-5 all.tsv | grep -cE '^(bad|worse)	unclassified	-*nan	low_probability\$') = 2 ] &&
    $c classify -q -m nan.model --min-prob 0 --shares clean.shares -o x clean.fa && cmp clean.shares all.shares"
T 'NaN is null in JSON' sh -c "$c classify -q --check-finite off -m nan.model --jsonl - some.fa > nan.jsonl &&
    [ \$(grep -c nan nan.jsonl) = 0 ] && [ \$(grep -c '\"probability\":null,.*\"classA\":null,' nan.jsonl) = 2 ]"
