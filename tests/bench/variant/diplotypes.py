#!/usr/bin/env python3
"""diplotypes.py - loci and figures of bench_diplotype_model.sh.

Usage   diplotypes.py loci SPLICE_DIR HUMAN_VE_DIR WORK_DIR
        diplotypes.py labels WORK_DIR PERSON...
        diplotypes.py table WORK_DIR SEEDS PERSON...
        diplotypes.py rebuild IN.sam OUT.sam OUT.fa
        diplotypes.py compare REFERENCE.fa GENOTYPES READS

`loci` writes windows of WINDOW bases around annotated donors and acceptors (classes donor, acceptor) and around the same two
letters elsewhere (class decoy, DECOYS per site): those of chromosome 20 as loci.bed, with their class and one of FOLDS stretches of
the chromosome in loci.tsv, those of other chromosomes as other.fa with other.tsv, other.split.tsv and other.bed (the two
letters of every site). `labels` writes
foldK.tsv and foldK.split.tsv for records PERSON:contig:from-to; a fold is tested, not trained on. `table` prints
how WORK_DIR/scores/ARM.SEED.K.tsv (`classify --all`) tell sites from decoys. `rebuild` makes a reference from alignments
whose CIGAR strings have = and X: a base that some read has under =. `compare` prints how tokens (FILE.dip), answers per
site (FILE.sites, `predict --format tsv`) and per window (FILE.windows, `classify --all`) of READS differ from those of
GENOTYPES.
"""
import gzip
import random
import re
import sys

import numpy as np

from evaluate_splice import auroc
from prepare_splice import ASIDE, read_fasta, rows

WINDOW, DECOYS, FOLDS, APART, DRAWS = 128, 2, 5, 200, 2000
# The two bases before and behind the boundary of intron and exon, by type and strand.
MOTIFS = {("donor", "+"): (0, "GT"), ("acceptor", "+"): (-2, "AG"), ("donor", "-"): (-2, "AC"), ("acceptor", "-"): (0, "CT")}


def loci(splice, human, work):
    rng = random.Random(1)
    sequence = read_fasta(f"{human}/hg38_slices.fa.gz")
    sites = {}
    for r in rows(f"{splice}/aux/hg38_slice_splice_sites.tsv.gz"):
        sites.setdefault(r["slice"], set()).add((int(r["boundary0"]), r["type"], r["strand"]))
    found = []
    for name in sorted(sites):
        chrom, begin = name.split(":")[0], int(name.split(":")[1].split("-")[0]) - 1
        seq = sequence[name].upper()
        if chrom in ASIDE or chrom == "chr20" and begin > 1e6:      # calls end at a million
            continue
        near = sorted({b for b, _, _ in sites[name]})
        found += take(rng, chrom, begin, seq, sites[name], near)
    write(work, [x for x in found if x[0] == "chr20"], [x for x in found if x[0] != "chr20"])


def take(rng, chrom, begin, seq, sites, near):
    """Windows (chromosome, start, class, bases, place of the two letters) of a slice."""
    half, out, taken = WINDOW // 2, [], set()
    for boundary, kind, strand in sorted(sites):
        shift, motif = MOTIFS[kind, strand]
        if boundary in taken or seq[boundary + shift:boundary + shift + 2] != motif:
            continue
        places = [(boundary, kind)]
        for _ in range(100 * DECOYS):
            at = seq.find(motif, rng.randrange(len(seq))) - shift
            i = np.searchsorted(near, at)
            if all(abs(at - x) > APART for x in near[max(i - 1, 0):i + 1]) and at not in taken:
                places.append((at, "decoy"))
            if len(places) > DECOYS:
                break
        for at, label in places:
            window = seq[max(at - half, 0):at + half]
            if len(window) == WINDOW and set(window) <= set("ACGT"):
                out.append((chrom, begin + at - half, label, window, half + shift))
                taken.add(at)
    return out


def write(work, chr20, others):
    chr20.sort(key=lambda x: x[1])
    ends = np.array_split([x[1] for x in chr20 if x[2] != "decoy"], FOLDS)
    # Classes first occur in the order of the others', so that training continues with the same head.
    order = list(dict.fromkeys(x[2] for x in others))
    chr20.sort(key=lambda x: order.index(x[2]))
    with open(f"{work}/loci.bed", "w") as bed, open(f"{work}/loci.tsv", "w") as table:
        for chrom, start, label, *_ in chr20:
            fold = next((k for k in range(FOLDS - 1) if start <= ends[k][-1]), FOLDS - 1)
            print(chrom, start, start + WINDOW, sep="\t", file=bed)
            print(f"{chrom}:{start + 1}-{start + WINDOW}", label, fold, sep="\t", file=table)
    names = [f"{x[0]}_{x[1] + 1}" for x in others]
    with open(f"{work}/other.fa", "w") as fasta, open(f"{work}/other.tsv", "w") as table, \
            open(f"{work}/other.split.tsv", "w") as split, open(f"{work}/other.bed", "w") as bed:
        for name, (chrom, _, label, window, at) in zip(names, others):
            print(f">{name}", window, sep="\n", file=fasta)
            print(name, label, sep="\t", file=table)
            print(name, "valid" if chrom == "chr21" else "train", sep="\t", file=split)
            if label != "decoy":
                print(name, at, at + 2, label, sep="\t", file=bed)
    print(f"# chromosome 20: {sum(x[2] != 'decoy' for x in chr20)} sites, {len(chr20)} windows; others: "
          f"{sum(x[2] != 'decoy' for x in others)} sites, {len(others)} windows", file=sys.stderr)


def read_loci(work):
    return [line.split() for line in open(f"{work}/loci.tsv")]


def labels(work, persons):
    for k in range(FOLDS):
        with open(f"{work}/fold{k}.tsv", "w") as table, open(f"{work}/fold{k}.split.tsv", "w") as split:
            for person in persons:
                for name, label, fold in read_loci(work):
                    print(f"{person}:{name}", label, sep="\t", file=table)
                    print(f"{person}:{name}", "skip" if int(fold) == k else "train", sep="\t", file=split)


def scores(path):
    """Logit of a site, donor or acceptor, by record."""
    out = {}
    with open(path) as f:
        head = f.readline().lstrip("#").rstrip("\n").split("\t")
        at = next(i for i, h in enumerate(head) if h == "prob_decoy")
        for line in f:
            v = line.rstrip("\n").split("\t")
            p = min(max(float(v[at]), 1e-7), 1 - 1e-7)
            out[v[0]] = np.log((1 - p) / p)
    return out


def table(work, seeds, persons):
    known = read_loci(work)
    keys = [f"{p}:{name}" for p in persons for name, _, _ in known]
    y = np.array([label != "decoy" for _, label, _ in known] * len(persons), int)
    locus = np.tile(np.arange(len(known)), len(persons))
    differs = changed(work, keys)
    got = {}
    print("tokens", "windows", "seed", "sites", "decoys", "auroc", sep="\t")
    for arm in "bases", "diplotypes":
        for seed in seeds:
            x = {}
            for k in range(FOLDS):
                x.update(scores(f"{work}/scores/{arm}.{seed}.{k}.tsv"))
            got[arm, seed] = np.array([x[key] for key in keys])
            for which, m in ("all", np.ones(len(y), bool)), ("with a variant", differs):
                print(arm, which, seed, y[m].sum(), (1 - y[m]).sum(), "%.4f" % auroc(got[arm, seed][m], y[m]), sep="\t")
    for which, m in ("all", np.ones(len(y), bool)), ("with a variant", differs):
        by_seed = {arm: np.array([auroc(got[arm, s][m], y[m]) for s in seeds]) for arm in ("bases", "diplotypes")}
        error = {arm: v.std(ddof=1) / len(v) ** 0.5 if len(v) > 1 else float("nan") for arm, v in by_seed.items()}
        less = by_seed["diplotypes"] - by_seed["bases"]
        se = less.std(ddof=1) / len(less) ** 0.5 if len(less) > 1 else float("nan")
        for arm, v in by_seed.items():
            print(arm, which, "mean", ".", ".", "%.4f +- %.4f" % (v.mean(), error[arm]), sep="\t")
        low, high = interval(got, seeds, y, m, locus)
        print("diplotypes - bases", which, "mean", ".", ".", "%.4f +- %.4f (%.4f to %.4f)" % (less.mean(), se, low, high), sep="\t")


def read_text(path):
    """Records of FASTA or diplotype text."""
    out, name = {}, None
    with open(path) as f:
        for line in f:
            if line[0] == ">":
                name = line[1:].split()[0]
                out[name] = ""
            elif line[0] != "#" or name:
                out[name] += line.strip()
    return out


def changed(work, keys):
    """Whether a person's window has a symbol that the reference lacks."""
    reference, own = read_text(f"{work}/bases.fa"), read_text(f"{work}/diplotypes.dip")
    return np.array([reference[k] != own[k] for k in keys])


def interval(got, seeds, y, m, locus):
    """95 % interval of the difference, of the mean over seeds, loci drawn with all persons' windows."""
    rng = np.random.default_rng(1)
    at = [np.flatnonzero(m & (locus == i)) for i in np.unique(locus[m])]
    samples = []
    for _ in range(DRAWS // len(seeds)):
        pick = np.concatenate([at[i] for i in rng.integers(len(at), size=len(at))])
        if 0 < y[pick].sum() < len(pick):
            samples.append(np.mean([auroc(got["diplotypes", s][pick], y[pick]) - auroc(got["bases", s][pick], y[pick])
                                    for s in seeds]))
    return np.percentile(samples, [2.5, 97.5])


def rebuild(path, to_sam, to_fasta):
    """Alignments on a contig of their own, and its reference."""
    head, body = [], []
    with open(path) as f:
        for line in f:
            (head if line[0] == "@" else body).append(line.rstrip("\n").split("\t"))
    body = [r for r in body if int(r[1]) & 0x904 == 0]
    first, bases = min(int(r[3]) for r in body) - 1, {}
    for r in body:
        ref, read = int(r[3]) - 1 - first, 0
        for n, op in ((int(a), b) for a, b in re.findall(r"(\d+)([=XIDSNMH])", r[5])):
            if op == "=":
                bases.update(zip(range(ref, ref + n), r[9][read:read + n]))
            ref += n if op in "=XDNM" else 0
            read += n if op in "=XISM" else 0
        r[3], r[6], r[7] = str(int(r[3]) - first), "*", "0"
    length = max(bases) + 1
    with open(to_fasta, "w") as f:
        print(f">{body[0][2]}", "".join(bases.get(i, "N") for i in range(length)), sep="\n", file=f)
    with open(to_sam, "w") as f:
        print("@HD\tVN:1.6\tSO:coordinate", f"@SQ\tSN:{body[0][2]}\tLN:{length}", *("\t".join(h) for h in head if h[0] == "@RG"),
              sep="\n", file=f)
        for r in body:
            print("\t".join(r), file=f)


def probabilities(path):
    """Class probabilities by record and position, of those that have them."""
    with open(path) as f:
        first = f.readline().split("\t")
        columns = [i for i, h in enumerate(first) if h.startswith("prob_")] or range(3, len(first))
        lines = [line.rstrip("\n").split("\t") for line in f]
    return {(r[0], r[1]): np.array([float(r[i]) for i in columns]) for r in lines if r[columns[0]] != "."}


def compare(reference, genotypes, reads):
    """known, agree, bases, indels; of sites and windows: number with both answers, share with one class, mean and largest
    difference of probabilities. Tokens where the reference has a base."""
    ref, a, b = (np.array(list("".join(x.values()))) for x in map(read_text, (reference, genotypes + ".dip", reads + ".dip")))
    ref = np.char.upper(ref)
    a, b, ref = a[ref != "N"], b[ref != "N"], ref[ref != "N"]
    known, of_bases = b != "N", np.isin(a, list("ACGTMRWSYK"))
    print("%.4f" % known.mean(), "%.5f" % (a == b)[known].mean() if known.any() else ".", sep="\t", end="")
    for m in (a != ref) & of_bases, (a != ref) & ~of_bases:
        print(f"\t{(a == b)[m].sum()}/{m.sum()}", end="")
    for what in "sites", "windows":
        p, q = (probabilities(f"{x}.{what}") for x in (genotypes, reads))
        both = [k for k in p if k in q]
        if not both:        # too many unknown tokens
            print("\t0\t.\t.\t.", end="")
            continue
        p, q = (np.array([x[k] for k in both]) for x in (p, q))
        off = np.abs(p - q).max(1)
        print("", len(p), "%.4f" % (p.argmax(1) == q.argmax(1)).mean(), "%.5f" % off.mean(), "%.3f" % off.max(), sep="\t", end="")
    print()


def main():
    what, *a = sys.argv[1:]
    if what == "table":
        table(a[0], a[1].split(), a[2:])
    elif what == "labels":
        labels(a[0], a[1:])
    else:
        {"loci": loci, "rebuild": rebuild, "compare": compare}[what](*a)


main()
