#!/usr/bin/env python3
"""second_opinion.py - what a second model adds to a first one, on folds that neither has seen.

Usage   second_opinion.py FIRST_0 SECOND_0 FIRST_1 SECOND_1 ...

The files, two per fold, are tables of `chordseq classify --all --min-prob 0` of the same records, whose names begin with
their class, "virus|17". The log-probabilities of the second model, times a weight per class, and a constant per class
are added to those of the first, times a factor. All have the least cross-entropy, plus a ridge of 1e-4, on the records
of the other folds; every class of a length has the same weight. Where the second model has no prediction, that of the
first counts; where the first has none, the record is wrong. Prints a row per fold and length: balanced accuracy of the
first model, of both, and the records without a second prediction.
"""
import csv
import sys

import numpy as np

RIDGE, LEAST, STEPS = 1e-4, 5e-7, 12       # LEAST: probabilities have six decimals


def read(path):
    """Names, lengths and log-probabilities, NaN for records without a prediction; classes."""
    with open(path, newline="") as f:
        rows = csv.reader(f, delimiter="\t")
        head = next(rows)
        at = [i for i, name in enumerate(head) if name.startswith("prob_")]
        table = [(r[0], int(r[1]), [np.nan if r[i] == "." else float(r[i]) for i in at]) for r in rows]
    name, length, p = zip(*table)
    return name, np.array(length), np.log(np.maximum(np.array(p), LEAST)), [head[i][5:] for i in at]


def read_fold(first, second):
    """Lengths, truth as numbers, and log-probabilities of both models; fails unless the records are the same."""
    a, b = read(first), read(second)
    if a[0] != b[0] or a[3] != b[3]:
        sys.exit(f"second_opinion.py: '{first}' and '{second}' are not of the same records and classes")
    truth = np.array([a[3].index(name.split("|")[0]) for name in a[0]])
    return a[1], truth, a[2], b[2]


def balance(length, truth):
    """Weights with which each class of each length counts the same, of sum 1."""
    w = np.zeros(len(truth))
    for cell in set(zip(length, truth)):
        at = (length == cell[0]) & (truth == cell[1])
        w[at] = 1 / at.sum()
    return w / w.sum()


def predict(w, first, second):
    """Logits of both models; w: the factor of the first, the weights of the second, the constants."""
    n_class = first.shape[1]
    return w[0] * first + second * w[1:n_class + 1] + w[n_class + 1:]


def loss(w, start, truth, share, first, second):
    """Cross-entropy and ridge, and the probabilities."""
    z = predict(w, first, second)
    z -= z.max(1, keepdims=True)
    p = np.exp(z)
    total = p.sum(1, keepdims=True)
    row = np.arange(len(truth))
    ridge = RIDGE / 2 * (w - start) @ (w - start)
    return share @ (np.log(total[:, 0]) - z[row, truth]) + ridge, p / total


def fit(length, truth, first, second):
    """The w of predict(), by Newton steps from the first model alone, halved while the loss would rise."""
    known = ~np.isnan(first[:, 0] + second[:, 0])
    length, truth, first, second = (x[known] for x in (length, truth, first, second))
    n_class = first.shape[1]
    start, share = np.eye(2 * n_class + 1)[0], balance(length, truth)
    hit, row, w = np.eye(n_class)[truth], np.arange(n_class), start
    x = np.zeros((len(truth), n_class, 2 * n_class + 1))       # derivatives of the logits
    x[:, :, 0] = first
    x[:, row, 1 + row] = second
    x[:, row, 1 + n_class + row] = 1
    for _ in range(STEPS):
        now, p = loss(w, start, truth, share, first, second)
        slope = np.einsum("i,ik,ika->a", share, p - hit, x, optimize=True) + RIDGE * (w - start)
        mean = np.einsum("ik,ika->ia", p, x, optimize=True)
        weighted = x * np.sqrt(share[:, None] * p)[:, :, None]
        curve = np.tensordot(weighted, weighted, ((0, 1), (0, 1))) - (mean * share[:, None]).T @ mean
        step = np.linalg.solve(curve + RIDGE * np.eye(len(w)), slope)
        while loss(w - step, start, truth, share, first, second)[0] > now and np.abs(step).max() > 1e-6:
            step /= 2
        w = w - step
    return w


def balanced(truth, z):
    """Mean recall of the classes."""
    right = (z.argmax(1) == truth) & ~np.isnan(z[:, 0])
    return np.mean([right[truth == c].mean() for c in np.unique(truth)])


def main():
    folds = [read_fold(*sys.argv[i:i + 2]) for i in range(1, len(sys.argv), 2)]
    print("fold", "length", "first", "both", "without", sep="\t")
    for k, (length, truth, first, second) in enumerate(folds):
        w = fit(*(np.concatenate(x) for x in zip(*folds[:k], *folds[k + 1:])))
        without = np.isnan(second[:, 0])
        both = np.where(without[:, None], first, predict(w, first, second))
        for bp in np.unique(length):
            at = length == bp
            print(k, bp, f"{balanced(truth[at], first[at]):.4f}", f"{balanced(truth[at], both[at]):.4f}",
                  without[at].sum(), sep="\t")


main()
