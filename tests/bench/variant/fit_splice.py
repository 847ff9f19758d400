#!/usr/bin/env python3
"""fit_splice.py - the last layer of the default variant model, fitted to vectors of a fixed encoder.

Usage   fit_splice.py windows WORK_DIR
        fit_splice.py fit SPLICE_DIR WORK_DIR SPLIT.tsv OUT.safetensors

`windows` writes WORK_DIR/windows.fa: for every variant of WORK_DIR/labels.tsv, on both strands, the window without
and with the allele. `fit` reads pooled vectors (`chordseq embed --vector pooled`) of these, of measured.fa and of
places.fa from WORK_DIR/*.npy and writes WORK_DIR/head.safetensors (head variant on the same poolings, compared by
context) with weights for contigs that SPLIT.tsv calls train. All are logistic regressions, by Newton's method:

SPLICE   on differences of vectors over their standard deviation. Targets are a sigmoid of the measured change, 1/2 at
         the assay's threshold of a loss; rows of the strand without the exon have target 0 and a small weight. Two
         directions are free of the L2 penalty: regressions of the inclusion of ES7's exons and of Mikl's cassettes
STRAND   on the reference's vector: is it read on the strand of an exon? With windows of slices from other
         chromosomes than those left out

Every group of the encoder's channels (--encoder.groups) has regressions of its own; the model has the mean of their logits.

The file prepare_splice.py describes the other inputs.
"""
import csv
import gzip
import hashlib
import sys

import numpy as np

from evaluate_splice import open_model, save_model
from prepare_splice import reverse_complement

WINDOW, STEPS = 256, 20
PENALTY, FREE = 1000.0, 1.0              # L2 of a weight, and of the two directions
MEASURED_PENALTY, STRAND_PENALTY = 30.0, 300.0
OTHER_STRAND, PLACES = 0.3, 0.5          # weights of rows
# Per assay: change at which a loss begins, change per unit of the target's logit.
ASSAYS = {"mapsy": (-1, 0.6), "vexseq": (-10, 6)}


def rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        yield from csv.DictReader(f, delimiter="\t")


def alleles(work):
    return [r for r in rows(f"{work}/labels.tsv") if r["tissue"] == "SPLICE"]


def windows(work):
    contigs = {}
    with open(f"{work}/contigs.fa") as f:
        for line in f:
            if line[0] == ">":
                name = line[1:].strip()
            else:
                contigs[name] = line.strip().upper()
    with open(f"{work}/windows.fa", "w") as f:
        for i, r in enumerate(alleles(work)):
            seq, p = contigs[r["chrom"]], int(r["pos"]) - 1
            start = p - WINDOW // 2
            for part, s in ("ref", seq), ("alt", seq[:p] + r["alt"] + seq[p + len(r["ref"]):]):
                s = s[start:start + WINDOW].ljust(WINDOW, "N")
                print(f">{i}_{part}\n{s if r['strand'] == '+' else reverse_complement(s)}", file=f)


def targets(folder, work):
    """Contig, target and weight of every allele; is its strand the exon's; chromosome of every contig."""
    measured = {(r["contig"], r["pos"], r["ref"], r["alt"]): r for r in rows(f"{folder}/splice_variants.tsv.gz")}
    contig, target, weight, on = [], [], [], []
    for r in alleles(work):
        m = measured[r["chrom"], r["pos"], r["ref"], r["alt"]]
        threshold, unit = ASSAYS[m["set"].split("_")[0]]
        contig.append(r["chrom"])
        on.append(r["strand"] == m["strand"])
        target.append(1 / (1 + np.exp((float(m["score"]) - threshold) / unit)) if on[-1] else 0)
        weight.append(1 if on[-1] else OTHER_STRAND)
    return (np.array(contig), np.array(target), np.array(weight, float), np.array(on),
            {r["contig"]: r["chrom"] for r in measured.values()})


def logistic(x, y, weight, penalty):
    """Weights and intercept; the intercept is not penalised."""
    a = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.diag(np.append(np.broadcast_to(penalty, x.shape[1]), 0.0))
    b = np.zeros(a.shape[1])
    for _ in range(STEPS):
        q = 1 / (1 + np.exp(-a @ b))
        step = np.linalg.solve((a * (weight * q * (1 - q))[:, None]).T @ a + penalty, a.T @ (weight * (q - y)) + penalty @ b)
        b -= step
        if np.abs(step).max() < 1e-9:
            break
    return b[:-1], b[-1]


def load(work, name):
    return np.load(f"{work}/{name}.npy").astype(float)


def directions(x, work, scale, used):
    """A column per measured set: weights of the logit of skipping, of the first `used` elements of the vectors x."""
    with open(f"{work}/measured.tsv") as f:
        name, share = zip(*(line.split() for line in f))
    name, skipped = np.array(name), 1 - np.array(share, float)
    out = np.zeros((x.shape[1], 2))
    for column, each in enumerate(("es7", "cassette")):
        m = name == each
        z = (x[m] - x[m].mean(axis=0))[:, :used] / scale[:used]
        out[:used, column] = logistic(z, skipped[m], np.ones(m.sum()), MEASURED_PENALTY)[0] / scale[:used]
    return out


def fit_splice(work, vectors, measured, target, weight, use):
    """Weights and intercept for differences reference - allele; skipping rises where they fall."""
    x = vectors[:, 0] - vectors[:, 1]
    n = x.shape[1]
    scale = x[use].std(axis=0) + 1e-9
    along = -directions(measured, work, scale, n // 3 * 2)
    x = np.hstack([x, x @ along])[use]
    scale = x.std(axis=0) + 1e-9
    w, b = logistic(x / scale, target[use], weight[use], np.array([PENALTY] * n + [FREE] * along.shape[1]))
    w /= scale
    return w[:n] + along @ w[n:], b


def fit_strand(work, vectors, places, on, use, held):
    """Weights and intercept for vectors; the mean over the middle of a window is not used."""
    with open(f"{work}/places.tsv") as f:
        chrom, strand = zip(*(line.split() for line in f))
    kept = np.array([c not in held for c in chrom])
    n = vectors.shape[2] // 3 * 2
    x = np.vstack([vectors[use, 0], places[kept]])[:, :n]
    y = np.append(on[use], np.array(strand, float)[kept])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    w, b = logistic((x - mean) / scale, y, np.where(np.arange(len(x)) < use.sum(), 1, PLACES), STRAND_PENALTY)
    w /= scale
    return np.append(w, np.zeros(vectors.shape[2] - n)), b - mean @ w


def fit(folder, work, split, path):
    contig, target, weight, on, chrom = targets(folder, work)
    with open(split) as f:
        part = dict(line.split() for line in f)
    use = np.array([part[c] == "train" for c in contig])
    header, model, body = open_model(f"{work}/head.safetensors")
    n_group = int(model["encoder"]["options"]["groups"])
    vectors, measured, places = load(work, "windows").reshape(len(contig), 2, -1), load(work, "measured"), load(work, "places")
    width, held = vectors.shape[2], {chrom[k] for k in contig[~use]}
    w, u, b, c = np.zeros(width), np.zeros(width), 0.0, 0.0
    # Every pooling has the groups one after the other.
    for columns in np.arange(width).reshape(3, n_group, -1).transpose(1, 0, 2).reshape(n_group, -1):
        weights, bias = fit_splice(work, vectors[:, :, columns], measured[:, columns], target, weight, use)
        w[columns], b = weights / n_group, b + bias / n_group
        weights, bias = fit_strand(work, vectors[:, :, columns], places[:, columns], on, use, held)
        u[columns], c = weights / n_group, c + bias / n_group
    none = np.zeros_like(w)
    for name, value in ("head.weight", [w, none]), ("head.context.weight", [none, u]), ("head.bias", [b, c]):
        start, end = header[name]["data_offsets"]
        body[start:end] = np.array(value).astype("<f4").tobytes()
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
