# lib.sh - what a benchmark sources first: where things are, and a folder for what it makes.
#
#   srcdir, builddir   the source tree and the build folder, from the environment or as from there
#   CS_SHARED          data too large for the repository
#   CS_QUICK           the smallest size, to see that a benchmark runs: its figures mean nothing
#                      (bench_cohort.sh, bench_diplotype.sh, bench_int8.sh, bench_pieces.sh, bench_pretrain.sh,
#                      bench_taxa.sh, bench_variant.sh)
#   python             $PYTHON3, or the system's, which is the one that Debian's modules are for
#   chordseq, bench    the program, and the folder of these scripts

: "${srcdir:=$(dirname "$0")/../..}" "${builddir:=.}"
: "${CS_SHARED:=$srcdir/../shared}" "${CS_QUICK:=}"
python=${PYTHON3:-/usr/bin/python3}
chordseq=$builddir/chordseq
bench=$srcdir/tests/bench

# scratch [DIR]: $tmp is DIR, which stays, or a folder that is removed at the end
scratch()
{
    if [ $# -gt 0 ]; then
        tmp=$1
        mkdir -p "$tmp" || exit 1
    else
        tmp=$(mktemp -d "${TMPDIR:-/tmp}/chordseq-bench.XXXXXX") || exit 1
        trap 'rm -rf "$tmp"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
    fi
}

# need_data PATH: ends with status 77 where it is not there
need_data() { [ -e "$1" ] || { echo "# '$1' is not there" >&2; exit 77; }; }

# need_python MODULE PACKAGE
need_python()
{
    "$python" -c "import $1" 2> /dev/null ||
        { echo "# '$python' has no $1 (Debian: $2)" >&2; exit 77; }
}

make_model() { "$builddir/tests/cli/make_model" "$@" || exit 1; }
gen_fasta() { "$builddir/tests/bench/gen_fasta" "$@" || exit 1; }
