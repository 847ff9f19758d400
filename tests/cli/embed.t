# embed.t - `chordseq embed`: a vector per record.
. "$srcdir/tests/cli/lib.sh"

m=$tiny/model.safetensors
cp "$tiny/mixed.fa" "$tiny/reads.fq" .

P embed.tsv        sh -c 'chordseq embed -q -m "$1" --format tsv -o - mixed.fa | cut -f 1-5,43 |
    sed -E "s/([0-9]\.[0-9]{3})[0-9]+/\1/g"' - "$m"
T 'NPY and its names' chordseq embed -q -m "$m" -o v.npy mixed.fa
P embed.names      cat v.npy.names.tsv
T 'names elsewhere' sh -c 'chordseq embed -q -m "$1" -o w.npy --names w.tsv mixed.fa && cmp w.npy v.npy &&
    cmp w.tsv v.npy.names.tsv && [ ! -e w.npy.names.tsv ]' - "$m"
T 'vectors do not depend on threads and batch size' sh -c 'for o in "-@ 1" "-@ 3 -B 1024" "--chunks-in-flight 1"; do
    chordseq embed -q -m "$1" -o w.npy $o mixed.fa && cmp w.npy v.npy || exit; done' - "$m"
T 'a single record has the same vector' sh -c 'awk "/^>/ { n++ } n == 5" mixed.fa > one.fa &&
    chordseq embed -q -m "$1" -o one.npy one.fa && tail -c 160 one.npy > a &&
    tail -c "$((22 * 160))" v.npy | head -c "$((5 * 160))" | tail -c 160 | cmp - a' - "$m"
T 'an empty input is an empty matrix' sh -c ': > empty.fa; chordseq embed -q -m "$1" -o e.npy empty.fa &&
    grep -aq "(0, 40)" e.npy' - "$m"

T 'vectors of strands are averaged, whatever happens to predictions' sh -c 'chordseq embed -q -m "$1" -o f.npy --strand forward mixed.fa &&
    chordseq embed -q -m "$1" -o b.npy --strand both mixed.fa && ! cmp -s f.npy b.npy && chordseq embed -q -m "$1" -o x.npy --strand max mixed.fa && cmp x.npy b.npy' - "$m"

# The head applied to these vectors gives the predictions of classify.
numpy() { /usr/bin/python3 -c 'import numpy' 2> /dev/null && T "$@" || S "$1" 'no numpy'; }
cat > check.py <<'END'
import json, struct, subprocess, sys
import numpy as np
model = sys.argv[1]
raw = open(model, "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
def tensor(name):
    t = head[name]
    a, b = t["data_offsets"]
    return np.frombuffer(raw[8 + n + a:8 + n + b], "<f4").reshape(t["shape"]).astype(float)
table = subprocess.run(["chordseq", "classify", "-q", "-m", model, "--all", "mixed.fa"],
                       capture_output=True, text=True, check=True).stdout.splitlines()[1:]
v = np.load("v.npy")
assert v.dtype == np.float32 and len(v) == len(table) == 22
n_row = 0
for row, line in zip(v, table):
    field = line.split("\t")
    assert np.isnan(row).all() == (field[4] != ".")
    if field[4] == ".":
        y = tensor("head.weight") @ row + tensor("head.bias")
        p = np.exp(y - y.max())
        assert np.abs(p / p.sum() - [float(x) for x in field[5:]]).max() < 2e-6
        n_row += 1
assert n_row > 10
END
numpy 'the head on top of them predicts as classify does' /usr/bin/python3 check.py "$m"
"$builddir/tests/cli/make_model" deep 5 head.hidden=6 head.norm=layer encoder.max-len=64 encoder.track=4 encoder.hidden=4
T 'the hidden layer of a head' sh -c 'chordseq embed -q -m deep --vector hidden --format tsv -o - reads.fq |
    awk -F "\t" "NF != 9 { exit 1 } END { exit NR != 41 }"'
T 'a head without a vector is named' sh -c '! chordseq embed -m variant -o x.npy mixed.fa 2> err &&
    grep -q "the head .variant. has no vector for a sequence; choose another model" err'
# A head that is trained on the same encoder has the same vectors.
awk 'BEGIN { srand(1); for (i = 0; i < 12; i++) { printf ">r%d class=%d\n", i, i % 2
    for (k = 0; k < 90 + 9 * i; k++) printf "%s", substr("ACGT", 1 + int(4 * rand()), 1); print "" } }' > r.fa
"$builddir/tests/cli/make_model" tok 5 tokenizer=base encoder=cdil head=token labels=4 head.predictor=cdil head.predictor-layers=1 \
    encoder.layers=2 encoder.hidden=8 && chordseq train -q --init tok --freeze encoder --label-key class --epochs 1 -o cls r.fa || exit 1
T 'the vector of a model per token is the mean of its encoder' sh -c 'for o in "--strand forward" "--strand both" \
    "--long-sequence window --window-length 64"; do
    # shellcheck disable=SC2086 # a list of options
    chordseq embed -q -m tok $o -o tok.tsv r.fa && chordseq embed -q -m cls $o -o cls.tsv r.fa && cmp tok.tsv cls.tsv &&
        [ "$(cut -f 3 tok.tsv | sort -u | wc -l)" = 13 ] || exit; done'
N classify-pretrained.err chordseq classify -m "$srcdir/refdata/model/human-lm.safetensors" r.fa
N embed-token-hidden.err chordseq embed -m tok --vector hidden -o x.npy r.fa
N embed-hidden.err chordseq embed -m "$m" --vector hidden -o x.npy mixed.fa
for end in parquet txt npy.gz; do N embed-$end.err chordseq embed -m "$m" -o e.$end mixed.fa; done
T 'no file of that name is created' sh -c '! ls e.parquet e.txt e.npy.gz 2> /dev/null'
T 'the suffix selects the format' sh -c 'chordseq embed -q -m "$1" -o e.tsv mixed.fa && head -n 1 e.tsv | grep -q "^name	" &&
    for f in csv csv.gz tsv.gz tsv.bgz npz; do chordseq embed -q -m "$1" -o e.$f mixed.fa || exit; done
    tr "\t" , < e.tsv | cmp - e.csv && gzip -dc e.tsv.gz | cmp - e.tsv && gzip -dc e.csv.gz | cmp - e.csv &&
    gzip -dc < e.tsv.bgz | cmp - e.tsv && cmp e.npz.names.tsv v.npy.names.tsv' - "$m"
with python3 T 'NPZ is a ZIP archive of the NPY file' python3 -c 'import zipfile
z = zipfile.ZipFile("e.npz")
assert z.namelist() == ["vectors.npy"] and z.testzip() is None and z.read("vectors.npy") == open("v.npy", "rb").read()'
numpy 'NumPy reads NPZ' /usr/bin/python3 -c 'import numpy as np
assert np.array_equal(np.load("e.npz")["vectors"], np.load("v.npy"), equal_nan=True)'
N embed-shard-npz.err chordseq embed -m "$m" --shard 1/2 --manifest x.json -o x.npz mixed.fa
N embed-none.err   chordseq embed -m "$m" mixed.fa
N embed-pipe.err   sh -c 'chordseq embed -m "$1" --names n -o - mixed.fa | cat; exit 2' - "$m"
N embed-stdout.err sh -c 'chordseq embed -m "$1" --format npy -o /dev/stdout mixed.fa > x.npy' - "$m"
T 'standard output gets a table' sh -c 'chordseq embed -q -m "$1" --format tsv -o v.tsv mixed.fa &&
    chordseq embed -q -m "$1" -o - mixed.fa | cmp - v.tsv' - "$m"
N embed-names.err  chordseq embed -m "$m" --format tsv --names n -o x.tsv mixed.fa
T 'a failed run leaves no file' sh -c '{ cat mixed.fa; echo "AC!"; } > cut.fa
    ! chordseq embed -q -m "$1" -o n.npy cut.fa 2> /dev/null && ! ls n.npy* 2> /dev/null' - "$m"
