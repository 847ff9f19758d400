# Samples, and the outputs of each.

import csv
import os

# Outputs by their names in configuration and wrappers, with their suffixes.
ENDINGS = {
    "tsv": "tsv",
    "jsonl": "jsonl",
    "kraken": "kraken.tsv",
    "cami_binning": "cami.binning",
    "report": "kreport",
    "krona": "krona.tsv",
    "cami_profile": "cami.profile",
    "summary": "chordseq_summary.json",
}

# Outputs of one line per record, written by every shard; merge makes the others from manifests.
BY_RECORD = ("tsv", "jsonl", "kraken", "cami_binning")


def read_samples(path):
    """The table of samples as a dict of lists of files; ValueError where it is wrong."""
    table = {}
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t"):
            row = {k: v for k, v in row.items() if v}
            validate(row, "../schemas/samples.schema.yaml")
            if row["sample"] in table:
                raise ValueError(f"{path}: sample '{row['sample']}' is listed twice")
            files = {k: [name.strip() for name in row[k].split(",")] if row.get(k) else []
                     for k in ("sequences", "mates")}
            if files["mates"] and len(files["mates"]) != len(files["sequences"]):
                raise ValueError(f"{path}: sample '{row['sample']}' has not as many mates as sequences")
            table[row["sample"]] = files
    if not table:
        raise ValueError(f"{path}: there are no samples in it")
    return table


samples = read_samples(config["samples"])
# The MultiQC report reads summaries, whatever the configuration lists.
outputs = list(dict.fromkeys(config["outputs"] + ["summary"]))
by_record = [k for k in outputs if k in BY_RECORD] or ["tsv"]
parts = range(1, config["parts"] + 1)

# Where this repository's wrappers are; with 'wrappers: v9.0.0/bio/chordseq' they are fetched.
wrappers = config.get("wrappers") or "file:" + str(Path(workflow.basedir).parent / "bio" / "chordseq")


wildcard_constraints:
    sample="[A-Za-z0-9][A-Za-z0-9._-]*",
    i=r"\d+",


def is_name(model):
    """Is this the name of a model that comes with chordseq? A file with such a name takes precedence."""
    return bool(model) and all(c.isalpha() or c == "-" for c in model) and not os.path.exists(model)


def classify_input(wildcards):
    """A sample's files, and the model and reference where the configuration gives files."""
    found = dict(samples[wildcards.sample])
    found["reference"] = [config["reference"]] if config["reference"] else []
    found["model"] = [config["model"]] if config["model"] and not is_name(config["model"]) else []
    return {k: v for k, v in found.items() if v}


def classify_extra():
    """The additional options, and the model where the configuration gives its name."""
    return (f"--model {config['model']} " if is_name(config["model"]) else "") + config["extra"]


def part(sample, ending):
    return [f"results/{sample}/parts/{i}.{ending}" for i in parts]
