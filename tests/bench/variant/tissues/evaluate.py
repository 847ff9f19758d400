"""evaluate.py - AUROC on the test's rows, pooled over tissues, with a bootstrap interval by site.

Usage: evaluate.py baselines WORK
       evaluate.py score WORK SCORES.tsv METHOD SEED SECONDS

The baselines: how often a tissue's label is 1 among the training rows, and a logistic regression on
the changes in k-mer counts (k = 1 .. 4, both strands) within 16 bases, beside the tissue.
"""
import csv
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

FLANK, BOOTSTRAPS = 16, 2000


def read_rows(work):
    """The labelled rows with the part that their slice is in."""
    part = dict(line.rstrip("\n").split("\t") for line in open(work + "/split.tsv"))
    rows = list(csv.DictReader(open(work + "/labels.tsv"), delimiter="\t"))
    for row in rows:
        row["part"] = {"skip": "test"}.get(part[row["chrom"]], part[row["chrom"]])
        row["site"] = (row["chrom"], int(row["pos"]), row["ref"], row["alt"])
        row["label"] = int(row["label"])
    return rows


def report(method, seed, test, score, seconds):
    """One line of the table; sites are drawn with all their rows."""
    truth = np.array([row["label"] for row in test])
    score = np.asarray(score, float)
    sites = sorted({row["site"] for row in test})
    of_site = {site: [] for site in sites}
    for i, row in enumerate(test):
        of_site[row["site"]].append(i)
    samples, rng = [], np.random.default_rng(1)
    for _ in range(BOOTSTRAPS):
        pick = np.concatenate([of_site[sites[k]] for k in rng.integers(len(sites), size=len(sites))])
        if 0 < truth[pick].sum() < len(pick):
            samples.append(roc_auc_score(truth[pick], score[pick]))
    low, high = np.percentile(samples, [2.5, 97.5])
    print(method, seed, len(test), *("%.4f" % v for v in (roc_auc_score(truth, score), low, high)), seconds,
          sep="\t", flush=True)


def read_fasta(path):
    """Contigs by name."""
    contig, name = {}, None
    for line in open(path):
        if line.startswith(">"):
            name = line[1:].split()[0]
            contig[name] = []
        else:
            contig[name].append(line.strip())
    return {name: "".join(lines) for name, lines in contig.items()}


def kmers(text, counts, sign):
    """Canonical k-mers of a text, added to counts."""
    turn = str.maketrans("ACGT", "TGCA")
    for k in range(1, 5):
        for i in range(len(text) - k + 1):
            word = text[i:i + k]
            word = min(word, word.translate(turn)[::-1])
            counts[word] = counts.get(word, 0) + sign


def changes(row, contig):
    """What the alternative has more of."""
    chrom, pos, ref, alt = row["site"]
    text, counts = contig[chrom], {}
    left, right = text[max(0, pos - 1 - FLANK):pos - 1], text[pos - 1 + len(ref):pos - 1 + len(ref) + FLANK]
    kmers(left + alt + right, counts, 1)
    kmers(left + ref + right, counts, -1)
    return counts


def baselines(work):
    """Both of them."""
    rows = read_rows(work)
    train = [row for row in rows if row["part"] == "train"]
    test = [row for row in rows if row["part"] == "test"]
    overall = np.mean([row["label"] for row in train])
    rate = {}
    for tissue in {row["tissue"] for row in rows}:
        known = [row["label"] for row in train if row["tissue"] == tissue]
        rate[tissue] = (sum(known) + overall) / (len(known) + 1)
    report("tissue-rate", "-", test, [rate[row["tissue"]] for row in test], 0)
    contig = read_fasta(work + "/hg38.fa")
    counts = {id(row): changes(row, contig) for row in train + test}
    words = sorted({word for c in counts.values() for word in c})
    at = {word: i for i, word in enumerate(words)}

    def features(some):
        x = np.zeros((len(some), len(words) + 1))
        for i, row in enumerate(some):
            for word, n in counts[id(row)].items():
                x[i, at[word]] = n
            x[i, -1] = rate[row["tissue"]]
        return x

    fit = LogisticRegression(C=0.1, max_iter=5000).fit(features(train), [row["label"] for row in train])
    report("kmer-changes", "-", test, fit.predict_proba(features(test))[:, 1], 0)


def score(work, table, method, seed, seconds):
    """A model's scores: a column per tissue, or the size of a log-likelihood ratio for all of them."""
    test = [row for row in read_rows(work) if row["part"] == "test"]
    scores = {}
    for row in csv.DictReader(open(table), delimiter="\t"):
        scores[(row["#chrom"], int(row["pos"]), row["ref"], row["alt"])] = row
    if "CS_LLR" in next(iter(scores.values())):
        values = [abs(float(scores[row["site"]]["CS_LLR"])) for row in test]
    else:
        values = [float(scores[row["site"]]["CS_" + row["tissue"]]) for row in test]
    report(method, seed, test, values, seconds)


if sys.argv[1] == "baselines":
    baselines(sys.argv[2])
else:
    score(*sys.argv[2:])
