"""Training, by the program."""
from __future__ import annotations

import os
import subprocess
import tempfile
import time
from typing import Any, Iterator, Optional

from . import _program
from .model import PathLike
from .tables import number

_WAIT = 0.05                     # seconds between two looks at the table of metrics


def _rows(path):
    try:
        with open(path, encoding="utf-8") as f:
            head, *rows = [line.rstrip("\n").split("\t") for line in f]
    except (FileNotFoundError, ValueError):
        return []
    return [dict(zip(head, map(number, row))) for row in rows]


def train(inputs: Any, output: PathLike, *, metrics: Optional[PathLike] = None, **options: Any
          ) -> Iterator[dict[str, float]]:
    """Train a model with `chordseq train`; yields a dict of metrics after every epoch.

    inputs   a path, or a list of paths
    output   file of the model, written whenever validation improves
    metrics  file to keep the table of metrics in, or None
    options  those of `chordseq train` with _ for -: label_key="class", preset="fast", budget="10m",
             epochs=5, ...; names with a dot by **{"encoder.track": 8}

    The dicts have the columns of --metrics: epoch, step, lr, train_loss, train_acc, valid_loss,
    valid_acc, valid_balanced_acc, valid_mcc, seconds, tokens_per_s; NaN where there is none. Nothing
    runs before the first is asked for; leaving the loop pauses the run with a checkpoint, which
    resume=True continues.
    """
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs or [])
    if not paths:
        raise ValueError("no file to train on is given")
    with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
        table = os.fspath(metrics) if metrics is not None else os.path.join(folder, "metrics.tsv")
        if os.path.exists(table) and not options.get("resume"):
            os.remove(table)
        words = ["-qq", *_program.arguments(options), "--output", os.fspath(output), "--metrics",
                 table, "--", *map(os.fspath, paths)]
        n_seen = len(_rows(table))
        with _program.Run("train", *words, stdout=subprocess.DEVNULL) as process:
            while True:
                running = process.poll() is None
                rows = _rows(table)
                yield from rows[n_seen:]
                n_seen = max(n_seen, len(rows))
                if not running:
                    return
                time.sleep(_WAIT)
