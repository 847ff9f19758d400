#!/usr/bin/env python3
"""families.py - cut labelled fragments from the records of one fold, evenly over groups of relatives.

Usage: families.py GROUPS.tsv.xz FOLD FASTA... --out DIR [--lengths 500,1000] [--per-class 250]
                   [--seed 1]

Writes DIR/LENGTH.fa with headers `>CLASS|N|RECORD class=CLASS`. GROUPS is what refdata/model/groups.py
writes; FOLD is 0 to 4, or valid: the groups held out from the default model. Records that no file
has are left out. Source classes take turns within a class, groups within a source class, and a record
is drawn by its length, at most twice for each length that it has. A function of the arguments alone.
"""
import argparse
import collections
import gzip
import lzma
import os
import random

LENGTHS = "150,500,1000,3000,10000,50000"


def seven(source_class):
    """The class that a file of the taxa sets stands for."""
    if source_class.startswith("nuclear_"):
        return "eukaryota"
    return "virus" if source_class.startswith("virus_") else source_class


def read_fasta(path):
    """Yield (name, sequence) of a FASTA file, plain, gzip or xz."""
    name, part = None, []
    opener = {"gz": gzip.open, "xz": lzma.open}.get(path.rsplit(".", 1)[-1], open)
    with opener(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(part)
                name, part = line[1:].split()[0], []
            else:
                part.append(line.strip())
    if name is not None:
        yield name, "".join(part)


def records_of(path, fold, have):
    """class -> source class -> group -> [(record, length)] of a fold, of the records in have."""
    def groups():
        return collections.defaultdict(list)

    out = collections.defaultdict(lambda: collections.defaultdict(groups))
    with lzma.open(path, "rt") as f:
        for line in f:
            name, source, group, of, length, _, part = line.rstrip("\n").split("\t")
            if fold in (of, part) and name in have:
                out[seven(source)][source][group].append((name, int(length)))
    return out


def draw(groups, length, used, rng):
    """The next record of a source class; groups are turned, and dropped when used up."""
    while groups:
        name = groups[0]
        free = [r for r in name[1] if used[r[0]] < max(1, 2 * r[1] // length)]
        if not free:
            groups.pop(0)
            continue
        groups.append(groups.pop(0))
        return rng.choices(free, [r[1] for r in free])[0]
    return None


def plan(sources, length, per_class, rng):
    """Yield (record, start) of one class."""
    turns = collections.deque()
    for _, groups in sorted(sources.items()):
        long = [(g, [r for r in rs if r[1] >= length]) for g, rs in sorted(groups.items())]
        long = [g for g in long if g[1]]
        rng.shuffle(long)
        turns.append(long)
    used, n = collections.Counter(), 0
    while turns and n < per_class:
        groups = turns.popleft()
        record = draw(groups, length, used, rng)
        if record is None:
            continue
        turns.append(groups)
        used[record[0]] += 1
        n += 1
        yield record[0], rng.randrange(record[1] - length + 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("groups")
    ap.add_argument("fold")
    ap.add_argument("fasta", nargs="+")
    ap.add_argument("--out", required=True)
    ap.add_argument("--lengths", default=LENGTHS)
    ap.add_argument("--per-class", type=int, default=250)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    wanted = collections.defaultdict(list)
    records = {name: seq for path in a.fasta for name, seq in read_fasta(path)}
    own = records_of(a.groups, a.fold, records)
    for length in map(int, a.lengths.split(",")):
        for cls in sorted(own):
            rng = random.Random(f"{a.seed} {a.fold} {length} {cls}")
            for n, (name, start) in enumerate(plan(own[cls], length, a.per_class, rng)):
                wanted[name].append((length, cls, n, start))
    cut = collections.defaultdict(list)
    for name, places in wanted.items():
        for length, cls, n, start in places:
            cut[length].append((cls, n, name, records[name][start:start + length]))
    os.makedirs(a.out, exist_ok=True)
    for length, fragments in cut.items():
        with open(os.path.join(a.out, f"{length}.fa"), "w") as f:
            f.writelines(f">{c}|{n}|{name} class={c}\n{seq}\n" for c, n, name, seq in sorted(fragments))


if __name__ == "__main__":
    main()
