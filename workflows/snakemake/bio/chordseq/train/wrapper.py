"""chordseq train: a model from labelled sequences."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")
classes = snakemake.params.get("classes", [])


def files(name):
    """The files of an input, as words for the shell; none, one or several."""
    value = snakemake.input.get(name, [])
    return [quote(f) for f in ([value] if isinstance(value, str) else value)]


words = []
by_class = files("by_class")
if len(by_class) != len(classes):
    raise ValueError("params.classes must name a class for every file of input.by_class")
for name, f in zip(classes, by_class):
    words += ["--class", quote(name) + "=" + f]
for f in files("sequences"):
    words += ["-i", f]
for name in ("labels", "intervals", "split", "taxonomy", "init"):
    for f in files(name):
        words += [f"--{name}", f]
words += ["--output", quote(snakemake.output.model)]
if snakemake.output.get("metrics"):
    words += ["--metrics", quote(snakemake.output.metrics)]

command = " ".join(words)
shell("chordseq train -@ {snakemake.threads} {extra} {command} {log}")
