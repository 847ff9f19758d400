#!/usr/bin/env python3
"""bayes.py - naive Bayes on 8-mers as the RDP classifier has it, and the split to compare on.

Source: Wang, Garrity, Tiedje, Cole, Appl. Environ. Microbiol. 73 (2007), "Algorithm": words of 8
bases, present or absent; of N training sequences n(w) have word w, of the M of a genus m(w):
prior P(w) = (n(w) + 0.5) / (N + 1), P(w | genus) = (m(w) + P(w)) / (M + 1); a query's genus is that
with the largest product over its words. Higher ranks are those of that genus, and confidences (the
share of 100 draws of an eighth of the words that agree) are not needed for accuracies.

    bayes.py split FASTA RANKS SEED OUT     OUT.split.tsv for train, OUT.test.tsv for eval
    bayes.py score FASTA RANKS OUT          rows: rank, records, accuracy of naive Bayes
    bayes.py score FASTA RANKS OUT TEST     the same, tested on the records of another file
"""
import gzip
import sys

import numpy as np

K = 8
CODE = np.full(256, -1, np.int64)
for number, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    for letter in letters:
        CODE[ord(letter)] = number


def records(path, n_rank):
    """name, lineage cut to n_rank parts, codes of the bases"""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        for block in file.read().split(">")[1:]:
            head, _, bases = block.partition("\n")
            tax = [w[4:] for w in head.split() if w.startswith("tax=")][0]
            text = bases.replace("\n", "").encode()
            yield (head.split()[0], ";".join(tax.split(";")[:n_rank]),
                   CODE[np.frombuffer(text, np.uint8)])


def words(code, k):
    """the different words of a sequence, none with an unknown letter"""
    n = len(code) - k + 1
    if n < 1:
        return np.zeros(0, np.int64)
    word = np.zeros(n, np.int64)
    known = np.ones(n, bool)
    for i in range(k):
        word = 4 * word + code[i:i + n]
        known &= code[i:i + n] >= 0
    return np.unique(word[known])


def near(one, many, share):
    """does one of `many` hold this share of the words of `one`?"""
    return any(len(np.intersect1d(one, other, True)) >= share * len(one) for other in many)


def split(fasta, n_rank, seed, out):
    """A fifth of every taxon of two or more records is for testing, another tenth of the rest for
    validation. Test records of 99 % identity to a training record of their taxon are left out:
    that many of their 25-mers are the same (0.99^25 = 0.78)."""
    rows = list(records(fasta, n_rank))
    rng = np.random.default_rng(seed)
    part = ["train"] * len(rows)
    taxa = {}
    for i, row in enumerate(rows):
        taxa.setdefault(row[1], []).append(i)
    for lineage in sorted(taxa):
        mine = [taxa[lineage][i] for i in rng.permutation(len(taxa[lineage]))]
        n_test = max(1, round(0.2 * len(mine))) if len(mine) > 1 else 0
        for i in mine[:n_test]:
            part[i] = "test"
        for i in mine[n_test:n_test + round(0.1 * (len(mine) - n_test))]:
            part[i] = "valid"
        kept = [words(rows[i][2], 25) for i in mine[n_test:]]
        for i in mine[:n_test]:
            if near(words(rows[i][2], 25), kept, 0.78):
                part[i] = "skip"
    with open(out + ".split.tsv", "w") as split, open(out + ".test.tsv", "w") as test:
        for row, what in zip(rows, part):
            split.write(f"{row[0]}\t{'skip' if what == 'test' else what}\n")
            test.write(f"{row[0]}\t{'valid' if what == 'test' else 'skip'}\n")


def table(path):
    with open(path) as file:
        return dict(line.rstrip("\n").split("\t")[:2] for line in file)


class Bayes:
    def __init__(self, rows):
        self.lineage = sorted({row[1] for row in rows})
        number = {lineage: i for i, lineage in enumerate(self.lineage)}
        size = np.zeros(len(self.lineage), np.float32)
        count = np.zeros((4 ** K, len(self.lineage)), np.float32)
        for row in rows:
            size[number[row[1]]] += 1
            count[words(row[2], K), number[row[1]]] += 1
        prior = (count.sum(1) + 0.5) / (len(rows) + 1)
        count += prior[:, None]
        count /= size + 1
        np.log(count, out=count)
        self.log = count

    def call(self, code):
        return self.lineage[int(self.log[words(code, K)].sum(0, dtype=np.float64).argmax())]


def score(fasta, ranks, out, test=None):
    split, tested = table(out + ".split.tsv"), table(out + ".test.tsv")
    rows = list(records(fasta, len(ranks)))
    train = [r for r in rows if split[r[0]] != "skip"]
    held = list(records(test, len(ranks))) if test else \
        [r for r in rows if tested[r[0]] == "valid"]
    bayes = Bayes(train)
    known = {";".join(r[1].split(";")[:i + 1]) for r in train for i in range(len(ranks))}
    n, right = [0] * len(ranks), [0] * len(ranks)
    for row in held:
        call, truth = bayes.call(row[2]).split(";"), row[1].split(";")
        for i in range(min(len(ranks), len(truth))):
            if ";".join(truth[:i + 1]) in known:
                n[i] += 1
                right[i] += call[:i + 1] == truth[:i + 1]
    for i, rank in enumerate(ranks):
        print(f"{rank}\t{n[i]}\t{right[i] / max(n[i], 1):.4f}")


if __name__ == "__main__":
    command, path, rank_list = sys.argv[1:4]
    if command == "split":
        split(path, len(rank_list.split(",")), int(sys.argv[4]), sys.argv[5])
    else:
        score(path, rank_list.split(","), *sys.argv[4:])
