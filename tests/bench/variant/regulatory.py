#!/usr/bin/env python3
"""regulatory.py - effects of variants on promoters and enhancers, per element left out.

Usage   regulatory.py prepare REGULATORY_DIR WORK
        regulatory.py table REGULATORY_DIR WORK

`prepare` writes into WORK, from Kircher et al. 2019 (substitutions with at least ten barcodes) and the CAGI4 table of
eQTL variants:
  contigs.fa, ELEMENT.vcf    elements and their substitutions
  labels.tsv                 train --head variant: is the change significant, by either of two p-values, down or up?
  ELEMENT.split.tsv          every element but one
  windows.fa                 LENGTH bases without and with each allele, the variant in the middle unless near an end
  constructs.fa, .tsv        CAGI4's oligonucleotides with either allele, and their activity (log2 of RNA over DNA,
                             standardised), without those that share LINK bases with an element
  FOLD.constructs.tsv        chromosomes in FOLDS parts, one of them skipped; all.constructs.tsv skips none

`table` reads the methods' outputs in WORK/METHOD.SEED/: ELEMENT.scores (`chordseq variant --tsv`), windows.tsv (a
value per window, `chordseq classify`) or windows.npy (vectors, `chordseq embed`; a ridge is fitted to their
differences), and constructs.FOLD.tsv. It prints a row per method and seed, and one for the mean prediction of the
seeds: means over experiments of Pearson's and Spearman's correlation with the measured effect; the mean over elements
(of the mean of their experiments) of Pearson's, with 95 % interval (elements drawn DRAWS times). Then a row per
experiment with Pearson's, and correlations with the activity and the skew of CAGI4's variants. Ridges on counts of
canonical 6-mers are fitted here, to the same rows: to the effects over their standard deviation in the experiment, or
to their significance.
"""
import csv
import glob
import gzip
import math
import os
import sys
from collections import defaultdict

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import Ridge

LENGTH, LINK, FOLDS, BARCODES, DRAWS = 100, 30, 5, 10, 2000
LABELS = {"DOWN": -1.3, "DOWN_FAR": -2.3, "UP": 1.3, "UP_FAR": 2.3}   # bounds of strength()
WORD, PENALTY, CONSTRUCT_PENALTY = 6, 300, 1000
PENALTIES = 0.1, 1, 10, 100, 1000, 1e4                                # of a ridge on vectors


def rows(path):
    with gzip.open(path, "rt") as f:
        yield from csv.DictReader(f, delimiter="\t")


def reverse_complement(s):
    return s[::-1].translate(str.maketrans("ACGTN", "TGCAN"))


def elements(folder):
    """Start on the chromosome and sequence by name."""
    out = {}
    with gzip.open(f"{folder}/kircher2019_contigs.fa.gz", "rt") as f:
        for line in f:
            if line[0] == ">":
                name, place = line[1:].split()[:2]
                out[name] = [int(place.split(":")[1].split("-")[0]), ""]
            else:
                out[name][1] += line.strip()
    return out


def measured(folder, contigs):
    """Effect and p-value of every substitution, by experiment; (element, offset from 0, ref, alt) is its key."""
    out = defaultdict(dict)
    for r in rows(f"{folder}/kircher2019_variants_grch38.tsv.gz"):
        if r["Alt"] != "-" and int(r["Barcodes"]) >= BARCODES:
            key = r["region"], int(r["Pos"]) - contigs[r["region"]][0], r["Ref"], r["Alt"]
            out[key][r["Element"]] = float(r["Coefficient"]), float(r["pValue"])
    return out


def constructs(folder, contigs):
    """CAGI4's variants: chromosome, both sequences, their activities, skew, is it significant."""
    known = {s[i:i + LINK] for _, s in contigs.values() for i in range(len(s) - LINK + 1)}
    known |= {reverse_complement(s) for s in known}
    for r in rows(f"{folder}/cagi4_eqtl_mpra.tsv.gz"):
        s = r["ref_sequence"], r["alt_sequence"]
        if not any(x[i:i + LINK] in known for x in s for i in range(len(x) - LINK + 1)):
            yield (r["chr"], s, (float(r["C.A.log2FC"]), float(r["C.B.log2FC"])), float(r["LogSkew.Comb"]),
                   r["emVar_Hit"] == "1")


def strength(effect, p):
    """Signed root of -log10 of the p-value."""
    return math.copysign(math.sqrt(-math.log10(max(p, 1e-300))), effect)


def fold_of(chrom):
    return (23 if chrom == "X" else int(chrom)) % FOLDS


def prepare_elements(contigs, effects, work):
    with open(f"{work}/contigs.fa", "w") as f:
        for name, (_, s) in contigs.items():
            print(f">{name}\n{s}", file=f)
    for left in contigs:
        with open(f"{work}/{left}.split.tsv", "w") as f:
            for name in contigs:
                print(name, "skip" if name == left else "train", sep="\t", file=f)
        with open(f"{work}/{left}.vcf", "w") as f:
            print("##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", file=f)
            for name, at, ref, alt in effects:
                if name == left:
                    print(name, at + 1, ".", ref, alt, ".", ".", ".", sep="\t", file=f)
    with open(f"{work}/labels.tsv", "w") as labels, open(f"{work}/windows.fa", "w") as windows:
        print("chrom", "pos", "ref", "alt", "tissue", "label", sep="\t", file=labels)
        for name, at, ref, alt in effects:
            s = contigs[name][1]
            mean = np.mean([strength(*x) for x in effects[name, at, ref, alt].values()])
            for label, bound in LABELS.items():
                print(name, at + 1, ref, alt, label, int(mean / bound > 1), sep="\t", file=labels)
            start = max(0, min(at - LENGTH // 2, len(s) - LENGTH))
            for allele in ref, alt:
                print(f">{name}_{at}_{allele}\n{(s[:at] + allele + s[at + 1:])[start:start + LENGTH]}", file=windows)


def prepare_constructs(found, work):
    activity = np.array([a for _, _, a, *_ in found])
    activity = (activity - activity.mean()) / activity.std()
    parts = {k: open(f"{work}/{k}.constructs.tsv", "w") for k in (*range(FOLDS), "all")}
    with open(f"{work}/constructs.fa", "w") as fasta, open(f"{work}/constructs.tsv", "w") as table:
        print("name\tACTIVITY", file=table)
        for i, (chrom, sequences, *_) in enumerate(found):
            for part, s, a in zip(("ref", "alt"), sequences, activity[i]):
                print(f">{i}_{part}\n{s}", file=fasta)
                print(f"{i}_{part}\t{a:.5f}", file=table)
                for k, f in parts.items():
                    print(f"{i}_{part}", "skip" if fold_of(chrom) == k else "train", i, sep="\t", file=f)
    for f in parts.values():
        f.close()


def prepare(folder, work):
    os.makedirs(work, exist_ok=True)
    contigs = elements(folder)
    effects = measured(folder, contigs)
    found = list(constructs(folder, contigs))
    prepare_elements(contigs, effects, work)
    prepare_constructs(found, work)
    print(f"# {len(contigs)} elements, {len({e for x in effects.values() for e in x})} experiments, {len(effects)} "
          f"substitutions; {len(found)} variants of CAGI4", file=sys.stderr)


# ---- evaluation ---------------------------------------------------------------------------------

def canonical(word):
    return min(word, reverse_complement(word))


def word_counts(texts):
    """Sparse counts of canonical words; every row is a list of (sequence, factor)."""
    index, at, column, value = {}, [], [], []
    for i, row in enumerate(texts):
        for s, factor in row:
            for j in range(len(s) - WORD + 1):
                at.append(i)
                column.append(index.setdefault(canonical(s[j:j + WORD]), len(index)))
                value.append(factor)
    return csr_matrix((value, (at, column)), (len(texts), len(index)), dtype=float)


def ridge(x, y, penalty):
    return Ridge(alpha=penalty, solver="cholesky" if isinstance(x, np.ndarray) else "sparse_cg").fit(x, y)


class Elements:
    """Kircher's measurements, a row each: an experiment's effect of a substitution."""

    def __init__(self, folder):
        self.contigs = elements(folder)
        effects = measured(folder, self.contigs)
        self.keys = list(effects)
        flat = [(i, key[0], e, *x) for i, (key, found) in enumerate(effects.items()) for e, x in found.items()]
        self.of, self.element, self.experiment, self.effect, p = map(np.array, zip(*flat))
        self.significance = np.tanh(np.array([strength(*x) for x in zip(self.effect, p)]) / 2)
        self.experiments = {e: np.flatnonzero(self.experiment == e) for e in sorted(set(self.experiment))}

    def scaled(self, y, power):
        y = y.copy()
        for at in self.experiments.values():
            y[at] /= y[at].std() ** power
        return y

    def left_out(self, x, y, penalty):
        """A prediction for every substitution by a ridge without its element; x has a row for each."""
        out, element = np.zeros(len(self.keys)), np.array([k[0] for k in self.keys])
        for name in self.contigs:
            use = self.element != name
            out[element == name] = ridge(x[self.of[use]], y[use], penalty).predict(x[element == name])
        return out

    def words(self):
        texts = []
        for name, at, ref, alt in self.keys:
            s = self.contigs[name][1]
            left, right = s[max(0, at - WORD + 1):at], s[at + 1:at + WORD]
            texts.append([(left + ref + right, -1), (left + alt + right, 1)])
        return word_counts(texts)

    def scores(self, folder):
        """Predictions from the tables of a method; NaN in elements that it has not come to."""
        found = {}
        for path in glob.glob(f"{folder}/*.scores"):
            with open(path) as f:
                for r in csv.DictReader(f, delimiter="\t"):
                    found[r["#chrom"], int(r["pos"]) - 1, r["ref"], r["alt"]] = sum(
                        math.copysign(float(r["CS_" + label]), bound) for label, bound in LABELS.items())
        return np.array([found.get(k, np.nan) for k in self.keys])

    def values(self, path):
        with open(path) as f:
            found = {r["name"]: float(r["value"]) for r in csv.DictReader(f, delimiter="\t")}
        return np.array([found[f"{n}_{at}_{alt}"] - found[f"{n}_{at}_{ref}"] for n, at, ref, alt in self.keys])

    def vectors(self, path):
        """Ridge on differences of vectors; its penalty is the best of the other elements', left out one by one."""
        x = np.load(path).astype(float).reshape(len(self.keys), 2, -1)
        x = x[:, 1] - x[:, 0]
        x /= x.std(axis=0) + 1e-9
        y = self.scaled(self.significance, 0.5)
        tried = [self.left_out(x, y, p) for p in PENALTIES]
        found = [self.by_element(t) for t in tried]
        out, element = np.zeros(len(self.keys)), np.array([k[0] for k in self.keys])
        for name in self.contigs:
            best = np.argmax([np.mean([v for e, v in f.items() if e != name]) for f in found])
            out[element == name] = tried[best][element == name]
        return out

    def correlations(self, p, how):
        return {e: how(p[self.of[at]], self.effect[at])[0] for e, at in self.experiments.items()
                if np.isfinite(p[self.of[at]]).all()}

    def by_element(self, p):
        mean = defaultdict(list)
        for e, r in self.correlations(p, pearsonr).items():
            mean[self.element[self.experiments[e][0]]].append(r)
        return {name: np.mean(r) for name, r in mean.items()}

    def row(self, method, seed, p):
        pearson, spearman = (list(self.correlations(p, how).values()) for how in (pearsonr, spearmanr))
        each = np.array(list(self.by_element(p).values()))
        rng = np.random.default_rng(1)
        samples = each[rng.integers(len(each), size=(DRAWS, len(each)))].mean(axis=1)
        print(method, seed, len(pearson), *("%.3f" % v for v in (np.mean(pearson), np.mean(spearman), each.mean(),
              *np.percentile(samples, [2.5, 97.5]))), sep="\t", flush=True)


def by_method(work, pattern):
    """Folders METHOD.SEED that have such a file."""
    out = defaultdict(dict)
    for path in sorted(glob.glob(f"{work}/*.[0-9]*/{pattern}")):
        method, seed = os.path.basename(os.path.dirname(path)).rsplit(".", 1)
        out[method][seed] = path
    return out


def predictions(data, work):
    """Method, seed and prediction for every substitution."""
    words = data.words()
    yield "6-mer ridge, effects", {"-": data.left_out(words, data.scaled(data.effect, 1), PENALTY)}
    yield "6-mer ridge, significance", {"-": data.left_out(words, data.scaled(data.significance, 0.5), PENALTY)}
    for pattern, read in ((f"{next(iter(data.contigs))}.scores", lambda path: data.scores(os.path.dirname(path))),
                          ("windows.tsv", data.values), ("windows.npy", data.vectors)):
        for method, paths in by_method(work, pattern).items():
            yield method, {seed: read(path) for seed, path in paths.items()}


def skews(folder, work):
    """Pearson's correlation with the skew of CAGI4's variants: all, and those that the authors call significant."""
    found = list(constructs(folder, elements(folder)))
    fold = np.array([fold_of(chrom) for chrom, *_ in found])
    skew, hit = np.array([x[3] for x in found]), np.array([x[4] for x in found])
    activity = np.array([x[2] for x in found]).T.ravel()
    words = word_counts([[(x[1][k], 1)] for k in (0, 1) for x in found])
    p = np.zeros(len(activity))
    for k in range(FOLDS):
        use = np.tile(fold != k, 2)
        p[~use] = ridge(words[use], activity[use], CONSTRUCT_PENALTY).predict(words[~use])
    each = {("6-mer ridge", "-"): p.reshape(2, -1)}
    for method, paths in by_method(work, "constructs.0.tsv").items():
        for seed, path in paths.items():
            value = {}
            for k in range(FOLDS):
                with open(f"{os.path.dirname(path)}/constructs.{k}.tsv") as f:
                    value |= {r["name"]: float(r["value"]) for r in csv.DictReader(f, delimiter="\t")
                              if fold[int(r["name"].split("_")[0])] == k}
            each[method, seed] = np.array([[value[f"{i}_{part}"] for i in range(len(found))]
                                           for part in ("ref", "alt")])
    print("method", "seed", "activity", "skew", "skew_significant", sep="\t")
    for (method, seed), p in each.items():
        d = p[1] - p[0]
        pairs = (p.ravel(), activity), (d, skew), (d[hit], skew[hit])
        print(method, seed, *("%.3f" % pearsonr(*x)[0] for x in pairs), sep="\t")


def table(folder, work):
    data, mean = Elements(folder), {}
    print("method", "seed", "experiments", "pearson", "spearman", "by_element", "low", "high", sep="\t")
    for method, found in predictions(data, work):
        for seed, p in found.items():
            data.row(method, seed, p)
        mean[method] = np.mean([p / np.nanstd(p) for p in found.values()], axis=0)
        if len(found) > 1:
            data.row(method, "mean", mean[method])
    print("experiment", *mean, sep="\t")
    each = [data.correlations(p, pearsonr) for p in mean.values()]
    for e in data.experiments:
        print(e, *("%.3f" % r[e] if e in r else "." for r in each), sep="\t")
    skews(folder, work)


def main():
    {"prepare": prepare, "table": table}[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
