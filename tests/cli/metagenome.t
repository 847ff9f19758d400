# metagenome.t - every command of docs/metagenome.md, in a home of its own.
. "$srcdir/tests/cli/lib.sh"

HOME=$tmp/home
CHORDSEQ_MODEL=$srcdir/refdata/model/default.safetensors
export HOME CHORDSEQ_MODEL
mkdir -p "$HOME" && ln -s "$srcdir" "$HOME/chordseq" || exit 1

page_script "$srcdir/docs/metagenome.md" > script || exit 1
T 'the page runs' sh script
cd "$HOME/metagenome" || exit 1
T 'a pair has one call' sh -c '[ "$(wc -l < reads.tsv)" = 401 ]'
T 'every long read has a line' sh -c '[ "$(wc -l < long.tsv)" = 81 ] && [ "$(wc -l < long_sure.tsv)" = 81 ]'
T 'every contig is in one of the bins' sh -c '[ "$(cat bins/*.fasta | grep -c ">")" = 73 ]'
with kraken2-build T 'Kraken 2 leaves what it does not know to chordseq' sh -c '
    [ "$(grep -c "^C.*host" known.kraken)" = 40 ] && [ "$(wc -l < rest.tsv)" -gt 50 ] && ! grep -q "^host" rest.tsv'

# The page's tables are those of the benchmark.
T 'the community' page_has_rows docs/metagenome.md community.tsv '
    $2 == "known" || $2 == "new" {
        a[$1, $2, $3] = sprintf("%.2f | %.2f | %.2f", $5, $6, $7); off[$1, $3] = sprintf("%.2f", $8) }
    END {
        kind["pairs of 150 bp"] = "short reads, pairs of 150 bp"; kind["noisy long reads"] = "long reads, 10 % errors"
        kind["contigs"] = "contigs of MEGAHIT"
        name["chordseq"] = "chordseq"; name["chordseq all"] = "chordseq `--min-prob 0`"
        name["chordseq shares"] = "chordseq, estimated shares"
        name["accurate"] = "chordseq `--model accurate`"; name["accurate all"] = "chordseq `--model accurate --min-prob 0`"
        name["kraken2"] = "Kraken 2"; name["kraken2, chordseq"] = "Kraken 2, then chordseq"
        for (k in kind)
            for (p in name)
                print "| " (p == "kraken2" ? kind[k] : "") " | " name[p] " | " a[k, "known", p] " | " a[k, "new", p] " | " off[k, p] " |"
    }'
T 'reads of sequencers' page_has_rows docs/metagenome.md community.tsv '
    $2 == "species" { called[$1, $3] = sprintf("%.2f", $6); right[$1, $3] = sprintf("%.2f", $7); kind[$1] }
    END {
        for (k in kind)
            print "| " k " | " called[k, "kraken2"] " | " right[k, "kraken2"] " | " called[k, "chordseq"] " | " \
                right[k, "chordseq"] " | " right[k, "chordseq all"] " | " called[k, "chordseq shares"] " | " \
                right[k, "chordseq shares"] " | " called[k, "accurate"] " | " right[k, "accurate"] " | " \
                right[k, "accurate all"] " |"
    }'
