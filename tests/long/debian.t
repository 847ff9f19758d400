# debian.t - the release tarball and Debian's packages, built and used in clean roots.
#
# Needs root, debootstrap and the mirror that this machine's apt uses. CS_DEBIAN_ROOT may name the
# folder of a root that debootstrap has made, to be copied; DEB_BUILD_OPTIONS goes to
# dpkg-buildpackage ("nocheck" leaves the test suite out of it). Nothing is mounted.
. "$srcdir/tests/cli/lib.sh"

skip() { S "$1" "$2"; exit; }
[ "$(id -u)" -eq 0 ] || skip 'clean roots' 'not root'
[ -n "${CS_DEBIAN_ROOT:-}" ] || command -v debootstrap > /dev/null || skip 'clean roots' 'no debootstrap'
[ -d "$srcdir/debian" ] || skip 'clean roots' 'a release has no folder debian'
command -v apt-get > /dev/null || skip 'clean roots' 'no apt-get'
. "$srcdir/tests/debian.sh"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 2> /dev/null | head -n 1)
jobs=$(nproc)

# timed NAME CMD...: T, and how long it took
timed()
{
    start=$(date +%s)
    T "$@"
    echo "# $1: $(($(date +%s) - start)) s"
}

# in_root ROOT CMD...
in_root()
{
    where=$1; shift
    chroot "$where" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
        DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}" "$@"
}

install_in()
{
    where=$1; shift
    in_root "$where" apt-get -qq update &&
        in_root "$where" apt-get -qq -y --no-install-recommends install "$@" < /dev/null
}

fresh_root()
{
    if [ -n "${CS_DEBIAN_ROOT:-}" ]; then
        cp -a "$CS_DEBIAN_ROOT" clean
    else
        debootstrap --variant=minbase "$suite" clean "$mirror"
    fi
}
timed "a clean root of $suite" fresh_root
[ -x clean/usr/bin/apt-get ] || exit
cp -a clean build

# The tarball, with the packages that README.md names for one.
make_dist() { make -C "$builddir" dist && mv "$builddir"/chordseq-*.tar.xz .; }
timed 'make dist' make_dist
version=$(ls chordseq-*.tar.xz | sed 's/chordseq-//; s/\.tar\.xz//')
listed=$(for need in $build_needs xz=xz-utils; do echo "${need##*=}"; done | grep -vxE 'auto(conf|make)')
# shellcheck disable=SC2086 # a list of words
timed 'the packages that a build needs' install_in build $listed
T '... autoconf is none of them' sh -c '[ ! -e build/usr/bin/autoconf ]'
tarball()
{
    mkdir -p build/src && tar -xf "chordseq-$version.tar.xz" -C build/src &&
        in_root build sh -c "cd /src/chordseq-$version && ./configure --prefix=/opt/chordseq &&
            make -j $jobs && make install"
}
timed 'the tarball builds with them' tarball
cp "$tiny/mixed.fa" build/src
chordseq classify -q -m "$srcdir/refdata/model/default.safetensors" "$tiny/mixed.fa" > here.tsv
T '... and answers as here' sh -c 'chroot build /opt/chordseq/bin/chordseq classify -q /src/mixed.fa |
    diff here.tsv -'
T '... with all of its numbers' chroot build /opt/chordseq/bin/chordseq selftest
T '... and the library, by pkg-config' sh -c 'in=$(chroot build sh -c "cd /src/chordseq-'"$version"'/examples &&
    export PKG_CONFIG_PATH=/opt/chordseq/lib/pkgconfig &&
    cc -o /src/example classify_memory.c \$(pkg-config --cflags --libs chordseq) -Wl,-rpath,/opt/chordseq/lib &&
    /src/example /opt/chordseq/share/chordseq/model/default.safetensors /src/mixed.fa") &&
    [ "$(echo "$in" | cut -f 1-5)" = "$(sed -n 2p here.tsv)" ]'

# The packages.
packages()
{
    cp "chordseq-$version.tar.xz" "build/src/chordseq_$version.orig.tar.xz" &&
        rm -rf "build/src/chordseq-$version" &&
        tar -xf "chordseq-$version.tar.xz" -C build/src &&
        cp -R "$srcdir/debian" "build/src/chordseq-$version/" &&
        in_root build sh -c "cd /src/chordseq-$version && dpkg-buildpackage -us -uc"
}
prepare()
{
    mkdir -p build/src/deps && cp -R "$srcdir/debian" build/src/deps &&
        install_in build dpkg-dev build-essential fakeroot lintian &&
        in_root build sh -c 'cd /src/deps && apt-get -qq -y --no-install-recommends build-dep .' < /dev/null
}
timed 'what the packages build with' prepare
timed 'dpkg-buildpackage' packages
timed 'lintian finds no error and no warning' in_root build sh -c 'cd /src &&
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 chordseq_*.changes'
cat .out | sed 's/^/# /'

# Where nothing else is installed.
mv clean use
mkdir use/deb && cp build/src/*.deb use/deb
rm -f use/deb/*dbgsym*
timed 'they install' install_in use $(cd use && ls ./deb/*.deb) man-db bowtie2-examples gcc libc6-dev \
    pkg-config python3
for t in program library; do
    cp "$srcdir/debian/tests/$t" use/deb
    timed "their test '$t'" in_root use sh "/deb/$t"
    sed 's/^/# /' .out | head -n 5
done
T 'purged, they leave nothing' sh -c 'chroot use apt-get -qq -y purge chordseq chordseq-data libchordseq0 \
    libchordseq-dev > /dev/null && ! find use/usr use/etc use/var/lib/chordseq -name "*chordseq*" 2> /dev/null |
    grep .'
