"""What code depends on beside its program: gradir itself, its libraries, Python, the system.

gradir's sources count by their contents, so that a checkout or a patched installation never takes
code that other sources made. They are read once: the cache keeps their digest, for files of these
names, sizes and times. A file that changed after gradir was imported says nothing about the code
that runs: such a process does without the cache.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from gradir.cache.entry import CacheEntry, sealed, unsealed
from gradir.cache.folder import byte_limit, cache_folder
from gradir.digests import blake2b

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("xdsl", "llvmlite", "numpy", "ml_dtypes")

FORMAT = 2
"""The number of the form of entries."""

# Times of files come from a clock that ticks this seldom.
CLOCK_TICK = 20_000_000
IMPORTED = time.time_ns() - CLOCK_TICK
# No file system has a clock that ticks more seldom: a file that is older and has a time as before
# has not changed since.
SETTLED = 10_000_000_000


def versions() -> str | None:
    """A digest of all of it; None where gradir's sources are not those that run."""
    found = read_versions()
    return None if found is None else found[1]


def is_current() -> bool:
    """Whether the sources are still the ones that `versions` has seen."""
    found = read_versions()
    return found is not None and _stamp() == found[0]


class Stamp(NamedTuple):
    """A digest of files' names, sizes, numbers and times, and the time of the last change."""

    digest: str
    changed: int


@cache
def read_versions() -> tuple[Stamp, str] | None:
    """The stamp of the sources, and the digest of everything."""
    stamp = _stamp()
    contents = None if stamp is None else _kept_digest(stamp) or _read_digest(stamp)
    if stamp is None or contents is None:
        return None
    llvm = import_module("llvmlite.binding").llvm_version_info
    named = [(name, _version(name)) for name in LIBRARIES]
    python = (sys.version, sys.implementation.cache_tag, sys.platform, platform.machine())
    everything = json.dumps([FORMAT, contents, named, llvm, python])
    return stamp, _digest(everything)


def _read_digest(stamp: Stamp) -> str | None:
    """The digest of the contents, which the cache then keeps; None if files change meanwhile."""
    read, digest = time.time_ns(), blake2b(digest_size=32)
    try:
        for path in _files(str(ROOT)):
            data = Path(path).read_bytes()
            digest.update(f"{path[len(str(ROOT)) :]}\0{len(data)}\0".encode() + data)
    except OSError:
        return None
    if _stamp() != stamp:
        return None
    found = digest.hexdigest()
    if stamp.changed < read - SETTLED:
        entry = sealed(stamp.digest, CacheEntry(found))
        cache_folder().write(_sources_name(), entry, byte_limit())
    return found


def _kept_digest(stamp: Stamp) -> str | None:
    """The digest of the contents that the cache has for the stamp."""
    data = cache_folder().read(_sources_name())
    entry = None if data is None else unsealed(stamp.digest, data)
    return None if entry is None else str(entry.said)


def _sources_name() -> str:
    """The name of the file that has the digest of these sources."""
    return f"{_digest(str(ROOT))}.sources"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=32).hexdigest()


def _version(library: str) -> str:
    """The version by the name of the folder `NAME-VERSION.dist-info` beside a library.

    Some libraries ask importlib.metadata for it, whose import takes longer than all else here.
    """
    module = import_module(library)
    beside = Path(str(module.__file__)).parents[1]
    found = [path.name for path in beside.glob(f"{library}-*.dist-info")]
    return found[0] if len(found) == 1 else str(module.__version__)


def _stamp() -> Stamp | None:
    """The stamp of the files; None if there are none, or some are newer than this process."""
    digest, changed = blake2b(digest_size=32), 0
    try:
        for path in _files(str(ROOT)):
            found = os.stat(path)
            if found.st_ctime_ns >= IMPORTED:
                return None
            numbers = found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
            digest.update(f"{path}\0{numbers}\n".encode())
            changed = max(changed, found.st_ctime_ns)
    except OSError:  # changed while we look
        return None
    return Stamp(digest.hexdigest(), changed) if changed else None


def _files(folder: str) -> Iterator[str]:
    """The Python files below a folder, in an order of their own."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path
