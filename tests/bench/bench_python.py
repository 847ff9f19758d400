"""The Python package beside the command; see bench_python.sh. Sequences are random, seed 1."""
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import chordseq

MODEL = os.environ["srcdir"] + "/refdata/model/default.safetensors"
ROUNDS = 5
SIZES = {"reads": (100_000, 150), "contigs": (2_000, 20_000), "one contig": (1, 40_000_000)}


def sequences(n, length):
    """Yield n sequences, overlapping pieces of one."""
    rng = np.random.default_rng(1)
    pool = np.frombuffer(b"ACGT", "u1")[rng.integers(0, 4, length + 9973, dtype="u1")].tobytes().decode()
    for i in range(n):
        at = i * 37 % 9973
        yield f"r{i}", pool[at:at + length]


def spent(who, work):
    """Processor time."""
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def overhead():
    print("\nwhat\tsequences\tbases each\tcommand, CPU s\tAPI, CPU s\tAPI / command")
    with tempfile.TemporaryDirectory() as folder:
        for what, (n, length) in SIZES.items():
            records, path = list(sequences(n, length)), os.path.join(folder, "x.fa")
            with open(path, "w") as f:
                f.writelines(f">{name}\n{base}\n" for name, base in records)
            m = chordseq.load(MODEL, threads=1)
            m.classify(records[:1])
            command = [os.environ["CHORDSEQ_PROGRAM"], "classify", "-q", "--all", "-@", "1", "-m",
                       MODEL, "-o", "/dev/null", path]
            # In turn, for others may use the machine, too; the least of several rounds.
            c = a = float("inf")
            for _ in range(ROUNDS):
                c = min(c, spent(resource.RUSAGE_CHILDREN, lambda: subprocess.run(command, check=True)))
                a = min(a, spent(resource.RUSAGE_SELF, lambda: [None for _ in m.classify_batches(records)]))
            print(f"{what}\t{n}\t{length}\t{c:.3f}\t{a:.3f}\t{a / c:.2f}", flush=True)


def memory():
    print("sequences\tbases each\tpeak MiB\tseconds", flush=True)
    for n, length in (100_000, 150), (400_000, 150), (10, 1_000_000), (100, 1_000_000), \
            (1, 100_000_000):
        subprocess.run([sys.executable, __file__, str(n), str(length)], check=True)


def peak(n, length):
    start = time.time()
    m = chordseq.load(MODEL, threads=2)
    done = sum(len(t) for t in m.classify_batches(sequences(n, length)))
    assert done == n
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n}\t{length}\t{mib:.0f}\t{time.time() - start:.1f}", flush=True)


if len(sys.argv) > 1:
    peak(*map(int, sys.argv[1:]))
else:
    memory()                     # first: a process inherits the peak of the one that started it
    overhead()
