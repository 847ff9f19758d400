#!/bin/sh
# bench_taxa.sh - accuracy by rank of the head `tree` compared with naive Bayes on 8-mers.
#
# Usage   CS_SHARED=DIR tests/bench/bench_taxa.sh [--seed N] [SET FASTA RANKS [TEST]]
#         (make bench-taxa)
#
# Without a set: 16S rRNA to the genus and plastid genes to the family, from CS_SHARED. A fifth of each
# taxon with two records or more is for testing, except near-duplicates of training records
# of it (tests/bench/taxa/bayes.py); TEST: the records of that file instead. RANKS are those of
# "tax=..." in the headers, with commas. The models are ChordMixers without blocks, like the default
# one: a vector per 8-mer, their mean, a layer. Naive Bayes is also fitted to the tenth that the
# network is validated and calibrated on. One row per set, method and rank: set, method, rank, records
# whose taxon at that rank is in the training set, accuracy. Takes some 10 minutes of one core and 1.5 GB of
# memory. CS_QUICK=1: a tenth of the records, one epoch.
set -eu

. "$(dirname "$0")/lib.sh"
genus=$CS_SHARED/data/genus
bayes=$bench/taxa/bayes.py
seed=1
if [ "${1:-}" = --seed ]; then
    seed=$2
    shift 2
fi
need_python numpy python3-numpy
scratch

# one SET FASTA RANKS EPOCHS STEP_RECORDS MAX_LEN [TEST]; $more are further options of train; with $drawn an
# epoch has as many samples as training records, each class equally often
more='' drawn=''
one()
{
    "$python" "$bayes" split "$2" "$3" "$seed" "$tmp/$1"
    n_train=$(awk -F '\t' '$2 == "train"' "$tmp/$1.split.tsv" | wc -l)
    # shellcheck disable=SC2086 # TEST may be missing; $more is a list
    "$python" "$bayes" score "$2" "$3" "$tmp/$1" ${7:-} | sed "s/^/$1	naive Bayes	/"
    "$chordseq" train -q --threads 1 --seed "$seed" --label-key tax --lineage "$3" \
        --split "$tmp/$1.split.tsv" --head tree --head.norm layer --tokenizer.k 8 \
        --encoder.depth none --encoder.max-len "$6" --encoder.track 8 --batch-tokens 131072 \
        --step-records "$5" --lr 0.005 --epochs "$4" $more \
        ${drawn:+--samples-per-epoch "$n_train" --class-balance 1} -o "$tmp/$1.model" "$2" >&2
    if [ -n "${7:-}" ]; then
        set -- "$1" "$7"
    else
        set -- "$1" "$2" --split "$tmp/$1.test.tsv"
    fi
    set_name=$1
    shift
    "$chordseq" eval -q -m "$tmp/$set_name.model" --label-key tax -o "$tmp/eval" "$@"
    awk -F '\t' -v set="$set_name" '$1 == "record" && $2 == "all" && $4 ~ /^records:/ { n = $5 }
        $1 == "record" && $2 == "all" && sub(/^accuracy:/, "", $4) {
            printf "%s\tChordMixer, head tree\t%s\t%d\t%.4f\n", set, $4, n, $5 }' "$tmp/eval"
}

printf 'set\tmethod\trank\trecords\taccuracy\n'
if [ $# -gt 0 ]; then
    one "$1" "$2" "$3" 24 128 8192 "${4:-}"
    exit
fi
need_data "$genus"

# set_of NAME FASTA RANKS EPOCHS STEP_RECORDS MAX_LEN: all of it, or every tenth record once
set_of()
{
    if [ -z "$CS_QUICK" ]; then
        one "$@"
    else
        gzip -dc "$2" | awk '/^>/ { keep = n++ % 10 == 0 } keep' > "$tmp/$1.fa"
        one "$1" "$tmp/$1.fa" "$3" 1 "$5" "$6"
    fi
}
more='--encoder.track 24 --mutate 0.1 --weight-decay 0.3' drawn=yes
set_of 16S "$genus/rdp_trainset19_16S.fa.gz" domain,phylum,class,order,family,genus 30 128 2048
more='' drawn=''
set_of plastid "$genus/plastid_cds.fa.gz" order,family 30 64 8192
