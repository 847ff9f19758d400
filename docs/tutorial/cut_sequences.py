#!/usr/bin/env python3
"""cut_sequences.py - cut the real sequences of the tutorial out of the training data's sources.

Usage: cut_sequences.py TAXA_DIR TAXA2_DIR HUMAN_VE_DIR SPLICE_DIR

Writes assembly.fa.gz and assembly.truth.tsv, classes.fa.gz, genes.fa.gz and genes.bed beside this
script; README.md there describes them. Seed 1.
"""
import csv
import gzip
import lzma
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "refdata", "model")

# Groups that the default model holds out, contigs of each, and their shortest and longest length.
ASSEMBLY = [
    ("bacteria:Thermaceae", 4, 1000, 20000),
    ("bacteria:Streptomycetaceae", 4, 1000, 20000),
    ("bacteria:Morganellaceae", 4, 1000, 20000),
    ("bacteria:Mycoplasmataceae", 4, 1000, 20000),
    ("bacteria:Magnetococcaceae", 4, 1000, 20000),
    ("bacteria:Alcaligenaceae", 4, 1000, 20000),
    ("archaea:Candidatus_Aciduliprofundum", 8, 1000, 20000),
    ("eukaryota:Hymenostomatida", 5, 1000, 20000),
    ("eukaryota:Malpighiales", 4, 1000, 20000),
    ("eukaryota:Cyclophyllidea", 4, 1000, 20000),
    ("plasmid", 8, 2000, 20000),
    ("virus_phage", 8, 2000, 20000),
    ("virus_euk", 4, 2000, 20000),
    ("mitochondrion", 4, 5000, 17000),
    ("plastid", 3, 5000, 20000),
]
CLASS = {"nuclear": "eukaryota", "virus": "virus"}      # names of the default model
# A bacterium of the training data with a prophage at 10,970 to 30,578 (refdata/model/pieces.tsv).
PROPHAGE = ("NC_012751.1:1508081-1558080", 15001, 50000, "bacteria")
CLASSES = [("host", "Homo_sapiens"), ("parasite", "Plasmodium_falciparum")]
# Gene, slice of hg38, bases on either side of its first and last annotated splice site.
GENES = [("JAG1", "chr20:10014353-11114352"), ("JAM2", "chr21:25651687-25718922")]
MARGIN = 2000


def read_fasta(path):
    """Yield (id, sequence) of a gzip FASTA file."""
    name, lines = None, []
    with gzip.open(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(lines)
                name, lines = line[1:].split()[0], []
            else:
                lines.append(line.strip().upper())
    if name is not None:
        yield name, "".join(lines)


def read_sources(directories):
    """Return the sequences by id, and the rows of the manifests by id."""
    sequences, rows = {}, {}
    for directory in directories:
        with open(os.path.join(directory, "manifest.tsv"), newline="") as f:
            for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
                rows.setdefault(row["id"], row)
        for name in sorted(os.listdir(directory)):
            if name.endswith(".fa.gz"):
                for record, sequence in read_fasta(os.path.join(directory, name)):
                    sequences.setdefault(record, sequence)
    return sequences, rows


def write_fasta(name, records):
    """Write records (header, sequence) as gzip FASTA, without a time stamp."""
    lines = []
    for header, sequence in records:
        lines.append(">" + header)
        lines.extend(sequence[i : i + 80] for i in range(0, len(sequence), 80))
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))


def crop(sequence, shortest, longest, rng):
    """Return 1-based first and last of a crop without N, of log-uniform length."""
    while True:
        length = min(int(shortest * (longest / shortest) ** rng.random()), len(sequence))
        first = rng.randrange(len(sequence) - length + 1)
        if "N" not in sequence[first : first + length]:
            return first + 1, first + length


def held_out(sequences, rows):
    """Return the held-out records by group and by class; adds parts of records (pieces.tsv)."""
    groups = {}
    with lzma.open(os.path.join(MODEL, "groups.tsv.xz"), "rt") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["part"] != "valid":
                continue
            record = row["#record"]
            whole, _, part = record.rpartition(":")
            if record not in sequences and whole in sequences:
                first, last = map(int, part.split("-"))
                sequences[record] = sequences[whole][first - 1 : last]
                rows[record] = rows[whole]
            if record in sequences:
                for key in (row["group"], row["class"]):
                    groups.setdefault(key, []).append(record)
    return groups


def cut_assembly(sequences, rows, rng):
    """Write contigs of held-out groups in random order, and where each is from."""
    groups = held_out(sequences, rows)
    cuts = [PROPHAGE]
    for group, n, shortest, longest in ASSEMBLY:
        candidates = [r for r in groups[group] if len(sequences[r]) >= shortest]
        for record in rng.sample(candidates, n):
            first, last = crop(sequences[record], shortest, longest, rng)
            kind = rows[record]["class"]
            cuts.append((record, first, last, CLASS.get(kind.split("_")[0], kind)))
    rng.shuffle(cuts)
    with open(os.path.join(HERE, "assembly.truth.tsv"), "w") as truth:
        truth.write("contig\tclass\torganism\trecord\tfirst\tlast\n")
        records = []
        for i, (record, first, last, kind) in enumerate(cuts, 1):
            name, organism = "contig_%d" % i, rows[record]["organism"]
            print(name, kind, organism, record, first, last, sep="\t", file=truth)
            records.append((name, sequences[record][first - 1 : last]))
    write_fasta("assembly.fa.gz", records)


def cut_classes(sequences, rows, rng):
    """Write pieces of 4,000 bases of two organisms; the tutorial trains on the first 40 of each."""
    records = []
    for name, organism in CLASSES:
        records_of = [r for r in sequences if rows[r]["organism"] == organism]
        for i, record in enumerate(rng.sample(whole, 50), 1):
            first = rng.randrange(len(sequences[record]) - 4000) + 1
            header = "%s_%d %s:%d-%d" % (name, i, record, first, first + 3999)
            records.append((header, sequences[record][first - 1 : first + 3999]))
    write_fasta("classes.fa.gz", records)


def exons(sites):
    """Return the exons between sites (boundary, type, strand): (start, end), 0-based half-open."""
    strand = sites[0][2]
    opening, closing = ("acceptor", "donor") if strand == "+" else ("donor", "acceptor")
    found = []
    for start in sorted({b for b, kind, _ in sites if kind == opening}):
        ends = [b for b, kind, _ in sites if kind == closing and 20 <= b - start <= 300]
        if ends and (not found or start >= found[-1][1]):
            found.append((start, min(ends)))
    return found


def read_sites(splice, gene, name):
    """Return the annotated splice sites of a gene in a slice: (boundary, type, strand)."""
    with gzip.open(os.path.join(splice, "aux", "hg38_slice_splice_sites.tsv.gz"), "rt") as f:
        return [
            (int(row["boundary0"]), row["type"], row["strand"])
            for row in csv.DictReader(f, delimiter="\t")
            if row["slice"] == name and row["gene"] == gene
        ]


def cut_genes(human_ve, splice):
    """Write two human genes with their introns, plus strand of hg38, and their exons."""
    slices = dict(read_fasta(os.path.join(human_ve, "hg38_slices.fa.gz")))
    records = []
    with open(os.path.join(HERE, "genes.bed"), "w") as bed:
        for gene, name in GENES:
            sites = read_sites(splice, gene, name)
            first = max(min(sites)[0] - MARGIN, 0)
            last = min(max(sites)[0] + MARGIN, len(slices[name]))
            chromosome, at = name.split(":")
            at = int(at.split("-")[0]) + first
            header = "%s %s:%d-%d" % (gene, chromosome, at, at + last - first - 1)
            records.append((header, slices[name][first:last]))
            for i, (start, end) in enumerate(exons(sites), 1):
                exon, strand = "%s_%d" % (gene, i), sites[0][2]
                print(gene, start - first, end - first, exon, 0, strand, sep="\t", file=bed)
    write_fasta("genes.fa.gz", records)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    taxa, taxa2, human_ve, splice = sys.argv[1:]
    rng = random.Random(1)
    sequences, rows = read_sources([taxa, taxa2])
    cut_assembly(sequences, rows, rng)
    cut_classes(sequences, rows, rng)
    cut_genes(human_ve, splice)


if __name__ == "__main__":
    main()
