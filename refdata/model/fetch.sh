#!/bin/sh
# fetch.sh - the genomes beside the taxa set that pieces.tsv cuts from: examples of Debian packages.
#
# Usage   refdata/model/fetch.sh WORK_DIR       (Debian 12; apt-get and dpkg-deb, no root)
#
# Unpacks the packages under WORK_DIR/examples, and prints the paths of the FASTA files used.
set -eu
work=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work/examples"
cd "$work/examples"
for package in bowtie-examples bowtie2-examples ragout-examples kleborate-examples kaptive-example; do
    set -- "$package"_*.deb
    [ -f "$1" ] || apt-get -qq -o APT::Sandbox::User=root download "$package" >&2
    dpkg-deb -x "$package"_*.deb .
done
awk -F '\t' '!/^#/ && !seen[$1]++ { print $1 }' "$here/pieces.tsv" | while read -r name; do
    find "$PWD" -name "$name" | sort | head -n 1
done
