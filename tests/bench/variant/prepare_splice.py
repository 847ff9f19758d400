#!/usr/bin/env python3
"""prepare_splice.py - the training files of the default variant model.

Usage   prepare_splice.py SPLICE_DIR HUMAN_VE_DIR WORK_DIR

Writes into WORK_DIR
  first.fa, second.fa        sequences of stage one and two; first_exons.fa, second_exons.fa the same with exons in upper
                             case and other bases in lower case; .tsv their labels (train --head multilabel),
                             .split.tsv their parts. Measured ratios become labels by thresholds. The second
                             has motifs of splice sites and decoys besides
  contigs.fa, contigs.bed    wild-type contigs and their exons
  labels.tsv                 variants on either strand (train --head variant): SPLICE is 1 where inclusion falls,
                             and 0 on the strand without the exon; STRAND is 1 on the exon's strand;
                             labels_exons.tsv the same on the exon's strand only, without STRAND
  measured.fa, .tsv          sequences with measured inclusion (ES7, cassettes of Mikl 2019); set and inclusion;
                             measured_exons.fa the same with exons in upper case
  places.fa, .tsv            windows of slices around annotated sites and far from any, on both strands;
                             chromosome, and whether a site's gene lies on the strand
  splitK.tsv, foldK.vcf      five folds by chromosome; splitall.tsv keeps every twentieth contig for validation
  slices.fa, slicesK.vcf     hg38_slices, and of the chromosomes of fold K up to 150 substitutions each in the two
                             intron bases of annotated sites (KIND=site), 30 to 100 bases from one in the
                             intron (KIND=near) and more than 300 bases from any (KIND=far)
  slices.bed                 exons of slices: from an acceptor to the next donor of the gene, at most 2,000 bases

Sequences lie on the strand of the exon. hg38_slices of chromosomes 9, 12, 14, 15, 16, 19 and 22 are left out.
"""
import csv
import gzip
import random
import sys

ES7_LEFT, ES7_RIGHT = "TCTGCCTATGTCTTTCTCTGCCATCCAGGTT", "CAGGTCTGACTATGGGACCCTTGATGTTTT"
ASIDE = {"chr9", "chr12", "chr14", "chr15", "chr16", "chr19", "chr22"}
SITE_WINDOW, LONGEST, FOLDS = 200, 260, 5


def rows(path):
    with gzip.open(path, "rt") as f:
        yield from csv.DictReader(f, delimiter="\t")


def read_fasta(path):
    name, out = None, {}
    with gzip.open(path, "rt") as f:
        for line in f:
            if line[0] == ">":
                name = line[1:].split()[0]
                out[name] = []
            else:
                out[name].append(line.strip())
    return {name: "".join(lines) for name, lines in out.items()}


def reverse_complement(s):
    return s[::-1].translate(str.maketrans("ACGTNacgtn", "TGCANtgcan"))


def number(text):
    try:
        x = float(text)
    except ValueError:
        return None
    return x if x == x else None


def above(label, x, thresholds):
    return {f"{label}_{t:g}".replace("-", "m"): int(x > t) for t in thresholds}


def marked(seq, *exons):
    """The sequence with exons [first, last) in upper case and other bases in lower case."""
    out = seq.lower()
    for first, last in exons:
        out = out[:first] + seq[first:last].upper() + out[last:]
    return out


def es7_exon():
    return ES7_LEFT.rindex("AG") + 2, len(ES7_LEFT) + 70 + ES7_RIGHT.index("GT")


def random_exons(folder):
    for i, r in enumerate(rows(f"{folder}/aux/es7_random_exons.tsv.gz")):
        inclusion, skipping = float(r["inclusion"]), float(r["skipping"])
        if inclusion + skipping >= 30:
            psi = inclusion / (inclusion + skipping)
            seq = marked(ES7_LEFT + r["exon"] + ES7_RIGHT, es7_exon())
            yield f"es7_{i}", seq, above("psi", psi, (0.05, 0.3, 0.7, 0.95))


def construct_exons(kind, r):
    """The exons of a construct; bases between tandem sites are in introns."""
    n = len(r["sequence"])
    if kind == "cassette":
        return [(int(r["exonstart_in_sequence"]), int(r["exonend_in_sequence"]))]
    if kind == "intron_retention":
        return [(0, int(r["intronstart_in_sequence"])), (int(r["intronend_in_sequence"]), n)]
    return [(0, int(r["donor_1"]))] if kind == "tandem_donor" else [(int(r["acceptor_2"]), n)]


def constructs(folder):
    for kind in ("cassette", "intron_retention", "tandem_donor", "tandem_acceptor"):
        for r in rows(f"{folder}/aux/mikl2019_{kind}.tsv.gz"):
            x = number(r["splicing_ratio_(log2)"])
            if x is not None:
                yield f"mikl_{kind}_{r['library_index']}", marked(r["sequence"], *construct_exons(kind, r)), above(
                    kind, x, (-6, -3, 0, 3))


def site_exons(found, strand, start, n, most=2000, outer=150):
    """Exons of a strand in a window of n bases: from an acceptor to the next donor, at most `most` bases; `outer` bases
    at a site without partner, such as that of a first or last exon."""
    opens = "acceptor" if strand == "+" else "donor"
    here, out = sorted({(p, k) for p, k, s in found if s == strand}), []
    for i, (p, k) in enumerate(here):
        before, after = here[i - 1] if i else None, here[i + 1] if i + 1 < len(here) else None
        if k == opens:
            paired = after and after[1] != opens and after[0] - p <= most
            out.append((p, after[0] if paired else p + outer))
        elif not (before and before[1] == opens and p - before[0] <= most):
            out.append((p - outer, p))
    return [(max(a - start, 0), min(b - start, n)) for a, b in out if a < start + n and b > start]


def decoy_exon(seq, rng):
    """An exon where none is: often from AG to GT, 20 to 180 bases; in three of ten windows none."""
    draw = rng.random()
    first = [i + 2 for i in range(len(seq) - 1) if seq[i:i + 2] == "AG"]
    a = 0 if draw > 0.85 or not first else rng.choice(first)
    last = [i for i in range(len(seq) - 1) if seq[i:i + 2] == "GT" and 20 <= i - a <= 180]
    b = rng.choice(last) if last else len(seq)
    return [] if draw < 0.3 else [(a, b)]


def sites(folder, slices):
    rng, decoys = random.Random(1), random.Random(5)
    at = {}
    for r in rows(f"{folder}/aux/hg38_slice_splice_sites.tsv.gz"):
        if r["slice"].split(":")[0] not in ASIDE:
            at.setdefault(r["slice"], []).append((int(r["boundary0"]), r["type"], r["strand"]))
    n = 0
    for name, found in sorted(at.items()):
        seq = slices[name]
        places = sorted(p for p, _, _ in found)
        for p, _, strand in found:
            start = p - rng.randrange(40, SITE_WINDOW - 40)
            if start < 0 or start + SITE_WINDOW > len(seq):
                continue
            inside = {k for q, k, _ in found if start + 10 <= q <= start + SITE_WINDOW - 10}
            s = marked(seq[start:start + SITE_WINDOW], *site_exons(found, strand, start, SITE_WINDOW))
            yield (f"site_{n}", s if strand == "+" else reverse_complement(s),
                   {"donor": int("donor" in inside), "acceptor": int("acceptor" in inside)})
            n += 1
            for _ in range(2):
                start = rng.randrange(0, len(seq) - SITE_WINDOW)
                near = [q for q in places if start - 50 <= q <= start + SITE_WINDOW + 50]
                s = seq[start:start + SITE_WINDOW]
                if not near and "N" not in s:
                    yield f"none_{n}", marked(s, *decoy_exon(s.upper(), decoys)), {"donor": 0, "acceptor": 0}
                    n += 1


def sequences(folder, slices, rng):
    """Records of stage one; some also as their reverse complement, on which nothing is spliced."""
    out = []
    for name, seq, label in random_exons(folder):
        out.append((name, seq, label))
        if rng.random() < 0.05:
            out.append((name + "_anti", reverse_complement(seq), {**dict.fromkeys(label, 0), "donor": 0, "acceptor": 0}))
    for name, seq, label in constructs(folder):
        out.append((name, seq, label))
        if rng.random() < 0.05:
            none = {k: 0 for k in label if k.startswith("cassette")}
            out.append((name + "_anti", reverse_complement(seq), none | {"donor": 0, "acceptor": 0}))
    for name, seq, label in sites(folder, slices):
        out.append((name, seq, label))
        if name.startswith("site"):
            out.append((name + "_anti", reverse_complement(seq), {"donor": 0, "acceptor": 0}))
    return out


def motifs(path, slices, near, rng, n, before, after, pair, at):
    """n motifs of annotated sites (label 1), and twice as many decoys of slices with the same two bases (0)."""
    positive = [r["seq"].upper() for r in rows(path)]
    rng.shuffle(positive)
    out = [(m, 1) for m in positive[:n]]
    names = [k for k in sorted(slices) if k.split(":")[0] not in ASIDE]
    weight = [len(slices[k]) for k in names]
    want = 2 * len(out)
    while want:
        k = rng.choices(names, weight)[0]
        text = slices[k].upper()
        p = text.find(pair, rng.randrange(100, len(text) - 100))
        if p < 60 or p > len(text) - 60 or p + at in near.get(k, ()):
            continue
        m = text[p + at - before:p + at + after]
        rng.random()        # the published weights were trained on places drawn with this call
        if len(m) == before + after and "N" not in m:
            out.append((m, 0))
            want -= 1
    return out


def padded_motifs(folder, slices, rng):
    near = {}
    for r in rows(f"{folder}/aux/hg38_slice_splice_sites.tsv.gz"):
        near.setdefault(r["slice"], set()).update(range(int(r["boundary0"]) - 3, int(r["boundary0"]) + 4))
    sets = [("acceptor", motifs(f"{folder}/aux/human_acceptor23_maxent.tsv.gz", slices, near, rng, 30000, 20, 3, "AG", 2)),
            ("donor", motifs(f"{folder}/aux/human_donor9_maxent.tsv.gz", slices, near, rng, 6000, 3, 6, "GT", 0))]
    for label, items in sets:
        exon = (20, 23) if label == "acceptor" else (0, 3)
        for i, (m, y) in enumerate(items):
            n = rng.randrange(30, 70)
            left = rng.randrange(0, n - len(m) + 1)
            yield f"motif_{label}_{i}", "N" * left + marked(m, exon) + "N" * (n - len(m) - left), {label: y}


def write_stage(stem, records, rng):
    """Sixty in a hundred get N at their ends, as windows of variants at the end of a contig have. STEM.fa ignores the case."""
    labels = sorted({k for _, _, t in records for k in t})
    with open(stem + ".fa", "w") as fa, open(stem + "_exons.fa", "w") as cased, open(stem + ".tsv", "w") as tsv, open(stem + ".split.tsv", "w") as split:
        print("record", *labels, sep="\t", file=tsv)
        for name, seq, label in records:
            if rng.random() < 0.6 and not name.startswith("motif"):
                total = rng.randrange(len(seq), LONGEST)
                left = rng.randrange(0, total - len(seq) + 1) if total > len(seq) else 0
                seq = "N" * left + seq + "N" * (total - len(seq) - left)
            print(f">{name}\n{seq.upper()}", file=fa)
            print(f">{name}\n{seq}", file=cased)
            print(name, *(label.get(k, "NA") for k in labels), sep="\t", file=tsv)
            print(name, "valid" if rng.random() < 0.04 else "train", sep="\t", file=split)


def chromosome_folds(variants):
    """Chromosomes to folds, each to the smallest so far."""
    count = {}
    for r in variants:
        count[r["chrom"]] = count.get(r["chrom"], 0) + 1
    size, fold = [0] * FOLDS, {}
    for c in sorted(count, key=lambda c: (-count[c], c)):
        fold[c] = size.index(min(size))
        size[fold[c]] += count[c]
    return fold


def write_variants(folder, work):
    exons = {r["contig"]: r for r in rows(f"{folder}/splice_exons.tsv.gz")}
    with open(f"{work}/contigs.fa", "w") as f:
        for name, seq in read_fasta(f"{folder}/splice_contigs.fa.gz").items():
            print(f">{name}\n{seq}", file=f)
    with open(f"{work}/contigs.bed", "w") as f:
        for c, r in exons.items():
            if r["exon_start0"]:
                print(c, r["exon_start0"], r["exon_end0"], "exon", 0, r["strand"], sep="\t", file=f)
    everything = list(rows(f"{folder}/splice_variants.tsv.gz"))
    variants = [r for r in everything if r["loss"]]
    fold = chromosome_folds(variants)
    with open(f"{work}/labels.tsv", "w") as f:
        print("chrom", "pos", "ref", "alt", "tissue", "label", "strand", sep="\t", file=f)
        for r in variants:
            place = [r[k] for k in ("contig", "pos", "ref", "alt")]
            print(*place, "SPLICE", r["loss"], r["strand"], sep="\t", file=f)
            print(*place, "SPLICE", 0, "-" if r["strand"] == "+" else "+", sep="\t", file=f)
            for strand in "+-":
                print(*place, "STRAND", int(strand == r["strand"]), strand, sep="\t", file=f)
    with open(f"{work}/labels_exons.tsv", "w") as f:
        print("chrom", "pos", "ref", "alt", "tissue", "label", "strand", sep="\t", file=f)
        for r in variants:
            print(*(r[k] for k in ("contig", "pos", "ref", "alt")), "SPLICE", r["loss"], r["strand"], sep="\t", file=f)
    chrom = {r["contig"]: r["chrom"] for r in everything}
    for k in range(FOLDS):
        with open(f"{work}/split{k}.tsv", "w") as f:
            for c in chrom:
                print(c, "valid" if fold.get(chrom[c], 0) == k else "train", sep="\t", file=f)
        with open(f"{work}/fold{k}.vcf", "w") as f:
            print("##fileformat=VCFv4.2", file=f)
            for c, r in exons.items():
                print(f"##contig=<ID={c},length={r['length']}>", file=f)
            print("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", sep="\t", file=f)
            for r in variants:
                if fold[r["chrom"]] == k:
                    print(r["contig"], r["pos"], ".", r["ref"], r["alt"], ".", ".", ".", sep="\t", file=f)
    with open(f"{work}/splitall.tsv", "w") as f:
        for i, c in enumerate(chrom, 1):
            print(c, "valid" if i % 20 == 7 else "train", sep="\t", file=f)


# Offset of the two intron bases from the boundary, and these bases.
INTRON = {("donor", "+"): (0, "GT"), ("acceptor", "+"): (-2, "AG"), ("donor", "-"): (-2, "AC"), ("acceptor", "-"): (0, "CT")}


def substitution(rng, name, seq, p, kind):
    return name, p + 1, seq[p], rng.choice([b for b in "ACGT" if b != seq[p]]), kind


def write_slice_exons(folder, work, most=2000):
    genes = {}
    for r in rows(f"{folder}/aux/hg38_slice_splice_sites.tsv.gz"):
        if r["slice"].split(":")[0] not in ASIDE:
            genes.setdefault((r["slice"], r["gene"], r["strand"]), set()).add((int(r["boundary0"]), r["type"]))
    with open(f"{work}/slices.bed", "w") as f:
        for (name, gene, strand), here in sorted(genes.items()):
            here = sorted(here)
            for (first, a), (last, b) in zip(here, here[1:]):
                if (a, b) == (("acceptor", "donor") if strand == "+" else ("donor", "acceptor")) and last - first <= most:
                    print(name, first, last, gene, 0, strand, sep="\t", file=f)


def write_slices(folder, slices, work, per_fold=150):
    rng, near = random.Random(3), random.Random(4)
    fold = chromosome_folds([r for r in rows(f"{folder}/splice_variants.tsv.gz") if r["loss"]])
    found = {}
    for r in rows(f"{folder}/aux/hg38_slice_splice_sites.tsv.gz"):
        if r["slice"].split(":")[0] not in ASIDE:
            found.setdefault(r["slice"], set()).add((int(r["boundary0"]), r["type"], r["strand"]))
    out, beside = ([[] for _ in range(FOLDS)] for _ in range(2))
    for name, sites_here in sorted(found.items()):
        seq, here = slices[name].upper(), out[fold.get(name.split(":")[0], 0)]
        for boundary, kind, strand in sorted(sites_here):
            offset, bases = INTRON[kind, strand]
            p = boundary + offset
            if 128 < p < len(seq) - 128 and seq[p:p + 2] == bases:
                here.append(substitution(rng, name, seq, p + rng.randrange(2), "site"))
                p = boundary + near.randrange(30, 101) * (1 if (kind == "donor") == (strand == "+") else -1)
                if 128 < p < len(seq) - 128 and seq[p] in "ACGT" and all(abs(p - b) > 10 for b, _, _ in sites_here):
                    beside[fold.get(name.split(":")[0], 0)].append(substitution(near, name, seq, p, "near"))
            p = rng.randrange(130, len(seq) - 130)
            if "N" not in seq[p - 128:p + 128] and all(abs(p - b) > 300 for b, _, _ in sites_here):
                here.append(substitution(rng, name, seq, p, "far"))
    with open(f"{work}/slices.fa", "w") as f:
        for name in sorted(found):
            print(f">{name}\n{slices[name].upper()}", file=f)
    for k, here in enumerate(out):
        rng.shuffle(here)
        near.shuffle(beside[k])
        with open(f"{work}/slices{k}.vcf", "w") as f:
            print('##fileformat=VCFv4.2\n##INFO=<ID=KIND,Number=1,Type=String,Description="site, near or far">', file=f)
            for name in sorted(found):
                print(f"##contig=<ID={name},length={len(slices[name])}>", file=f)
            print("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", sep="\t", file=f)
            for kind in ("site", "far", "near"):
                for c, p, ref, alt, _ in [v for v in here + beside[k] if v[4] == kind][:per_fold]:
                    print(c, p, kind, ref, alt, ".", ".", f"KIND={kind}", sep="\t", file=f)


def write_measured(folder, work, exons=20000, least=60):
    """Inclusion with a read added to either side, the log ratio of constructs as a share."""
    rng = random.Random(7)
    found = []
    for r in rows(f"{folder}/aux/es7_random_exons.tsv.gz"):
        inclusion, skipping = float(r["inclusion"]), float(r["skipping"])
        if inclusion + skipping >= least:
            seq = marked(ES7_LEFT + r["exon"] + ES7_RIGHT, es7_exon())
            found.append(("es7", (inclusion + 1) / (inclusion + skipping + 2), seq))
    rng.shuffle(found)
    found = found[:exons]
    for r in rows(f"{folder}/aux/mikl2019_cassette.tsv.gz"):
        x = number(r["splicing_ratio_(log2)"])
        if x is not None:
            found.append(("cassette", 1 / (1 + 2 ** -x), marked(r["sequence"], *construct_exons("cassette", r))))
    with open(f"{work}/measured.fa", "w") as fa, open(f"{work}/measured_exons.fa", "w") as cased, \
            open(f"{work}/measured.tsv", "w") as tsv:
        for i, (name, share, seq) in enumerate(found):
            print(f">{i}\n{seq.upper()}", file=fa)
            print(f">{i}\n{seq}", file=cased)
            print(name, f"{share:.6f}", sep="\t", file=tsv)


def write_places(folder, slices, work, n=3000, window=256, reach=110):
    rng = random.Random(9)
    found = {}
    for r in rows(f"{folder}/aux/hg38_slice_splice_sites.tsv.gz"):
        if r["slice"].split(":")[0] not in ASIDE:
            found.setdefault(r["slice"], []).append((int(r["boundary0"]), r["strand"]))
    at = [(name, p + rng.randrange(-reach, reach), strand) for name in sorted(found) for p, strand in found[name]]
    at = rng.sample(at, n)
    for name, sites_here in sorted(found.items()):
        for _ in range(len(sites_here)):
            p = rng.randrange(window, len(slices[name]) - window)
            if all(abs(p - b) > 300 for b, _ in sites_here):
                at.append((name, p, None))
    at = at[:n] + rng.sample(at[n:], n // 2)
    with open(f"{work}/places.fa", "w") as fa, open(f"{work}/places.tsv", "w") as tsv:
        for name, p, strand in at:
            s = slices[name][max(0, p - window // 2):p + window // 2].upper()
            for turned, text in ("+", s), ("-", reverse_complement(s)):
                print(f">{name}_{p}{turned}\n{text}", file=fa)
                print(name.split(":")[0], int(turned == strand), sep="\t", file=tsv)


def main():
    splice, human, work = sys.argv[1:4]
    slices = read_fasta(f"{human}/hg38_slices.fa.gz")
    rng = random.Random(2)
    write_stage(f"{work}/first", sequences(splice, slices, rng), rng)
    rng = random.Random(2)
    records = sequences(splice, slices, rng)
    write_stage(f"{work}/second", records + list(padded_motifs(splice, slices, rng)), rng)
    write_variants(splice, work)
    write_measured(splice, work)
    write_places(splice, slices, work)
    write_slices(splice, slices, work)
    write_slice_exons(splice, work)


if __name__ == "__main__":
    main()
