"""Functions of LLVM text that are the same for all programs: compiled once, and kept on disk."""

from __future__ import annotations

from gradir.cache.entry import CacheEntry
from gradir.cache.store import find, keep, key_of
from gradir.codegen.text.target import MachineTarget, host
from gradir.digests import blake2b
from gradir.runtime.llvm import PLAIN, Tier, compile_object


def fixed_object(text: str, target: MachineTarget | None = None, tier: Tier = PLAIN) -> bytes:
    """The object file of a module of functions, by default for this machine.

    PLAIN code is not optimized: twice as fast to compile, for rarely called functions.
    """
    target = target or host()
    # a digest of the text takes a tenth of the time that JSON takes to write it
    digest = blake2b(text.encode(), digest_size=32).hexdigest()
    key = key_of("functions", digest, repr(target), repr(tier))
    found = find(key)
    if found is not None:
        return found.blobs[0]
    data = compile_object(text, target, tier).data
    keep(key, CacheEntry(None, [data]))
    return data
