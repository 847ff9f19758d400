#!/bin/sh
# calibrate.sh - how the temperatures in default.safetensors were fitted; see README.md beside it.
#
# Usage   refdata/model/calibrate.sh CHORDSEQ TAXA_DIR TAXA2_DIR MODEL OUT
#
# Judges MODEL on the records of the groups kept aside and on pieces of them, and writes OUT: the
# same weights with temperatures and error rates. The result depends on the inputs alone.
set -eu
chordseq=$1 taxa=$2 taxa2=$3 model=$4 out=$5
here=$(cd "$(dirname "$0")" && pwd)
split=$(mktemp)
trap 'rm -f "$split"' EXIT

xzcat "$here/groups.tsv.xz" |
    awk -F '\t' -v OFS='\t' '!/^#/ { print $1, $7, $3 }' > "$split"
awk -F '\t' -v OFS='\t' '$1 == "bacteria.fa.gz" && !seen[$2]++ { print $2, "skip", $2 }' \
    "$here/pieces.tsv" >> "$split"
"$chordseq" eval -m "$model" --strand both --label-key class --label-map "$here/classes.tsv" \
    --skip-unlabelled --split "$split" --bins 500,1000,3000,10000,50000 --fragments-per-record 3 \
    --fragments 150,250,350,500,700,1000,1500,2000,3000,5000,8000,10000,20000,30000,50000 \
    -o /dev/null --calibrate "$out" "$taxa"/*.fa.gz "$taxa2"/*.fa.gz
