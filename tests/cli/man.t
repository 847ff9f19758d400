# man.t - manual pages: up to date with the option tables, and without warnings of groff.
. "$srcdir/tests/cli/lib.sh"

for page in "$srcdir"/man/*.in; do
    name=$(basename "$page" .in)
    T "$name is up to date (else: make man)" sh -c \
        "sh '$srcdir/man/page' chordseq '$page' | diff '$srcdir/man/$name' -"
done

for c in $(chordseq help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v help); do
    T "$c has a page" test -s "$srcdir/man/chordseq-$c.1"
    T "whose NAME line is the command's summary" sh -c "
        summary=\$(chordseq --man-options | grep -A 1 'chordseq.-$c (1)' | tail -n 1)
        grep -qxF -- \"chordseq\\-$c \\- \$summary\" '$srcdir/man/chordseq-$c.1'"
done

# `model` has several forms; `tokenize` and `predict` show options that --help lists only.
for c in $(chordseq help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx 'help\|model\|tokenize\|predict'); do
    T "the SYNOPSIS of $c is its usage" sh -c '
        awk "/^\.SH/ { inside = /SYNOPSIS/; next } ! inside { next } /^\.br/ { exit }
            { gsub(/\\\\/, \"\") } sub(/^\.[BIR][BIR] /, \"\") { gsub(/ /, \"\") } { sub(/^\.[BI] /, \"\"); printf \"%s%s\", sep, \$0; sep = \" \" }
            END { print \"\" }" "$srcdir/man/chordseq-$1.1" > page
        chordseq "$1" --help | sed -n "s/^Usage: //p" | diff page -' - "$c"
done

T 'help and manual tell the second letter of --threads' sh -c 'chordseq classify --help | grep -q -e "-@, --threads NUM  *total number of threads, also -t " &&
    grep -q "^Total number of threads, also .-t (" "$srcdir/man/chordseq-classify.1"'
T 'options of train are in their groups' sh -c 'chordseq train --help | awk "/^[A-Z][a-z]*:\$/ { group = \$1 } { print group, \$1 }" > groups &&
    grep -qx "Output: --strand" groups && grep -qx "Output: --html" groups && grep -qx "Memory: --checkpoint-blocks" groups'

for page in "$srcdir"/man/*.[135]; do
    name=$(basename "$page")
    if command -v groff > /dev/null; then
        T "groff -ww accepts $name" sh -c "groff -ww -man -Tutf8 '$page' 2>&1 >/dev/null | cmp - /dev/null"
    else
        S "groff -ww accepts $name" 'no groff'
    fi
    for section in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
        case $name:$section in *.5:SYNOPSIS) continue ;; esac
        T "$name has $section" grep -qE "^\.SH \"?$section\"?\$" "$page"
    done
done
