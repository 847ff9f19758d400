#!/bin/sh
# bench_peers.sh - Kraken 2 and Tiara compared with `classify` on the files of bench_end.sh; TSV to stdout.
#
#   CS_SHARED=DIR tests/bench/bench_peers.sh [BASES [READS]]    from the build folder
#
# Kraken 2 gets a database of its own unless there is $CS_KRAKEN2_DB: the first $CS_PEER_BASES (20 M)
# bases of bacteria and of archaea under $CS_SHARED/data/taxa, two taxa. It is far smaller than
# real databases, so that more of it fits in caches, and the random input has hardly any hits. For
# programs and columns see bench_end.sh. Exit status 77 if neither program is installed.
. "$(dirname "$0")/lib.sh"
: "${CS_PEER_BASES:=20000000}"
scratch

# genomes CLASS TAXID: its first records, named as kraken2-build wants them
genomes()
{
    gzip -dc "$CS_SHARED/data/taxa/$1.fa.gz" | awk -v most="$CS_PEER_BASES" -v taxid="$2" '
        /^>/ { if (n >= most) exit
               print ">kraken:taxid|" taxid "|" substr($1, 2); next }
             { n += length($0); print }'
}

make_database()
{
    mkdir -p "$tmp/db/taxonomy"
    printf '%s\t|\t%s\t|\t%s\t|\t-\t|\n' 1 1 'no rank' 2 1 superkingdom 2157 1 superkingdom \
        > "$tmp/db/taxonomy/nodes.dmp"
    printf '%s\t|\t%s\t|\t\t|\tscientific name\t|\n' 1 root 2 Bacteria 2157 Archaea \
        > "$tmp/db/taxonomy/names.dmp"
    genomes bacteria 2 > "$tmp/bacteria.fa"
    genomes archaea 2157 > "$tmp/archaea.fa"
    for f in bacteria archaea; do
        kraken2-build --no-masking --add-to-library "$tmp/$f.fa" --db "$tmp/db" || return 1
    done
    kraken2-build --build --threads "$(nproc)" --db "$tmp/db"
}

command -v kraken2 > /dev/null || command -v tiara > /dev/null ||
    { echo '# neither kraken2 nor tiara is installed'; exit 77; }
if command -v kraken2-build > /dev/null && [ -z "${CS_KRAKEN2_DB:-}" ] &&
   [ -e "$CS_SHARED/data/taxa/bacteria.fa.gz" ]; then
    make_database > "$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
    export CS_KRAKEN2_DB="$tmp/db"
fi
CS_FORMS=plain sh "$bench/bench_end.sh" "$@"
