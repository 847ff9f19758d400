#!/bin/sh
# fetch.sh - fetch training sequences from Debian packages, in addition to the taxa sets.
#
# Usage   refdata/model/fetch.sh WORK_DIR       (Debian 12; apt-get and dpkg-deb, no root)
#
# Unpacks the examples that pieces.tsv cuts from under WORK_DIR/examples, and prints the paths of their
# FASTA files. The marker genes of markers.tsv.xz stay in their package (771 MB), in the same folder.
set -eu
work=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work/examples"
cd "$work/examples"
download()
{
    set -- "$1" "$1"_*.deb
    [ -f "$2" ] || apt-get -qq -o APT::Sandbox::User=root download "$1" >&2
}
download metaphlan2-data
for package in bowtie-examples bowtie2-examples ragout-examples kleborate-examples kaptive-example; do
    download "$package"
    dpkg-deb -x "$package"_*.deb .
done
# bacteria.fa.gz is of the taxa set.
awk -F '\t' '!/^#/ && $1 != "bacteria.fa.gz" && !seen[$1]++ { print $1 }' "$here/pieces.tsv" |
while read -r name; do
    path=$(find "$PWD/" -name "$name" | sort | head -n 1)
    [ -n "$path" ] || { echo "fetch.sh: no package has '$name', which pieces.tsv cuts" >&2; exit 1; }
    echo "$path"
done
