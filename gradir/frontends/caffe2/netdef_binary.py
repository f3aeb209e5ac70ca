"""NetDefs in protobuf's wire format: read without trust, and written."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from gradir.frontends.caffe2.errors import NetDefError
from gradir.frontends.caffe2.netdef_schema import MAX_DEPTH, SCHEMA, Field, Message, numbered

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = 0, 1, 2, 3, 4, 5
WIRE = {"int": VARINT, "bool": VARINT, "float": FIXED32, "double": FIXED64}


def read_bytes(content: bytes, source: str) -> Message:
    """The NetDef in bytes; NetDefError, with the number of the byte, for other bytes."""
    return _Reader(content, source).message("NetDef", 0, len(content), 0)


class _Reader:
    """A reader of bytes, each once."""

    def __init__(self, content: bytes, source: str):
        self.content = content
        self.source = source
        self.at = 0

    def error(self, at: int, what: str) -> NetDefError:
        return NetDefError(f"{self.source}: byte {at}: error: {what}")

    def message(self, kind: str, start: int, end: int, depth: int) -> Message:
        """The message in some of the bytes."""
        if depth > MAX_DEPTH:
            raise self.error(start, f"messages nest more than {MAX_DEPTH} deep")
        made = Message(kind, f"{self.source}: byte {start}")
        self.at = start
        while self.at < end:
            begin = self.at
            number, wire = self.key(end)
            known = numbered(kind, number)
            if known is None:
                self.skip(number, wire, begin, end, depth)
                continue
            values = self.values(known, wire, begin, end, depth)
            made.fields.setdefault(known.name, []).extend(values)
        return made

    def key(self, end: int) -> tuple[int, int]:
        begin, key = self.at, self.varint(end)
        if not 0 < key >> 3 < 2**29:
            raise self.error(begin, f"{key >> 3} is no number of a field")
        return key >> 3, key & 7

    def values(self, known: Field, wire: int, begin: int, end: int, depth: int) -> list[Any]:
        """The values of a field that is known, several of a packed one."""
        wanted = WIRE.get(known.kind, LENGTH)
        if wire == wanted != LENGTH:
            return [self.scalar(known.kind, end)]
        is_packed = known.repeated and wanted != LENGTH
        if wire != LENGTH or (wanted != LENGTH and not is_packed):
            raise self.error(begin, f"{known.name}: wire type {wanted} expected, got {wire}")
        stop = self.length(known.name, end)
        if is_packed:
            found: list[Any] = []
            while self.at < stop:
                found.append(self.scalar(known.kind, stop))
            return found
        start, self.at = self.at, stop
        if known.kind == "string":
            return [self.content[start:stop].decode("utf-8", "surrogateescape")]
        made = self.message(known.kind, start, stop, depth + 1)
        return [made]

    def scalar(self, kind: str, end: int) -> Any:
        if kind == "float":
            return struct.unpack("<f", self.fixed(4, end))[0]
        if kind == "double":
            return struct.unpack("<d", self.fixed(8, end))[0]
        value = self.varint(end)
        return bool(value) if kind == "bool" else value - 2**64 if value >> 63 else value

    def varint(self, end: int) -> int:
        begin, value = self.at, 0
        for k in range(10):
            if self.at >= end:
                raise self.error(begin, "a number is cut off")
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 127) << 7 * k
            if byte < 128:
                if value >> 64:
                    break
                return value
        raise self.error(begin, "a number has more than 64 bits")

    def fixed(self, count: int, end: int) -> bytes:
        begin, self.at = self.at, self.at + count
        if self.at > end:
            raise self.error(begin, f"a number of {count} bytes is cut off")
        return self.content[begin : self.at]

    def length(self, what: str, end: int) -> int:
        """Where a field ends that says its length."""
        begin, count = self.at, self.varint(end)
        if count > end - self.at:
            raise self.error(begin, f"{what}: {count} bytes announced, {end - self.at} left")
        return self.at + count

    def skip(self, number: int, wire: int, begin: int, end: int, depth: int) -> None:
        """Go behind a field that is ignored, which begins at a byte."""
        groups = [number]
        while groups:
            if wire == VARINT:
                self.varint(end)
            elif wire in (FIXED32, FIXED64):
                self.fixed(4 if wire == FIXED32 else 8, end)
            elif wire == LENGTH:
                self.at = self.length(f"field {number}", end)
            elif wire == GROUP:
                groups.append(number)
            elif wire == END_GROUP and len(groups) > 1 and groups[-1] == number:
                groups.pop()
            else:
                raise self.error(begin, f"field {number} has the wire type {wire}")
            if len(groups) + depth > MAX_DEPTH:
                raise self.error(begin, f"groups nest more than {MAX_DEPTH} deep")
            if len(groups) == 1:
                return
            begin = self.at
            number, wire = self.key(end)


# Writing.


def bytes_of(message: Message) -> bytes:
    """A message in the wire format."""
    made = bytearray()
    for number, known in SCHEMA[message.kind].items():
        for value in message.all(known.name):
            wire = WIRE.get(known.kind, LENGTH)
            made += _varint(number << 3 | wire) + _WRITERS.get(known.kind, _message)(value)
    return bytes(made)


def _varint(value: int) -> bytes:
    value %= 2**64
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _with_length(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _string(value: str) -> bytes:
    try:
        return _with_length(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise NetDefError(f"{value!r} cannot be written as UTF-8") from None


def _message(value: Message) -> bytes:
    return _with_length(bytes_of(value))


_WRITERS: dict[str, Callable[[Any], bytes]] = {
    "int": _varint,
    "bool": _varint,
    "float": lambda value: struct.pack("<f", value),
    "double": lambda value: struct.pack("<d", value),
    "string": _string,
}
