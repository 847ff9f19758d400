"""The program `chordseq`: where it is, and how it is run."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from .errors import ProgramError, UsageError, system_error

OWN = Path(__file__).resolve().parent / "bin/chordseq"

#: Where another build for this package is installed, with its own bin and lib: the one with CUDA.
BESIDE = OWN.parent.parent.with_name("chordseq_cuda")


def beside(name):
    """Path of a file of the build in BESIDE; None: there is none."""
    found = BESIDE / name
    return str(found) if found.exists() else None


def path():
    """The program: CHORDSEQ_PROGRAM, one of a build beside this package, the wheel's, or that in PATH."""
    found = os.environ.get("CHORDSEQ_PROGRAM") or beside("bin/chordseq")
    found = found or (str(OWN) if OWN.exists() else shutil.which("chordseq"))
    if not found:
        raise FileNotFoundError("there is no program 'chordseq'; install it, or name it in "
                                "CHORDSEQ_PROGRAM")
    return found


def main():
    """The console script: becomes the program; CHORDSEQ_PROGRAM may name this very script."""
    os.execv(beside("bin/chordseq") or OWN, ["chordseq", *sys.argv[1:]])


def arguments(options):
    """Keyword arguments as the command line has them: min_prob=0.9, rc=True, input=["a", "b"]."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append("--" + name.replace("_", "-"))
            elif one is not None and one is not False:
                words += ["--" + name.replace("_", "-"), os.fspath(one) if isinstance(one, os.PathLike)
                          else str(one)]
    return words


def fail(status, said):
    """Raise an exception with the program's error message."""
    said = said.splitlines()
    lines = [s.split("error: ", 1)[1] for s in said if "error: " in s] or [s for s in said if s.strip()]
    text = "; ".join(lines) or f"chordseq ended with status {status}"
    raise UsageError(text) if status == 2 else system_error(text) or ProgramError(text)


def warn(said):
    """Python warnings of the program's warnings, at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame, level = frame.f_back, level + 1
    for line in said.splitlines():
        if "warning: " in line:
            warnings.warn(line.split("warning: ", 1)[1], stacklevel=level)


class Run:
    """A run of the program, whose standard output is read line by line; `with` ends it.

    It has a session of its own: a terminal sends Ctrl-C to Python alone, which then sends one
    SIGTERM. At a second signal the program would exit at once, without a checkpoint.
    """

    def __init__(self, command, *words, stdout=subprocess.PIPE):
        self.said = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen([path(), command, *words], stdin=subprocess.DEVNULL,
                                        stdout=stdout, stderr=self.said, encoding="utf-8",
                                        errors="surrogateescape", start_new_session=True)
        self.owner = os.getpid()
        atexit.register(self._stop)          # where nothing else has ended it

    def _stop(self):
        if os.getpid() == self.owner:        # not in a forked process
            self.process.terminate()
            self.process.wait()

    def __enter__(self):
        return self.process

    def __exit__(self, kind, *rest):
        atexit.unregister(self._stop)
        if kind is not None:
            self.process.terminate()
        if self.process.stdout:
            self.process.stdout.close()
        status = self.process.wait()
        with self.said as said:
            said.seek(0)
            if kind is None:
                fail(status, said.read()) if status != 0 else warn(said.read())


def run(command, *words):
    """Run the program to its end; raises UsageError, FileError or ProgramError with its message, and warns."""
    with Run(command, "-q", *words, stdout=subprocess.DEVNULL):
        pass
