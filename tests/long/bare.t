# bare.t - docs/tutorial.md from start to end on a machine with nothing on it: a root that debootstrap
# has just made, a clone, and the packages that quickstart and the page name. Prints the times.
#
# But for the lines about SLURM, which tutorial.t goes through where there is one: such a root is no
# machine that starts it.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

can_have_roots || skip_all "$missing"

timed "a clean root of $suite" fresh_root bare
[ -x bare/usr/bin/apt-get ] || exit
T 'make dist' make_dist
# A release without what ./bootstrap makes is a clone.
clone()
(
    mkdir bare/clone && tar -xf chordseq-*.tar.xz -C bare/clone --strip-components=1 && cd bare/clone &&
        rm -r configure aclocal.m4 Makefile.in build-aux
)
T 'a clone' clone
in_root bare /clone/quickstart --no-install > said
needs=$(sed -n 's/^missing (Debian packages): //p' said)
T 'quickstart names missing packages' test -n "$needs"
# shellcheck disable=SC2086 # a list of words
timed 'that, and the packages of section 6 of the page' install_in bare $needs python3-venv
T 'after installing them, nothing is missing' in_root bare /clone/quickstart --no-install

cp /etc/hosts bare/etc/hosts
[ -z "${PIP_CERT:-}" ] || install -D "$PIP_CERT" "bare$PIP_CERT" || exit
timed 'the tutorial' in_root bare env srcdir=/clone builddir=/clone sh /clone/tests/long/tutorial.t
mv .out msgs && sed 's/^#* */# /' msgs
T 'the package is otherwise complete' sh -c '[ "$(grep -c "^ok" msgs)" = 12 ] && [ "$(grep -c "# SKIP" msgs)" = 1 ] &&
    grep -q "slurm # SKIP" msgs'
