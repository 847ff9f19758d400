#!/usr/bin/env python3
"""fit_splice.py - the last layer of the default variant model, fitted to vectors of a fixed encoder.

Usage   fit_splice.py windows WORK_DIR
        fit_splice.py fit SPLICE_DIR WORK_DIR SPLIT.tsv OUT.safetensors

`windows` writes WORK_DIR/windows.fa: for every variant of WORK_DIR/labels.tsv, on both strands, the window without
and with the allele; and ends.fa: on the exon's strand those around both ends of the exon. `fit` reads pooled vectors
(`chordseq embed --vector pooled`) of these, of measured.fa and of places.fa from WORK_DIR/*.npy and writes
WORK_DIR/head.safetensors (head variant on the same poolings, compared by context) with weights for contigs that SPLIT.tsv
calls train. All are logistic regressions, by Newton's method:

SPLICE   on differences of vectors over their standard deviation. Targets are a sigmoid of the measured change, 1/2 at
         the assay's threshold of a loss; rows of the strand without the exon have target 0 and a small weight. Two
         directions are free of the L2 penalty: regressions of the inclusion of ES7's exons and of Mikl's cassettes
SPLICE_EXON, _ACCEPTOR and _DONOR are one regression, on the exon's strand only: on the same differences, and on those
         of the mean over the middle of the windows around both ends. Their sum predicts variants near a known exon
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
from prepare_splice import PARTS, reverse_complement

WINDOW, STEPS = 256, 20
PENALTY, FREE, ENDS = 1000.0, 1.0, 300.0     # L2 of a weight, of the two directions, of a weight at an end
MEASURED_PENALTY, STRAND_PENALTY = 30.0, 300.0
OTHER_STRAND, PLACES = 0.3, 0.5          # weights of rows
# Per assay: change at which a loss begins, change per unit of the target's logit.
ASSAYS = {"mapsy": (-1, 0.6), "vexseq": (-10, 6)}


def rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        yield from csv.DictReader(f, delimiter="\t")


def alleles(work):
    return [r for r in rows(f"{work}/labels.tsv") if r["tissue"] == "SPLICE"]


def trimmed(pos, ref, alt):
    """Position and alleles without what both have in common at the ends."""
    while ref and alt and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
    while ref and alt and ref[0] == alt[0]:
        pos, ref, alt = pos + 1, ref[1:], alt[1:]
    return pos, ref, alt


def in_place(at, pos, ref, alt):
    """The position `at` of the reference in the sequence with the allele, as cs_windows_around() has it."""
    if at <= pos:
        return at
    return max(at, pos + len(ref)) + len(alt) - len(ref)


def write_ends(work, contigs):
    with open(f"{work}/contigs.bed") as f:
        exon = {c: (int(a), int(b), strand) for c, a, b, _, _, strand in (line.split() for line in f)}
    with open(f"{work}/ends.fa", "w") as f:
        for i, r in enumerate(alleles(work)):
            first, last, strand = exon.get(r["chrom"], (0, 0, None))
            if r["strand"] != strand:
                continue
            seq, (pos, ref, alt) = contigs[r["chrom"]], trimmed(int(r["pos"]) - 1, r["ref"], r["alt"])
            other = seq[:pos] + alt + seq[pos + len(ref):]
            for end, at in zip(("acceptor", "donor"), (first, last) if strand == "+" else (last, first)):
                for part, s, middle in ("ref", seq, at), ("alt", other, in_place(at, pos, ref, alt)):
                    s = s[middle - WINDOW // 2:middle + WINDOW // 2].ljust(WINDOW, "N")
                    print(f">{i}_{end}_{part}\n{s if strand == '+' else reverse_complement(s)}", file=f)


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
    write_ends(work, contigs)


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
    used = n // 3 * 2                                # not the mean over the middle
    scale = x[use].std(axis=0) + 1e-9
    along = -directions(measured, work, scale, used)
    x = np.hstack([x[:, :used], x @ along])[use]
    scale = x.std(axis=0) + 1e-9
    w, b = logistic(x / scale, target[use], weight[use], np.array([PENALTY] * used + [FREE] * along.shape[1]))
    w /= scale
    return np.append(w[:used], np.zeros(n - used)) + along @ w[used:], b


def ends(work, n):
    """Differences reference - allele of the mean over the middle, for n alleles, acceptor and donor; 0 without exon."""
    vectors = load(work, "ends")
    middle = vectors[:, vectors.shape[1] // 3 * 2:].reshape(-1, 2, 2, vectors.shape[1] // 3)
    with open(f"{work}/ends.fa") as f:
        rows = [int(line[1:].split("_")[0]) for line in f if line[0] == ">"][::4]
    out = np.zeros((n, 2, middle.shape[3]))
    out[rows] = middle[:, :, 0] - middle[:, :, 1]
    return out


def fit_exon(work, vectors, at_ends, measured, target, use):
    """Weights for differences of the windows around the variant, around acceptor and donor, and an intercept."""
    x = vectors[:, 0] - vectors[:, 1]
    n = x.shape[1]
    along = -directions(measured, work, x[use].std(axis=0) + 1e-9, n // 3 * 2)
    x = np.hstack([x, at_ends[:, 0], at_ends[:, 1], x @ along])[use]
    scale = x.std(axis=0) + 1e-9
    n_end = at_ends.shape[2]
    w, b = logistic(x / scale, target[use], np.ones(use.sum()),
                    np.array([PENALTY] * n + [ENDS] * 2 * n_end + [FREE] * along.shape[1]))
    w /= scale
    return w[:n] + along @ w[n + 2 * n_end:], w[n:n + n_end], w[n + n_end:n + 2 * n_end], b


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
    at_ends = ends(work, len(contig))
    width, held = vectors.shape[2], {chrom[k] for k in contig[~use]}
    names = [label["name"] for label in model["labels"]]
    w, u, bias = np.zeros((len(names), width)), np.zeros((len(names), width)), np.zeros(len(names))
    splice, strand, acceptor, donor, exon = (names.index(k) for k in ("SPLICE", "STRAND", *PARTS))
    # Every pooling has the groups one after the other.
    for columns in np.arange(width).reshape(3, n_group, -1).transpose(1, 0, 2).reshape(n_group, -1):
        middle = columns[len(columns) // 3 * 2:]
        part, moved = vectors[:, :, columns], at_ends[:, :, middle - width // 3 * 2]
        w[splice, columns], b = fit_splice(work, part, measured[:, columns], target, weight, use)
        u[strand, columns], c = fit_strand(work, part, places[:, columns], on, use, held)
        w[exon, columns], w[acceptor, middle], w[donor, middle], d = fit_exon(work, part, moved, measured[:, columns], target,
                                                                             use & on)
        bias[[splice, strand, exon]] += b, c, d
    for name, value in ("head.weight", w), ("head.context.weight", u), ("head.bias", bias):
        start, end = header[name]["data_offsets"]
        body[start:end] = (value / n_group).astype("<f4").tobytes()
    for label in model["labels"]:
        if label["name"] in PARTS:
            label["part"] = PARTS[label["name"]]
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
