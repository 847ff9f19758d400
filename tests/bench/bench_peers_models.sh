#!/bin/sh
# bench_peers_models.sh - published classifiers compared with our model, each on its own classes, lengths of 500 to 50,000 bp.
#
# Usage   CS_SHARED=DIR tests/bench/bench_peers_models.sh [WORK]      (make bench-peers-models)
#
# Tiara, Jaeger, geNomad's network, DeepMicroClass, EukRep, PlasClass: their programs and weights from PyPI, on one
# thread. Fragments as in bench_families.sh, 250 per class where there are as many, fewer for slow programs: see column
# fragments. model/peers_models.py says how classes are compared, and with which options each program runs. Prints a
# row per program and length. Their training sets may hold these organisms. Takes 20 minutes of processor time.
#
# Environment, all optional
#   PEERS         virtual environment with the programs; default WORK/peers, made if missing: Python 3.11 to 3.13, 10 GB
#   CS_PEERS      packages to run, such as 'tiara jaeger-bio'; default all
#   CS_LENGTHS    default '500 1000 3000 10000 50000'
#   CS_MODELS     models of folds, % standing for the fold, as in bench_regions.sh: each on the fragments of its fold, 50
#                 per class; default CS_MODEL on the groups held out from it
#   CS_FOLDS      folds with CS_MODELS; default 0 1 2 3 4
#   CS_MODEL, CS_FASTA, CS_SEED       as in bench_families.sh
set -eu

. "$(dirname "$0")/lib.sh"
: "${CS_MODELS:=}" "${CS_FOLDS:=0 1 2 3 4}"
model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}
set=folds per_class=50
[ -n "$CS_MODELS" ] || { CS_MODELS=$model CS_FOLDS=valid set='held out' per_class=250; }
need_data "$CS_SHARED/data/taxa2"
scratch "$@"
: "${PEERS:=$tmp/peers}"
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
TF_NUM_INTEROP_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS NUMBA_NUM_THREADS
export TF_NUM_INTEROP_THREADS TF_NUM_INTRAOP_THREADS TF_CPP_MIN_LOG_LEVEL CUDA_VISIBLE_DEVICES

# The wheels of Tiara and PlasClass require old libraries, but run with later ones.
if [ ! -x "$PEERS/bin/python" ]; then
    python3 -m venv "$PEERS"
    "$PEERS/bin/pip" install --quiet 'jaeger-bio[cpu]==1.26.5' genomad==1.13.0 DeepMicroClass==1.0.6.2 EukRep==0.6.7 \
        torch skorch numba biopython joblib tqdm 'setuptools<81'
    "$PEERS/bin/pip" install --quiet --no-deps --ignore-requires-python tiara==1.0.3 plasclass==0.1
fi
sets=
for fold in $CS_FOLDS; do
    family_fragments "$fold" "$tmp/$fold" --per-class "$per_class"
    sets="$sets $tmp/$fold=$(echo "$CS_MODELS" | sed "s/%/$fold/")"
done
# shellcheck disable=SC2086 # a list
"$python" "$bench/model/peers_models.py" bench "$srcdir/refdata/model/groups.tsv.xz" "$PEERS" "$chordseq" "$tmp" \
    "$set" $sets
