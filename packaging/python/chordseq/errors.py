"""Errors, with the messages of the program and the library."""
import errno
import os
import re


class Error(Exception):
    """Base of all errors that chordseq reports."""


class UsageError(Error, ValueError):
    """An argument or option is invalid, or the model does not support it."""


class FileError(Error, OSError):
    """The operating system refused to read or write."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class FormatError(Error, ValueError):
    """An input or model file is damaged, or a letter is not a nucleotide code."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class DeviceError(Error, RuntimeError):
    """The compute device failed or does not exist."""


class ModelError(Error, ValueError):
    """The model does not exist, or does not predict for sequences."""


class ProgramError(Error, RuntimeError):
    """The program failed, with its message."""


#: Exceptions for the error codes of chordseq(3).
BY_CODE = {-1: UsageError, -2: FileError, -3: FormatError, -4: OutOfMemoryError, -5: DeviceError,
           -6: ModelError}

_NUMBERS = {os.strerror(number): number for number in errno.errorcode}


def system_error(text):
    """The FileError of a message that ends with the operating system's reason, or None."""
    for reason in re.findall(r"': ([^;']+)(?=;|$)", text):
        if reason in _NUMBERS:
            number = _NUMBERS[reason]
            error = (MissingFileError if number == errno.ENOENT else FileError)(text)
            error.errno = number
            return error
    return None
