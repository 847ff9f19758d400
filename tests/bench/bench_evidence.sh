#!/bin/sh
# bench_evidence.sh - effect of each part of the default model, on families excluded from training.
#
# Usage   CS_SHARED=DIR FOLDS=DIR tests/bench/bench_evidence.sh > evidence.tsv    (make bench-evidence)
#
# FOLDS has fold0 to fold4, made by `FOLD=K refdata/model/train.sh`. The rows: the bag of 6-mers
# (labelled), that of 6-mers, codons and pairs of amino acids (framed), with the table of peptide words
# (table), and with the database of proteins besides (proteins; accurate: one four times as large). Table
# and database have the mean of the weights of the other four folds. Where there are foldK/network.safetensors or pretrained.safetensors,
# other classifiers of the same classes, their predictions are added to those of `proteins` by
# model/second_opinion.py (rows network and pretrained). The fragments are those of bench_families.sh
# (seed 1, 250 per class and length where there are as many), every one called. Columns: model, length,
# mean over the folds of the balanced accuracy, its standard error, and each fold's. Models that a folder
# lacks are left out.
set -eu

. "$(dirname "$0")/lib.sh"
folds=${FOLDS:?names the folder with fold0 to fold4 of refdata/model/train.sh}
model_dir=$srcdir/refdata/model

need_data "$CS_SHARED/data/taxa2"
scratch

# scores MODEL NAME FOLD: predictions for all fragments
scores()
{
    cat "$tmp"/fragments/*.fa | "$chordseq" classify -q -m "$1" --all --min-prob 0 -i - -o "$tmp/$2.$3.tsv"
}

for fold in 0 1 2 3 4; do
    "$python" "$bench/model/families.py" "$model_dir/groups.tsv.xz" $fold "$CS_SHARED"/data/taxa/*.fa.gz \
        "$CS_SHARED"/data/taxa2/*.fa.gz "$folds/fold$fold/pieces.fa" --out "$tmp/fragments" --seed 1
    # proteins comes last: predictions of networks are added to its own
    for name in labelled framed table accurate proteins; do
        [ -f "$folds/fold4/$name.safetensors" ] || continue
        case $name in
        table | proteins | accurate) fold_model "$folds" $fold $name "$tmp/model" ;;
        *) cp "$folds/fold$fold/$name.safetensors" "$tmp/model" ;;
        esac
        for length in 150 500 1000 3000 10000 50000; do
            "$chordseq" classify -q -m "$tmp/model" --min-prob 0 -i "$tmp/fragments/$length.fa" |
                awk -F '\t' -v row="$name	$length" '
                NR > 1 { split($1, part, "|"); n[part[1]]++; right[part[1]] += $3 == part[1] }
                END { for (c in n) { k++; sum += right[c] / n[c] } print row "\t" sum / k }'
        done
    done
    for name in network pretrained; do
        [ -f "$folds/fold4/$name.safetensors" ] || continue
        [ -f "$tmp/proteins.$fold.tsv" ] || scores "$tmp/model" proteins $fold
        scores "$folds/fold$fold/$name.safetensors" $name $fold
    done
    rm -r "$tmp/fragments"
done > "$tmp/each"
for name in network pretrained; do
    [ -f "$tmp/$name.4.tsv" ] || continue
    set --
    for fold in 0 1 2 3 4; do set -- "$@" "$tmp/proteins.$fold.tsv" "$tmp/$name.$fold.tsv"; done
    "$python" "$bench/model/second_opinion.py" "$@" | awk -F '\t' -v name=$name 'NR > 1 { print name "\t" $2 "\t" $4 }'
done >> "$tmp/each"

awk -F '\t' 'BEGIN { print "model\tlength\tmean\tstandard_error\tfold0\tfold1\tfold2\tfold3\tfold4" }
    { key = $1 "\t" $2; if (!(key in n)) order[++n_key] = key; each[key, n[key]++] = $3 }
    END {
        for (i = 1; i <= n_key; i++) {
            key = order[i]; sum = square = 0; row = ""
            for (k = 0; k < n[key]; k++) {
                v = each[key, k]; sum += v; square += v * v; row = row sprintf("\t%.3f", v)
            }
            mean = sum / k
            printf "%s\t%.3f\t%.3f%s\n", key, mean, sqrt((square / k - mean * mean) / (k - 1)), row
        }
    }' "$tmp/each"
