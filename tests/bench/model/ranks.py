#!/usr/bin/env python3
"""ranks.py - labels for fragments of families.py, and the accuracy of calls at each rank.

Usage: ranks.py labels RECORDS.tsv.xz FASTA...
       ranks.py table RECORDS.tsv.xz TREE.tsv CALLS.tsv

RECORDS is refdata/model/taxa.tsv.xz, TREE refdata/model/taxa_tree.tsv. `labels` prints a table for
`chordseq eval --labels`, of fragments whose taxon is known. `table` compares the table of `chordseq
classify` with the truth, and prints a row per class of the default model and rank: fragments with a
taxon of that rank, the share of them that is called by it or by a taxon below, the share that is called
by another taxon of that rank, and the latter's share of both.
"""
import collections
import lzma
import sys

TOP = ("archaea", "bacteria", "eukaryota", "mitochondrion", "plasmid", "plastid", "virus")
ORGANELLES = ("mitochondrion", "plastid")     # below eukaryota in the tree
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
    n, right, other = (collections.Counter() for _ in range(3))
    with open(path) as f:
        column = f.readline().rstrip("\n").split("\t").index("label")
        for line in f:
            field = line.rstrip("\n").split("\t")
            want = places(taxa, truth[field[0].split("|", 2)[2]][0])
            got = places(taxa, field[column].split(";")[-1])
            if want["top"] in ORGANELLES and got == {"top": "eukaryota"}:
                got = {}
            for rank, taxon in want.items():
                key = want["top"], rank
                n[key] += 1
                right[key] += got.get(rank) == taxon
                other[key] += rank in got and got[rank] != taxon
    for key in sorted(n, key=lambda k: (k[1] != "top", k[1] in RANKS and RANKS.index(k[1]), k[0])):
        called = right[key] + other[key]
        print(*key, n[key], f"{right[key] / n[key]:.3f}", f"{other[key] / n[key]:.3f}",
              f"{other[key] / called:.3f}" if called else "-", sep="\t")


def main():
    mode, path, *rest = sys.argv[1:]
    truth = records(path)
    if mode == "labels":
        labels(truth, rest)
    else:
        table(truth, tree(rest[0]), rest[1])


main()
