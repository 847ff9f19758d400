# notebooks.t - build the website, and run docs/notebooks with the Python package of this tree.
. "$srcdir/tests/cli/lib.sh"

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
# exclude_docs, not_in_nav and validation are of MkDocs 1.5.
site='the website builds without a warning'
case $(mkdocs --version 2> /dev/null) in
*' version 0.'* | *' version 1.'[0-4].*) S "$site" 'MkDocs older than 1.5' ;;
*) with mkdocs T "$site" mkdocs build --quiet --strict -f "$srcdir/mkdocs.yml" -d "$tmp/site" ;;
esac

python=${PYTHON:-python3}
if ! "$python" -c 'import nbclient, ipykernel, matplotlib, numpy, pandas, sklearn' 2> lacks; then
    S 'notebooks' "$(tail -n 1 lacks)"
    exit
fi
PYTHONPATH=$srcdir/packaging/python
CHORDSEQ_LIBRARY=$builddir/libchordseq.so.0 CHORDSEQ_PROGRAM=$builddir/chordseq
CHORDSEQ_MODEL=$srcdir/refdata/model/default.safetensors
export PYTHONPATH CHORDSEQ_LIBRARY CHORDSEQ_PROGRAM CHORDSEQ_MODEL
for n in "$srcdir"/docs/notebooks/*.ipynb; do
    case $n in
    */published.ipynb)
        [ -d "$CS_SHARED/golden/cdil_dna_pretrained" ] || { S "${n##*/}" "no published checkpoint"; continue; } ;;
    esac
    T "${n##*/}" "$python" "$srcdir/docs/notebooks/execute" --check "$n"
done
