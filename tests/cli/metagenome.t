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
T 'every contig is in one of the bins' sh -c '[ "$(cat bins/*.fasta | grep -c ">")" = 100 ]'
with kraken2-build T 'Kraken 2 leaves what it does not know to chordseq' sh -c '
    [ "$(grep -c "^C.*host" known.kraken)" = 60 ] && [ "$(wc -l < rest.tsv)" -gt 50 ] && ! grep -q "^host" rest.tsv'
