"""What is compiled once and kept: entries by key, in the folder that the environment names.

GRADIR_CACHE_DIR names the folder; without it, it is `gradir` in $XDG_CACHE_HOME or ~/.cache.
GRADIR_CACHE=0 turns the cache off, GRADIR_CACHE_BYTES limits the bytes of all files.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import blake2b

from gradir.argument_checks import known_arguments
from gradir.cache.entry import CacheEntry, sealed, unsealed
from gradir.cache.folder import Folder
from gradir.cache.versions import is_current, versions
from gradir.errors import GradirError

SWITCH_VARIABLE = "GRADIR_CACHE"
FOLDER_VARIABLE = "GRADIR_CACHE_DIR"
BYTES_VARIABLE = "GRADIR_CACHE_BYTES"
DEFAULT_BYTES = 1 << 30


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
    data = _folder().read(_name(key))
    found = None if data is None else unsealed(key, data)
    if found is None and data is not None:
        _folder().remove(_name(key))
    counts.found += found is not None
    counts.missed += found is None
    return found


def keep(key: str | None, entry: CacheEntry) -> None:
    """Store an entry, if there is a folder that takes it."""
    if key is not None and is_current():
        counts.written += _folder().write(_name(key), sealed(key, entry), _limit())


@known_arguments
def cache_info() -> CacheInfo:
    """Where compiled code is kept on disk, how much of it, and how often it was found."""
    folder, off = _folder(), _off()
    files = folder.files()
    if off is None and versions() is None:
        off = "gradir's sources have changed since they were imported"
    sizes = len(files), sum(each.size for each in files)
    mine = counts.found, counts.missed, counts.written
    return CacheInfo(folder.path, *sizes, _limit(), *mine, off or folder.doubt())


@known_arguments
def clear_cache() -> None:
    """Remove all compiled code that is kept on disk."""
    _folder().clear()


def _off() -> str | None:
    """How the cache is turned off; None for on."""
    text = os.environ.get(SWITCH_VARIABLE, "").strip()
    if text not in ("", "0", "1"):
        raise GradirError(f"{SWITCH_VARIABLE}: 0 or 1 expected, got {text!r}")
    if text == "0":
        return f"{SWITCH_VARIABLE} is 0"
    return None if os.path.isabs(_folder().path) else "the user has no home folder"


def _limit() -> int:
    text = os.environ.get(BYTES_VARIABLE, "").strip()
    if text and not text.isdecimal():
        raise GradirError(f"{BYTES_VARIABLE}: a number of bytes expected, got {text!r}")
    return int(text) if text else DEFAULT_BYTES


def _folder() -> Folder:
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        home = os.environ.get("XDG_CACHE_HOME")
        # as the standard says, a path that is not absolute does not count
        base = home if home and os.path.isabs(home) else os.path.expanduser("~/.cache")
        return Folder(os.path.join(base, "gradir"))
    return Folder(os.path.abspath(named))


def _name(key: str) -> str:
    return f"{key}.gradir"
