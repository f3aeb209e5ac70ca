"""Digests by BLAKE2b.

It is the one of `hashlib`, without OpenSSL: to load that takes more than the keys of a small
program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # where CPython has its own
    except ImportError:
        from hashlib import blake2b

__all__ = ["blake2b"]
