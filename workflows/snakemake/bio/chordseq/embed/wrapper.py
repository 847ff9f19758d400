"""chordseq embed: a vector for each sequence."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

# The vectors are written in one of these formats.
FORMATS = ("npy", "npz", "tsv")


def files(name):
    """The files of an input, as words for the shell; none, one or several."""
    value = snakemake.input.get(name, [])
    return [quote(f) for f in ([value] if isinstance(value, str) else value)]


log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")

words = []
sequences, mates = files("sequences"), files("mates")
if not sequences:
    raise ValueError("input.sequences names no file")
if mates and len(mates) != len(sequences):
    raise ValueError("input.mates must name as many files as input.sequences")
for i, f in enumerate(sequences):
    words += ["-1", f, "-2", mates[i]] if mates else ["-i", f]
for name in ("model", "reference"):
    for f in files(name):
        words += [f"--{name}", f]
if snakemake.params.get("shard"):
    words += ["--shard", quote(str(snakemake.params["shard"]))]

vectors = [name for name in FORMATS if name in snakemake.output.keys()]
unknown = set(snakemake.output.keys()) - {*FORMATS, "names", "manifest"}
if unknown or len(vectors) != 1:
    raise ValueError(f"outputs must be named: one of {', '.join(FORMATS)}, and names and manifest")
words += ["--format", vectors[0], "--output", quote(snakemake.output[vectors[0]])]
for name in ("names", "manifest"):
    if name in snakemake.output.keys():
        words += [f"--{name}", quote(snakemake.output[name])]

command = " ".join(words)
shell("chordseq embed -@ {snakemake.threads} {extra} {command} {log}")
