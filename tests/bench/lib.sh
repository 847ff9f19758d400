# lib.sh - sourced first by benchmarks: paths, and a folder for temporary files.
#
#   srcdir, builddir   source tree and build folder, from the environment or the current folder
#   CS_SHARED          data too large for the repository
#   CS_QUICK           the smallest size, to test some of the scripts; results are meaningless
#   python             $PYTHON3, or the system's, which has Debian's modules
#   chordseq, bench    the program, and the folder of these scripts

: "${srcdir:=$(dirname "$0")/../..}" "${builddir:=.}"
: "${CS_SHARED:=$srcdir/../shared}" "${CS_QUICK:=}"
python=${PYTHON3:-/usr/bin/python3}
chordseq=$builddir/chordseq
bench=$srcdir/tests/bench

# scratch [DIR]: $tmp is DIR, or a folder that is removed at the end
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

# need_data PATH: exits with status 77 if it is missing
need_data() { [ -e "$1" ] || { echo "# '$1' is missing" >&2; exit 77; }; }

# need_python MODULE PACKAGE
need_python()
{
    "$python" -c "import $1" 2> /dev/null ||
        { echo "# '$python' has no $1 (Debian: $2)" >&2; exit 77; }
}

# family_fragments FOLD DIR [OPTION...]: fragments of families.py from the taxa sets and the files of
# CS_FASTA, by CS_SEED (1)
family_fragments()
{
    fold=$1 dir=$2
    shift 2
    # shellcheck disable=SC2086 # CS_FASTA is a list of files
    "$python" "$bench/model/families.py" "$srcdir/refdata/model/groups.tsv.xz" "$fold" \
        "$CS_SHARED"/data/taxa/*.fa.gz "$CS_SHARED"/data/taxa2/*.fa.gz ${CS_FASTA:-} \
        --out "$dir" --seed "${CS_SEED:-1}" "$@"
}

# fold_model FOLDS FOLD NAME OUT: model NAME of FOLDS/foldFOLD (table, proteins or accurate), with the weights of
# table and database of the other folds
fold_model()
{
    folds=$1 fold=$2 name=$3 out=$4
    set --
    for k in 0 1 2 3 4; do
        [ "$k" = "$fold" ] || set -- "$@" --weights "$folds/fold$k/$name.safetensors"
    done
    "$chordseq" model lookup -q "$@" "$folds/fold$fold/$name.safetensors" "$out"
    [ "$name" = table ] || {
        "$chordseq" model proteins -q "$@" "$out" "$out.both"
        mv "$out.both" "$out"
    }
}

make_model() { "$builddir/tests/cli/make_model" "$@" || exit 1; }
gen_fasta() { "$builddir/tests/bench/gen_fasta" "$@" || exit 1; }
