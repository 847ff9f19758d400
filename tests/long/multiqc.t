# multiqc.t - MultiQC's page over real outputs; CS_PAGE=FILE.png keeps a picture of it.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"
python_tools multiqc || skip_all "$missing"

model=$srcdir/refdata/model/default.safetensors
for i in 1 2 3; do
    "$builddir/tests/bench/gen_fasta" 400000 $i 100 9000 > s$i.fa &&
        chordseq classify -q -m "$model" --min-prob 0.3 --sample "sample$i" \
            --summary "s$i.chordseq_summary.json" -o "s$i.tsv" s$i.fa || exit 1
done
chordseq train -q --class a=s1.fa --class b="$tiny/mixed.fa" --epochs 1 --encoder.track 4 --encoder.hidden 8 \
    --seed 1 -o own.safetensors &&
    chordseq eval -q -m own.safetensors --class a=s1.fa --class b=s2.fa --fragments 200,1000 \
        --json own.eval.json -o own.tsv || exit 1

T 'a page with every run and evaluation' sh -c 'multiqc --no-ansi --strict -o page . 2> msgs &&
    grep -q "Found 3 summaries and 1 evaluations" msgs'
T "the page's metrics are those of the tables" sh -c '
    for i in 1 2 3; do
        awk -F "\t" -v OFS="\t" "NR > 1 { n[\$3]++; all++ }
            END { for (c in n) print (c == \"unclassified\" ? \"no call\" : c), n[c]; print \"records\", all }" \
            s$i.tsv | sort > want
        awk -F "\t" -v s="sample$i" -v OFS="\t" "NR == 1 { split(\$0, name, FS); next }
            \$1 == s { for (k = 2; k <= NF; k++) if (name[k] !~ /^(bases|mean_length|called)\$/ && \$k > 0)
                print name[k], \$k + 0 }" page/multiqc_data/multiqc_chordseq.txt | sort > got
        diff want got || exit
    done'
T "the page's accuracy is that of eval" sh -c '
    want=$(awk -F "\t" "\$1 == \"record\" && \$2 == \"all\" && \$3 == \".\" && \$4 == \"accuracy\" { print \$5 }" own.tsv)
    got=$(awk -F "\t" "NR == 1 { for (k = 1; k <= NF; k++) if (\$k == \"accuracy\") a = k }
        \$1 == \"own: record\" { print \$a }" page/multiqc_data/multiqc_chordseq_eval.txt)
    awk -v a="$want" -v b="$got" "BEGIN { exit !(a > 0 && a - b < 1e-5 && b - a < 1e-5) }"'
T 'every section of the page' sh -c 'for p in classes reasons confidence evaluated length reliability; do
    grep -q "id=\"chordseq-$p" page/multiqc_report.html || { echo "no $p"; exit 1; }; done'
with chromium T 'a browser draws its plots' sh -c '. "$srcdir/tests/long/tools.sh"
    dump_dom "$PWD/page/multiqc_report.html" dom && [ "$(grep -o "class=\"main-svg\"" dom | wc -l)" -ge 5 ] &&
    for name in virus sample1 sample3 "chordseq: Classes" "chordseq: Confidence" "chordseq: Reliability"; do
        grep -q ">$name<" dom || { echo "no $name"; exit 1; }; done'
[ -z "${CS_PAGE:-}" ] || chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=20000 \
    --window-size=1400,4000 --screenshot="$CS_PAGE" "file://$PWD/page/multiqc_report.html" > /dev/null 2>&1

T 'a run without --sample has the name of its file or folder' sh -c 'mkdir -p names/north names/south &&
    chordseq classify -q -m "$1" --summary names/north/chordseq_summary.json -o x "$2" &&
    cp names/north/chordseq_summary.json names/south/ && cp names/north/chordseq_summary.json names/west_summary.json &&
    multiqc -q -o names/page names && cut -f 1 names/page/multiqc_data/multiqc_chordseq.txt | sort | tr "\n" " " > got &&
    [ "$(cat got)" = "Sample north south west " ]' - "$model" "$tiny/reads.fq"
T 'a damaged summary is reported and skipped' sh -c 'mkdir cut && head -c 1200 s1.chordseq_summary.json > cut/a.json &&
    cp s2.chordseq_summary.json cut/ && multiqc --no-ansi -o cut/page cut 2> msgs && grep -q "Left out .*cut/a.json" msgs &&
    [ "$(wc -l < cut/page/multiqc_data/multiqc_chordseq.txt)" = 2 ]'
T 'files of other programs are ignored' sh -c 'mkdir others && echo "{\"chordseq_like\": 1}" > others/a.json &&
    echo "[1, 2]" > others/b.json && multiqc --no-ansi -o others/page others 2> msgs; ! grep -q "Found\|Left out" msgs'
# Kraken 2's report is read by MultiQC's own module.
T "a report is one of MultiQC's kraken module" sh -c 'mkdir kraken && chordseq classify -q -m "$1" \
    --report kraken/s1.report.txt -o x s1.fa && multiqc -q -m kraken -o kraken/page kraken > msgs 2>&1 &&
    want=$(awk -F "\t" "\$4 == \"U\" { print \$2 }" kraken/s1.report.txt) &&
    grep -q "^s1	.*unclassified.: $want}.*Eukaryota" kraken/page/multiqc_data/multiqc_kraken.txt' - "$model"
