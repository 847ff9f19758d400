# tutorial.t - every command of docs/tutorial.md, in order, in a new home folder; prints times.
#
# CS_INSTALLED=1 skips section 1 and uses the program of the build folder. With CS_ENV (tools.sh)
# nothing is downloaded.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"
. "$srcdir/tests/long/slurm.sh"

page=$srcdir/docs/tutorial.md
HOME=$tmp/home XDG_CACHE_HOME=$tmp/cache
export HOME XDG_CACHE_HOME
unset PYTHONPATH
mkdir -p "$HOME/.local/bin"

if [ -n "${CS_INSTALLED:-}" ]; then
    ln -s "$srcdir" "$HOME/chordseq" && ln -s "$builddir/chordseq" "$HOME/.local/bin/chordseq"
    CHORDSEQ_MODEL=$srcdir/refdata/model/default.safetensors
    export CHORDSEQ_MODEL
else
    PATH=$(echo "$PATH" | sed "s|^$builddir:||")
    mkdir "$HOME/chordseq" &&
        (cd "$srcdir" && tar -cf - --exclude=./.git --exclude='./build' --exclude='*.o' --exclude='*.a' .) |
            tar -xf - -C "$HOME/chordseq" && chmod -R u+w "$HOME/chordseq" && rm -f "$HOME/chordseq/config.status" \
            "$HOME/chordseq/Makefile"
fi || exit 1

has=' '
if [ -n "${CS_ENV:-}" ]; then
    mkdir -p "$HOME/tutorial" && ln -s "$CS_ENV" "$HOME/tutorial/engine"
else
    has=$has'index '
fi
if slurm_start; then
    has=$has'slurm '
    trap 'slurm_stop; finish' EXIT
fi
[ -n "${CS_INSTALLED:-}" ] || has=$has'install '

# The page's ```sh blocks as a script. A block after a comment `test: WHAT` needs WHAT.
awk -v has="$has" '
    /^## / { if (section != "") print "done_with " section
             section = $2; sub(/\..*/, "", section); needs = usual = section == 1 ? "install" : "" }
    /^<!-- test: / { needs = $3 }
    /^```sh$/ { inside = 1; next }
    /^```/ { if (inside) { inside = 0; needs = usual } else outside = !outside; next }
    inside && (needs == "" || index(has, " " needs " "))
' "$page" > commands || exit 1
cat - commands > script << 'END'
set -eu
done_with()
{
    case $1 in [1-9]) echo "$1 $(($(date +%s) - start))" >> "$tmp/times" ;; esac
    start=$(date +%s)
}
start=$(date +%s)
END
: > times
sh script > out 2>&1; got=$?
for n in $(sed -n 's/^## \([1-9]\)\. .*/\1/p' "$page"); do
    title=$(sed -n "s/^## $n\. //p" "$page")
    T "$n. $title" grep "^$n " times
    sed -n "s/^$n \(.*\)/# $n. $title: \1 s/p" times
done
[ $got -eq 0 ] || tail -n 25 out | sed 's/^/#   /'
for what in index slurm install; do
    case $has in *" $what "*) ;; *) S "blocks that need $what" 'not available, or skipped' ;; esac
done
echo "# the whole page: $(awk '{ s += $2 } END { print s + 0 }' times) s"

# Outputs equal those shown in the page.
cd "$HOME/tutorial" || exit 1
# equals_block FILE FROM: does FILE begin with the page's block that begins with FROM?
equals_block()
{
    awk -v from="$2" '/^```text$/ { inside = 1; at = 0; next } /^```/ { inside = 0 }
        inside && ++at == 1 { here = index($0, from) == 1 } inside && here' "$page" > shown
    [ -s shown ] && head -n "$(wc -l < shown)" "$1" | cut -f 1-3 > got && cut -f 1-3 shown | cmp - got
}
T 'calls equal the page' equals_block calls.tsv name
T 'the report equals the page' equals_block calls.kreport "$(head -n 1 calls.kreport | cut -f 1,2)"
grep -w contig_15 regions.bed > prophage
T 'regions equal the page' equals_block prophage contig_15
T 'scores equal the page' equals_block scored.tsv '#chrom'
{ grep above_ splice.json && head -n 4 top.tsv; grep -c donor top.tsv; } > selected
T 'selected variants equal the page' equals_block selected '      "above'
T 'the model of section 4 separates host and parasite' sh -c '
    awk -F "\t" "\$3 == \".\" && \$4 == \"accuracy\" && \$2 == \"all\" { good = \$5 > 0.9 } END { exit !good }" own.tsv'
T 'the MultiQC page has four samples' sh -c '
    [ "$(wc -l < results/multiqc/multiqc_report_data/multiqc_chordseq.txt)" = 5 ]'
