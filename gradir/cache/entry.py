"""An entry of the cache as bytes: what it says as JSON, data beside it, and a digest of all.

No reader of these bytes runs anything: no pickle. Bytes whose digest, or whose key, is another are
no entry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradir.digests import blake2b

MAGIC = b"gradir-cache\n"
DIGEST_BYTES = 32
LENGTH_BYTES = 8
_START = len(MAGIC) + DIGEST_BYTES


@dataclass(frozen=True)
class CacheEntry:
    """What is kept under a key: values of JSON, and blobs of bytes."""

    said: Any
    blobs: Sequence[bytes] = ()


def sealed(key: str, entry: CacheEntry) -> bytes:
    """The bytes of an entry."""
    said = {"key": key, "said": entry.said, "sizes": [len(blob) for blob in entry.blobs]}
    text = json.dumps(said, separators=(",", ":")).encode()
    body = b"".join([len(text).to_bytes(LENGTH_BYTES, "little"), text, *entry.blobs])
    return MAGIC + _digest(body) + body


def unsealed(key: str, data: bytes) -> CacheEntry | None:
    """The entry in some bytes; None unless `sealed` made them, to the last bit."""
    body = memoryview(data)[_START:]
    if not data.startswith(MAGIC) or data[len(MAGIC) : _START] != _digest(body):
        return None
    end = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES], "little")
    said = json.loads(bytes(body[LENGTH_BYTES:end]))
    if said["key"] != key:
        return None
    blobs: list[bytes] = []
    for size in said["sizes"]:
        blobs.append(bytes(body[end : end + size]))
        end += size
    return CacheEntry(said["said"], blobs)


def _digest(body: bytes | memoryview) -> bytes:
    return blake2b(body, digest_size=DIGEST_BYTES).digest()
