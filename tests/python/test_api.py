"""The Python package beside the program: equal bits, in every form that sequences come in."""
import array
import copy
import ctypes
import errno
import multiprocessing
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import chordseq
from chordseq import _arrow

signal.signal(signal.SIGINT, signal.default_int_handler)    # a background job of a shell ignores it

TOP = pathlib.Path(os.environ["srcdir"]).resolve()
TINY = TOP / "refdata/tiny"
MODEL = TINY / "model.safetensors"
DEFAULT = TOP / "refdata/model/default.safetensors"
PRIORS = {MODEL: "classA=0.7,classC=0", DEFAULT: "bacteria=0.9,virus=0.05"}


def program(*words):
    """Lines that the program prints, split at tabs."""
    out = subprocess.run([os.environ["CHORDSEQ_PROGRAM"], *map(str, words)], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
    return [line.split("\t") for line in out.stdout.splitlines()]


def read_fasta(path):
    """[(name, sequence)]"""
    records = []
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(">"):
            records.append([line[1:].split()[0], ""])
        else:
            records[-1][1] += line
    return [tuple(r) for r in records]


RECORDS = read_fasta(TINY / "mixed.fa")
BASES = [r[1] for r in RECORDS]


def sixth(x):
    """A number as the program writes it."""
    return "." if np.isnan(x) else f"{x:.6f}"


def lines(table):
    """A table of classes as `classify --all` writes it."""
    return [["name", "length", "label", "probability", "reason"]
            + [f"prob_{o}" for o in table.outputs]] \
        + [[r.name, str(r.length), r.label, sixth(r.probability), r.reason,
            *map(sixth, r.probabilities)] for r in table]


class Classify(unittest.TestCase):
    def test_equals_the_program(self):
        for model in MODEL, DEFAULT:
            for options in {}, {"strand": "forward", "min_prob": 0.6}, \
                    {"long_sequence": "window", "window_length": 100}, {"prior": PRIORS[model]}:
                words = [w for k, v in options.items() for w in ("--" + k.replace("_", "-"), v)]
                want = program("classify", "--all", "-m", model, *words, TINY / "mixed.fa")
                for threads in (1, 3) if model == MODEL else (3,):
                    m = chordseq.load(model, threads=threads, **options)
                    self.assertEqual(lines(m.classify(RECORDS)), want)
                self.assertEqual(lines(m.classify(TINY / "mixed.fa")), want)

    def test_precision(self):
        words = ["--precision", "bf16", "-m", MODEL, TINY / "mixed.fa"]
        try:
            want = program("classify", "--all", *words)
        except subprocess.CalledProcessError:
            self.skipTest("this processor has no bf16")
        m = chordseq.load(MODEL, precision="bf16")
        for table in m.classify(RECORDS), m.classify(TINY / "mixed.fa"):
            self.assertEqual(lines(table), want)
        self.assertNotEqual(lines(chordseq.load(MODEL).classify(RECORDS)), want)

    def test_taxa(self):
        m = chordseq.load(DEFAULT, call="taxon", min_prob=0.7)
        want = program("classify", "--call", "taxon", "--min-prob", 0.7, "-m", DEFAULT,
                       TINY / "mixed.fa")
        for table in m.classify(RECORDS), m.classify(TINY / "mixed.fa"):
            self.assertNotIn(".", table["rank"])
            self.assertEqual([[r.label, sixth(r.probability), str(r.taxid), r.rank or "."]
                              for r in table], [[r[2], r[3], r[5], r[6]] for r in want[1:]])

    def test_batches_do_not_matter(self):
        m = chordseq.load(MODEL, threads=2)
        many = (b for _ in range(1000) for b in BASES)
        parts = list(m.classify_batches(many))
        self.assertGreater(len(parts), 1)
        all_of = np.concatenate([p.probabilities for p in parts])
        self.assertEqual(len(all_of), 1000 * len(BASES))
        once = m.classify(BASES).probabilities
        np.testing.assert_array_equal(all_of, np.tile(once, (1000, 1)))
        self.assertEqual(parts[1].name[0], str(len(parts[0])))

    def test_values_of_a_regression(self):
        with tempfile.TemporaryDirectory() as folder:
            maker = pathlib.Path(os.environ["builddir"]) / "tests/cli/make_model"
            if not maker.exists():
                self.skipTest("no make_model")
            subprocess.run([str(maker), "values", "2", "head=regress", "labels=2"], cwd=folder,
                           check=True, stderr=subprocess.DEVNULL)
            path = pathlib.Path(folder) / "values"
            want = program("classify", "-m", path, TINY / "mixed.fa")
            m = chordseq.load(path)
            self.assertFalse(m.is_classifier)
            for table in m.classify(RECORDS), m.classify(TINY / "mixed.fa"):
                self.assertEqual([["." if np.isnan(v) else f"{v:.6g}" for v in r["values"]]
                                  for r in table], [r[2:4] for r in want[1:]])

    def test_table(self):
        m = chordseq.load(MODEL)
        t = m.classify(RECORDS)
        self.assertEqual(t.probabilities.shape, (len(RECORDS), len(m.labels)))
        self.assertEqual(t[3:5].outputs, m.labels)
        again = pickle.loads(pickle.dumps(t))
        self.assertEqual(lines(again), lines(t))
        self.assertEqual(list(t.columns())[-1], "prob_" + m.labels[-1])
        self.assertEqual(m.classify(TINY / "mixed.fa").dtype, t.dtype)
        empty = m.classify([])
        self.assertEqual((len(empty), empty.dtype), (0, t.dtype))


class Arrow(unittest.TestCase):
    """Arrow's C data interface: read here as a consumer written in C reads it."""

    def read(self, array, schema):
        """{name: list} of the structs."""
        found = {}
        self.assertEqual((schema.format, schema.n_children), (b"+s", array.n_children))
        for i in range(array.n_children):
            c, s = array.children[i].contents, schema.children[i].contents
            at = [c.buffers[k] for k in range(c.n_buffers)]
            name = s.name.decode()
            if s.format == b"U":
                offsets = (ctypes.c_int64 * (c.length + 1)).from_address(at[1])
                values = [ctypes.string_at(at[2] + a, b - a).decode()
                          for a, b in zip(offsets, offsets[1:])]
                if c.null_count:
                    bits = (ctypes.c_uint8 * ((c.length + 7) // 8)).from_address(at[0])
                    values = [v if bits[k // 8] >> k % 8 & 1 else None for k, v in enumerate(values)]
                found[name] = values
            else:
                kind = {b"f": ctypes.c_float, b"l": ctypes.c_int64}[s.format]
                found[name] = list((kind * c.length).from_address(at[1]))
        return found

    def test_stream(self):
        table = chordseq.load(MODEL).classify(RECORDS)
        table.label[2] = None
        capsule = table.__arrow_c_stream__()
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi))
        stream = _arrow.Stream.from_address(pointer(capsule, b"arrow_array_stream"))
        schema, array, end = _arrow.Schema(), _arrow.Array(), _arrow.Array()
        for struct in schema, array, end:                    # a consumer need not clear them
            ctypes.memset(ctypes.addressof(struct), 0xAA, ctypes.sizeof(struct))
        address = ctypes.addressof(stream)
        self.assertEqual(stream.get_schema(address, ctypes.byref(schema)), 0)
        self.assertEqual(stream.get_next(address, ctypes.byref(array)), 0)
        self.assertEqual(stream.get_next(address, ctypes.byref(end)), 0)
        self.assertFalse(end.release)
        stream.release(address)
        found = self.read(array, schema)
        self.assertEqual(list(found), list(table.columns()))
        for name, column in table.columns().items():
            np.testing.assert_array_equal(np.array(found[name], column.dtype), column)
        for struct in schema, array:
            struct.release(ctypes.addressof(struct))
            self.assertFalse(struct.release)
        del capsule
        self.assertEqual(len(_arrow._held), 0)

    def open(self, table):
        """The stream of a table, its address, and the capsule that owns it."""
        capsule = table.__arrow_c_stream__()
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi))
        address = pointer(capsule, b"arrow_array_stream")
        return _arrow.Stream.from_address(address), address, capsule

    def test_names_in_no_encoding(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.fa"
            path.write_bytes(b">a\xff\n" + b"ACGTTGCA" * 9 + b"\n")
            table = chordseq.load(MODEL).classify(path)
        self.assertEqual(table.name[0], "a\udcff")
        stream, address, capsule = self.open(table)
        schema, array = _arrow.Schema(), _arrow.Array()
        self.assertEqual(stream.get_schema(address, ctypes.byref(schema)), 0)
        self.assertEqual(stream.get_next(address, ctypes.byref(array)), 0)
        self.assertEqual(self.read(array, schema)["name"], ["a?"])
        for struct in schema, array:
            struct.release(ctypes.addressof(struct))

    def test_errors(self):
        """A callback that fails returns EINVAL and an empty struct, and says why."""
        class Bad:
            def __str__(self):
                raise RuntimeError("no text")
        table = chordseq.load(MODEL).classify(RECORDS)
        table.name[1] = Bad()
        stream, address, capsule = self.open(table)
        array = _arrow.Array()
        ctypes.memset(ctypes.addressof(array), 0xAA, ctypes.sizeof(array))
        self.assertIsNone(stream.get_last_error(address))
        self.assertEqual(stream.get_next(address, ctypes.byref(array)), errno.EINVAL)
        self.assertFalse(array.release)
        self.assertEqual(ctypes.string_at(stream.get_last_error(address)), b"RuntimeError: no text")

    def test_abandoned(self):
        columns = chordseq.load(MODEL).classify([]).arrow()
        for make in columns.__arrow_c_schema__, columns.__arrow_c_array__, columns.__arrow_c_stream__:
            make()
        self.assertEqual(len(_arrow._held), 0)

    def test_other_packages(self):
        table = chordseq.load(MODEL).classify(RECORDS)
        for name, read in ("pyarrow", lambda p: p.table(table.arrow()).to_pydict()), \
                ("polars", lambda p: p.DataFrame(table.arrow()).to_dict(as_series=False)):
            with self.subTest(name):
                try:
                    package = __import__(name)
                except ImportError:
                    self.skipTest(f"no {name}")
                found = read(package)
                self.assertEqual(found["name"], list(table.name))
                np.testing.assert_array_equal(np.float32(found["prob_classB"]),
                                              table.probabilities[:, 1])


class Forms(unittest.TestCase):
    """Sequences as text, bytes, buffers, pairs and records of other packages."""

    def same(self, sequences, names):
        t = self.model.classify(sequences)
        np.testing.assert_array_equal(t.probabilities, self.want.probabilities)
        self.assertEqual(list(t.name), names)

    def setUp(self):
        self.model = chordseq.load(MODEL, threads=1)
        self.want = self.model.classify(BASES)
        self.numbers = [str(i) for i in range(len(BASES))]
        self.names = [r[0] for r in RECORDS]

    def test_plain(self):
        self.same(BASES, self.numbers)
        self.same([b.encode() for b in BASES], self.numbers)
        self.same(iter(BASES), self.numbers)
        self.same(np.array(BASES), self.numbers)
        self.same([array.array("B", b.encode()) for b in BASES], self.numbers)
        self.same([np.frombuffer(b.encode(), "u1") for b in BASES], self.numbers)
        self.same(RECORDS, self.names)
        self.same(dict(RECORDS), self.names)
        self.assertEqual(len(self.model.classify(BASES[5])), 1)
        self.assertEqual(len(self.model.classify(BASES[5].encode())), 1)

    def test_blanks(self):
        """Blanks are no bases, in the length and where windows begin, either."""
        folded = [(n, "\n".join(b[i:i + 60] for i in range(0, len(b), 60)) + " \t\r\n") for n, b in RECORDS]
        for form in folded, [(n, b.encode()) for n, b in folded]:
            self.same(form, self.names)
            self.assertEqual(list(self.model.classify(form).length), [len(b) for b in BASES])
        cut = chordseq.load(MODEL, long_sequence="window", window_length=100, threads=1)
        for a, b in zip(cut.embed(folded, per="window"), cut.embed(RECORDS, per="window")):
            np.testing.assert_array_equal(a, b)

    def test_lone(self):
        """One sequence that is iterable by its bases."""
        class Seq:
            def __init__(self, base):
                self.base = base

            def __bytes__(self):
                return self.base

            def __iter__(self):
                return iter(self.base.decode())
        base = BASES[5].encode()
        for one in np.frombuffer(base, "u1"), np.frombuffer(base, "S1"), Seq(base), bytearray(base), \
                array.array("B", base), memoryview(base):
            np.testing.assert_array_equal(self.model.classify(one).probabilities,
                                          self.want.probabilities[5:6])

    def test_like_records(self):
        class Fastx:
            def __init__(self, name, sequence):
                self.name, self.sequence = name, sequence

        class SeqRecord:
            def __init__(self, name, seq):
                self.id, self.seq = name, seq

        class Alignment:
            def __init__(self, name, seq):
                self.query_name, self.seq = name, seq

            def get_forward_sequence(self):
                return self.seq or None
        for kind in Fastx, SeqRecord, Alignment:
            self.same([kind(*r) for r in RECORDS], self.names)
        self.assertEqual(self.model.classify(SeqRecord("one", "ACGTACGT")).name[0], "one")

    def test_biopython(self):
        try:
            from Bio import SeqIO
        except ImportError:
            self.skipTest("no Biopython")
        self.same(SeqIO.parse(str(TINY / "mixed.fa"), "fasta"), self.names)
        self.same([r.seq for r in SeqIO.parse(str(TINY / "mixed.fa"), "fasta")], self.numbers)

    def test_pyfaidx(self):
        try:
            import pyfaidx
        except ImportError:
            self.skipTest("no pyfaidx")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some.fa")
            some = [r for r in RECORDS if r[1]]
            pathlib.Path(path).write_text("".join(f">{n}\n{b}\n" for n, b in some))
            with pyfaidx.Fasta(path) as fasta:
                self.assertEqual(lines(self.model.classify(fasta)), lines(self.model.classify(some)))
                self.assertEqual(lines(self.model.classify(iter(fasta))),
                                 lines(self.model.classify(some)))

    def test_pysam(self):
        try:
            import pysam
        except ImportError:
            self.skipTest("no pysam")
        with pysam.FastxFile(str(TINY / "mixed.fa")) as f:
            self.same(f, self.names)
        with pysam.AlignmentFile(str(TINY / "strands.sam")) as f:
            primary = [r for r in f if not r.is_secondary and not r.is_supplementary]
        np.testing.assert_array_equal([sixth(p) for p in self.model.classify(primary).probability],
                                      [r[3] for r in program("classify", "-m", MODEL,
                                                             TINY / "strands.sam")[1:]])


class Embed(unittest.TestCase):
    def test_equals_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "v.npy"
            for model in MODEL, DEFAULT:
                program("embed", "-m", model, "-o", out, TINY / "mixed.fa")
                m = chordseq.load(model, threads=2, min_prob=0.9)
                want = np.load(out)
                self.assertEqual(want.shape[1], m.dim)
                np.testing.assert_array_equal(m.embed(BASES), want)
                np.testing.assert_array_equal(m.embed(TINY / "mixed.fa"), want)
        self.assertEqual(m.embed([]).shape, (0, m.dim))

    def test_of_a_pretrained_model(self):
        path = DEFAULT.parent / "human-lm.safetensors"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "v.npy"
            program("embed", "-m", path, "-o", out, TINY / "mixed.fa")
            want = np.load(out)
        m = chordseq.load(path, threads=2)
        self.assertEqual((m.labels, m.is_classifier, m.dim), ((), False, want.shape[1]))
        np.testing.assert_array_equal(m.embed(BASES), want)
        np.testing.assert_array_equal(m.embed(TINY / "mixed.fa"), want)
        self.assertEqual([len(v) for v in m.embed(["ACGTACGT"], per="token")], [8])
        with self.assertRaisesRegex(chordseq.UsageError, "the model predicts per token"):
            m.classify("ACGTACGT")

    def test_per_token(self):
        m = chordseq.load(MODEL, strand="forward")
        vectors = m.embed(BASES, per="token")
        for base, v, mean in zip(BASES, vectors, m.embed(BASES)):
            self.assertEqual(v.shape, (len(m.tokenize(base)), m.token_dim))
            if not np.isnan(mean).any():
                np.testing.assert_allclose(v.mean(axis=0), mean, atol=1e-5)

    def test_per_window(self):
        m = chordseq.load(MODEL, long_sequence="window", window_length=100)
        base = "".join(BASES).replace("-", "")[:950]
        windows = m.windows(len(base))
        self.assertEqual(windows[-1].sum(), len(base))
        vectors, = m.embed([base], per="window")
        self.assertEqual(vectors.shape, (len(windows), m.dim))
        np.testing.assert_array_equal(vectors, m.embed([base[a:a + n] for a, n in windows]))

    def test_tokens(self):
        for model in MODEL, DEFAULT:
            m = chordseq.load(model)
            for form, of in ("ids", lambda ids: map(str, ids)), ("pieces", m.token_texts):
                want = program("tokenize", "-m", model, "--format", form, TINY / "mixed.fa")
                self.assertEqual([[n, " ".join(of(m.tokenize(b)))] for n, b in RECORDS], want)


class ByTheProgram(unittest.TestCase):
    def test_explain(self):
        base = dict(read_fasta(TINY / "strands.fa"))
        name, base = next(iter(base.items()))
        want = program("explain", "-m", MODEL, "-f", TINY / "strands.fa", "-o", os.devnull, "--tsv",
                       "-", f"{name}:1-60")
        t = chordseq.load(MODEL).explain(base[:60])
        self.assertEqual(list(t.dtype.names), want[0][1:])
        self.assertEqual("".join(t["base"]), base[:60].upper())
        self.assertEqual([f"{x:.6g}" for x in t.contribution], [r[4] for r in want[1:]])
        np.testing.assert_array_equal(t.A, [float(r[5]) for r in want[1:]])

    def test_variants(self):
        with tempfile.TemporaryDirectory() as folder:        # an index is made beside the reference
            files = [shutil.copy(TINY / name, folder) for name in ("variants.vcf", "variants.fa")]
            self.compare_variants(files)

    def compare_variants(self, files):
        with self.assertRaisesRegex(chordseq.ProgramError, "is empty, not a VCF"):
            chordseq.load(MODEL).score_variants(os.devnull, files[1])
        want = program("variant", "-m", MODEL, "-f", files[1], "-o", os.devnull, "--tsv", "-",
                       files[0])
        for t in chordseq.score_variants(*files, model=MODEL), \
                chordseq.load(MODEL).score_variants(*files):
            self.assertEqual(["#" + t.dtype.names[0], *t.dtype.names[1:]], want[0])
            self.assertEqual([[r.chrom, str(r.pos), r.id, r.ref, r.alt, r.reason] for r in t],
                             [r[:6] for r in want[1:]])
            self.assertEqual([["." if np.isnan(x) else f"{x:.6g}" for x in (r.CS_L2, r.CS_COS)]
                              for r in t], [r[7:] for r in want[1:]])

    def test_options_of_variants(self):
        """Options of load() that mean the same apply, unless the call has them, too."""
        with tempfile.TemporaryDirectory() as folder:
            files = [shutil.copy(TINY / name, folder) for name in ("variants.vcf", "variants.fa")]

            def scores(**options):
                return chordseq.score_variants(*files, model=MODEL, **options).CS_L2
            m = chordseq.load(MODEL, strand="both", max_unknown=0.2, min_prob=0.9, long_sequence="window",
                              window_length=99)
            both = scores(strand="both", max_unknown=0.2)
            np.testing.assert_array_equal(m.score_variants(*files).CS_L2, both)
            self.assertFalse(np.array_equal(both, scores(), equal_nan=True))
            np.testing.assert_array_equal(m.score_variants(*files, strand="forward", max_unknown=0.5).CS_L2,
                                          scores(strand="forward"))

    def test_variants_by_the_default_model(self):
        """... which is not the default of the command."""
        m = chordseq.load(DEFAULT, threads=1)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(m, "path", None):
            files = [shutil.copy(TINY / name, folder) for name in ("variants.vcf", "variants.fa")]
            want = chordseq.score_variants(*files, model=DEFAULT)
            found = m.score_variants(*files)
            self.assertEqual(found.dtype, want.dtype)
            np.testing.assert_array_equal(found.CS_L2, want.CS_L2)

    def test_outputs(self):
        """Outputs that the caller names are written."""
        m = chordseq.load(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            files = [shutil.copy(TINY / name, folder) for name in ("variants.vcf", "variants.fa")]
            out = [pathlib.Path(folder) / name for name in ("a.vcf", "b.vcf", "c.bedgraph")]
            m.score_variants(*files, output=out[0])
            chordseq.score_variants(*files, model=MODEL, output=out[1])
            m.explain(BASES[5][:60], output=out[2])
            for path in out:
                self.assertGreater(path.stat().st_size, 0)
            for call in lambda **o: m.score_variants(*files, **o), lambda **o: m.explain("ACGT", **o):
                with self.assertRaisesRegex(ValueError, "no tsv="):
                    call(tsv=out[0])

    def test_exported_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            program("model", "export", "--license", "mit", MODEL, folder)
            m = chordseq.load(folder)
            self.assertEqual(m.checksum, chordseq.load(MODEL).checksum)
            self.assertEqual(lines(m.classify(TINY / "mixed.fa")), lines(m.classify(RECORDS)))

    def test_named(self):
        fast = chordseq.load(TOP / "refdata/model/fast.safetensors").checksum
        with mock.patch("chordseq.model.OWN_MODEL", DEFAULT):
            self.assertEqual(chordseq.load("fast").checksum, fast)
        self.assertNotEqual(chordseq.load(DEFAULT).checksum, fast)


SMALL = {"encoder.max-len": 256, "encoder.track": 2, "encoder.hidden": 8, "tokenizer.k": 2,
         "batch_tokens": 512, "lr": 0.01, "seed": 4, "preset": "none", "threads": 1}


def two_kinds(n):
    """n sequences of two compositions, and their labels."""
    rng = np.random.default_rng(1)
    y = np.array(["gc", "at"])[np.arange(n) % 2]
    return ["".join(rng.choice(list("AAATTACG" if k == "at" else "GGGCCATC"), 120)) for k in y], y


class Training(unittest.TestCase):
    def test_train(self):
        x, y = two_kinds(48)
        with tempfile.TemporaryDirectory() as folder:
            fasta, out = pathlib.Path(folder) / "x.fa", pathlib.Path(folder) / "x.safetensors"
            fasta.write_text("".join(f">{i} class={k}\n{s}\n" for i, (s, k) in enumerate(zip(x, y))))
            rows = list(chordseq.train(fasta, out, label_key="class", epochs=3, **SMALL))
            self.assertEqual([r["epoch"] for r in rows], [1, 2, 3])
            self.assertEqual(sorted(chordseq.load(out).labels), ["at", "gc"])
            with self.assertWarnsRegex(UserWarning, "^--encoder-lr has no effect without --init$") as found:
                list(chordseq.train(fasta, out, label_key="class", epochs=1, encoder_lr=0.5, **SMALL))
            self.assertEqual(found.filename, __file__)
            with self.assertRaisesRegex(chordseq.Error, "has no .kind=."):
                list(chordseq.train(fasta, out, label_key="kind", epochs=1, **SMALL))

    def test_resume(self):
        """A resumed run yields the epochs that are left, and an old table is none of its own."""
        x, y = two_kinds(48)
        with tempfile.TemporaryDirectory() as folder:
            fasta, out = pathlib.Path(folder) / "x.fa", pathlib.Path(folder) / "x.safetensors"
            table = pathlib.Path(folder) / "m.tsv"
            fasta.write_text("".join(f">{i} class={k}\n{s}\n" for i, (s, k) in enumerate(zip(x, y))))
            options = {**SMALL, "label_key": "class", "epochs": 4}

            def epochs(**more):
                return [r["epoch"] for r in chordseq.train(fasta, out, **options, **more)]
            for metrics in None, table:
                self.assertEqual(epochs(metrics=metrics, stop_after=25), [1, 2])
                self.assertEqual(epochs(metrics=metrics, resume=True), [3, 4])
            out.with_name(out.name + ".ckpt").write_bytes(b"no checkpoint")
            with self.assertRaisesRegex(chordseq.ProgramError, "is not a valid checkpoint"):
                epochs(resume=True)
            with self.assertRaises(chordseq.Error):
                epochs(metrics=table, mood="good")
            self.assertEqual(len(table.read_text().splitlines()), 5)
            self.assertEqual(epochs(metrics=table), [1, 2, 3, 4])
            self.assertEqual(epochs(metrics=os.devnull), [1, 2, 3, 4])
            self.assertTrue(pathlib.Path(os.devnull).is_char_device())

    def test_metrics(self):
        """The file of metrics may be compressed or have commas."""
        x, y = two_kinds(48)
        with tempfile.TemporaryDirectory() as folder:
            fasta, out = pathlib.Path(folder) / "x.fa", pathlib.Path(folder) / "x.safetensors"
            fasta.write_text("".join(f">{i} class={k}\n{s}\n" for i, (s, k) in enumerate(zip(x, y))))
            for name in "m.tsv", "m.tsv.gz", "m.csv", "m.csv.gz":
                rows = chordseq.train(fasta, out, label_key="class", epochs=2, metrics=f"{folder}/{name}", **SMALL)
                self.assertEqual([list(r)[:2] + [r["epoch"]] for r in rows],
                                 [["epoch", "step", 1], ["epoch", "step", 2]], name)

    def test_interrupt(self):
        """Ctrl-C reaches Python and the program in a terminal, and the run pauses with a checkpoint."""
        x, y = two_kinds(48)
        with tempfile.TemporaryDirectory() as folder:
            fasta, out = pathlib.Path(folder) / "x.fa", pathlib.Path(folder) / "x.safetensors"
            fasta.write_text("".join(f">{i} class={k}\n{s}\n" for i, (s, k) in enumerate(zip(x, y))))
            steps = pathlib.Path(folder) / "steps.tsv"
            options = {**SMALL, "label_key": "class", "epochs": 1, "samples_per_epoch": 10 ** 6,
                       "max_time": 20, "step_metrics": str(steps)}
            script = "import chordseq\n" \
                     f"for row in chordseq.train({str(fasta)!r}, {str(out)!r}, **{options!r}): pass"
            with subprocess.Popen([sys.executable, "-c", script], start_new_session=True,
                                  stderr=subprocess.PIPE, encoding="utf-8") as user:
                while user.poll() is None and not (steps.exists() and steps.stat().st_size):
                    time.sleep(0.02)
                os.killpg(user.pid, signal.SIGINT)
                self.assertIn("KeyboardInterrupt", user.communicate()[1])
            self.assertTrue(out.with_name(out.name + ".ckpt").exists())

    def test_estimators(self):
        x, y = two_kinds(60)
        c = chordseq.ChordseqClassifier(epochs=8, **SMALL).fit(x, y)
        self.assertEqual(list(c.classes_), ["at", "gc"])
        self.assertEqual(c.predict_proba(x).shape, (60, 2))
        self.assertGreater(c.score(x, y), 0.9)
        self.assertEqual(c.score(["", *x], ["at", *y]), c.score(x, y) * 60 / 61)
        self.assertTrue(np.isnan(c.predict_proba(["", x[0]])[0]).all())
        with self.assertRaisesRegex(ValueError, r"1 of 2 sequences have no prediction; first: number 1 \([a-z_]+\)"):
            c.predict([x[0], ""])
        known = c.predict(x).tolist()
        for missing in "unclassified", -1:
            got = c.set_params(missing=missing).predict([*x, ""])
            self.assertEqual(got.tolist(), [*known, missing])
        e = chordseq.ChordseqEmbedder(MODEL)
        v = e.fit_transform([*x, ""])
        self.assertEqual(v.shape, (61, e.model_.dim))
        self.assertTrue((v[-1] == 0).all())
        self.assertEqual(e.get_params()["model"], MODEL)

    def test_pickled(self):
        """A fitted classifier takes its model with it, wherever that was written."""
        x, y = two_kinds(40)
        with tempfile.TemporaryDirectory() as folder:
            for output in None, os.path.join(folder, "x.safetensors"):
                c = chordseq.ChordseqClassifier(output, epochs=1, precision="fp32", **SMALL).fit(x, y)
                self.assertEqual(c.model_.options, {"precision": "fp32"})
                want, bare = c.predict_proba(x), pickle.dumps(chordseq.ChordseqClassifier(epochs=2))
                again, two = pickle.loads(pickle.dumps(c)), copy.deepcopy(c)
                del c
                if output:
                    os.remove(output)
                for one in again, pickle.loads(pickle.dumps(again)), two:
                    np.testing.assert_array_equal(one.predict_proba(x), want)
                    self.assertEqual(list(one.classes_), ["at", "gc"])
        self.assertEqual(pickle.loads(bare).get_params()["epochs"], 2)

    def test_output_of_estimators(self):
        """The file is refused before training; the estimator does not depend on it afterwards."""
        x, y = two_kinds(40)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "x.safetensors")
            with self.assertRaisesRegex(chordseq.Error, "nowhere"):
                chordseq.ChordseqClassifier(os.path.join(folder, "nowhere/x"), epochs=1, **SMALL).fit(x, y)
            first = chordseq.ChordseqClassifier(out, epochs=1, **SMALL).fit(x, y)
            self.assertEqual(os.listdir(folder), ["x.safetensors"])
            self.assertEqual(chordseq.load(out).checksum, first.model_.checksum)
            want = first.predict_proba(x)
            other = chordseq.ChordseqClassifier(out, epochs=2, **SMALL).fit(x, y)
            self.assertFalse(np.array_equal(other.predict_proba(x), want))
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict_proba(x), want)

    def test_a_fit_that_fails(self):
        """... leaves the fitted estimator as it was."""
        x, y = two_kinds(40)
        with tempfile.TemporaryDirectory() as folder:
            for output in None, os.path.join(folder, "x.safetensors"):
                c = chordseq.ChordseqClassifier(output, epochs=1, **SMALL).fit(x, y)
                want = c.predict_proba(x)
                with self.assertRaisesRegex(chordseq.Error, "without a model"):
                    c.set_params(stop_after=1).fit(x, ["b" if k == "at" else "c" for k in y])
                self.assertEqual(list(c.classes_), ["at", "gc"])
                np.testing.assert_array_equal(c.predict_proba(x), want)

    def test_parameters_of_estimators(self):
        c = chordseq.ChordseqClassifier(epochs=2)
        other = copy.copy(c).set_params(epochs=3)
        self.assertEqual((c.get_params()["epochs"], other.get_params()["epochs"]), (2, 3))
        self.assertEqual(repr(c), "ChordseqClassifier(epochs=2)")

    def test_weights_of_samples(self):
        x, y = two_kinds(40)
        c = chordseq.ChordseqClassifier(epochs=1, **SMALL).fit(x, y)
        right = c.predict(x) == y
        self.assertEqual(c.score(x, y, sample_weight=right), 1 if right.any() else 0)

    def test_device_of_estimators(self):
        c = chordseq.ChordseqClassifier(device="cpu,cuda:1", precision=None)
        c._open(MODEL)
        self.assertEqual(c.model_.options, {"device": "cpu"})

    def test_classes_of_estimators(self):
        """The model's labels are the user's classes; columns are in the order of classes_."""
        x, y = two_kinds(60)
        for classes, labels in ((10, 9), None), (("B b", "a\u00e4"), None), (("x;y", "x"), ("c0", "c1")), \
                (("", "x"), ("c0", "c1")), (("a\tb", "x"), ("c0", "c1")), ((True, False), None):
            of = np.array([classes[k == "gc"] for k in y])
            c = chordseq.ChordseqClassifier(epochs=8, **SMALL).fit(x, of)
            self.assertEqual(list(c.classes_), sorted(classes))
            self.assertEqual(sorted(c.model_.labels), sorted(labels or map(str, classes)))
            self.assertGreater(c.score(x, of), 0.9)

    def test_scikit_learn(self):
        try:
            from sklearn.base import clone, is_classifier
            from sklearn.model_selection import cross_val_score
            from sklearn.neighbors import KNeighborsClassifier
            from sklearn.pipeline import make_pipeline
        except ImportError:
            self.skipTest("no scikit-learn")
        x, y = two_kinds(60)
        x = np.array(x)
        pipe = make_pipeline(chordseq.ChordseqEmbedder(DEFAULT, threads=1),
                             KNeighborsClassifier(5))
        self.assertGreater(cross_val_score(pipe, x, y, cv=3).mean(), 0.9)
        c = chordseq.ChordseqClassifier(epochs=4, **SMALL)
        self.assertEqual(clone(c).get_params(), c.get_params())
        self.assertTrue(is_classifier(c) and c._estimator_type == "classifier")
        self.assertGreater(cross_val_score(c, x, y, cv=2).mean(), 0.8)

    def test_frames_of_scikit_learn(self):
        """set_output() and its global setting; clones and pickles keep it."""
        try:
            import pandas
            import sklearn
            from sklearn.base import clone
            from sklearn.compose import make_column_transformer
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import StandardScaler
        except ImportError:
            self.skipTest("no pandas and scikit-learn")
        series = pandas.Series([b for b in BASES if b][:4], index=list("wxyz"), name="seq")
        e = chordseq.ChordseqEmbedder(MODEL, threads=1)
        want = e.fit_transform(series)
        self.assertIsInstance(want, np.ndarray)
        names = [f"v{i + 1}" for i in range(want.shape[1])]
        keeps_index = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 4)     # that of a Series

        def same(frame, columns):
            if keeps_index:
                self.assertEqual(list(frame.index), list("wxyz"))
            self.assertEqual(list(frame.columns), columns)
            np.testing.assert_array_equal(frame.to_numpy(), want)
        e.set_output(transform="pandas")
        for one in e, pickle.loads(pickle.dumps(e)), clone(e).fit(series):
            same(one.transform(series), names)
        same(e.fit_transform(series), names)
        self.assertIsInstance(e.set_output(transform="default").transform(series), np.ndarray)
        with sklearn.config_context(transform_output="pandas"):
            same(clone(chordseq.ChordseqEmbedder(MODEL, threads=1)).fit_transform(series), names)
        pipe = make_pipeline(chordseq.ChordseqEmbedder(MODEL, threads=1), StandardScaler())
        self.assertEqual(list(pipe.set_output(transform="pandas").fit_transform(series).columns), names)
        columns = make_column_transformer((chordseq.ChordseqEmbedder(MODEL, threads=1), "seq"))
        same(columns.set_output(transform="pandas").fit_transform(series.to_frame()),
             ["chordseqembedder__" + n for n in names])

    def test_conventions_of_scikit_learn(self):
        """Tags, displays, and what its own checks for estimators say that concerns sequences, too."""
        try:
            from sklearn import base
            from sklearn.model_selection import GridSearchCV
            from sklearn.utils import estimator_checks, estimator_html_repr
        except ImportError:
            self.skipTest("no scikit-learn")
        for e in chordseq.ChordseqEmbedder(threads=1), chordseq.ChordseqClassifier(threads=1, epochs=2):
            self.assertIsInstance(e, base.BaseEstimator)
            self.assertIn(type(e).__name__, estimator_html_repr(e))
            for check in ("get_params_invariance", "set_params", "estimator_cloneable", "estimator_repr", "mixin_order",
                          "estimator_tags_renamed", "valid_tag_types", "do_not_raise_errors_in_init_or_set_param"):
                if found := getattr(estimator_checks, "check_" + check, None):
                    found(type(e).__name__, e)
        self.assertTrue(base.is_classifier(chordseq.ChordseqClassifier()))
        self.assertFalse(base.is_classifier(chordseq.ChordseqEmbedder()))
        if hasattr(base, "BaseEstimator") and hasattr(base.BaseEstimator, "__sklearn_tags__"):
            tags = chordseq.ChordseqClassifier().__sklearn_tags__()
            self.assertTrue(tags.input_tags.string and tags.target_tags.required)
            self.assertFalse(tags.input_tags.two_d_array)
            self.assertFalse(chordseq.ChordseqEmbedder().__sklearn_tags__().target_tags.required)
        x, y = two_kinds(40)
        search = GridSearchCV(chordseq.ChordseqClassifier(**SMALL), {"epochs": [1, 2]}, cv=2).fit(x, y)
        self.assertIn(search.best_params_["epochs"], (1, 2))


class Errors(unittest.TestCase):
    def classify_open_file(self):
        with open(TINY / "mixed.fa", "rb") as f:
            chordseq.load(MODEL).classify(f)

    def test_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        frame = pandas.DataFrame({"name": ["a", "b"], "seq": ["ACGT" * 9, "TTGA" * 9]})
        m = chordseq.load(MODEL)
        with self.assertRaisesRegex(TypeError, "a DataFrame is no sequence"):
            m.classify(frame)
        self.assertEqual(list(m.classify(frame.set_index("name")["seq"]).name), ["a", "b"])

    def test_sentences(self):
        m = chordseq.load(MODEL)
        for kind, text, call in [
                (chordseq.FormatError, "'!' at position 2 of sequence 1 is not", lambda: m.classify(
                    ["ACGT", "AC!T"])),
                (chordseq.FormatError, "'!' at position 2 of sequence 'b' is not", lambda: m.embed(
                    {"a": "ACGT", "b": "AC!T"})),
                (chordseq.FormatError, "sequence 'b': '!' at position 2", lambda: m.classify(
                    {"b": "AC!T"})),
                (chordseq.FormatError, "'\u00c4' at position 1", lambda: m.classify("A\u00c4")),
                (TypeError, "sequence 1 is of type int", lambda: m.classify(["ACGT", 3])),
                (TypeError, "of type NoneType", lambda: m.classify(None)),
                (ValueError, "is a file; give pathlib.Path", lambda: m.classify(str(MODEL))),
                (chordseq.MissingFileError, "cannot open 'nowhere'", lambda: m.classify(
                    pathlib.Path("nowhere"))),
                (ValueError, "'reads.fq.gz' is no sequence, and there is no such file",
                 lambda: m.classify("reads.fq.gz")),
                (TypeError, "sequence 0 is a path", lambda: m.classify([TINY / "mixed.fa"])),
                (TypeError, "an open file is no sequence", self.classify_open_file),
                (chordseq.UsageError, "bad value 'some'", lambda: m.explain("ACGTACGT", method="some")),
                (ValueError, "per is", lambda: m.embed("ACGT", per="base")),
                (TypeError, "sequence 'b' is of type int", lambda: m.classify({"a": "A", "b": 3})),
                (TypeError, "sequence 0 is of type list", lambda: m.embed([["ACGT"]])),
                (TypeError, "is of type int64", lambda: m.classify(np.arange(3, dtype="i8"))),
                (TypeError, "is of type NoneType", lambda: m.tokenize(None)),
                (TypeError, "is of type list", lambda: m.explain(["ACGT"])),
                (ValueError, "the sequence is empty", lambda: m.explain("")),
                (ValueError, "there is no token 16777216", lambda: m.token_texts([1 << 24])),
                (ValueError, "there is no token -1", lambda: m.token_texts([-1])),
                (ValueError, "no -1 bases", lambda: m.windows(-1)),
                *((TypeError, "threads is a whole number", lambda x=x: chordseq.load(MODEL, threads=x))
                  for x in ("all", 1.5, float("nan"), [1])),
                (chordseq.UsageError, "tf32", lambda: chordseq.load(MODEL, precision="tf32")),
                (chordseq.ProgramError, "no record to train on", lambda: list(chordseq.train(
                    os.devnull, os.devnull, label_key="class", force=True))),
                (ValueError, "no file to train on", lambda: list(chordseq.train([], os.devnull))),
                (ValueError, "no sequence to train on", lambda: chordseq.ChordseqClassifier().fit(
                    [], [])),
                (ValueError, "2 sequences have labels of shape (3,)",
                 lambda: chordseq.ChordseqClassifier().fit(["A", "C"], ["a", "b", "c"])),
                (TypeError, "fit() takes sequences, not a path", lambda: chordseq.ChordseqClassifier().fit(
                    TINY / "mixed.fa", ["a", "b"])),
                *((ValueError, "a label is None or NaN", lambda y=y: chordseq.ChordseqClassifier().fit(["A", "C"], y))
                  for y in ([1, float("nan")], ["a", None])),
                (AttributeError, "not fitted", lambda: chordseq.ChordseqClassifier().predict(["A"])),
                (AttributeError, "not fitted", lambda: chordseq.ChordseqEmbedder().transform(["A"])),
                (chordseq.FileError, "nowhere", lambda: chordseq.load("nowhere")),
                (FileNotFoundError, "nowhere", lambda: chordseq.load("nowhere")),
                (FileNotFoundError, "cannot open 'no.fa'", lambda: list(chordseq.train(
                    "no.fa", os.devnull, label_key="class", force=True))),
                (chordseq.FileError, "Not a directory", lambda: list(chordseq.train(
                    TINY / "mixed.fa" / "x", os.devnull, label_key="class", force=True))),
                (chordseq.UsageError, "the model's name is empty", lambda: chordseq.load("")),
                (chordseq.FormatError, "", lambda: chordseq.load(TINY / "mixed.fa")),
                (chordseq.UsageError, "there is no option 'mood'", lambda: chordseq.load(
                    MODEL, mood="good")),
                (chordseq.UsageError, "there is no option 'good_mood'", lambda: chordseq.load(MODEL, good_mood=1)),
                (chordseq.UsageError, "window_length needs long_sequence=window",
                 lambda: chordseq.load(MODEL, window_length=500)),
                (chordseq.UsageError, "for option 'max_unknown'", lambda: chordseq.load(MODEL, max_unknown=3)),
                (chordseq.FileError, "'/no/max-error/long-sequence'", lambda: chordseq.load("/no/max-error/long-sequence")),
                (chordseq.UsageError, "threads", lambda: chordseq.load(MODEL, threads=0)),
                (chordseq.DeviceError, "abacus", lambda: chordseq.load(MODEL, device="abacus"))]:
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(text, str(caught.exception))
            if issubclass(kind, OSError):
                self.assertIn(caught.exception.errno, (errno.ENOENT, errno.ENOTDIR))
        self.assertEqual(len(m.classify(BASES)), len(BASES))

    def test_names(self):
        """Errors have the caller's name of a sequence, not its number in the batch."""
        m = chordseq.load(MODEL, threads=1)
        for per in "sequence", "token", "window":
            with self.assertRaisesRegex(chordseq.FormatError, "sequence 'b'.*'!'|'!'.*sequence 'b'"):
                m.embed({"a": "ACGT", "b": "AC!T"}, per=per)
        with self.assertRaisesRegex(chordseq.FormatError, "'!' at position 2"):
            m.embed(["AC!T"], per="token")
        said = chordseq.model._named(chordseq.ModelError("record '1' (9 bases) exceeds"), ["a", "b"])
        self.assertEqual((type(said), str(said)), (chordseq.ModelError, "record 'b' (9 bases) exceeds"))

    def test_nothing(self):
        """No sequences are no error, and an empty one has a reason."""
        m = chordseq.load(MODEL)
        for nothing in [], {}, iter(()), pathlib.Path(os.devnull):
            self.assertEqual(len(m.classify(nothing)), 0)
        self.assertEqual(m.embed([]).shape, (0, m.dim))
        call, = m.classify("")
        self.assertEqual((call.label, call.reason), ("unclassified", "empty"))
        self.assertTrue(np.isnan(m.embed([""])).all())
        self.assertEqual((len(m.tokenize("")), len(m.embed([""], per="token")[0])), (0, 0))

    def test_a_generator_that_fails(self):
        def broken():
            yield "ACGT"
            raise RuntimeError("of the caller")
        with self.assertRaisesRegex(RuntimeError, "of the caller"):
            chordseq.load(MODEL, threads=2).classify(broken())


def pickled_model_classifies(m, records):
    return m.classify(records)


class Threads(unittest.TestCase):
    def test_one_model_in_many_threads(self):
        m = chordseq.load(MODEL, threads=2)
        want, vectors, bad = lines(m.classify(RECORDS)), m.embed(BASES), []

        def work():
            for _ in range(3):
                if lines(m.classify(RECORDS)) != want or \
                        m.embed(BASES).tobytes() != vectors.tobytes():
                    bad.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(bad, [])

    def test_interrupt(self):
        """Ctrl-C does not wait for what the library computes."""
        for threads in 1, 2:
            handles, go_on = chordseq.load(MODEL, threads=threads)._handles, threading.Event()

            def work(h, batch):
                os.kill(os.getpid(), signal.SIGINT)
                return go_on.wait(60)
            with self.assertRaises(KeyboardInterrupt):
                list(handles.map(work, [(None, [b"ACGT"])]))
            self.assertFalse(go_on.is_set())
            go_on.set()

    def test_fork(self):
        """Processes that multiprocessing forks, after this one has computed with several threads."""
        m = chordseq.load(DEFAULT, threads=2)
        want = m.classify(RECORDS)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.starmap_async(pickled_model_classifies, [(m, RECORDS)] * 3).get(120)
        for table in found:
            self.assertEqual(lines(table), lines(want))

    def test_fork_while_others_compute(self):
        """A forked process does not wait for the threads of its parent."""
        for threads in 1, 2:
            m = chordseq.load(MODEL, threads=threads)
            want, taken, go_on = lines(m.classify(RECORDS)), threading.Semaphore(0), threading.Event()

            def work(long, handles=m._handles, taken=taken, go_on=go_on):
                with handles.handle(long):
                    taken.release()
                    go_on.wait(60)
            users = [threading.Thread(target=work, args=(i == 0,)) for i in range(threads + 1)]
            for t in users:
                t.start()
            for _ in users if threads > 1 else users[:1]:
                taken.acquire()
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                os._exit(0 if lines(m.classify(RECORDS)) == want and m.windows(9).shape == (1, 2)
                         else 1)
            status = os.waitpid(child, 0)[1]
            go_on.set()
            for t in users:
                t.join()
            self.assertEqual(status, 0)
            self.assertEqual(lines(m.classify(RECORDS)), want)

    def test_a_handle_that_fails(self):
        """... is made at the next call."""
        m = chordseq.load(MODEL, threads=2)
        m._handles._forget()
        for _ in range(3):
            with mock.patch.object(m._handles, "_share", side_effect=MemoryError), \
                    self.assertRaises(MemoryError):
                m.embed("ACGT" * 9)
        self.assertEqual(m.embed("ACGT" * 9).shape, (1, m.dim))

    def test_pickled_by_path(self):
        m = chordseq.load(os.path.relpath(MODEL), threads=1, min_prob=0.9)
        self.assertEqual(m.path, str(MODEL))                 # in whatever folder it is opened again
        again = pickle.loads(pickle.dumps(m))
        self.assertEqual((again.path, again.options), (m.path, m.options))
        self.assertLess(len(pickle.dumps(m)), 400)
        self.assertEqual(lines(again.classify(RECORDS)), lines(m.classify(RECORDS)))


class Types(unittest.TestCase):
    """What mypy tells those who use the package."""

    def mypy(self, text):
        try:
            import mypy.api
        except ImportError:
            self.skipTest("no mypy")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "user.py")
            pathlib.Path(path).write_text(text)
            package = str(pathlib.Path(chordseq.__file__).parent.parent)
            with mock.patch.dict(os.environ, MYPYPATH=package):
                return mypy.api.run(["--strict", "--follow-imports=silent", "--cache-dir", os.devnull, path])[0]

    def test_public_types(self):
        said = self.mypy("""
import chordseq
m = chordseq.load(threads=2)
reveal_type(m)
reveal_type(m.classify("ACGT"))
for table in m.classify_batches(["ACGT"]):
    print(table.label[0], table[table.probability > 0.9].outputs, len(table))
reveal_type(m.embed(["ACGT"]).shape)
reveal_type(m.embed(["ACGT"], per="token")[0].shape)
reveal_type(chordseq.ChordseqEmbedder().fit(["ACGT"]))
reveal_type(chordseq.__version__)
for row in chordseq.train("x.fa", "x.safetensors"):
    print(row["epoch"] + 1)
""")
        self.assertNotIn("error", said)
        for kind in ("chordseq.model.Model", "chordseq.tables.Table", "chordseq.estimators.ChordseqEmbedder", "str"):
            self.assertRegex(said, f'Revealed type is "(builtins.)?{kind}"')
        self.assertNotIn('"Any"', said)

    def test_mistakes(self):
        said = self.mypy("""
import chordseq
chordseq.load(threads="all")
chordseq.load().clasify("ACGT")
chordseq.nothing()
""")
        self.assertEqual(said.count("error:"), 3, said)


class Cpus(unittest.TestCase):
    """The affinity mask limits the default number of threads. tests/unit/test_cgroup.c: quotas do."""

    @unittest.skipUnless(hasattr(os, "sched_setaffinity"), "needs affinity masks")
    def test_default_threads(self):
        allowed = os.sched_getaffinity(0)
        self.assertIn(chordseq.load(MODEL).threads, range(1, len(allowed) + 1))
        try:
            os.sched_setaffinity(0, {min(allowed)})
            self.assertEqual(chordseq.load(MODEL).threads, 1)
        finally:
            os.sched_setaffinity(0, allowed)


class Names(unittest.TestCase):
    def test_version(self):
        self.assertEqual(chordseq.__version__, chordseq.version())
        for name in chordseq.__all__:
            self.assertIn(name, dir(chordseq))
            getattr(chordseq, name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            chordseq.nothing


if __name__ == "__main__":
    unittest.main()
