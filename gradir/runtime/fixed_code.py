"""Functions of LLVM text that are the same for all programs: compiled once, and kept on disk."""

from __future__ import annotations

from dataclasses import asdict

from gradir.cache.entry import CacheEntry
from gradir.cache.store import find, keep, key_of
from gradir.codegen.text.target import host
from gradir.runtime.llvm import PLAIN, compile_object


def fixed_object(text: str) -> bytes:
    """The object file of a module of rarely called functions, for this machine.

    It is not optimized: twice as fast to compile.
    """
    target = host()
    key = key_of("functions", text, asdict(target))
    found = find(key)
    if found is not None:
        return found.blobs[0]
    data = compile_object(text, target, PLAIN).data
    keep(key, CacheEntry(None, [data]))
    return data
