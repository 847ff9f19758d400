# main.t - `chordseq` itself: help, version, unknown commands, exit statuses.
. "$srcdir/tests/cli/lib.sh"

status() { want=$1; shift; "$@" > out 2> err; got=$?; [ "$got" -eq "$want" ] || { echo "status $got"; false; }; }

P main-help.txt chordseq --help
P main-help.txt chordseq help
P main-help.txt chordseq -h
P main-help.txt chordseq help help
P main-help.txt chordseq help --help
N main-help.txt chordseq
T 'no command is a usage error' status 2 chordseq
T 'nothing on stdout' test ! -s out

T 'the version is one line' sh -c 'chordseq --version | grep -qxE "chordseq [0-9]+\.[0-9]+\.[0-9]+"'
T 'no second line' sh -c 'test "$(chordseq --version | wc -l)" -eq 1'
T 'the version as a command, or as an option of one' sh -c 'chordseq --version > v && chordseq version | cmp - v &&
    chordseq classify --version | cmp - v && chordseq model show --version | cmp - v'

N main-suggest.txt chordseq clasify
N main-unknown.txt chordseq frobnicate
N main-unknown.txt chordseq help frobnicate
T 'no option is suggested that most letters of the typed one differ from' sh -c '! chordseq merge --bam x 2> err &&
    grep -q "unknown option .--bam.; --help lists them" err'
T 'commands that have an unknown option are named' sh -c '! chordseq variant --kraken x 2> err &&
    grep -qx ".*: unknown option .--kraken.; --help lists them; it is an option of .classify., .merge." err &&
    ! chordseq variant --no-such 2> err && grep -qx ".*; --help lists them" err'
T 'of many suggestions the first three are shown' sh -c '! chordseq model --device 1 2> err &&
    grep -qx ".*; it is an option of .[a-z]*., .[a-z]*., .[a-z]*. and others" err'
T 'an unknown command is a usage error' status 2 chordseq frobnicate

for c in $(chordseq help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v help); do
    T "$c --help succeeds" status 0 chordseq "$c" --help
    T "the help of $c begins with its usage" sh -c "head -n 1 out | grep -q '^Usage: chordseq $c'"
    T "the help of $c has at most 80 columns" sh -c '! grep -nE ".{81}" out'
    T "help $c and $c -h print the same" sh -c "chordseq help $c | cmp - out && chordseq $c -h | cmp - out"
    T "an option that $c does not have has status 2" status 2 chordseq "$c" --no-such-option
    T "an unknown option of $c is named on one line" sh -c "test \$(wc -l < err) -eq 1 && grep -q no-such-option err"
done

m=$tiny/model.safetensors
T "an option's value is no question for help" sh -c 'chordseq classify -q -m "$1" --sample -h --cami-binning b "$2" &&
    grep -qx "@SampleID:-h" b' - "$m" "$tiny/mixed.fa"
T '--help as a value is not a request for help' sh -c 'chordseq classify -q -m "$1" --sample --help --cami-binning b "$2" &&
    grep -qx "@SampleID:--help" b' - "$m" "$tiny/mixed.fa"
T '-h after -- is a file' sh -c 'cp "$2" ./-h && chordseq classify -q -m "$1" "$2" > h.tsv && chordseq classify -q -m "$1" -- -h |
    cmp - h.tsv' - "$m" "$tiny/mixed.fa"
T '-h in clustered flags prints help' sh -c 'chordseq classify -vh | grep -q "^Usage: chordseq classify"'
T '-h after a value prints help' sh -c 'chordseq classify --min-prob 2 -o x -h | grep -q "^Usage: chordseq classify"'
T '-h as a value does not' sh -c 'chordseq classify -q -m "$1" -oh "$2" && head -n 1 h | grep -q ^name' - \
    "$m" "$tiny/mixed.fa"

if [ -w /dev/full ]; then
    N main-full.txt sh -c 'chordseq --help > /dev/full'
else
    S 'a full disk' 'no /dev/full here'
fi
T 'a reader of stdout that has left is none, also where SIGPIPE is ignored' sh -c 'mkfifo left && trap "" PIPE &&
    exec 3<> left 4> left 3<&- && chordseq --help >&4 2> msgs && [ ! -s msgs ]'
T 'a closed stdout is an error' status 1 sh -c 'chordseq --help >&-'

# The version is one line; build options and the machine are printed on request.
T '--version is one line of two words' sh -c 'chordseq --version > v && [ "$(wc -l < v)" = 1 ] &&
    grep -qxE "chordseq [0-9][0-9.]*" v'
T '--version --verbose lists build details' sh -c 'chordseq --version --verbose > vv &&
    head -n 1 vv | cmp - v && grep -qE "^htslib +[0-9]" vv && grep -qE "^kernels +(avx512|avx2|neon|portable)" vv'

# Before installation the program finds the models of its source tree from any folder, without a
# path of that tree, which would make builds differ.
in_build_folder()
{
    link=$builddir/chordseq.data
    [ "$builddir" -ef "$srcdir" ] || [ "$link" -ef "$srcdir/refdata" ] || return
    ! grep -qF "$srcdir/refdata" "$builddir/chordseq" || return
    mkdir -p far/build && cp "$builddir/chordseq" far/build && ln -s "$srcdir/refdata" far/build/chordseq.data &&
        far/build/chordseq model verify > found && grep -q far/build/chordseq.data/model/default found
}
T 'a build folder has the models of its source tree' in_build_folder

# With AddressSanitizer the dynamic linker, before main(), sometimes needs more than 32 kB.
stack=32
if grep -q __asan_init "$builddir/chordseq"; then stack=64; fi
if (ulimit -s $stack && chordseq --version) > /dev/null 2>&1; then
    T "a stack of $stack kB" sh -c '"$2" small 1 encoder=transformer && chordseq classify -q -m small "$1" > want &&
        (ulimit -s '$stack'; chordseq classify -q -m small "$1") > got && cmp want got' - "$tiny/mixed.fa" "$builddir/tests/cli/make_model"
else
    S "a stack of $stack kB" 'the program does not start with it (a sanitizer?)'
fi

# A moved installation finds the models beside it, not those of the original prefix.
moved()
{
    mkdir -p moved/bin moved/share/chordseq/model && cp "$builddir/chordseq" moved/bin &&
        cp "$m" moved/share/chordseq/model/default.safetensors &&
        moved/bin/chordseq model verify > found && grep -q moved/share/chordseq found
}
T 'a moved installation has its own model' moved
# The original prefix has one if it was installed.
T 'a model that is not installed is reported with its place' sh -c 'moved/bin/chordseq classify -q -m fast -o x "$1" 2> msgs ||
    grep -q "the model .fast. is not installed: there is no .*/model/fast.safetensors.; reinstall the data of chordseq, or give the path of a model$" msgs' - "$tiny/mixed.fa"

T 'CITATION.cff and the conda recipe have this version' sh -c 'v=$(chordseq --version) && v=${v#* } &&
    grep -qx "version: $v" "$1/CITATION.cff" && grep -qx "  version: \"$v\"" "$1/packaging/conda/recipe.yaml"' - "$srcdir"
# Where mawk ignores the seed, tests have these.
T 'random numbers of the tests' sh -c '[ "$("$srcdir/tests/cli/awk" -F x -v s=7 "BEGIN { srand(s); for (i = 0; i < 99; i++) x = rand(); print x }")" = "$(
    awk -v s=7 "BEGIN { srand(s); for (i = 0; i < 99; i++) x = rand(); print x }")" ]'
