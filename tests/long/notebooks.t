# notebooks.t - the notebooks of docs/notebooks, executed with the package of this tree.
. "$srcdir/tests/cli/lib.sh"

python=${PYTHON:-python3}
if ! "$python" -c 'import nbclient, ipykernel, matplotlib, numpy, pandas, sklearn' 2> lacks; then
    S 'notebooks' "$(tail -n 1 lacks)"
    exit
fi
PYTHONPATH=$srcdir/packaging/python PYTHONDONTWRITEBYTECODE=1
CHORDSEQ_LIBRARY=$builddir/libchordseq.so.0 CHORDSEQ_PROGRAM=$builddir/chordseq
CHORDSEQ_MODEL=$srcdir/refdata/model/default.safetensors
export PYTHONPATH PYTHONDONTWRITEBYTECODE CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM CHORDSEQ_MODEL
for n in "$srcdir"/docs/notebooks/*.ipynb; do
    T "${n##*/}" "$python" "$srcdir/docs/notebooks/execute" --check "$n"
done
