# reproducible.t - tarball and wheel of a commit have the same bits from clones in other folders; many minutes.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"

git -C "$srcdir" rev-parse --verify -q HEAD > /dev/null 2>&1 || skip_all 'not in a clone'
mkdir -p elsewhere/in tmp
git clone -q "$srcdir" one && git clone -q "$srcdir" elsewhere/in/two || exit 1
touch elsewhere/in/two/NEWS

# tarball CLONE UMASK
tarball()
(
    umask "$2"
    cd "$1" && ./bootstrap > /dev/null 2>&1 && mkdir build && cd build && ../configure --without-cuda > /dev/null &&
        XZ_OPT=-1 make -s dist && sha256sum chordseq-*.tar.xz
)
tarball one 022 > tarballs && tarball elsewhere/in/two 077 >> tarballs
T 'two tarballs' sh -c 'cat tarballs && [ "$(wc -l < tarballs)" = 2 ] && [ "$(uniq tarballs | wc -l)" = 1 ]'

# The two builds have other temporary folders, too.
T 'a wheel' sh -c 'umask 022; python3 -m pip wheel -q --no-deps -w wheel1 one/packaging/python'
T 'another' sh -c 'umask 077; TMPDIR=$PWD/tmp python3 -m pip wheel -q --no-deps -w wheel2 elsewhere/in/two/packaging/python'
T 'are the same' sh -c 'cmp wheel1/*.whl wheel2/*.whl'
