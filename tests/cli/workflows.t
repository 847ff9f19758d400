# workflows.t - what `make check` can test of workflows/ without the engines; tests/long has the rest.
. "$srcdir/tests/cli/lib.sh"

w=$srcdir/workflows
PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE

# ---- MultiQC ---------------------------------------------------------------------------------------

chordseq classify -q -m "$tiny/model.safetensors" --sample s1 --summary s1.json -o s1.tsv "$tiny/mixed.fa" &&
    awk -F '\t' 'NR > 1 && $3 != "unclassified" { print $1 "\t" $3 }' s1.tsv > labels.tsv &&
    chordseq eval -q -m "$tiny/model.safetensors" --labels labels.tsv --skip-unlabelled --json e.json -o e.tsv \
        "$tiny/mixed.fa" || exit 1
with python3 T "MultiQC's plugin reads what we write" sh -c 'python3 "$1" s1.json e.json > told 2>&1 &&
    ! grep skipped told' - "$w/multiqc/tests/test_figures.py"
T 'the plugin has the version of the program' sh -c '
    v=$(chordseq --version | cut -d " " -f 2) && grep -q "^version = \"$v\"$" "$1/pyproject.toml" &&
    grep -q "^__version__ = \"$v\"$" "$1/multiqc_chordseq/__init__.py"' - "$w/multiqc"
