# workflows.t - tests of workflows/ without the engines; tests/long has the rest.
. "$srcdir/tests/cli/lib.sh"

w=$srcdir/workflows
PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE

# ---- MultiQC ---------------------------------------------------------------------------------------

chordseq classify -q -m "$tiny/model.safetensors" --sample s1 --summary s1.json -o s1.tsv "$tiny/mixed.fa" &&
    awk -F '\t' 'NR > 1 && $3 != "unclassified" { print $1 "\t" $3 }' s1.tsv > labels.tsv &&
    chordseq eval -q -m "$tiny/model.safetensors" --labels labels.tsv --skip-unlabelled --json e.json -o e.tsv \
        "$tiny/mixed.fa" || exit 1
with python3 T "MultiQC's plugin reads what we write" sh -c 'python3 "$1" s1.json e.json > msgs 2>&1 &&
    ! grep skipped msgs' - "$w/multiqc/tests/test_metrics.py"
T 'the plugin has the version of the program' sh -c '
    v=$(chordseq --version | cut -d " " -f 2) && grep -q "^version = \"$v\"$" "$1/pyproject.toml" &&
    grep -q "^__version__ = \"$v\"$" "$1/multiqc_chordseq/__init__.py"' - "$w/multiqc"

# ---- Snakemake and Nextflow -------------------------------------------------------------------------

commands='classify predict embed variant train merge'; export commands
with python3 T 'wrappers are Python and use existing options' sh -c 'for c in $commands; do
    chordseq $c --help > $c.help || exit
    python3 -c "
import ast, re, sys
tree = ast.parse(open(sys.argv[1]).read())
known = set(re.findall(r\"--[a-z0-9-]+\", open(sys.argv[2]).read())) | {\"--\"}
used = {o for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        for o in re.findall(r\"--[a-z-]*\", n.value)}
sys.exit(str(used - known) if used - known or len(used) < 2 else 0)" "$1/snakemake/bio/chordseq/$c/wrapper.py" $c.help || exit
    done' - "$w"
T 'the wrapper of classify offers every output' sh -c '
    chordseq classify --help > help && sed -n "/^Output:/,/^\$/s/^.*\(--[a-z-]*\) \(FILE\|DIR\).*/\1/p" help > outputs && [ "$(wc -l < outputs)" -ge 12 ] &&
    while read -r o; do grep -q "\"$o\",\$" "$1/wrapper.py" || { echo "$o"; exit 1; }; done < outputs' - "$w/snakemake/bio/chordseq/classify"
# A wrapper as Snakemake runs it, but for its shell().
mkdir snakemake && : > snakemake/__init__.py && cat > snakemake/shell.py << 'END' || exit 1
import inspect
import subprocess


def shell(text):
    subprocess.run(text.format(**inspect.currentframe().f_back.f_globals), shell=True, check=True)
END
cat > wrapped.py << 'END'
import sys
from types import SimpleNamespace
sys.path.insert(0, ".")
class Named(dict):
    __getattr__ = dict.__getitem__
wrapper, given, made, params = sys.argv[1], *(Named(word.split("=", 1) for word in words.split()) for words in sys.argv[2:5])
job = SimpleNamespace(input=given, output=made, params=params, threads=1,
                      log_fmt_shell=lambda stdout, stderr: ("> wrapped.log 2>&1" if stdout else "2> wrapped.log") if stderr else "")
exec(open(wrapper).read(), {"snakemake": job, "__name__": "__main__"})
END
cat > wrapped << 'END'
python3 wrapped.py "$srcdir/workflows/snakemake/bio/chordseq/$1/wrapper.py" "model=$tiny/model.safetensors $2" "$3" "${4:-}"
END
with python3 T 'the log of a wrapper has no table of records' sh -c 'sh wrapped classify "sequences=$tiny/mixed.fa" report=wrapped.kreport && [ -s wrapped.kreport ] && grep -q classified wrapped.log &&
    ! grep "^name" wrapped.log'
cat > written << 'END'
sh wrapped "$1" "$2" "$3" "${4:-}" && o=$5 && shift 5 && chordseq "$@" -q -m "$tiny/model.safetensors" -o "want.$o" && cmp "want.$o" "got.$o"
END
with python3 T 'the wrappers of embed and predict write the format of the output that is named' sh -c '
    for f in npy npz tsv; do sh written embed "sequences=$tiny/mixed.fa" $f=got.out "" out embed --format $f "$tiny/mixed.fa" || exit; done &&
    for f in bed tsv; do sh written predict "sequences=$tiny/mixed.fa" $f=got.out "" out predict --format $f "$tiny/mixed.fa" || exit; done &&
    sh written predict "sequences=$tiny/mixed.fa" bedgraph=got.out "extra=--class=classA" out predict --format bedgraph --class classA "$tiny/mixed.fa" &&
    sh wrapped embed "sequences=$tiny/mixed.fa" "npy=got.npy names=rows.tsv" && cmp rows.tsv want.out.names.tsv'
with python3 T 'the wrappers of embed and predict refuse no output, two and unknown ones' sh -c '
    for o in "" "tsv=a bed=b" "tsv=a npy=b" "names=a" "tsv=a table=b"; do for c in embed predict; do
        ! sh wrapped $c "sequences=$tiny/mixed.fa" "$o" 2> msgs && grep -q "outputs must be named: one of " msgs || exit; done; done'
with python3 T 'shards by the wrappers merge to one output' sh -c '
    for i in 1 2; do sh wrapped embed "sequences=$tiny/mixed.fa" "npy=e$i.npy manifest=e$i.json" shard=$i/2 &&
        sh wrapped predict "sequences=$tiny/mixed.fa" "bed=p$i.bed manifest=p$i.json" shard=$i/2 || exit; done
    chordseq merge -q -o e.npy e1.json e2.json && chordseq embed -q -m "$tiny/model.safetensors" -o want.npy "$tiny/mixed.fa" && cmp want.npy e.npy &&
    chordseq merge -q -o p.bed p1.json p2.json && chordseq predict -q -m "$tiny/model.safetensors" -o want.bed "$tiny/mixed.fa" && cmp want.bed p.bed'
cp "$tiny/variants.fa" "$tiny/variants.vcf" . && chmod u+w variants.fa || exit 1
with python3 T 'so do those of the wrapper of variant' sh -c 'extra=extra=--no-version
    for i in 1 2; do sh wrapped variant "ref=variants.fa calls=variants.vcf" "calls=v$i.vcf tsv=v$i.tsv manifest=v$i.json" "$extra shard=$i/2" || exit; done
    sh wrapped merge "manifests=v1.json" "calls=v.vcf scores=v.tsv" "extra=v2.json" && [ -s v.tsv ] &&
    chordseq variant -q -m "$tiny/model.safetensors" -f variants.fa --no-version -o want.vcf --tsv want.tsv variants.vcf && cmp want.vcf v.vcf && cmp want.tsv v.tsv'
T 'modules of commands with shards take one and emit its manifest' sh -c 'for c in $commands; do
    f=$1/$c/main.nf; grep -q -- " --manifest" $c.help && [ $c != merge ] || continue
    grep -q "^    val shard\$" "$f" && grep -qF "\"--shard \${shard} --manifest \${part}.manifest.json\"" "$f" && grep -q "emit: manifest *, optional" "$f" || { echo "$f"; exit 1; }
    n=$((n + 1)); done; [ "$n" = 4 ]' - "$w/nextflow/modules/nf-core/chordseq"
if command -v samtools > /dev/null; then
    cp "$tiny/strands.fa" ref.fa && chmod u+w ref.fa && samtools view -C -T ref.fa -o reads.cram "$tiny/strands.sam" 2> msgs && mv ref.fa moved.fa && rm -f ref.fa.fai || exit 1
    with python3 T 'wrappers take the reference of CRAM' sh -c 'for c in "classify tsv" "predict bed --format=bed" "embed tsv --format=tsv"; do set -- $c
        ! REF_PATH=none sh wrapped $1 sequences=reads.cram $2=got.out 2> msgs && sh wrapped $1 "sequences=reads.cram reference=moved.fa" $2=got.out &&
        chordseq $1 -q -m "$tiny/model.safetensors" -o want.out ${3:-} "$tiny/strands.sam" && cmp want.out got.out || exit; done'
else
    S 'wrappers take the reference of CRAM' 'no samtools'
fi
T 'modules take the reference of CRAM, as the pipeline and the workflow do' sh -c 'cd "$1" && for c in classify predict embed; do
    f=nextflow/modules/nf-core/chordseq/$c; grep -q "tuple val(meta2), path(fasta), path(fai)\$" $f/main.nf && grep -q "reference_arg = fasta ? .--reference" $f/main.nf || exit; done
    grep -q "CHORDSEQ_CLASSIFY(parts.input, reference, model, parts.shard)" nextflow/main.nf && grep -q "config\[.reference.\]" snakemake/workflow/rules/common.smk' - "$w"
# The rest of the file is Snakemake's language.
with python3 T "the outputs of Snakemake's workflow include the summary that its report reads" sh -c '
    sed -n "/^outputs = /p" "$1/rules/common.smk" > outputs.py && ! grep contains "$1/schemas/config.schema.yaml" && python3 -c "
def outputs_of(listed):
    scope = {\"config\": {\"outputs\": listed}}
    exec(open(\"outputs.py\").read(), scope)
    return scope[\"outputs\"]
assert outputs_of([\"tsv\", \"krona\"]) == [\"tsv\", \"krona\", \"summary\"]
assert outputs_of([\"summary\", \"tsv\"]) == [\"summary\", \"tsv\"]"' - "$w/snakemake/workflow"
with python3 T "the model of Snakemake's workflow is a file or a name" sh -c '
    { echo "import os"; sed -n "/^def is_name/,/^def /p" "$1/rules/common.smk" | sed "\$d"; } > name.py && : > own-model && python3 -c "
from name import is_name
assert is_name(\"accurate\") and is_name(\"human-lm\")
assert not any(is_name(m) for m in (\"\", \"own-model\", \"models/accurate\", \"own.safetensors\"))"' - "$w/snakemake/workflow"
T 'modules use existing options' sh -c 'for c in $commands; do
    f=$1/nextflow/modules/nf-core/chordseq/$c/main.nf
    for o in $(sed "/^    stub:/,\$d; /eval(/d" "$f" | grep -oE -- "--[a-z-]+" | sort -u); do
        grep -qE -- " $o( |\[|\$)" $c.help || { echo "$f: $o"; exit 1; }
    done; done' - "$w"
T "modules describe every channel, and classify's inputs are nf-core's" sh -c 'for c in $commands; do
    d=$1/nextflow/modules/nf-core/chordseq/$c
    grep -o "emit: *[a-z_]*" "$d/main.nf" | sed "s/emit: *//" | sort > emitted
    sed -n "/^output:/,/^topics:/s/^  \([a-z_]*\):\$/\1/p" "$d/meta.yml" | sort | diff emitted - || exit; done
    d=$1/nextflow/modules/nf-core/chordseq/classify
    while read -r o; do [ $o = --output ] || grep -q "emit: $(echo "${o#--}" | tr - _) *, optional" "$d/main.nf" || { echo "$o"; exit 1; }; done < outputs
    grep -q "tuple val(meta), path(reads)\$" "$d/main.nf" && grep -q "meta.single_end" "$d/main.nf" &&
    ! grep -L single_end "$d"/tests/*.nf.test | grep .' - "$w"
T "tests of modules give every input" sh -c 'for c in $commands; do
    d=$1/nextflow/modules/nf-core/chordseq/$c
    n=$(sed -n "/^    input:/,/^    output:/p" "$d/main.nf" | grep -cE "^    (tuple|path|val)[ (]")
    for t in "$d"/tests/*.nf.test; do
        awk -v n="$n" -v f="$t" "/^        when {/ { k = 0; inside = 1 } inside && /^ *input\[/ { k++ } /^        then {/ { if (k != n) { print f, k, n; bad = 1 } inside = 0 } END { exit bad }" "$t" || exit
    done; done' - "$w"
T 'environments name this version' sh -c 'v=$(chordseq --version | cut -d " " -f 2)
    for f in "$1"/snakemake/bio/chordseq/*/environment.yaml "$1"/nextflow/modules/nf-core/chordseq/*/environment*.yml; do
        grep -qE "chordseq ?=$v" "$f" || { echo "$f"; exit 1; }
    done' - "$w"
T 'every process of the pipeline has a container' sh -c 'n=0
    for f in $(find "$1/nextflow/modules" -name main.nf); do
        p=$(sed -n "s/^process \([A-Z_]*\) {/\1/p" "$f") && [ -n "$p" ] || exit
        grep -q "^    container " "$f" || grep -q "withName: $p { container = params" "$1/nextflow/nextflow.config" ||
            { echo "$p"; exit 1; }
        n=$((n + 1)); done; [ $n = 7 ]' - "$w"
T "the image of MultiQC has its environment's version" sh -c '
    v=$(sed -n "s/.*bioconda::multiqc=\([0-9.]*\).*/\1/p" "$1/nextflow/modules/local/multiqc/environment.yml")
    [ -n "$v" ] && grep -q " multiqc==$v " "$1/multiqc/Dockerfile"' - "$w"
T "the tutorial's commands are a shell's, with our options" sh -c '
    awk "/^\`\`\`sh\$/ { s = 1; next } /^\`\`\`/ { s = 0 } s" "$srcdir/docs/tutorial.md" > commands.sh && sh -n commands.sh &&
    sed -e :a -e "/\\\\\$/N; s/\\\\\\n//; ta" commands.sh | grep -oE "^chordseq [a-z]+ .*" | while read -r _ c rest; do
        chordseq $c --help > help || exit
        for o in $(echo "$rest" | grep -oE -- " --[a-z][a-z0-9-]*"); do
            grep -qE -- "$o( |$|\\.|\\[)" help || { echo "$c $o"; exit 1; }
        done; done'
