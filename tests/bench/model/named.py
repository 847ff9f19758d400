#!/usr/bin/env python3
"""named.py - cut sequences of kinds that are known to be hard into pieces of one length.

Usage   named.py GROUPS.tsv.xz FOLD LENGTH MANIFEST... -- FASTA... > PIECES.fa

GROUPS is what refdata/model/groups.py writes, MANIFEST and FASTA are those of the taxa sets. The kinds: mitochondria of
plants (lineage), poxviruses and mimiviruses (family), plasmids of 350 kb or more (by the places that their records come
from, "NC_015944.1:241310-281309"), Halobacteriales and Enterobacteriaceae (groups). Writes headers
`>KIND|CLASS|N|RECORD class=CLASS` of the records of a fold, pieces side by side, at most 100 of a kind: each record's
first, then each one's second, and so on.
`chordseq classify --min-prob 0` with the fold's model (W/foldK/others.safetensors, of refdata/model/calibrate.sh) has
the calls; a kind's recall is the share of its rows with label CLASS.
"""
import collections
import lzma
import sys

from families import read_fasta, seven

MOST, MEGAPLASMID = 100, 350000


def origin(record):
    """Accession and last base of a record cut from a longer one; 0 without."""
    accession, _, place = record.partition(":")
    return accession, int(place.split("-")[1]) if "-" in place else 0


def read_manifests(paths):
    """record -> lineage, and accession -> the last base that a plasmid's record has."""
    lineage, end = {}, collections.Counter()
    for path in paths:
        with open(path) as f:
            for line in f:
                name, source, _, of = line.split("\t")[:4]
                lineage[name] = of
                if source == "plasmid":
                    accession, last = origin(name)
                    end[accession] = max(end[accession], last)
    return lineage, end


def kind_of(name, source, group, lineage, end):
    """The kind of a record, or None."""
    if source == "mitochondrion" and lineage.get(name, "").startswith("Plants"):
        return "mitochondria of plants"
    if group in ("virus:Poxviridae", "virus:Mimiviridae"):
        return "giant viruses"
    if source == "plasmid" and end[origin(name)[0]] >= MEGAPLASMID:
        return "megaplasmids"
    return group.split(":")[1] if group in ("archaea:Halobacteriales", "bacteria:Enterobacteriaceae") else None


def main():
    groups, fold, length, *paths = sys.argv[1:]
    split, length = paths.index("--"), int(length)
    lineage, end = read_manifests(paths[:split])
    kinds = {}
    with lzma.open(groups, "rt") as f:
        for line in f:
            name, source, group, of = line.rstrip("\n").split("\t")[:4]
            if of == fold:
                kinds[name] = kind_of(name, source, group, lineage, end), seven(source)
    pieces = collections.defaultdict(list)
    for path in paths[split + 1:]:
        for name, sequence in read_fasta(path):
            kind = kinds.get(name, (None,))[0]
            for at in range(0, len(sequence) - length + 1 if kind else 0, length):
                pieces[kind].append((at, name, sequence[at:at + length]))
    for kind in sorted(pieces):
        for n, (_, name, piece) in enumerate(sorted(pieces[kind])[:MOST]):
            c = kinds[name][1]
            print(f">{kind.replace(' ', '_')}|{c}|{n}|{name} class={c}\n{piece}")


main()
