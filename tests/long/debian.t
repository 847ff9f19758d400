# debian.t - the release tarball and the Debian packages, built and tested in clean roots.
#
# DEB_BUILD_OPTIONS goes to dpkg-buildpackage ("nocheck" leaves the test suite out of it).
. "$srcdir/tests/cli/lib.sh"

. "$srcdir/tests/long/root.sh"
[ -d "$srcdir/debian" ] || skip_all 'a release has no folder debian'
can_make_root || skip_all "$missing"

timed "a clean root of $suite" make_root clean
[ -x clean/usr/bin/apt-get ] || exit
cp -a clean build

# The tarball, with the packages listed in README.md.
timed 'make dist' make_dist
version=$(ls chordseq-*.tar.xz | sed 's/chordseq-//; s/\.tar\.xz//')
listed=$(for need in $build_needs xz=xz-utils; do echo "${need##*=}"; done | grep -vxE 'auto(conf|make)')
# shellcheck disable=SC2086 # a list of words
timed 'install the build dependencies' install_in build $listed
T 'autoconf is not needed' sh -c '[ ! -e build/usr/bin/autoconf ]'
tarball()
{
    mkdir -p build/src && tar -xf "chordseq-$version.tar.xz" -C build/src &&
        in_root build sh -c "cd /src/chordseq-$version && ./configure --prefix=/opt/chordseq &&
            make -j $jobs && make install"
}
timed 'the tarball builds with its dependencies only' tarball
cp "$tiny/mixed.fa" build/src
chordseq classify -q -m "$srcdir/refdata/model/default.safetensors" "$tiny/mixed.fa" > here.tsv
T 'the installed program predicts as this build' sh -c 'chroot build /opt/chordseq/bin/chordseq classify -q /src/mixed.fa |
    diff here.tsv -'
T 'the installed program passes selftest' chroot build /opt/chordseq/bin/chordseq selftest
T 'an example linked by pkg-config predicts the same' sh -c 'in=$(chroot build sh -c "cd /src/chordseq-'"$version"'/examples &&
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
        in_root build sh -c "cd /src/chordseq-$version && dpkg-buildpackage -us -uc" > packages.log 2>&1 && return
    grep -E '^(FAIL|ERROR|XPASS):' packages.log
    tail -n 12 packages.log
    return 1
}
prepare()
{
    mkdir -p build/src/deps && cp -R "$srcdir/debian" build/src/deps &&
        install_in build dpkg-dev build-essential fakeroot lintian &&
        in_root build sh -c 'cd /src/deps && apt-get -qq -y --no-install-recommends build-dep .' < /dev/null
}
timed 'install the build dependencies of the packages' prepare
timed 'dpkg-buildpackage' packages
grep -E '^# (TOTAL|PASS|SKIP|FAIL):' packages.log
ls build/src/*.deb > /dev/null 2>&1 || exit 1
timed 'lintian finds no error and no warning' in_root build sh -c 'cd /src &&
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 chordseq_*.changes'
cat .out | sed 's/^/# /'

# In a root without other packages.
mv clean use
mkdir use/deb && cp build/src/*.deb use/deb
rm -f use/deb/*dbgsym*
timed 'the packages install' install_in use $(cd use && ls ./deb/*.deb) man-db bowtie2-examples gcc libc6-dev \
    pkg-config python3
for t in program library; do
    cp "$srcdir/debian/tests/$t" use/deb
    timed "autopkgtest $t" in_root use sh "/deb/$t"
    sed 's/^/# /' .out | head -n 5
done
T 'purging the packages removes all files' sh -c 'chroot use apt-get -qq -y purge chordseq chordseq-data libchordseq0 \
    libchordseq-dev > /dev/null && ! find use/usr use/etc use/var/lib/chordseq -name "*chordseq*" 2> /dev/null |
    grep .'
