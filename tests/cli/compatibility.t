# compatibility.t - files of version 0.1 and the interface of its library, supported by later versions (docs/formats.md).
. "$srcdir/tests/cli/lib.sh"

old=$srcdir/refdata/frozen

# ---- files ---------------------------------------------------------------------------------------

T 'a model' chordseq model verify "$old/model.safetensors"
T 'model show prints taxonomy and look-up table of the model' sh -c 'chordseq model show "$1" > shown && grep -q "^label 1	one	taxid 2157	domain" shown &&
    grep -q "^lookup	129 peptide words	k 12	one in 8	LVIM,C,A,G,ST,P,FYW,EDNQ,KR,H" shown' - "$old/model.safetensors"
# Probabilities may differ in the last digits between processors.
T 'the model makes the same calls' sh -c 'chordseq classify -q --min-prob 0 --all -m "$1/model.safetensors" "$1/sequences.fa" > new.tsv &&
    paste new.tsv "$1/calls.tsv" | awk -F "\t" "NF != 14 || \$1 != \$8 || \$2 != \$9 || \$3 != \$10 || \$5 != \$12 { exit 1 }
        NR == 1 && (\$4 != \$11 || \$6 != \$13 || \$7 != \$14) { exit 1 }
        NR > 1 && (\$4 - \$11) ^ 2 + (\$6 - \$13) ^ 2 + (\$7 - \$14) ^ 2 > 1e-8 { exit 1 }"' - "$old"
T 'manifests of shards' sh -c 'chordseq merge -q -o whole.tsv --jsonl whole.jsonl --report whole.report --krona whole.krona \
    "$1/part.2.json" "$1/part.1.json" && for f in whole.*; do cmp "$f" "$1/$f" || exit; done' - "$old"

# ---- library -------------------------------------------------------------------------------------

# tests/unit/test_library.c has the types of these functions.
lib=$builddir/libchordseq.so.0
if [ -e "$lib" ] && command -v nm > /dev/null; then
    nm -D --defined-only "$lib" | awk '{ print $3 }' | sort > visible
    T 'every function of the library of 0.1' sh -c '[ "$(wc -l < "$1")" = 22 ] && [ -z "$(comm -23 "$1" visible)" ]' - "$old/functions"
else
    S 'every function of the library of 0.1' 'libchordseq built with --disable-shared'
fi
symbols=$srcdir/debian/libchordseq0.symbols
if [ -e "$symbols" ]; then
    T "Debian's list of them" sh -c 'sed -n "s/^CHORDSEQ_API .*\(chordseq_[a-z_]*\)(.*/\1/p" "$2" | sort > declared &&
        sed -n "s/^ \(chordseq_[a-z_]*\)@.*/\1/p" "$1" | sort | diff - declared' - "$symbols" "$srcdir/src/lib/chordseq.h"
fi

# ---- numbers -------------------------------------------------------------------------------------

# One version in all files that state it (packaging/version); workflows.t has their environments.
version=$(chordseq --version | sed 's/chordseq //')
T 'one version' sh -c '
    grep -qx "version: $1" "$2/CITATION.cff" && grep -q "version: \"$1\"" "$2/packaging/conda/recipe.yaml" &&
    grep -q "chordseq-$1[.]tar" "$2/packaging/conda/recipe.yaml" && sed -n 4p "$2/NEWS" | grep -q "^$1 " &&
    cd "$2/workflows" && grep -qx "__version__ = \"$1\"" multiqc/multiqc_chordseq/__init__.py &&
    grep -qx "version = \"$1\"" multiqc/pyproject.toml &&
    grep -qE "^ *version *= .$1.$" nextflow/nextflow.config &&
    ! grep -rhoE "chordseq( ?==?|:)[0-9]+[.][0-9.]*[0-9]" nextflow snakemake | grep -v "[=:]$1\$" &&
    { [ ! -e "$2/debian/changelog" ] || head -n 1 "$2/debian/changelog" | grep -q "($1-"; }' - "$version" "$srcdir"
