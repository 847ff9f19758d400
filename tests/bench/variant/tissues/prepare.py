"""prepare.py - labelled variants of human_ve as `chordseq train` and `chordseq variant` want them.

Usage: prepare.py variants_covered.tsv WORK

Writes labels.tsv (places on slices), split.tsv (slice to part), and test.vcf (the test's sites, once each).
"""
import csv
import sys

table, work = sys.argv[1:]
rows = list(csv.DictReader(open(table), delimiter="\t"))
part_of = {"chr1": "skip", "chr20": "valid", "chr21": "valid"}


def place(row):
    """Slice, place from 1, both alleles: what makes a variant."""
    return row["slice"], int(row["offset0"]) + 1, row["reference"], row["alternative"]


with open(work + "/labels.tsv", "w") as out:
    print("chrom", "pos", "ref", "alt", "tissue", "label", sep="\t", file=out)
    for row in rows:
        print(*place(row), row["tissue"], row["label"], sep="\t", file=out)
with open(work + "/split.tsv", "w") as out:
    for name in sorted({row["slice"] for row in rows}):
        print(name, part_of.get(name.split(":")[0], "train"), sep="\t", file=out)
with open(work + "/test.vcf", "w") as out:
    print("##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", file=out)
    for site in sorted({place(row) for row in rows if row["chrom"] == "chr1"}):
        print(site[0], site[1], ".", site[2], site[3], ".", ".", ".", sep="\t", file=out)
