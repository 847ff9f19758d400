# bench_python.sh - the Python package compared with the command: processor time, and memory by number and length.
#
#   tests/bench/bench_python.sh      needs NumPy; PYTHON names an interpreter
: "${srcdir:=.}" "${builddir:=.}" "${PYTHON:=python3}"
srcdir=$(cd "$srcdir" && pwd) builddir=$(cd "$builddir" && pwd) || exit 1
PYTHONPATH=$srcdir/packaging/python CHORDSEQ_LIBRARY=$builddir/libchordseq.so.0
CHORDSEQ_PROGRAM=$builddir/chordseq OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1
export srcdir builddir PYTHONPATH CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM OMP_WAIT_POLICY PYTHONDONTWRITEBYTECODE
exec "$PYTHON" "$srcdir/tests/bench/bench_python.py"
