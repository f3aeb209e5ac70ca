"""The folder of the cache: who may write to it, and files in it that appear as a whole or not.

Machine code from here is run. So the folder and each file must belong to the user and be writable
by nobody else; they are looked at after they are opened, and files are opened in the folder that
was looked at. Whatever goes wrong, there is nothing to read and nothing is written.

GRADIR_CACHE_DIR names the folder; without it, it is `gradir` in $XDG_CACHE_HOME or ~/.cache.
GRADIR_CACHE_BYTES limits the bytes of all files.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gradir.errors import GradirError

FOLDER_VARIABLE = "GRADIR_CACHE_DIR"
BYTES_VARIABLE = "GRADIR_CACHE_BYTES"
DEFAULT_BYTES = 1 << 30

FILE_NAME = re.compile(r"[0-9a-f]{64}\.gradir")
SOURCES_NAME = re.compile(r"[0-9a-f]{64}\.sources")
"""Files about gradir's sources (`versions.py`), a few hundred bytes each, one for a checkout."""
NEW_NAME = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{16}\.new")
"""Files that are being written, or were when their writer ended."""
ABANDONED_SECONDS = 3600.0

MOST_FILES = 4096
"""So that a look at all of them takes some 10 ms."""

# After files were removed for room, so much of a limit is taken.
KEPT_SHARE = 0.9

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW if hasattr(os, "O_NOFOLLOW") else 0


class Unusable(Exception):
    """Why a folder holds no cache."""


@dataclass(frozen=True)
class StoredFile:
    """A file of the cache, and when it was last used, in nanoseconds."""

    name: str
    size: int
    used: int


@dataclass(frozen=True)
class Folder:
    """The files of the cache below a path."""

    path: str

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, which then counts as used; None where it cannot be trusted."""
        try:
            with self._opened() as folder:
                file = os.open(name, os.O_RDONLY | _FLAGS, dir_fd=folder)
                with os.fdopen(file, "rb") as stream:
                    found = os.fstat(file)
                    if not stat.S_ISREG(found.st_mode) or _doubt(found):
                        return None
                    data = stream.read()
                    with suppress(OSError):
                        os.utime(file)
                return data
        except (OSError, Unusable):
            return None

    def write(self, name: str, data: bytes, limit: int) -> bool:
        """Write a file, and remove those that were not used for the longest time, beyond `limit`
        bytes of all. False where it is not written."""
        if len(data) > limit:
            return False
        try:
            self._make()
            with self._opened() as folder:
                _write_whole(folder, name, data)
                self._keep_within(folder, limit)
        except (OSError, Unusable):
            return False
        return True

    def remove(self, name: str) -> None:
        with suppress(OSError, Unusable), self._opened() as folder:
            os.unlink(name, dir_fd=folder)

    def files(self) -> list[StoredFile]:
        """The files; none where the folder is none."""
        try:
            with self._opened() as folder:
                return _files(folder, FILE_NAME)
        except (OSError, Unusable):
            return []

    def clear(self) -> None:
        """Remove all that the cache has written, and nothing else."""
        with suppress(OSError, Unusable), self._opened() as folder:
            for pattern in (FILE_NAME, SOURCES_NAME, NEW_NAME):
                for each in _files(folder, pattern):
                    with suppress(OSError):
                        os.unlink(each.name, dir_fd=folder)

    def doubt(self) -> str | None:
        """Why nothing is kept here; None for a folder that can be used, or made."""
        try:
            with self._opened():
                return None
        except FileNotFoundError:
            return None
        except Unusable as error:
            return str(error)
        except OSError as error:
            return error.strerror

    def _make(self) -> None:
        if not os.path.isdir(self.path):
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self.path, 0o700)

    @contextmanager
    def _opened(self) -> Generator[int]:
        """The folder's descriptor. Unusable, or OSError."""
        if not hasattr(os, "geteuid") or os.getuid() != os.geteuid():
            raise Unusable("no user of this process is known")
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            doubt = _doubt(os.fstat(folder))
            if doubt is not None:
                raise Unusable(doubt)
            yield folder
        finally:
            os.close(folder)

    def _keep_within(self, folder: int, limit: int) -> None:
        """Remove files that somebody left half written, and, beyond the limits, the oldest ones."""
        for each in _files(folder, NEW_NAME):
            if each.used < time.time_ns() - ABANDONED_SECONDS * 1e9:
                os.unlink(each.name, dir_fd=folder)
        files = sorted(_files(folder, FILE_NAME), key=lambda each: each.used)
        total = sum(each.size for each in files)
        if total <= limit and len(files) <= MOST_FILES:
            return
        for k, each in enumerate(files[:-1]):
            if total <= KEPT_SHARE * limit and len(files) - k <= KEPT_SHARE * MOST_FILES:
                break
            with suppress(FileNotFoundError):
                os.unlink(each.name, dir_fd=folder)
            total -= each.size


def _doubt(found: os.stat_result) -> str | None:
    """Why the owner of a file, or others than the owner, may have written to it."""
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others than its owner can write to it"
    return None


def _files(folder: int, pattern: re.Pattern[str]) -> list[StoredFile]:
    files: list[StoredFile] = []
    for name in os.listdir(folder):
        if pattern.fullmatch(name):
            with suppress(FileNotFoundError):  # removed by another process
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                files.append(StoredFile(name, found.st_size, found.st_mtime_ns))
    return files


def _write_whole(folder: int, name: str, data: bytes) -> None:
    """Write a file under another name, and give it its own when all is written."""
    new = f".{name.partition('.')[0]}.{os.urandom(8).hex()}.new"
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise


def byte_limit() -> int:
    """The most bytes of all files."""
    text = os.environ.get(BYTES_VARIABLE, "").strip()
    if text and not text.isdecimal():
        raise GradirError(f"{BYTES_VARIABLE}: a number of bytes expected, got {text!r}")
    return int(text) if text else DEFAULT_BYTES


def cache_folder() -> Folder:
    """The folder of all files."""
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        home = os.environ.get("XDG_CACHE_HOME")
        # as the standard says, a path that is not absolute does not count
        base = home if home and os.path.isabs(home) else os.path.expanduser("~/.cache")
        return Folder(os.path.join(base, "gradir"))
    return Folder(os.path.abspath(named))
