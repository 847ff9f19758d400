"""chordseq predict: classes along sequences."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

# The predictions are written in one of these formats.
FORMATS = ("bed", "tsv", "bedgraph")


def files(name):
    """The files of an input, as words for the shell; none, one or several."""
    value = snakemake.input.get(name, [])
    return [quote(f) for f in ([value] if isinstance(value, str) else value)]


log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")

words = []
if not files("sequences"):
    raise ValueError("input.sequences names no file")
for f in files("sequences"):
    words += ["-i", f]
for name in ("model", "reference"):
    for f in files(name):
        words += [f"--{name}", f]
if snakemake.params.get("shard"):
    words += ["--shard", quote(str(snakemake.params["shard"]))]

predictions = [name for name in FORMATS if name in snakemake.output.keys()]
unknown = set(snakemake.output.keys()) - {*FORMATS, "manifest"}
if unknown or len(predictions) != 1:
    raise ValueError(f"outputs must be named: one of {', '.join(FORMATS)}, and manifest")
words += ["--format", predictions[0], "--output", quote(snakemake.output[predictions[0]])]
if "manifest" in snakemake.output.keys():
    words += ["--manifest", quote(snakemake.output["manifest"])]

command = " ".join(words)
shell("chordseq predict -@ {snakemake.threads} {extra} {command} {log}")
