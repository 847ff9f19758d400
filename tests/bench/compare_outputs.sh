#!/bin/sh
# compare_outputs.sh - compare the outputs of two builds byte for byte.
#
#   tests/bench/compare_outputs.sh OLD_BINARY NEW_BINARY DATA
#
# DATA: a folder with genus/cyprinid_mitogenomes.fa.gz, genus/plastid_cds.fa.gz,
# ingest/viral_amplicon_bam/G5012.3.mini.bam, ingest/hg002/{reference.fa,multi.vcf.gz}.
# Both programs run in folders of their own with the same arguments: classify with every output,
# sharded and merged, embed, variant, explain, eval, train. Times are masked, and so are the options
# that summaries and manifests list, whose names may change; model files hold both and are compared
# by their predictions. Each program runs selftest with the folder 'selftest' beside it, if there is
# one: names in these files change too. Prints one line per file, and the number that differ; status 1
# if any does.
[ $# -eq 3 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
srcdir=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
old=$(realpath "$1") new=$(realpath "$2") data=$(cd "$3" && pwd) || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/chordseq-compare.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
LC_ALL=C; export LC_ALL

# inputs FOLDER: the same small files for both, and the models
inputs()
{
    mkdir -p "$1" && cd "$1" || exit 1
    gzip -dc "$data/genus/cyprinid_mitogenomes.fa.gz" | head -n 800 > mito.fa
    gzip -dc "$data/genus/plastid_cds.fa.gz" | head -n 1200 > plastid.fa
    cp "$data/ingest/viral_amplicon_bam/G5012.3.mini.bam" in.bam
    cp "$data/ingest/hg002/reference.fa" ref.fa
    cp "$data/ingest/hg002/multi.vcf.gz" in.vcf.gz
    cp "$srcdir"/refdata/model/*.safetensors "$srcdir"/refdata/tiny/*.fa \
       "$srcdir"/refdata/tiny/variants.vcf "$srcdir"/refdata/tiny/reads.fq .
    cp "$srcdir"/refdata/tiny/model.safetensors tiny.safetensors
    cp "$srcdir"/refdata/selftest/chordmixer.safetensors net.safetensors
    ls > inputs
}

# reference PROGRAM: the letter of variant's option --reference, once -r
reference() { "$1" variant --help 2>&1 | grep -q -- '-r, --reference' && echo -r || echo -f; }

# run_all PROGRAM FOLDER: write every output to FOLDER
run_all()
{
    cd "$2" || exit 1
    p=$1 ref=$(reference "$1") vectors=$(dirname "$1")/selftest
    [ -d "$vectors" ] || vectors=$srcdir/refdata/selftest
    for m in default tiny net; do
        "$p" classify -q -m $m.safetensors -o $m.tsv --all --jsonl $m.jsonl --kraken $m.kraken \
            --use-names --report $m.kreport --krona $m.krona --cami-binning $m.binning \
            --cami-profile $m.profile --bam $m.sam --no-PG --split-dir $m.split --summary $m.json \
            --html $m.html mito.fa plastid.fa mixed.fa reads.fq > $m.out 2>&1
    done
    "$p" classify -q -m default.safetensors --bam own.bam -o own.tsv in.bam > bam.out 2>&1
    "$p" classify -q -m net.safetensors --strand both --long-sequence window --window-length 250 \
        --window-overlap 50 -o windows.tsv mito.fa > windows.out 2>&1
    for i in 1 2 3; do
        "$p" classify -q -m net.safetensors --shard $i/3 --manifest s$i.json -o s$i.tsv \
            mito.fa plastid.fa > s$i.out 2>&1
    done
    "$p" merge -q -o merged.tsv s1.json s2.json s3.json > merge.out 2>&1
    "$p" embed -q -m net.safetensors -o net.npy --names names.tsv mito.fa plastid.fa > embed.out 2>&1
    "$p" variant -q -m variant.safetensors --no-version "$ref" ref.fa --tsv v.tsv -o v.vcf in.vcf.gz \
        > variant.out 2>&1
    "$p" variant -q -m tiny.safetensors --no-version "$ref" variants.fa -w 128 --circular ring \
        --tsv t.tsv -o t.vcf variants.vcf > tiny.variant.out 2>&1
    "$p" explain -q -m net.safetensors -f strands.fa \
        --tsv explain.tsv -o explain.bg "$(sed -n '1s/^>\([^ ]*\).*/\1/p' strands.fa)" > explain.out 2>&1
    "$p" eval -q -m default.safetensors --class mitochondrion=mito.fa --class plastid=plastid.fa \
        --fragments 200,800 -o eval.tsv --json eval.json --html eval.html > eval.out 2>&1
    "$p" train -q --class mitochondrion=mito.fa --class plastid=plastid.fa --seed 1 --epochs 2 \
        --encoder.track 2 --encoder.hidden 8 --metrics train.all -o trained.safetensors > train.out 2>&1
    cut -f 1-9 train.all > train.tsv
    "$p" eval -q -m trained.safetensors --class mitochondrion=mito.fa --class plastid=plastid.fa \
        -o trained.tsv > trained.out 2>&1
    rm -f train.all trained.safetensors trained.safetensors.ckpt
    "$p" simulate -n 50 --seed 1 -o adding.tsv adding > simulate.out 2>&1
    "$p" selftest --vectors "$vectors" 2>&1 | cut -f 1,4- > selftest.out 2>&1
}

# Times and rates differ from run to run.
mask()
{
    sed -E 's/"(wall|cpu|seconds|started|finished|date|time)[a-z_]*": *("[^"]*"|[0-9.e+-]+)/"\1": T/g
            s/"options": *\{[^}]*\}/"options": O/g
            s/[0-9.e+]+ (s|ms|seconds|records\/s|Mbases\/s)([^a-z]|$)/T \1\2/g' "$1"
}

inputs "$tmp/old"; inputs "$tmp/new"
run_all "$old" "$tmp/old"; run_all "$new" "$tmp/new"
cd "$tmp/old" || exit 1
n=0 bad=0
for f in $( (find . -type f; cd ../new && find . -type f) | sort -u); do
    grep -qxF "${f#./}" inputs && continue
    [ "$f" != ./inputs ] || continue
    n=$((n + 1))
    if [ ! -f "$f" ] || [ ! -f "../new/$f" ]; then
        verdict='only one has it'
    elif cmp -s "$f" "../new/$f"; then
        verdict="same      $(wc -c < "$f")"
    elif mask "$f" > ../a && mask "../new/$f" > ../b && cmp -s ../a ../b; then
        verdict="same text $(wc -c < "$f") (but for times)"
    else
        verdict=DIFFERS
    fi
    case $verdict in same*) ;; *) bad=$((bad + 1)) ;; esac
    echo "${f#./}: $verdict"
done
echo "$n files, $bad differ"
[ $bad -eq 0 ]
