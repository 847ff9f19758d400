# readme.t - the commands of README.md, on files of the tutorial, and their output as shown.
. "$srcdir/tests/cli/lib.sh"

"$srcdir/docs/tutorial/make_data" && gzip -c calls.vcf > calls.vcf.gz && cp long.fq.gz reads.fq.gz &&
    for k in host parasite; do awk -v k=$k '/^>/ { $0 = $0 " host=" k " family=" k int(n / 2); n++ } 1' $k.fa; done | gzip > labelled.fa.gz || exit 1

# ```console blocks: lines `$ COMMAND` and their output. The training budget is reduced.
awk '/^```console$/ { s = 1; next } /^```/ { s = 0 } s' "$srcdir/README.md" > shown
sed -n 's/^\$ //p' shown | sed 's/--budget 10m/--budget 1M/' > commands
T 'README.md has commands' sh -c '[ "$(wc -l < commands)" -ge 6 ]'
n=0
while read -r line; do
    n=$((n + 1))
    case $line in
    chordseq*) T "$line" sh -c "$line" ;;
    *) with "${line%% *}" T "$line" sh -c "{ $line; } > said.$n < /dev/null" ;;
    esac
done < commands
grep -v '^\$' shown > want && cat said.[0-9] | head -n "$(wc -l < want)" > got
T 'outputs equal those shown' diff want got
