# howto.t - every command of docs/howto.md, in a home of its own; the figures of docs/peers.md.
. "$srcdir/tests/cli/lib.sh"

HOME=$tmp/home
export HOME
mkdir -p "$HOME" && ln -s "$srcdir" "$HOME/chordseq" && page_script "$srcdir/docs/howto.md" > script || exit 1
mkdir "$HOME/howto"
awk -v out="$HOME/howto/amplicons.fq" 'BEGIN { srand(5); for (g = 1; g <= 12; g++) { base = ""
    for (i = 0; i < 500; i++) base = base substr("ACGT", 1 + int(4 * rand()), 1)
    for (k = 1; k <= 5; k++) { s = ""
        for (i = 1; i <= 500; i++) s = s (rand() < 0.05 ? substr("ACGT", 1 + int(4 * rand()), 1) : substr(base, i, 1))
        if (k == 5) { q = s = substr(s, 100, 250); gsub(/./, "I", q); print "@r" g "\n" s "\n+\n" q > out }
        else print ">S" g "." k " Bacteria;Phylum " int((g + 5) / 6) ";Class " int((g + 2) / 3) ";Order " int((g + 1) / 2) \
            ";Family " g ";Genus " g "\n" s } } }' > "$HOME/howto/silva.fasta"
awk -v out="$HOME/howto/activity.tsv" 'BEGIN { srand(6); print "id\tactivity\thalf_life" > out; for (i = 1; i <= 200; i++) { n = int(9 * rand()); s = ""
    for (k = 0; k < 30; k++) { for (j = 0; j < 4; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1); if (k % 9 < n) s = s "TATAAA" }
    printf ">p%d\n%s\n", i, s; print "p" i "\t" 1000 * n "\t" (i % 9 ? n / 1000 : "NA") > out } }' > "$HOME/howto/promoters.fa"
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
T 'an error rate leaves contigs unclassified' sh -c '[ "$(wc -l < own_calls.tsv)" = 74 ] && grep -q "low_confidence$" own_calls.tsv'
T 'the model of two values predicts both' sh -c '
    [ "$(awk -F "\t" "\$2 == \"all\" && \$3 != \".\" && \$4 == \"r2\" && \$5 > 0.8" activity.metrics.tsv | wc -l)" = 2 ] &&
    head -n 1 predicted.tsv | grep -q "^name	length	activity	half_life	" && [ "$(sed 1d predicted.tsv | wc -l)" = 200 ]'
T 'amplicons have the genera of their references' awk -F '\t' 'NR > 1 { n += $3 ~ ";Genus_" substr($1, 2) "$" } END { exit n < 10 }' genera.tsv
T 'lineages of other databases' sh -c 'sed -n "s/^\* UTAX.*//p; s/^  .\(awk .*\).$/\1/p" "$1" > utax && sed -n "s/.*: .\(awk .*\).$/\1/p" "$1" > dada2 &&
    [ "$(printf ">a;tax=d:Bacteria,p:B_s,g:X;\nAC\n" | sh utax)" = "$(printf ">a tax=Bacteria;B_s;X\nAC")" ] &&
    [ "$(printf ">Bacteria;X;\nAC\n" | sh dada2)" = "$(printf ">1 tax=Bacteria;X;\nAC")" ]' - "$srcdir/docs/howto.md"
T 'the adapted model predicts hidden bases, and embeds every sequence' sh -c 'awk "END { exit !(\$12 < 3.95) }" adapted.metrics.tsv &&
    [ "$(sed 1d new.vectors.npy.names.tsv | wc -l)" = "$(grep -c ">" new.fa)" ]'
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

# Sentences about `predict`, from all folds: docs/howto.md, the manual page and the table of the results.
cat > regions.awk <<'EOF'
NR > 1 { v[$1 != 0, $2, $3] = $4; of[$1 != 0, $2, $3] = $5 }
function found(set, f) { return sprintf("%.0f", v[f, set, "regions found"] * of[f, set, "regions found"]) }
function all_of(set) { return of[0, set, "regions found"] + of[1, set, "regions found"] }
function share(bp,   m, p) {
    m = "mitochondrion " bp; p = "plastid " bp
    return (found(m, 0) + found(m, 1) + found(p, 0) + found(p, 1)) / (all_of(m) + all_of(p))
}
function bases(set, f) { return of[f, set, "false bases per Mbase"] / 1e6 }
function regions(set, f) { return of[f, set, "false regions per Mbase"] }
function apart(set) { return (bases(set, 0) + bases(set, 1)) / (regions(set, 0) + regions(set, 1)) }
function three(set, f) {
    return sprintf("%.2f, %.2f, %.2f", v[f, set " 500", "regions found"], v[f, set " 1000", "regions found"],
                   v[f, set " 3000", "regions found"])
}
END {
    prophages = sprintf("at least half of %d of %d prophages", found("prophage", 0) + found("prophage", 1), all_of("prophage"))
    virus = sprintf("one virus region per %.1f million bases of bacteria without a known prophage", apart("clean"))
    words = split("one two three four five six seven eight nine ten", word, " ")
    organelle = "one organelle region per " word[int(apart("nuclear") + 0.5)]
    if (page == "howto")
        printf "%s\n%.2f of the organelle insertions of 3,000 bp, %.2f of 1,000 bp and %.2f of 500 bp\n%s\n%s million bases\n",
            prophages, share(3000), share(1000), share(500), virus, organelle
    else if (page == "man")
        printf "%s\n%.0f %% of the insertions of mitochondria and plastids of 500 bases, %.0f %% of 1000 and %.0f %% of 3000\n%s\n%s million bases\n",
            prophages, 100 * share(500), 100 * share(1000), 100 * share(3000), virus, organelle
    else
        printf "| %d of %d | %d of %d |\n| mitochondria in nuclear sequence found: 500, 1,000, 3,000 bp | %s | %s |\n| plastids found | %s | %s |\n",
            found("prophage", 0), of[0, "prophage", "regions found"], found("prophage", 1), of[1, "prophage", "regions found"],
            three("mitochondrion", 0), three("mitochondrion", 1), three("plastid", 0), three("plastid", 1)
}
EOF
# has_sentences NAME FILE: does FILE, as one line, have all lines that regions.awk prints for NAME? Prints missing ones.
cat > has_sentences.sh <<'EOF'
tr '\n' ' ' < "$2" > joined
awk -F '\t' -v page="$1" -f regions.awk "$srcdir/tests/bench/results/regions.tsv" > sentences
[ -s sentences ] && while IFS= read -r line; do grep -qF -e "$line" joined || { echo "$line"; missing=1; }; done < sentences
[ -z "$missing" ]
EOF
T 'figures of predict in the recipes' sh has_sentences.sh howto "$srcdir/docs/howto.md"
T 'figures of predict in its manual page' sh has_sentences.sh man "$srcdir/man/chordseq-predict.1.in"
T 'figures of predict in the table of results' sh has_sentences.sh results "$srcdir/tests/bench/results/README.md"
