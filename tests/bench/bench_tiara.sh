#!/bin/sh
# bench_tiara.sh - Tiara compared with the default model on organisms of families outside of its training set.
#
# Usage   CS_SHARED=DIR tests/bench/bench_tiara.sh [WORK]      (make bench-tiara)
#
# Fragments as in bench_families.sh, of Tiara's five classes: archaea, bacteria, eukaryota, mitochondrion, plastid.
# Prints per length and program: balanced accuracy, its standard error, recalls, Mbases per second of processor time on
# one thread, start included. Every fragment gets a class (`tiara -m 0 -p 0 0`, `--min-prob 0`); ours is the most
# probable of the five. Tiara 1.0.3 with its own weights, from PyPI; its training set may hold these organisms.
#
# Environment, all optional
#   TIARA         virtual environment with it; default WORK/tiara, made if missing
#   CS_MODEL, CS_FASTA, CS_SEED, CS_FOLD       as in bench_families.sh
set -eu

. "$(dirname "$0")/lib.sh"
model=${CS_MODEL:-$srcdir/refdata/model/default.safetensors}
need_data "$CS_SHARED/data/taxa2"
scratch "$@"
: "${TIARA:=$tmp/tiara}"
OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
export OMP_NUM_THREADS MKL_NUM_THREADS NUMBA_NUM_THREADS

# The wheel requires Python below 3.10, but runs on later versions.
if [ ! -x "$TIARA/bin/python" ]; then
    python3 -m venv "$TIARA"
    "$TIARA/bin/pip" install --quiet torch skorch numba biopython joblib tqdm 'setuptools<81'
    "$TIARA/bin/pip" install --quiet --no-deps --ignore-requires-python tiara==1.0.3
fi
family_fragments "${CS_FOLD:-valid}" "$tmp/fragments"
"$TIARA/bin/python" - "$tmp/fragments" "$tmp" "$chordseq" "$model" <<'END'
import csv, resource, subprocess, sys
from collections import Counter

fragments, work, chordseq, model = sys.argv[1:]
classes = ["archaea", "bacteria", "eukaryota", "mitochondrion", "plastid"]
tiara = "import sys; from tiara.main import main; sys.argv[0] = 'tiara'; main()"


def seconds(*command):
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_tiara(row):
    first = {"eukarya": "eukaryota"}.get(row["class_fst_stage"], row["class_fst_stage"])
    return row["sequence_id"], row["class_snd_stage"] if first == "organelle" else first


def of_chordseq(row):
    return row["name"], max(classes, key=lambda c: float(row["prob_" + c]) if row["prob_" + c] != "." else -1)


print("length", "program", "balanced_accuracy", "standard_error", *classes, "Mbases_per_s", sep="\t")
for length in (500, 1000, 3000, 10000, 50000):
    fasta, t, c = f"{fragments}/{length}.fa", f"{work}/tiara.tsv", f"{work}/chordseq.tsv"
    with open(fasta) as f:
        n_base = sum(len(line) - 1 for line in f if line[0] != ">")
    for name, out, call_of, command in (
            ("tiara", t, of_tiara, (sys.executable, "-c", tiara, "-i", fasta, "-o", t, "-m", "0", "-p", "0", "0",
                                     "-t", "1")),
            ("chordseq", c, of_chordseq, (chordseq, "classify", "-q", "-@", "1", "--all", "--min-prob", "0",
                                          "--force", "-m", model, "-i", fasta, "-o", c))):
        used = seconds(*command)
        total, right = Counter(), Counter()
        with open(out) as f:
            for row in csv.DictReader(f, delimiter="\t"):
                record, call = call_of(row)
                truth = record.split("|")[0]
                total[truth] += 1
                right[truth] += call == truth
        recall = [right[k] / total[k] for k in classes]
        error = sum(r * (1 - r) / total[k] for r, k in zip(recall, classes)) ** 0.5 / len(classes)
        print(length, name, *("%.3f" % x for x in (sum(recall) / len(classes), error, *recall)),
              "%.2f" % (n_base / 1e6 / used), sep="\t", flush=True)
END
