#!/bin/sh
# bench_splice_ablation.sh - which poolings, which comparison and which strand the default variant model needs.
#
# Usage   CS_SHARED=DIR tests/bench/bench_splice_ablation.sh [WORK]      (make bench-splice-ablation)
#
# The encoder of the default model stays as it is. Its last layer is fitted as train_variant.sh does, on five folds by
# chromosome, with some of its inputs only. Prints the table of variant/ablate_splice.py. Files that exist in a
# given WORK, which may be that of train_variant.sh, are reused.
set -eu

. "$(dirname "$0")/lib.sh"
splice=$CS_SHARED/data/splice
need_data "$splice"
scratch "$@"
model=$tmp/ablation/model.safetensors
mkdir -p "$tmp/ablation"

[ -e "$tmp/windows.fa" ] || {
    "$python" "$bench/variant/prepare_splice.py" "$splice" "$CS_SHARED/data/human_ve" "$tmp"
    "$python" "$bench/variant/fit_splice.py" windows "$tmp"
} >&2
# A model with the default's encoder and all poolings; one step of training creates its head.
[ -e "$model" ] || "$chordseq" train -q --preset none --tokenizer base --no-rc --encoder cdil --encoder.depth all \
    --encoder.layers 6 --encoder.kernel 7 --encoder.channels 320 --encoder.groups 5 --encoder.convs one \
    --seed 1 --threads 1 --head.pool mean+max+lse+centre --head.centre 16 \
    --head multilabel -i "$tmp/second.fa" --labels "$tmp/second.tsv" \
    --split "$tmp/second.split.tsv" --init "$srcdir/refdata/model/variant.safetensors" --freeze encoder --max-steps 1 \
    --batch-tokens 16384 -o "$model"
for x in windows measured places; do
    [ -e "$tmp/ablation/$x.npy" ] ||
        "$chordseq" embed -q -@ 1 -m "$model" --vector pooled -o "$tmp/ablation/$x.npy" "$tmp/$x.fa"
done
"$python" "$bench/variant/ablate_splice.py" "$splice" "$tmp"
