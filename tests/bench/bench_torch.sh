#!/bin/sh
# bench_torch.sh - our network and PyTorch's in one run, with their ratio; TSV.
#
#   tests/bench/bench_torch.sh ['WIDTH HIDDEN TRACK'...]     from the build folder; `make bench-torch`
#
# The default shapes are '288 128 16' and '72 64 4', the paper's width and a small one. Ours (see
# bench_network.c) computes a prediction from tokens, `plain` all rows of all blocks, `predict` with
# the exact shortcuts; PyTorch's computes rows from embedded rows, slightly less work. With
# CS_PRECISION=bf16 both compute in bf16. PyTorch is that of $CS_PYTHON, else installed by pip into a
# temporary environment (hundreds of MB), else the system's (Debian: python3-torch). Its malloc does
# not return pages, which makes it 1.2 to 3 times faster. Some four minutes. Exit status 77: no
# PyTorch.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- '288 128 16' '72 64 4'
scratch

has_torch() { "$1" -c 'import torch' 2> /dev/null; }
python=${CS_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv "$tmp/venv" && "$tmp/venv/bin/pip" install -q torch numpy >&2 &&
        python=$tmp/venv/bin/python3
    has_torch "${python:-false}" || python=python3
fi
has_torch "$python" || { echo '# no PyTorch here: set CS_PYTHON to a python3 that has it'; exit 77; }
echo "# PyTorch $("$python" -c 'import torch; print(torch.__version__)')"

export OMP_WAIT_POLICY=passive
cores=$(nproc)
printf 'what\tthreads\twidth\thidden\tsegments\tlength\tktokens_per_s\tbest\tplain_ratio\tpredict_ratio\n'
for shape; do
    # shellcheck disable=SC2086
    set -- $shape
    make_model "$tmp/model" 1 tokenizer=base encoder.max-len=131072 encoder.track="$3" \
        encoder.hidden="$2"
    for load in '64 150' '64 651' '1 10000'; do
        n=${load% *} length=${load#* }
        gen_fasta $((n * length)) 1 "$length" "$length" > "$tmp/in.fa"
        for threads in $(printf '1\n%s\n' "$cores" | sort -nu); do
            "$builddir/tests/bench/bench_network" -p "${CS_PRECISION:-fp32}" "$tmp/model" \
                "$tmp/in.fa" "$threads" |
                awk -v OFS='\t' 'NR > 1 { print $1, 1000 * $6, 1000 * $7 }' > "$tmp/all" || exit 1
            # shellcheck disable=SC2086
            MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 \
            MALLOC_TOP_PAD_=268435456 \
                "$python" "$bench/torch_chordmixer.py" "$threads" $shape $load "${CS_PRECISION:-fp32}" \
                >> "$tmp/all" || exit 1
            awk -F '\t' -v OFS='\t' -v t="$threads" -v d="$1" -v h="$2" -v n="$n" -v len="$length" '
                { ours[$1] = $2
                  if ($1 ~ /^torch/)
                      ratio = sprintf("%.2f\t%.2f", ours["plain"] / $2, ours["predict"] / $2)
                  else
                      ratio = "-\t-"
                  printf "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%s\n", $1, t, d, h, n, len, $2, $3,
                         ratio }' "$tmp/all"
        done
    done
done
