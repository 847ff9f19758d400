"""chordseq variant: a score for every alternative allele of a VCF or BCF file."""

__author__ = "the chordseq authors"
__copyright__ = "Copyright 2026, the chordseq authors"
__license__ = "MIT"

from shlex import quote

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)
extra = snakemake.params.get("extra", "")

words = ["--reference", quote(snakemake.input.ref), "-i", quote(snakemake.input.calls)]
if snakemake.input.get("model"):
    words += ["--model", quote(snakemake.input.model)]
if snakemake.input.get("exons"):
    words += ["--exons", quote(snakemake.input.exons)]
words += ["--output", quote(snakemake.output.calls)]
if snakemake.output.get("tsv"):
    words += ["--tsv", quote(snakemake.output.tsv)]
if snakemake.output.get("index"):
    words.append("--write-index=" + snakemake.output.index.rsplit(".", 1)[1])
if snakemake.output.get("manifest"):
    words += ["--manifest", quote(snakemake.output.manifest)]
if snakemake.params.get("shard"):
    words += ["--shard", quote(str(snakemake.params["shard"]))]

command = " ".join(words)
shell("chordseq variant -@ {snakemake.threads} {extra} {command} {log}")
