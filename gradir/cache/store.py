"""What is compiled once and kept: entries by key, in the folder that the environment names.

GRADIR_CACHE=0 turns the cache off.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from gradir.argument_checks import known_arguments
from gradir.cache.entry import CacheEntry, sealed, unsealed
from gradir.cache.folder import byte_limit, cache_folder
from gradir.cache.versions import is_current, versions
from gradir.digests import blake2b
from gradir.errors import GradirError

SWITCH_VARIABLE = "GRADIR_CACHE"


@dataclass
class Counts:
    """What this process has found, not found, and written."""

    found: int = 0
    missed: int = 0
    written: int = 0


counts = Counts()


@dataclass(frozen=True)
class CacheInfo:
    """The state of the cache of compiled code on disk.

    `entries` and `bytes` count all processes' entries; `found`, `missed` and `written` this one's.
    `off` says why nothing is kept; it is None while the cache works.
    """

    folder: str
    entries: int
    bytes: int
    limit: int
    found: int
    missed: int
    written: int
    off: str | None


def is_on() -> bool:
    """Whether there may be anything under a key."""
    return _off() is None and versions() is not None


def key_of(kind: str, *parts: object) -> str | None:
    """The key of an entry made from these parts, values of JSON; None without a cache.

    It has gradir's sources and all versions in it.
    """
    if not is_on():
        return None
    text = json.dumps([versions(), kind, *parts])
    return blake2b(text.encode(), digest_size=32).hexdigest()


def find(key: str | None) -> CacheEntry | None:
    """The entry of a key."""
    if key is None:
        return None
    data = cache_folder().read(_name(key))
    found = None if data is None else unsealed(key, data)
    if found is None and data is not None:
        cache_folder().remove(_name(key))
    counts.found += found is not None
    counts.missed += found is None
    return found


def keep(key: str | None, entry: CacheEntry) -> None:
    """Store an entry, if there is a folder that takes it."""
    if key is not None and is_current():
        counts.written += cache_folder().write(_name(key), sealed(key, entry), byte_limit())


@known_arguments
def cache_info() -> CacheInfo:
    """Where compiled code is kept on disk, how much of it, and how often it was found."""
    folder, off = cache_folder(), _off()
    files = folder.files()
    if off is None and versions() is None:
        off = "gradir's sources have changed since they were imported"
    sizes = len(files), sum(each.size for each in files)
    mine = counts.found, counts.missed, counts.written
    return CacheInfo(folder.path, *sizes, byte_limit(), *mine, off or folder.doubt())


@known_arguments
def clear_cache() -> None:
    """Remove all compiled code that is kept on disk."""
    cache_folder().clear()


def _off() -> str | None:
    """How the cache is turned off; None for on."""
    text = os.environ.get(SWITCH_VARIABLE, "").strip()
    if text not in ("", "0", "1"):
        raise GradirError(f"{SWITCH_VARIABLE}: 0 or 1 expected, got {text!r}")
    if text == "0":
        return f"{SWITCH_VARIABLE} is 0"
    return None if os.path.isabs(cache_folder().path) else "the user has no home folder"


def _name(key: str) -> str:
    return f"{key}.gradir"
