"""chordseq: classify, embed and score DNA sequences of any length with neural networks.

    import chordseq
    m = chordseq.load()
    calls = m.classify(["ACGT...", "TTGA..."])
    calls.label, calls.probability
    vectors = m.embed(sequences)

The network runs in libchordseq and in the program `chordseq`; this package calls them. What the command
says, the API says.
"""
import importlib

_FROM = {"load": "model", "Model": "model", "score_variants": "model", "train": "training",
         "Table": "tables", "ChordseqEmbedder": "estimators", "ChordseqClassifier": "estimators"}
_FROM.update((name, "errors") for name in (
    "Error", "UsageError", "FileError", "FormatError", "OutOfMemoryError", "DeviceError",
    "ModelError", "ProgramError"))

__all__ = [*_FROM, "version"]


def version() -> str:
    """Version of the library, such as "0.2.0"."""
    from ._library import lib
    return lib.chordseq_version().decode()


def __getattr__(name):
    """NumPy and the library are loaded when they are needed: the console script needs neither."""
    if name not in _FROM:
        raise AttributeError(f"module 'chordseq' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_FROM[name]}", __name__), name)


def __dir__():
    return sorted(__all__)
