# lib.sh - sourced by command-line tests: functions that print TAP.
#
#   P FILE CMD...   must succeed; its stdout must equal tests/cli/expect/FILE
#   N FILE CMD...   must fail (status 1 or 2); its stderr must equal tests/cli/expect/FILE
#   T NAME CMD...   must succeed; output is shown only on failure
#   S NAME REASON   skipped, with the reason
#   same_weights NAME MODEL MODEL
#
# `with TOOL T ...` is skipped without a command TOOL; `with lapack T ...` in a build without LAPACK.
#
# A FILE of `-` is not compared. The script runs in a temporary folder ($tmp), removed at the end;
# $srcdir and $tmp are replaced by SRCDIR and TMP in outputs. With CS_REDO=1 (`make
# redo-golden`) P and N write their expectations instead: review the diff. Pipelines are given as
# sh -c '...'. The plan is printed at the end; the exit status is 0 if all passed.
#
# Environment, with defaults for running a script by hand in the build folder:
#   srcdir       the source tree             builddir   where ./chordseq and the tests are
#   CS_SHARED    data too large for the repository; tests that need it skip without

: "${srcdir:=.}" "${builddir:=.}"
srcdir=$(cd "$srcdir" && pwd) || exit 1
builddir=$(cd "$builddir" && pwd) || exit 1
: "${CS_SHARED:=$srcdir/../shared}"
tiny=$srcdir/refdata/tiny
expect=$srcdir/tests/cli/expect
PATH=$builddir:$PATH
LC_ALL=C
export srcdir builddir CS_SHARED tiny PATH LC_ALL
unset CHORDSEQ_MODEL CHORDSEQ_DISABLE

tmp=$(mktemp -d "${TMPDIR:-/tmp}/chordseq-test.XXXXXX") || exit 1
export tmp
cd "$tmp" || exit 1
# rand() differs between implementations of awk: use mawk, Debian's, where it is installed.
if command -v mawk > .awk; then
    [ "$(mawk 'BEGIN { srand(1); print rand() }')" = 0.840188 ] || echo "$srcdir/tests/cli/awk" > .awk
    mkdir .bin && ln -s "$(cat .awk)" .bin/awk && PATH=$tmp/.bin:$PATH || exit 1
fi
rm .awk
n_test=0
n_bad=0

finish()
{
    status=$?
    cd / && rm -rf "$tmp"
    echo "1..$n_test"
    [ "$status" -eq 0 ] || { echo "# the script ended with status $status"; exit "$status"; }
    [ "$n_bad" -eq 0 ] || exit 1
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# verdict yes|no DESCRIPTION
verdict()
{
    n_test=$((n_test + 1))
    if [ "$1" = yes ]; then
        echo "ok $n_test - $2"
    else
        n_bad=$((n_bad + 1))
        echo "not ok $n_test - $2"
    fi
}

# words CMD...: the command on one line, without TAP's special characters
words() { printf '%s' "$*" | sed "s|$srcdir/||g; s|$tmp/||g" | tr '\n#' '  ' | cut -c 1-120; }

plain() { sed "s|$srcdir|SRCDIR|g; s|$tmp|TMP|g" "$1"; }

show() { sed 's/^/#   /' "$1" | head -n 20; }

# compare FILE OUTPUT: does OUTPUT equal the golden file? Prints a diff as TAP comments.
compare()
{
    [ "$1" = - ] && return 0
    plain "$2" > .plain
    if [ -n "${CS_REDO:-}" ]; then
        mkdir -p "$expect" && cp .plain "$expect/$1"
        return
    fi
    diff -u "$expect/$1" .plain > .diff 2>&1 && return 0
    show .diff
    return 1
}

P()
{
    want=$1; shift
    "$@" > .out 2> .err; got=$?
    good=yes
    if [ "$got" -ne 0 ]; then
        echo "#   exit status $got, and on stderr:"; show .err; good=no
    else
        compare "$want" .out || good=no
    fi
    verdict $good "P $(words "$@")"
}

# For commands of sh -c: no leak sanitizer, because a library leaks.
ignore_leaks='export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"'

N()
{
    want=$1; shift
    "$@" > .out 2> .err; got=$?
    good=yes
    if [ "$got" -ne 1 ] && [ "$got" -ne 2 ]; then
        echo "#   exit status $got instead of 1 or 2, and on stderr:"; show .err; good=no
    else
        compare "$want" .err || good=no
    fi
    verdict $good "N $(words "$@")"
}

T()
{
    what=$1; shift
    if "$@" > .out 2> .err; then
        verdict yes "$what"
    else
        echo "#   failed: $(words "$@")"; show .out; show .err
        verdict no "$what"
    fi
}

S()
{
    n_test=$((n_test + 1))
    echo "ok $n_test - $1 # SKIP $2"
}

# weights_sum MODEL: checksum of its tensors
weights_sum() { chordseq model show "$1" | sed -n 's/^sha256.//p'; }

same_weights() { T "$1" [ "$(weights_sum "$2")" = "$(weights_sum "$3")" ]; }

# revcomp FASTA: print the reverse complement of each record, on one line
revcomp()
{
    awk 'function put() { if (name != "") { print name; for (i = length(s); i > 0; i--)
             printf "%s", substr(to, index(from, substr(s, i, 1)), 1); print "" } }
         BEGIN { from = "ACGTRYKMBVDHSWN"; to = "TGCAYRMKVBHDSWN" }
         /^>/ { put(); name = $0; s = ""; next } { s = s toupper($0) } END { put() }' "$1"
}

with()
{
    tool=$1; shift
    if [ "$tool" = lapack ] && has_lapack || command -v "$tool" > /dev/null; then "$@"; else S "$2" "no $tool"; fi
}

# has_lapack: can this build factorise matrices?
has_lapack() { chordseq model factorize --rank 1 "$tiny/model.safetensors" > /dev/null 2>&1; }

# page_script PAGE: print its ```sh blocks as a script. A block after a comment `test: COMMAND` needs COMMAND.
page_script()
{
    echo 'set -eu'
    awk '
        /^<!-- test: / { needs = $3 }
        /^```sh$/ { inside = 1; if (needs != "") print "if command -v " needs " > /dev/null; then"; next }
        /^```/ && inside { inside = 0; if (needs != "") print "fi"; needs = "" }
        inside' "$1"
}

# page_has_rows PAGE TABLE PROGRAM: does PAGE have all lines that awk's PROGRAM prints for a table of tests/bench/results?
# Prints missing ones
page_has_rows() { awk -F '\t' "$3" "$srcdir/tests/bench/results/$2" | grep -vxFf "$srcdir/$1" && return 1 || return 0; }
