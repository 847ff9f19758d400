# gpubench.t - every stage of tests/gpu/bench at the smallest size, on the CUDA emulator.
#
# Measurements are meaningless there; the test checks that every row exists, with a reason if it has no
# result. With CS_LONG, and a python3 with PyTorch in $CS_PYTHON, also PyTorch's rows, which takes minutes.
# bench runs bench_block_host, bench_network_host, gen_fasta, make_model and peak (for make check-one).
. "$srcdir/tests/cli/lib.sh"

if [ ! -x "$builddir/tests/gpu/chordseq_host" ]; then
    S gpubench 'no C++ compiler for the CUDA emulator'
    exit 0
fi
export OMP_NUM_THREADS=1
quick="env CS_QUICK=1 $srcdir/tests/gpu/bench"
T 'all stages' $quick -o t.tsv
# cells COLUMNS: of rows, without lines about the machine or programs missing on some machines
cells() { grep -v -e '^#' -e BGZF t.tsv | cut -f "$1"; }
P gpubench-rows.tsv cells 1-3
# A block's time is a difference of two, arbitrary on a busy machine.
T 'a median for every row that is ok' awk -F '\t' '
    $2 ~ /: means / { next }
    $3 == "ok" && $1 !~ /^(plan|memory)$/ && !($6 ~ /^(us|ms|Mb)/ && NF == 7) { exit 1 }
    $3 == "ok" && $1 == "block" && !($4 ~ /^-?[0-9.]+$/ && $5 ~ /^-?[0-9.]+$/) { exit 1 }
    $3 == "ok" && $1 !~ /^(plan|memory|block)$/ && !($4 > 0 && $5 >= 0) { exit 1 }
    $3 != "ok" && $4 + 0 > 0 { exit 1 }' t.tsv
T 'planned memory falls with fewer checkpoints and in bf16' awk -F '\t' '
    $1 != "plan" { next }
    !($4 > 0 && $6 == "GB") { exit 1 }
    { split($2, part, ", "); gb[part[3], part[4]] = $4; n++; if (n % 9 != 1 && $4 > last) exit 1; last = $4 }
    function more(p) { return gb[p, "--checkpoint-blocks 8"] - gb[p, "--checkpoint-blocks 1"] }
    END { if (n != 18 || more("bf16") / more("fp32") < 0.49 || more("bf16") / more("fp32") > 0.51) exit 1 }' t.tsv
T 'an unknown stage' sh -c "$quick blocks block > s.out 2> s.err; [ \$? = 2 ] && ! grep -q ^block s.out &&
    grep -q \"no stage 'blocks'\" s.err"
T 'no ratio without PyTorch' sh -c '! grep -q times t.tsv'
T 'rows are appended' sh -c "n=\$(wc -l < t.tsv); $quick -o t.tsv block > b.out &&
    [ \$(wc -l < t.tsv) = \$((n + \$(wc -l < b.out))) ]"
T 'no stage begins after the time limit' sh -c "CALL_S=0 $quick -o o.tsv memory > o.out; ! cut -f 3 o.tsv | grep -qx ok &&
    grep -q 'no time left' o.tsv"
T 'logs are returned' sh -c "mkdir out && OUT=out $quick -o t.tsv block && [ -s out/t.tsv ] &&
    tar -tzf out/logs.tar.gz | grep -q block.tsv"
# The plan in the emulator: time limits, results also after failed steps, and a model from
# which the next training stage starts.
mkdir plan && cp "$srcdir"/tests/gpu/check "$srcdir"/tests/gpu/bench "$srcdir"/tests/gpu/lib.sh "$srcdir"/tests/gpu/stages \
    "$srcdir"/tests/gpu/twobit.py plan/
T 'a plan within its limits' plan/stages -n
T 'a stage above the limits is reported' sh -c "mkdir plan/part.1 && head -c 66000000 /dev/zero > plan/part.1/train.2bit &&
    ! plan/stages -n > s.out && grep -q 'train.1.*6[3-9]' s.out; rm -r plan/part.1"
T '2 bits per base and back' sh -c "awk '/^>/ { if (n++) print s; print; s = \"\"; next } { s = s toupper(\$0) }
    END { print s }' '$srcdir/refdata/tiny/mixed.fa' > once.fa &&
    python3 plan/twobit.py pack '$srcdir/refdata/tiny/mixed.fa' > m.2bit && python3 plan/twobit.py unpack m.2bit | cmp - once.fa"
mkdir plan/part.1 back
for c in A C; do
    for i in 1 2 3 4; do printf '>%s%s class=%s\nACGTNACGGTCA%s\n' $c $i $c $c; done
done > classes.fa
python3 plan/twobit.py pack classes.fa > plan/part.1/train.2bit
echo '--label-key class --encoder chordmixer --encoder.max-len 16 --encoder.track 4 --encoder.hidden 8 --valid-frac 0' \
    '--max-steps 2' > plan/part.1/train.args
train="env CS_QUICK=1 OUT=back DEVICE=cpu CHORDSEQ=$builddir/chordseq plan/stages train.1"
T 'a training stage' sh -c "$train && [ -s back/model.aa ]"
T 'the next stage starts from its model' sh -c "rm back/model.aa && $train && [ -s back/model.aa ]"
T 'no results without a folder for them' sh -c "OUT= plan/stages proof; [ \$? = 2 ]"
if [ -n "${CS_LONG:-}" ] && "${CS_PYTHON:-false}" -c 'import torch' 2> /dev/null; then
    T 'beside PyTorch' env CS_QUICK=torch PYTHON3="$CS_PYTHON" CALL_S=3000 "$srcdir/tests/gpu/bench" \
        -o p.tsv limits block short long mix adding
    T 'PyTorch gives the same predictions' awk -F '\t' '
        $2 ~ / step$/ && match($7, /loss [0-9.]+, [0-9.]+/) {
            split(substr($7, RSTART, RLENGTH), part, /,? /); n++
            d = part[2] - part[3]; if (d > 0.01 || d < -0.01) exit 1 }
        END { if (n != 8) exit 1 }' p.tsv
fi
