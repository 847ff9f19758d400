"""chordseq classify: which class each sequence belongs to."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

# What an output of this name is written by.
OPTIONS = {
    "tsv": "--output",
    "jsonl": "--jsonl",
    "kraken": "--kraken",
    "report": "--report",
    "krona": "--krona",
    "shares": "--shares",
    "cami_binning": "--cami-binning",
    "cami_profile": "--cami-profile",
    "bam": "--bam",
    "split_dir": "--split-dir",
    "summary": "--summary",
    "html": "--html",
    "manifest": "--manifest",
}


def files(name):
    """The files of an input, as words for the shell; none, one or several."""
    value = snakemake.input.get(name, [])
    return [quote(f) for f in ([value] if isinstance(value, str) else value)]


# Without an output for records the program prints its table, which may be large and was not asked for.
log = "> /dev/null " + snakemake.log_fmt_shell(stdout=False, stderr=True)
extra = snakemake.params.get("extra", "")

words = []
sequences, mates = files("sequences"), files("mates")
if not sequences:
    raise ValueError("input.sequences names no file")
if mates and len(mates) != len(sequences):
    raise ValueError("input.mates must name as many files as input.sequences")
for i, f in enumerate(sequences):
    words += ["-1", f, "-2", mates[i]] if mates else ["-i", f]
for f in files("model"):
    words += ["--model", f]
for f in files("reference"):
    words += ["--reference", f]
for name in ("shard", "sample"):
    if snakemake.params.get(name):
        words += [f"--{name}", quote(str(snakemake.params[name]))]

unknown = set(snakemake.output.keys()) - set(OPTIONS)
if unknown or not snakemake.output.keys():
    raise ValueError(f"outputs must be named, by one of {', '.join(OPTIONS)}")
for name, path in snakemake.output.items():
    words += [OPTIONS[name], quote(path)]

command = " ".join(words)
shell("chordseq classify -@ {snakemake.threads} {extra} {command} {log}")
