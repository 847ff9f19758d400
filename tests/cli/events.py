# events.py - print the scalars of a TensorBoard event file: step, tag, value. Checks its checksums.
import struct
import sys


def masked_crc(data):
    c = 0xFFFFFFFF
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            found[key >> 3], at = varint(data, at)
            continue
        n = {1: 8, 5: 4}.get(key & 7)
        if n is None:
            n, at = varint(data, at)
        found[key >> 3] = data[at:at + n]
        at += n
    return found


# CRC-32C of "123456789" (RFC 3720 has others): the function above is right.
assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
with open(sys.argv[1], "rb") as f:
    text = f.read()
at = 0
while at < len(text):
    n, crc = struct.unpack_from("<QI", text, at)
    data, (crc_data,) = text[at + 12:at + 12 + n], struct.unpack_from("<I", text, at + 12 + n)
    assert crc == masked_crc(text[at:at + 8]) and crc_data == masked_crc(data), "checksum"
    event = fields(data)
    at += 16 + n
    if 3 in event:
        print("version", event[3].decode())
    if 5 in event:
        value = fields(fields(event[5])[1])
        print(event[2], value[1].decode(), "%.6g" % struct.unpack("<f", value[2]))
