"""chordseq: classify, embed and score DNA sequences of any length with neural networks.

    import chordseq
    m = chordseq.load()
    calls = m.classify(["ACGT...", "TTGA..."])
    calls.label, calls.probability
    vectors = m.embed(sequences)

The network runs in libchordseq and in the program `chordseq`; this package calls them. Command and
API give the same results.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__all__ = ["ChordseqClassifier", "ChordseqEmbedder", "DeviceError", "Error", "FileError", "FormatError", "MissingFileError",
           "Model", "ModelError", "OutOfMemoryError", "ProgramError", "Table", "UsageError", "__version__", "load",
           "score_variants", "train", "version"]

_FROM = {"load": "model", "Model": "model", "score_variants": "model", "train": "training",
         "Table": "tables", "ChordseqEmbedder": "estimators", "ChordseqClassifier": "estimators"}


def version() -> str:
    """Version of the library, such as "0.2.0"."""
    from ._library import lib
    return str(lib.chordseq_version().decode())


if TYPE_CHECKING:
    from .errors import (DeviceError, Error, FileError, FormatError, MissingFileError, ModelError,
                         OutOfMemoryError, ProgramError, UsageError)
    from .estimators import ChordseqClassifier, ChordseqEmbedder
    from .model import Model, load, score_variants
    from .tables import Table
    from .training import train
    __version__: str
else:
    def __getattr__(name):
        """Load NumPy and the library on first use: the console script needs neither."""
        if name == "__version__":
            return version()
        if name not in __all__:
            raise AttributeError(f"module 'chordseq' has no attribute '{name}'")
        return getattr(importlib.import_module(f".{_FROM.get(name, 'errors')}", __name__), name)


def __dir__():
    return sorted(__all__)
