#!/usr/bin/env python3
"""peers.py - MMSplice and SpliceAI on the variants of the splice assays.

Usage   peers.py mmsplice SPLICE_DIR OUT.tsv
        peers.py spliceai SPLICE_DIR OUT.tsv [MODELS [CONTEXT [EVERY]]]

OUT.tsv has the columns of `chordseq variant --tsv` that evaluate_splice.py reads; larger scores mean loss of the exon.
The last line on standard output: program, variants, seconds of processor time, variants per second.

mmsplice  the modular predictor on the exon with 100 bases at either side: minus the change of logit PSI. Its input is
          exon and strand.
spliceai  the Keras models on the row's sequence, on the strand of the exon: the largest loss of an acceptor's or a
          donor's probability. Assays have no genome: MODELS of the five (default all) read the sequence with CONTEXT
          (default 5000) unknown bases at either side. The models remove 5000 places at either side; with a shorter
          context that is left to their last but one layer, and only that context is removed.
          With EVERY only every so many contigs.
Needs mmsplice, kipoiseq and spliceai with TensorFlow 2 (bench_variant_peers.sh installs them).
"""
import importlib.abc
import importlib.machinery
import os
import sys
import time
import types
from unittest.mock import MagicMock

for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ[name] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

from prepare_splice import read_fasta, rows

OVERHANG, BATCH = 100, 128
# What MMSplice imports to read VCF files and genomes, and is not needed here: cyvcf2 has to be compiled.
UNUSED = ("cyvcf2", "gffutils", "kipoi", "kipoi_conda", "kipoi_utils", "pyranges")
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def examples(folder):
    """Variants with a label: key, strand, reference and alternative contig, and the exon on each."""
    exons = {r["contig"]: r for r in rows(f"{folder}/splice_exons.tsv.gz") if r["exon_start0"]}
    sequence = read_fasta(f"{folder}/splice_contigs.fa.gz")
    for r in rows(f"{folder}/splice_variants.tsv.gz"):
        if not r["loss"] or r["contig"] not in exons:
            continue
        e, ref = exons[r["contig"]], sequence[r["contig"]]
        at, n = int(r["pos"]) - 1, len(r["ref"])
        start, end = int(e["exon_start0"]), int(e["exon_end0"])
        alt, more = ref[:at] + r["alt"] + ref[at + n:], len(r["alt"]) - n
        moved = (start + (more if at < start else 0), end + (more if at < end else 0))
        yield (r["contig"], r["pos"], r["ref"], r["alt"]), e["strand"], (ref, start, end), (alt, *moved)


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of UNUSED that are not installed: empty classes and functions."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in UNUSED else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__, module.__getattr__ = [], self.member
        return module

    def exec_module(self, module):
        pass

    @staticmethod
    def member(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *a, **k: None}) if name[0].isupper() else MagicMock()


def turned(s, strand):
    return s if strand == "+" else s[::-1].translate(COMPLEMENT)


def mmsplice(items):
    sys.meta_path.append(Stubs())
    from mmsplice import MMSplice
    from mmsplice.utils import encodeDNA, predict_deltaLogitPsi

    model = MMSplice()

    def modules(some):
        cut = [model.spliter.split(turned(s[a - OVERHANG:b + OVERHANG], strand), (OVERHANG, OVERHANG))
               for strand, (s, a, b) in some]
        return model.predict_modular_scores_on_batch({k: encodeDNA([c[k] for c in cut]) for k in cut[0]})

    for i in range(0, len(items), BATCH):
        part = items[i:i + BATCH]
        ref, alt = (modules([(x[1], x[k]) for x in part]) for k in (2, 3))
        yield from -predict_deltaLogitPsi(ref, alt)


def encoded(s, context):
    x = np.zeros((len(s) + 2 * context, 4), np.float32)
    for k, base in enumerate("ACGT"):
        x[context:context + len(s), k] = np.frombuffer(s.encode(), np.uint8) == ord(base)
    return x


def spliceai_models(n, context):
    import spliceai
    import tensorflow as tf
    from keras import Model
    from keras.models import load_model

    folder = os.path.join(os.path.dirname(spliceai.__file__), "models")
    for i in range(1, n + 1):
        model = load_model(f"{folder}/spliceai{i}.h5", compile=False)
        crop = next(k for k in model.layers if k.__class__.__name__ == "Cropping1D")
        before, last = Model(model.input, crop.input), model.layers[-1]
        yield tf.function(lambda x, before=before, last=last: last(before(x)[:, context:-context]),
                          input_signature=[tf.TensorSpec((None, None, 4))])


def site_probabilities(sequences, n_model, context):
    """Of every sequence [n, 2]: acceptor and donor, mean over models. Batches are of one length."""
    models, out, by_length = list(spliceai_models(n_model, context)), {}, {}
    for s in sequences:
        by_length.setdefault(len(s), []).append(s)
    for same in by_length.values():
        for i in range(0, len(same), BATCH // 4):
            some = same[i:i + BATCH // 4]
            x = np.stack([encoded(s, context) for s in some])
            out.update(zip(some, np.mean([m(x).numpy() for m in models], axis=0)[:, :, 1:]))
    return out


def spliceai(items, n_model=5, context=5000):
    pairs = [[turned(x[0].strip("N"), strand) for x in (ref, alt)] for _, strand, ref, alt in items]
    sites = site_probabilities(sorted({s for p in pairs for s in p}), n_model, context)
    for ref, alt in pairs:
        a, b = sites[ref], sites[alt]
        same = next((i for i in range(min(len(ref), len(alt))) if ref[i] != alt[i]), 0)
        less = max(len(ref) - len(alt), 0)
        kept = len(ref) - same - less
        change = np.concatenate([a[:same] - b[:same], a[len(a) - kept:] - b[len(b) - kept:]])
        yield max(change.max(), a[same:same + less].max(initial=0))


def main():
    program, folder, out, *options = sys.argv[1:]
    items = sorted(examples(folder))
    if program == "spliceai" and len(options) > 2:
        names = sorted({x[0][0] for x in items})[::int(options.pop())]
        items = [x for x in items if x[0][0] in names]
    start = time.process_time()
    scores = mmsplice(items) if program == "mmsplice" else spliceai(items, *map(int, options))
    with open(out, "w") as f:
        print("#chrom", "pos", "ref", "alt", "CS_SCORE", sep="\t", file=f)
        for item, score in zip(items, scores):
            # As a probability, which the evaluation takes; ranks are those of the score.
            print(*item[0], "%.8g" % (1 / (1 + np.exp(-float(score)))), sep="\t", file=f)
    seconds = time.process_time() - start
    print(program, len(items), "%.1f" % seconds, "%.2f" % (len(items) / seconds), sep="\t")


main()
