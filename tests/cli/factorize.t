# factorize.t - `chordseq factorize`: more accurate than the truncated SVD on the paper's kinds of matrices only.
. "$srcdir/tests/cli/lib.sh"

gen=$builddir/tests/bench/gen_matrix
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
for kind in image sparse low-rank; do $gen $kind 128 1 $kind.npy; done

# better FILE CONDITION: does it hold for f and s, the relative errors of factors and SVD?
better()
{
    awk -F '\t' '$1 == "factors" { f = $5; nf = $3 } $1 == "svd" { s = $5; ns = $3 }
        END { exit !(NR == 3 && ns >= nf && ns < nf + 256 && ('"$2"')) }' "$1"
}

lapack=yes
chordseq factorize -q -i sparse.npy --steps 1 | grep -q '^svd' || lapack=no
if [ $lapack = yes ]; then
    for kind in image sparse low-rank; do
        chordseq factorize -i $kind.npy --steps 1500 -@ 1 > $kind.tsv
    done
    T 'fine strokes: a smaller error than the SVD' better image.tsv 'f < 0.95 * s'
    T 'sparse numbers: better than the SVD' better sparse.tsv 'f < 0.9 * s'
    T 'low rank: worse than the SVD' better low-rank.tsv 's < 1e-12 && f > 0.02'
else
    S 'a smaller error than the SVD' 'no LAPACK'
    N factorize-lapack.err sh -c 'chordseq factorize -i sparse.npy --steps 1 > out; exit 1'
fi

# ---- files ---------------------------------------------------------------------------------------

$gen sparse 48 2 small.npy
T 'factors and pictures' chordseq factorize -q -i small.npy --steps 300 -o a --plot a.svg -@ 1
T 'six factors and their index' [ "$(echo a.*.npy)" = \
    'a.1.npy a.2.npy a.3.npy a.4.npy a.5.npy a.6.npy a.index.npy' ]
T 'standard input and three threads give the same files' sh -c 'cat small.npy |
    chordseq factorize -i - --steps 300 -o b --plot b.svg -@ 3 &&
    for f in 1 2 3 4 5 6 index; do cmp a.$f.npy b.$f.npy || exit 1; done && cmp a.svg b.svg'
T 'standard input is read from its position' sh -c '{ echo gone; cat small.npy; } > more &&
    { read -r first && chordseq factorize -i - --steps 300 -o b; } < more && cmp a.1.npy b.1.npy'
T 'another seed gives other factors' sh -c 'chordseq factorize -i small.npy --steps 300 --seed 2 -o c &&
    ! cmp -s a.1.npy c.1.npy'
T 'dense factors, a picture of points' \
    chordseq factorize -i small.npy --steps 300 --dense -o d --plot d.png
T 'dense factors have no index' [ "$(echo d.*.npy)" = 'd.1.npy d.2.npy d.3.npy d.4.npy d.5.npy d.6.npy' ]
T 'as many factors as wanted' sh -c 'chordseq factorize -i small.npy --steps 10 --factors 3 -o e &&
    [ "$(echo e.*.npy)" = "e.1.npy e.2.npy e.3.npy e.index.npy" ]'

# Readers take the files in turn until one is missing.
cp -p e.3.npy older.npy
N factorize-earlier.err chordseq factorize -i small.npy --steps 10 --factors 2 -o e
T 'refused before the fit, the earlier files stay' sh -c 'cmp e.3.npy older.npy && [ ! e.1.npy -nt e.3.npy ]'
N factorize-index.err   chordseq factorize -i small.npy --steps 10 --factors 3 --dense -o e
T 'the same number of factors, or more, replaces them' sh -c 'chordseq factorize -i small.npy --steps 11 --factors 3 -o e &&
    chordseq factorize -i small.npy --steps 11 --factors 4 -o e && ! cmp -s e.3.npy older.npy && [ "$(echo e.*.npy)" = "e.1.npy e.2.npy e.3.npy e.4.npy e.index.npy" ]'

mkdir g.3.npy
for to in out /dev/full; do
    T "a failed run leaves no file: $to" sh -c '! chordseq factorize -q -i small.npy --steps 1 -o $1 --plot g.svg > $2 &&
        rm -rf g.3.npy && [ -z "$(ls | grep "^g[.]")" ]' - g $to
done

# Read by NumPy, the product of the written factors has the reported error.
if python3 -c 'import numpy' 2> /dev/null; then
    chordseq factorize -i small.npy --steps 300 > small.tsv
    T 'NumPy gives the same product' python3 -c '
import numpy as np
a, index, p, dense = np.load("small.npy"), np.load("a.index.npy"), np.eye(48), np.eye(48)
for m in range(1, 7):
    p = np.einsum("ik,ikj->ij", np.load(f"a.{m}.npy"), p[index])
    dense = np.load(f"d.{m}.npy") @ dense
row = [l.split("\t") for l in open("small.tsv")][1]
assert np.allclose(p, dense, atol=1e-12)
assert abs(np.linalg.norm(a - p) - float(row[3])) < 1e-4 * float(row[3])'
else
    S 'NumPy gives the same product' 'no NumPy'
fi

$gen low-rank 900 1 large.npy
T 'a picture of several chunks' sh -c 'chordseq factorize -q -i large.npy --steps 1 --plot large.png &&
    [ "$(wc -c < large.png)" -gt 1100000 ]'
# Valid images: every chunk of a PNG has its checksum, SVG is XML with the same number of images.
with python3 T 'PNG and SVG parse with other programs' python3 -c '
import base64, struct, zlib, xml.dom.minidom as x
def size(b):
    assert b[:8] == b"\x89PNG\r\n\x1a\n"
    at, seen, data = 8, [], b""
    while at < len(b):
        n, kind = struct.unpack(">I4s", b[at:at + 8])
        assert struct.unpack(">I", b[at + 8 + n:at + 12 + n])[0] == zlib.crc32(b[at + 4:at + 8 + n])
        if kind == b"IHDR": w, h, depth, colour = struct.unpack(">IIBB", b[at + 8:at + 18])
        if kind == b"IDAT": data += b[at + 8:at + 8 + n]
        seen.append(kind); at += 12 + n
    parts = len(seen) - 2
    assert seen == [b"IHDR", *[b"IDAT"] * parts, b"IEND"] and depth == 8 and colour == 0
    assert parts == -(-len(data) // 2**20) and len(zlib.decompress(data)) == h * (w + 1)
    return w, h
images = x.parse("a.svg").getElementsByTagName("image")
png = size(open("d.png", "rb").read())
assert len(images) == ('$([ $lapack = yes ] && echo 3 || echo 2)') and png[1] == 288
assert size(open("large.png", "rb").read())[1] == 900
for i in images:
    assert size(base64.b64decode(i.getAttribute("xlink:href").split(",")[1])) == (48, 48)'

# ---- refused -------------------------------------------------------------------------------------

N factorize-none.err     chordseq factorize
N factorize-missing.err  chordseq factorize -i no-such.npy
N factorize-plot.err     chordseq factorize -i small.npy --plot picture.jpg
N factorize-text.err     chordseq factorize -i "$tiny/mixed.fa"
head -c 300 small.npy > cut.npy
N factorize-cut.err      chordseq factorize -i cut.npy
N factorize-shape.err    chordseq factorize -i a.1.npy
N factorize-type.err     chordseq factorize -i a.index.npy
{ head -c 128 small.npy; head -c 18432 /dev/zero | tr '\0' '\377'; } > nan.npy
N factorize-nan.err      chordseq factorize -i nan.npy
# of VALUE FILE: all elements are VALUE, eight bytes
of() { { head -c 128 small.npy; yes "$(printf "$1")" | tr -d '\n' | head -c 18432; } > "$2"; }
of '\132\142\327\327\030\347\164\151' 1e200.npy
of '\301\071\373\217\355\136\202\026' 3e-200.npy
of '\240\310\353\205\363\314\341\177' 1e308.npy
T 'numbers whose squares a double cannot hold' sh -c 'for f in 1e200 3e-200; do chordseq factorize -q -i $f.npy --steps 50 |
    awk -F "\t" -v v=$f "NR == 2 { n = \$4 / \$5 / 48 / v; good = n > 0.99 && n < 1.01 && \$5 > 0 && \$5 < 1 } END { exit !good }" || exit; done'
N factorize-large.err    chordseq factorize -i 1e308.npy
N factorize-lr.err       chordseq factorize -i small.npy --steps 100 --factors 20 --lr 10
# An output that cannot be written is reported before the work, which would take an hour here.
T 'an unwritable path is reported at once' sh -c '! timeout 20 chordseq factorize -i sparse.npy --steps 100000 \
    -o no/such/folder/a 2> msgs && grep -q "no/such/folder/a.1.npy" msgs &&
    ! timeout 20 chordseq factorize -i sparse.npy --steps 100000 --plot no/such/a.svg 2> msgs &&
    grep -q "no/such/a.svg" msgs && ! ls | grep -q "tmp\."'
N factorize-dir.err      chordseq factorize -q -i small.npy --steps 2 -o no/such/folder/a
