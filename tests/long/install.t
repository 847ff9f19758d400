# install.t - `make install`, use of the installation in another folder, and `make uninstall`.
. "$srcdir/tests/cli/lib.sh"

# run_make TARGET...: in the build folder, with ./stage as DESTDIR
run_make()
{
    make -s -C "$builddir" "$@" DESTDIR="$tmp/stage" prefix=/opt/cs exec_prefix=/opt/cs > make.log 2>&1 ||
        { tail make.log; return 1; }
}

T 'make install' run_make install
find stage ! -type d | sort > installed
T 'commands have manual pages' sh -c 'chordseq help | sed -n "s/^  *\([a-z]*\)  .*/\1/p" > commands && [ "$(wc -l < commands)" -gt 10 ] &&
    while read -r c; do [ $c = help ] || [ -s stage/opt/cs/share/man/man1/chordseq-$c.1 ] || { echo "$c"; exit 1; }; done < commands'
shared=; [ ! -e "$builddir/libchordseq.so" ] || shared=yes
T 'every manual page and completion is installed' sh -c '(cd "$srcdir/man" && ls *.[1-9]) |
    while read -r p; do
        [ -s "stage/opt/cs/share/man/man${p##*.}/$p" ] || [ "$p.$1" = chordseq.3. ] || { echo "$p"; exit 1; }
    done && cd stage/opt/cs/share &&
    for f in bash-completion/completions/chordseq zsh/site-functions/_chordseq fish/vendor_completions.d/chordseq.fish; do
        [ -s $f ] || { echo "$f"; exit 1; }
    done' - "$shared"
T 'make uninstall' run_make uninstall
T 'make uninstall leaves no file' sh -c '! find stage ! -type d | grep .'
T 'make install-strip' run_make install-strip
T 'make install-strip installs the same files' sh -c 'find stage ! -type d | sort | diff installed -'
for f in $(cd stage && find . -name chordseq -path '*/bin/*' -o -name 'libchordseq.so.*.*'); do
    T "make install-strip strips ${f##*/}" sh -c 'readelf -S "$1" > sections && ! grep -q "[.]symtab" sections' - "stage/$f"
done

# The installation is moved away from its prefix.
mv stage/opt/cs moved
in=$tmp/moved
PATH=$in/bin:$PATH
export in
T 'a moved program finds its models' sh -c '[ "$(command -v chordseq)" = "$in/bin/chordseq" ] &&
    for m in "$srcdir"/refdata/model/*.safetensors; do
        m=${m##*/} && chordseq model show -q "${m%.safetensors}" > shown || { echo "no $m"; exit 1; }
    done && head -n 1 shown'
T 'a moved program finds the vectors of selftest' chordseq selftest
T 'bash loads the completion' bash -c '. "$in/share/bash-completion/completions/chordseq" && complete -p chordseq &&
    COMP_WORDS=(chordseq cla) COMP_CWORD=1 && _chordseq && [ "${COMPREPLY[*]}" = classify ]'
if [ -n "$shared" ]; then
    PKG_CONFIG_PATH=$in/lib/pkgconfig LD_LIBRARY_PATH=$in/lib
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    pc() { pkg-config --define-variable=prefix="$in" --define-variable=exec_prefix="$in" "$@" chordseq; }
    T 'pkg-config has the version' [ "chordseq $(pc --modversion)" = "$(chordseq --version)" ]
    T 'the example compiles with pkg-config' ${CC:-cc} -Wall -Wextra -Werror -o example "$srcdir/examples/classify_memory.c" $(pc --cflags --libs)
    awk '/^>/ { n++ } n == 1' "$tiny/mixed.fa" > one.fa
    T 'the example predicts as the program' sh -c './example "$in/share/chordseq/model/default.safetensors" one.fa > c.tsv &&
        chordseq classify -q --all one.fa | tail -n +2 | diff - c.tsv'
    with python3 T 'the Python example predicts as the program' sh -c 'chordseq classify -q --all "$1/mixed.fa" > program.tsv &&
        python3 "$srcdir/examples/chordseq_ctypes.py" "$in/share/chordseq/model/default.safetensors" "$1/mixed.fa" |
        diff program.tsv -' - "$tiny"
fi
