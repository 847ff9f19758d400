"""chordseq merge: one output of those of all parts of an input."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

# What an output of this name is written by.
OPTIONS = {
    "tsv": "--output",
    "npy": "--output",
    "names": "--names",
    "bed": "--output",
    "bedgraph": "--output",
    "calls": "--output",
    "scores": "--tsv",
    "jsonl": "--jsonl",
    "kraken": "--kraken",
    "report": "--report",
    "krona": "--krona",
    "cami_binning": "--cami-binning",
    "cami_profile": "--cami-profile",
    "summary": "--summary",
}

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")

manifests = snakemake.input.manifests
if isinstance(manifests, str):
    manifests = [manifests]
unknown = set(snakemake.output.keys()) - set(OPTIONS)
if unknown or not snakemake.output.keys():
    raise ValueError(f"outputs must be named, by one of {', '.join(OPTIONS)}")
words = []
for name, path in snakemake.output.items():
    words += [OPTIONS[name], quote(path)]
words += [quote(f) for f in manifests]

command = " ".join(words)
shell("chordseq merge {extra} {command} {log}")
