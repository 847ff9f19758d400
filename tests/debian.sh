# debian.sh - find missing packages, and install them; sourced by scripts.
#
# A need is written CHECK=PACKAGE: CHECK is a command, lib:MODULE for pkg-config, include:HEADER,
# python:MODULE, or clang:FLAG and link:FLAG for flags that clang and cc must link with; PACKAGE is
# its Debian package. Other installations of programs and libraries are accepted, too.

build_needs="cc=gcc include:stdio.h=libc6-dev make=make autoreconf=autoconf automake=automake
pkg-config=pkg-config lib:htslib=libhts-dev lib:zlib=zlib1g-dev lib:jansson=libjansson-dev"

# found CHECK
found()
{
    case $1 in
    lib:*) pkg-config --exists "${1#lib:}" 2> /dev/null ;;
    include:*) echo "#include <${1#include:}>" | cc -E - > /dev/null 2>&1 ;;
    python:*) python3 -c "import ${1#python:}" 2> /dev/null ;;
    link:*) echo 'int main(void) { return 0; }' |
                cc "${1#link:}" -x c -o /dev/null - > /dev/null 2>&1 ;;
    clang:*) echo 'int main(void) { return 0; }' |
                 clang "${1#clang:}" -x c -o /dev/null - > /dev/null 2>&1 ;;
    *) command -v "$1" > /dev/null 2>&1 ;;
    esac
}

# missing_packages NEED...: the packages of the needs that are not met, on one line
missing_packages()
{
    list=
    for need in "$@"; do
        found "${need%=*}" || list="$list ${need##*=}"
    done
    echo "${list# }"
}

as_root()
{
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

can_install()
{
    command -v apt-get > /dev/null && { [ "$(id -u)" -eq 0 ] || command -v sudo > /dev/null; }
}

# install_missing NEED...: status 1, with a message, if packages cannot be installed
install_missing()
{
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if ! can_install; then
        echo "missing packages, which need apt-get and root or sudo to install: $missing" >&2
        return 1
    fi
    echo "installing: $missing"
    # shellcheck disable=SC2086 # a list of words
    as_root apt-get -qq update &&
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -y --no-install-recommends install $missing > /dev/null || {
        echo "apt-get could not install: $missing" >&2
        return 1
    }
}
