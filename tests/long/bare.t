# bare.t - quickstart and docs/tutorial.md on a minimal system: a new debootstrap root, a clone, and the packages that
# quickstart installs and the page names. Prints times.
#
# SLURM does not start in such a root; tutorial.t runs that section.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

can_make_root || skip_all "$missing"

timed "a clean root of $suite" make_root bare
[ -x bare/usr/bin/apt-get ] || exit
T 'make dist' make_dist
# A clone: the release without the files that ./bootstrap makes.
clone()
(
    mkdir bare/clone && tar -xf chordseq-*.tar.xz -C bare/clone --strip-components=1 && cd bare/clone &&
        rm -r configure aclocal.m4 Makefile.in build-aux
)
T 'unpack a clone' clone
in_root bare /clone/quickstart --no-install > said
needs=$(sed -n 's/^missing (Debian packages): //p' said)
T 'quickstart names missing packages' test -n "$needs"
timed 'quickstart installs them, builds and classifies' in_root bare /clone/quickstart
sed 's/^/# /' .out
T 'every contig has a line' sh -c '[ "$(wc -l < bare/chordseq-assembly.tsv)" -eq 74 ]'
T 'nothing is missing then' in_root bare /clone/quickstart --no-install
timed 'install the package of section 6' install_in bare python3-venv

cp /etc/hosts bare/etc/hosts
[ -z "${PIP_CERT:-}" ] || install -D "$PIP_CERT" "bare$PIP_CERT" || exit
timed 'the tutorial' in_root bare env srcdir=/clone builddir=/clone sh /clone/tests/long/tutorial.t
mv .out msgs && sed 's/^#* */# /' msgs
T 'every section passes except SLURM' sh -c 'n=$(sed -n "s/^1\.\.//p" msgs) && [ "$n" -ge 14 ] &&
    [ "$(grep -c "^ok" msgs)" = "$n" ] && [ "$(grep -c "# SKIP" msgs)" = 1 ] && grep -q "slurm # SKIP" msgs'
