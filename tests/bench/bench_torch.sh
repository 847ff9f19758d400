#!/bin/sh
# bench_torch.sh - our forward pass beside PyTorch's in one run, and how many times faster; TSV.
#
#   tests/bench/bench_torch.sh           from the build folder; `make bench-torch`
#
# PyTorch is that of $CS_PYTHON, a python3 that has it; else the newest one that pip installs into a
# scratch environment (hundreds of MB); else the system's python3 (Debian: python3-torch). Its malloc
# keeps the pages it has had, which is worth a factor of 1.2 to 3 to it. Exit status 77: no PyTorch.
: "${srcdir:=$(dirname "$0")/../..}" "${builddir:=.}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/chordseq-torch.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

has_torch() { "$1" -c 'import torch' 2> /dev/null; }
python=${CS_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv "$tmp/venv" && "$tmp/venv/bin/pip" install -q torch numpy >&2 &&
        python=$tmp/venv/bin/python3
    has_torch "${python:-false}" || python=python3
fi
has_torch "$python" || { echo '# no PyTorch here: set CS_PYTHON to a python3 that has it'; exit 77; }
echo "# PyTorch $("$python" -c 'import torch; print(torch.__version__)')"

export OMP_WAIT_POLICY=passive MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592
export MALLOC_TOP_PAD_=268435456
printf 'what\tthreads\twidth\thidden\tsegments\tlength\tblocks\tgflops_median\tgflops_best\n'
for shape in '288 128 16' '72 64 4'; do
    for load in '64 150' '64 651' '1 10000'; do
        # shellcheck disable=SC2086
        "$builddir/tests/bench/bench_ops" $shape $load > "$tmp/ours" || exit 1
        for n in $(awk '$1 == "forward" { print $2 }' "$tmp/ours"); do
            awk -F '\t' -v OFS='\t' -v n="$n" '$1 == "forward" && $2 == n {
                print $1, $2, $3, $4, $5, $6, $7, $8, $9 }' "$tmp/ours" > "$tmp/both"
            # shellcheck disable=SC2086
            "$python" "$srcdir/tests/bench/torch_chordmixer.py" "$n" $shape $load >> "$tmp/both" ||
                exit 1
            awk -F '\t' -v OFS='\t' '{ print } NR == 1 { ours = $8; best = $9 }
                NR > 1 { printf "# %s: ours %.2f times the median, %.2f times the best\n", $1,
                         ours / $8, best / $9 }' "$tmp/both"
        done
    done
done
