# kraken.sh - Kraken 2's database and the calls of both programs; sourced after lib.sh and scratch.
#
# Both programs have the same organisms: Kraken 2's database has the records of part `train` of
# refdata/model/groups.tsv.xz, with the seven classes as its taxa; the default model was trained on the same records.
# Needs kraken2 and kraken2-build in PATH, 3 GB of disk in $tmp, 2 GB of memory.

model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}
need_data "$CS_SHARED/data/taxa2"
command -v kraken2-build > /dev/null || { echo '# no kraken2-build in PATH' >&2; exit 77; }
classes='archaea bacteria eukaryota mitochondrion plasmid plastid virus'
groups=$srcdir/refdata/model/groups.tsv.xz

# kraken_db FASTA...: builds $tmp/db once; root is taxon 1, the classes are 11 to 17
kraken_db()
{
    [ ! -e "$tmp/db/hash.k2d" ] || return 0
    mkdir -p "$tmp/db/taxonomy"
    i=10
    printf '1\t|\t1\t|\tno rank\t|\n' > "$tmp/db/taxonomy/nodes.dmp"
    printf '1\t|\troot\t|\t\t|\tscientific name\t|\n' > "$tmp/db/taxonomy/names.dmp"
    for c in $classes; do
        i=$((i + 1))
        printf '%s\t|\t1\t|\tdomain\t|\n' $i >> "$tmp/db/taxonomy/nodes.dmp"
        printf '%s\t|\t%s\t|\t\t|\tscientific name\t|\n' $i $c >> "$tmp/db/taxonomy/names.dmp"
    done
    xzcat "$groups" | awk -F '\t' -v classes="$classes" '
        BEGIN { n = split(classes, c, " "); for (i = 1; i <= n; i++) taxid[c[i]] = 10 + i }
        $7 == "train" { sub(/^nuclear_.*/, "eukaryota", $2); sub(/^virus_.*/, "virus", $2); print $1, taxid[$2] }' \
        > "$tmp/taxids"
    gzip -dc "$@" | awk -v taxids="$tmp/taxids" '
        BEGIN { while ((getline line < taxids) > 0) { split(line, v, " "); taxid[v[1]] = v[2] } }
        /^>/ { name = substr($1, 2); keep = name in taxid; if (keep) print ">" name "|kraken:taxid|" taxid[name]; next }
        keep' > "$tmp/records.fa"
    kraken2-build --add-to-library "$tmp/records.fa" --no-masking --db "$tmp/db" > "$tmp/build.log" 2>&1
    kraken2-build --build --fast-build --threads 1 --db "$tmp/db" >> "$tmp/build.log" 2>&1
}

# calls PROGRAM FILE [MATES]: write "record call" lines, - for none, to $tmp/calls_of_all, and the output of `peak` to $tmp/peak.
# PROGRAM is kraken2, chordseq (default settings), `chordseq all` (every sequence gets a call), or `chordseq shares` (default
# settings with the shares of classes that a first run estimates; the output of `peak` is that of both runs).
calls()
{
    case $1 in
    kraken2)
        "$builddir/tests/bench/peak" kraken2 --db "$tmp/db" --threads 1 --output "$tmp/k2" ${3:+--paired} "$2" \
            ${3:+"$3"} 3> "$tmp/peak" > "$tmp/kraken.log" 2>&1
        awk -F '\t' -v classes="$classes" 'BEGIN { split(classes, c, " ") }
            { print $2, ($3 > 10 ? c[$3 - 10] : "-") }' "$tmp/k2" > "$tmp/calls_of_all" ;;
    *)
        program=$1
        set -- "$2" "${3:-}"
        if [ -n "$2" ]; then set -- -1 "$1" -2 "$2"; else set -- "$1"; fi
        case $program in
        *all) set -- --min-prob 0 "$@" ;;
        *shares)
            "$builddir/tests/bench/peak" "$chordseq" classify -q -@ 1 -m "$model" --shares "$tmp/shares.tsv" \
                -o "$tmp/calls" "$@" 3> "$tmp/peak_of_shares"
            set -- --prior-file "$tmp/shares.tsv" "$@" ;;
        esac
        "$builddir/tests/bench/peak" "$chordseq" classify -q -@ 1 --force -m "$model" -o "$tmp/calls" \
            "$@" 3> "$tmp/peak"
        case $program in *shares) cat "$tmp/peak_of_shares" >> "$tmp/peak" ;; esac
        awk -F '\t' 'NR > 1 { print $1, ($3 == "unclassified" || $3 == "." ? "-" : $3) }' "$tmp/calls" \
            > "$tmp/calls_of_all" ;;
    esac
}
