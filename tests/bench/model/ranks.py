#!/usr/bin/env python3
"""ranks.py - labels for fragments of families.py, and the accuracy of calls at each rank.

Usage: ranks.py labels RECORDS.tsv.xz FASTA...
       ranks.py table RECORDS.tsv.xz TREE.tsv CALLS.tsv
       ranks.py mean RANKS.tsv [FOLD...]

RECORDS is refdata/model/taxa.tsv.xz, TREE refdata/model/taxa_tree.tsv. `labels` prints a table for
`chordseq eval --labels`, of fragments whose taxon is known. `table` compares the table of `chordseq
classify` with the truth, and prints a row per class of the default model and rank: fragments of the class
with a taxon of that rank, the share of them that is called by it or by a taxon below, the share that is
called by another taxon of that rank or class, the number of calls of taxa of that class and rank (or
below), and how many of these are wrong. A fragment whose taxon of the rank is unknown does not count
as a call there if the call is below its known taxon. `mean` reads tables of bench_ranks.sh of these folds (0
to 4) and prints two tables in Markdown: with every fragment called, the mean share of right calls and its
standard error, over folds with 20 such fragments; with thresholds, folds together, the share of the
fragments with a right call / the share of the calls that are wrong.
"""
import collections
import csv
import lzma
import math
import sys

TOP = ("archaea", "bacteria", "eukaryota", "mitochondrion", "plasmid", "plastid", "virus")
ORGANELLES = ("mitochondrion", "plastid")     # below eukaryota in the tree
ENOUGH = 20                                   # fragments, for a figure
RANKS = ("realm", "kingdom", "phylum", "class")


def records(path):
    """record -> (taxon, is it known)"""
    with lzma.open(path, "rt") as f:
        return {name: (taxon, known == "known")
                for name, taxon, known in (line.rstrip("\n").split("\t") for line in f)}


def tree(path):
    """name -> (rank, parent), up to the classes of the default model."""
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {r[0]: (r[2], r[3]) for r in rows if r[0] not in TOP and r[3] != "1"}


def places(taxa, name):
    """rank -> taxon of a taxon and its ancestors; the rank of the default model's classes is `top`."""
    out = {}
    while name in taxa:
        rank, parent = taxa[name]
        if rank != "other":                   # the other taxa of the parent
            out[rank] = name
        name = parent
    if name in TOP:
        out["top"] = name
    return out


def labels(truth, paths):
    for path in paths:
        with open(path) as f:
            for line in f:
                name = line[1:].split()[0] if line.startswith(">") else None
                taxon, known = truth[name.split("|", 2)[2]] if name else (None, False)
                if known:
                    print(name, taxon, sep="\t")


def table(truth, taxa, path):
    n, right, other, calls, wrong = (collections.Counter() for _ in range(5))
    with open(path) as f:
        column = f.readline().rstrip("\n").split("\t").index("label")
        for line in f:
            field = line.rstrip("\n").split("\t")
            taxon, known = truth[field[0].split("|", 2)[2]]
            want, got = places(taxa, taxon), places(taxa, field[column].split(";")[-1])
            if want["top"] in ORGANELLES and got == {"top": "eukaryota"}:
                got = {}
            for rank, name in want.items():
                key = want["top"], rank
                n[key] += 1
                right[key] += got.get(rank) == name
                other[key] += rank in got and got[rank] != name
            for rank, name in got.items():
                if rank not in want and not known and taxon in places(taxa, name).values():
                    continue
                calls[got["top"], rank] += 1
                wrong[got["top"], rank] += want.get(rank) != name
    for key in sorted(n, key=lambda k: (k[1] != "top", k[1] in RANKS and RANKS.index(k[1]), k[0])):
        print(*key, n[key], f"{right[key] / n[key]:.3f}", f"{other[key] / n[key]:.3f}", calls[key], wrong[key],
              sep="\t")


def right_of(rows):
    """mean ± standard error over folds of the share that is right"""
    v = [float(r["all_right"]) for r in rows if int(r["n"]) >= ENOUGH]
    if not v:
        return "-"
    m = sum(v) / len(v)
    error = math.sqrt(sum((x - m) ** 2 for x in v) / (len(v) - 1) / len(v)) if len(v) > 1 else 0
    return f"{m:.3f} ± {error:.3f}" if len(v) > 1 else f"{m:.3f}"


def called_of(rows):
    """share with a right call / share of the calls that are wrong"""
    n, calls, wrong = (sum(int(r[c]) for r in rows) for c in ("n", "calls", "calls_wrong"))
    if n < ENOUGH:
        return "-"
    right = sum(int(r["n"]) * float(r["called_right"]) for r in rows)
    return f"{right / n:.2f} / " + (f"{wrong / calls:.2f}" if calls >= ENOUGH else "-")


def means_of_top(rows):
    """Of each fold the mean of the classes of the default model, as a row."""
    out = []
    for fold in dict.fromkeys(r["fold"] for r in rows):
        v = [float(r["all_right"]) for r in rows if r["fold"] == fold]
        out.append({"n": sum(int(r["n"]) for r in rows if r["fold"] == fold),
                    "all_right": sum(v) / len(TOP) if len(v) == len(TOP) else math.nan})
    return [r for r in out if not math.isnan(r["all_right"])]


def mean(path, folds):
    with open(path, newline="") as f:
        rows = [r for r in csv.DictReader(f, delimiter="\t") if r["fold"] in folds]
    lengths = list(dict.fromkeys(r["length"] for r in rows))
    for cell in right_of, called_of:
        print("| |", " | ".join(f"{int(n):,}" for n in lengths), "|")
        print("|" + "---|" * (1 + len(lengths)))
        by_length = ([r for r in rows if r["length"] == n and r["rank"] == "top"] for n in lengths)
        if cell is right_of:
            by_length = map(means_of_top, by_length)
        print("| mean of the seven classes |" if cell is right_of else "| all seven classes |",
              " | ".join(map(cell, by_length)), "|")
        for rank in ("top", *RANKS):
            for top in TOP:
                own = [r for r in rows if (r["top"], r["rank"]) == (top, rank)]
                if own:
                    by_length = ([r for r in own if r["length"] == n] for n in lengths)
                    print("|", top if rank == "top" else f"{top}, {rank}", "|",
                          " | ".join(map(cell, by_length)), "|")
        print()


def main():
    mode, path, *rest = sys.argv[1:]
    if mode == "mean":
        mean(path, rest or list("01234"))
    elif mode == "labels":
        labels(records(path), rest)
    else:
        table(records(path), tree(rest[0]), rest[1])


main()
