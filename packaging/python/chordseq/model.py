"""Models: predictions for sequences through libchordseq, for files through the program."""
from __future__ import annotations

import ctypes
import operator
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterable, Iterator, Literal, Optional, Union, overload

import numpy as np

from . import _program, _sequences
from ._handles import Handles
from ._library import CALL, OWN as LIBRARY, check, lib, reasons
from .errors import Error, UsageError
from .tables import Table, columns_of, join, number

PathLike = Union[str, "os.PathLike[str]"]
OWN_MODEL = LIBRARY.parent.parent / "share/chordseq/model/default.safetensors"
_TEXT = "O"


def find_model(model: Optional[PathLike]) -> Optional[str]:
    """The path of a model: itself (a file, or a folder of `chordseq model export`), of this name in the
    wheel ("fast"), the one that CHORDSEQ_MODEL names, or the default one in the wheel; None: the
    library's own. UsageError: its name is empty."""
    if model is not None and not os.fspath(model):
        raise UsageError("the model's name is empty; is a variable unset?")
    if model is None:
        model = os.environ.get("CHORDSEQ_MODEL") or (OWN_MODEL if OWN_MODEL.exists() else None)
    elif not os.path.exists(model) and os.path.basename(model) == os.fspath(model):
        named = OWN_MODEL.with_name(f"{model}.safetensors")
        model = named if named.exists() else model
    return None if model is None else os.fspath(model)


def load(model: Optional[PathLike] = None, *, threads: Optional[int] = None, **options: Any) -> "Model":
    """Open a model.

    model    a file, a folder with a model.safetensors, or the name of a model that comes with chordseq
             ("fast"); None: the one that the environment variable CHORDSEQ_MODEL names, else the default
    threads  to compute with; None: one per processor that the process and its control group may
             use. Predictions do not depend on it
    options  those of `chordseq classify` under "Strands and long sequences" and "Calls", with _ for -:
             strand="both", min_prob=0.9, prior="bacteria=0.95,plasmid=0.05", window_length=10_000, ...;
             device="cuda" and precision="bf16" where build and processor have them

    Raises   UsageError, FileError, FormatError, ModelError, DeviceError, OutOfMemoryError
    """
    return Model(model, threads=threads, **options)


def _ascii(arrays):
    """char ** and size_t * of a list of bytes."""
    n = len(arrays)
    return (ctypes.c_char_p * n)(*arrays), (ctypes.c_size_t * n)(*map(len, arrays)), n


def _texts(pointers):
    """What an array of char * says; equal pointers are read once."""
    found, where = np.unique(pointers, return_inverse=True)
    texts = [ctypes.cast(int(p), ctypes.c_char_p).value.decode() if p else None for p in found]
    return np.array(texts, dtype=object)[where] if len(texts) else np.empty(0, object)


def _progress(batches, wanted):
    """The batches; with a bar by tqdm of the records that they have, if it is wanted and there."""
    if not wanted:
        return batches
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return batches

    def counted():
        with tqdm(unit=" sequences", unit_scale=True) as bar:
            for batch in batches:
                yield batch
                bar.update(len(batch))
    return counted()


class Model:
    """An open model; see load(). Any number of threads may use it. A pickled model stores its path."""

    def __init__(self, model: Optional[PathLike] = None, *, threads: Optional[int] = None,
                 **options: Any):
        self.path: Optional[str] = find_model(model)
        if self.path and os.path.exists(self.path):          # the working folder may change
            self.path = os.path.abspath(self.path)
        if threads is None:
            threads = lib.chordseq_cpu_count()
        try:
            self.threads: int = operator.index(threads)
        except TypeError:
            raise TypeError(f"threads is a whole number, not {threads!r}") from None
        self.options: dict[str, Any] = options
        self._handles = Handles(self.path, options, self.threads)
        h = self._handles.first
        #: names of classes, labels or values, in the order of probabilities; empty if the model predicts
        #: per token, as pretrained ones do: it has only vectors here
        self.labels: tuple[str, ...] = tuple(lib.chordseq_output_name(h, i).decode()
                                   for i in range(lib.chordseq_n_output(h)))
        #: length of the vectors of embed(per="sequence") and per="window"; 0: there are none
        self.dim: int = lib.chordseq_n_dim(h)
        #: length of the vectors of embed(per="token")
        self.token_dim: int = lib.chordseq_n_token_dim(h)
        #: most bases of a sequence that is predicted as a whole; 0: any number
        self.max_length: int = lib.chordseq_max_length(h)
        #: SHA-256 of the tensors, as `chordseq model show` has it
        self.checksum: str = lib.chordseq_checksum(h).decode()
        self._reasons = np.array(reasons(), dtype=object)
        self.is_classifier: bool = bool(self.labels) and self._calls_classes()

    def __reduce__(self):
        return _unpickle, (self.path, self.threads, self.options)

    def __repr__(self):
        return f"chordseq.load({self.path!r})  # {len(self.labels)} outputs, {self.dim} dimensions"

    def _calls_classes(self):
        call = np.empty(1, CALL)
        with self._handles.handle() as h:
            check(lib.chordseq_classify_many(h, *_ascii([b""]), None, call.ctypes.data))
        return bool(call["label"][0])

    # ---- classify -------------------------------------------------------------------------------

    def _dtype(self):
        outputs = (len(self.labels),)
        if not self.is_classifier:
            return [("name", _TEXT), ("length", "i8"), ("reason", _TEXT), ("values", "f4", outputs)]
        return [("name", _TEXT), ("length", "i8"), ("label", _TEXT), ("probability", "f4"),
                ("reason", _TEXT), ("taxid", "i8"), ("rank", _TEXT),
                ("probabilities", "f4", outputs)]

    def _classify_batch(self, h, batch):
        names, data = batch
        base, length, n = _ascii(data)
        values, call = np.empty((n, len(self.labels)), "f4"), np.empty(n, CALL)
        try:
            check(lib.chordseq_classify_many(h, base, length, n, values.ctypes.data,
                                             call.ctypes.data))
        except Exception as error:
            raise _named(error, names)
        table = Table(n, self._dtype(), self.labels)
        table["name"], table["length"] = names, np.frombuffer(length, np.uintp) if n else 0
        table["reason"] = self._reasons[call["reason"]]
        if self.is_classifier:
            table["label"], table["rank"] = _texts(call["label"]), _texts(call["rank"])
            table["probability"], table["taxid"] = call["probability"], call["taxid"]
            table["probabilities"] = values
        else:
            table["values"] = values
        return table

    def classify_batches(self, sequences: Any, *, progress: bool = False) -> Iterator[Table]:
        """Classify in batches: yields tables in input order, in constant memory."""
        parts = self._classify_file(sequences) if isinstance(sequences, os.PathLike) else \
            self._handles.map(self._classify_batch, _sequences.batches(sequences))
        return _progress(parts, progress)

    def classify(self, sequences: Any, *, progress: bool = False) -> Table:
        """Classify sequences, as `chordseq classify --all` does, to the last bit.

        sequences  a str or bytes; an iterable of these, of (name, sequence), or of records of pysam,
                   Biopython or pyfaidx; a dict; or a pathlib.Path of a FASTA, FASTQ, SAM, BAM or CRAM
                   file, which the program reads (its numbers have six decimals)
        progress   show a bar, if tqdm is installed

        Returns    a table with a row per sequence, in input order:
                   name, or the number of a sequence without one; length in bases; label (a class, a
                   taxon or "unclassified"); probability of the call, or without a call of the best
                   class; reason for no call, "." with a call; taxid and rank of the call, 0 and ""
                   without one and, for a path, without call="taxon"; and probabilities (outputs,)
                   float32, in the order of Model.labels. Of models without classes: name, length,
                   reason and values (outputs,). NaN without a prediction.
        """
        return join(self.classify_batches(sequences, progress=progress),
                    Table(0, self._dtype(), self.labels))

    def _words(self, *leave_out):
        options = {k: v for k, v in self.options.items() if k not in leave_out}
        return ([] if self.path is None else ["--model", self.path]) \
            + ["--threads", str(self.threads), *_program.arguments(options)]

    def _classify_file(self, path):
        words = ["-q", "--all", *self._words(), "--", os.fspath(path)]
        with _program.Run("classify", *words) as process:
            head = process.stdout.readline().rstrip("\n").split("\t")
            rows = []
            for line in process.stdout:
                rows.append(line.rstrip("\n").split("\t"))
                if len(rows) == _sequences.BATCH_RECORDS:
                    yield self._table_of(head, rows)
                    rows = []
            if rows:
                yield self._table_of(head, rows)

    def _table_of(self, head, rows):
        table = Table(len(rows), self._dtype(), self.labels)
        if self.is_classifier:
            table["taxid"], table["rank"] = 0, ""
        first = len(head) - len(self.labels) - (0 if self.is_classifier else 1)
        kinds = {"length": lambda s: sum(map(int, s.split("|"))), "probability": number,
                 "taxid": int, "rank": lambda s: "" if s == "." else s}
        for i, name in enumerate(head):
            if name in table.dtype.names and name != "values":
                table[name] = [kinds.get(name, str)(row[i]) for row in rows]
        field = "probabilities" if self.is_classifier else "values"
        table[field] = [[number(x) for x in row[first:first + len(self.labels)]] for row in rows]
        return table

    # ---- embed ----------------------------------------------------------------------------------

    def _embed_batch(self, h, batch):
        names, data = batch
        base, length, n = _ascii(data)
        vectors = np.empty((n, self.dim), "f4")
        try:
            check(lib.chordseq_embed_many(h, base, length, n, vectors.ctypes.data, None))
        except Exception as error:
            raise _named(error, names)
        return vectors

    def embed_batches(self, sequences: Any, *, progress: bool = False) -> Iterator[np.ndarray]:
        """Embed in batches: yields arrays of embed(per="sequence") in input order, in constant memory."""
        parts = self._embed_file(sequences) if isinstance(sequences, os.PathLike) else \
            self._handles.map(self._embed_batch, _sequences.batches(sequences))
        return _progress(parts, progress)

    @overload
    def embed(self, sequences: Any, per: Literal["sequence"] = ..., *, progress: bool = ...
              ) -> np.ndarray: ...

    @overload
    def embed(self, sequences: Any, per: Literal["window", "token"], *, progress: bool = ...
              ) -> list[np.ndarray]: ...

    def embed(self, sequences: Any, per: str = "sequence", *, progress: bool = False) -> Any:
        """Embed sequences, as `chordseq embed` does, to the last bit.

        sequences  as for classify(); a path only with per="sequence"
        per        "sequence": one array (sequences, Model.dim) float32, the pooled vector of each;
                   "window": a list of arrays (windows, Model.dim), one per sequence, for the windows
                   of windows(), with a model loaded with long_sequence="window";
                   "token": a list of arrays (tokens, Model.token_dim), the encoder's rows of the
                   sequence read forward and whole, one per token of tokenize()

        NaN without a prediction.
        """
        if per == "sequence":
            parts = list(self.embed_batches(sequences, progress=progress))
            return np.concatenate(parts) if parts else np.empty((0, self.dim), "f4")
        if per not in ("token", "window"):
            raise ValueError(f"per is 'sequence', 'window' or 'token', not {per!r}")
        if isinstance(sequences, os.PathLike):
            raise ValueError(f"vectors per {per} are for sequences in memory")
        one = self._embed_tokens if per == "token" else self._embed_windows

        def each(h, batch):
            return [_of_sequence(one, h, *item) for item in zip(*batch)]
        parts = self._handles.map(each, _sequences.batches(sequences))
        return [vectors for part in _progress(parts, progress) for vectors in part]

    def _embed_tokens(self, h, base):
        n, reason = len(self._ids(h, base)), ctypes.c_int32()
        vectors = np.empty((n, self.token_dim), "f4")
        check(lib.chordseq_embed_tokens(h, base, len(base), n, vectors.ctypes.data,
                                        ctypes.byref(reason)))
        return vectors

    def _embed_windows(self, h, base):
        return self._embed_batch(h, (None, [base[a:a + n] for a, n in self.windows(len(base))]))

    def _embed_file(self, path):
        with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
            out = os.path.join(folder, "vectors.npy")
            calls = ("min_prob", "max_error", "call", "prior", "prior_file")
            _program.run("embed", *self._words(*calls), "--output", out, "--", os.fspath(path))
            vectors = np.load(out, mmap_mode="r")
            for at in range(0, len(vectors), _sequences.BATCH_RECORDS):
                yield np.array(vectors[at:at + _sequences.BATCH_RECORDS])

    def windows(self, n_base: int) -> np.ndarray:
        """Windows of a sequence of n_base bases: (windows, 2) int64, first base (from 0) and length."""
        if (n_base := operator.index(n_base)) < 0:
            raise ValueError(f"a sequence has no {n_base} bases")
        h = self._handles.first
        n = lib.chordseq_windows(h, n_base, None, None)
        start, length = np.empty(n, "i8"), np.empty(n, "i8")
        lib.chordseq_windows(h, n_base, start.ctypes.data, length.ctypes.data)
        return np.stack([start, length], axis=1)

    # ---- tokens ---------------------------------------------------------------------------------

    def _ids(self, h, base):
        ids, n = np.empty(lib.chordseq_max_tokens(h, len(base)), "i4"), ctypes.c_size_t()
        check(lib.chordseq_tokenize(h, base, len(base), ids.ctypes.data, ctypes.byref(n)))
        return ids[:n.value].copy()

    def tokenize(self, sequence: Any) -> np.ndarray:
        """Token ids of one sequence, forward strand: (tokens,) int32, as by `chordseq tokenize
        --format ids`."""
        with self._handles.handle() as h:
            return self._ids(h, _sequences.pair(sequence, 0)[1])

    def token_texts(self, ids: Iterable[int]) -> list[str]:
        """Text of tokens, as by `chordseq tokenize`."""
        text = ctypes.create_string_buffer(256)
        texts = []
        for i in ids:
            if not 0 <= (i := operator.index(i)) < 1 << 31:
                raise ValueError(f"there is no token {i}")
            lib.chordseq_token_text(self._handles.first, i, text, len(text))
            if not text.value:
                raise ValueError(f"there is no token {i}")
            texts.append(text.value.decode())
        return texts

    # ---- run by the program ----------------------------------------------------------------------

    def explain(self, sequence: Any, *, method: str = "mutagenesis", label: Optional[str] = None,
                **options: Any) -> Table:
        """Contribution of each base to the prediction for a label, by `chordseq explain`.

        method   "mutagenesis", "gradient", "integrated" or "deeplift"
        label    None: the most probable one
        options  others of `chordseq explain`: baseline="shuffled", steps=128, svg="plot.svg", ...

        Returns  a table with a row per base: pos, from 1; base; label; contribution, float64. With
                 mutagenesis also A, C, G and T: the prediction with that base at the position.
        """
        name, base = _sequences.pair(sequence, 0)
        if not base.strip():
            raise ValueError("the sequence is empty: there is no base to explain")
        with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
            fasta, tsv = os.path.join(folder, "sequence.fa"), os.path.join(folder, "explained.tsv")
            with open(fasta, "wb") as f:
                f.write(b">sequence\n" + b"".join(base.split()) + b"\n")
            words = self._program_words(("device", "precision"), method=method, label=label,
                                        **_with_output(options))
            _program.run("explain", *words, "--tsv", tsv, "--reference", fasta, "sequence")
            with open(tsv, encoding="utf-8", errors="surrogateescape") as f:
                head, *rows = [line.rstrip("\n").split("\t")[1:] for line in f]
        return columns_of(head, rows, {"pos": "i8", "base": "U1", "label": _TEXT})

    def _program_words(self, kept, **options):
        """Words for another command, with those of the model's options that mean the same there."""
        own = {k: v for k, v in self.options.items() if k in kept}
        model = [] if self.path is None else ["--model", self.path]
        return [*model, "--threads", str(self.threads), *_program.arguments({**own, **options})]

    def score_variants(self, vcf: PathLike, fasta: PathLike, **options: Any) -> Table:
        """Scores of variants by this model; see chordseq.score_variants().

        The options device, precision, strand and max_unknown of load() apply unless they are given here;
        window_length does not, because in load() it is that of long_sequence="window".
        """
        words = self._program_words(("device", "precision", "strand", "max_unknown"), **_with_output(options))
        if self.path is None:                # the command's default model is another one
            words = ["--model", "default", *words]
        return _score(words, vcf, fasta)


def _with_output(options):
    """Options of a command whose table is read here; other outputs are kept if the caller asks."""
    if options.get("tsv") is not None:
        raise ValueError("the table is returned; there is no tsv=")
    return {**options, "output": os.devnull} if options.get("output") is None else options


def _score(words, vcf, fasta):
    with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
        tsv = os.path.join(folder, "scores.tsv")
        _program.run("variant", *words, "--tsv", tsv, "--reference", os.fspath(fasta), "--",
                     os.fspath(vcf))
        with open(tsv, encoding="utf-8", errors="surrogateescape") as f:
            head, *rows = [line.lstrip("#").rstrip("\n").split("\t") for line in f]
    return columns_of(head, rows, {"chrom": _TEXT, "pos": "i8", "id": _TEXT, "ref": _TEXT,
                                   "alt": _TEXT, "reason": _TEXT, "swapped": "?"})


def score_variants(vcf: PathLike, fasta: PathLike, model: Optional[PathLike] = None, **options: Any
                   ) -> Table:
    """Score every alternative allele, by `chordseq variant`.

    vcf      VCF or BCF
    fasta    the reference of the variants
    model    None: the default model of the score
    options  others of `chordseq variant`: score="embedding", window_length=2000, threads=2,
             output="scored.vcf.gz", ...

    Returns  a table with a row per allele: chrom, pos, id, ref, alt, reason for no score, else
             ".", swapped, and a float64 column per score, such as CS_L2 and CS_COS; NaN without one.
    """
    if model is not None:
        options = {"model": find_model(model), **options}
    return _score(_program.arguments(_with_output(options)), vcf, fasta)


def _of_sequence(work, h, name, base):
    """work(h, base); an error says the sequence's name."""
    try:
        return work(h, base)
    except Error as error:
        raise _named(error, [name])


def _named(error, names):
    """An error of the library that counts sequences, with the name of the one that it means."""
    text = str(error)
    record = re.match(r"record '(\d+)'", text)
    if names and record and int(record[1]) < len(names):
        return type(error)(f"record '{names[int(record[1])]}'{text[record.end():]}")
    head, found, no = text.partition(" of sequence ")
    digits = no.split(" ", 1)[0]
    if names and not found and len(names) == 1 and names[0] != "0":
        return type(error)(f"sequence '{names[0]}': {text}")
    if names and found and digits.isdigit() and names[int(digits)] != digits:
        return type(error)(f"{head} of sequence '{names[int(digits)]}'{no[len(digits):]}")
    return error


def _unpickle(path, threads, options):
    return Model(path, threads=threads, **options)
