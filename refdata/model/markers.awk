# markers.awk - marker genes of MetaPhlAn 2, by their source
#
# Usage   awk -f markers.awk markers.tsv markers.fasta > markers.fa
#
# A record is the first markers of a source (column 5 of markers.tsv: how many), ten N between them.
FNR == NR {
    if (/^#/)
        next
    split($0, row, "\t")
    left[row[1]] = row[5]
    class[row[1]] = row[2]
    for (i = row[9]; row[9] != "-" && i <= row[10] + 0; i++)
        of[row[2], i + 0] = row[1]
    next
}
/^>/ {
    name = ""
    split(substr($1, 2), field, "|")
    id = field[4]
    sub(/\..*/, "", id)
    if (id ~ /^N[CZ]_/)
        name = id ~ /^NZ_[A-Z][A-Z][A-Z][A-Z][0-9][0-9][0-9]/ ? substr(id, 1, 9) : id
    else if (id ~ /^[XN]M_/)
        name = of["eukaryota", substr(id, 4) + (id ~ /^N/ ? 1000000000 : 0)]
    else if (/^>GeneID:/) {
        sub(/^GeneID:/, "", field[1])
        name = of["virus", field[1] + 0]
    }
    take = name in left && left[name]-- > 0
    if (take)
        seq[name] = seq[name] (seq[name] == "" ? "" : "NNNNNNNNNN")
    next
}
take { seq[name] = seq[name] toupper($0) }
END {
    for (name in seq)
        print ">" name " class=" class[name] "\t" seq[name] | "LC_ALL=C sort | tr '\\t' '\\n'"
}
