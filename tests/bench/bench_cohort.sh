#!/bin/sh
# bench_cohort.sh - predict a simulated trait from diplotypes: networks and logistic regressions.
#
# Usage   CS_SHARED=DIR tests/bench/bench_cohort.sh [--seed N] [WORK]      (make bench-cohort)
#
# The sites of 4,000 bases of chromosome 6 with their frequencies in 1000 Genomes; a cohort with
# planted causes; diplotypes, a vocabulary of pieces of them, pretraining on persons without labels;
# Linformer and Low-Rank Transformer, pretrained or not, and logistic regressions, evaluated on
# held-out persons. Without a reference of that region, the bases between the sites are those of
# another part of chromosome 6, with REF inserted. Prints one table: method, sites or parameters,
# AUROC with its bootstrap interval, seconds.
#
# Environment: THREADS (1); CS_QUICK=1: a minute, with meaningless results
set -eu

. "$(dirname "$0")/lib.sh"
sites=$CS_SHARED/data/ingest/vcf/wgs.phase1.subset.vcf
slices=$CS_SHARED/data/human_ve/hg38_slices.fa.gz
seed=1
if [ "${1:-}" = --seed ]; then
    seed=$2
    shift 2
fi
need_data "$sites"
need_data "$slices"
need_python sklearn python3-sklearn
for tool in bgzip tabix; do
    command -v $tool > /dev/null || { echo "# no $tool" >&2; exit 77; }
done
scratch "$@"
: "${THREADS:=1}"

from=1028001 to=1032000
unlabelled=2000 trained=1700 tested=1500 passes=8 epochs=16
if [ -n "$CS_QUICK" ]; then
    unlabelled=100 trained=100 tested=100 passes=1 epochs=1
fi
n=$((unlabelled + trained + tested))

# ---- a cohort -----------------------------------------------------------------------------------

{
    printf '##fileformat=VCFv4.1\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
    grep -v '^#' "$sites"
} > "$tmp/sites.vcf"
gzip -cd "$slices" | awk '/^>/ { on = /^>chr6:/; next } on' | tr -d '\n' | tr '[:lower:]' '[:upper:]' |
    head -c $((to - from + 1)) > "$tmp/between.txt"
{
    echo '>6'
    awk -F '\t' -v from=$from -v to=$to '
        FNR == NR { s = $0; next }
        !/^#/ && $2 >= from && $2 + length($4) - 1 <= to {
            at = $2 - from; s = substr(s, 1, at) $4 substr(s, at + 1 + length($4)) }
        END { for (i = 1; i < from; i++) printf "N"; print s }' \
        "$tmp/between.txt" "$tmp/sites.vcf" | fold -w 80
} > "$tmp/ref.fa"
rm -f "$tmp/ref.fa.fai"
"$chordseq" simulate cohort -q -i "$tmp/sites.vcf" -r "6:$from-$to" -n $n --ld-scale 1000 --causal 10 \
    --heritability 0.5 --seed "$seed" -o "$tmp/cohort.vcf" --labels "$tmp/labels.tsv" \
    --liabilities "$tmp/liabilities.tsv" --effects "$tmp/effects.tsv"
bgzip -c "$tmp/cohort.vcf" > "$tmp/cohort.vcf.gz"
tabix -f -p vcf "$tmp/cohort.vcf.gz"
"$chordseq" diplotype -q -f "$tmp/ref.fa" -r "6:$from-$to" -i "$tmp/cohort.vcf.gz" -o "$tmp/all.dip"

# part NAME FIRST LAST: the diplotypes of these persons
part() {
    awk -v a="$2" -v b="$3" '/^>/ { p = substr($1, 3) + 0 } /^#/ || (p >= a && p <= b)' \
        "$tmp/all.dip" > "$tmp/$1.dip"
}
part pre 1 $unlabelled
part train $((unlabelled + 1)) $((unlabelled + trained))
part test $((unlabelled + trained + 1)) $n

"$chordseq" tokenize -q --train bpe --alphabet diplotypes --vocab-size 2000 --max-piece 32 --sentences 1000 \
    --seed "$seed" -i "$tmp/pre.dip" -o "$tmp/pieces.json"
"$chordseq" tokenize -m "$tmp/pieces.json" -o /dev/null "$tmp/test.dip" 2>&1 | sed 's/^/# /' >&2

# ---- networks -----------------------------------------------------------------------------------

printf 'method\tseed\tsize\tauroc\tlow\thigh\tseconds\n'
"$python" "$bench/cohort.py" regressions "$tmp" "$seed" $unlabelled $trained

common="--threads $THREADS --seed $seed -B 4096"
# evaluate NAME BEGAN
evaluate() {
    end=$(date +%s)
    "$chordseq" classify -q -m "$tmp/$1.model" --all "$tmp/test.dip" > "$tmp/$1.tsv"
    n_param=$("$chordseq" model show "$tmp/$1.model" | awk '$1 == "parameters" { print $2 }')
    "$python" "$bench/cohort.py" network "$tmp" "$seed" "$1" "$n_param" $((end - $2))
}

# run NAME RATE OPTIONS...: from scratch, and from the same encoder after pretraining
run() {
    name=$1 lr=$2
    shift 2
    fit="$chordseq train -q $common --labels $tmp/labels.tsv --lr $lr --epochs $epochs
        --valid-frac 0.15 -i $tmp/train.dip"
    began=$(date +%s)
    # shellcheck disable=SC2086 # a list of words
    $fit --tokenizer bpe --tokenizer.file "$tmp/pieces.json" "$@" -o "$tmp/$name.model"
    evaluate "$name" "$began"
    began=$(date +%s)
    # shellcheck disable=SC2086
    "$chordseq" pretrain -q $common --tokenizer bpe --tokenizer.file "$tmp/pieces.json" "$@" \
        --window $((to - from + 1)) --epochs $passes --lr 0.003 --decoder linear \
        -o "$tmp/$name-base.model" --metrics "$tmp/$name-base.tsv" "$tmp/pre.dip"
    # shellcheck disable=SC2086
    $fit --init "$tmp/$name-base.model" -o "$tmp/$name-pretrained.model"
    evaluate "$name-pretrained" "$began"
}
size='--encoder.max-len 4096 --encoder.dim 32 --encoder.heads 4 --encoder.layers 2 --encoder.hidden 64'
# shellcheck disable=SC2086
run linformer 0.003 --encoder linformer --encoder.k 32 $size
# At 0.003 this one stays at chance, which its validation tells.
# shellcheck disable=SC2086
run lowrank 0.001 --encoder lowrank $size
