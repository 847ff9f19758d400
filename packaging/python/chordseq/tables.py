"""Tables of predictions: NumPy structured arrays with names of outputs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrow


class Table(np.recarray):
    """A structured array with a row per sequence, variant or base: t["label"], t[0], t[t["length"] > 500].

    Fields are also attributes (t.label), except names of array attributes (base, T).

    `outputs` names the columns of the field `probabilities` or `values`, which has the shape
    (rows, outputs).
    """

    outputs: tuple[str, ...]

    if TYPE_CHECKING:
        def __getitem__(self, key: Any) -> Any:
            """A column, a row, or a Table of some rows."""

    def __new__(cls, n, dtype, outputs=()):
        self = super().__new__(cls, (n,), dtype=np.dtype(dtype))
        self.outputs = tuple(outputs)
        return self

    def __array_finalize__(self, other):
        super().__array_finalize__(other)
        self.outputs = getattr(other, "outputs", ())

    def __reduce__(self):
        function, arguments, state = super().__reduce__()
        return function, arguments, (state, self.outputs)

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.outputs = state[1]

    def columns(self) -> dict[str, np.ndarray]:
        """{name: array of one dimension}; a field of several outputs becomes prob_OUTPUT or OUTPUT."""
        found = {}
        for name in self.dtype.names:
            column = np.asarray(self[name])
            if column.ndim == 1:
                found[name] = column
            else:
                prefix = "prob_" if name == "probabilities" else ""
                for i, output in enumerate(self.outputs):
                    found[prefix + output] = column[:, i]
        return found

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with these columns."""
        import pandas
        return pandas.DataFrame({name: np.ascontiguousarray(c) for name, c in self.columns().items()})

    def to_arrow(self) -> Any:
        """A pyarrow.Table with these columns."""
        import pyarrow
        return pyarrow.table(self.arrow())

    def arrow(self) -> _arrow.Columns:
        """These columns through Arrow's C data interface, without pyarrow: for polars.DataFrame(),
        pandas.DataFrame.from_arrow(), DuckDB, pyarrow.table() and other readers of `__arrow_c_stream__`."""
        return _arrow.Columns(self.columns(), len(self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)


def join(tables, empty):
    """Concatenate tables in order; `empty` without any."""
    tables = list(tables)
    if len(tables) <= 1:
        return tables[0] if tables else empty
    joined = Table(sum(map(len, tables)), tables[0].dtype, tables[0].outputs)
    at = 0
    for t in tables:
        joined[at:at + len(t)] = t
        at += len(t)
    return joined


def number(text):
    """The number of a table's field; NaN for '.'."""
    return float("nan") if text in (".", "NA", "") else float(text)


def columns_of(head, rows, fields):
    """A table of text columns: the fields of `fields`, {name: type}, and float64 for all others."""
    types = [(name, fields.get(name, "f8")) for name in head]
    table = Table(len(rows), types)
    for i, (name, kind) in enumerate(types):
        texts = [row[i] for row in rows]
        if kind == "f8":
            table[name] = [number(x) for x in texts]
        elif kind in ("i8", "i4"):
            table[name] = [int(x) for x in texts]
        elif kind == "?":
            table[name] = [x == "1" for x in texts]
        else:
            table[name] = texts
    return table
