#!/usr/bin/env python3
"""community.py - draw the organisms of a metagenome, and name its reads and contigs by class.

Usage: community.py draw GROUPS.tsv.xz FASTA... --out DIR [--each 6] [--bases 150000] [--seed 1]
       community.py name DIR ORGANISM KIND FILE... > NAMED
       community.py contigs DIR CONTIGS.fa PAF > NAMED.fa

draw     For each of the seven classes, --each organisms of the training set (`known`) and as many of groups held
         out from it (`new`), at most one of a group, with at most --bases of sequence each and a log-normal
         abundance. Writes DIR/ORGANISM.fa and DIR/community.tsv: organism, class, known or new, group, bases,
         relative abundance (mean 1), name.
name     FASTQ on standard input as FASTA; names become CLASS|known or new|KIND|number[/mate].
contigs  Contigs with names of this form, by alignments of theirs with the genomes. Contigs with less than 90 % of
         their bases in one alignment, or with two such of different classes, are left out and counted.
"""
import argparse
import collections
import gzip
import math
import os
import random
import sys

from families import read_fasta, records_of


def organism_of(path, names):
    """record -> organism, where the source names one, else the accession."""
    out = {}
    with gzip.open(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                name, *rest = line[1:].split()
                said = [w[9:] for w in rest if w.startswith("organism=")]
                if name in names:
                    out[name] = said[0] if said and said[0] != "unknown" else name.split(":")[0]
    return out


def draw(a):
    rng = random.Random(a.seed)
    os.makedirs(a.out, exist_ok=True)
    wanted = {name: (part, class_, group, length) for part in ("train", "valid")
              for class_, sources in sorted(records_of(a.groups, part, AnyName()).items())
              for groups in sources.values() for group, rows in groups.items() for name, length in rows}
    organism = {}
    for path in a.fasta:
        organism.update(organism_of(path, wanted))
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in sorted(wanted):
        if name in organism:
            part, class_, group, length = wanted[name]
            found[part, class_][group, organism[name]].append((name, length))
    chosen, rows = {}, []
    for (part, class_), organisms in sorted(found.items()):
        order, groups = sorted(organisms), set()
        rng.shuffle(order)
        # One of each group, then further ones where there are too few groups.
        order.sort(key=lambda k: k[0] in groups or bool(groups.add(k[0])))
        n = 0
        for group, name in order:
            records, bases = [], 0
            for record, length in sorted(organisms[group, name], key=lambda r: rng.random()):
                if bases + length <= a.bases or not records:
                    records.append(record)
                    bases += length
            if bases < 3000 or n == a.each:
                continue
            n += 1
            key = f"o{len(rows) + 1}"
            chosen.update({record: key for record in records})
            rows.append([key, class_, "known" if part == "train" else "new", group, bases,
                         math.exp(rng.gauss(0, 0.7)), name])
    mean = sum(r[5] for r in rows) / len(rows)
    with open(f"{a.out}/community.tsv", "w") as f:
        for r in rows:
            print(*r[:5], f"{r[5] / mean:.4f}", r[6], sep="\t", file=f)
    files = {r[0]: open(f"{a.out}/{r[0]}.fa", "w") for r in rows}
    for path in a.fasta:
        for name, base in read_fasta(path):
            if name in chosen:
                print(f">{name}\n{base}", file=files[chosen[name]])
    for f in files.values():
        f.close()


class AnyName:
    """A set of all names."""

    def __contains__(self, name):
        return True


def community(folder):
    """organism -> (class, known or new)."""
    with open(f"{folder}/community.tsv") as f:
        rows = [line.split("\t") for line in f]
    return {r[0]: (r[1], r[2]) for r in rows}


def name_reads(a):
    class_, which = community(a.dir)[a.organism]
    n = 0
    for path in a.file:
        with open(path) as f:
            for k, line in enumerate(f):
                if k % 4 == 1:
                    n += 1
                    print(f">{class_}|{which}|{a.kind}|{a.organism}.{n}\n{line.strip()}")


def contigs(a):
    of = {}
    for organism in community(a.dir):
        for name, _ in read_fasta(f"{a.dir}/{organism}.fa"):
            of[name] = organism
    truth, table = collections.defaultdict(set), community(a.dir)
    with open(a.paf) as f:
        for line in f:
            v = line.split("\t")
            if int(v[3]) - int(v[2]) >= 0.9 * int(v[1]):
                truth[v[0]].add(table[of[v[5]]])
    none = several = 0
    for name, base in read_fasta(a.contigs):
        found = truth[name]
        if not found:
            none += 1
        elif len({c for c, _ in found}) > 1:
            several += 1
        else:
            # A contig of both is known.
            class_, which = min(found)
            print(f">{class_}|{which}|contig|{name}\n{base}")
    print(f"# contigs left out: {none} without an alignment of 90 %, {several} of two classes", file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = p.add_subparsers(required=True)
    c = commands.add_parser("draw")
    c.set_defaults(run=draw)
    c.add_argument("groups")
    c.add_argument("fasta", nargs="+")
    c.add_argument("--out", required=True)
    c.add_argument("--each", type=int, default=6)
    c.add_argument("--bases", type=int, default=150000)
    c.add_argument("--seed", type=int, default=1)
    c = commands.add_parser("name")
    c.set_defaults(run=name_reads)
    for field in "dir", "organism", "kind":
        c.add_argument(field)
    c.add_argument("file", nargs="+")
    c = commands.add_parser("contigs")
    c.set_defaults(run=contigs)
    for field in "dir", "contigs", "paf":
        c.add_argument(field)
    a = p.parse_args()
    a.run(a)


main()
