# progress.t - messages on stderr; the progress line is for terminals only.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
f=$tiny/mixed.fa


P summary.txt  sh -c 'chordseq classify -m "$1" -o /dev/null "$2" 2>&1 |
    sed -E "s/[0-9]+[.][0-9]+ s/T s/g; s/in T s \([0-9.]+ [kMG]?/in T s (R /"' - "$m" "$f"
# said OPTIONS: the kinds of lines on standard error, of a run with warnings and of one that fails
said()
{
    chordseq classify "$@" -m "$m" -o /dev/null "$f" 2> all
    ! chordseq classify "$@" -m "$m" -o /dev/null no-such-file 2>> all
    sed -E 's/^chordseq: (error|warning|info|debug):.*/\1/; s/^chordseq: .*/note/' all | sort -u | tr '\n' ' '
}
levels()
{
    while read -r want options; do
        [ "$(said $options)" = "$(echo "$want" | tr , ' ') " ] || { echo "$options: $(said $options), not $want"; return 1; }
    done
}
T '-q keeps warnings, -qq errors only' levels <<'END'
error,note,warning
error,warning -q
error -qq
error -q --quiet
error,info,note,warning -v
error,info,note,warning -vv
END
T '--verbosity has the levels of htslib' levels <<'END'
error --verbosity 1
error --verbosity=2
error,note,warning --verbosity 3
error,info,note,warning --verbosity 4
error,info,note,warning --verbosity 9
error,warning --verbosity 4 -q
error,info,note,warning --verbosity 3 -v
END
T '--verbosity 0 prints nothing' sh -c '! chordseq classify --verbosity 0 -m "$1" -o /dev/null "$2" no-such-file > all 2>&1 &&
    [ ! -s all ]' - "$m" "$f"
T '-v reports times and waits of all stages' sh -c '
    chordseq classify -v -m "$1" -o /dev/null "$2" > all 2>&1 &&
    [ "$(grep -oE "info: stage [a-z]*: [0-9.]+ s, of which [0-9.]+ s waiting" all |
        cut -d: -f2 | sort -u | wc -l)" = 5 ] &&
    [ "$(grep -c "info: queue [a-z ]*: [0-9]* items, full" all)" = 4 ] &&
    grep -q "info: memory: at most" all' - "$m" "$f"
T '-v reports how full batches were' sh -c '
    grep -q "info: [0-9]* batches, mean fill .*closed by budget" all && grep -q "info: busy read" all'
T 'no escape sequences in a file' sh -c '
    chordseq classify -vv -m "$1" -o /dev/null "$2" > all 2>&1 && ! grep -q "$(printf "\033")" all' \
    - "$m" "$f"

if script -qec true typescript < /dev/null > /dev/null 2>&1; then
    # A second or less of computation; sanitizers make it five times slower.
    n=12582912
    if grep -q __asan_init "$builddir/chordseq"; then n=$((n / 5)); fi
    "$builddir/tests/bench/gen_fasta" $n 1 500 1500 > big.fa
    T 'a terminal sees records, bases, rate and time left' sh -c '
        TERM=xterm script -qec "chordseq classify -m $1 -o /dev/null -@ 1 -B 2048 big.fa" typescript \
            < /dev/null > /dev/null &&
        tr "\r" "\n" < typescript | grep -qE "chordseq: [0-9]+ records, [0-9.]+ [kM]?bases, [0-9.]+ \
[kMG]?bases/s, [0-9]+ %, [0-9:]+ left"' - "$m"
    "$builddir/tests/bench/gen_fasta" $n 1 $n $n > one.fa
    T 'progress counts the windows of one record' sh -c '
        TERM=xterm script -qec "chordseq predict -m $1 -o /dev/null -@ 1 -B 2048 one.fa" typescript \
            < /dev/null > /dev/null && tr "\r" "\n" < typescript > lines &&
        grep -qE "chordseq: [0-9]+ windows, .*, [1-9][0-9]? %, [0-9:]+ left" lines' - "$m"
    T '-q keeps a terminal clean' sh -c '
        TERM=xterm script -qec "chordseq classify -q -m $1 -o /dev/null -@ 1 big.fa" typescript \
            < /dev/null > /dev/null && ! grep -q "bases/s" typescript' - "$m"
    T 'warnings are coloured on a terminal' sh -c '
        TERM=xterm script -qec "chordseq classify -m $1 -o /dev/null $2" typescript \
            < /dev/null > /dev/null && grep -q "$(printf "\033\[1;33m")warning" typescript' - "$m" "$f"
    T 'NO_COLOR removes colours' sh -c '
        NO_COLOR=1 TERM=xterm script -qec "chordseq classify -m $1 -o /dev/null $2" typescript \
            < /dev/null > /dev/null && grep -q "chordseq: warning:" typescript' - "$m" "$f"
    T 'no input from a terminal is an error' sh -c '
        script -qec "chordseq classify -m $1" typescript < /dev/null > /dev/null; [ $? = 2 ] &&
        grep -q "no input; give FASTA, FASTQ or BAM files, or pipe one in" typescript' - "$m"
else
    S 'progress on a terminal' 'no script(1), or no terminal for it'
fi
