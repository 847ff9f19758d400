#!/usr/bin/env python3
"""baseline.py - what 5-mer frequencies alone can do: logistic regression and a one-hidden-layer MLP.

Usage: baseline.py TRAIN_DIR VALID_DIR OUT.tsv [--seed 1]

Features: frequencies of the 512 canonical 5-mers (both strands counted), standardised. Training
fragments are all TRAIN_DIR/train_*.fa together (several lengths, so that the models know short and
long ones); each VALID_DIR/valid_LENGTH.fa is scored. Output rows: method, length, balanced_accuracy,
then recall per class, in the order of the header.
"""
import argparse
import glob
import os
import re
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

K = 5


def canonical_index():
    """k-mer code -> index of the smaller of it and its reverse complement."""
    index, number = np.zeros(4 ** K, int), {}
    for code in range(4 ** K):
        digits = [(code >> 2 * i) & 3 for i in range(K)]          # lowest digit: last base
        rc = sum((3 - d) << 2 * (K - 1 - i) for i, d in enumerate(digits))
        index[code] = number.setdefault(min(code, rc), len(number))
    return index


INDEX = canonical_index()
CODE = np.full(256, -1)
CODE[[ord(c) for c in "ACGT"]] = range(4)


def features(seq):
    c = CODE[np.frombuffer(seq.encode(), np.uint8)]
    n = len(c) - K + 1
    code, ok = np.zeros(n, int), np.ones(n, bool)
    for i in range(K):
        part = c[i:i + n]
        ok &= part >= 0
        code = code * 4 + part
    count = np.bincount(INDEX[code[ok]], minlength=INDEX.max() + 1).astype(np.float32)
    return count / max(count.sum(), 1)


def read(path):
    x, y = [], []
    with open(path) as f:
        for line in f:
            if line.startswith(">"):
                y.append(re.search(r"class=(\S+)", line).group(1))
            else:
                x.append(features(line.strip()))
    return np.array(x), np.array(y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("train")
    ap.add_argument("valid")
    ap.add_argument("out")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    parts = [read(p) for p in sorted(glob.glob(os.path.join(a.train, "train_*.fa")))]
    x, y = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    scale = StandardScaler().fit(x)
    x = scale.transform(x)
    models = {
        "logistic_5mer": LogisticRegression(max_iter=300, C=0.1, random_state=a.seed),
        "mlp_5mer": MLPClassifier((256,), early_stopping=True, alpha=1e-3, max_iter=60,
                                  random_state=a.seed),
    }
    classes = sorted(set(y))
    with open(a.out, "w") as out:
        out.write("method\tlength\tbalanced_accuracy\t" + "\t".join(classes) + "\n")
        for name, model in models.items():
            start = time.time()
            model.fit(x, y)
            print(f"{name}: {len(y)} fragments, {time.time() - start:.0f} s")
            for path in sorted(glob.glob(os.path.join(a.valid, "valid_*.fa")),
                               key=lambda p: int(re.findall(r"\d+", p)[-1])):
                vx, vy = read(path)
                pred = model.predict(scale.transform(vx))
                recall = recall_score(vy, pred, labels=classes, average=None, zero_division=0)
                length = re.findall(r"\d+", path)[-1]
                out.write(f"{name}\t{length}\t{balanced_accuracy_score(vy, pred):.4f}\t"
                          + "\t".join(f"{r:.4f}" for r in recall) + "\n")


if __name__ == "__main__":
    main()
