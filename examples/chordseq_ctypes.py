#!/usr/bin/env python3
"""Predictions of a chordseq model for sequences in memory, through libchordseq and ctypes alone.

    from chordseq_ctypes import Model
    with Model("model.safetensors", min_prob=0.9) as model:
        for call in model.classify(["ACGT...", "TTGA..."]):
            print(call.label, call.probability)

As a program: chordseq_ctypes.py MODEL [FASTA...] prints the table of `chordseq classify --all`; for
a model without classes, "." for label and probability, and the values.
The dynamic loader finds the library; CHORDSEQ_LIBRARY names another file.
"""
import ctypes
import os
import sys
from collections import namedtuple
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p

Call = namedtuple("Call", "label class_no probability reason taxid rank values")


class Error(Exception):
    """The message of chordseq_last_error()."""


class _Call(ctypes.Structure):
    _fields_ = [("reason", c_int32), ("class_no", c_int32), ("probability", c_float),
                ("taxid", c_int64), ("label", c_char_p), ("rank", c_char_p)]


def _load():
    lib = ctypes.CDLL(os.environ.get("CHORDSEQ_LIBRARY", "libchordseq.so.0"))
    texts, sizes = POINTER(c_char_p), POINTER(c_size_t)
    for name, result, arguments in [
            ("version", c_char_p, []),
            ("last_error", c_char_p, []),
            ("reason", c_char_p, [c_int]),
            ("open", c_int, [c_char_p, texts, POINTER(c_void_p)]),
            ("share", c_int, [c_void_p, POINTER(c_void_p)]),
            ("close", None, [c_void_p]),
            ("n_output", c_int32, [c_void_p]),
            ("output_name", c_char_p, [c_void_p, c_int32]),
            ("n_dim", c_int32, [c_void_p]),
            ("max_length", c_int64, [c_void_p]),
            ("checksum", c_char_p, [c_void_p]),
            ("classify_many", c_int, [c_void_p, texts, sizes, c_size_t, POINTER(c_float),
                                      POINTER(_Call)]),
            ("embed_many", c_int, [c_void_p, texts, sizes, c_size_t, POINTER(c_float),
                                   POINTER(c_int32)])]:
        function = getattr(lib, "chordseq_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = _load()


def _check(code):
    if code != 0:
        raise Error(_lib.chordseq_last_error().decode())


def _arrays(sequences):
    data = [s.encode() if isinstance(s, str) else bytes(s) for s in sequences]
    return (c_char_p * len(data))(*data), (c_size_t * len(data))(*map(len, data)), len(data)


class Model:
    """An open model. One thread at a time; share() gives a handle for another thread."""

    def __init__(self, path=None, **options):
        """options as `chordseq classify` has them, with _ for -: min_prob=0.9, threads=2"""
        texts = [f"{k.replace('_', '-')}={v}".encode() for k, v in options.items()]
        self._handle = c_void_p()
        _check(_lib.chordseq_open(os.fsencode(path) if path else None,
                                  (c_char_p * (len(texts) + 1))(*texts, None),
                                  byref(self._handle)))
        n = _lib.chordseq_n_output(self._handle)
        self.names = [_lib.chordseq_output_name(self._handle, i).decode() for i in range(n)]
        self.n_dim = _lib.chordseq_n_dim(self._handle)
        self.max_length = _lib.chordseq_max_length(self._handle)
        self.checksum = _lib.chordseq_checksum(self._handle).decode()

    def share(self):
        other = object.__new__(Model)
        other.__dict__.update(self.__dict__, _handle=c_void_p())
        _check(_lib.chordseq_share(self._handle, byref(other._handle)))
        return other

    def close(self):
        _lib.chordseq_close(self._handle)
        self._handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def classify(self, sequences):
        """A Call per sequence; without a call its reason is not "." """
        base, length, n = _arrays(sequences)
        width = len(self.names)
        values, calls = (c_float * (n * width))(), (_Call * n)()
        _check(_lib.chordseq_classify_many(self._handle, base, length, n, values, calls))
        return [Call(c.label.decode() if c.label else None, c.class_no, c.probability,
                     _lib.chordseq_reason(c.reason).decode(), c.taxid, c.rank.decode(),
                     values[i * width:(i + 1) * width]) for i, c in enumerate(calls)]

    def embed(self, sequences):
        """A vector of n_dim numbers per sequence, NaN where there is no prediction"""
        base, length, n = _arrays(sequences)
        vectors = (c_float * (n * self.n_dim))()
        _check(_lib.chordseq_embed_many(self._handle, base, length, n, vectors, None))
        return [vectors[i * self.n_dim:(i + 1) * self.n_dim] for i in range(n)]


def read_fasta(path):
    """Names and sequences"""
    records = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith(">"):
                records.append((line[1:].split()[0], []))
            elif records:
                records[-1][1].append(line.strip())
    return [(name, "".join(parts)) for name, parts in records]


def main(arguments):
    with Model(arguments[0] if arguments else None) as model:
        print("\t".join(["name", "length", "label", "probability", "reason"]
                        + ["prob_" + name for name in model.names]))
        for path in arguments[1:]:
            records = read_fasta(path)
            for (name, base), call in zip(records, model.classify([r[1] for r in records])):
                number = (lambda p: "." if p != p else f"{p:.6f}")
                print("\t".join([name, str(len(base)), call.label or ".", number(call.probability),
                                 call.reason] + [number(p) for p in call.values]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Error, OSError) as error:
        sys.exit(f"chordseq_ctypes.py: {error}")
