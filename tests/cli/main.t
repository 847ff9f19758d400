# main.t - what `chordseq` itself says: help, version, unknown commands, statuses.
. "$srcdir/tests/cli/lib.sh"

status() { want=$1; shift; "$@" > out 2> err; got=$?; [ "$got" -eq "$want" ] || { echo "status $got"; false; }; }

P main-help.txt chordseq --help
P main-help.txt chordseq help
P main-help.txt chordseq -h
N main-help.txt chordseq
T 'a bare chordseq is wrong use' status 2 chordseq
T 'and prints nothing on stdout' test ! -s out

T 'the version is one line' sh -c 'chordseq --version | grep -qxE "chordseq [0-9]+\.[0-9]+\.[0-9]+"'
T 'and only one' sh -c 'test "$(chordseq --version | wc -l)" -eq 1'

N main-near.txt chordseq clasify
N main-unknown.txt chordseq frobnicate
N main-unknown.txt chordseq help frobnicate
T 'an unknown command is wrong use' status 2 chordseq frobnicate

for c in $(chordseq help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v help); do
    T "$c --help succeeds" status 0 chordseq "$c" --help
    T "and begins with its usage" sh -c "head -n 1 out | grep -q '^Usage: chordseq $c'"
    T "in at most 80 columns" sh -c '! grep -nE ".{81}" out'
    T "help $c prints the same" sh -c "chordseq help $c | cmp - out && chordseq $c -h | cmp - out"
    T "an option that $c does not have is wrong use" status 2 chordseq "$c" --no-such-option
    T "and is named on one line" sh -c "test \$(wc -l < err) -eq 1 && grep -q no-such-option err"
done

if [ -w /dev/full ]; then
    N main-full.txt sh -c 'chordseq --help > /dev/full'
else
    S 'a full disk' 'no /dev/full here'
fi
T 'a closed stdout is an error' status 1 sh -c 'chordseq --help >&-'

# The version is one clean line; what was built in and what the machine has come on demand.
T '--version is one line of two words' sh -c 'chordseq --version > v && [ "$(wc -l < v)" = 1 ] &&
    grep -qxE "chordseq [0-9][0-9.]*" v'
T '--version --verbose tells the rest' sh -c 'chordseq --version --verbose > vv &&
    head -n 1 vv | cmp - v && grep -qE "^htslib +[0-9]" vv && grep -qE "^kernels +(avx2|portable)" vv'
