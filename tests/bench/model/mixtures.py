#!/usr/bin/env python3
"""mixtures.py - calls of mixtures of classes with equal, true and estimated shares (classify --prior).

Usage   mixtures.py CHORDSEQ LENGTHS MODEL FRAGMENTS [MODEL FRAGMENTS...]

FRAGMENTS is a folder of families.py, MODEL a calibrated model that was not trained on its families. A mixture has the
first records of each class in LENGTH.fa, as many as its shares allow. Prints a row per mixture, length and prior, mean
over the models: records; accuracy of the best class; share of records with a call at the model's thresholds; share of
these that are wrong; for classes with a share of at most 0.1, together, the share of their records that are called
right, and the share of calls of these classes that are wrong; and half the sum of the absolute differences between
estimated and true shares. "." where there is none.
"""
import csv
import os
import subprocess
import sys
import tempfile

RARE = 0.1
MIXTURES = {
    "isolate": {"bacteria": 0.95, "plasmid": 0.05},
    "gut": {"bacteria": 0.8, "plasmid": 0.05, "virus": 0.08, "archaea": 0.02, "eukaryota": 0.05},
    "soil": {"bacteria": 0.85, "plasmid": 0.02, "virus": 0.04, "archaea": 0.06, "eukaryota": 0.03},
    "virome": {"virus": 0.6, "bacteria": 0.33, "plasmid": 0.05, "eukaryota": 0.02},
    "fungus": {"eukaryota": 0.9, "bacteria": 0.06, "mitochondrion": 0.02, "virus": 0.01, "plasmid": 0.01},
    "equal": {c: 1 / 7 for c in ("archaea", "bacteria", "eukaryota", "mitochondrion", "plasmid", "plastid", "virus")},
}


def read_fragments(path):
    """Class -> records as text, in the order of the file."""
    found = {}
    with open(path) as f:
        for record in f.read().split(">")[1:]:
            found.setdefault(record.split("|", 1)[0], []).append(">" + record)
    return found


def classify(chordseq, model, path, *options):
    """Rows of the table."""
    run = subprocess.run([chordseq, "classify", "-qq", "-m", model, "--strand", "both", "--all", *options, path],
                         stdout=subprocess.PIPE, check=True, encoding="ascii")
    return list(csv.DictReader(run.stdout.splitlines(), delimiter="\t"))


def tally(rows, shares):
    """Accuracy, called, wrong, rare records called right, wrong calls of rare classes; None: no such class or call."""
    best = calls = wrong = rare = rare_right = rare_calls = 0
    for row in rows:
        truth = row["name"].split("|")[0]
        known = {c[5:]: float(p) for c, p in row.items() if c.startswith("prob_") and p != "."}
        best += bool(known) and max(known, key=known.get) == truth
        rare += shares[truth] <= RARE
        if row["reason"] == ".":
            calls += 1
            wrong += row["label"] != truth
            rare_right += row["label"] == truth and shares[truth] <= RARE
            rare_calls += shares.get(row["label"], 0) <= RARE
    return (best / len(rows), calls / len(rows), wrong / max(calls, 1), rare_right / rare if rare else None,
            1 - rare_right / rare_calls if rare_calls and rare else None)


def measure(chordseq, model, fragments, shares, folder):
    """Prior -> list of the columns, for one model and length."""
    total = min(len(fragments[c]) / s for c, s in shares.items())
    path, estimate = os.path.join(folder, "mixture.fa"), os.path.join(folder, "shares.tsv")
    with open(path, "w") as f:
        for c, s in shares.items():
            f.writelines(fragments[c][:round(s * total)])
    rows = classify(chordseq, model, path, "--shares", estimate)
    with open(estimate) as f:
        found = {row["class"]: float(row["share"]) for row in csv.DictReader(f, delimiter="\t")}
    error = sum(abs(p - shares.get(c, 0)) for c, p in found.items()) / 2
    given = ",".join(f"{c}={s:.6f}" for c, s in shares.items())
    again = {"true": ("--prior", given), "estimated": ("--prior-file", estimate)}
    tables = {"equal": rows, **{name: classify(chordseq, model, path, *words) for name, words in again.items()}}
    return {name: [len(rows), *tally(table, shares), error if name == "estimated" else None]
            for name, table in tables.items()}


def main():
    chordseq, lengths, *pairs = sys.argv[1:]
    print("mixture", "length", "prior", "records", "accuracy", "called", "wrong", "rare_right", "rare_wrong", "share_error",
          sep="\t")
    with tempfile.TemporaryDirectory() as folder:
        for name, shares in MIXTURES.items():
            for length in lengths.split(","):
                each = [measure(chordseq, model, read_fragments(os.path.join(at, length + ".fa")), shares, folder)
                        for model, at in zip(pairs[::2], pairs[1::2])]
                for prior in "equal", "true", "estimated":
                    n, *shown = zip(*(e[prior] for e in each))
                    print(name, length, prior, sum(n),
                          *(f"{sum(v) / len(v):.3f}" if None not in v else "." for v in shown), sep="\t", flush=True)


main()
