"""libchordseq by ctypes: declarations, and nothing else. See chordseq(3)."""
import ctypes
import os
import re
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np

from ._program import beside
from .errors import BY_CODE, Error, FileError, system_error

OWN = Path(__file__).resolve().parent / "lib/libchordseq.so.0"

#: struct chordseq_call
CALL = np.dtype([("reason", "i4"), ("class_no", "i4"), ("probability", "f4"), ("taxid", "i8"),
                 ("label", "u8"), ("rank", "u8")], align=True)


def find_library():
    """Path of the library: CHORDSEQ_LIBRARY, a build beside this package, the wheel's, the system's."""
    found = os.environ.get("CHORDSEQ_LIBRARY") or beside("lib/libchordseq.so.0")
    return found or (str(OWN) if OWN.exists() else "libchordseq.so.0")


def _load():
    path = find_library()
    try:
        lib = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load libchordseq: {error}; install the wheel, or name the library in "
                          "CHORDSEQ_LIBRARY") from None
    texts, sizes = POINTER(c_char_p), POINTER(c_size_t)
    for name, result, arguments in [
            ("version", c_char_p, []),
            ("cpu_count", c_int, []),
            ("last_error", c_char_p, []),
            ("reason", c_char_p, [c_int]),
            ("open", c_int, [c_char_p, texts, POINTER(c_void_p)]),
            ("share_threads", c_int, [c_void_p, c_int, POINTER(c_void_p)]),
            ("close", None, [c_void_p]),
            ("n_output", c_int32, [c_void_p]),
            ("output_name", c_char_p, [c_void_p, c_int32]),
            ("n_dim", c_int32, [c_void_p]),
            ("n_token_dim", c_int32, [c_void_p]),
            ("max_length", c_int64, [c_void_p]),
            ("checksum", c_char_p, [c_void_p]),
            ("classify_many", c_int, [c_void_p, texts, sizes, c_size_t, c_void_p, c_void_p]),
            ("embed_many", c_int, [c_void_p, texts, sizes, c_size_t, c_void_p, c_void_p]),
            ("max_tokens", c_size_t, [c_void_p, c_size_t]),
            ("tokenize", c_int, [c_void_p, c_char_p, c_size_t, c_void_p, POINTER(c_size_t)]),
            ("token_text", None, [c_void_p, c_int32, c_char_p, c_size_t]),
            ("embed_tokens", c_int, [c_void_p, c_char_p, c_size_t, c_size_t, c_void_p,
                                     POINTER(c_int32)]),
            ("windows", c_int64, [c_void_p, c_int64, c_void_p, c_void_p])]:
        try:
            function = getattr(lib, "chordseq_" + name)
        except AttributeError:
            raise ImportError(f"'{path}' is older than this package: it has no chordseq_{name}()") from None
        function.restype, function.argtypes = result, arguments
    return lib


lib = _load()


# Options in messages of the library, whose keywords have "_", but not in paths.
_OPTION = re.compile(r"(?<![\w/.-])(long-sequence|window-(length|overlap)|(max|min)-(error|prob|length|unknown|memory))"
                     r"(?![\w/.-])|(?<=there is no option ')[^']*")


def check(code):
    """Raise the exception of an error code of the library, with its message and the names of keywords."""
    if code != 0:
        text = lib.chordseq_last_error().decode(errors="replace")
        text = _OPTION.sub(lambda found: found[0].replace("-", "_"), text)
        kind = BY_CODE.get(code, Error)
        raise (system_error(text) if kind is FileError else None) or kind(text)


def reasons():
    """Why there is no call, by number; "." for 0."""
    names = []
    while (name := lib.chordseq_reason(len(names))) is not None:
        names.append(name.decode())
    return names
