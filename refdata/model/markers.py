#!/usr/bin/env python3
"""markers.py - sort the marker genes of MetaPhlAn 2 into groups of relatives and the groups into folds.

Usage: markers.py groups.tsv.xz PIECES.fa TAXA_DIR TAXA2_DIR MARKERS.fasta | xz -9 > markers.tsv.xz

MARKERS.fasta is markers.fasta of Debian's metaphlan2-data; PIECES.fa is what pieces.awk cuts. Needs
taxoniq (PyPI) and diamond (Debian: diamond-aligner). Columns: record, class, group, folds that
must not see it, markers taken, length, taxid, part (valid: never trained on), and, where a record is
a range of numbers, the first and the last. A record is the genes of one source:

* bacteria, archaea: a genome by its accession (a WGS project: four letters and the version), if NCBI's
  taxonomy of September 2024 has it. Groups as in groups.py; a group takes its genomes in turn by genus
  until it has CAP bases.
* virus (GeneID:N), eukaryota (XM_N, NM_N): their names are not in the file, but genes of one genome have
  neighbouring numbers. A source is kept from every fold that has a group with proteins like its own
  (diamond; see LIKE), and is in a group with the one that it shares most with, or with like sources.
"""
import collections
import gzip
import hashlib
import lzma
import os
import re
import subprocess
import sys
import tempfile

import taxoniq

CAP = {"bacteria": 600000, "archaea": 2400000}      # bases of a group
MOST = {"bacteria": 100000, "archaea": 100000, "virus": 200000, "eukaryota": 400000}   # of a source
LEAST = {"bacteria": 2000, "archaea": 2000, "virus": 500, "eukaryota": 2000}
GAP = {"virus": 10, "eukaryota": 1000}              # between numbers of one genome
N_FOLD = 5
# Like: this share of a source's genes, or one gene, matches at this percentage of equal amino acids.
# The taxa sets have slices of nuclear genomes, so few matches are many there.
LIKE = {"virus": ((0.15, 30), (0, 50)), "eukaryota": ((0.01, 60), (0.25, 40))}
SAME = {"virus": (0.25, 30), "eukaryota": (0.02, 60)}        # in the group
COVER = {"virus": 50, "eukaryota": 40}                       # percentage of a gene that is aligned
SHORTEST = 60                                                # codons of a reading frame of the records

AMINO = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
CODON = {a + b + c: AMINO[16 * i + 4 * j + k] for i, a in enumerate("TCAG")
         for j, b in enumerate("TCAG") for k, c in enumerate("TCAG")}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def read(path):
    """Yield (header, sequence) of a FASTA file, plain or gzip."""
    header, part = None, []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if header is not None:
                    yield header, "".join(part).upper()
                header, part = line[1:].rstrip(), []
            else:
                part.append(line.strip())
    if header is not None:
        yield header, "".join(part).upper()


def translate(seq):
    return "".join(CODON.get(seq[i:i + 3], "X") for i in range(0, len(seq) - 2, 3))


def frames(seq, both):
    """Open reading frames, with or without those of the other strand."""
    for strand in (seq, seq.translate(COMPLEMENT)[::-1])[:1 + both]:
        for i in range(3):
            yield from translate(strand[i:]).split("*")


def fold_of(group):
    """The fold of a group that the taxa sets do not have."""
    return str(int(hashlib.sha1(group.encode()).hexdigest(), 16) % N_FOLD)


def source(header):
    """The class of a marker by its name, and its source or number."""
    m = re.match(r"gi\|\d+\|ref\|(NC_\d+|NZ_[A-Z]{4}\d\d(?=\d)|NZ_[A-Z]+\d+)", header)
    if m:
        return "genome", m.group(1)
    m = re.match(r"GeneID:(\d+)", header)
    if m:
        return "virus", int(m.group(1))
    m = re.match(r"gi\|\d+\|ref\|([XN])M_(\d+)", header)
    if m:
        return "eukaryota", int(m.group(2)) + (10**9 if m.group(1) == "N" else 0)
    return None, None


def genomes(markers, fold, part):
    """Rows of bacteria and archaea."""
    taxon, length = {}, collections.defaultdict(list)
    for header, seq in read(markers):
        kind, name = source(header)
        if kind != "genome":
            continue
        length[name].append(len(seq))
        if name not in taxon:
            for version in "1234":
                try:
                    accession = re.match(r"gi\|\d+\|ref\|(\w+)", header).group(1)
                    taxon[name] = taxoniq.Taxon(accession_id=f"{accession}.{version}")
                    break
                except (KeyError, taxoniq.TaxoniqException):
                    pass
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, t in taxon.items():
        rank = {r.rank.name: r.scientific_name for r in t.ranked_lineage}
        cls = rank.get("superkingdom", "").lower()
        if cls not in CAP or sum(length[name]) < LEAST[cls]:
            continue
        genus = rank.get("genus") or t.scientific_name
        family = rank.get("family" if cls == "bacteria" else "order") or rank.get("order") or genus
        key = hashlib.sha1(name.encode()).hexdigest()
        groups[f"{cls}:{family.replace(' ', '_')}"][genus].append((key, name, t.tax_id))
    for group, genera in sorted(groups.items()):
        cls = group.split(":")[0]
        turns = sorted((i, *g) for genus in genera.values() for i, g in enumerate(sorted(genus)))
        total = 0
        for _, _, name, taxid in turns:
            if total >= CAP[cls]:
                break
            n, bases = take(length[name], MOST[cls])
            total += bases
            yield (name, cls, group, fold.get(group) or fold_of(group), n, bases, taxid,
                   part.get(group, "train"), "-", "-")


def take(lengths, most):
    """The number of markers that have MOST bases, and their bases."""
    n = bases = 0
    for n, length in enumerate(lengths, 1):
        bases += length
        if bases >= most:
            break
    return n, bases


def align(queries, targets, cover, folder):
    """Yield (query, target, percentage of equal amino acids) of proteins."""
    files = []
    for name, proteins in (("q", queries), ("t", targets)):
        files.append(os.path.join(folder, name + ".faa"))
        with open(files[-1], "w") as f:
            for key, protein in proteins:
                f.write(f">{key}\n{protein}\n")
    out = os.path.join(folder, "hits")
    subprocess.run(["diamond", "makedb", "--quiet", "--in", files[1], "-d", files[1]], check=True)
    subprocess.run(["diamond", "blastp", "--quiet", "--sensitive", "-q", files[0], "-d", files[1],
                    "-e", "1e-5", "-k", "50", "--query-cover", str(cover),
                    "-f", "6", "qseqid", "sseqid", "pident", "-o", out], check=True)
    with open(out) as f:
        for line in f:
            query, target, equal = line.split("\t")
            yield query, target, float(equal)


def numbered(cls, markers, records, group_of, fold, part):
    """Rows of a class whose genomes are ranges of numbers. records: (name, sequence) of that class."""
    gene = {}
    order = []
    for header, seq in read(markers):
        kind, number = source(header)
        if kind == cls:
            gene[number] = (len(seq), max(frames(seq, False), key=len))
            order.append(number)
    genome, first, last = {}, [], []
    for number in sorted(gene):
        if not last or number - last[-1] > GAP[cls]:
            first.append(number)
            last.append(number)
        last[-1] = number
        genome[number] = len(first) - 1
    size = collections.Counter(genome.values())
    targets = ((f"{name}#{i}", frame) for name, seq in records
               for i, frame in enumerate(frames(seq, True)) if len(frame) >= SHORTEST)
    proteins = [(str(n), p) for n, (_, p) in gene.items() if len(p) >= 30]
    like = collections.defaultdict(lambda: collections.defaultdict(dict))
    link = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        for query, target, equal in align(proteins, targets, COVER[cls], folder):
            best = like[genome[int(query)]][group_of[target.split("#")[0]]]
            best[query] = max(equal, best.get(query, 0))
        for query, target, equal in align(proteins, proteins, COVER[cls], folder):
            if equal >= 35 and genome[int(query)] != genome[int(target)]:
                link[genome[int(query)], genome[int(target)]].add(query)

    def share(g, group, least):
        return sum(e >= least for e in like[g][group].values()) / size[g]

    group, kept = {}, collections.defaultdict(set)
    for g in range(len(first)):
        found = sorted(((share(g, name, SAME[cls][1]), name) for name in like[g]), reverse=True)
        if found and found[0][0] >= SAME[cls][0]:
            group[g] = found[0][1]
        for name in like[g]:
            if any(share(g, name, equal) >= max(least, 1e-9) for least, equal in LIKE[cls]):
                kept[g].add(name)
    parent = list(range(len(first)))

    def root(x):
        while parent[x] != x:
            x = parent[x]
        return x

    for (a, b), genes in sorted(link.items()):
        if a not in group and b not in group and len(genes) >= 0.4 * size[a]:
            parent[root(a)] = root(b)
    of_genome = collections.defaultdict(list)
    for number in order:
        of_genome[genome[number]].append(gene[number][0])
    for g in range(len(first)):
        n, bases = take(of_genome[g], MOST[cls])
        if bases < LEAST[cls]:
            continue
        name = group.get(g) or f"{cls}:markers_{first[root(g)]}"
        folds = {fold[k] for k in kept[g]} - {"-"} or {fold.get(name) or fold_of(name)}
        yield (f"{cls}_{first[g]}", cls, name, ",".join(sorted(folds)), n, bases, "-",
               "valid" if any(part[k] == "valid" for k in kept[g]) else "train", first[g], last[g])


def main():
    groups, pieces, taxa, taxa2, markers = sys.argv[1:]
    group_of, fold, part = {}, {}, {}
    with lzma.open(groups, "rt") as f:
        for line in f:
            if not line.startswith("#"):
                record, _, group, number, _, _, side = line.rstrip("\n").split("\t")
                group_of[record], fold[group], part[group] = group, number, side
    print("#record\tclass\tgroup\tfolds\tmarkers\tlength\ttaxid\tpart\tfirst\tlast")
    rows = list(genomes(markers, fold, part))
    for cls in ("virus", "eukaryota"):
        files = [os.path.join(d, name) for d in (taxa, taxa2) for name in sorted(os.listdir(d))
                 if name.startswith({"virus": "virus_", "eukaryota": "nuclear_"}[cls])]
        records = [(h.split()[0], s) for path in files + [pieces] for h, s in read(path)
                   if group_of.get(h.split()[0], "").startswith(cls + ":")]
        rows += numbered(cls, markers, records, group_of, fold, part)
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
