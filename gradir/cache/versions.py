"""What code depends on beside its program: gradir itself, its libraries, Python, the system.

gradir's sources count by their contents, so that a checkout or a patched installation never takes
code that other sources made. A file that changed after gradir was imported says nothing about the
code that runs: such a process does without the cache.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("xdsl", "llvmlite", "numpy", "ml_dtypes")

FORMAT = 2
"""The number of the form of entries."""

# Times of files come from a clock that ticks this seldom.
CLOCK_TICK = 20_000_000
IMPORTED = time.time_ns() - CLOCK_TICK


def versions() -> str | None:
    """A digest of all of it; None where gradir's sources are not those that run."""
    found = read_versions()
    return None if found is None else found[1]


def is_current() -> bool:
    """Whether the sources are still the ones that `versions` has seen."""
    found = read_versions()
    return found is not None and _stamp() == found[0]


@cache
def read_versions() -> tuple[str, str] | None:
    """The stamp of the sources, and the digest of everything."""
    digest, before = blake2b(digest_size=32), _stamp()
    if before is None:
        return None
    try:
        for path in _files(str(ROOT)):
            data = Path(path).read_bytes()
            digest.update(f"{path[len(str(ROOT)) :]}\0{len(data)}\0".encode() + data)
    except OSError:
        return None
    llvm = import_module("llvmlite.binding").llvm_version_info
    named = [(name, _version(name)) for name in LIBRARIES]
    python = (sys.version, sys.implementation.cache_tag, sys.platform, platform.machine())
    digest.update(json.dumps([FORMAT, named, llvm, python]).encode())
    return (before, digest.hexdigest()) if _stamp() == before else None


def _version(library: str) -> str:
    """The version by the name of the folder `NAME-VERSION.dist-info` beside a library.

    Some libraries ask importlib.metadata for it, whose import takes longer than all else here.
    """
    module = import_module(library)
    beside = Path(str(module.__file__)).parents[1]
    found = [path.name for path in beside.glob(f"{library}-*.dist-info")]
    return found[0] if len(found) == 1 else str(module.__version__)


def _stamp() -> str | None:
    """A digest of the files' names, sizes and times; None if there are none, or some are newer
    than this process."""
    digest, count = blake2b(digest_size=32), 0
    try:
        for path in _files(str(ROOT)):
            found = os.stat(path)
            if found.st_ctime_ns >= IMPORTED:
                return None
            times = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
            digest.update(f"{path}\0{times}\n".encode())
            count += 1
    except OSError:  # changed while we look
        return None
    return digest.hexdigest() if count else None


def _files(folder: str) -> Iterator[str]:
    """The Python files below a folder, in an order of their own."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path
