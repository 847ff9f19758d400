# root.sh - new Debian roots, for tests on a minimal system; sourced after lib.sh.
#
# Needs root rights, debootstrap and apt's mirror. CS_DEBIAN_ROOT may name a root made by debootstrap,
# to be copied where its release is needed.

. "$srcdir/tests/debian.sh"
. "$srcdir/tests/long/tools.sh"

# can_make_root: status 1, and the reason in $missing, if not
can_make_root()
{
    [ "$(id -u)" -eq 0 ] || { missing='not root'; return 1; }
    [ -n "${CS_DEBIAN_ROOT:-}" ] || command -v debootstrap > /dev/null || { missing='no debootstrap'; return 1; }
    command -v apt-get > /dev/null || { missing='no apt-get'; return 1; }
    unshare --mount --pid --fork --mount-proc true 2> /dev/null || { missing='no namespaces'; return 1; }
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 2> /dev/null | head -n 1)
    jobs=$(nproc)
}

# make_root FOLDER: a minimal Debian there
make_root()
{
    if [ -n "${CS_DEBIAN_ROOT:-}" ] && grep -qx "VERSION_CODENAME=$suite" "$CS_DEBIAN_ROOT/etc/os-release"; then
        cp -a "$CS_DEBIAN_ROOT" "$1"
    else
        debootstrap --variant=minbase "$suite" "$1" "$mirror"
    fi
}

# in_root FOLDER CMD...: run CMD there, with this machine's network and pip settings, /proc, /sys and
# /dev/shm. Its mounts and processes end with it
in_root()
{
    where=$1; shift
    # shellcheck disable=SC2016,SC2046 # settings have no blanks
    unshare --mount --pid --fork --kill-child --mount-proc="$where/proc" sh -c '
        mount -t sysfs -o ro sysfs "$1/sys" && mkdir -p "$1/dev/shm" && mount -t tmpfs tmpfs "$1/dev/shm" &&
            exec chroot "$@"' - "$where" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive $(env | grep -E '^(PIP_|https?_proxy=|no_proxy=)') \
        DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}" "$@"
}

# install_in FOLDER PACKAGE...
install_in()
{
    where=$1; shift
    in_root "$where" apt-get -qq update &&
        in_root "$where" apt-get -qq -y --no-install-recommends install "$@" < /dev/null
}

# timed NAME CMD...: T, and print the time
timed()
{
    start=$(date +%s)
    T "$@"
    echo "# $1: $(($(date +%s) - start)) s"
}
