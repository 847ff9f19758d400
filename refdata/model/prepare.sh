#!/bin/sh
# prepare.sh - what train.sh and train_taxa.sh learn from.
#
# Usage   refdata/model/prepare.sh TAXA_DIR TAXA2_DIR WORK_DIR
#
# Writes WORK_DIR/pieces.fa, prophages and the rest of their chromosomes; markers.fa, marker genes;
# split.tsv, the part and the group of each record; and inputs, the files to learn from. With FOLD=0 to
# 4 in the environment that fold is for validation, instead of the groups held out from the default model.
# For experiments: an empty TAXA2_DIR leaves that set out; with EVERY=N only every Nth group of a class is
# for training, in the order of their first records.
set -eu
taxa=$1 taxa2=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

# pieces: what pieces.tsv takes out of the taxa set's bacteria and of other genomes
"$here/fetch.sh" "$work" > "$work/files"
echo "$taxa/bacteria.fa.gz" >> "$work/files"
while read -r file; do
    case $file in
    *.xz) xzcat "$file" ;;
    *)    zcat "$file" ;;
    esac | awk -v file="${file##*/}" -f "$here/pieces.awk" "$here/pieces.tsv" -
done < "$work/files" > "$work/pieces.fa"
# split: a record that was cut up is in no group, its pieces take its part
xzcat "$here/groups.tsv.xz" | awk -F '\t' -v OFS='\t' -v fold="${FOLD:-}" '!/^#/ {
    part = fold == "" ? $7 : $4 == "-" ? "skip" : $4 == fold ? "valid" : "train"
    print $1, part, $3 }' > "$work/split.tsv"
awk -F '\t' -v OFS='\t' '$1 == "bacteria.fa.gz" && !seen[$2]++ { print $2, "skip", $2 }' \
    "$here/pieces.tsv" >> "$work/split.tsv"

# markers: genes of MetaPhlAn 2; of the sources of groups held out from the default model none
xzcat "$here/markers.tsv.xz" > "$work/markers.tsv"
dpkg-deb --fsys-tarfile "$work"/examples/metaphlan2-data_*.deb |
    tar -xO ./var/lib/metaphlan2-data/markers.fasta |
    awk -f "$here/markers.awk" "$work/markers.tsv" - > "$work/markers.fa"
awk -F '\t' -v OFS='\t' -v fold="${FOLD:-}" '!/^#/ {
    seen = fold == "" ? $8 == "train" : !index("," $4 ",", "," fold ",")
    print $1, seen ? "train" : "skip", $3 }' "$work/markers.tsv" >> "$work/split.tsv"

if [ "${EVERY:-1}" -gt 1 ]; then
    awk -F '\t' -v OFS='\t' -v every="$EVERY" '$2 == "train" {
        class = $3; sub(/:.*/, "", class)
        if (!($3 in nth)) nth[$3] = n[class]++
        if (nth[$3] % every) $2 = "skip" }
        { print }' "$work/split.tsv" > "$work/split.tmp"
    mv "$work/split.tmp" "$work/split.tsv"
fi

input()
{
    for file in "$taxa"/*.fa.gz ${taxa2:+"$taxa2"/*.fa.gz} "$work/pieces.fa" "$work/markers.fa"; do echo "$file"; done
}
input > "$work/inputs"
