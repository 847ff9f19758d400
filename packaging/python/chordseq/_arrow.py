"""Arrow's C data interface for tables, so that pyarrow, polars, pandas and DuckDB read them without pyarrow.

The structs and flags are those of arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html;
the capsules those of its PyCapsule interface.
"""
import ctypes
import errno
from ctypes import (CFUNCTYPE, POINTER, PYFUNCTYPE, c_char_p, c_int, c_int64, c_void_p, py_object,
                    pythonapi)

import numpy as np

NULLABLE = 2


class Schema(ctypes.Structure):
    """struct ArrowSchema"""


class Array(ctypes.Structure):
    """struct ArrowArray"""


class Stream(ctypes.Structure):
    """struct ArrowArrayStream"""


Release = CFUNCTYPE(None, c_void_p)
Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64),
                   ("n_children", c_int64), ("children", POINTER(POINTER(Schema))),
                   ("dictionary", POINTER(Schema)), ("release", Release), ("private_data", c_void_p)]
Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                  ("n_children", c_int64), ("buffers", POINTER(c_void_p)),
                  ("children", POINTER(POINTER(Array))), ("dictionary", POINTER(Array)),
                  ("release", Release), ("private_data", c_void_p)]
Stream._fields_ = [("get_schema", CFUNCTYPE(c_int, c_void_p, POINTER(Schema))),
                   ("get_next", CFUNCTYPE(c_int, c_void_p, POINTER(Array))),
                   ("get_last_error", CFUNCTYPE(c_void_p, c_void_p)), ("release", Release),
                   ("private_data", c_void_p)]

#: What consumers still read, by struct.private_data: it is unchanged when they move a struct.
_held = {}
# Prototypes of their own: other packages set the types of ctypes.pythonapi's functions, too.
_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_pointer_of = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))


def _clear(struct):
    """A consumer's struct may hold anything before it is filled."""
    ctypes.memset(ctypes.addressof(struct), 0, ctypes.sizeof(struct))


def _hold(struct, *objects):
    """Keep objects until the struct is released."""
    number = id(objects)
    _held[number] = objects
    struct.private_data = number


def _release_of(kind):
    @Release
    def release(address):
        struct = kind.from_address(address)
        for i in range(getattr(struct, "n_children", 0)):
            child = struct.children[i].contents
            if child.release:
                child.release(ctypes.addressof(child))
        _held.pop(struct.private_data, None)
        struct.release = Release()
    return release


_release = {kind: _release_of(kind) for kind in (Schema, Array, Stream)}


def _pointers(kind, structs):
    return (POINTER(kind) * len(structs))(*map(ctypes.pointer, structs))


# ---- columns ------------------------------------------------------------------------------------

_FORMATS = {"f4": b"f", "f8": b"g", "i1": b"c", "u1": b"C", "i2": b"s", "i4": b"i", "i8": b"l", "b1": b"b"}


def _format(column):
    """Format string of a column; large_utf8 for texts."""
    return _FORMATS.get(column.dtype.str[1:], b"U")


def _fill_schema(schema, fmt, name, children=()):
    _clear(schema)
    schema.format, schema.name, schema.flags = fmt, name.encode(errors="replace"), NULLABLE
    schema.n_children = len(children)
    pointers = _pointers(Schema, children)
    schema.children = pointers
    schema.release = _release[Schema]
    _hold(schema, fmt, schema.name, pointers, children)


def _texts(column):
    """Validity (None: all valid), offsets and bytes of a column of texts; None is null."""
    # Arrow's texts are UTF-8; names of files may be anything.
    data = [b"" if text is None else str(text).encode(errors="replace") for text in column]
    offsets = np.zeros(len(data) + 1, "i8")
    np.cumsum([len(text) for text in data], out=offsets[1:])
    valid = np.array([text is not None for text in column], bool)
    bits = None if valid.all() else np.packbits(valid, bitorder="little")
    return [bits, offsets, np.frombuffer(b"".join(data) or b"\0", "u1")], int(len(valid) - valid.sum())


def _fill_array(array, n, buffers, n_null=0, children=()):
    addresses = (c_void_p * len(buffers))(*[None if b is None else b.ctypes.data for b in buffers])
    pointers = _pointers(Array, children)
    _clear(array)
    array.length, array.null_count, array.offset = n, n_null, 0
    array.n_buffers, array.buffers = len(buffers), addresses
    array.n_children, array.children = len(children), pointers
    array.release = _release[Array]
    _hold(array, buffers, addresses, pointers, children)


def _column(column):
    """Array of one column. Fields of a table are interleaved, so the values are copied once."""
    array, n_null = Array(), 0
    if _format(column) == b"U":
        buffers, n_null = _texts(column)
    elif column.dtype.kind == "b":
        buffers = [None, np.packbits(column, bitorder="little")]
    else:
        buffers = [None, np.ascontiguousarray(column)]
    _fill_array(array, len(column), buffers, n_null)
    return array


def _fill_table_schema(schema, columns):
    children = [Schema() for _ in columns]
    for child, (name, column) in zip(children, columns.items()):
        _fill_schema(child, _format(column), name)
    _fill_schema(schema, b"+s", "", children)
    schema.flags = 0


def _fill_table(array, n, columns):
    _fill_array(array, n, [None], 0, [_column(c) for c in columns.values()])


# ---- capsules -----------------------------------------------------------------------------------

_names = {Schema: b"arrow_schema", Array: b"arrow_array", Stream: b"arrow_array_stream"}


def _destructor_of(kind):
    @CFUNCTYPE(None, c_void_p)
    def destroy(capsule):
        address = _pointer_of(capsule, _names[kind])
        struct = kind.from_address(address)
        if struct.release:
            struct.release(address)
        _held.pop(("capsule", address), None)
    return destroy


_destructor = {kind: _destructor_of(kind) for kind in _names}


def _capsule(struct):
    """A PyCapsule that owns a struct: a consumer moves its content out, or it is released."""
    kind, address = type(struct), ctypes.addressof(struct)
    _held["capsule", address] = struct
    return _new_capsule(address, _names[kind], ctypes.cast(_destructor[kind], c_void_p))


class Columns:
    """{name: array of one dimension} with the PyCapsule methods."""

    def __init__(self, columns, n):
        self.columns, self.n = columns, n

    def __arrow_c_schema__(self):
        schema = Schema()
        _fill_table_schema(schema, self.columns)
        return _capsule(schema)

    def __arrow_c_array__(self, requested_schema=None):
        array = Array()
        _fill_table(array, self.n, self.columns)
        return self.__arrow_c_schema__(), _capsule(array)

    def __arrow_c_stream__(self, requested_schema=None):
        """One batch."""
        left, last_error = [self.columns], [None]

        def guarded(fill, out):
            """0, or EINVAL with get_last_error(): ctypes would return 0 after an exception."""
            _clear(out.contents)
            try:
                fill(out.contents)
            except Exception as error:
                _clear(out.contents)
                text = f"{type(error).__name__}: {error}".encode(errors="replace")
                last_error[0] = ctypes.create_string_buffer(text)
                return errno.EINVAL
            return 0

        def get_schema(_, out):
            return guarded(lambda schema: _fill_table_schema(schema, self.columns), out)

        def get_next(_, out):
            return guarded(lambda array: left and _fill_table(array, self.n, left.pop()), out)

        # An address: ctypes has no way to free a char * that a callback returns.
        def get_last_error(_):
            return last_error[0] and ctypes.addressof(last_error[0])
        stream, types = Stream(), dict(Stream._fields_)
        functions = types["get_schema"](get_schema), types["get_next"](get_next), \
            types["get_last_error"](get_last_error)
        stream.get_schema, stream.get_next, stream.get_last_error = functions
        stream.release = _release[Stream]
        _hold(stream, functions)
        return _capsule(stream)
