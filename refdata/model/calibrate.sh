#!/bin/sh
# calibrate.sh - how the temperatures in default.safetensors were fitted; see README.md beside it.
#
# Usage   refdata/model/calibrate.sh CHORDSEQ TAXA_DIR MODEL OUT
#
# Judges MODEL on the validation records of the taxa set and on pieces of them, and writes OUT: the
# same weights with temperatures and error rates. The result depends on the inputs alone.
set -eu
chordseq=$1 taxa=$2 model=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
split=$(mktemp)
trap 'rm -f "$split"' EXIT

LC_ALL=C awk -f "$here/split.awk" "$taxa/manifest.tsv" > "$split"
"$chordseq" eval -m "$model" --strand both --label-key class --label-map "$here/classes.tsv" \
    --skip-unlabelled --split "$split" --bins 500,1000,3000,10000,50000 --fragments-per-record 3 \
    --fragments 250,350,500,700,1000,1500,2000,3000,5000,8000,10000,20000,30000,50000 \
    -o /dev/null --calibrate "$out" "$taxa"/*.fa.gz
