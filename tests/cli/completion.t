# completion.t - tracked completions are up to date and work in bash.
. "$srcdir/tests/cli/lib.sh"

for shell in bash zsh fish; do
    T "completion for $shell is up to date (else: make man)" sh -c \
        "chordseq completion $shell | cmp - '$srcdir/completions/chordseq.$shell'"
    if command -v $shell > /dev/null; then
        T "$shell can read it" $shell -n "$srcdir/completions/chordseq.$shell"
    else
        S "$shell can read it" "no $shell"
    fi
done
N completion-shell.err chordseq completion tcsh

# complete WORD...: bash's completions of the last word
complete()
{
    bash -c '. "$0"; COMP_WORDS=(chordseq "$@"); COMP_CWORD=$#; _chordseq
        printf "%s\n" "${COMPREPLY[@]}"' "$srcdir/completions/chordseq.bash" "$@" | tr '\n' ' '
}
offers() { want=$1; shift; complete "$@" > got; T "bash: $* ..." test "$(cat got)" = "$want"; }
if command -v bash > /dev/null; then
    offers 'classify '               cla
    offers '--strand '               classify --stra
    offers 'model forward both max weighted ' classify --strand ''
    offers 'both '                   classify -i x.fa --strand b
    offers 'model forward both max weighted ' classify --strand =
    offers 'both '                   classify --strand = b
    offers 'none layer batch group post pre weight ' train --encoder.norm ''
    offers 'auto v z u b '           variant -O ''
    offers '--encoder.track '        train --encoder.tr
    offers 'simulate '               help simu
    offers 'show '                   model s
    offers '--seed '                 simulate --se
    offers 'default fast accurate taxa variant variant-exons human-lm ' classify -m ''
    offers 'variant variant-exons '  variant --model = var
    : > variants.st
    complete variant --model = var > got
    T 'bash: a model file of such a name is left to bash' sh -c '! grep -q "[^ ]" got'
    complete classify x > got
    T 'bash: files are left to bash' sh -c '! grep -q "[^ ]" got'
else
    S 'bash' 'no bash'
fi
T 'files for options that take BED or VCF' sh -c 'grep -q -- "--intervals.*:BED:_files" "$1.zsh" &&
    grep -q -- "-l .intervals. -r -F" "$1.fish"' - "$srcdir/completions/chordseq"
