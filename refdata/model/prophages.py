#!/usr/bin/env python3
"""prophages.py - find phages that lie in bacterial sequences, and write them as pieces.tsv.

Usage: prophages.py TAXA_DIR SPLIT.tsv FILES TERL.faa [PHAGES.fa...] > pieces.tsv

FILES lists the genome files beside the taxa set (what fetch.sh prints). Needs diamond (Debian:
diamond-aligner) and pyrodigal. A region is a prophage where proteins of known phages match one after
another: those of the training phages of TAXA_DIR, of lambda and of PHAGES (genes by pyrodigal), and terminase
large subunits, TERL. It is cut out with 4 kb on either side; of the large genomes of FILES every 500 kb
one piece of 50 kb of the rest represents the chromosome.
"""
import collections
import gzip
import lzma
import os
import subprocess
import sys
import tempfile

import pyrodigal

MARGIN, PIECE, EVERY, LARGE = 4000, 50000, 500000, 1000000
CHROMOSOMES = ("NC_008253", "MG1655", "Klebs", "MGH", "NTUH")     # files that give such pieces


def read(path):
    """Yield (id, sequence) of a FASTA file, plain, gzip or xz."""
    opener = {"gz": gzip.open, "xz": lzma.open}.get(path.rsplit(".", 1)[-1], open)
    name, part = None, []
    with opener(path, "rt") as f:
        for line in f:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(part)
                name, part = line[1:].split()[0], []
            else:
                part.append(line.strip().upper())
    if name is not None:
        yield name, "".join(part)


def write_proteins(out, paths, skip):
    finder = pyrodigal.GeneFinder(meta=True)
    for path in paths:
        for name, seq in read(path):
            if name in skip or len(seq) < 8000:
                continue
            for i, gene in enumerate(finder.find_genes(seq.encode())):
                protein = gene.translate().rstrip("*")
                if len(protein) >= 80:
                    out.write(f">{name}|{i}\n{protein}\n")


def write_chunks(out, records):
    """Windows of 60 kb every 40 kb, NAME@OFFSET: diamond reports few matches of one query."""
    for name, seq in records:
        for offset in range(0, max(1, len(seq) - 20000), 40000):
            out.write(f">{name}@{offset}\n{seq[offset:offset + 60000]}\n")


def search(work, query):
    """record -> {(first, last, protein)}, 0-based, of diamond's matches."""
    table = os.path.join(work, "hits")
    subprocess.run(["diamond", "blastx", "--quiet", "--evalue", "1e-8", "-k", "1000", "-q", query,
                    "-d", os.path.join(work, "db"), "-o", table,
                    "-f", "6", "qseqid", "sseqid", "pident", "length", "qstart", "qend"], check=True)
    out = collections.defaultdict(set)
    with open(table) as f:
        for line in f:
            name, protein, identity, length, a, b = line.split("\t")
            name, offset = name.rsplit("@", 1)
            if float(identity) >= 25 and int(length) >= 60:
                a, b = sorted((int(a) + int(offset), int(b) + int(offset)))
                out[name].add((a, b, protein))
    return out


def clusters(matches):
    """Lists of matches with at most 9 kb between one and the next."""
    out, end = [], 0
    for m in sorted(matches):
        if not out or m[0] - end > 9000:
            out.append([])
            end = 0
        out[-1].append(m)
        end = max(end, m[1])
    return out


def is_prophage(cluster):
    """Enough genes side by side; fewer with a terminase or several of lambda's."""
    places, reach = 0, -1
    for a, b, _ in cluster:
        places += a > reach
        reach = max(reach, b)
    terminase = any(p.startswith("terL") and b - a > 600 for a, b, p in cluster)
    of_lambda = len({p for _, _, p in cluster if "NC_001416" in p})
    enough = 3 if terminase or of_lambda >= 2 else 9
    return reach - cluster[0][0] > 4000 and places >= enough


def cut(n, matches):
    """(prophages, rest) of a record of n bases, as lists of (from, to)."""
    inside, outside, last = [], [], 0
    for cluster in clusters(matches):
        if not is_prophage(cluster):
            continue
        a = max(last, cluster[0][0] - MARGIN)
        b = min(n, max(m[1] for m in cluster) + MARGIN)
        outside.append((last, a))
        inside.append((a, b))
        last = b
    return inside, outside + [(last, n)]


def pieces(path, work, whole):
    """Yield (record, from, to, class) of a file; whole: of all that is left, not samples of it."""
    records = list(read(path))
    query = os.path.join(work, "query")
    with open(query, "w") as f:
        write_chunks(f, records)
    matches = search(work, query)
    samples = os.path.basename(path).startswith(CHROMOSOMES)
    for name, seq in records:
        inside, outside = cut(len(seq), matches.get(name, ()))
        for a, b in inside:
            yield name, a, b, "virus_phage"
        if whole and inside:
            yield from ((name, a, b, "bacteria") for a, b in outside if b - a > 3000)
        elif not whole and samples and len(seq) > LARGE:
            for a, b in outside:
                for i in range(a, b - PIECE // 2, EVERY):
                    yield name, i, min(i + PIECE, b), "bacteria"


def main():
    taxa, split, files, terl, *phages = sys.argv[1:]
    with open(split) as f:
        part = dict(line.split("\t")[:2] for line in f)
    with open(files) as f:
        genomes = [line.strip() for line in f]
    lambda_file = next(p for p in genomes if os.path.basename(p).startswith("lambda"))
    genomes.remove(lambda_file)
    print("#file", "record", "first", "last", "class", "part", sep="\t")
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "db.faa"), "w") as out, open(terl) as f:
            out.writelines(">terL|" + line[1:] if line.startswith(">") else line for line in f)
            write_proteins(out, [os.path.join(taxa, "virus_phage.fa.gz"), lambda_file, *phages],
                           {name for name, side in part.items() if side.strip() == "valid"})
        subprocess.run(["diamond", "makedb", "--quiet", "--in", os.path.join(work, "db.faa"),
                        "-d", os.path.join(work, "db")], check=True)
        for path in [os.path.join(taxa, "bacteria.fa.gz"), *genomes]:
            whole = path.startswith(taxa)
            for name, a, b, cls in pieces(path, work, whole):
                side = part[name].strip() if whole else "train"
                print(os.path.basename(path), name, a + 1, b, cls, side, sep="\t")
    for name, seq in read(lambda_file):
        print(os.path.basename(lambda_file), name, 1, len(seq), "virus_phage", "train", sep="\t")


main()
