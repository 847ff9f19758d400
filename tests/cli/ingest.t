# ingest.t - every file of the shared ingest set: read completely, or refused with the
# file, the line or record, and the reason.
#
# tests/cli/expect/ingest.tsv has a line per file: its name, how it was read, ok with counts or the
# message. Lines of FASTA and FASTQ files were reviewed with the set's manifest: files broken on purpose,
# protein and other formats are refused, all others are read; counts were compared with an independent
# parser and the set's README. A CRAM file is read with the reference beside it; most have none.
# htslib accepts headers, names and tags of SAM that its specification rejects: sequences are read.
. "$srcdir/tests/cli/lib.sh"

ingest=$CS_SHARED/data/ingest
if [ ! -f "$ingest/manifest.tsv" ]; then
    S 'the shared ingest set' "no '$ingest'"
    exit
fi
cat > run <<'END'
read="$builddir/tests/unit/ingest"
cd "$1" && shift || exit
cut -f 1 manifest.tsv | tail -n +2 | grep -v '\.cram$' | sort | tr '\n' '\0' |
    xargs -0 "$read" "$@" | sed 's/	/	plain	/' || exit
for f in $(cut -f 1 manifest.tsv | grep '\.cram$' | sort); do
    fa=${f%.cram}.fa
    if [ -f "$fa" ]; then
        rm -f "$tmp"/reference.fa* && cp "$fa" "$tmp/reference.fa"
        "$read" "$@" -r "$tmp/reference.fa" "$f" | sed 's/	/	reference	/'
    else
        "$read" "$@" "$f" | sed 's/	/	plain	/'
    fi || exit
done
END
P ingest.tsv     sh run "$ingest"
# Variants, by what variant reads them with and by what diplotype does, and regions: file, reader,
# exit status, outcome. Of the specification's own files all that are called passed are read; of
# those called failed, both refuse what would change a record, in the same words, and leave
# declarations in headers to bcftools. An index of FASTA has the columns of BED.
cat > others <<'END'
cd "$1" || exit
names() { cut -f 1 manifest.tsv | grep -E "$1" | sort | tr '\n' '\0'; }
names '\.(vcf|bcf)(\.gz)?$' | xargs -0 "$builddir/tests/unit/ingest" -f variants &&
    names '\.(vcf|bcf)(\.gz)?$' | xargs -0 "$builddir/tests/unit/ingest" -f genotypes &&
    names '\.(bed|fai)$' | xargs -0 "$builddir/tests/unit/ingest" -f regions
END
P ingest-others.tsv sh others "$ingest"
T 'outcomes per reader' awk -F '\t' '{ n[$2]++ } $3 != ($4 !~ /^ok /) { exit 1 }
    $3 && index($4, "\047" $1 "\047") != 1 { exit 1 } $1 ~ /\/passed\// && $3 { exit 1 }
    { sub(/SAM, BAM, CRAM, /, "") } $2 == "variants" { said[$1] = $3 ? $4 : "" } $2 == "genotypes" && ($3 ? $4 : "") != said[$1] { exit 1 }
    END { exit n["variants"] != n["genotypes"] || n["variants"] < 190 || n["regions"] < 12 }' \
    "$expect/ingest-others.tsv"
export expect
cat > some <<'END'
cd "$1" && shift || exit
grep '	plain	' "$expect/ingest.tsv" | cut -f 1 | tr '\n' '\0' |
    grep -zE '\.(fa|fasta|fq|fastq|fna|pro)(\.(gz|bgz|xz))?$' > "$tmp/names"
xargs -0 "$builddir/tests/unit/ingest" -t 2 < "$tmp/names" | sed 's/	/	plain	/' > "$tmp/threaded"
grep -E '\.(fa|fasta|fq|fastq|fna|pro)(\.(gz|bgz|xz))?	plain	' "$expect/ingest.tsv" |
    cmp - "$tmp/threaded"
END
T 'FASTA and FASTQ with threads' sh some "$ingest"
T 'every file has an outcome' sh -c '[ "$(wc -l < "$1")" = "$(tail -n +2 "$2" | wc -l)" ] &&
    ! cut -f 3 "$1" | grep -v "^ok [0-9]* records [0-9]* bases$\|^'\''.*'\''.*[a-z]"' \
    - "$expect/ingest.tsv" "$ingest/manifest.tsv"
T 'refused files are named' awk -F '\t' '$3 !~ /^ok/ && index($3, "\047" $1 "\047") != 1 { exit 1 }' \
    "$expect/ingest.tsv"
# The same bytes through a pipe, which cannot be sought in: all but the name in the messages.
T 'a pipe is read like a file' sh -c 'cd "$1" && grep "	plain	" "$expect/ingest.tsv" |
    grep -E "\.(fa|fasta|fq|fastq|fna|pro)(\.(gz|bgz|xz))?	" > "$tmp/want" &&
    cut -f 1 "$tmp/want" | while read -r f; do
    "$builddir/tests/unit/ingest" - < "$f" | cut -f 2- | sed "s|standard input|$f|"
done > "$tmp/piped" && cut -f 3- "$tmp/want" | cmp - "$tmp/piped"' - "$ingest"

