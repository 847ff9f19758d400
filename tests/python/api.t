# api.t - the Python package: its unit tests, other builds beside it, and the commands of its pages.
#
# In a build with gcc's AddressSanitizer, Python preloads the sanitizer, and leaks of libchordseq are failures.
. "$srcdir/tests/cli/lib.sh"

# The first Python with NumPy: Debian's NumPy is for Debian's Python.
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy' 2> /dev/null && break
done

# sanitizer NAME: print its library if this build uses it
sanitizer()
{
    nm -D "$builddir/libchordseq.so.0" | grep -q " __$1_" || return 0
    case $(${CC:-cc} --version) in
    *clang*) echo none ;;           # clang links it statically
    *) ${CC:-cc} -print-file-name="lib$1.so" | grep / || echo none ;;
    esac
}
preload="$(sanitizer asan) $(sanitizer ubsan)"

# missing: print why the tests cannot run
missing()
{
    command -v "$python" > /dev/null || { echo "no $python"; return; }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo 'Python before 3.9'; return; }
    "$python" -c 'import numpy' 2> /dev/null || { echo 'no NumPy'; return; }
    [ -e "$builddir/libchordseq.so.0" ] || { echo 'libchordseq built with --disable-shared'; return; }
    case "$preload $(sanitizer tsan)" in
    *none*|*tsan*) echo 'Python cannot preload the sanitizer' ;;
    esac
}
why=$(missing)
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
T 'public names have docstrings' with_sanitizer "$python" -c '
import inspect, chordseq
for name in chordseq.__all__:
    assert inspect.getdoc(getattr(chordseq, name)), name'
T 'the console script needs no NumPy' with_sanitizer "$python" -c '
import sys, chordseq._program
assert "numpy" not in sys.modules and chordseq._program.path()'

# A second build beside the package, such as one with CUDA; here the same build.
cp -R "$srcdir/packaging/python/chordseq" . && mkdir -p chordseq_cuda/bin chordseq_cuda/lib &&
    cp "$CHORDSEQ_PROGRAM" chordseq_cuda/bin && cp "$CHORDSEQ_LIBRARY" chordseq_cuda/lib || exit 1
without_environment() { (unset CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM; with_sanitizer "$@"); }
T 'a build beside the package is found' without_environment PYTHONPATH="$tmp" "$python" -c '
import os, chordseq._library, chordseq._program
assert chordseq._library.lib._name == os.environ["tmp"] + "/chordseq_cuda/lib/libchordseq.so.0", chordseq._library.lib
assert chordseq._program.path() == os.environ["tmp"] + "/chordseq_cuda/bin/chordseq"
print(chordseq.version())'
T 'builds named in the environment take precedence' with_sanitizer PYTHONPATH="$tmp" "$python" -c '
import os, chordseq._library, chordseq._program
assert chordseq._library.lib._name == os.environ["CHORDSEQ_LIBRARY"]
assert chordseq._program.path() == os.environ["CHORDSEQ_PROGRAM"]'
T 'the console script finds a build beside the package' without_environment PYTHONPATH="$tmp" "$python" -c 'import chordseq._program as p
p.main()' --version
rm -rf chordseq chordseq_cuda

# page_script FILE: print its ```python blocks as a script. A block after a comment `test: MODULES` needs these.
page_script()
{
    echo 'from importlib.util import find_spec'
    cat preface.py
    awk '
        /^<!-- test: / { sub(/^<!-- test: /, ""); sub(/ -->$/, ""); needs = $0 }
        /^```python$/ { inside = 1; printf "if all(map(find_spec, \"%s\".split())):\n", needs; next }
        /^```/ && inside { inside = 0; needs = "" }
        inside { print "    " $0 }' "$1"
}
# Inputs that the pages assume.
"$srcdir/docs/tutorial/make_data" && mv reads_1.fq.gz reads.fq.gz || exit 1
for k in host parasite; do sed "/^>/s/\$/ class=$k/" $k.fa; done > labelled.fa
cat > preface.py << 'END'
records = [r.split("\n", 1) for r in open("labelled.fa").read().split(">")[1:]]
sequences = [base.replace("\n", "") for _, base in records]
labels = [head.split("class=")[1] for head, _ in records]
END
for p in docs/python.md packaging/python/README.md; do
    page_script "$srcdir/$p" > page.py
    T "$p" with_sanitizer CHORDSEQ_MODEL="$srcdir/refdata/model/default.safetensors" "$python" page.py
done
