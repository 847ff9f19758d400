#!/usr/bin/env python3
"""fit_splice.py - the last layer of the default variant model, fitted to vectors of a fixed encoder.

Usage   fit_splice.py windows WORK_DIR
        fit_splice.py fit SPLICE_DIR WORK_DIR SPLIT.tsv OUT.safetensors

`windows` writes WORK_DIR/windows.fa: for every row of WORK_DIR/labels.tsv the window without and with the allele,
on the row's strand. `fit` reads their pooled vectors (WORK_DIR/windows.npy, `chordseq embed --vector pooled`) and
writes WORK_DIR/head.safetensors (head variant on the same poolings) with the weights of a logistic regression on the
differences: contigs that SPLIT.tsv calls train, features divided by their standard deviation, an L2 penalty, Newton's
method. Targets are a sigmoid of the measured change, 1/2 at the assay's threshold of a loss, and 0 on the strand
without the exon. The file prepare_splice.py describes the other inputs.
"""
import csv
import gzip
import hashlib
import sys

import numpy as np

from evaluate_splice import open_model, save_model
from prepare_splice import reverse_complement

WINDOW, PENALTY, STEPS = 256, 1000.0, 20
# Per assay: change at which a loss begins, change per unit of the target's logit, weight of a row.
ASSAYS = {"mapsy": (-1, 0.6, 1), "vexseq": (-10, 6, 2)}


def rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        yield from csv.DictReader(f, delimiter="\t")


def windows(work):
    contigs = {}
    with open(f"{work}/contigs.fa") as f:
        for line in f:
            if line[0] == ">":
                name = line[1:].strip()
            else:
                contigs[name] = line.strip().upper()
    with open(f"{work}/windows.fa", "w") as f:
        for i, r in enumerate(rows(f"{work}/labels.tsv")):
            seq, p = contigs[r["chrom"]], int(r["pos"]) - 1
            start = p - WINDOW // 2
            for part, s in ("ref", seq), ("alt", seq[:p] + r["alt"] + seq[p + len(r["ref"]):]):
                s = s[start:start + WINDOW].ljust(WINDOW, "N")
                print(f">{i}_{part}\n{s if r['strand'] == '+' else reverse_complement(s)}", file=f)


def targets(folder, work):
    """Contig, target and weight of every row of labels.tsv."""
    measured = {(r["contig"], r["pos"], r["ref"], r["alt"]): r for r in rows(f"{folder}/splice_variants.tsv.gz")}
    contig, target, weight = [], [], []
    for r in rows(f"{work}/labels.tsv"):
        m = measured[r["chrom"], r["pos"], r["ref"], r["alt"]]
        threshold, unit, w = ASSAYS[m["set"].split("_")[0]]
        contig.append(r["chrom"])
        target.append(1 / (1 + np.exp((float(m["score"]) - threshold) / unit)) if r["strand"] == m["strand"] else 0)
        weight.append(w)
    return np.array(contig), np.array(target), np.array(weight, float)


def logistic(x, y, weight):
    """Weights and intercept; the intercept is not penalised."""
    a = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.diag([PENALTY] * x.shape[1] + [0])
    b = np.zeros(a.shape[1])
    for _ in range(STEPS):
        q = 1 / (1 + np.exp(-a @ b))
        b -= np.linalg.solve((a * (weight * q * (1 - q))[:, None]).T @ a + penalty, a.T @ (weight * (q - y)) + penalty @ b)
    return b[:-1], b[-1]


def fit(folder, work, split, path):
    contig, target, weight = targets(folder, work)
    with open(split) as f:
        train = {line.split()[0] for line in f if line.split()[1] == "train"}
    use = np.array([c in train for c in contig])
    vectors = np.load(f"{work}/windows.npy").astype(float).reshape(len(contig), 2, -1)
    x = (vectors[:, 0] - vectors[:, 1])[use]
    scale = x.std(axis=0) + 1e-9
    w, b = logistic(x / scale, target[use], weight[use])
    header, model, body = open_model(f"{work}/head.safetensors")
    for name, value in ("head.weight", w / scale), ("head.bias", np.array([b])):
        start, end = header[name]["data_offsets"]
        body[start:end] = value.astype("<f4").tobytes()
    model["sha256"] = hashlib.sha256(body).hexdigest()
    model["training"]["data"] = {f"{part}_{what}": int(n) * each for part, n in (("train", use.sum()), ("valid", (~use).sum()))
                                 for what, each in (("records", 1), ("bases", 2 * WINDOW))}
    for key in ("classes", "epoch", "steps", "valid_loss", "valid_accuracy", "valid_balanced_accuracy"):
        model["training"].pop(key, None)
    save_model(path, header, model, body)


def main():
    if sys.argv[1] == "windows":
        windows(sys.argv[2])
    else:
        fit(*sys.argv[2:6])


if __name__ == "__main__":
    main()
