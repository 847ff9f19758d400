# aarch64.t - a cross build for aarch64, run by QEMU: kernels, golden files and equal predictions, on a
# processor with bf16 (QEMU's max) and one without (Cortex-A72).
#
# Needs gcc-aarch64-linux-gnu, qemu-user and apt's mirror, but not root: Debian's arm64 libraries are
# unpacked into a folder.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

for p in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg pkg-config; do
    command -v "$p" > /dev/null || skip_all "no $p"
done
unset CS_LONG
OMP_WAIT_POLICY=passive; export OMP_WAIT_POLICY   # spinning threads slow QEMU down

# unpack_packages NAME...: download arm64 packages and their dependencies, and unpack them to ./root
unpack_packages()
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
timed "Debian's libraries for arm64" unpack_packages libhts-dev libjansson-dev libdeflate-dev zlib1g-dev libcmocka-dev libgomp1

timed 'make dist' make_dist
cross_build()
(
    PKG_CONFIG_LIBDIR=$tmp/root/usr/lib/aarch64-linux-gnu/pkgconfig:$tmp/root/usr/share/pkgconfig
    PKG_CONFIG_SYSROOT_DIR=$tmp/root
    export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    mkdir tree && tar -xf chordseq-*.tar.xz -C tree --strip-components=1 && cd tree &&
        ./configure --host=aarch64-linux-gnu --without-cuda --enable-werror \
            CC="aarch64-linux-gnu-gcc --sysroot=$tmp/root" CFLAGS='-O2 -g1' &&
        make -j "$(nproc)" chordseq tests/nn/golden tests/nn/test_ops tests/unit/test_cpu
)
timed 'the cross build' cross_build

arm() { qemu-aarch64 -cpu max -L "$tmp/root" "$@"; }
a72() { qemu-aarch64 -cpu cortex-a72 -L "$tmp/root" "$@"; }
# features MACHINE KERNELS BF16
features() { "$1" tree/chordseq --version --verbose | tr -s ' ' > verbose && grep -x "kernels $2" verbose && grep -x "bf16 $3" verbose; }
T 'QEMU max has NEON and bf16' features arm neon yes
T 'Cortex-A72 has NEON without bf16' features a72 neon no
timed 'test_cpu on QEMU max' arm tree/tests/unit/test_cpu
T 'test_cpu on Cortex-A72' a72 tree/tests/unit/test_cpu
self_test() { arm tree/chordseq selftest -@ 1 --vectors "$srcdir/refdata/selftest" -m "$srcdir/refdata/model/default.safetensors" > levels.tsv; }
timed 'selftest passes at every level' self_test
T 'selftest includes bf16' sh -c 'grep -q "	cpu	bf16	.*ok\$" levels.tsv && ! grep -q FAILED levels.tsv'
timed 'golden files' arm tree/tests/nn/golden "$srcdir"/refdata/golden/*/*.safetensors
in_bf16() { CS_PRECISION=bf16 arm "$@"; }
timed 'golden files in bf16' in_bf16 tree/tests/nn/golden "$srcdir"/refdata/golden/*/*.safetensors
timed 'test_ops' arm tree/tests/nn/test_ops

# Equal bits to this machine's vector kernels, if it has any.
same() { chordseq classify -q --all -m "$1" "$2" > here.tsv && arm tree/chordseq classify -q --all -m "$1" "$2" | cmp - here.tsv; }
case $(chordseq --version --verbose | sed -n 's/^kernels *//p') in
portable) S 'the same bits' 'no vector kernels here' ;;
*) for m in "$tiny/model.safetensors" "$srcdir/refdata/model/default.safetensors" \
        "$srcdir"/refdata/selftest/*.safetensors; do
        [ "${m##*/}" = predictions.safetensors ] || T "${m##*/} predicts the same bits" same "$m" "$tiny/mixed.fa"
    done
    T 'FASTQ predicts the same bits' same "$tiny/model.safetensors" "$tiny/reads.fq"
    T 'SAM predicts the same bits' same "$tiny/model.safetensors" "$tiny/strands.sam" ;;
esac

# ---- --precision bf16 ----------------------------------------------------------------------------

# tests/cli/precision.t with this program.
mkdir -p wrapper/tests/bench && ln -s "$builddir/tests/bench/gen_fasta" wrapper/tests/bench/ &&
    printf '#!/bin/sh\nexec qemu-aarch64 -cpu max -L "%s" "%s" "$@"\n' "$tmp/root" "$tmp/tree/chordseq" > wrapper/chordseq &&
    chmod +x wrapper/chordseq || exit
run_precision() { builddir=$tmp/wrapper sh "$srcdir/tests/cli/precision.t" > precision.tap; }
timed 'precision.t passes' run_precision
T 'precision.t runs in bf16' grep -q '^ok.*near fp32, but not the same' precision.tap
sed 's/^/# /' precision.tap

c='tree/chordseq classify -q --all --min-prob 0'
N usage-bf16.err a72 $c --precision bf16 -m "$tiny/model.safetensors" "$tiny/mixed.fa"
disabled() { CHORDSEQ_DISABLE=$1 arm $c --precision bf16 -m "$tiny/model.safetensors" "$tiny/mixed.fa"; }
N usage-bf16.err disabled bf16
N usage-bf16.err disabled neon
a72_same() { arm $c -m "$1" "$tiny/mixed.fa" > max.tsv && a72 $c -m "$1" "$tiny/mixed.fa" | cmp - max.tsv; }
T 'fp32 has the same bits without bf16' a72_same "$tiny/model.safetensors"
