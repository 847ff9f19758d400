#!/usr/bin/env python3
"""fit_splice.py - the last layer of the default variant models, fitted to vectors of a fixed encoder.

Usage   fit_splice.py windows WORK_DIR
        fit_splice.py plain|exons SPLICE_DIR WORK_DIR SPLIT.tsv OUT.safetensors

`windows` writes WORK_DIR/windows.fa: for every variant of WORK_DIR/labels.tsv, on both strands, the window without and with
the allele; and windows_exons.fa: the same on the exon's strand, with the exon in upper case and introns in lower case.
The other commands read pooled vectors (`chordseq embed --vector pooled`) of these from WORK_DIR/*.npy and write
WORK_DIR/head.safetensors or head_exons.safetensors (head variant on the same poolings) with weights for contigs that
SPLIT.tsv calls train. All are logistic regressions, by Newton's method:

SPLICE   on differences of vectors over their standard deviation. Targets are a sigmoid of the measured change, 1/2 at
         the assay's threshold of a loss; rows of the strand without the exon have target 0 and a small weight. Two
         directions are free of the L2 penalty: regressions of the inclusion of ES7's exons and of Mikl's cassettes, on
         mean and maximum of measured.fa (exons: measured_exons.fa). With exons, the reference's value of the second
         (cassettes) is a term besides, free of the penalty: weak exons lose more by the same change
STRAND   (plain) on the reference's vector: is it read on the strand of an exon? With windows of slices from other
         chromosomes than those left out (places.fa)

Every group of the encoder's channels (--encoder.groups) has regressions of its own; the model has the mean of their logits.

The file prepare_splice.py describes the other inputs.
"""
import csv
import gzip
import hashlib
import sys

import numpy as np

from evaluate_splice import open_model, save_model
from prepare_splice import marked, reverse_complement

WINDOW, STEPS = 256, 20
PENALTY, FREE = 1000.0, 1.0              # L2 of a weight, and of the two directions
MEASURED_PENALTY, STRAND_PENALTY = 30.0, 300.0
OTHER_STRAND, PLACES = 0.3, 0.5          # weights of rows
MEASURED = "es7", "cassette"             # sets of measured.tsv, a direction each
CASSETTES = 1
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


def exons_of(work):
    """First base, last base + 1 and strand of every contig's exon."""
    with open(f"{work}/contigs.bed") as f:
        return {c: (int(a), int(b), strand) for c, a, b, _, _, strand in (line.split() for line in f)}


def is_on_exon(r, exons):
    return r["chrom"] in exons and exons[r["chrom"]][2] == r["strand"]


def cased(seq, exon, pos, ref, alt):
    """The contig with the exon in upper case, without and with the allele, as cs_variant_windows_mark() has it."""
    seq, (pos, ref, alt) = marked(seq, exon), trimmed(pos, ref, alt)
    replaced = [seq[pos + min(k, max(len(ref) - 1, 0))] for k in range(len(alt))]
    alt = "".join(c.lower() if old.islower() else c for c, old in zip(alt, replaced))
    return seq, seq[:pos] + alt + seq[pos + len(ref):]


def write_windows(f, i, r, both):
    start = int(r["pos"]) - 1 - WINDOW // 2
    for part, s in zip(("ref", "alt"), both):
        s = s[start:start + WINDOW].ljust(WINDOW, "N")
        print(f">{i}_{part}\n{s if r['strand'] == '+' else reverse_complement(s)}", file=f)


def windows(work):
    contigs, exons = {}, exons_of(work)
    with open(f"{work}/contigs.fa") as f:
        for line in f:
            if line[0] == ">":
                name = line[1:].strip()
            else:
                contigs[name] = line.strip().upper()
    with open(f"{work}/windows.fa", "w") as plain, open(f"{work}/windows_exons.fa", "w") as known:
        for i, r in enumerate(alleles(work)):
            seq, p = contigs[r["chrom"]], int(r["pos"]) - 1
            write_windows(plain, i, r, (seq, seq[:p] + r["alt"] + seq[p + len(r["ref"]):]))
            if is_on_exon(r, exons):
                write_windows(known, i, r, cased(seq, exons[r["chrom"]][:2], p, r["ref"], r["alt"]))


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


def trained(split, contig):
    """Which contigs does the split call train?"""
    with open(split) as f:
        part = dict(line.split() for line in f)
    return np.array([part[c] == "train" for c in contig])


def load(work, name):
    return np.load(f"{work}/{name}.npy").astype(float)


def measured_skipping(work):
    """The set and the share of skipping of every measured sequence."""
    with open(f"{work}/measured.tsv") as f:
        name, share = zip(*(line.split() for line in f))
    return np.array(name), 1 - np.array(share, float)


def directions(x, skipping, scale, used):
    """A column per measured set: weights of the logit of skipping, of the first `used` elements of the vectors x."""
    name, skipped = skipping
    out = np.zeros((x.shape[1], len(MEASURED)))
    for column, each in enumerate(MEASURED):
        m = name == each
        z = (x[m] - x[m].mean(axis=0))[:, :used] / scale[:used]
        out[:used, column] = logistic(z, skipped[m], np.ones(m.sum()), MEASURED_PENALTY)[0] / scale[:used]
    return out


def fit_splice(vectors, skipping, measured, used, target, weight, use, of_reference=()):
    """Weights for differences reference - allele, weights for the reference, and the intercept. Skipping rises where
    differences fall. The directions are of the first `used` elements; the reference's term is along those of the columns
    `of_reference`."""
    x, reference = vectors[:, 0] - vectors[:, 1], vectors[:, 0]
    n = x.shape[1]
    along = -directions(measured, skipping, x[use].std(axis=0) + 1e-9, used)
    skip, free = -along[:, list(of_reference)], n + along.shape[1]
    x = np.hstack([x, x @ along, reference @ skip])[use]
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    mean[:free] = 0
    w, b = logistic((x - mean) / scale, target[use], weight[use], np.array([PENALTY] * n + [FREE] * (x.shape[1] - n)))
    w /= scale
    return w[:n] + along @ w[n:free], skip @ w[free:], b - mean @ w


def fit_strand(work, vectors, places, on, use, held):
    """Weights and intercept for vectors."""
    with open(f"{work}/places.tsv") as f:
        chrom, strand = zip(*(line.split() for line in f))
    kept = np.array([c not in held for c in chrom])
    x = np.vstack([vectors[use, 0], places[kept]])
    y = np.append(on[use], np.array(strand, float)[kept])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    w, b = logistic((x - mean) / scale, y, np.where(np.arange(len(x)) < use.sum(), 1, PLACES), STRAND_PENALTY)
    w /= scale
    return w, b - mean @ w


def columns_of(model, width):
    """The columns of every group of channels; each pooling has the groups one after the other."""
    n_group, n_pool = int(model["encoder"]["options"]["groups"]), len(model["head"]["options"]["pool"].split("+"))
    return np.arange(width).reshape(n_pool, n_group, -1).transpose(1, 0, 2).reshape(n_group, -1)


def save(path, header, model, body, values, use):
    for name, value in values:
        start, end = header[name]["data_offsets"]
        body[start:end] = np.array(value).astype("<f4").tobytes()
    model["sha256"] = hashlib.sha256(body).hexdigest()
    model["training"]["data"] = {f"{part}_{what}": int(n) * each for part, n in (("train", use.sum()), ("valid", (~use).sum()))
                                 for what, each in (("records", 1), ("bases", 2 * WINDOW))}
    for key in ("classes", "epoch", "steps", "valid_loss", "valid_accuracy", "valid_balanced_accuracy"):
        model["training"].pop(key, None)
    save_model(path, header, model, body)


def fit_plain(folder, work, split, path):
    contig, target, weight, on, chrom = targets(folder, work)
    use = trained(split, contig)
    header, model, body = open_model(f"{work}/head.safetensors")
    vectors, measured, places = load(work, "windows").reshape(len(contig), 2, -1), load(work, "measured"), load(work, "places")
    skipping, width, held = measured_skipping(work), vectors.shape[2], {chrom[k] for k in contig[~use]}
    w, u, bias, groups = np.zeros((2, width)), np.zeros((2, width)), np.zeros(2), columns_of(model, width)
    for columns in groups:
        part = vectors[:, :, columns]
        w[0, columns], _, b = fit_splice(part, skipping, measured[:, columns], len(columns), target, weight, use)
        u[1, columns], c = fit_strand(work, part, places[:, columns], on, use, held)
        bias += b, c
    n = len(groups)
    save(path, header, model, body, (("head.weight", w / n), ("head.context.weight", u / n), ("head.bias", bias / n)), use)


def fit_exons(folder, work, split, path):
    contig, target, weight, _, _ = targets(folder, work)
    exons = exons_of(work)
    kept = np.array([is_on_exon(r, exons) for r in alleles(work)])
    contig, target, weight = contig[kept], target[kept], weight[kept]
    use = trained(split, contig)
    header, model, body = open_model(f"{work}/head_exons.safetensors")
    vectors, measured = load(work, "windows_exons").reshape(len(contig), 2, -1), load(work, "measured_exons")
    width = vectors.shape[2]
    skipping, w, u, bias, groups = measured_skipping(work), np.zeros(width), np.zeros(width), 0.0, columns_of(model, width)
    for columns in groups:
        w[columns], u[columns], b = fit_splice(vectors[:, :, columns], skipping, measured[:, columns], len(columns) // 3 * 2,
                                               target, weight, use, of_reference=[CASSETTES])
        bias += b
    n = len(groups)
    save(path, header, model, body, (("head.weight", w / n), ("head.context.weight", u / n), ("head.bias", bias / n)), use)


def main():
    if sys.argv[1] == "windows":
        windows(sys.argv[2])
    else:
        {"plain": fit_plain, "exons": fit_exons}[sys.argv[1]](*sys.argv[2:6])


if __name__ == "__main__":
    main()
