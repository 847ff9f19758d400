#!/bin/sh
# bench_regulatory.sh - effects of variants on promoters and enhancers, per element left out.
#
# Usage   CS_SHARED=DIR tests/bench/bench_regulatory.sh [WORK]      (make bench-regulatory)
#
# Saturation mutagenesis of 16 elements (Kircher et al. 2019): a model never sees the element that it is tested on.
# Compared with ridge regressions on counts of 6-mers:
#   words            --head variant on a bag of canonical 6-mers
#   words-activity   the same, started from `activity`
#   activity         a bag of 6-mers trained on the activity of CAGI4's constructs (--head regress); the difference of
#                    its values for both alleles, without any label of an element
#   splice           ridge on differences of vectors (`embed`) of the default variant model's encoder
#   bases            --head variant on bases, CDIL from scratch, both strands, compared by context
# Prints the tables of variant/regulatory.py. Files that exist in a given WORK are reused.
#
# Environment, all optional
#   METHODS      default all of these
#   SEEDS        default "1 2 3 4 5", with CS_QUICK=1 "1"; of bases, which takes most of the time, the first only
#   THREADS      default 1
set -eu

. "$(dirname "$0")/lib.sh"
data=$CS_SHARED/data/splice/regulatory
need_data "$data"
need_python sklearn python3-sklearn
scratch "$@"
[ -z "$CS_QUICK" ] || : "${SEEDS:=1}" "${STEPS:=--max-steps 2}"
: "${METHODS:=activity words words-activity splice bases}" "${SEEDS:=1 2 3 4 5}" "${THREADS:=1}" "${STEPS:=}"
wanted() { case " $METHODS " in *" $1 "*) ;; *) false ;; esac; }

[ -e "$tmp/labels.tsv" ] || "$python" "$bench/variant/regulatory.py" prepare "$data" "$tmp"
elements=$(sed -n 's/^>//p' "$tmp/contigs.fa")
bag='--tokenizer kmer --tokenizer.canonical --encoder chordmixer --encoder.depth none --encoder.max-len 1024
    --encoder.track 16 --encoder.hidden 16 --weight-decay 1 --ema 0.99 --no-rc --strand forward'

# train MODEL SEED OPTIONS...
train()
{
    out=$1 seed=$2
    shift 2
    # shellcheck disable=SC2086 # options are words
    "$chordseq" train -q --force --preset none --seed "$seed" --threads "$THREADS" -o "$out" "$@" $STEPS
}

# activity_model SEED PART: a model of the constructs, but for one part of the chromosomes
activity_model()
{
    [ -e "$tmp/activity.$1/$2.model" ] && return
    mkdir -p "$tmp/activity.$1"
    # shellcheck disable=SC2086
    train "$tmp/activity.$1/$2.tmp" "$1" $bag --head regress --no-standardize -i "$tmp/constructs.fa" --labels "$tmp/constructs.tsv" \
        --split "$tmp/$2.constructs.tsv" --epochs 8 --step-records 64 --lr 0.002
    mv "$tmp/activity.$1/$2.tmp" "$tmp/activity.$1/$2.model"
}

values() { "$chordseq" classify -q --force -@ "$THREADS" -m "$1" -i "$2" -o "$3"; }

# activity SEED: models of all constructs and of every fold, and their values
activity()
{
    activity_model "$1" all
    values "$tmp/activity.$1/all.model" "$tmp/windows.fa" "$tmp/activity.$1/windows.tsv"
    for part in 0 1 2 3 4; do
        activity_model "$1" $part
        values "$tmp/activity.$1/$part.model" "$tmp/constructs.fa" "$tmp/activity.$1/constructs.$part.tsv"
    done
}

# effects METHOD SEED OPTIONS...: a model per element left out, and its scores there
effects()
{
    dir=$tmp/$1.$2 seed=$2
    shift 2
    mkdir -p "$dir"
    for e in $elements; do
        [ ! -e "$dir/$e.scores" ] || continue
        train "$dir/model" "$seed" --head variant -i "$tmp/labels.tsv" --split "$tmp/$e.split.tsv" \
            --reference "$tmp/contigs.fa" --ends fill "$@"
        "$chordseq" variant -q --force -@ "$THREADS" -m "$dir/model" -f "$tmp/contigs.fa" --ends fill \
            --max-unknown 0.9 --tsv "$dir/$e.scores" -o /dev/null "$tmp/$e.vcf"
    done
}

words='--window-length 12 --epochs 12 --step-records 128 --lr 0.003'
# shellcheck disable=SC2086
for seed in $SEEDS; do
    ! wanted activity || activity "$seed"
    ! wanted words || effects words "$seed" $bag $words
    if wanted words-activity; then
        activity_model "$seed" all
        effects words-activity "$seed" $bag $words --init "$tmp/activity.$seed/all.model"
    fi
done

# A head for one sequence on the fixed encoder, which one step of training only creates.
if wanted splice && [ ! -e "$tmp/splice.1/windows.npy" ]; then
    mkdir -p "$tmp/splice.1"
    train "$tmp/splice.1/model" 1 --tokenizer base --no-rc --encoder cdil --encoder.depth all --encoder.layers 6 \
        --encoder.kernel 7 --encoder.channels 320 --encoder.groups 5 --encoder.convs one --head.pool mean+max+centre \
        --head.centre 16 --init "$srcdir/refdata/model/variant.safetensors" --freeze encoder --head regress -i "$tmp/constructs.fa" \
        --labels "$tmp/constructs.tsv" --split "$tmp/all.constructs.tsv" --max-steps 1
    "$chordseq" embed -q --force -@ "$THREADS" -m "$tmp/splice.1/model" --strand forward \
        -o "$tmp/splice.1/windows.npy" "$tmp/windows.fa"
fi

if wanted bases; then
    effects bases "${SEEDS%% *}" --tokenizer base --rc --strand both --window-length 32 --encoder cdil \
        --encoder.depth all --encoder.layers 3 --encoder.kernel 7 --encoder.channels 32 --encoder.convs one \
        --head.pool mean+max --head.compare context --epochs 4 --step-records 64 --lr 0.005 --ema 0.99
fi
"$python" "$bench/variant/regulatory.py" table "$data" "$tmp"
