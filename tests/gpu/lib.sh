# lib.sh - shared by check and bench: the GPU, paths, rows of one table, time.
#
#   here, work, tree   files of pack; build folder ($PWD/gpu.build); sources in it
#   source             sources of models and scripts: $tree
#   gpu, compute       name of the GPU; compute capability, such as 90
#   table              file of rows, besides standard output
#   $OUT               if set, folder that receives table and logs after every stage
#   CALL_S             time limit of this call in seconds (default 570); commands beyond it are stopped
#                      or not started, and their rows have no result
#   CS_QUICK           if set, the CUDA emulator (tests/gpu/host) of $builddir instead of a GPU, to test
#                      the scripts. Results are meaningless, except those of bench plan
#   PYTHON3            a python3 that has PyTorch (default python3)

: "${CALL_S:=570}" "${CS_QUICK:=}" "${OUT:=}" "${PYTHON3:=python3}"
# Binaries, built here or packed.
programs='chordseq tests/gpu/test_blocks tests/gpu/test_cuda tests/gpu/test_short tests/gpu/test_checkpoint_blocks
    tests/gpu/test_graph tests/gpu/golden_cuda tests/gpu/test_nccl tests/bench/bench_block tests/bench/bench_network
    tests/bench/gen_fasta tests/bench/peak tests/cli/make_model'
[ -z "$OUT" ] || OUT=$(cd "$OUT" && pwd)
call_start=$(date +%s)
here=$(cd "$(dirname "$0")" && pwd)
work=$PWD/gpu.build
tree=$work/tree
source=$tree
[ -z "$CS_QUICK" ] || source=$srcdir
n_failed=0

# open_gpu NAME: find the GPU, or exit with status 77
open_gpu()
{
    mkdir -p "$work"
    if [ -n "$CS_QUICK" ]; then
        gpu='CUDA emulator: only the results of plan are meaningful' compute=90
        return
    fi
    gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap \
              --format=csv,noheader 2> /dev/null | head -n 1)
    [ -n "$gpu" ] || { echo "$1: no NVIDIA GPU here" >&2; exit 77; }
    compute=$(echo "${gpu##*, }" | tr -d .)
}

# use_libraries: set LD_LIBRARY_PATH to the libraries of pack and of CUDA. Removes builds of other
# tarballs
use_libraries()
{
    if [ -e "$here/chordseq.tar.xz" ]; then
        cksum < "$here/chordseq.tar.xz" > "$work/sum"
        cmp -s "$work/sum" "$work/packed" || rm -rf "${work:?}"/*
        cksum < "$here/chordseq.tar.xz" > "$work/packed"
    fi
    for f in built sysroot; do
        [ -d "$work/$f" ] || [ ! -e "$here/$f.tar.xz" ] || unpack "$here/$f.tar.xz" "$work"
    done
    lib=$work/sysroot/usr/lib/$(uname -m)-linux-gnu their_libraries=${LD_LIBRARY_PATH:-}
    LD_LIBRARY_PATH=$work/built/lib:$lib:$work/sysroot/lib/$(uname -m)-linux-gnu$(cuda_libraries)
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH${their_libraries:+:$their_libraries}
    export LD_LIBRARY_PATH
}

# unpack ARCHIVE FOLDER: by tar, or by python3 if tar lacks xz
unpack()
{
    tar -xJf "$1" -C "$2" 2> /dev/null ||
        "$PYTHON3" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"
}

# cuda_libraries: `:FOLDER` for each that has libcudart or libcublas: beside nvcc, in /usr/local, in
# PyTorch's packages. The loader selects the version
cuda_libraries()
{
    nvcc=$(command -v nvcc) && nvcc=$(dirname "$(readlink -f "$nvcc")")/../lib64
    wheels=$("$PYTHON3" -c 'import importlib.util as u
print("\n".join(u.find_spec("nvidia").submodule_search_locations))' 2> /dev/null)
    for d in "$nvcc" "${CUDA_ROOT:-/usr/local}"/cuda*/lib64 "$wheels"/*/lib; do
        for f in "$d"/libcudart.so.* "$d"/libcublas.so.*; do
            [ -e "$f" ] && printf ':%s' "$d" && break
        done
    done
}

# seconds_left: of this call
seconds_left() { echo $((CALL_S - $(date +%s) + call_start)); }

# within SECONDS COMMAND...: with this time limit and that of the call
within()
{
    limit=$(seconds_left)
    [ "$1" -ge "$limit" ] || limit=$1
    shift
    [ "$limit" -gt 0 ] || return 124
    timeout "$limit" "$@"
}

# tool NAME: path of a program
tool()
{
    if [ -z "$CS_QUICK" ]; then echo "$tree/$1"; return; fi
    case $1 in
    chordseq)   echo "$builddir/tests/gpu/chordseq_host" ;;
    *bench_*)   echo "$builddir/tests/gpu/${1##*/}_host" ;;
    *)          echo "$builddir/$1" ;;
    esac
}

# chordseq ARGUMENT...: the program, within this call
chordseq() { within "$CALL_S" "$(tool chordseq)" "$@"; }

# ---- models -----------------------------------------------------------------------------------

# Models of the stages classify and end. The default model has no blocks; the others are the paper's
# ChordMixer with twelve blocks for every record, and CDIL
models='default chordmixer cdil'

# model NAME: its file, created from a seed if missing
model()
{
    [ "$1" != default ] || { echo "$source/refdata/model/default.safetensors"; return; }
    f=$work/$1.safetensors
    if [ ! -e "$f" ]; then
        case $1 in
        chordmixer)
            set -- encoder=chordmixer encoder.max-len=4096 encoder.depth=all
            [ -z "$CS_QUICK" ] || set -- "$@" encoder.max-len=32 encoder.track=4 encoder.hidden=16 ;;
        cdil)
            set -- encoder=cdil encoder.max-len=131072
            [ -z "$CS_QUICK" ] || set -- "$@" encoder.max-len=32 encoder.channels=16 ;;
        esac
        "$(tool tests/cli/make_model)" "$f" 1 tokenizer=base labels=7 "$@" || return
    fi
    echo "$f"
}

# vectors NAME MODEL DEVICE PRECISION INPUT [OPTION...]: the encoder's mean for each record; in windows,
# except for CDIL, whose sequences have no maximum length
vectors()
{
    name=$1 file=$2 device=$3 precision=$4 input=$5
    shift 5
    case $file in
    */cdil.*) ;;
    *) set -- --long-sequence window "$@" ;;
    esac
    chordseq embed -q --strand forward --device "$device" \
        --precision "$precision" -m "$file" -o "$work/vectors.$name.tsv" "$@" "$input"
}

# vectors_near NAME OTHER MOST: difference of each record relative to its norm
vectors_near()
{
    awk -F '\t' -v most="$3" '
        FNR == 1 { next }
        NR == FNR { for (i = 3; i <= NF; i++) v[$1, i] = $i; next }
        $3 == "." { next }
        {
            d = w = 0
            for (i = 3; i <= NF; i++) { d += ($i - v[$1, i]) ^ 2; w += v[$1, i] ^ 2 }
            e = w > 0 ? sqrt(d / w) : d > 0
            if (!(e <= worst)) { worst = e; name = $1 }
            n++
        }
        END { print n + 0 " records, the worst is off by " worst + 0 " " name; exit !n || !(worst <= most) }' \
        "$work/vectors.$1.tsv" "$work/vectors.$2.tsv"
}

# tolerance PRECISION: largest difference due to rounding
tolerance() { case $1 in bf16) echo 0.03 ;; tf32) echo 0.005 ;; *) echo 0.001 ;; esac; }

# ---- rows of the table ------------------------------------------------------------------------

# row WHAT RESULT FIGURE [MORE...]: one line of the table
row()
{
    {
        printf '%s' "$stage"
        printf '\t%s' "$@"
        printf '\n'
    } | tee -a "$table"
}

# try WHAT COMMAND...: a row; the command's last line is the result, its output is logged. A timeout is
# not a failure, and has no result
try()
{
    what=$1 log=$work/$stage.$(echo "$1" | tr -c 'a-z0-9\n' _).log
    shift
    if [ "$(seconds_left)" -le 0 ]; then
        row "$what" 'no time left' .
        return 1
    fi
    "$@" > "$log" 2>&1
    case $? in
    0)   row "$what" ok "$(tail -n 1 "$log" | tr '\t' ' ' | cut -c 1-150)"; return 0 ;;
    124) row "$what" 'out of time' . ;;
    *)   row "$what" FAILED "$(tail -n 1 "$log" | tr '\t' ' ' | cut -c 1-150)"
         n_failed=$((n_failed + 1))
         tail -n 20 "$log" ;;
    esac
    return 1
}

# heading COLUMNS: the machine of the next rows, and their header
heading()
{
    {
        printf '# %s' "$gpu"
        ! command -v nvcc > /dev/null || printf '; %s' "$(nvcc --version | sed -n 's/.*release //p')"
        printf '; %s' "$(date -u +%F)"
        [ ! -e "$here/commit" ] || printf '; commit %s' "$(cat "$here/commit")"
        printf '\n%s\n' "$1"
    } | tee -a "$table"
}

# copy_results: table and logs to $OUT
copy_results()
{
    [ -n "$OUT" ] && [ -d "$OUT" ] || return 0
    case $(cd "$(dirname "$table")" && pwd)/ in
    /dev/ | "$OUT/") ;;
    *) cp "$table" "$OUT/" ;;
    esac
    (cd "$work" && find . -maxdepth 1 \( -name '*.log' -o -name '*.tsv' \) -size -2000k -print0 |
        tar -czf "$OUT/logs.tar.gz" --null -T -)
}

# stages NAME...: run in turn, also after failures; status 2 for an unknown name
stages()
{
    for stage; do
        command -v "do_$stage" > /dev/null || { echo "$0: no stage '$stage'" >&2; exit 2; }
    done
    for stage; do
        "do_$stage" || row stage "ended with status $?" .
        copy_results
    done
}

# Use pack's binaries if they run here; else build the program and its GPU tests for this GPU. Once per
# machine.
do_build()
{
    [ -z "$CS_QUICK" ] || return 0
    [ -e "$tree/built" ] && { row build 'is there' .; return 0; }
    try unpack unpack_sources || return
    if has_code; then
        if run_packed > "$work/packed.log" 2>&1; then
            row "pack's binaries" ok "$(tail -n 1 "$work/packed.log")"
            cp -R "$work/built/." "$tree/" && : > "$tree/built"
            return
        fi
        row "pack's binaries" 'do not run here' "$(tail -n 1 "$work/packed.log" | cut -c 1-150)"
    fi
    try configure in_tree env HTS_CFLAGS=" " HTS_LIBS=-lhts ZLIB_CFLAGS=" " ZLIB_LIBS=-lz \
        JANSSON_CFLAGS=" " JANSSON_LIBS=-ljansson CMOCKA_CFLAGS=" " CMOCKA_LIBS=-lcmocka \
        PKG_CONFIG="$(command -v pkg-config || echo true)" \
        ./configure --with-cuda --with-cuda-arch="$compute" --without-lapack \
        CPPFLAGS="-isystem $work/sysroot/usr/include" \
        LDFLAGS="-L$lib -Wl,-rpath-link,$lib -Wl,--allow-shlib-undefined" || return
    # shellcheck disable=SC2086 # a list of words
    try make within "$CALL_S" make -C "$tree" -j"$(nproc)" $programs && : > "$tree/built"
}

in_tree() { (cd "$tree" && "$@"); }

unpack_sources()
{
    rm -rf "$tree" "$work/sources"
    mkdir "$work/sources" && unpack "$here/chordseq.tar.xz" "$work/sources" &&
        mv "$work/sources"/chordseq-* "$tree"
}

# has_code: do pack's binaries support this GPU, by its own code or an earlier one's of its generation?
has_code()
{
    [ -e "$work/built/arch" ] &&
        awk -v c="$compute" 'int($1 / 10) == int(c / 10) && $1 <= c { n++ } END { exit !n }' \
            "$work/built/arch"
}

# run_packed: do pack's binaries start and find the GPU?
run_packed()
{
    for f in "$work/built/chordseq" "$work"/built/tests/*/*; do
        ldd "$f" | grep 'not found' && return 1
    done
    "$work/built/chordseq" classify -q --device cuda -m "$tree/refdata/model/default.safetensors" \
        -o "$work/packed.tsv" "$tree/refdata/tiny/mixed.fa" && wc -l < "$work/packed.tsv"
}
