# ingest_fastx.t - every FASTA and FASTQ file of the shared ingest set, sound or broken: read whole,
# or refused with the file, the line or record, and the reason.
#
# tests/cli/expect/ingest_fastx.tsv has been read line by line against the set's manifest: what was
# broken on purpose is refused, protein and other formats are refused, everything else is read; the
# counts were compared with those of an independent parser and of the set's README.
. "$srcdir/tests/cli/lib.sh"

ingest=$CS_SHARED/data/ingest
if [ ! -f "$ingest/manifest.tsv" ]; then
    S 'the shared ingest set' "no '$ingest'"
    exit
fi
cd "$ingest" || exit 1
files=$(cut -f 1 manifest.tsv | grep -E '\.(fa|fasta|fq|fastq|fna|pro)(\.(gz|bgz|xz))?$' | sort)
cd "$tmp" || exit 1
cat > run <<'END'
cd "$1" && shift && exec "$builddir/tests/unit/ingest_fastx" "$@"
END
P ingest_fastx.tsv     sh run "$ingest" $files
P ingest_fastx.tsv     sh run "$ingest" -t 2 $files
# The same bytes through a pipe, which cannot be sought in: all but the name in the messages.
T 'from a pipe as from a file' sh -c 'cd "$1" && for f in $2; do
    "$builddir/tests/unit/ingest_fastx" - < "$f" | cut -f 2- | sed "s|standard input|$f|"
done > "$tmp/piped" && cut -f 2- "$srcdir/tests/cli/expect/ingest_fastx.tsv" | cmp - "$tmp/piped"' \
    - "$ingest" "$files"
