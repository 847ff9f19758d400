# tools.sh - other programs that long tests run; sourced after tests/cli/lib.sh.
#
# CS_ENV names a Python environment with these programs. Otherwise one is made once in the build folder
# from tests/long/requirements.txt, by pip; engines.log is its log.

# python_tools PROGRAM...: put them on PATH; status 1, and the reason in $missing, without them
python_tools()
{
    env=${CS_ENV:-$builddir/engines}
    [ -n "${CS_ENV:-}" ] || [ -e "$env/made" ] || make_env
    # Ignore the user's own packages.
    PATH=$builddir:$env/bin:$PATH PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
    export PATH PYTHONNOUSERSITE PYTHONDONTWRITEBYTECODE
    for p in "$@"; do
        [ -x "$env/bin/$p" ] || { missing="no $p: see $env.log"; return 1; }
    done
}

# MultiQC's plugin is built from a copy, because setuptools writes to its source folder.
make_env()
{
    {
        rm -rf "$env" && python3 -m venv "$env" &&
            "$env/bin/pip" install -r "$srcdir/tests/long/requirements.txt" &&
            cp -R "$srcdir/workflows/multiqc" plugin && chmod -R u+w plugin &&
            "$env/bin/pip" install ./plugin && touch "$env/made"
    } > "$env.log" 2>&1
}

# skip_all WHY: skip the whole script
skip_all()
{
    S "${0##*/}" "$1"
    exit 0
}

# dump_dom PAGE FILE: write the page's DOM after its scripts, by a headless browser
dump_dom()
{
    chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --window-size=1400,4000 \
        --dump-dom "file://$1" > "$2" 2> /dev/null
}

# make_dist: make the release tarball in the current folder, with fast compression
make_dist() { XZ_OPT=-1 make -C "$builddir" dist && mv "$builddir"/chordseq-*.tar.xz .; }

# wheel_is_complete WHEEL: it has the Python package, program, library, and the data of `make install`
wheel_is_complete()
{
    rm -rf stage && make -s -C "$builddir" install DESTDIR="$tmp/stage" prefix=/ exec_prefix=/ > make.log 2>&1 ||
        { tail make.log; return 1; }
    python3 -m zipfile -l "$1" | sed 's/ .*//; s|^chordseq-[^/]*[.]data/data/||; s|^chordseq/share/|share/|' > packed
    {
        (cd stage && find share ! -type d)
        (cd "$srcdir/packaging/python" && find chordseq -name '*.py' -o -name py.typed)
        printf 'chordseq/%s\n' bin/chordseq lib/libchordseq.so.0 licences/chordseq
    } > files
    ! grep -vxFf packed files
}
