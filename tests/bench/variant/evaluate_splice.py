#!/usr/bin/env python3
"""evaluate_splice.py - scores of variants beside measured loss of splicing.

Usage   evaluate_splice.py table SPLICE_DIR SCORES.tsv...
        evaluate_splice.py compare SPLICE_DIR SCORES.tsv... with SCORES.tsv...
        evaluate_splice.py calibrate SPLICE_DIR IN.safetensors OUT.safetensors SCORES.tsv...
        evaluate_splice.py genome SLOPE INTERCEPT SLOPE_EXONS INTERCEPT_EXONS WORK_DIR
        evaluate_splice.py describe both|exons MODEL.safetensors FOLDS.tsv

SCORES.tsv are tables of `chordseq variant --tsv`, one per fold. `table` prints for each assay variants, AUROC with
95 % interval (contigs drawn 2,000 times, seed 1), average precision, Spearman's correlation with the measured change
and the expected calibration error in ten bins. `compare` prints for the variants that both sets of tables score
AUROC and average precision of the first, and how much more the second has, with the interval of the same draws of
contigs for both. `calibrate` fits a slope and an intercept to the scores' logits
(Platt 1999), prints the calibration error where both are fitted on the other folds, and writes IN with its last
layer for SPLICE scaled and shifted. `genome` prints for the tables slicesK.both.scores and slicesK.exons.scores of
WORK_DIR how the scores, scaled so, tell substitutions in the two intron bases of annotated splice sites from those in
the intron 30 to 100 bases away and, without exons, from those far from any. `describe` states in a model file what its
label means, what it was trained on, and the rows of FOLDS.tsv, which are those of `table`; `chordseq model show` prints
them.
"""
import csv
import gzip
import hashlib
import json
import struct
import sys

import numpy as np

DRAWS, BINS = 2000, 10
DESCRIPTIONS = {
    "both": "Probability that the allele reduces the inclusion of a human exon in mRNA; meant for exons and up to 100 bases beside them",
    "exons": "Probability that the allele reduces the inclusion of the given human exon in mRNA",
    "STRAND": "Probability that the strand read, of both the likelier one, is that of a spliced exon beside the allele",
}
SOURCES = ("minigene assays MaPSy and Vex-seq, alleles on %s; before them splicing of random exons (ES7) and designed "
           "constructs (Mikl 2019), annotated splice sites and motifs")
METHOD = "five folds by chromosome"


def read_rows(folder, paths):
    """Assay, loss, score of the assay, prediction, contig and fold of every variant with a label, by variant."""
    truth = {}
    with gzip.open(f"{folder}/splice_variants.tsv.gz", "rt") as f:
        for r in csv.DictReader(f, delimiter="\t"):
            if r["loss"]:
                truth[r["contig"], r["pos"], r["ref"], r["alt"]] = (r["set"].split("_")[0], int(r["loss"]), float(r["score"]))
    out = {}
    for fold, path in enumerate(paths):
        with open(path) as f:
            for r in csv.DictReader(f, delimiter="\t"):
                key = r["#chrom"], r["pos"], r["ref"], r["alt"]
                score = r.get("CS_SPLICE") or r["CS_SCORE"]
                if key in truth and score != ".":
                    out[key] = (*truth[key], float(score), key[0], fold)
    return out


def read(folder, paths):
    return map(np.array, zip(*read_rows(folder, paths).values()))


def ranks(x):
    _, inverse, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[inverse]


def auroc(p, y):
    n = y.sum()
    return (ranks(p)[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n))


def precision(p, y):
    y = y[np.argsort(-p, kind="mergesort")]
    return (np.cumsum(y) / np.arange(1, len(y) + 1))[y == 1].mean()


def calibration_error(p, y):
    return sum(len(b) / len(p) * abs(p[b].mean() - y[b].mean()) for b in np.array_split(np.argsort(p), BINS))


def interval(figure, y, contig):
    """95 % interval of figure(rows) over draws of contigs."""
    rng = np.random.default_rng(1)
    names, of = np.unique(contig, return_inverse=True)
    rows = [np.flatnonzero(of == i) for i in range(len(names))]
    samples = []
    for _ in range(DRAWS):
        pick = np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        if 0 < y[pick].sum() < len(pick):
            samples.append(figure(pick))
    return np.percentile(samples, [2.5, 97.5])


def table(folder, paths):
    assay, loss, change, p, contig, _ = read(folder, paths)
    print("assay", "variants", "lost", "auroc", "low", "high", "precision", "spearman", "ece", sep="\t")
    for name in sorted(set(assay)):
        m = assay == name
        x, y = p[m], loss[m]
        spearman = np.corrcoef(ranks(-x), ranks(change[m]))[0, 1]
        print(name, m.sum(), y.sum(), *("%.4f" % v for v in (auroc(x, y), *interval(lambda i: auroc(x[i], y[i]), y, contig[m]),
              precision(x, y), spearman, calibration_error(x, y))), sep="\t")


def compare(folder, first, second):
    a, b = read_rows(folder, first), read_rows(folder, second)
    assay, loss, _, p, contig, _ = map(np.array, zip(*(a[k] for k in a if k in b)))
    q = np.array([b[k][3] for k in a if k in b])
    print("assay", "variants", "lost", "figure", "first", "more", "low", "high", sep="\t")
    for name in sorted(set(assay)):
        m = assay == name
        x, z, y = p[m], q[m], loss[m]
        for what in auroc, precision:
            low, high = interval(lambda i: what(z[i], y[i]) - what(x[i], y[i]), y, contig[m])
            print(name, m.sum(), y.sum(), what.__name__, *("%.4f" % v for v in (what(x, y), what(z, y) - what(x, y), low, high)), sep="\t")


def fit(x, y):
    """Slope and intercept of a logistic regression on one variable, by Newton's method."""
    w = np.array([1.0, 0.0])
    a = np.stack([x, np.ones_like(x)])
    for _ in range(100):
        q = 1 / (1 + np.exp(-w @ a))
        w -= np.linalg.solve((a * (q * (1 - q))) @ a.T + 1e-9 * np.eye(2), a @ (q - y))
    return w


def genome(scales, work):
    exons = {}
    with open(f"{work}/slices.bed") as f:
        for name, first, last, *_ in (line.split() for line in f):
            exons.setdefault(name, []).append((int(first), int(last)))
    for how, (slope, intercept) in zip(("both", "exons"), (scales[:2], scales[2:])):
        found = [r for k in range(5) for r in csv.DictReader(open(f"{work}/slices{k}.{how}.scores"), delimiter="\t")]
        found = [r for r in found if r["CS_SPLICE"] not in ("", ".")]
        kind = np.array([r["id"] for r in found])
        at = [(exons.get(r["#chrom"], []), int(r["pos"]) - 1) for r in found]
        known = np.array([any(p in (a - 2, a - 1, b, b + 1) for a, b in here) for here, p in at])
        beside = np.array([any(p - 101 < b and a < p + 101 for a, b in here) for here, p in at])
        p = np.array([float(r["CS_SPLICE"]) for r in found])
        p = 1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + intercept)))
        site, far, near = kind == "site", kind == "far", (kind == "near") & beside
        for what, m, other, n in (("all sites", site, "far", far), ("sites of exons", site & known, "far", far),
                                  ("sites of exons", site & known, "near", near)):
            if n.any() and (how == "both" or other == "near"):
                use = m | n
                print(f"{how}, {m.sum()} {what}, {n.sum()} {other}: AUROC {auroc(p[use], m[use].astype(int)):.3f}",
                      *(f"above {t}: {(p[m] > t).mean():.3f} and {(p[n] > t).mean():.3f}" for t in (0.2, 0.5, 0.8)), sep="; ")


def open_model(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    return header, json.loads(header["__metadata__"]["chordseq"]), bytearray(data[8 + n:])


def save_model(path, header, model, body):
    header["__metadata__"]["chordseq"] = json.dumps(model, separators=(",", ":"))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(body))


def scale(path_in, path_out, slope, intercept):
    header, model, body = open_model(path_in)
    names = [label["name"] for label in model["labels"]]
    for name in "head.weight", "head.context.weight", "head.bias":
        a, b = header[name]["data_offsets"]
        value = np.frombuffer(body[a:b], "<f4").reshape(len(names), -1).copy()
        value[names.index("SPLICE")] *= np.float32(slope)
        value[names.index("SPLICE")] += np.float32(intercept if name == "head.bias" else 0)
        body[a:b] = value.astype("<f4").tobytes()
    model["sha256"] = hashlib.sha256(body).hexdigest()
    save_model(path_out, header, model, body)


def describe(how, path, folds):
    header, model, body = open_model(path)
    for label in model["labels"]:
        label["description"] = DESCRIPTIONS[how if label["name"] == "SPLICE" else label["name"]]
    model["training"]["sources"] = SOURCES % ("both strands" if how == "both" else "the exon's strand")
    model["training"]["assays"] = [
        {"name": {"mapsy": "MaPSy", "vexseq": "Vex-seq"}[v[0]], "read": "both strands" if how == "both" else "with the exon",
         "variants": int(v[1]), "positive": int(v[2]), "method": METHOD,
         **dict(zip(("auroc", "low", "high"), map(float, v[3:6])))}
        for v in (line.split("\t") for line in open(folds)) if v[0] != "assay"]
    save_model(path, header, model, body)


def calibrate(folder, path_in, path_out, paths):
    assay, loss, _, p, _, fold = read(folder, paths)
    x, held = np.log(p / (1 - p)), np.zeros(len(p))
    for k in range(len(paths)):
        slope, intercept = fit(x[fold != k], loss[fold != k])
        held[fold == k] = 1 / (1 + np.exp(-(slope * x[fold == k] + intercept)))
    for name in sorted(set(assay)):
        m = assay == name
        print(f"{name}: calibration error {calibration_error(held[m], loss[m]):.4f} ({calibration_error(p[m], loss[m]):.4f} before)",
              *(f"above {t}: {(held[m] > t).sum()}, {loss[m][held[m] > t].mean():.2f} of them lose" for t in (0.2, 0.5, 0.8)), sep="; ")
    slope, intercept = fit(x, loss)
    print(f"slope {slope:.4f}, intercept {intercept:.4f}")
    scale(path_in, path_out, slope, intercept)


def main():
    if sys.argv[1] == "table":
        table(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "compare":
        at = sys.argv.index("with")
        compare(sys.argv[2], sys.argv[3:at], sys.argv[at + 1:])
    elif sys.argv[1] == "genome":
        genome([float(v) for v in sys.argv[2:6]], sys.argv[6])
    elif sys.argv[1] == "describe":
        describe(*sys.argv[2:5])
    else:
        calibrate(*sys.argv[2:5], sys.argv[5:])


if __name__ == "__main__":
    main()
