"""faults.py - fail the k-th call of every kind, for every k, and check messages and files of the run.

    faults.py [--sample N] [--seed S] [--only CASE] [--kinds LIST] [--jobs N] [--table FILE]
              [--moments N]

As in SQLite's anomaly testing (https://www.sqlite.org/testing.html). Each case is a command in its own
folder; faults.so fails one of its calls. Rules for every run:

* it ends within a time limit, without a signal;
* it has status 1 and one error message that names a file, memory and its use, or threads; or status
  0, and the outputs, including standard output, of a run without faults;
* every output is complete or absent, and no other file remains, except those of --resume;
* a resumed run without faults writes the bytes of an uninterrupted run.

--moments N adds runs killed (kill -9) at N random moments and resumed, small and read-only file systems,
file systems that become read-only at N random moments, and inputs that shrink or grow while they are
read.

Seven functions of htslib crash if a call fails, or ignore it, and are exempt: fai_load,
hts_idx_push, cram_load_reference, cram_get_ref, cram_put_bam_seq, cram_encode_container,
cram_write_eof_block (reasons: faults.c).
--sample N runs N faults per case, sampled evenly from all kinds; without it, every k.
Environment: builddir, srcdir. Status 0 if no run breaks a rule.
"""
import argparse
import collections
import concurrent.futures
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

src, build = os.path.abspath(os.environ["srcdir"]), os.path.abspath(os.environ["builddir"])
tiny = f"{src}/refdata/tiny"
LIMIT = 60          # seconds, a hundred times the duration of a run
TIMELESS = 9        # columns of the metrics before those of times
ONE_BYTE = -1       # a read or write that handles one byte

# Errors of each kind of call.
FAULTS = {
    "open": [errno.EMFILE, errno.EINTR, errno.EACCES],
    "read": [errno.EIO, errno.EINTR, ONE_BYTE],
    "write": [errno.ENOSPC, errno.EIO, errno.EINTR, ONE_BYTE],
    "fsync": [errno.EIO, errno.EINTR],
    "rename": [errno.ENOSPC, errno.EIO],
    "close": [errno.EIO, errno.EINTR],
    "map": [errno.ENOMEM],
    "malloc": [errno.ENOMEM],
    "thread": [errno.EAGAIN],
}

TABLES = ("-o o.tsv --all --jsonl o.jsonl --kraken o.kraken --report o.kreport --krona o.krona "
          "--cami-binning o.bin --cami-profile o.prof --summary o.json --html o.html --bam o.bam --no-PG")
CLASSIFY = f"classify -q -@ 1 -m {tiny}/model.safetensors"
RESUME = f"{CLASSIFY} --resume --resume-every 0 {TABLES} ../few.fq ../few.fa.gz"
TRAIN = ("train -q -@ 1 --encoder cdil --encoder.channels 8 --encoder.layers 2 --tokenizer base -B 512 "
         "--label-key class --epochs 2 --checkpoint-steps 2 -o o.m --metrics o.metrics.tsv")
# Words of a command; WORK is the folder of the inputs.
CASES = {
    "classify, every output": f"{CLASSIFY} {TABLES} ../reads.fq ../mixed.fa.gz",
    "classify a BAM": f"{CLASSIFY} --no-PG --bam o.bam ../strands.bam",
    "classify a BAM to CRAM": f"{CLASSIFY} --no-PG --reference WORK/strands.fa --bam o.cram ../strands.bam",
    "classify by standard streams": f"{CLASSIFY} -",
    "classify to a folder": f"{CLASSIFY} --split-dir parts --split-gz ../reads.fq",
    "classify --resume": RESUME,
    "classify --resume, again": RESUME,
    "classify --shard": f"{CLASSIFY} --shard 1/2 --manifest o.json -o o.tsv --report o.kreport ../mixed.fa",
    "train": f"{TRAIN} ../two.fa",
    "train --resume": f"{TRAIN} --resume ../two.fa",
    "variant": f"variant -q -@ 1 -m {tiny}/model.safetensors -f ../variants.fa -w 128 -W -o o.vcf.gz "
               "--tsv o.tsv ../variants.vcf",
    "variant to BCF": f"variant -q -@ 1 -m {tiny}/model.safetensors -f ../variants.fa -w 128 -O u -o o.bcf ../variants.vcf",
    "variant of BCF": f"variant -q -@ 1 -m {tiny}/model.safetensors -f ../variants.fa -w 128 -o o.vcf ../variants.bcf",
    "merge": "merge -q -o o.tsv --report o.kreport ../part.1.json ../part.2.json",
    "model label": f"model label --taxonomy ../taxa.tsv {tiny}/model.safetensors o.m",
}
STDIN = {"classify by standard streams": "mixed.fa"}


def htslib_version():
    """(major, minor), (1, 16) without pkg-config"""
    p = subprocess.run("pkg-config --modversion htslib || echo 1.16", shell=True, capture_output=True, text=True)
    return tuple(int(n) for n in p.stdout.split(".")[:2])


HTSLIB = htslib_version()


def run(argv, cwd, fault=None, stdin=None, count=None):
    """(status, stdout, stderr) of a run with a fault; status None: timed out."""
    env = dict(os.environ, LC_ALL="C", OMP_NUM_THREADS="1")
    env.pop("CHORDSEQ_MODEL", None)
    if fault or count:
        env["FAULTS"] = fault or "none 0 0"
        env["LD_PRELOAD"] = f"{build}/tests/stress/faults.so"
        env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    # Files of htslib that fail while they are closed keep their memory: CRAM, and since a version after 1.16 BGZF.
    if "o.cram" in argv or HTSLIB > (1, 16) and any(a.endswith((".bam", ".vcf.gz")) for a in argv):
        env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    if "o.cram" in argv:
        env["FAULTS_CRAM"] = "1"
    if count:
        env["FAULTS_COUNT"] = count
    with open(stdin or os.devnull, "rb") as given:
        p = subprocess.Popen([f"{build}/chordseq"] + argv, cwd=cwd, env=env, stdin=given,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = p.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            return None, b"", ""
    return p.returncode, out, err.decode(errors="replace")


def files(folder):
    """Contents of all files below, without parts that differ between runs."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                data = f.read()
            if name == "o.html":
                data = re.sub(rb"From the first record to the last.*", b"TIME", data)
            if name in ("o.m", "o.m.ckpt"):
                n = 8 + int.from_bytes(data[:8], "little")
                # One header has the time, the other one the command.
                data = (b"" if name == "o.m.ckpt" else data[8:n].replace(b" --resume", b"").rstrip()) + data[n:]
            if name == "o.metrics.tsv":
                data = b"\n".join(b"\t".join(l.split(b"\t")[:TIMELESS]) for l in data.split(b"\n"))
            found[os.path.relpath(path, folder)] = data
    return found


# ---- cases ----------------------------------------------------------------------------------------

class Case:
    def __init__(self, name, work):
        self.name, self.work = name, work
        self.words = CASES[name].replace("WORK", work).split()
        self.stdin = f"{work}/{STDIN[name]}" if name in STDIN else None
        self.trains = name.startswith("train")
        self.resumes = "--resume" in name or self.trains
        self.n_call, self.ref = self.undisturbed()

    def prepare(self, folder):
        """Prepare the folder of the run; in some cases with an interrupted run."""
        os.makedirs(folder)
        if self.name == "classify --resume, again":
            run(self.words, folder, f"fsync {errno.EIO} 80")
        elif self.name == "train --resume":
            run([w for w in self.words if w != "--resume"] + ["--stop-after", "7"], folder)

    def undisturbed(self):
        """Count calls of each kind; keep outputs. Two runs, because a case whose outputs differ between
        runs would detect nothing."""
        refs = []
        for i in range(2):
            folder = f"{self.work}/ref{i}"
            self.prepare(folder)
            status, out, err = run(self.words, folder, stdin=self.stdin, count=f"{self.work}/counts")
            if status != 0:
                sys.exit(f"faults.py: {self.name}: an undisturbed run fails: {err}")
            refs.append((files(folder), out))
            shutil.rmtree(folder)
        for name in refs[0][0]:
            if refs[0][0][name] != refs[1][0].get(name):
                sys.exit(f"faults.py: {self.name}: two undisturbed runs differ in '{name}'")
        with open(f"{self.work}/counts") as f:
            return dict((k, int(n)) for k, n in (l.split() for l in f)), refs[0]

    def parts(self, found):
        """Errors in the files of a failed run."""
        ref, wrong = self.ref[0], []
        for name, data in found.items():
            if data == ref.get(name) or ("--resume" in self.name and re.search(r"\.(part|resume)$", name)):
                continue
            if self.trains and name in ("o.m", "o.m.ckpt"):
                continue        # an earlier one: the next run reads it
            if self.trains and name == "o.metrics.tsv" and ref[name].startswith(data):
                continue
            wrong.append(f"'{name}' is not whole" if name in ref else f"'{name}' is left")
        return wrong

    def go_on(self, folder):
        """Errors of the next run after a failed one."""
        words = list(self.words)
        if self.name == "train" and os.path.exists(f"{folder}/o.m.ckpt"):
            words.append("--resume")
        status, _, err = run(words, folder)
        if status != 0:
            return [f"the next run ends with status {status}: {err.strip()[:300]}"]
        found = files(folder)
        return [f"the next run writes another '{n}'" for n in set(found) | set(self.ref[0])
                if found.get(n) != self.ref[0].get(n)]

    def attempt(self, fault, no):
        """One run with one fault: (was a call failed, status, errors, messages)."""
        folder = f"{self.work}/run{no}"
        self.prepare(folder)
        status, out, err = run(self.words, folder, fault, self.stdin)
        reached = "faults: now\n" in err
        err = err.replace("faults: now\n", "")
        found, wrong = files(folder), []
        if status is None:
            wrong.append("it hangs")
        elif status not in (0, 1):
            wrong.append(f"status {status}")
        if "Sanitizer" in err or "runtime error:" in err:
            wrong.append("a sanitizer complains")
        # Records may have the reason no_memory, see chordseq-classify(1).
        if status == 0 and not any(b"no_memory" in data for data in (out, *found.values())):
            wrong += [f"status 0 with another '{n}'" for n in set(found) | set(self.ref[0])
                      if found.get(n) != self.ref[0].get(n)]
            if out != self.ref[1]:
                wrong.append("status 0 with other standard output")
        if status == 1:
            wrong += message_flaws(err)
        if status != 0:
            wrong += self.parts(found)
            if not self.ref[1].startswith(out):
                wrong.append("other standard output")
            if self.resumes:
                wrong += self.go_on(folder)
        shutil.rmtree(folder)
        return reached, status, wrong, err.strip()


def message_flaws(err):
    """Errors in the messages of a failed run."""
    lines = [l for l in err.splitlines() if "error:" in l or l.startswith("libgomp:")]
    if len(lines) != 1:
        return [f"{len(lines)} sentences of error"]
    if not re.search(r"'[^']+'|standard (in|out)put|[Mm]emory|[Tt]hread", lines[0]):
        return ["no file, memory or thread named"]
    if re.search(r"error: (\w+: )?out of memory$", lines[0]):
        return ["it does not say for what the memory is"]
    return []


# ---- runs of all cases ---------------------------------------------------------------------------

def choose(case, args):
    kinds = [k for k in FAULTS if case.n_call[k] > 0 and (not args.kinds or k in args.kinds.split(","))]
    every = {k: [(k, e, n) for e in FAULTS[k] for n in range(1, case.n_call[k] + 1)] for k in kinds}
    if not args.sample:
        return [f for k in kinds for f in every[k]]
    rng = random.Random(f"{args.seed} {case.name}")
    return sorted({rng.choice(every[kinds[i % len(kinds)]]) for i in range(args.sample)})


def look(case, args, rows):
    n_wrong = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(case.attempt, "%s %d %d" % f, i): f for i, f in enumerate(choose(case, args))}
        for done in concurrent.futures.as_completed(runs):
            kind, e, k = runs[done]
            reached, status, wrong, err = done.result()
            row = rows[case.name, kind]
            row["calls"] = case.n_call[kind]
            row["failed"] += reached
            row["status 0" if status == 0 else "status 1" if status == 1 else "other"] += reached
            row["wrong"] += bool(wrong)
            if wrong:
                n_wrong += 1
                name = errno.errorcode.get(e, "one byte")
                print(f"#   {case.name}: {kind} {k} of {case.n_call[kind]}, {name}: {'; '.join(wrong)}")
                print("".join(f"#     {l}\n" for l in err.splitlines()[:6]), end="", flush=True)
    return n_wrong


# ---- kills, file systems and changing inputs -----------------------------------------------------

def kill_at_moments(case, n, rng):
    """Errors of runs killed (kill -9) at n random moments, and of the next runs."""
    folder, wrong = f"{case.work}/killed", []
    case.prepare(folder)
    start = time.monotonic()
    run(case.words, folder)
    whole = time.monotonic() - start
    shutil.rmtree(folder)
    for i in range(n):
        moment = rng.uniform(0, whole)
        case.prepare(folder)
        p = subprocess.Popen([f"{build}/chordseq"] + case.words, cwd=folder, stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
        time.sleep(moment)
        p.kill()
        if p.wait() == -signal.SIGKILL:
            left = {n: d for n, d in files(folder).items() if ".tmp." not in n}
            bad = case.parts(left)
            for name in os.listdir(folder):     # no process is left to remove them
                if ".tmp." in name:
                    os.remove(f"{folder}/{name}")
            bad += case.go_on(folder)
            wrong += [f"killed after {moment:.3f} of {whole:.3f} s: {b}" for b in bad]
        shutil.rmtree(folder)
    return wrong


def small_disks(case):
    """Errors on small and read-only file systems; None: cannot mount them."""
    folder, wrong = f"{case.work}/disk", []
    os.makedirs(folder, exist_ok=True)
    for option in ["ro"] + [f"size={kb}k" for kb in (4, 8, 16, 32, 64)]:
        mount = ["mount", "-t", "tmpfs", "-o", option, "none", folder]
        if not shutil.which("mount") or subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        try:
            status, _, err = run(case.words, folder)
            found = files(folder)
            bad = [] if status == 0 and found == case.ref[0] else message_flaws(err) + case.parts(found)
            if status not in (0, 1):
                bad.append(f"status {status}")
            wrong += [f"{option}: {b}" for b in bad]
        finally:
            subprocess.run(["umount", folder], check=True)
    return wrong


def failing_disk(case, n, rng):
    """Errors on an ext4 file system that becomes read-only at n random moments, as after disk errors, and of
    the next run after a remount; None: cannot mount it."""
    folder, image, wrong = f"{case.work}/disk", f"{case.work}/image", []
    os.makedirs(folder, exist_ok=True)
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def mount(*options):
        return subprocess.run(["mount", *options, folder], **quiet).returncode == 0

    start = time.monotonic()
    case.prepare(f"{case.work}/timed")
    run(case.words, f"{case.work}/timed")
    whole = time.monotonic() - start
    shutil.rmtree(f"{case.work}/timed")
    for _ in range(n):
        moment = rng.uniform(0, whole)
        with open(image, "wb") as f:
            f.truncate(16 << 20)
        if not (shutil.which("mkfs.ext4") and shutil.which("mount")
                and subprocess.run(["mkfs.ext4", "-q", image], **quiet).returncode == 0
                and mount("-o", "loop", image)):
            return None
        at = f"{folder}/x/x"
        try:
            os.makedirs(f"{folder}/x")
            for name in os.listdir(case.work):
                if os.path.isfile(f"{case.work}/{name}") and name != "image":
                    os.symlink(f"{case.work}/{name}", f"{folder}/x/{name}")
            case.prepare(at)
            subprocess.run(["sync", "-f", folder], check=True)
            p = subprocess.Popen([f"{build}/chordseq"] + case.words, cwd=at, stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env=dict(os.environ, OMP_NUM_THREADS="1"))
            time.sleep(moment)
            if not mount("-o", "remount,abort"):
                p.kill()
                p.communicate()
                return None
            err = p.communicate(timeout=LIMIT)[1].decode()
            found = {k: d for k, d in files(at).items() if ".tmp." not in k}   # it cannot remove them
            bad = [f"status {p.returncode}"] if p.returncode not in (0, 1) else []
            bad += message_flaws(err) + case.parts(found) if p.returncode == 1 else []
            bad += ["status 0 with other files"] if p.returncode == 0 and found != case.ref[0] else []
            if case.resumes:
                subprocess.run(["umount", folder], check=True)
                mount("-o", "loop", image)
                os.makedirs(at, exist_ok=True)
                for name in os.listdir(at):
                    if ".tmp." in name:
                        os.remove(f"{at}/{name}")
                bad += case.go_on(at)
            wrong += [f"read-only after {moment:.3f} of {whole:.3f} s: {b}" for b in bad]
        finally:
            subprocess.run(["umount", folder], check=True)
            os.remove(image)
    return wrong


def changing_input(work, rng):
    """Errors with an input that shrinks or grows during the run. The run must end, and its output has the records
    read, complete except for the last one. A run with status 0 has read a whole file or warns that it grew."""
    path, wrong = f"{work}/changing.fa", []
    text = "".join(f">c{i}\n{''.join(rng.choices('ACGT', k=300))}\n" for i in range(8000))
    with open(path, "w") as f:
        f.write(text)
    _, ref, _ = run(f"{CLASSIFY} {path}".split(), work)
    for grows in (False, True):
        for _ in range(5):
            with open(path, "w") as f:
                f.write(text)
            p = subprocess.Popen([f"{build}/chordseq"] + f"{CLASSIFY} {path}".split(), stderr=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
            time.sleep(rng.uniform(0, 0.1))
            with open(path, "r+") as f:
                f.seek(0, os.SEEK_END) if grows else f.truncate(rng.randrange(len(text)))
                f.write(">new\nACGTACGTACGT\n" if grows else "")
            out, err = p.communicate(timeout=LIMIT)
            lines = out.splitlines()[:-1]
            if p.returncode not in (0, 1) or (p.returncode == 1 and message_flaws(err.decode())):
                wrong.append(f"status {p.returncode}: {err.decode()}")
            elif lines != ref.splitlines()[:len(lines)]:
                wrong.append("other lines")
            elif p.returncode == 0 and not grows:
                # It changed before opening or after reading.
                with open(path) as f:
                    whole = (f.read().count(">"), len(ref.splitlines()) - 1)
                if len(lines) not in whole:
                    wrong.append(f"status 0 with {len(lines)} records, but not of {whole}")
    os.remove(path)
    return wrong


def look_at_rest(work, args, no):
    """Run the tests of --moments; the number of those with errors."""
    n_wrong = 0
    rng = random.Random(args.seed)
    n = args.moments
    again = [Case(name, work) for name in ("classify --resume", "train")]
    for what, look in [(f"killed at {n} moments: {c.name}", lambda c=c: kill_at_moments(c, n, rng)) for c in again] + [
            ("small disks", lambda: small_disks(Case("classify, every output", work))),
            (f"read-only at {n} moments: classify, every output",
             lambda: failing_disk(Case("classify, every output", work), n, rng)),
            (f"read-only at {n} moments: classify --resume", lambda: failing_disk(again[0], n, rng)),
            ("an input that changes", lambda: changing_input(work, rng))]:
        wrong, no = look(), no + 1
        print("".join(f"#   {w}\n" for w in wrong or []), end="")
        skip = " # SKIP cannot mount a file system" if wrong is None else ""
        print(f"{'not ok' if wrong else 'ok'} {no} - {what}{skip}", flush=True)
        n_wrong += bool(wrong)
    return n_wrong


def make_inputs(work):
    rng = random.Random(1)

    def dna(n, of="ACGT"):
        return "".join(rng.choice(of) for _ in range(n))

    def put(name, text):
        with open(f"{work}/{name}", "w") as f:
            f.write(text)

    def tool(*argv):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=work)

    for name in ("reads.fq", "mixed.fa", "strands.sam", "strands.fa", "strands.fa.fai", "variants.fa",
                 "variants.vcf"):
        shutil.copy(f"{tiny}/{name}", f"{work}/{name}")
    tool("gzip", "-k", "mixed.fa")
    put("few.fq", "".join(f"@q{i}\n{dna(60)}\n+\n{'I' * 60}\n" for i in range(4)))
    put("few.fa", "".join(f">f{i}\n{dna(90)}\n" for i in range(4)))
    tool("gzip", "few.fa")
    put("two.fa", "".join(f">r{i} class={'at' if i % 2 else 'gc'}\n"
                          f"{dna(90, 'ATTAACATTG' if i % 2 else 'GCCGGAGCCT')}\n" for i in range(30)))
    put("taxa.tsv", "classA\t2\tsuperkingdom\t1\nclassB\t2157\tsuperkingdom\t1\n"
                    "classC\t10239\tsuperkingdom\t1\n")
    chordseq = f"{build}/chordseq"
    tool(chordseq, *f"{CLASSIFY} --no-PG --bam strands.bam strands.sam".split())
    tool(chordseq, *f"variant -qq -m {tiny}/model.safetensors -f variants.fa -w 128 -o variants.bcf variants.vcf".split())
    for i in (1, 2):
        tool(chordseq, *f"{CLASSIFY} --shard {i}/2 --manifest part.{i}.json -o part.{i}.tsv "
             f"--report part.{i}.kreport mixed.fa".split())


def print_table(path, rows):
    columns = ["calls", "failed", "status 0", "status 1", "other", "wrong"]
    with open(path, "w") as f:
        print("command", "kind", *columns, sep="\t", file=f)
        for (case, kind), row in rows.items():
            print(case, kind, *(row[c] for c in columns), sep="\t", file=f)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sample", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--kinds")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--table")
    p.add_argument("--moments", type=int, help="also kill -9 at so many, small disks, changing inputs")
    args = p.parse_args()
    rows = collections.defaultdict(collections.Counter)
    n_wrong = 0
    work = tempfile.mkdtemp(prefix="chordseq-faults.")
    try:
        make_inputs(work)
        for i, name in enumerate(c for c in CASES if not args.only or args.only == c):
            bad = look(Case(name, work), args, rows)
            n = sum(r["failed"] for (c, _), r in rows.items() if c == name)
            print(f"{'not ok' if bad else 'ok'} {i + 1} - {name}: {n} calls failed", flush=True)
            n_wrong += bad
        if args.moments:
            n_wrong += look_at_rest(work, args, i + 1)
    finally:
        shutil.rmtree(work)
    if args.table:
        print_table(args.table, rows)
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
