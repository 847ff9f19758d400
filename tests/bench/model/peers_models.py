#!/usr/bin/env python3
"""peers_models.py - published classifiers of sequences beside a model of ours, on the same fragments.

Usage: peers_models.py bench GROUPS.tsv.xz VENV CHORDSEQ WORK SET FRAGMENTS=MODEL... > TABLE
       python peers_models.py program SCRIPT ARG...

bench runs each peer of PEERS on fragments of families.py (FRAGMENTS/LENGTH.fa) by its own program in VENV, one length
and process after the other, and CHORDSEQ with MODEL on the same fragments. With several FRAGMENTS=MODEL (folds), a peer
reads the fragments of all at once, and each model its own. SET names the table's rows.

A peer is scored on the classes that it knows. Fragments of other classes are left out; classes that it does not
separate are one label, and our probability of a label is the sum over its classes. The label with the greatest score
is the call, ours and theirs. Balanced accuracy is the mean recall of the labels; a fragment that a peer leaves
without one of them is wrong, and counted in the column unclassified. Standard errors are binomial.

program runs a script of VENV that unpickles estimators of scikit-learn 0.19.
"""
import collections
import csv
import importlib
import lzma
import os
import resource
import runpy
import shutil
import subprocess
import sys
import typing
import warnings

from families import seven

# Modules of scikit-learn 0.19, and where their classes are today. The attributes that its pickles hold are those that
# today's predict(), predict_proba() and transform() read.
MOVED = {"sklearn.linear_model.logistic": "sklearn.linear_model._logistic",
         "sklearn.preprocessing.data": "sklearn.preprocessing._data",
         "sklearn.svm.classes": "sklearn.svm._classes"}


class Run(typing.NamedTuple):
    """A peer's run: programs of the virtual environment, input, a folder for output, length of the fragments."""
    bin: str
    fasta: str
    out: str
    length: int

    def script(self, name, *args):
        return os.path.join(self.bin, "python"), "-W", "ignore", os.path.join(self.bin, name), *args

    def old_script(self, name, *args):
        return os.path.join(self.bin, "python"), __file__, "program", os.path.join(self.bin, name), *args

    def rows(self, *path):
        with open(os.path.join(self.out, *path)) as f:
            yield from csv.DictReader(f, delimiter="\t")


def best(scores):
    """The key of the greatest score; None if all are 0."""
    key = max(scores, key=scores.get)
    return key if scores[key] > 0 else None


# ---- Tiara: no thresholds of probability (-p), nor of length (-m); "unknown" is a class of its network ----------


def tiara(run):
    return run.script("tiara", "-i", run.fasta, "-o", f"{run.out}/calls.tsv", "-m", "0", "-p", "0", "0", "-t", "1")


def tiara_calls(run):
    for row in run.rows("calls.tsv"):
        first = row["class_fst_stage"].replace("eukarya", "eukaryota")
        yield row["sequence_id"], row["class_snd_stage"] if first == "organelle" else first


# ---- Jaeger: the model in the package; windows over the whole fragment, one of a fragment's length below 2,000 bp -----


def jaeger(run):
    return run.script("jaeger", "predict", "-i", run.fasta, "-o", run.out, "--cpu", "--workers", "1", "--getalllabels",
                      "--dynamic-stride", "--fsize", str(min(2000, run.length)))


def jaeger_calls(run):
    for row in run.rows("default", "fragments_jaeger.tsv"):
        yield row["contig_id"], row["prediction"].replace("eukarya", "eukaryota")


# ---- geNomad: its network, without the marker genes of its database --------------------------------------------------


def genomad(run):
    return run.script("genomad", "nn-classification", "--threads", "1", "--cleanup", "-q", run.fasta, run.out)


def genomad_calls(run):
    for row in run.rows("fragments_nn_classification", "fragments_nn_classification.tsv"):
        yield row["seq_name"], best({k: float(row[k + "_score"]) for k in ("chromosome", "plasmid", "virus")})


# ---- DeepMicroClass: the score of virus is the sum over viruses of eukaryotes and of prokaryotes ---------------------


def deepmicroclass(run):
    return run.script("DeepMicroClass", "predict", "-i", run.fasta, "-o", run.out, "-ct", "1", "-d", "cpu")


def deepmicroclass_calls(run):
    for row in run.rows("fragments.fa_pred_one-hot_hybrid.tsv"):
        score = {k.lower(): float(row[k]) for k in ("Prokaryote", "Eukaryote", "Plasmid")}
        score["virus"] = float(row["EukaryoteVirus"]) + float(row["ProkaryoteVirus"])
        yield row["Sequence Name"], best(score)


# ---- EukRep: shorter fragments than its 3,000 bp, too; -m balanced, k-mers of 5 are its defaults ---------------------


def eukrep(run):
    return run.old_script("EukRep", "-i", run.fasta, "-o", f"{run.out}/eukaryote", "--prokarya", f"{run.out}/prokaryote",
                          "--seq_names", "--min", str(min(3000, run.length)))


def eukrep_calls(run):
    for label in ("eukaryote", "prokaryote"):
        with open(os.path.join(run.out, label)) as f:
            for line in f:
                yield line.rstrip("\n"), label


# ---- PlasClass -------------------------------------------------------------------------------------------------------


def plasclass(run):
    return run.old_script("classify_fasta.py", "-f", run.fasta, "-o", f"{run.out}/calls.tsv", "-p", "1")


def plasclass_calls(run):
    with open(os.path.join(run.out, "calls.tsv")) as f:
        for line in f:
            name, p = line.split("\t")
            yield name, "plasmid" if float(p) > 0.5 else "chromosome"


class Peer(typing.NamedTuple):
    """A program, and what of ours its labels are.

    labels   class of ours, or a source class of it -> label; classes that are not there it does not know
    most     length -> fragments per class, where it is slow
    """
    name: str
    package: str
    classes: str
    labels: dict
    command: typing.Callable
    calls: typing.Callable
    most: dict


def same(*labels):
    return {k: k for k in labels}


PEERS = (
    Peer("Tiara", "tiara", "archaea, bacteria, eukaryota, mitochondrion, plastid",
         same("archaea", "bacteria", "eukaryota", "mitochondrion", "plastid"), tiara, tiara_calls, {}),
    Peer("Jaeger", "jaeger-bio", "archaea, bacteria, eukaryota, phage",
         dict(same("archaea", "bacteria", "eukaryota"), virus_phage="phage"), jaeger, jaeger_calls,
         {10000: 100, 50000: 25}),
    Peer("geNomad's network", "genomad", "chromosome of a prokaryote, plasmid, virus",
         dict(same("plasmid", "virus"), archaea="chromosome", bacteria="chromosome"), genomad, genomad_calls,
         {500: 150, 1000: 150, 3000: 150, 10000: 75, 50000: 40}),
    Peer("DeepMicroClass", "DeepMicroClass", "prokaryote, eukaryote, plasmid, virus",
         dict(same("plasmid", "virus"), archaea="prokaryote", bacteria="prokaryote", eukaryota="eukaryote"),
         deepmicroclass, deepmicroclass_calls, {50000: 50}),
    Peer("EukRep", "EukRep", "eukaryote or prokaryote",
         dict(archaea="prokaryote", bacteria="prokaryote", plasmid="prokaryote", eukaryota="eukaryote"),
         eukrep, eukrep_calls, {}),
    Peer("PlasClass", "plasclass", "plasmid or chromosome of bacteria",
         dict(plasmid="plasmid", bacteria="chromosome"), plasclass, plasclass_calls, {}),
)


def seconds(command, log):
    """Processor seconds of a command; what it prints goes to a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, "w") as f:
        done = subprocess.run(command, stdout=f, stderr=subprocess.STDOUT)
    if done.returncode:
        with open(log) as f:
            sys.exit(f"'{' '.join(command)}' failed:\n{f.read()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fragments(path, peer, source_of, most):
    """Yield (label, sequence) of a file of families.py: the first of each class that the peer knows."""
    n = collections.Counter()
    with open(path) as f:
        for header in f:
            seq = next(f).strip().upper()
            cls, _, record = header[1:].split()[0].split("|", 2)
            label = peer.labels.get(source_of[record]) or peer.labels.get(cls)
            if label and n[cls] < most:
                n[cls] += 1
                yield label, seq


class Tally:
    """Calls beside labels."""

    def __init__(self, truth, calls):
        right, total = collections.Counter(), collections.Counter(truth.values())
        for name, label in truth.items():
            right[label] += calls.get(name) == label
        self.recall = {k: right[k] / total[k] for k in sorted(total)}
        self.mean = sum(self.recall.values()) / len(total)
        self.error = sum(r * (1 - r) / total[k] for k, r in self.recall.items()) ** 0.5 / len(total)
        self.without = sum(calls.get(name) not in total for name in truth) / len(truth)

    def recalls(self):
        return ", ".join(f"{k} {r:.2f}" for k, r in self.recall.items())


def our_calls(table, peer):
    """(fragment, label) of a table of `chordseq classify --all`."""
    label_of = {seven(key): label for key, label in peer.labels.items()}
    with open(table) as f:
        for row in csv.DictReader(f, delimiter="\t"):
            score = collections.Counter()
            for cls, label in label_of.items():
                p = row["prob_" + cls]
                score[label] += float(p) if p != "." else 0
            yield row["name"], best(score)


def measure(peer, length, sets, source_of, paths):
    """One row: the peer on all sets, the models on theirs."""
    venv, chordseq, work = paths
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work + "/out")
    run = Run(os.path.join(venv, "bin"), f"{work}/fragments.fa", f"{work}/out", length)
    truth, n_base, ours, our_seconds = {}, 0, {}, 0.0
    most = peer.most.get(length, sys.maxsize)
    with open(run.fasta, "w") as everything:
        for i, (folder, model) in enumerate(sets):
            own = f"{work}/{i}.fa"
            with open(own, "w") as f:
                for label, seq in fragments(f"{folder}/{length}.fa", peer, source_of, -(-most // len(sets))):
                    name = f"f{len(truth)}"
                    truth[name] = label
                    n_base += len(seq)
                    for out in (f, everything):
                        out.write(f">{name}\n{seq}\n")
            our_seconds += seconds((chordseq, "classify", "-q", "-@", "1", "--all", "--min-prob", "0", "-m", model,
                                    "-i", own, "-o", f"{work}/{i}.tsv"), f"{work}/log")
            ours.update(our_calls(f"{work}/{i}.tsv", peer))
    used = seconds(peer.command(run), f"{work}/log")
    a, b = Tally(truth, dict(peer.calls(run))), Tally(truth, ours)
    return (length, len(truth), *("%.3f" % x for x in (a.mean, a.error, a.without, b.mean, b.error)),
            "%.1f" % used, "%.1f" % our_seconds, "%.3f" % (n_base / 1e6 / used), "%.3f" % (n_base / 1e6 / our_seconds),
            a.recalls(), b.recalls())


def bench(groups, venv, chordseq, work, name, *sets):
    sets = [s.split("=") for s in sets]
    with lzma.open(groups, "rt") as f:
        source_of = {row[0]: row[1] for row in (line.split("\t") for line in f)}
    only = os.environ.get("CS_PEERS", "").split()
    lengths = os.environ.get("CS_LENGTHS", "500 1000 3000 10000 50000").split()
    print("set", "peer", "version", "classes", "length", "fragments", "balanced_accuracy", "standard_error",
          "unclassified", "chordseq", "chordseq_standard_error", "seconds", "chordseq_seconds", "Mbases_per_s",
          "chordseq_Mbases_per_s", "recall", "chordseq_recall", sep="\t", flush=True)
    for peer in PEERS:
        if only and peer.package not in only:
            continue
        version = subprocess.run(
            [os.path.join(venv, "bin", "python"), "-c",
             f"import importlib.metadata as m; print(m.version('{peer.package}'))"],
            check=True, capture_output=True, text=True).stdout.strip()
        for length in map(int, lengths):
            row = measure(peer, length, sets, source_of, (venv, chordseq, f"{work}/run"))
            print(name, peer.name, version, peer.classes, *row, sep="\t", flush=True)


def program(script, *args):
    warnings.filterwarnings("ignore")
    for old, new in MOVED.items():
        sys.modules[old] = importlib.import_module(new)
    sys.argv = [script, *args]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    {"bench": bench, "program": program}[sys.argv[1]](*sys.argv[2:])
