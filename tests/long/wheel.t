# wheel.t - the sdist builds, and its wheel passes the tests of the Python package in a clean environment; minutes.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

state() { ! [ -e "$srcdir/.git" ] || git -C "$srcdir" status --porcelain; }
state > before
timed 'the sdist builds a wheel that passes its tests' "$srcdir/packaging/python/check" dist
T 'the wheel contains all installed files' wheel_is_complete dist/chordseq-*.whl
T 'the sdist contains the release' sh -c 'tar -tzf dist/chordseq-*.tar.gz > names &&
    grep -q "/source/configure$" names && grep -q "/source/refdata/model/default.safetensors$" names'
T 'the sdist contains no build outputs' sh -c '! grep -E "[.](o|so|pyc|log)$" names'
state > after
T 'the source tree is unchanged' cmp before after
