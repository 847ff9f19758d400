#!/usr/bin/env python3
"""markov.py - perplexity of Markov chains on held-out sequence, a baseline for networks.

usage: markov.py FASTA VALID[,VALID...] SKIP[,SKIP...] ORDER...        TSV to stdout

For every order k, counts of k-mers and the base behind them over both strands of all contigs but
those named (a name stands for NAME:FROM-TO, too); add-one-half smoothing, backing off to a mixture
with order k - 1 (Witten and Bell's weights), so that high orders with few counts are not punished
for it. `one_side`: the base is predicted from the k before it. `two_sides`: from the k/2 before and the
k/2 behind it, as a network with hidden tokens sees them; for even k > 0.
"""
import gzip
import sys

import numpy as np


def read(path):
    """Names and texts of a FASTA file, plain or gzip."""
    name, part = None, []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if name:
                    yield name, "".join(part)
                name, part = line[1:].split()[0], []
            else:
                part.append(line.strip().upper())
    if name:
        yield name, "".join(part)


CODE = np.full(256, 4, np.int64)
for number, letter in enumerate(b"ACGT"):
    CODE[letter] = number


def words(seq, offsets):
    """Context number of every place (-1: an unknown base in it) and the base there."""
    lo, hi = max(0, -min(offsets, default=0)), max(0, max(offsets, default=0))
    n = len(seq) - lo - hi
    if n <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    base = seq[lo:lo + n]
    word, good = np.zeros(n, np.int64), base < 4
    for o in offsets:
        c = seq[lo + o:lo + o + n]
        word = word * 4 + np.minimum(c, 3)
        good &= c < 4
    return np.where(good, word, -1), base


def turned(seq):
    """The reverse complement."""
    return np.where(seq < 4, 3 - seq, 4)[::-1]


def count(seqs, offsets):
    table = np.zeros((4 ** len(offsets), 4))
    for seq in seqs:
        for strand in (seq, turned(seq)):
            word, base = words(strand, offsets)
            known = word >= 0
            table += np.bincount(word[known] * 4 + base[known],
                                 minlength=table.size).reshape(table.shape)
    return table


def chain(train, nested):
    """Probabilities for the contexts of the last of `nested`, each mixed with the one before."""
    p = np.full((1, 4), 0.25)
    for i, offsets in enumerate(nested):
        table = count(train, offsets)
        if i:
            # A context of this order, seen with the places of the one before only.
            keep = [offsets.index(o) for o in nested[i - 1]]
            index = np.arange(len(table))
            digit = [(index // 4 ** (len(offsets) - 1 - j)) % 4 for j in range(len(offsets))]
            shorter = np.zeros(len(table), np.int64)
            for j in keep:
                shorter = shorter * 4 + digit[j]
            p = p[shorter]
        total = table.sum(1, keepdims=True)
        kinds = (table > 0).sum(1, keepdims=True)
        p = (table + kinds * p + 0.5 * p) / (total + kinds + 0.5)
    return p


def evaluate(valid, offsets, p):
    loss, right, n = 0.0, 0, 0
    for seq in valid:
        word, base = words(seq, offsets)
        known = word >= 0
        q = p[word[known]]
        b = base[known]
        loss -= np.log(q[np.arange(len(b)), b]).sum()
        right += (q.argmax(1) == b).sum()
        n += len(b)
    return loss / n, right / n, n


def main():
    path, valid_names, skip_names = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
    train, valid = [], []
    for name, text in read(path):
        seq = CODE[np.frombuffer(text.encode(), np.uint8)]
        stem = name.rsplit(":", 1)[0]
        if name in valid_names or stem in valid_names:
            valid.append(seq)
        elif name not in skip_names and stem not in skip_names:
            train.append(seq)
    print("model\torder\tbases\tloss\tperplexity\taccuracy")
    for k in map(int, sys.argv[4:]):
        one = [list(range(-i, 0)) for i in range(k + 1)]
        two = [list(range(-(i // 2), 0)) + list(range(1, i // 2 + 1)) for i in range(0, k + 1, 2)]
        for label, nested in (("one_side", one), ("two_sides", two)):
            if label == "two_sides" and (k == 0 or k % 2):
                continue
            loss, accuracy, n = evaluate(valid, nested[-1], chain(train, nested))
            print(f"{label}\t{k}\t{n}\t{loss:.5f}\t{np.exp(loss):.4f}\t{accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
