#!/usr/bin/env python3
"""calls.py - what `classify` called of fragments whose names begin with their class, "virus|17".

Usage   calls.py CALLS.tsv...

CALLS.tsv are tables of `chordseq classify` with its default settings, of one length and any number of folds. Prints
share of the fragments with a call, share of these that are wrong, and for each class the share of its fragments
with a call, the share of the calls of this class that are wrong ("-": fewer than 20 calls), and the share of its
called fragments that were called another class.
"""
import collections
import csv
import sys

FEWEST = 20


def main():
    n, called, given, wrong, missed = (collections.Counter() for _ in range(5))
    for path in sys.argv[1:]:
        with open(path) as f:
            for row in csv.DictReader(f, delimiter="\t"):
                truth, label = row["name"].split("|")[0], row["label"]
                n[truth] += 1
                if row["reason"] == ".":
                    called[truth] += 1
                    given[label] += 1
                    wrong[label] += label != truth
                    missed[truth] += label != truth
    print(f"called {sum(called.values()) / sum(n.values()):.3f}, {sum(wrong.values()) / sum(called.values()):.3f} of them wrong")
    print("class", "called", "wrong", "called another", sep="\t")
    for c in sorted(n):
        share = f"{wrong[c] / given[c]:.2f}" if given[c] >= FEWEST else "-"
        other = f"{missed[c] / called[c]:.2f}" if called[c] >= FEWEST else "-"
        print(c, f"{called[c] / n[c]:.2f}", share, other, sep="\t")


main()
