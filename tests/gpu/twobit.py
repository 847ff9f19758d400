#!/usr/bin/env python3
"""twobit.py - FASTA in a quarter of its size, for machines to which little can be sent.

    twobit.py pack FILE.fa[.gz]... > FILE.2bit
    twobit.py unpack FILE.2bit > FILE.fa

A line of JSON (compressed, its length before it) has names, lengths and runs of other letters than
ACGT; then the bases of each record follow, four to a byte, the first in the high bits. Case is lost.
"""
import gzip
import json
import re
import struct
import sys
import zlib

LETTERS = b"ACGT"
CODE = bytes.maketrans(b"CGT", b"\1\2\3")
FOUR = [bytes(LETTERS[b >> s & 3] for s in (6, 4, 2, 0)) for b in range(256)]


def records(path):
    """(header, sequence) of a FASTA file."""
    name, lines = None, []
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        for line in f:
            if line.startswith(b">"):
                if name is not None:
                    yield name, b"".join(lines)
                name, lines = line[1:].strip().decode(), []
            else:
                lines.append(line.strip().upper())
    if name is not None:
        yield name, b"".join(lines)


def pack(paths, out):
    """Write the records of the files."""
    head, body = [], []
    for path in paths:
        for name, seq in records(path):
            runs = [(m.start(), m.group().decode()) for m in re.finditer(rb"[^ACGT]+", seq)]
            head.append((name, len(seq), runs))
            code = re.sub(rb"[^ACGT]", b"A", seq).translate(CODE, b"").replace(b"A", b"\0")
            code += bytes(-len(code) % 4)
            body.append(bytes(a << 6 | b << 4 | c << 2 | d
                              for a, b, c, d in zip(*[iter(code)] * 4)))
    text = zlib.compress(json.dumps(head).encode(), 9)
    out.write(struct.pack("<Q", len(text)) + text)
    out.writelines(body)


def unpack(f, out):
    """Write FASTA."""
    (n,) = struct.unpack("<Q", f.read(8))
    for name, length, runs in json.loads(zlib.decompress(f.read(n))):
        seq = bytearray(b"".join(map(FOUR.__getitem__, f.read((length + 3) // 4)))[:length])
        for at, letters in runs:
            seq[at:at + len(letters)] = letters.encode()
        out.write(b">" + name.encode() + b"\n" + bytes(seq) + b"\n")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    if sys.argv[1] == "pack":
        pack(sys.argv[2:], sys.stdout.buffer)
    else:
        with open(sys.argv[2], "rb") as packed:
            unpack(packed, sys.stdout.buffer)
