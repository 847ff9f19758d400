# tools.sh - programs of other people that long tests run; sourced after tests/cli/lib.sh.
#
# CS_ENV names a Python environment that has them; otherwise one is made in the build folder from
# tests/long/requirements.txt, once, with whatever index pip is set up for. Its log is beside it. Not in a
# folder that `make dist` takes as a whole.

# python_tools PROGRAM...: have them in PATH; status 1, and the reason in $missing, when they are not
python_tools()
{
    env=${CS_ENV:-$builddir/engines}
    [ -n "${CS_ENV:-}" ] || [ -e "$env/made" ] || make_env
    # The programs of this environment find each other, and nobody's own packages.
    PATH=$builddir:$env/bin:$PATH PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
    export PATH PYTHONNOUSERSITE PYTHONDONTWRITEBYTECODE
    for p in "$@"; do
        [ -x "$env/bin/$p" ] || { missing="no $p: see $env.log"; return 1; }
    done
}

# MultiQC's plugin is built from a copy: setuptools writes into the folder that it builds.
make_env()
{
    {
        rm -rf "$env" && python3 -m venv "$env" &&
            "$env/bin/pip" install -r "$srcdir/tests/long/requirements.txt" &&
            cp -R "$srcdir/workflows/multiqc" plugin && chmod -R u+w plugin &&
            "$env/bin/pip" install ./plugin && touch "$env/made"
    } > "$env.log" 2>&1
}

# skip_all WHY: the whole script says nothing today
skip_all()
{
    S "${0##*/}" "$1"
    exit 0
}

# rendered PAGE FILE: the page's elements once its scripts have run, in a browser without a window
rendered()
{
    chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --window-size=1400,4000 \
        --dump-dom "file://$1" > "$2" 2> /dev/null
}

# make_dist: the release tarball, compressed a little, in the present folder
make_dist() { XZ_OPT=-1 make -C "$builddir" dist && mv "$builddir"/chordseq-*.tar.xz .; }
