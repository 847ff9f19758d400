"""sparse_reference.py - write a FASTA file and index with every record's REF at its position.

Usage: sparse_reference.py OUT.fa < RECORDS        (CHROM, POS, REF: columns of `bcftools query`)

Bases near records are random, others N; parts that are never read are holes in the file.
"""
import random
import sys

NEAR, FAR, LINE = 400, 1 << 20, 1 << 30
random.seed(1)
RANDOM = bytes(random.choices(b"ACGT", k=1 << 16))
contig = {}


def some(bases, first, last):
    """Bases first to last of an endless repetition of `bases`."""
    at = first % len(bases)
    return (bases * ((at + last - first) // len(bases) + 1))[at:at + last - first]


def write(fasta, at, pos, text):
    """Bases of a contig that begins at byte `at`, between the ends of its lines of LINE bases."""
    for line in range(pos // LINE, (pos + len(text) - 1) // LINE + 1):
        first, last = max(pos, line * LINE), min(pos + len(text), (line + 1) * LINE)
        fasta.seek(at + first + line)
        fasta.write(text[first - pos:last - pos])


for row in sys.stdin:
    chrom, pos, ref = row.rstrip("\n").split("\t")
    contig.setdefault(chrom, []).append((int(pos) - 1, ref.upper().encode()))
with open(sys.argv[1], "wb") as fasta, open(sys.argv[1] + ".fai", "w") as index:
    for name, sites in contig.items():
        fasta.write(b">%s\n" % name.encode())
        at = fasta.tell()
        end = max(pos + len(ref) for pos, ref in sites) + NEAR
        print(name, end, at, LINE, LINE + 1, sep="\t", file=index)
        for reach, bases in ((FAR, b"N" * NEAR), (NEAR, RANDOM)):
            done = 0
            for pos, ref in sorted(sites):
                first, last = max(done, pos - reach, 0), min(pos + len(ref) + reach, end)
                if last > first:
                    write(fasta, at, first, some(bases, first, last))
                    done = last
        for pos, ref in sorted(sites, reverse=True):
            if pos >= 0:
                write(fasta, at, pos, ref)
        fasta.seek(at + end + (end - 1) // LINE)
        fasta.write(b"\n")
