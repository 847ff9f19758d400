#!/bin/sh
# bench_variant_peers.sh - MMSplice and SpliceAI compared with the default variant models on the splice assays.
#
# Usage   CS_SHARED=DIR tests/bench/bench_variant_peers.sh [WORK]      (make bench-variant-peers)
#
# Installs both from PyPI (TensorFlow for CPUs), scores the labelled variants of data/splice, prints AUROC with
# intervals from contigs, average precision and Spearman's correlation (evaluate_splice.py table), then variants and
# variants per second of processor time on one thread. The default model was trained on these variants:
# its rows are those of train_variant.sh, by models without the variant's chromosome, if FOLDS names its
# WORK_DIR, which has folds.tsv and folds_exons.tsv. MMSplice and SpliceAI were trained on the human genome, and MMSplice's combination of
# modules on Vex-seq variants.
#
# Environment, all optional
#   PEERS             virtual environment with both programs; default WORK/peers, made if missing
#   SPLICEAI_MODELS, SPLICEAI_CONTEXT, SPLICEAI_EVERY   default 5, 5000 and 1: as published, all contigs; hours
#   FOLDS             WORK_DIR of train_variant.sh
set -eu

. "$(dirname "$0")/lib.sh"
data=$CS_SHARED/data/splice
here=$bench/variant
need_data "$data"
scratch "$@"
: "${PEERS:=$tmp/peers}" "${SPLICEAI_MODELS:=5}" "${SPLICEAI_CONTEXT:=5000}" "${SPLICEAI_EVERY:=1}"

if [ ! -x "$PEERS/bin/python" ]; then
    python3 -m venv "$PEERS"
    "$PEERS/bin/pip" install --quiet 'tensorflow-cpu==2.15.*' 'numpy<2' 'setuptools<80' pandas scikit-learn tqdm \
        pyfaidx deprecation colorlog
    "$PEERS/bin/pip" install --quiet --no-deps mmsplice==2.4.0 kipoiseq==0.7.1 spliceai==1.3.1
fi
"$PEERS/bin/python" "$here/peers.py" mmsplice "$data" "$tmp/mmsplice.tsv" > "$tmp/speed"
"$PEERS/bin/python" "$here/peers.py" spliceai "$data" "$tmp/spliceai.tsv" "$SPLICEAI_MODELS" "$SPLICEAI_CONTEXT" \
    "$SPLICEAI_EVERY" >> "$tmp/speed"
for name in mmsplice spliceai; do
    "$PEERS/bin/python" "$here/evaluate_splice.py" table "$data" "$tmp/$name.tsv" | sed "s/^/$name	/"
done
if [ -n "${FOLDS:-}" ]; then
    sed 's/^/chordseq	/' "$FOLDS/folds.tsv"
    sed 's/^/chordseq --exons	/' "$FOLDS/folds_exons.tsv"
fi
cat "$tmp/speed"
"$PEERS/bin/python" - "$data" "$tmp" "$chordseq" "$srcdir/refdata/model" <<'END'
import csv, gzip, resource, subprocess, sys
data, work, chordseq, models = sys.argv[1:]
with gzip.open(f"{data}/splice_contigs.fa.gz", "rt") as f, open(f"{work}/contigs.fa", "w") as to:
    to.write(f.read())
with gzip.open(f"{data}/splice_variants.tsv.gz", "rt") as f, open(f"{work}/all.vcf", "w") as to:
    print("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", file=to)
    n = 0
    for r in csv.DictReader(f, delimiter="\t"):
        if r["loss"]:
            print(r["contig"], r["pos"], ".", r["ref"], r["alt"], ".", ".", ".", sep="\t", file=to)
            n += 1
with gzip.open(f"{data}/splice_exons.tsv.gz", "rt") as f, open(f"{work}/exons.bed", "w") as to:
    for r in csv.DictReader(f, delimiter="\t"):
        if r["exon_start0"]:
            print(r["contig"], r["exon_start0"], r["exon_end0"], "exon", 0, r["strand"], sep="\t", file=to)
before = 0
for name, model, *more in (("chordseq", "variant"), ("chordseq --exons", "variant-exons", "--exons", f"{work}/exons.bed")):
    subprocess.run([chordseq, "variant", "-q", "-@", "1", "-m", f"{models}/{model}.safetensors", "-f", f"{work}/contigs.fa", "-o", "/dev/null", *more,
                    f"{work}/all.vcf"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before
    before += seconds
    print(name, n, "%.1f" % seconds, "%.2f" % (n / seconds), sep="\t")
END
