# portable.t - wheels for old C libraries and for aarch64: tags, sizes, and equal predictions.
#
# Debian bullseye (glibc 2.31) runs the first, QEMU the second. Has the needs of
# packaging/python/portable; CS_PORTABLE names a folder that keeps its sources and libraries.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/root.sh"

for p in apt-get dpkg-source gcc-12 libtoolize; do command -v "$p" > /dev/null || skip_all "no $p"; done
unset CS_LONG
model=$srcdir/refdata/model/default.safetensors
work=${CS_PORTABLE:-$tmp/work}
cp "$tiny"/*.fa "$tiny"/*.fq "$tiny"/*.sam .

timed 'a wheel for x86-64' "$srcdir/packaging/python/portable" -a x86_64 -w "$work" dist
T 'its tag is manylinux_2_28_x86_64' sh -c 'ls dist/chordseq-*-py3-none-manylinux_2_28_x86_64.whl'
T 'it contains all installed files' wheel_is_complete dist/chordseq-*_x86_64.whl
T 'it has at most 100 MB, the limit of PyPI' sh -c '[ "$(cat dist/*_x86_64.whl | wc -c)" -le 100000000 ]'

if can_make_root && [ "$(uname -m)" = x86_64 ]; then
    suite=bullseye
    timed 'a clean root of bullseye' make_root old
    timed 'install Python there' install_in old bowtie2-examples python3-pip
    # After the packages, because one of them overwrites the certificates.
    cp /etc/hosts old/etc/hosts
    [ -z "${PIP_CERT:-}" ] || install -D "$PIP_CERT" "old$PIP_CERT" || exit
    cp dist/*_x86_64.whl *.fa *.fq *.sam old
    zcat old/usr/share/doc/bowtie2/examples/reference/lambda_virus.fa.gz > lambda.fa
    cp lambda.fa old
    timed 'pip installs the wheel' in_root old sh -c 'pip3 install /chordseq-*.whl'
    T 'the wheel passes selftest there' in_root old chordseq selftest
    same_in_root()
    {
        chordseq classify -q --all -m "$model" "$1" > here.tsv && in_root old chordseq classify -q --all "/$1" | cmp - here.tsv
    }
    for f in lambda.fa mixed.fa reads.fq strands.sam; do T "the wheel predicts the same bits there: $f" same_in_root "$f"; done
    cat > old/api.py << 'END'
import pathlib, chordseq
m = chordseq.load()
name, base = pathlib.Path("/lambda.fa").read_text().lstrip(">").split("\n", 1)
api, program = m.classify({name.split()[0]: base.replace("\n", "")}), m.classify(pathlib.Path("/lambda.fa"))
assert [f"{p:.6f}" for p in api.probabilities[0]] == [f"{p:.6f}" for p in program.probabilities[0]]
END
    T 'the Python interface predicts the same there' in_root old python3 /api.py
    T 'the root has no compiler' in_root old sh -c '! command -v cc gcc clang make'
    timed 'install the packages of the notebooks' in_root old pip3 install -q nbclient ipykernel matplotlib pandas scikit-learn
    mkdir old/tree old/shared && cp -R "$srcdir/docs" old/tree
    if [ -d "$CS_SHARED/golden/cdil_dna_pretrained" ]; then
        mkdir old/shared/golden && cp -R "$CS_SHARED/golden/cdil_dna_pretrained" old/shared/golden
    else
        rm old/tree/docs/notebooks/published.ipynb
    fi
    for n in old/tree/docs/notebooks/*.ipynb; do
        timed "${n##*/}" in_root old env srcdir=/tree CS_SHARED=/shared PYTHONDONTWRITEBYTECODE=1 \
            python3 /tree/docs/notebooks/execute --check "/${n#old/}"
    done
else
    S 'a wheel in bullseye' "${missing:-another processor}"
fi

for p in aarch64-linux-gnu-gcc-12 qemu-aarch64; do
    command -v "$p" > /dev/null || { S 'a wheel for aarch64' "no $p"; exit; }
done
timed 'a wheel for aarch64' "$srcdir/packaging/python/portable" -a aarch64 -w "$work" dist
T 'its tag is manylinux_2_28_aarch64' sh -c 'ls dist/chordseq-*-py3-none-manylinux_2_28_aarch64.whl'
T 'it contains all installed files' wheel_is_complete dist/chordseq-*_aarch64.whl
T 'the aarch64 wheel unpacks' python3 -m zipfile -e dist/chordseq-*_aarch64.whl arm
chmod +x arm/chordseq/bin/chordseq
# The C library of Debian's cross compiler.
arm() { qemu-aarch64 -L /usr/aarch64-linux-gnu arm/chordseq/bin/chordseq "$@"; }
T 'the aarch64 program has NEON' sh -c 'qemu-aarch64 -L /usr/aarch64-linux-gnu arm/chordseq/bin/chordseq --version --verbose |
    grep -qx "kernels *neon"'
same()
{
    chordseq classify -q --all -m "$model" "$1" > here.tsv && arm classify -q --all "$1" | cmp - here.tsv
}
for f in mixed.fa reads.fq strands.sam; do timed "the aarch64 program predicts the same bits: $f" same "$f"; done
