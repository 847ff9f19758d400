# gpubench.t - tests/gpu/bench goes through: every stage at the smallest size, on the CUDA emulator.
#
# What it measures there means nothing; that a row stands for everything, and a word where there is no
# figure, does. With CS_LONG, and a python3 in $CS_PYTHON that has PyTorch, its lines as well: minutes.
. "$srcdir/tests/cli/lib.sh"

if [ ! -x "$builddir/tests/gpu/chordseq_host" ]; then
    S gpubench 'no C++ compiler for the CUDA emulator'
    exit 0
fi
export OMP_NUM_THREADS=1
quick="env CS_QUICK=1 $srcdir/tests/gpu/bench"
T 'all stages' $quick -o t.tsv
# cells COLUMNS: of rows, without lines about the machine, and what only some machines have a program for
cells() { grep -v -e '^#' -e BGZF t.tsv | cut -f "$1"; }
P gpubench-rows.tsv cells 1-3
# A block's is the difference of two times, which on a busy machine may be any number.
T 'a figure of a median where it is ok' awk -F '\t' '
    $3 == "ok" && $1 !~ /^(plan|memory)$/ && !($6 ~ /^(us|ms|Mb)/ && NF == 7) { exit 1 }
    $3 == "ok" && $1 == "block" && !($4 ~ /^-?[0-9.]+$/ && $5 ~ /^-?[0-9.]+$/) { exit 1 }
    $3 == "ok" && $1 !~ /^(plan|memory|block)$/ && !($4 > 0 && $5 >= 0) { exit 1 }
    $3 != "ok" && $4 + 0 > 0 { exit 1 }' t.tsv
T 'gigabytes of a plan, the fewer the less is kept, inputs of half the size in bf16' awk -F '\t' '
    $1 != "plan" { next }
    !($4 > 0 && $6 == "GB") { exit 1 }
    { split($2, part, ", "); gb[part[3], part[4]] = $4; n++; if (n % 9 != 1 && $4 > last) exit 1; last = $4 }
    function more(p) { return gb[p, "--checkpoint-blocks 8"] - gb[p, "--checkpoint-blocks 1"] }
    END { if (n != 18 || more("bf16") / more("fp32") < 0.49 || more("bf16") / more("fp32") > 0.51) exit 1 }' t.tsv
T 'a stage that there is not' sh -c "$quick blocks block > s.out 2> s.err; [ \$? = 2 ] && ! grep -q ^block s.out &&
    grep -q \"no stage 'blocks'\" s.err"
T 'no ratio without PyTorch' sh -c '! grep -q times t.tsv'
T 'rows are added to those before' sh -c "n=\$(wc -l < t.tsv); $quick -o t.tsv block > b.out &&
    [ \$(wc -l < t.tsv) = \$((n + \$(wc -l < b.out))) ]"
T 'no stage begins when time is over' sh -c "CALL_S=0 $quick -o o.tsv memory > o.out; ! cut -f 3 o.tsv | grep -qx ok &&
    grep -q 'no time left' o.tsv"
T 'logs are handed back' sh -c "mkdir out && OUT=out $quick -o t.tsv block && [ -s out/t.tsv ] &&
    tar -tzf out/logs.tar.gz | grep -q block.tsv"
if [ -n "${CS_LONG:-}" ] && "${CS_PYTHON:-false}" -c 'import torch' 2> /dev/null; then
    T 'beside PyTorch' env CS_QUICK=torch PYTHON3="$CS_PYTHON" CALL_S=3000 "$srcdir/tests/gpu/bench" \
        -o p.tsv limits block short long mix adding
    T 'PyTorch gives the same predictions' awk -F '\t' '
        $2 ~ / step$/ && match($7, /loss [0-9.]+, [0-9.]+/) {
            split(substr($7, RSTART, RLENGTH), part, /,? /); n++
            d = part[2] - part[3]; if (d > 0.01 || d < -0.01) exit 1 }
        END { if (n != 8) exit 1 }' p.tsv
fi
