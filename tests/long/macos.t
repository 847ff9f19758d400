# macos.t - every source compiles for macOS on arm64, and the program links; zig (PyPI: ziglang) has the headers.
#
# Uses this machine's headers of htslib, jansson and zlib; their functions stay undefined. Runs nothing.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"

python=${PYTHON:-python3}
zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))' 2> /dev/null)/zig
[ -x "$zig" ] || skip_all 'no ziglang in python3'
for m in htslib jansson zlib; do pkg-config --exists $m || skip_all "no $m"; done
ZIG_GLOBAL_CACHE_DIR=$tmp/zig ZIG_LOCAL_CACHE_DIR=$tmp/zig
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
cat > cc << END
#!/bin/sh
# Where compilers take an architecture, zig takes a processor.
for a; do
    shift
    [ "\$a" != -march=armv8.2-a+bf16 ] || a=-mcpu=generic+v8_2a+bf16
    set -- "\$@" "\$a"
done
exec "$zig" cc -target aarch64-macos.11.0 "\$@"
END
cat > ar << END
#!/bin/sh
exec "$zig" ar --format=darwin "\$@"
END
chmod +x cc ar
mkdir include build
for f in htslib zlib.h zconf.h jansson.h jansson_config.h; do
    for d in /usr/include "/usr/include/$(cc -dumpmachine)"; do
        [ ! -e "$d/$f" ] || cp -R "$d/$f" include
    done
done

# in_build CMD...: in ./build, without this machine's libraries
in_build()
(
    cd build && env CC="$tmp/cc" AR="$tmp/ar" RANLIB=: HTS_CFLAGS="-isystem $tmp/include" HTS_LIBS=-Wl,-undefined,dynamic_lookup \
        ZLIB_CFLAGS=' ' ZLIB_LIBS=' ' JANSSON_CFLAGS=' ' JANSSON_LIBS=' ' "$@"
)
T 'configure' in_build "$srcdir/configure" --host=aarch64-apple-darwin --disable-openmp --disable-shared \
    --without-cuda --without-lapack --without-libdeflate CFLAGS=-O1
T 'make' in_build make -s -j"$(nproc)" chordseq
# The magic number of Mach-O, 64 bits.
T 'a Mach-O file' sh -c '[ "$(od -A n -t x4 -N 4 build/chordseq)" = " feedfacf" ]'
