# pages.t - the pages of classify and eval in a browser, light, dark and printed: text has enough contrast,
# and nothing is wider than the page. CS_PAGES=FOLDER keeps screenshots.
. "$srcdir/tests/cli/lib.sh"
command -v chromium > /dev/null || { S 'the pages' 'no chromium'; exit; }

model=$srcdir/refdata/model/default.safetensors
for i in 1 2; do "$builddir/tests/bench/gen_fasta" 409600 $i 100 9000 > s$i.fa || exit 1; done
chordseq classify -q -m "$model" --min-prob 0.3 --html classify.html -o x s1.fa &&
    chordseq eval -q -m "$tiny/model.safetensors" --class classA=s1.fa --class classB=s2.fa \
        --fragments 200,1000 --html eval.html -o x || exit 1

# Contrast of every text with its background: at least 4.5 (WCAG 2.1, 1.4.3).
cat > measure.html <<'END'
<script>
function rgb(c) { return (c.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number) }
function light(c) {
    const l = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]
}
function behind(e) {
    if (!e) return [255, 255, 255]
    const c = rgb(getComputedStyle(e).backgroundColor), a = c.length > 3 ? c[3] : 1
    return a == 1 ? c : behind(e.parentElement).map((v, i) => a * c[i] + (1 - a) * v)
}
let n = 0, least = 99, bad = ""
for (const e of document.body.querySelectorAll("*")) {
    // Browsers show SVG titles in their own colours.
    if (["style", "script", "title"].includes(e.tagName.toLowerCase())
        || ![...e.childNodes].some(t => t.nodeType == 3 && t.data.trim())) continue
    const s = getComputedStyle(e), a = light(rgb(e instanceof SVGElement ? s.fill : s.color)), b = light(behind(e))
    const c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    n++
    if (c < 4.5) bad = e.textContent + " " + c
    least = Math.min(least, c)
}
document.body.innerHTML = "TOLD texts " + n + ", least contrast " + least.toFixed(1) + ", page "
    + behind(document.body).slice(0, 3).map(Math.round)
    + ", too wide " + (document.documentElement.scrollWidth > innerWidth) + ", faint " + bad + ";"
</script>
END
browser() { timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,3000 "$@" 2> /dev/null; }
# measure PAGE HOW: contrast and width in a browser; print styles are applied to the screen
measure()
{
    dark=1
    cp "$1.html" "$1.$2.html"
    case $2 in
    dark) dark=0 ;;
    print) sed -i 's/@media print/@media screen/; s/@media (prefers-color-scheme:dark)/@media not all/' "$1.$2.html" ;;
    esac
    [ -z "${CS_PAGES:-}" ] || browser --blink-settings=preferredColorScheme=$dark \
        --screenshot="$CS_PAGES/$1.$2.png" "file://$PWD/$1.$2.html" > /dev/null
    # The page's policy forbids scripts.
    sed -i '/Content-Security-Policy/d' "$1.$2.html" && cat measure.html >> "$1.$2.html"
    browser --blink-settings=preferredColorScheme=$dark --dump-dom "file://$PWD/$1.$2.html" |
        sed -n 's/.*TOLD \(.*\);.*/\1/p' > "$1.$2.msgs"
    cat "$1.$2.msgs"
    grep -q '^texts [0-9][0-9][0-9]*, .*, too wide false, faint $' "$1.$2.msgs"
}
for page in classify eval; do
    for how in light dark print; do
        T "$page is readable: $how" measure $page $how
        echo "# $(cat $page.$how.msgs)"
    done
done
T 'the dark page is dark, the others are not' sh -c 'grep -q "page 2[0-9],2[0-9],2[0-9]," classify.dark.msgs &&
    grep -q "page 255,255,255," classify.light.msgs && grep -q "page 255,255,255," eval.print.msgs'
T 'the page of eval prints to PDF' sh -c 'timeout 120 chromium --headless --no-sandbox --disable-gpu --print-to-pdf="$PWD/e.pdf" \
    "file://$PWD/eval.html" && head -c 5 e.pdf | grep -q "%PDF-"'
