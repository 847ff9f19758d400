#!/bin/sh
# lint.sh - check the rules of CONTRIBUTING.md marked with a check mark.
#
#   tests/lint.sh        from any folder. Checks symbols of the library if $builddir (default: the source
#                        tree) has it
#
# Prints a line per finding, FILE:LINE: MESSAGE. Exit status 0: nothing found.
: "${srcdir:=$(dirname "$0")/..}" "${builddir:=$srcdir}" "${CC:=cc}"
builddir=$(cd "$builddir" && pwd) || exit 1
cd "$srcdir" || exit 1
LC_ALL=C; export LC_ALL
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT

# The files of a clone by git; in a release all files except those of distcheck.
files()
{
    [ -e .git ] && git ls-files --cached --others --exclude-standard 2> /dev/null ||
        find . \( -name '_*' -o -name .git -o -name 'build*' \) -prune -o -type f -print
}
sources=$(files | sed 's|^\./||' | grep -E '^(src|kernels|pipelines|examples|tests)/.*\.(c|h|cpp|cu|cuh)$' |
          while read -r f; do [ -f "$f" ] && echo "$f"; done)
[ -n "$sources" ] || { echo "lint: no sources in $PWD"; exit 1; }
code=$(echo "$sources" | grep -v '^tests/')
texts=$(files | sed 's|^\./||' | grep -vE '^(refdata/(golden|model|tiny)|tests/fuzz/corpus|build)' |
        while read -r f; do [ -f "$f" ] && grep -Iq . "$f" && echo "$f"; done)

# rule MESSAGE PATTERN FILES...: no line may match
rule()
{
    message=$1 pattern=$2; shift 2
    [ $# -gt 0 ] || return 0
    grep -nE -- "$pattern" "$@" /dev/null | sed -E "s|^([^:]*:[0-9]+):.*|\1: $message|" >> "$found"
}

without() { echo "$code" | grep -v "$@"; }

# ---- lengths: line 100; file 600 and function 60 unless it says why ------------------------------

lengths()
{
    awk '
    FNR == 1 { if (NR > 1) file_end(); name = FILENAME; in_fn = 0 }
    { last = FNR; gsub(/\t/, "        ") }
    length($0) > 100 { print name ":" FNR ": line of " length($0) " columns (100)" }
    /\/\* long: [^ ]/ { excused = FNR; if (FNR <= 40) file_excused = name }
    /^\{/ { in_fn = 1; start = FNR; open_excuse = excused && FNR - excused <= 12 }
    /^\}/ && in_fn {
        n = FNR - start - 1
        if (n > 60 && !open_excuse && excused < start)
            print name ":" start ": function of " n " lines (60) without /* long: reason */"
        in_fn = 0
    }
    function file_end() {
        if (last > 600 && file_excused != name) print name ":" last ": file of " last " lines (600)"
        excused = 0
    }
    END { file_end() }' $sources >> "$found"
}

first_sentence()
{
    for f in $sources; do
        base=${f##*/}
        head -n 2 "$f" | tr '\n' ' ' | grep -qE "^/\*( *\*)? *$base - [^ ]" ||
            echo "$f:1: must open with '/* $base - what it is. */'"
    done >> "$found"
}

# ---- includes --------------------------------------------------------------------------------

# The table of ARCHITECTURE.md, by folder; registry.h may be included everywhere.
includes()
{
    awk '
    BEGIN {
        may["src/base"]  = "^base/"
        may["kernels"]   = "^(base|kernels)/"
        may["src/io"]    = "^(base|io)/"
        may["src/tok"]   = "^(base|tok)/|^io/record\\.h$"
        may["src/batch"] = "^(base|batch)/|^io/(record|prediction)\\.h$"
        may["src/nn/ops"]      = "^(base|nn/ops)/|^kernels/backend\\.h$"
        may["src/nn/encoders"] = "^(base|nn/ops|nn/encoders)/|^batch/batch\\.h$"
        may["src/nn/heads"]    = "^(base|nn/ops|nn/heads)/|^batch/batch\\.h$"
        may["src/nn/exec"]     = "^(base|nn)/|^batch/batch\\.h$|^tok/(tokenizer|peptide|translate|open_frames|likeness)\\.h$"
        may["src/infer"] = "^(base|io|tok|batch|nn|infer)/"
        may["src/run"]   = "^(base|io|tok|batch|nn|infer|run)/"
        may["src/eval"]  = "^(base|io|tok|batch|nn|infer|run|eval)/"
        may["src/train"] = "^(base|io|tok|batch|nn|infer|run|eval|train)/"
        may["src/refine"] = "^(base|io|tok|batch|nn|infer|run|eval|train|refine)/"
        may["src/tools"] = "^(base|io|tok|batch|nn|infer|run|eval|train|tools)/"
        may["src/lib"]   = "^(base|io|tok|batch|nn|infer|lib)/"
    }
    FNR == 1 {
        folder = FILENAME
        sub(/\/[^\/]*$/, "", folder)
        if (folder ~ /^kernels/) folder = "kernels"
    }
    /^# *include *"/ {
        split($0, part, "\"")
        if ((folder in may) && part[2] ~ /\// && part[2] !~ may[folder])
            print FILENAME ":" FNR ": " folder " may not include " part[2]
    }
    /^# *include *<htslib\// && folder != "src/io" {
        print FILENAME ":" FNR ": htslib stays inside src/io"
    }
    /^# *include *<(cuda|cublas)/ && FILENAME !~ /^kernels\/cuda\// {
        print FILENAME ":" FNR ": CUDA stays inside kernels/cuda"
    }' $code >> "$found"
}

# A module is a header and the source of its name; X_internal.h is part of X. Includes between modules must
# be acyclic. registry.c, which lists them, is exempt.
circles()
{
    awk '
    function module(f) { sub(/\.[a-z]+$/, "", f); sub(/_internal$/, "", f); return f }
    FNR == 1 { here = module(FILENAME) }
    /^# *include *"/ && FILENAME != "src/registry.c" {
        split($0, part, "\"")
        there = module(part[2] ~ /^(kernels|pipelines)\// ? part[2] : "src/" part[2])
        if (there != here) {
            to[here, ++n[here]] = there
            at[here, there] = FILENAME ":" FNR
        }
    }
    # Depth-first search; `way` is the current path.
    function walk(m, depth,    i, k, next_one, text) {
        state[m] = 1
        way[depth] = m
        for (i = 1; i <= n[m]; i++) {
            next_one = to[m, i]
            if (state[next_one] == 1) {
                for (k = depth; way[k] != next_one; k--)
                    text = " -> " way[k] text
                print at[m, next_one] ": circle of includes: " next_one text " -> " next_one
                text = ""
            } else if (!state[next_one])
                walk(next_one, depth + 1)
        }
        state[m] = 2
    }
    END { for (m in n) if (!state[m]) walk(m, 1) }' $code >> "$found"
}

# ref_OP in kernels/cpu/ref_X.c and cuda_OP in kernels/cuda/cu_X.cu have the same X.
op_names()
{
    awk '
    FILENAME == "kernels/backend.h" {
        if (match($0, /\(\*[a-z0-9_]+\)\(cs_backend/))
            op[substr($0, RSTART + 2, RLENGTH - 14)] = 1
        next
    }
    FNR == 1 {
        stem = FILENAME
        sub(/.*\/(ref|cu)_/, "", stem)
        sub(/\..*/, "", stem)
    }
    match($0, /(ref|cuda)_[a-z0-9_]+\(cs_backend/) && /^(static )?void / {
        name = substr($0, RSTART, RLENGTH - 11)
        side = name ~ /^ref_/ ? "cpu" : "cuda"
        sub(/^(ref|cuda)_/, "", name)
        if (name in op) { file[name, side] = stem; at[name, side] = FILENAME ":" FNR }
    }
    END {
        for (o in op)
            if (file[o, "cpu"] && file[o, "cuda"] && file[o, "cpu"] != file[o, "cuda"])
                print at[o, "cuda"] ": op " o " is in ref_" file[o, "cpu"] ".c on the CPU"
    }' kernels/backend.h kernels/cpu/ref_*.c kernels/cuda/cu_*.cu >> "$found"
}

# ---- functions that lose errors or overrun ----------------------------------------------------

banned()
{
    rule 'stderr is written by base/log.c only' 'f(printf|puts|putc|write) *\(.*stderr|perror *\(' \
        $(without -e '^src/base/log\.c$' -e '^examples/')
    rule 'fopen() without e (close-on-exec)' 'fopen\([^;]*"[rwab+]+"\)' \
        $(without -e '^examples/' -e '^tests/')
    rule 'atoi, strcpy, strcat, sprintf, strtok and gets lose errors or overrun' \
        '(^|[^a-zA-Z_])(atoi|atol|atof|strcpy|strcat|sprintf|vsprintf|strtok|gets) *\(' $sources
    rule 'unchecked fwrite' '^ *(\(void\) *)?fwrite *\(' $sources
    rule 'pthread functions return positive numbers' 'pthread_[a-z_]*\(.*\) *(<|== *-) *[01]' $sources
    rule 'dead code' '^# *if 0' $sources
    rule 'a TODO names its owner and issue' 'TODO([^(]|$)|FIXME|XXX' $code
    rule 'no type of ours ends in _t (POSIX owns it)' '^(} |typedef .* )cs_[a-z_]*_t;' $sources
    rule 'a tab' '	' $sources
    rule 'blanks at the end of the line' '[ 	]+$' $sources
    rule 'not a row of a table: use make -s' '^([^#	][^	]*)?$' \
        $(echo "$texts" | grep '^tests/bench/results/.*\.tsv$')
    rule 'a path of one machine' '(^|[^a-zA-Z0-9_.$}*-])/(wor[k]|roo[t]|hom[e]|far[m])/' $texts
}

# ---- headers compile alone --------------------------------------------------------------------

headers()
{
    for f in $(echo "$sources" | grep '\.h$' | grep -v -e '_template\.h$' -e '^tests/gpu/host/'); do
        $CC -std=gnu11 -fsyntax-only -Isrc -I. -Itests -x c "$f" 2> "$found.cc" ||
            echo "$f:1: does not compile alone: $(grep -m 1 error "$found.cc")"
    done >> "$found"
    rm -f "$found.cc"
}

# ---- symbols ----------------------------------------------------------------------------------

symbols()
{
    lib=$builddir/libchordseq_core.a
    [ -f "$lib" ] || return 0
    nm -g --defined-only "$lib" 2>/dev/null |
        awk 'NF == 3 && $2 ~ /[TDBRCV]/ && $3 !~ /^(cs_|__|_)/ {
                 print "libchordseq_core.a:0: symbol " $3 " lacks the prefix cs_" }' >> "$found"
}

# A name of a static function occurs in at most four files, so that a search finds it.
static_names()
{
    grep -oE '^static [A-Za-z_0-9 *]+\(' $(echo "$code" | grep -v '^examples/') |
        sed -nE 's/^([^:]*):static .*[ *]([a-z][A-Za-z_0-9]*)\($/\2 \1/p' | sort -u |
        awk '{ n[$1]++; last[$1] = $2 }
             END { for (k in n) if (n[k] > 4) print last[k] ":1: static " k " in " n[k] " files (4)" }' >> "$found"
}

# A name is declared in one header, as a type or as a function; kernels/cpu/vec_*.h count as one.
header_names()
{
    awk '
    function found(name) {
        if (!(name in at))
            at[name] = header
        else if (at[name] != header)
            print FILENAME ":" FNR ": " name " is also declared in " at[name]
    }
    FNR == 1 { header = FILENAME; sub(/vec_[a-z0-9]+\.h$/, "vec_*.h", header) }
    match($0, /^([}]|typedef .*[ *])[ *]*cs_[a-z0-9_]+[[;]/) {
        name = substr($0, 1, RLENGTH - 1)
        sub(/.*[ *]/, "", name)
        found(name)
    }
    match($0, /^typedef .*\(\*cs_[a-z0-9_]+\)/) {
        name = substr($0, 1, RLENGTH - 1)
        sub(/.*\*/, "", name)
        found(name)
    }
    match($0, /^(template .*)?struct cs_[a-z0-9_]+ [{]/) && FILENAME ~ /\.cuh$/ {
        name = substr($0, 1, RLENGTH - 2)
        sub(/.* /, "", name)
        found(name)
    }
    match($0, /^[A-Za-z_][A-Za-z0-9_ *]*[ *]cs_[a-z0-9_]+\(/) {
        name = substr($0, 1, RLENGTH - 1)
        sub(/.*[ *]/, "", name)
        found(name)
    }' $(echo "$code" | grep -E '\.(h|cuh)$') >> "$found"
}

# ---- the registry against files and golden vectors ---------------------------------------------

registry()
{
    for f in $(sed -n 's/^[a-z]* *+= *//p' registry.am); do
        [ -f "$f" ] || echo "registry.am:1: $f does not exist"
        name=$(basename "$f" .c)
        case $name in
        enc_*) symbol=cs_$name; golden=refdata/golden/${name#enc_}
               ls "$golden"/*.safetensors > /dev/null 2>&1 ||
                   echo "registry.am:1: encoder ${name#enc_} has no golden vector in $golden" ;;
        tok_*|head_*|read_*|write_*) symbol=cs_$name ;;
        *) symbol=cs_cmd_$name
           [ -f "man/chordseq-$name.1.in" ] ||
               echo "registry.am:1: command $name has no man/chordseq-$name.1.in" ;;
        esac
        grep -qE "^const cs_[a-z]+ $symbol = " "$f" 2>/dev/null || echo "$f:1: does not define $symbol"
    done >> "$found"
    for f in src/nn/encoders/enc_*.c src/nn/heads/head_*.c src/tok/tok_*.c src/io/read_*.c \
             src/io/write_*.c; do
        [ ! -f "$f" ] || grep -qE "\+= *$f\$" registry.am ||
            echo "$f:1: is not in registry.am"
    done >> "$found"
    # Names of commands and kernels/cpu/cpu.c may repeat.
    echo "$sources" | grep -vE '^(pipelines/|kernels/cpu/cpu\.c)' | sed 's|.*/||' | sort |
        uniq -d | sed 's|.*|&:1: two files of this name|' >> "$found"
}

# Makefile.am lists every test, or its double build.
tests_listed()
{
    for f in tests/cli/*.t tests/long/*.t tests/python/*.t tests/stress/*.t tests/unit/test_*.c \
             tests/nn/test_*.c tests/gpu/test_*.c tests/fuzz/fuzz_*.c tests/stress/stress_*.c; do
        grep -qE "(^|[[:space:]])${f%.c}([_[:space:]]|\$)" Makefile.am ||
            echo "$f:1: is not in Makefile.am"
    done >> "$found"
}

lengths
first_sentence
includes
circles
op_names
banned
headers
symbols
static_names
header_names
registry
tests_listed
# lintian itself runs in tests/long/debian.t only.
rule 'a line of a description has at most 80 columns' '^ .{80}' $(ls debian/control 2> /dev/null)

sort -t: -k1,1 -k2,2n "$found"
n=$(wc -l < "$found")
[ "$n" -eq 0 ] || { echo "lint: $n findings"; exit 1; }
echo "lint: $(echo "$sources" | wc -l) source files, nothing found"
