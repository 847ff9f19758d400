#!/usr/bin/env python3
"""fragments.py - cut labelled fragments of fixed lengths from one side of the split.

Usage: fragments.py TAXA_DIR SPLIT.tsv SIDE OUT_DIR --lengths 500,1000 --per-class 300 --seed 1

Writes OUT_DIR/SIDE_LENGTH.fa with headers `>ID:START-END class=CLASS`. Organisms are drawn evenly
within a class, then a record of the organism, then a position, so that one large genome does not
stand for its class. Records shorter than the length do not take part; a class without any is left
out and said so. A function of the arguments alone.
"""
import argparse
import gzip
import os
import random

CLASSES = {
    "archaea": ["archaea"], "bacteria": ["bacteria"], "plasmid": ["plasmid"],
    "virus": ["virus_euk", "virus_phage"], "mitochondrion": ["mitochondrion"],
    "plastid": ["plastid"],
    "eukaryota": ["nuclear_fungi", "nuclear_invertebrate", "nuclear_plant", "nuclear_protist",
                  "nuclear_vertebrate"],
}
LOOSE = {"unknown", "uncultured_phage", "Microviridae_phage"}   # names that are no one organism


def read_fasta(path):
    """Yield (header, sequence)."""
    header, part = None, []
    with gzip.open(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if header is not None:
                    yield header, "".join(part)
                header, part = line[1:].rstrip(), []
            else:
                part.append(line.strip())
    if header is not None:
        yield header, "".join(part)


def load(taxa, split, side):
    """class -> organism -> [(id, sequence)] of the records on one side."""
    with open(split) as f:
        side_of = dict(line.rstrip("\n").split("\t")[:2] for line in f)
    out = {}
    for cls, files in CLASSES.items():
        groups = out.setdefault(cls, {})
        for name in files:
            for header, seq in read_fasta(os.path.join(taxa, name + ".fa.gz")):
                ident = header.split()[0]
                if side_of.get(ident) != side:
                    continue
                organism = dict(kv.split("=", 1) for kv in header.split()[1:] if "=" in kv)["organism"]
                if organism in LOOSE:
                    organism = ident.rsplit(":", 1)[0]
                groups.setdefault(organism, []).append((ident, seq))
    return out


def draw(groups, length, n, rng):
    """n fragments of one class: organisms in turn, shuffled anew each round."""
    usable = {o: [r for r in rs if len(r[1]) >= length] for o, rs in groups.items()}
    usable = {o: rs for o, rs in usable.items() if rs}
    order = []
    for _ in range(n if usable else 0):
        if not order:
            order = sorted(usable)
            rng.shuffle(order)
        records = usable[order.pop()]
        ident, seq = rng.choices(records, [len(r[1]) for r in records])[0]
        start = rng.randrange(len(seq) - length + 1)
        yield f"{ident}@{start + 1}-{start + length}", seq[start:start + length]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("taxa")
    ap.add_argument("split")
    ap.add_argument("side", choices=["train", "valid"])
    ap.add_argument("out")
    ap.add_argument("--lengths", default="500,1000,3000,10000,50000")
    ap.add_argument("--per-class", type=int, default=300)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    data = load(a.taxa, a.split, a.side)
    os.makedirs(a.out, exist_ok=True)
    for length in map(int, a.lengths.split(",")):
        with open(os.path.join(a.out, f"{a.side}_{length}.fa"), "w") as f:
            for cls in CLASSES:
                rng = random.Random(f"{a.seed} {length} {cls}")
                n = 0
                for ident, seq in draw(data[cls], length, a.per_class, rng):
                    f.write(f">{ident} class={cls}\n{seq}\n")
                    n += 1
                if n == 0:
                    print(f"no {cls} record of {length} bp on side {a.side}: class left out")


if __name__ == "__main__":
    main()
