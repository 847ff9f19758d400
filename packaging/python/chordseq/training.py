"""Training, by the program."""
from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
import time
from typing import Any, Iterator, Optional

from . import _program
from .errors import Error
from .model import PathLike
from .tables import number

_WAIT = 0.05                     # seconds between two looks at the table of metrics


def stamp(path):
    """State of a file that changes when the program writes it again; None without a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _finished(checkpoint):
    """Epochs that a checkpoint has finished; 0 if there is none. `train` says what is wrong with another file."""
    if not os.path.exists(checkpoint):
        return 0
    try:
        with _program.Run("model", "-qq", "show", "--", os.fspath(checkpoint)) as process:
            shown = [line.rstrip("\n").split("\t") for line in process.stdout]
    except Error:
        return 0
    return next((int(row[1]) for row in shown if row[0] == "finished epochs"), 0)


def _rows(path):
    """Rows of a table of metrics, which its suffix may have compressed or separated by commas."""
    plain, packed = os.path.splitext(path)
    is_packed = packed in (".gz", ".bgz")
    comma = (plain if is_packed else path).endswith(".csv")
    try:
        with (gzip.open if is_packed else open)(path, "rt", encoding="utf-8") as f:
            head, *rows = [line.rstrip("\r\n").split("," if comma else "\t") for line in f]
    except (FileNotFoundError, ValueError):
        return []
    return [dict(zip(head, map(number, row))) for row in rows]


def train(inputs: Any, output: PathLike, *, metrics: Optional[PathLike] = None, **options: Any
          ) -> Iterator[dict[str, float]]:
    """Train a model with `chordseq train`; yields a dict of metrics after every epoch.

    inputs   a path, or a list of paths
    output   file of the model, written whenever validation improves
    metrics  file to keep the table of metrics in, or None; the program replaces an old one
    options  those of `chordseq train` with _ for -: label_key="class", preset="fast", budget="10m",
             epochs=5, ...; names with a dot by **{"encoder.track": 8}

    The dicts have the columns of --metrics: epoch, step, lr, train_loss, train_acc, valid_loss,
    valid_acc, valid_balanced_acc, valid_mcc, seconds, tokens_per_s, and valid_r2 of a regression;
    NaN for missing values. Training starts with the first iteration. Leaving the loop pauses the
    run with a checkpoint; resume=True continues from it, with the first unfinished epoch.
    """
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs or [])
    if not paths:
        raise ValueError("no file to train on is given")
    with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
        keep = metrics is not None and os.fspath(metrics) != os.devnull
        table = os.fspath(metrics) if keep else os.path.join(folder, "metrics.tsv")
        old, n_done = stamp(table), 0
        if options.get("resume"):
            n_done = _finished(options.get("checkpoint") or os.fspath(output) + ".ckpt")
        words = ["-q", *_program.arguments(options), "--output", os.fspath(output), "--metrics",
                 table, "--", *map(os.fspath, paths)]
        with _program.Run("train", *words, stdout=subprocess.DEVNULL) as process:
            while True:
                running = process.poll() is None
                rows = _rows(table) if stamp(table) != old else []
                for row in rows:
                    if row["epoch"] > n_done:
                        n_done = row["epoch"]
                        yield row
                if not running:
                    return
                time.sleep(_WAIT)
