# howto.t - every command of docs/howto.md, in a home of its own; the figures of docs/peers.md.
. "$srcdir/tests/cli/lib.sh"

HOME=$tmp/home
export HOME
mkdir -p "$HOME" && ln -s "$srcdir" "$HOME/chordseq" && page_script "$srcdir/docs/howto.md" > script || exit 1
T 'the page runs' sh script
cd "$HOME/howto" || exit 1
T 'every contig is in one of the bins' sh -c '[ "$(cat bins/*.fasta | grep -c ">")" = 73 ]'
T 'every contig is divided into regions' sh -c '[ "$(cut -f 1 regions.bed | uniq | wc -l)" = 73 ]'
if command -v samtools > samtools.path; then
    T 'mates stay together, and organelles are gone' sh -c '
        samtools view tagged.bam | awk -v OFS="\t" "{ c = \$0; sub(/.*cl:Z:/, \"\", c); sub(/\t.*/, \"\", c); print \$1, c }" > all
        awk "\$2 != \"mitochondrion\" && \$2 != \"plastid\"" all > stay
        [ "$(wc -l < all)" = 800 ] && [ "$(uniq all | wc -l)" = 400 ] &&
        for i in 1 2; do [ "$(gzip -dc kept_$i.fq.gz | wc -l)" = "$(($(wc -l < stay) * 2))" ] || exit; done'
fi
T 'the model of two labels separates them' awk -F '\t' '
    $3 == "." && $4 == "accuracy" && $2 == "all" { good = $5 > 0.9 } END { exit !good }' own.tsv
T 'a network calls' sh -c '[ "$(sed 1d network_calls.tsv | wc -l)" = "$(grep -c ">" new.fa)" ]'
T 'exons change scores, all alleles have one or a reason' sh -c '
    awk -F "\t" "NR > 1 && (\$6 == \".\") == (\$8 == \".\") { bad = 1 } END { exit bad || NR < 100 }" scores.tsv'
if command -v bcftools > bcftools.path; then
    T 'windows of diplotypes have names and answers, and variants of the sample' sh -c '
        sed 1d windows.tsv | cut -f 1 > a && sed -n "s/^>//p" windows.dip | cmp - a && [ "$(wc -l < a)" = 20 ] &&
        grep -q "^ann:JAG1:1001-1500	500	" windows.tsv && grep -v "^[>#]" windows.dip | grep -q "[MRWSYK]"'
fi
T 'vectors have names' sh -c '[ "$(wc -l < vectors.npy.names.tsv)" = 74 ]'
T 'every long read has a line' sh -c '[ "$(wc -l < long.tsv)" = 81 ]'

# docs/peers.md has the rows of these tables; missing rows are printed.
T 'classifiers' page_has_rows docs/peers.md peers_models.tsv '
    NR > 1 { head[$1, $2] = "| " $2 " " $3 " | " $4 " |"; row[$1, $2] = row[$1, $2] sprintf(" %.2f / %.2f |", $7, $10) }
    END { for (p in row) print head[p] row[p] (p ~ /^held out/ ? " A |" : " F |") }'
T 'Kraken 2' page_has_rows docs/peers.md kraken.tsv '
    NR > 1 { a[$2, $1, $3] = $4; n += !($2 in seen); if (!seen[$2]++) kind[n] = $2 }
    function three(k, set) { return sprintf("%.2f / %.2f / %.2f", a[k, set, "kraken2"], a[k, set, "chordseq"], a[k, set, "chordseq all"]) }
    END { for (i = 1; i <= n; i++) print "| " kind[i] " | " three(kind[i], "known") " | " three(kind[i], "new") " |" }'
T 'Kraken 2 among the classes' page_has_rows docs/peers.md kraken.tsv '
    $1 == "new" && $2 == "10,000 bp" { a[$3] = $4 }
    END { printf "| Kraken 2 2.1.2 | all seven, new families | - | - | - | %.2f / %.2f | - | C |\n", a["kraken2"], a["chordseq all"] }'
T 'ranks' page_has_rows docs/peers.md taxa.tsv '
    { a[$1, $2 ~ /naive/, $3] = $5 }
    function two(s, r) { return (s, 1, r) in a ? sprintf("%.2f / %.2f", a[s, 1, r], a[s, 0, r]) : "-" }
    END { for (i = split("16S plastid", s, " "); i > 0; i--)
              print "| " s[i] " | " two(s[i], "order") " | " two(s[i], "family") " | " two(s[i], "genus") " |" }'
T 'variants' page_has_rows docs/peers.md variant_peers.tsv '
    NR > 1 && $4 == "mapsy" { mapsy = $7 }
    NR > 1 && $4 == "vexseq" { printf "| %s | %s | %s | %.2f | %.2f |\n", $1, $3, $2, mapsy, $7 }'
T 'speed of classifiers' page_has_rows docs/peers.md peers_models.tsv '
    $1 == "held out" && $5 == 10000 { printf "| fragments of 10,000 bp | %s %.2f | %.1f |\n", $2, $14, $15 }'
T 'speed and memory of Kraken 2' page_has_rows docs/peers.md community.tsv '
    $1 == "contigs" { a[$3] = $9 ", " $10 " MiB" }
    END { printf "| contigs of a community | Kraken 2 %s | %s |\n", a["kraken2"], a["chordseq"] }'
