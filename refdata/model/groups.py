#!/usr/bin/env python3
"""groups.py - sort the records of the taxa sets into groups of relatives and the groups into folds.

Usage: groups.py PIECES.fa TAXA_DIR... > groups.tsv

Columns: record, source class, group, fold (0-4; '-': no relatives known, in no fold), length, taxid,
part (train or valid: the groups that the default model is chosen and calibrated on).
A group is a family; an order for archaea and nuclear genomes, whose families are few. Names and accessions
are looked up in NCBI's taxonomy of September 2024 (taxoniq on PyPI; numpy and scipy besides), names
that it does not have in names.tsv. Records without a family are linked by shared 21-mers (both strands, a
sample of 1 in 8): records are one group, by single linkage, where the smaller has SHARE of its own in
the other. Groups lie within one of the seven classes. PIECES.fa is the output of pieces.awk.
"""
import collections
import csv
import gzip
import os
import re
import sys

import numpy as np
import scipy.sparse
import taxoniq

K, RATE, N_FOLD = 21, 8, 5
SHARE = {"mitochondrion": 0.05, "virus": 0.05, "plasmid": 0.1, "archaea": 0.1, "bacteria": 0.2}
DOMAIN = {"archaea": ("Archaea",), "bacteria": ("Bacteria",), "plasmid": ("Archaea", "Bacteria"),
          "virus": ("Viruses",)}
# Folders of mitochondria (the lineage column) that hold one order or less, and those that share an order.
CYPRINIFORMES = ("Cyprinidae", "Cobitidae", "Balitoridae", "Nemacheilidae", "Catostomidae", "Labeo",
                 "Acheilognathus", "Schizothorax", "Rhodeus", "Onychostoma", "Cypriniformes")
ORDERS = ("Primates", "Bats", "Birds", "Anura", "Gymnophiona", "Hymenoptera", "Lepidoptera", "Diptera",
          "Hemiptera", "Orthoptera", "Dictyoptera", "Rodents and Rabbits", "Characiformes",
          "Even-toed Ungulates", "Xenarthrans", "Insectivores")


def read(path):
    """Yield (name, sequence) of a FASTA file, plain or gzip."""
    name, part = None, []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(part)
                name, part = line[1:].split()[0], []
            else:
                part.append(line.strip())
    if name is not None:
        yield name, "".join(part)


CODE = np.full(256, 4, np.uint8)
for i, letter in enumerate("ACGT"):
    CODE[ord(letter)] = CODE[ord(letter.lower())] = i


def sketch(seq):
    """Hashes of a record's canonical 21-mers, every RATE-th by its value."""
    code = CODE[np.frombuffer(seq.encode(), np.uint8)]
    n = len(code) - K + 1
    if n <= 0:
        return np.empty(0, np.uint64)
    bad = np.concatenate([[0], np.cumsum(code == 4)])
    code = (code & 3).astype(np.uint64)
    forward, reverse = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    for i in range(K):
        forward = (forward << np.uint64(2)) | code[i:i + n]
        reverse |= (np.uint64(3) - code[i:i + n]) << np.uint64(2 * i)
    h = np.minimum(forward, reverse)[bad[K:] == bad[:-K]] * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    h ^= h >> np.uint64(29)
    return np.unique(h[h < np.uint64(2**64 // RATE)])


class Union:
    """Sets of keys that are joined."""

    def __init__(self):
        self.parent = {}

    def find(self, x):
        self.parent.setdefault(x, x)
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def join(self, a, b):
        self.parent[self.find(a)] = self.find(b)


def links(sketches, share):
    """Yield pairs of indices of records of which the smaller has share of its 21-mers in the other."""
    size = np.array([len(s) for s in sketches])
    _, column, count = np.unique(np.concatenate(sketches), return_inverse=True, return_counts=True)
    row = np.repeat(np.arange(len(sketches)), size)
    twice = count[column] > 1
    m = scipy.sparse.csr_matrix((np.ones(twice.sum(), np.float32), (row[twice], column[twice])),
                                shape=(len(sketches), len(count)))
    both = scipy.sparse.triu(m @ m.T, 1).tocoo()
    near = (both.data >= 4) & (both.data >= share * np.minimum(size[both.row], size[both.col]))
    yield from zip(both.row[near], both.col[near])


def seven(source_class):
    if source_class.startswith("nuclear_"):
        return "eukaryota"
    return "virus" if source_class.startswith("virus_") else source_class


def known(find, key, cls):
    """The taxon of a name or an accession where it is of this class's domain, or None."""
    try:
        taxon = find(key)
        lineage = {t.scientific_name for t in taxon.lineage}
    except (KeyError, ValueError):
        return None
    return taxon if lineage.intersection(DOMAIN.get(cls, ("Eukaryota",))) else None


def by_accession(key):
    return taxoniq.Taxon(accession_id=key)


def by_name(key):
    return taxoniq.Taxon(scientific_name=key)


def accession(row):
    name = row.get("accession") or re.sub(r":\d+-\d+$", "", row["id"])
    return re.sub(r"_(f\d+_caudo|frag\d+)$", "", name)


def taxon_of(row, names):
    """Accession, then name, then genus, then lineage from its end."""
    cls = seven(row["class"])
    taxon = known(by_accession, accession(row), cls)
    if taxon or row["organism"] in ("", "unknown", "uncultured_phage"):
        return taxon
    name = row["organism"].replace("_", " ")
    tries = [names[row["organism"]]] if row["organism"] in names else [name]
    if cls != "virus":
        genus = name.replace("Candidatus ", "").split(" ")[0]
        tries += [genus, "Candidatus " + genus]
    if cls not in ("mitochondrion", "plasmid"):
        tries += [t for t in reversed(row["lineage"].replace("_", " ").split(";")) if t]
    found = (known(by_name, t, cls) for t in tries)
    return next((t for t in found if t), None)


def place(row, taxon):
    """The name of the group that taxonomy gives a record, or None."""
    if row["class"] == "mitochondrion":
        folder = row["lineage"].split(";")[-1]
        if folder in CYPRINIFORMES:
            return "Cypriniformes"
        if folder in ORDERS:
            return folder.replace(" ", "_")
    if row["organism"].startswith("angiosperm_"):
        return "Angiosperms353"
    if taxon is None or row["class"] == "plasmid":
        return None
    rank = {t.rank.name: t.scientific_name for t in taxon.lineage}
    order = row["class"].startswith("nuclear_") or row["class"] == "archaea"
    name = rank.get("order" if order else "family")
    if row["class"] == "virus_phage":
        name = name or rank.get("genus")
    elif row["class"] != "mitochondrion":
        name = name or rank.get("order")
        if seven(row["class"]) != "virus":
            name = name or rank.get("class") or taxon.scientific_name
    return name and name.replace(" ", "_")


def group(rows, sketches):
    """rows: dicts with id, class, place; sets row['group']."""
    by_class = collections.defaultdict(list)
    for row in rows:
        by_class[seven(row["class"])].append(row)
    for cls, own in by_class.items():
        sets = Union()
        for row in own:
            sets.join(("record", row["id"]), ("genome", accession(row)))
            if row["place"]:
                sets.join(("record", row["id"]), ("place", row["place"]))
        if cls in SHARE:
            for a, b in links([sketches[r["id"]] for r in own], SHARE[cls]):
                pair = own[a], own[b]
                if cls in ("mitochondrion", "plasmid") or not (own[a]["place"] and own[b]["place"]) \
                        or any(r["class"] == "virus_phage" for r in pair):
                    sets.join(("record", own[a]["id"]), ("record", own[b]["id"]))
        members = collections.defaultdict(list)
        for row in own:
            members[sets.find(("record", row["id"]))].append(row)
        for part in members.values():
            placed = collections.Counter(r["place"] for r in part if r["place"])
            name = placed.most_common(1)[0][0] if placed else min(accession(r) for r in part)
            lost = not placed and cls == "virus" and part[0]["class"] == "virus_euk"
            for row in part:
                row["group"] = f"{cls}:{name}"
                row["lost"] = lost


def by_kind(rows):
    """Groups by the source class of most of their bases, the largest first, and their bases."""
    mass = collections.Counter()
    most = collections.defaultdict(collections.Counter)
    for row in rows:
        if not row["lost"]:
            mass[row["group"]] += row["length"]
            most[row["group"]][row["class"]] += row["length"]
    kinds = collections.defaultdict(list)
    for name in sorted(most, key=lambda n: (-mass[n], n)):
        kinds[most[name].most_common(1)[0][0]].append(name)
    return kinds, mass


def fold(rows, kinds, mass):
    """Deal the groups of each source class to folds, the largest first, to where least lies.

    What lies in a fold is counted in roots of bases, lest one large group is a fold of its own.
    The fold that the first goes to turns with the class, lest one fold has the largest of every class.
    """
    dealt = {}
    for turn, (_, names) in enumerate(sorted(kinds.items())):
        load = [0.0] * N_FOLD
        for name in names:
            to = min(range(N_FOLD), key=lambda k: (load[k], (k - turn) % N_FOLD))
            dealt[name] = to
            load[to] += mass[name] ** 0.5
    for row in rows:
        row["fold"] = "-" if row["lost"] else dealt[row["group"]]


def aside(rows, kinds):
    """Keep every tenth group for validation, every eighth where there are few, none of the largest."""
    valid = set()
    for names in kinds.values():
        valid.update(names[4::8] if len(names) < 20 else names[9::10])
    for row in rows:
        row["part"] = "valid" if row["group"] in valid else "train"


def piece_rows(path, by_id):
    """Pieces take part in the group of the record that they are cut from, prophages in that of phages."""
    names = re.compile(r"^(.*):\d+-\d+$")
    classes = {}
    with open(path) as f:
        for line in f:
            if line.startswith(">"):
                name, label = line[1:].split()
                classes[name] = label.removeprefix("class=")
    for name, seq in read(path):
        parent = names.match(name)[1]
        row = dict(id=name, organism="", lineage="", accession=name, length=len(seq), taxid="")
        row["class"], row["place"] = classes[name], None
        if row["class"] == "bacteria":
            row["place"] = by_id[parent]["place"] if parent in by_id else "Enterobacteriaceae"
        yield row, seq, parent


def main():
    pieces, *folders = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "names.tsv")) as f:
        names = dict(line.rstrip("\n").split("\t") for line in f if not line.startswith("#"))
    rows, sketches = [], {}
    for folder in folders:
        with open(os.path.join(folder, "manifest.tsv"), newline="") as f:
            for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                taxon = taxon_of(row, names)
                row.update(place=place(row, taxon), length=int(row["length"]),
                           taxid=taxon.tax_id if taxon else "")
                rows.append(row)
    by_id = {r["id"]: r for r in rows}
    for folder in folders:
        for cls in sorted({r["class"] for r in rows}):
            path = os.path.join(folder, cls + ".fa.gz")
            if seven(cls) in SHARE and os.path.exists(path):
                sketches.update((name, sketch(seq)) for name, seq in read(path))
    cut = set()
    for row, seq, parent in list(piece_rows(pieces, by_id)):
        rows.append(row)
        sketches[row["id"]] = sketch(seq)
        cut.add(parent)
    rows = [r for r in rows if r["id"] not in cut]
    group(rows, sketches)
    kinds, mass = by_kind(rows)
    fold(rows, kinds, mass)
    aside(rows, kinds)
    columns = ("id", "class", "group", "fold", "length", "taxid", "part")
    print("#record", *columns[1:], sep="\t")
    for row in rows:
        print(*(row[c] for c in columns), sep="\t")


main()
