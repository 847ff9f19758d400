#!/usr/bin/env python3
"""ablate_splice.py - which poolings, which comparison and which strand the default variant model needs.

Usage   ablate_splice.py SPLICE_DIR WORK_DIR

WORK_DIR is that of bench_splice_ablation.sh, which makes in WORK_DIR/ablation the pooled vectors of the poolings mean,
max, lse and centre together. For each of the default's networks, a group of channels, fits SPLICE and STRAND as
fit_splice.py does, on the same five folds, with some of the poolings only. Prints the network's seed and, for MaPSy and
Vex-seq, the AUROC and its difference from the seed's first row with a 95 % interval (the same contigs drawn for both,
DRAWS times).
"""
import sys

import numpy as np

from evaluate_splice import auroc
from fit_splice import (FREE, MEASURED_PENALTY, PENALTY, PLACES, STRAND_PENALTY, alleles, logistic, rows,
                        targets)

POOLS = "mean", "max", "lse", "centre"
DRAWS, FOLDS, GROUPS = 2000, 5, 5
DEFAULT = "mean", "max", "centre"


class Ablation:
    def __init__(self, folder, work, group):
        self.work, self.group = work, group
        self.contig, self.target, self.weight, self.on, self.chrom = targets(folder, work)
        self.vectors = self.load("windows").reshape(len(self.contig), 2, -1)
        self.measured, self.places = self.load("measured"), self.load("places")
        with open(f"{work}/measured.tsv") as f:
            name, share = zip(*(line.split() for line in f))
        self.name, self.skipped = np.array(name), 1 - np.array(share, float)
        with open(f"{work}/places.tsv") as f:
            chrom, strand = zip(*(line.split() for line in f))
        self.place_chrom, self.place_on = np.array(chrom), np.array(strand, float)
        truth = {(r["contig"], r["pos"], r["ref"], r["alt"]): r for r in rows(f"{folder}/splice_variants.tsv.gz")}
        found = [truth[r["chrom"], r["pos"], r["ref"], r["alt"]] for r in alleles(work)][::2]   # two strands each
        self.assay = np.array([r["set"].split("_")[0] for r in found])
        self.loss = np.array([int(r["loss"]) if r["loss"] else -1 for r in found])
        self.folds, self.known = [], {}
        for k in range(FOLDS):
            with open(f"{work}/split{k}.tsv") as f:
                part = dict(line.split() for line in f)
            self.folds.append(np.array([part[c] == "train" for c in self.contig]))

    def load(self, name):
        x = np.load(f"{self.work}/ablation/{name}.npy").astype(float)
        return x.reshape(len(x), len(POOLS), GROUPS, -1)[:, :, self.group].reshape(len(x), -1)

    def columns(self, pools):
        width = self.vectors.shape[2] // len(POOLS)
        return np.concatenate([np.arange(width) + width * POOLS.index(p) for p in pools])

    def along(self, pools):
        """Values of both directions for all alleles; fitted once, with the spread of all of them."""
        if pools not in self.known:
            wide = self.columns([p for p in pools if p != "centre"] or pools)
            d = self.vectors[:, 0][:, wide] - self.vectors[:, 1][:, wide]
            scale = d.std(axis=0) + 1e-9
            out = []
            for each in "es7", "cassette":
                m = self.name == each
                z = (self.measured[m] - self.measured[m].mean(axis=0))[:, wide] / scale
                out.append(-d @ (logistic(z, self.skipped[m], np.ones(m.sum()), MEASURED_PENALTY)[0] / scale))
            self.known[pools] = np.stack(out, axis=1)
        return self.known[pools]

    def splice(self, pools, compare, directions, use):
        """Logits of SPLICE for all alleles."""
        column = self.columns(pools)
        x = self.vectors[:, 0][:, column] - self.vectors[:, 1][:, column]
        if compare == "reference":
            x = np.hstack([x, self.vectors[:, 0][:, column]])
        if directions:
            x = np.hstack([x, self.along(pools)])
        x = x / (x[use].std(axis=0) + 1e-9)
        n_free = 2 if directions else 0
        penalty = np.array([PENALTY] * (x.shape[1] - n_free) + [FREE] * n_free)
        w, b = logistic(x[use], self.target[use], self.weight[use], penalty)
        return x @ w + b

    def strand(self, use):
        """Logits of STRAND, as fit_splice.fit_strand."""
        column = self.columns(("mean", "max"))
        held = {self.chrom[c] for c in self.contig[~use]}
        kept = np.array([c not in held for c in self.place_chrom])
        x = np.vstack([self.vectors[use, 0][:, column], self.places[kept][:, column]])
        y = np.append(self.on[use], self.place_on[kept])
        mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        w, b = logistic((x - mean) / scale, y, np.where(np.arange(len(x)) < use.sum(), 1, PLACES), STRAND_PENALTY)
        return (self.vectors[:, 0][:, column] - mean) / scale @ w + b

    def scores(self, pools=DEFAULT, compare="difference", directions=True, read="weighted"):
        """A score for every variant, by the model without its chromosome."""
        out = np.zeros(len(self.loss))
        for use in self.folds:
            pair = self.splice(pools, compare, directions, use).reshape(-1, 2)
            if read == "weighted":
                side = self.strand(use).reshape(-1, 2)
                share = 1 / (1 + np.exp(side[:, 1] - side[:, 0]))
                score = share * pair[:, 0] + (1 - share) * pair[:, 1]
            else:
                score = {"mean": pair.mean(axis=1), "max": pair.max(axis=1),
                         "exon's": pair[self.on.reshape(-1, 2)]}[read]
            out[~use[::2]] = 1 / (1 + np.exp(-score[~use[::2]]))
        return out

    def compare(self, score, base):
        """Per assay AUROC, difference from base and its interval."""
        for assay in "mapsy", "vexseq":
            m = (self.assay == assay) & (self.loss >= 0)
            y, p, q = self.loss[m], score[m], base[m]
            _, of = np.unique(self.contig[::2][m], return_inverse=True)
            at = [np.flatnonzero(of == i) for i in range(of.max() + 1)]
            rng, samples = np.random.default_rng(1), []
            for _ in range(DRAWS if score is not base else 0):
                pick = np.concatenate([at[i] for i in rng.integers(len(at), size=len(at))])
                samples.append(auroc(p[pick], y[pick]) - auroc(q[pick], y[pick]))
            yield "%.3f" % auroc(p, y)
            low, high = np.percentile(samples, [2.5, 97.5]) if samples else (0, 0)
            yield "%+.3f\t%+.3f\t%+.3f" % (auroc(p, y) - auroc(q, y), low, high)


def main():
    print("seed", "change", *(f"{x}_{y}" for x in ("mapsy", "vexseq") for y in ("auroc", "difference", "low", "high")), sep="\t")
    for group in range(GROUPS):
        a = Ablation(*sys.argv[1:], group)
        base = None
        for what, options in (
                ("none", {}),
                *((f"poolings {'+'.join(p)}", {"pools": p}) for p in (
                    ("mean",), ("max",), ("lse",), ("centre",), ("mean", "max"), ("mean", "centre"), ("max", "centre"),
                    ("mean", "lse", "centre"))),
                ("no directions", {"directions": False}),
                ("reference's vector, too", {"compare": "reference"}),
                *((f"strand {r}", {"read": r}) for r in ("mean", "max", "exon's"))):
            score = a.scores(**options)
            base = score if base is None else base
            print(group + 1, what, *a.compare(score, base), sep="\t", flush=True)


if __name__ == "__main__":
    main()
