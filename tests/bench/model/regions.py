#!/usr/bin/env python3
"""regions.py - sequences with known regions of another class, and metrics of `chordseq predict` on them.

Usage: regions.py draw GROUPS.tsv.xz PIECES.tsv FOLD SHARED FILE... --out DIR [--seed 1]
       regions.py score DIR REGIONS.bed... > TABLE

draw writes DIR/all.fa and DIR/truth.tsv: record, first base, end, class, set. FOLD is 0 to 4: everything of
interest is in that fold's groups, so a model of the other folds has not seen relatives of it. SHARED has the taxa
sets; FILE are the genomes that refdata/model/fetch.sh prints. Sets:

  prophage   prophages of PIECES of the fold with up to 50 kb of their host on either side (the host's family may be
             in training); other prophages there are masked (class -); an end of the annotation that is not the
             record's is 4 kb outside of the last phage gene
  clean      bacteria of the fold of 20 kb or more in which prophages.py found none
  nuclear    20 kb of nuclear records of the fold, as they are
  organelle  the same 20 kb with 500, 1,000 or 3,000 bp of a mitochondrion or plastid of the fold inserted

score reads these for one DIR, or several (comma-separated, a BED each), and pools them.
"""
import argparse
import collections
import lzma
import os
import random
import sys

from families import read_fasta, seven

FLANK, MARGIN, HOST, LENGTHS = 50000, 4000, 20000, (500, 1000, 3000)
N_CLEAN, N_NUCLEAR, N_INSERTED = 80, 100, 200


def read_groups(path):
    """record -> (source class, group, fold)."""
    with lzma.open(path, "rt") as f:
        return {row[0]: tuple(row[1:4]) for row in (line.split("\t") for line in f)}


def read_pieces(path):
    """(file, record) -> [(first base, end, name in groups)] of prophages."""
    out = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            file, name, first, last, cls, _ = line.rstrip("\n").split("\t")
            if cls == "virus_phage" and not file.startswith("lambda"):
                out[file, name].append((int(first) - 1, int(last), f"{name}:{first}-{last}"))
    return out


class Drawn:
    """The sequences drawn so far."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.fasta = open(os.path.join(folder, "all.fa"), "w")
        self.truth = open(os.path.join(folder, "truth.tsv"), "w")
        self.n = 0

    def add(self, kind, source, seq, regions):
        """regions: (first base, end, class) in order, without overlap."""
        name = f"{kind}{self.n}"
        self.n += 1
        print(f">{name} {source}\n{seq}", file=self.fasta)
        print(name, 0, len(seq), source, kind, sep="\t", file=self.truth)
        for a, b, cls in regions:
            print(name, a, b, cls, kind + "_region", sep="\t", file=self.truth)

    def close(self):
        self.fasta.close()
        self.truth.close()


def draw_prophages(out, pieces, groups, fold, files):
    for path in files:
        mine = {name: places for (file, name), places in pieces.items() if file == os.path.basename(path)}
        if not mine:
            continue
        for name, seq in read_fasta(path):
            seq = seq.upper()
            for a, b, key in mine.get(name, ()):
                if groups[key][2] != fold:
                    continue
                lo, hi = max(0, a - FLANK), min(len(seq), b + FLANK)
                near = sorted((max(x, lo) - lo, min(y, hi) - lo, "virus" if k == key else "-")
                              for x, y, k in mine[name] if x < hi and y > lo)
                out.add("prophage", key, seq[lo:hi], near)


def turns(records, rng):
    """Records (name, group) in turns of their groups, each group's in random order."""
    by = collections.defaultdict(list)
    for name, group in sorted(records):
        by[group].append(name)
    queues = [by[g] for g in sorted(by)]
    for queue in queues:
        rng.shuffle(queue)
    rng.shuffle(queues)
    while queues:
        for queue in queues:
            yield queue.pop()
        queues = [queue for queue in queues if queue]


def some(records, n, rng):
    return [name for name, _ in zip(turns(records, rng), range(n))]


def inserted(host, piece, rng):
    """(sequence, place) of a host with a piece in it, at least 2 kb from its ends."""
    at = rng.randrange(2000, len(host) - 2000)
    return host[:at] + piece + host[at:], at


def draw(a):
    groups, pieces = read_groups(a.groups), read_pieces(a.pieces)
    taxa = [os.path.join(a.shared, "data", d, f) for d in ("taxa", "taxa2")
            for f in sorted(os.listdir(os.path.join(a.shared, "data", d))) if f.endswith(".fa.gz")]
    bacteria = os.path.join(a.shared, "data", "taxa", "bacteria.fa.gz")
    out, rng = Drawn(a.out), random.Random(f"{a.seed} {a.fold}")
    draw_prophages(out, pieces, groups, a.fold, [bacteria, *a.file])
    with_prophage = {name for _, name in pieces}
    seqs, hosts, clean = {}, [], []
    organelles = collections.defaultdict(list)
    for path in taxa:
        for name, seq in read_fasta(path):
            source, group, fold = groups.get(name, ("", "", ""))
            if fold != a.fold:
                continue
            cls = seven(source)
            if path == bacteria and len(seq) >= 20000 and name not in with_prophage:
                clean.append((name, group))
            elif cls == "eukaryota" and len(seq) >= HOST:
                hosts.append((name, source + group))
            elif cls in ("mitochondrion", "plastid") and len(seq) > max(LENGTHS):
                organelles[cls].append((name, group))
            else:
                continue
            seqs[name] = seq.upper()
    for name in some(clean, N_CLEAN, rng):
        out.add("clean", name, seqs[name], [])
    cut = []
    for name in some(hosts, N_NUCLEAR, rng):
        at = rng.randrange(len(seqs[name]) - HOST + 1)
        cut.append((f"{name}:{at}", seqs[name][at:at + HOST]))
    for name, host in cut:
        out.add("nuclear", name, host, [])
    source = {cls: turns(organelles[cls], rng) for cls in sorted(organelles)}
    for i in range(min(N_INSERTED, 2 * len(cut))):
        cls, length = sorted(source)[i % 2], LENGTHS[i // 2 % 3]
        name = next(source[cls], None)
        if name is None:
            source[cls] = turns(organelles[cls], rng)
            name = next(source[cls])
        at = rng.randrange(len(seqs[name]) - length + 1)
        piece = seqs[name][at:at + length]
        if rng.random() < 0.5:
            piece = piece[::-1].translate(str.maketrans("ACGT", "TGCA"))
        host, place = inserted(cut[i % len(cut)][1], piece, rng)
        out.add("organelle", f"{cut[i % len(cut)][0]}+{name}", host, [(place, place + length, cls)])
    out.close()


# ---- metrics --------------------------------------------------------------------------------------


def overlap(a, b, c, d):
    return max(0, min(b, d) - max(a, c))


def core(a, b, n):
    """A prophage without the margins of prophages.py."""
    return a + (MARGIN if a > 0 else 0), b - (MARGIN if b < n else 0)


class Score:
    """Sums over records; regions of a class are runs of bases called that class."""

    def __init__(self):
        self.n = collections.Counter()

    def add_region(self, kind, a, b, cls, n, runs):
        lo, hi = core(a, b, n) if kind == "prophage" else (a, b)
        covered = sum(overlap(lo, hi, x, y) for x, y, c in runs if c == cls)
        key = kind if kind == "prophage" else f"{cls} {b - a}"
        self.n[key, "regions"] += 1
        self.n[key, "found"] += 2 * covered >= hi - lo
        self.n[key, "bases"] += hi - lo
        self.n[key, "covered"] += covered

    def add(self, kind, n, regions, runs):
        foreign = ("virus",) if kind in ("prophage", "clean") else ("mitochondrion", "plastid")
        for a, b, cls in regions:
            if cls != "-":
                self.add_region(kind, a, b, cls, n, runs)
        own = n - sum(b - a for a, b, _ in regions)
        self.n[kind, "own"] += own
        changes = -1
        for x, y, c in runs:
            changes += 1
            if c not in foreign:
                continue
            masked = sum(overlap(x, y, a, b) for a, b, cls in regions if cls == "-")
            right = sum(overlap(x, y, a, b) for a, b, cls in regions if cls == c)
            known = sum(overlap(x, y, a, b) for a, b, _ in regions)
            self.n[kind, "called"] += y - x - masked
            self.n[kind, "right"] += right
            self.n[kind, "outside"] += y - x - known
            self.n[kind, "false"] += known == 0
        self.n[kind, "changes"] += changes

    def table(self):
        n = self.n

        def rate(a, b, scale=1.0, digits=3):
            return f"{scale * a / b:.{digits}f}" if b else "."

        yield "set", "measure", "value", "of"
        for key in ["prophage"] + [f"{c} {k}" for c in ("mitochondrion", "plastid") for k in LENGTHS]:
            yield key, "regions found", rate(n[key, "found"], n[key, "regions"]), n[key, "regions"]
            yield key, "base recall", rate(n[key, "covered"], n[key, "bases"]), n[key, "bases"]
        for kind in ("prophage", "organelle"):
            yield kind, "base precision", rate(n[kind, "right"], n[kind, "called"]), n[kind, "called"]
        for kind in ("prophage", "clean", "nuclear"):
            yield kind, "false bases per Mbase", rate(n[kind, "outside"], n[kind, "own"], 1e6, 0), n[kind, "own"]
            yield kind, "false regions per Mbase", rate(n[kind, "false"], n[kind, "own"], 1e6, 2), n[kind, "false"]
        for kind in ("clean", "nuclear"):
            yield kind, "changes of any class per Mbase", rate(n[kind, "changes"], n[kind, "own"], 1e6, 2), \
                n[kind, "changes"]


def read_truth(folder):
    """record -> (set, bases, [(first base, end, class)])."""
    out = {}
    with open(os.path.join(folder, "truth.tsv")) as f:
        for line in f:
            name, a, b, cls, kind = line.rstrip("\n").split("\t")
            if kind.endswith("_region"):
                out[name][2].append((int(a), int(b), cls))
            else:
                out[name] = (kind, int(b), [])
    return out


def read_runs(path):
    """record -> [(first base, end, class)]."""
    out = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            name, a, b, cls = line.split("\t")[:4]
            out[name].append((int(a), int(b), cls))
    return out


def score(a):
    s = Score()
    for folder, path in zip(a.folder.split(","), a.bed):
        runs = read_runs(path)
        for name, (kind, n, regions) in read_truth(folder).items():
            s.add(kind, n, regions, runs[name])
    for row in s.table():
        print(*row, sep="\t")


def main():
    ap = argparse.ArgumentParser()
    sub = ap.add_subparsers(dest="what", required=True)
    p = sub.add_parser("draw")
    p.add_argument("groups")
    p.add_argument("pieces")
    p.add_argument("fold")
    p.add_argument("shared")
    p.add_argument("file", nargs="*")
    p.add_argument("--out", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.set_defaults(run=draw)
    p = sub.add_parser("score")
    p.add_argument("folder")
    p.add_argument("bed", nargs="+")
    p.set_defaults(run=score)
    a = ap.parse_args()
    a.run(a)


if __name__ == "__main__":
    sys.exit(main())
