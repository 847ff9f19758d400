# pieces.awk - cut the pieces that pieces.tsv lists out of one FASTA file
#
# Usage   zcat FILE | awk -v file=NAME -f pieces.awk pieces.tsv -      (NAME as in the list's first column)
#
# A piece becomes the record NAME:FIRST-LAST (1-based, both included) with class=CLASS in its header.
# A piece that is not in the file as long as the list says is an error.
BEGIN { FS = "\t" }
FNR == NR {
    if ($1 == file) {
        list[$2] = list[$2] " " ++n
        first[n] = $3
        last[n] = $4
        class[n] = $5
    }
    next
}
{ sub(/\r$/, "") }
/^>/ {
    name = substr($0, 2)
    sub(/[ \t].*/, "", name)
    n_own = split(list[name], own, " ")
    for (i = 1; i <= n_own; i++)
        record[own[i]] = name
    n_base = 0
    next
}
n_own {
    for (i = 1; i <= n_own; i++) {
        k = own[i]
        if (first[k] <= n_base + length($0) && last[k] > n_base) {
            from = first[k] > n_base ? first[k] - n_base : 1
            piece[k] = piece[k] substr($0, from, last[k] - n_base - from + 1)
        }
    }
    n_base += length($0)
}
END {
    for (k = 1; k <= n; k++) {
        if (length(piece[k]) != last[k] - first[k] + 1) {
            printf "pieces.awk: piece %d-%d is not in '%s'\n", first[k], last[k], file > "/dev/stderr"
            exit 1
        }
        printf ">%s:%d-%d class=%s\n%s\n", record[k], first[k], last[k], class[k], piece[k]
    }
}
