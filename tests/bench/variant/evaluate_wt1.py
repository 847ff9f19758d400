#!/usr/bin/env python3
"""evaluate_wt1.py - scores of substitutions in WT1's exon 5 beside its measured inclusion, an assay not trained on.

Usage   evaluate_wt1.py prepare SPLICE_DIR WORK_DIR
        evaluate_wt1.py table SPLICE_DIR SCORES.tsv...

`prepare` writes wt1.fa, wt1.vcf and wt1.bed (the exon) for the ten contexts of Ke et al. 2018; score them by
`chordseq variant --max-unknown 0.9 -f wt1.fa [--exons wt1.bed] --tsv SCORES.tsv -o /dev/null wt1.vcf`. `table` prints
substitutions, how many halve the inclusion at least, the AUROC for these over all contexts and its mean over contexts,
and the mean over contexts of Spearman's correlation.
"""
import csv
import gzip
import sys

import numpy as np

from evaluate_splice import auroc, ranks

EXON, MARGIN = (23, 74), 128


def substitutions(folder):
    """Sequence of every context; and context, position, bases and relative inclusion of every substitution."""
    with gzip.open(f"{folder}/aux/wt1_exon5_ke2018.tsv.gz", "rt") as f:
        found = list(csv.DictReader(f, delimiter="\t"))
    context = {"wt1_" + r["Hexmut"]: r["Sequence"] for r in found if not r["SBS / DBS"].strip()}
    out = []
    for r in found:
        if r["SBS / DBS"] == "S":
            name, seq = "wt1_" + r["Hexmut"], r["Sequence"]
            at, = (i for i, (a, b) in enumerate(zip(context[name], seq)) if a != b)
            out.append((name, at, context[name][at], seq[at], float(r["rel. EI"])))
    return context, sorted(out)


def prepare(folder, work):
    context, found = substitutions(folder)
    with open(f"{work}/wt1.fa", "w") as f:
        for name, seq in context.items():
            print(f">{name}\n{'N' * MARGIN}{seq}{'N' * MARGIN}", file=f)
    with open(f"{work}/wt1.bed", "w") as f:
        for name in context:
            print(name, MARGIN + EXON[0], MARGIN + EXON[1], "exon", 0, "+", sep="\t", file=f)
    with open(f"{work}/wt1.vcf", "w") as f:
        print("##fileformat=VCFv4.2", file=f)
        for name, seq in context.items():
            print(f"##contig=<ID={name},length={len(seq) + 2 * MARGIN}>", file=f)
        print("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", sep="\t", file=f)
        for name, at, ref, alt, _ in found:
            print(name, at + MARGIN + 1, ".", ref, alt, ".", ".", ".", sep="\t", file=f)


def table(folder, paths):
    measured = {(name, str(at + MARGIN + 1), ref, alt): x for name, at, ref, alt, x in substitutions(folder)[1]}
    print("scores", "variants", "halved", "auroc", "auroc_in_context", "spearman_in_context", sep="\t")
    for path in paths:
        with open(path) as f:
            scored = [((r["#chrom"], r["pos"], r["ref"], r["alt"]), float(r["CS_SPLICE"])) for r in csv.DictReader(f, delimiter="\t")]
        p, x = np.array([v for _, v in scored]), np.array([measured[k] for k, _ in scored])
        halved, name = (x <= 0.5).astype(int), np.array([k[0] for k, _ in scored])
        each = [name == c for c in sorted(set(name))]
        print(path, len(p), halved.sum(), "%.4f" % auroc(p, halved), "%.4f" % np.mean([auroc(p[m], halved[m]) for m in each]),
              "%.4f" % np.mean([np.corrcoef(ranks(-p[m]), ranks(x[m]))[0, 1] for m in each]), sep="\t")


if __name__ == "__main__":
    prepare(*sys.argv[2:4]) if sys.argv[1] == "prepare" else table(sys.argv[2], sys.argv[3:])
