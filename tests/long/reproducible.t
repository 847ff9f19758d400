# reproducible.t - builds of a commit are equal in any folder, at any time and with any user settings: tarball, Debian
# packages and wheels. Takes many minutes. CS_DEBIAN_ROOT: see root.sh; CS_PORTABLE: see portable.t.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

git -C "$srcdir" rev-parse --verify -q HEAD > /dev/null 2>&1 || skip_all 'not in a clone'
mkdir -p elsewhere/in tmp
git clone -q "$srcdir" one && git clone -q "$srcdir" elsewhere/in/two || exit 1
touch elsewhere/in/two/NEWS

# tarball CLONE UMASK
tarball()
(
    umask "$2"
    cd "$1" && ./bootstrap > /dev/null 2>&1 && mkdir build && cd build && ../configure --without-cuda > /dev/null &&
        XZ_OPT=-1 make -s --no-print-directory dist && sha256sum chordseq-*.tar.xz
)
tarball one 022 > tarballs && tarball elsewhere/in/two 077 >> tarballs
T 'two tarballs are equal' sh -c 'cat tarballs && [ "$(wc -l < tarballs)" = 2 ] && [ "$(uniq tarballs | wc -l)" = 1 ]'

# The second build has another temporary folder.
T 'build a wheel' sh -c 'umask 022; python3 -m pip wheel -q --no-deps -w wheel1 one/packaging/python'
T 'build another wheel' sh -c 'umask 077; TMPDIR=$PWD/tmp python3 -m pip wheel -q --no-deps -w wheel2 elsewhere/in/two/packaging/python'
T 'both wheels are equal' sh -c 'cmp wheel1/*.whl wheel2/*.whl'

# Portable wheels; their libraries are built twice, too. Half an hour each on one core.
for arch in x86_64 aarch64; do
    lacks=
    for p in apt-get dpkg-source $arch-linux-gnu-gcc-12 libtoolize; do command -v "$p" > /dev/null || lacks=$p; done
    [ -z "$lacks" ] || { S "two portable wheels for $arch" "no $lacks"; continue; }
    # portable CLONE UMASK ZONE WORK FOLDER
    portable() { (umask "$2" && TMPDIR=$PWD/tmp TZ=$3 "$1/packaging/python/portable" -a $arch -w "$4" "$5"); }
    timed "build a portable wheel for $arch" portable one 022 UTC "${CS_PORTABLE:-work1}" portable1
    timed "build another portable wheel for $arch" portable elsewhere/in/two 077 Asia/Tokyo tmp/work2 portable2
    sha256sum portable?/*_$arch.whl | sed 's/^/# /'
    T "both portable wheels for $arch are equal" sh -c 'cmp portable1/*_"$1".whl portable2/*_"$1".whl' - $arch
done

# Debian packages from the tarball, in a clean root; the second build a year later and in another time zone.
can_make_root || { S "Debian's packages" "$missing"; exit; }
timed "a clean root of $suite" make_root root
prepare()
{
    mkdir -p root/deps && cp -R one/debian root/deps && install_in root dpkg-dev build-essential fakeroot faketime &&
        in_root root sh -c 'cd /deps && apt-get -qq -y --no-install-recommends build-dep -P nocheck .' < /dev/null
}
timed 'install the build dependencies of the packages' prepare
# build_packages FOLDER UMASK ENVIRONMENT...
build_packages()
{
    at=root$1; mkdir -p "$at"
    cp one/build/chordseq-*.tar.xz "$at/chordseq_$version.orig.tar.xz" && tar -xf one/build/chordseq-*.tar.xz -C "$at" &&
        cp -R one/debian "$at/chordseq-$version/" && touch "$at/chordseq-$version/debian/control" || return
    where=$1 mask=$2; shift 2
    in_root root env "$@" sh -c 'umask "$1" && cd "$2" && dpkg-buildpackage -us -uc -Pnocheck' - "$mask" \
        "$where/chordseq-$version" > "packages$mask.log" 2>&1 || { tail -n 12 "packages$mask.log"; return 1; }
}
version=$(ls one/build/chordseq-*.tar.xz | sed 's/.*chordseq-//; s/\.tar\.xz//')
DEB_BUILD_OPTIONS=nocheck
export DEB_BUILD_OPTIONS
timed 'build the Debian packages' build_packages /src 022 TZ=UTC
timed 'build the Debian packages again' build_packages /elsewhere/in/two 077 TZ=Asia/Tokyo LC_ALL=C faketime -f +1y
sums() { (cd "root$1" && sha256sum ./*.deb ./*.dsc ./*.debian.tar.xz); }
sums /src > sums && sed 's/^/# /' sums
T 'there are six packages' sh -c '[ "$(grep -c "\.deb$" sums)" -ge 6 ]'
T 'both builds of the packages and the source package are equal' sh -c '[ -s sums ] && cd root/elsewhere/in/two && sha256sum --quiet -c "$tmp/sums"'
