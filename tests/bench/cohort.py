"""cohort.py - AUROC on a simulated cohort's test persons, with a bootstrap interval.

Usage: cohort.py regressions WORK SEED UNLABELLED TRAINED
       cohort.py network WORK SEED METHOD SIZE SECONDS

The regressions: liability's genetic part as it was planted, which no method can pass but by chance, and logistic
regressions on the dosages of the planted sites and of all, fitted to the same persons as the networks.
"""
import csv
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score

BOOTSTRAPS = 2000


def report(method, seed, size, truth, score, seconds):
    """One line of the table."""
    rng, samples = np.random.default_rng(1), []
    for _ in range(BOOTSTRAPS):
        pick = rng.integers(len(truth), size=len(truth))
        if 0 < truth[pick].sum() < len(pick):
            samples.append(roc_auc_score(truth[pick], score[pick]))
    low, high = np.percentile(samples, [2.5, 97.5])
    print(method, seed, size, *("%.4f" % v for v in (roc_auc_score(truth, score), low, high)), seconds,
          sep="\t", flush=True)


def read_table(path, column):
    """Name -> a column, of rows that are no comments."""
    rows = (line.rstrip("\n").split("\t") for line in open(path) if not line.startswith("#"))
    return {row[0]: row[column] for row in rows}


def read_dosages(path):
    """Persons, places of sites, alleles that are not REF [persons, sites]."""
    persons, places, rows = [], [], []
    for line in open(path):
        column = line.rstrip("\n").split("\t")
        if line.startswith("#CHROM"):
            persons = column[9:]
        elif not line.startswith("#"):
            places.append(column[1])
            rows.append([(gt[0] != "0") + (gt[2] != "0") for gt in column[9:]])
    return persons, places, np.array(rows, float).T


def regressions(work, seed, unlabelled, trained):
    """The ceilings."""
    persons, places, dosage = read_dosages(work + "/cohort.vcf")
    label = read_table(work + "/labels.tsv", 1)
    genetic = read_table(work + "/liabilities.tsv", 2)
    truth = np.array([label[p] == "case" for p in persons])
    with open(work + "/effects.tsv") as effects:
        planted = {line.split("\t")[1] for line in effects if not line.startswith("#")}
    train, test = slice(unlabelled, unlabelled + trained), slice(unlabelled + trained, None)
    report("planted-liability", seed, len(planted), truth[test],
           np.array([float(genetic[p]) for p in persons[test]]), 0)
    for method, wanted in (("logistic-planted", planted), ("logistic-all", places)):
        began = time.time()
        columns = [i for i, place in enumerate(places) if place in wanted]
        x = dosage[:, columns]
        x = (x - x[train].mean(0)) / (x[train].std(0) + 1e-9)
        model = LogisticRegressionCV(Cs=10, cv=5, max_iter=1000).fit(x[train], truth[train])
        report(method, seed, len(columns), truth[test], model.decision_function(x[test]),
               round(time.time() - began))


def network(work, seed, method, size, seconds):
    """From classify's table with a column per class."""
    label = read_table(work + "/labels.tsv", 1)
    rows = list(csv.DictReader(open(work + "/%s.tsv" % method), delimiter="\t"))
    truth = np.array([label[row["name"]] == "case" for row in rows])
    report(method, seed, size, truth, np.array([float(row["prob_case"]) for row in rows]), seconds)


if __name__ == "__main__":
    if sys.argv[1] == "regressions":
        regressions(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        network(*sys.argv[2:])
