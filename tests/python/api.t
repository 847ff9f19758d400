# api.t - the Python package beside the program: `chordseq.load()` and what follows from it.
. "$srcdir/tests/cli/lib.sh"

python=${PYTHON:-python3}
needs()
{
    command -v "$python" > /dev/null || { echo "no $python"; return; }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo 'Python before 3.9'; return; }
    "$python" -c 'import numpy' 2> /dev/null || { echo 'no NumPy'; return; }
    [ -e "$builddir/libchordseq.so.0" ] || { echo 'libchordseq built with --disable-shared'; return; }
    nm -D "$builddir/libchordseq.so.0" | grep -qE ' (__asan|__ubsan|__tsan)' &&
        echo 'python runs without the sanitizer'
}
why=$(needs)
[ -z "$why" ] || { S 'the Python package' "$why"; exit; }

PYTHONPATH=$srcdir/packaging/python:$srcdir/tests/python PYTHONDONTWRITEBYTECODE=1
CHORDSEQ_LIBRARY=$builddir/libchordseq.so.0 CHORDSEQ_PROGRAM=$builddir/chordseq
export PYTHONPATH PYTHONDONTWRITEBYTECODE CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM

sed -n 's/^class \([A-Za-z]*\)(unittest.*/\1/p' "$srcdir/tests/python/test_api.py" > classes
while read -r c; do
    T "$c" "$python" -m unittest -q "test_api.$c" < /dev/null
done < classes
T 'types of all that is public' "$python" -c '
import inspect, chordseq
for name in chordseq.__all__:
    assert inspect.getdoc(getattr(chordseq, name)), name'
T 'the console script needs no NumPy' "$python" -c '
import sys, chordseq._program
assert "numpy" not in sys.modules and chordseq._program.path()'

# Blocks ```python of the page; others need files that it does not make.
sed -n '/^```python$/,/^```$/ { /^```/! p; }' "$srcdir/docs/python.md" > page.py
T 'docs/python.md' env CHORDSEQ_MODEL="$srcdir/refdata/model/default.safetensors" "$python" page.py
