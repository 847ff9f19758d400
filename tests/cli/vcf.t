# vcf.t - every VCF and BCF file of the shared ingest set through `chordseq variant`.
#
# tests/cli/expect/vcf.tsv has a line per file: records, alternative alleles, how many of them are
# scored, counts of reasons for the others, and checks by bcftools: `same`, the output is
# valid and equals the input except for our header lines and INFO keys; `split` and `joined`, `norm -m`
# before or after gives the same scores; `none`, bcftools refuses the file, too. The files have no
# reference: sparse_reference.py writes one with REF at the position of each record.
. "$srcdir/tests/cli/lib.sh"

ingest=$CS_SHARED/data/ingest
if [ ! -f "$ingest/manifest.tsv" ]; then
    S 'the shared ingest set' "no '$ingest'"
    exit
fi
command -v bcftools > /dev/null || { S 'every VCF file' 'no bcftools'; exit; }
python=${PYTHON3:-/usr/bin/python3}
"$python" -c '' 2> /dev/null || { S 'every VCF file' "no '$python'"; exit; }

cat > score <<'END'
exec chordseq variant -q -m "$tiny/model.safetensors" -f ref.fa -w 128 --ends fill --no-version "$@"
END
cat > table <<'END'
# ours FILE: without our additions
ours() { grep -v '^##INFO=<ID=CS_' "$1" |
    sed -E 's/;CS_(L2|COS|SKIP|SWAPPED)=[^;	]*//g; s/	CS_(L2|COS|SKIP|SWAPPED)=[^;	]*/	./'; }
# norm HOW FILE OUT
norm() { awk -f "$srcdir/tests/cli/declare.awk" "$2" "$2" | bcftools norm --no-version -m "$1" -o "$3" 2> norm.err; }
# scores FILE: scores of all alleles
scores() { bcftools query -f '%CHROM %POS %REF %ALT %CS_L2 %CS_COS %CS_SKIP\n' "$1"; }

cd "$tmp" || exit
(cd "$1" && find . -name '*.vcf' -o -name '*.vcf.gz' -o -name '*.bcf') | grep -v /failed/ | sort |
while read -r f; do
    in=$1/$f name=${f#./}
    if ! bcftools view --no-version -o in.vcf "$in" 2> view.err; then
        sh score -o gone.vcf "$in" 2> msgs && exit 1
        [ ! -e gone.vcf ] && grep -qF "${f##*/}" msgs || exit
        printf '%s\t.\t.\t.\t.\tnone\n' "$name"
        continue
    fi
    bcftools query -f '%CHROM\t%POS\t%REF\n' in.vcf | "$python" "$srcdir/tests/cli/sparse_reference.py" ref.fa
    sh score --tsv out.tsv -o out.vcf "$in" 2> msgs || grep -q 'no score for any' msgs || exit
    bcftools view out.vcf > /dev/null 2> view.err || { cat view.err; exit 1; }
    case $f in
    *.bcf) cat in.vcf ;;
    *) gzip -cdf "$in" | sed 's/\r$//' ;;
    esac > was.vcf
    ours out.vcf | cmp was.vcf - || exit
    said=same
    # noroundtrip.vcf names GT twice in FORMAT, which norm cannot write.
    if [ "${f##*/}" != noroundtrip.vcf ] && norm -any was.vcf split.vcf; then
        norm -any out.vcf out.split.vcf || exit
        sh score -o split.out.vcf split.vcf 2> msgs || grep -q 'no score for any' msgs || exit
        scores out.split.vcf > a
        scores split.out.vcf > b
        cmp -s a b && said=$said,split
        # Joined and split again: REF may be longer, duplicate alleles are merged, and bcftools does not
        # join fields that one of the records lacks.
        norm +any split.vcf joined.vcf || exit
        sh score -o joined.out.vcf joined.vcf 2> msgs || grep -q 'no score for any' msgs || exit
        norm -any joined.out.vcf again.vcf || exit
        scores again.vcf | cut -d ' ' -f 1,5- | sort -u > a
        cut -d ' ' -f 1,5- b | sort -u | cmp -s a - && said=$said,joined
    fi
    awk -F '\t' -v name="$name" -v records="$(grep -vc '^#' was.vcf)" -v said=$said '
        NR > 1 { n++; sub(/:.*/, "", $6); if ($6 == ".") scored++; else if (!why[$6]++) reason[++k] = $6 }
        END { for (i = 1; i <= k; i++) text = text (i > 1 ? "," : "") reason[i] ":" why[reason[i]]
            printf "%s\t%d\t%d\t%d\t%s\t%s\n", name, records, n, scored, text == "" ? "." : text, said }' out.tsv
done
END
export python
P vcf.tsv sh table "$ingest"
T 'the same output for any split of the input' awk -F '\t' '$1 ~ /noroundtrip.vcf$/ { $6 = $6 ",split,joined" }
    $6 !~ /^(none|same,split,joined)$/ { exit 1 } $6 != "none" { n++; alleles += $3; scored += $4 }
    END { exit n < 40 || scored < 0.9 * alleles }' "$expect/vcf.tsv"
