"""Names and bases of any container of sequences, in batches of bounded size."""
import io
import numbers
import os
import re

from .errors import FormatError

#: A batch ends at so many bases or records, whichever comes first.
BATCH_BASES, BATCH_RECORDS = 1 << 21, 1 << 14

_LIKE_A_FILE = re.compile(r"[/\\]|[.](fa|fna|fasta|fq|fastq|sam|bam|cram)([.]|$)", re.IGNORECASE)


#: Left out, as the library does: they are no bases.
_BLANKS = b" \t\n\v\f\r"


def _plain(sequence):
    """str, bytes or a buffer as bytes without blanks; None: it is something else."""
    raw = _raw(sequence)
    return None if raw is None else raw.translate(None, _BLANKS)


def _raw(sequence):
    if isinstance(sequence, str):
        try:
            return sequence.encode("ascii")
        except UnicodeEncodeError as error:
            letter = sequence[error.start]
            raise FormatError(f"'{letter}' at position {error.start} is not a nucleotide code") from None
    if isinstance(sequence, bytes):
        return sequence
    if hasattr(sequence, "__bytes__"):                       # Bio.Seq.Seq
        return bytes(sequence)
    try:
        view = memoryview(sequence)
    except TypeError:
        return None
    return bytes(view) if view.itemsize == 1 else None


def _record(r):
    """(name, sequence) of a record of pysam, Biopython, pyfaidx or alike; None: it is none."""
    if hasattr(r, "get_forward_sequence"):                   # pysam.AlignedSegment
        return r.query_name, r.get_forward_sequence() or ""
    if hasattr(r, "sequence"):                               # pysam.FastxRecord
        return getattr(r, "name", None), r.sequence
    if hasattr(r, "seq"):                                    # Biopython, pyfaidx.Sequence
        return getattr(r, "id", None) or getattr(r, "name", None), r.seq
    if hasattr(r, "unpadded_len"):                           # pyfaidx.FastaRecord
        return r.name, str(r)
    return None


def pair(item, number):
    """(name, bases) of one item; its name is its number where it has none."""
    name, found = str(number), None
    if isinstance(item, os.PathLike):
        raise TypeError(f"sequence {number} is a path; files are read one by one, each as the only argument")
    if not isinstance(item, (str, bytes)):
        found = _record(item)
    if found is None and isinstance(item, tuple) and len(item) == 2:
        inner = _record(item[1])                             # of a mapping of records
        found = item[0], item[1] if inner is None else inner[1]
    bases = _plain(item if found is None else found[1])
    if found is not None:
        name = name if found[0] is None else str(found[0])
        if bases is None and type(found[1]).__str__ is not object.__str__ \
                and not isinstance(found[1], (numbers.Number, list, tuple, dict, set, type(None))):
            bases = _plain(str(found[1]))                    # pyfaidx.Sequence, and alike
    if bases is None:
        item = item if found is None else found[1]
        raise TypeError(f"sequence {name if name == str(number) else repr(name)} is of type {type(item).__name__}; "
                        "give str, bytes, (name, sequence), or records of pysam, Biopython or pyfaidx")
    return name, bases


def _of_letters(sequences):
    """Is it a buffer of letters, such as a bytearray or a NumPy array of S1?"""
    try:
        view = memoryview(sequences)
    except TypeError:
        return False
    return view.itemsize == 1 and view.ndim == 1 and view.format != "?"


def items(sequences):
    """An iterable of what pair() takes."""
    if isinstance(sequences, str) and len(sequences) < 4096:
        if os.path.exists(sequences):
            raise ValueError(f"'{sequences}' is a file; give pathlib.Path({sequences!r}) to read it")
        if _LIKE_A_FILE.search(sequences):
            raise ValueError(f"'{sequences}' is no sequence, and there is no such file")
    if isinstance(sequences, io.IOBase):
        raise TypeError("an open file is no sequence; give pathlib.Path of it")
    if hasattr(sequences, "columns") and hasattr(sequences, "index"):
        raise TypeError("a DataFrame is no sequence; give one column, such as frame.set_index('name')['sequence']")
    if isinstance(sequences, str) or _record(sequences) is not None:
        return [sequences]
    if isinstance(sequences, bytes) or hasattr(sequences, "__bytes__") or _of_letters(sequences):
        return [sequences]
    if hasattr(sequences, "items"):                          # dict, pandas.Series, pyfaidx.Fasta
        return sequences.items()
    try:
        return iter(sequences)
    except TypeError:
        return [sequences]


def batches(sequences):
    """Yield (names, list of bytes), in order."""
    names, data, n_base = [], [], 0
    for number, item in enumerate(items(sequences)):
        # What most callers have, without the price of two calls for a short read.
        if type(item) is tuple and len(item) == 2 and type(item[1]) is type(item[0]) is str \
                and item[1].isascii():
            name, bases = item[0], item[1].encode().translate(None, _BLANKS)
        else:
            name, bases = pair(item, number)
        if data and (n_base + len(bases) > BATCH_BASES or len(data) >= BATCH_RECORDS):
            yield names, data
            names, data, n_base = [], [], 0
        names.append(name)
        data.append(bases)
        n_base += len(bases)
    if data:
        yield names, data
