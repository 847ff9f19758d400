# aarch64.t - a cross build for aarch64, run by QEMU: kernels, golden files, the bits of predictions.
#
# Needs gcc-aarch64-linux-gnu, qemu-user and the mirror of apt, but not root: Debian's libraries for arm64
# are unpacked into a folder. QEMU shows errors, not speed.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

for p in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg pkg-config; do
    command -v "$p" > /dev/null || skip_all "no $p"
done
unset CS_LONG

# packages NAME...: they and what they need, without an apt of this architecture
packages()
(
    mkdir -p apt/lists/partial apt/archives/partial root && : > apt/status || exit
    cat > apt.conf << END
APT { Architecture "arm64"; Architectures { "arm64"; }; Sandbox::User ""; };
Dir { State "$tmp/apt"; State::status "$tmp/apt/status"; State::lists "$tmp/apt/lists";
      Cache "$tmp/apt"; Cache::archives "$tmp/apt/archives"; };
Debug::NoLocking "true";
END
    APT_CONFIG=$tmp/apt.conf
    export APT_CONFIG
    apt-get -qq update && apt-get -qq -y --no-install-recommends --download-only install "$@" &&
        for p in apt/archives/*.deb; do dpkg -x "$p" root || exit; done
)
timed "Debian's libraries for arm64" packages libhts-dev libjansson-dev libdeflate-dev zlib1g-dev libcmocka-dev libgomp1

timed 'make dist' make_dist
cross()
(
    PKG_CONFIG_LIBDIR=$tmp/root/usr/lib/aarch64-linux-gnu/pkgconfig:$tmp/root/usr/share/pkgconfig
    PKG_CONFIG_SYSROOT_DIR=$tmp/root
    export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    mkdir tree && tar -xf chordseq-*.tar.xz -C tree --strip-components=1 && cd tree &&
        ./configure --host=aarch64-linux-gnu --without-cuda --enable-werror \
            CC="aarch64-linux-gnu-gcc --sysroot=$tmp/root" CFLAGS='-O2 -g1' &&
        make -j "$(nproc)" chordseq tests/nn/golden tests/nn/test_ops tests/unit/test_cpu
)
timed 'it builds' cross

arm() { qemu-aarch64 -L "$tmp/root" "$@"; }
T 'it has NEON' sh -c "qemu-aarch64 -L '$tmp/root' tree/chordseq --version --verbose | grep -qx 'kernels *neon'"
timed 'processor features' arm tree/tests/unit/test_cpu
timed 'every level computes what it should' arm tree/chordseq selftest -@ 1 --vectors "$srcdir/refdata/selftest" \
    -m "$srcdir/refdata/model/default.safetensors"
timed 'golden files' arm tree/tests/nn/golden "$srcdir"/refdata/golden/*/*.safetensors
timed 'ops against the reference, by threads, alone' arm tree/tests/nn/test_ops

# The bits of this machine's vectors, where it has any.
same() { chordseq classify -q --all -m "$1" "$2" > here.tsv && arm tree/chordseq classify -q --all -m "$1" "$2" | cmp - here.tsv; }
case $(chordseq --version --verbose | sed -n 's/^kernels *//p') in
portable) S 'the same bits' 'no vector kernels here' ;;
*) for m in "$tiny/model.safetensors" "$srcdir/refdata/model/default.safetensors" \
        "$srcdir"/refdata/selftest/*.safetensors; do
        [ "${m##*/}" = predictions.safetensors ] || T "${m##*/} predicts the same bits" same "$m" "$tiny/mixed.fa"
    done
    T 'of FASTQ' same "$tiny/model.safetensors" "$tiny/reads.fq"
    T 'and SAM' same "$tiny/model.safetensors" "$tiny/strands.sam" ;;
esac
