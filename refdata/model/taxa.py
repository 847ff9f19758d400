#!/usr/bin/env python3
"""taxa.py - the classes of the model `taxa`: a taxon for each record, and the tree of these taxa.

Usage: taxa.py GROUPS.tsv.xz MARKERS.tsv.xz TAXONOMY.tsv TAXA_DIR...
               --labels OUT --tree OUT --weights OUT

Writes a table of records (record, class, and whether its taxon is `known`), and a tree for `chordseq
train --taxonomy`. A class is a taxon of the ranks below that has records of MIN_GROUP groups of relatives
or more in two folds or more, so that it can be learnt without a fold; a record belongs to the lowest such
taxon, or to the class of TAXONOMY.tsv (archaea, plasmid, ...) if there is none. The records of a taxon
above classes that are in none of these are the class `other TAXON` if two folds or more have some. The
taxon of a record above classes is unknown if its taxonomy has no taxon of a lower rank. Ranks: phylum and
class of bacteria; realm, kingdom, phylum and class of viruses; kingdom and phylum of nuclear genomes;
kingdom of the hosts of mitochondria. Ranks and taxids are those of NCBI's taxonomy of September 2024
(taxoniq 1.0.3). Mitochondria without a taxid have the kingdom of the taxa set's column lineage. Weights,
for `--class-weights`, give archaea, bacteria, eukaryota, mitochondrion, plasmid, plastid and virus equal
shares of the samples that train_taxa.sh draws (--class-balance, --group-balance and --length-power 0.5).
"""
import argparse
import collections
import csv
import functools
import lzma
import os

import taxoniq

MIN_GROUP = 3
RANKS = {"archaea": (), "bacteria": ("class", "phylum"), "plasmid": (),
         "virus": ("class", "phylum", "kingdom", "realm"), "eukaryota": ("phylum", "kingdom"),
         "mitochondrion": ("kingdom",), "plastid": ()}
KINGDOM = {"Animals": 33208, "Fungi": 4751, "Plants": 33090}
ORGANELLES = ("mitochondrion", "plastid")


@functools.lru_cache(None)
def lineage(taxid):
    """rank -> (name, taxid) of a taxon and its ancestors; a realm is a clade of viruses in -viria."""
    out = {}
    for taxon in taxoniq.Taxon(int(taxid)).lineage:
        rank = taxon.rank.name
        if rank == "clade" and taxon.scientific_name.endswith("viria"):
            rank = "realm"
        out[rank] = (taxon.scientific_name, taxon.tax_id)
    return out


def read(path):
    with lzma.open(path, "rt") as f:
        for line in f:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def mitochondria(folders):
    """Kingdoms of mitochondria, by record."""
    out = {}
    for folder in folders:
        with open(os.path.join(folder, "manifest.tsv"), newline="") as f:
            for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                kingdom = KINGDOM.get(row["lineage"].split(";")[0])
                if row["class"] == "mitochondrion" and kingdom:
                    out[row["id"]] = kingdom
    return out


def fold_set(fold):
    return set(fold.replace("-", "").split(",")) - {""}


def chain(cls, taxid):
    """The taxa that a record may belong to, the lowest first: (name, taxid, rank)."""
    ranks = lineage(taxid) if taxid else {}
    taxa = [(*ranks[r], r) for r in RANKS[cls] if r in ranks]
    return [(f"{name} ({cls})", None, rank) for name, _, rank in taxa] if cls in ORGANELLES else taxa


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("groups")
    ap.add_argument("markers")
    ap.add_argument("taxonomy")
    ap.add_argument("folder", nargs="+")
    ap.add_argument("--labels", required=True)
    ap.add_argument("--tree", required=True)
    ap.add_argument("--weights", required=True)
    a = ap.parse_args()
    kingdom = mitochondria(a.folder)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "classes.tsv")) as f:
        seven = dict(line.rstrip("\n").split("\t") for line in f)
    rows = []
    for name, source, group, fold, length, taxid, _ in read(a.groups):
        cls = seven.get(source, source)
        taxid = taxid or (kingdom.get(name) if cls == "mitochondrion" else None)
        rows.append((name, cls, group, fold, chain(cls, taxid), int(length) ** 0.5))
    for name, cls, group, fold, n, length, taxid, _, _, _ in read(a.markers):
        rows.append((name, cls, group, fold, chain(cls, taxid if taxid.isdigit() else None),
                     (int(n) * int(length)) ** 0.5))
    groups, folds = collections.defaultdict(set), collections.defaultdict(set)
    for _, cls, group, fold, taxa, _ in rows:
        for taxon in taxa:
            groups[cls, taxon].add(group)
            folds[cls, taxon].update(fold_set(fold))
    kept = {k for k in groups if len(groups[k]) >= MIN_GROUP and len(folds[k]) >= 2}
    tree = {}
    others = collections.defaultdict(set)     # folds of a taxon's records that are in none of its classes
    placed = []
    for name, cls, group, fold, every, size in rows:
        taxa = [t for t in every if (cls, t) in kept]
        for k, taxon in enumerate(taxa):
            tree[taxon] = taxa[k + 1][0] if k + 1 < len(taxa) else cls
        label = taxa[0][0] if taxa else cls
        if every != taxa:
            others[label].update(fold_set(fold))
        placed.append((name, cls, group, label, every != taxa, bool(every), size))
    parents = set(tree.values())
    mass = collections.defaultdict(collections.Counter)
    with open(a.labels, "w") as f:
        for name, cls, group, label, other, ranked, size in placed:
            known = other or label not in parents and (ranked or not RANKS[cls])
            if other and label in parents and len(others[label]) >= 2:
                tree[f"other {label}", None, "other"] = label
                label = f"other {label}"
            mass[cls, label][group] += size
            print(name, label, "known" if known else "unknown", sep="\t", file=f)
    share = {k: sum(m ** 0.5 for m in groups.values()) ** 0.5 for k, groups in mass.items()}
    own = collections.Counter()
    for (cls, _), part in share.items():
        own[cls] += part
    with open(a.weights, "w") as f:
        for cls, label in share:
            print(f"{label}={sum(own.values()) / len(own) / own[cls]:.3f}", file=f)
    with open(a.taxonomy) as f, open(a.tree, "w") as out:
        out.write("# taxa_tree.tsv - the taxa of the model `taxa`, by taxa.py; columns as in taxonomy.tsv.\n")
        out.writelines(line for line in f if not line.startswith("# taxonomy.tsv"))
        for (name, taxid, rank), parent in sorted(tree.items()):
            print(name, taxid or "-", rank, parent, name, sep="\t", file=out)


main()
