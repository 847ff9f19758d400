# api.t - the Python package beside the program: `chordseq.load()` and what follows from it.
#
# In a build with AddressSanitizer (gcc's) Python runs with its library, and leaks of libchordseq are failures.
. "$srcdir/tests/cli/lib.sh"

# The first Python with NumPy: Debian's package is for Debian's.
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy' 2> /dev/null && break
done

# sanitizer NAME: its library, if this build has it
sanitizer()
{
    nm -D "$builddir/libchordseq.so.0" | grep -q " __$1_" || return 0
    case $(${CC:-cc} --version) in
    *clang*) echo none ;;           # links it into programs
    *) ${CC:-cc} -print-file-name="lib$1.so" | grep / || echo none ;;
    esac
}
preload="$(sanitizer asan) $(sanitizer ubsan)"

needs()
{
    command -v "$python" > /dev/null || { echo "no $python"; return; }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo 'Python before 3.9'; return; }
    "$python" -c 'import numpy' 2> /dev/null || { echo 'no NumPy'; return; }
    [ -e "$builddir/libchordseq.so.0" ] || { echo 'libchordseq built with --disable-shared'; return; }
    case "$preload $(sanitizer tsan)" in
    *none*|*tsan*) echo 'python runs without the sanitizer' ;;
    esac
}
why=$(needs)
[ -z "$why" ] || { S 'the Python package' "$why"; exit; }

PYTHONPATH=$srcdir/packaging/python:$srcdir/tests/python PYTHONDONTWRITEBYTECODE=1
CHORDSEQ_LIBRARY=$builddir/libchordseq.so.0 CHORDSEQ_PROGRAM=$builddir/chordseq
export PYTHONPATH PYTHONDONTWRITEBYTECODE CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM

# with_sanitizer CMD...
with_sanitizer()
{
    [ "$preload" = ' ' ] || set -- LD_PRELOAD="$preload" PYTHONMALLOC=malloc ASAN_OPTIONS=malloc_context_size=2 \
        LSAN_OPTIONS="suppressions=$srcdir/tests/python/lsan.supp:print_suppressions=0" "$@"
    env "$@"
}

sed -n 's/^class \([A-Za-z]*\)(unittest.*/\1/p' "$srcdir/tests/python/test_api.py" > classes
while read -r c; do
    T "$c" with_sanitizer "$python" -m unittest -q "test_api.$c" < /dev/null
done < classes
T 'types of all that is public' with_sanitizer "$python" -c '
import inspect, chordseq
for name in chordseq.__all__:
    assert inspect.getdoc(getattr(chordseq, name)), name'
T 'the console script needs no NumPy' with_sanitizer "$python" -c '
import sys, chordseq._program
assert "numpy" not in sys.modules and chordseq._program.path()'

# Another build, with CUDA, beside the package; here the same one.
cp -R "$srcdir/packaging/python/chordseq" . && mkdir -p chordseq_cuda/bin chordseq_cuda/lib &&
    cp "$CHORDSEQ_PROGRAM" chordseq_cuda/bin && cp "$CHORDSEQ_LIBRARY" chordseq_cuda/lib || exit 1
unnamed() { (unset CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM; with_sanitizer "$@"); }
T 'a build beside the package is found' unnamed PYTHONPATH="$tmp" "$python" -c '
import os, chordseq._library, chordseq._program
assert chordseq._library.lib._name == os.environ["tmp"] + "/chordseq_cuda/lib/libchordseq.so.0", chordseq._library.lib
assert chordseq._program.path() == os.environ["tmp"] + "/chordseq_cuda/bin/chordseq"
print(chordseq.version())'
T '... after those that the environment names' with_sanitizer PYTHONPATH="$tmp" "$python" -c '
import os, chordseq._library, chordseq._program
assert chordseq._library.lib._name == os.environ["CHORDSEQ_LIBRARY"]
assert chordseq._program.path() == os.environ["CHORDSEQ_PROGRAM"]'
T '... and by the command' unnamed PYTHONPATH="$tmp" "$python" -c 'import chordseq._program as p
p.main()' --version
rm -rf chordseq chordseq_cuda

# page FILE: its blocks ```python as a script; those below a comment `test: MODULES` where there are these.
page()
{
    echo 'from importlib.util import find_spec'
    cat preface.py
    awk '
        /^<!-- test: / { sub(/^<!-- test: /, ""); sub(/ -->$/, ""); needs = $0 }
        /^```python$/ { inside = 1; printf "if all(map(find_spec, \"%s\".split())):\n", needs; next }
        /^```/ && inside { inside = 0; needs = "" }
        inside { print "    " $0 }' "$1"
}
# What the pages leave to the reader.
"$srcdir/docs/tutorial/make_data" && mv reads_1.fq.gz reads.fq.gz || exit 1
for k in host parasite; do sed "/^>/s/\$/ class=$k/" $k.fa; done > labelled.fa
cat > preface.py << 'END'
records = [r.split("\n", 1) for r in open("labelled.fa").read().split(">")[1:]]
sequences = [base.replace("\n", "") for _, base in records]
labels = [head.split("class=")[1] for head, _ in records]
END
for p in docs/python.md packaging/python/README.md; do
    page "$srcdir/$p" > page.py
    T "$p" with_sanitizer CHORDSEQ_MODEL="$srcdir/refdata/model/default.safetensors" "$python" page.py
done
