#!/usr/bin/env python3
"""language.py - a language model's log-likelihood ratios beside Markov chains: perplexity, and AUROC on labelled variants.

Usage   language.py prepare HUMAN_VE_DIR SPLICE_DIR WORK N
        language.py chains WORK ORDER...
        language.py table WORK NAME=SITES.tsv,SPLICE.tsv,TISSUE.tsv...

`prepare` writes sites.vcf, N random bases each of chromosomes 20 (validation) and 21 (test) of hg38_slices with all three other
bases as ALT, splice.vcf (substitutions of MaPSy and Vex-seq with a label, on contigs.fa) and tissue.vcf (labelled rows of human_ve but
those of chromosome 16; hg38.fa's base is REF).

`chains` counts both strands of hg38_slices without chromosomes 16, 20 and 21. Order k is interpolated with order
k - 1: p = (n + a q) / (total + a), with a constant, or a constant times the kinds of bases seen (Witten and Bell's), each of 6
constants; the best on all of chromosome 20, order by order. `one_side`: the base from the k before it. `sequence`: the
base from both sides by the same chain, in proportion to the probability of the window with each base, the mean over strands of its
logarithm; the ratio of two bases is the chain's llr. `two_sides`: counts of the base between k/2 bases on each
side. Writes chain scores into WORK.

`table` prints the perplexity of all on the sites of both chromosomes, the difference of the loss (nats) to the first model, and
AUROC of -llr (the label is 1 where ALT is less likely) and of |llr|. Intervals (95 %) are from 1,000 bootstrap draws, seed 1, of sites, of
contigs (splice) and of sites with all their rows (tissue). A model's score of a site is its llr of all three ALT,
which states the probability of REF. A model without SITES.tsv has no perplexity.
"""
import csv
import glob
import gzip
import os
import re
import sys

import numpy as np

from markov import CODE, read, turned, words

VALID, TEST, LEFT_OUT = "chr20", "chr21", "chr16"
MARGIN, DRAWS, STRENGTHS = 256, 1000, (0.5, 2, 8, 32, 128, 512)
HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def fasta(path):
    """Contigs by name, as numbers; 4 is any other letter."""
    return {name: CODE[np.frombuffer(text.encode(), np.uint8)].astype(np.int8) for name, text in read(path)}


# ---- sequences and variants ----------------------------------------------------------------------

def write_vcf(path, rows):
    with open(path, "w") as f:
        f.write(HEAD)
        for contig, pos, ref, alt in rows:
            f.write(f"{contig}\t{pos}\t.\t{ref}\t{alt}\t.\t.\t.\n")


def prepare(human, splice, work, n):
    with gzip.open(f"{human}/hg38_slices.fa.gz", "rt") as f, open(f"{work}/hg38.fa", "w") as out:
        out.write(f.read())
    with gzip.open(f"{splice}/splice_contigs.fa.gz", "rt") as f, open(f"{work}/contigs.fa", "w") as out:
        out.write(f.read())
    slices, rng, rows = fasta(f"{work}/hg38.fa"), np.random.default_rng(1), []
    for chrom in (VALID, TEST):
        good = []
        for name, seq in slices.items():
            if name.split(":")[0] == chrom:
                bad = np.concatenate([[0], np.cumsum(seq > 3)])
                at = np.arange(MARGIN, len(seq) - MARGIN)
                good += [(name, i) for i in at[bad[at + MARGIN] == bad[at - MARGIN]]]
        for k in np.sort(rng.choice(len(good), size=n, replace=False)):
            name, i = good[k]
            ref = "ACGT"[slices[name][i]]
            rows.append((name, i + 1, ref, ",".join(b for b in "ACGT" if b != ref)))
    write_vcf(f"{work}/sites.vcf", rows)

    rows = []
    with gzip.open(f"{splice}/splice_variants.tsv.gz", "rt") as f, open(f"{work}/splice.tsv", "w") as out:
        for r in csv.DictReader(f, delimiter="\t"):
            if r["loss"] and len(r["ref"]) == len(r["alt"]) == 1:
                rows.append((r["contig"], int(r["pos"]), r["ref"], r["alt"]))
                print(*rows[-1], r["loss"], r["contig"], r["set"].split("_")[0], 1, sep="\t", file=out)
    write_vcf(f"{work}/splice.vcf", sorted(set(rows)))

    rows = []
    with open(f"{human}/variants_covered.tsv") as f, open(f"{work}/tissue.tsv", "w") as out:
        for r in csv.DictReader(f, delimiter="\t"):
            if r["chrom"] == LEFT_OUT or len(r["reference"]) != 1 or len(r["alternative"]) != 1:
                continue
            swap = r["genome_allele_column"] == "alternative"
            alleles = (r["alternative"], r["reference"]) if swap else (r["reference"], r["alternative"])
            rows.append((r["slice"], int(r["offset0"]) + 1, *alleles))
            # The sign turns the ratio of the genome's base into that of the table's columns.
            print(*rows[-1], r["label"], f"{r['slice']}:{r['offset0']}", "tissue", -1 if swap else 1, sep="\t", file=out)
    write_vcf(f"{work}/tissue.vcf", sorted(set(rows)))


def keys(path):
    """Contig, position from 0, REF and ALT of every allele of a VCF."""
    for line in open(path):
        if line[0] != "#":
            contig, pos, _, ref, alts = line.split("\t")[:5]
            for alt in alts.split(","):
                yield contig, int(pos) - 1, ref, alt


# ---- Markov chains -------------------------------------------------------------------------------

def context(seq, offsets):
    """Places with a known context and base: context number (nearest base last), and base."""
    word, base = words(seq, offsets)
    return word[word >= 0], base[word >= 0]


def joined(seqs):
    """One sequence, with an unknown base between those given."""
    return np.concatenate([part for s in seqs for part in (s, [4])]).astype(np.int8)


def fit(train, valid, offsets, log):
    """Probabilities of every order, contexts of order r being the last r of the offsets."""
    tables = []
    for r in range(len(offsets) + 1):
        near = offsets[len(offsets) - r:]
        n = np.zeros(4 * 4 ** r, np.float32)
        for s in (train, turned(train)):
            word, base = context(s, near)
            n += np.bincount(word * 4 + base, minlength=len(n)).astype(np.float32)
        n = n.reshape(-1, 4)
        total, kinds = n.sum(1, keepdims=True), (n > 0).sum(1, keepdims=True).astype(np.float32)
        q = np.tile(tables[-1], (4, 1)) if tables else np.full((1, 4), 0.25, np.float32)
        (word, base), best = context(valid, near), None
        for by_kind in (False, True):
            for strength in STRENGTHS:
                a = strength * (np.maximum(kinds, 1) if by_kind else 1)
                p = (n + a * q) / (total + a)
                loss = -np.log(p[word, base]).mean(dtype=np.float64)
                if best is None or loss < best[0]:
                    best = loss, p, strength, by_kind
        tables.append(best[1])
        print(f"{log}, order {r}: strength {best[2]}{' per kind' if best[3] else ''}, all of {VALID}: loss {best[0]:.5f}, "
              f"perplexity {np.exp(best[0]):.4f}", file=sys.stderr, flush=True)
    return tables


def log_last(tables, text):
    """Logarithm of the last base of each row given those before, as many as are known in a row."""
    k = len(tables) - 1
    word, order, going = np.zeros(len(text), np.int64), np.zeros(len(text), np.int64), np.ones(len(text), bool)
    for r in range(1, k + 1):
        c = text[:, -1 - r].astype(np.int64)
        going &= c < 4
        word[going] += c[going] * 4 ** (r - 1)
        order[going] = r
    out, base = np.zeros(len(text)), text[:, -1]
    for r in range(k + 1):
        m = (order == r) & (base < 4)
        out[m] = np.log(tables[r][word[m], base[m]])
    return out


def windows(seqs, at, k):
    """The bases around places, k on each side; 4 beyond the ends."""
    out = np.full((len(at), 2 * k + 1), 4, np.int8)
    for row, (contig, pos) in enumerate(at):
        seq = seqs[contig]
        lo, hi = max(0, pos - k), min(len(seq), pos + k + 1)
        out[row, lo - pos + k:hi - pos + k] = seq[lo:hi]
    return out


def base_log_probs(tables, w, how):
    """Log probabilities of the four bases in the middle of windows."""
    k, out = len(tables) - 1, np.zeros((len(w), 4))
    for b in range(4):
        x = w.copy()
        x[:, k] = b
        if how == "one_side":
            out[:, b] = log_last(tables, x[:, :k + 1])
        else:
            back = np.where(x < 4, 3 - x, 4)[:, ::-1]
            for strand in (x, back):
                for j in range(k + 1):
                    out[:, b] += 0.5 * log_last(tables, strand[:, j:j + k + 1])
    return out - np.logaddexp.reduce(out, axis=1, keepdims=True)


def two_sided_log_probs(table, w, offsets):
    """Log probabilities of the four bases by counts between the neighbours."""
    word, k = np.zeros(len(w), np.int64), w.shape[1] // 2
    for o in offsets:
        word = word * 4 + np.minimum(w[:, k + o], 3)
    return np.log(table[word])


def save_scores(path, found, p):
    with open(path, "w") as f:
        print("#chrom", "pos", "ref", "alt", "CS_LLR", sep="\t", file=f)
        for (contig, pos, ref, alt), q in zip(found, p):
            print(contig, pos + 1, ref, alt, "%.6f" % (q["ACGT".index(alt)] - q["ACGT".index(ref)]), sep="\t", file=f)


def chains(work, orders):
    slices, contigs = fasta(f"{work}/hg38.fa"), fasta(f"{work}/contigs.fa")
    train = joined([s for name, s in slices.items() if name.split(":")[0] not in (LEFT_OUT, VALID, TEST)])
    valid = joined([s for name, s in slices.items() if name.split(":")[0] == VALID])
    print(f"{(train < 4).sum()} bases to count", file=sys.stderr)
    sets = [(name, list(keys(f"{work}/{name}.vcf")), contigs if name == "splice" else slices) for name in ("sites", "splice", "tissue")]
    longest = fit(train, valid, list(range(-max(orders), 0)), "one side")
    even = max((k for k in orders if k % 2 == 0), default=0)
    beside = [o for i in range(even // 2, 0, -1) for o in (-i, i)]
    both = fit(train, valid, beside, "two sides") if even else None
    for k in orders:
        for how in ("one_side", "sequence"):
            for name, found, seqs in sets:
                if how == "one_side" and name != "sites":
                    continue
                w = windows(seqs, [f[:2] for f in found], k)
                save_scores(f"{work}/{how}-{k}.{name}.tsv", found, base_log_probs(longest[:k + 1], w, how))
        if k % 2 == 0:
            found = sets[0][1]
            w = windows(slices, [f[:2] for f in found], k // 2)
            save_scores(f"{work}/two_sides-{k}.sites.tsv", found, two_sided_log_probs(both[k], w, beside[even - k:]))


# ---- the table -----------------------------------------------------------------------------------

def ratios(path):
    with open(path) as f:
        return {(r["#chrom"], int(r["pos"]), r["ref"], r["alt"]): float(r["CS_LLR"])
                for r in csv.DictReader(f, delimiter="\t") if r["CS_LLR"] != "."}


def losses(path):
    """Loss of REF by place, from the ratios of the three others."""
    total = {}
    for (contig, pos, _, _), v in ratios(path).items():
        total.setdefault((contig, pos), []).append(v)
    return {place: float(np.logaddexp.reduce([0.0] + v)) for place, v in total.items() if len(v) == 3}


def auroc(p, y):
    _, inverse, count = np.unique(p, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    rank = (last - (count - 1) / 2)[inverse]
    n = y.sum()
    return (rank[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n))


def bootstrap(groups):
    """Bootstrap samples: rows of the groups drawn with replacement."""
    rng = np.random.default_rng(1)
    _, of = np.unique(groups, return_inverse=True)
    rows = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    for _ in range(DRAWS):
        yield np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])


def line(*cells):
    print(*(c if isinstance(c, (str, int)) else "%.4f" % c for c in cells), sep="\t", flush=True)


def perplexities(sites):
    first = next(iter(sites.values()))
    common = [p for p in first if all(p in s for s in sites.values())]
    for chrom in (VALID, TEST):
        places = [p for p in common if p[0].split(":")[0] == chrom]
        loss = {name: np.array([s[p] for p in places]) for name, s in sites.items()}
        base = next(iter(loss.values()))
        rng = np.random.default_rng(1)
        picks = [rng.integers(len(places), size=len(places)) for _ in range(DRAWS)]
        for name, v in loss.items():
            line(f"perplexity {chrom}", name, len(places), np.exp(v.mean()),
                 *np.exp(np.percentile([v[i].mean() for i in picks], [2.5, 97.5])))
            if v is not base:
                d = v - base
                line(f"loss above {next(iter(loss))}, {chrom}", name, len(places), d.mean(),
                     *np.percentile([d[i].mean() for i in picks], [2.5, 97.5]))


def labelled(work, name, scores):
    rows = [r.rstrip("\n").split("\t") for r in open(f"{work}/{name}.tsv")]
    key = [(r[0], int(r[1]), r[2], r[3]) for r in rows]
    keep = [i for i in range(len(rows)) if all(key[i] in s for s in scores.values())]
    y, group, assay, sign = (np.array([rows[i][c] for i in keep]) for c in (4, 5, 6, 7))
    y, sign = y.astype(int), sign.astype(int)
    for which in sorted(set(assay)):
        m = assay == which
        picks = [p for p in bootstrap(group[m]) if 0 < y[m][p].sum() < len(p)]
        for method, s in scores.items():
            v = np.array([s[key[i]] for i in keep])[m] * sign[m]
            for measure, p in (("-llr", -v), ("|llr|", np.abs(v))):
                line(f"AUROC {which} {measure}", method, int(m.sum()), auroc(p, y[m]),
                     *np.percentile([auroc(p[i], y[m][i]) for i in picks], [2.5, 97.5]))


def table(work, named):
    models = [n.split("=", 1) for n in named]
    paths = {name: p.split(",") for name, p in models}
    known = [os.path.basename(p) for p in glob.glob(f"{work}/*.sites.tsv")]
    known = [k[:-len(".sites.tsv")] for k in known if re.match(r"(one_side|sequence|two_sides)-\d+[.]", k)]
    known.sort(key=lambda c: (c.split("-")[0], int(c.split("-")[1])))
    line("measure", "method", "rows", "value", "low", "high")
    perplexities({**{n: losses(p[0]) for n, p in paths.items() if p[0]}, **{c: losses(f"{work}/{c}.sites.tsv") for c in known}})
    for i, name in ((1, "splice"), (2, "tissue")):
        labelled(work, name, {**{n: ratios(p[i]) for n, p in paths.items()},
                              **{c: ratios(f"{work}/{c}.{name}.tsv") for c in known if c.startswith("sequence")}})


command, rest = sys.argv[1], sys.argv[2:]
if command == "prepare":
    prepare(rest[0], rest[1], rest[2], int(rest[3]))
elif command == "chains":
    chains(rest[0], [int(k) for k in rest[1:]])
elif command == "table":
    table(rest[0], rest[1:])
else:
    sys.exit(f"unknown command '{command}'")
