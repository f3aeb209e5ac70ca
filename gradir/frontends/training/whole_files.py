"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from gradir.errors import ArgumentTypeError, FileError


def as_path(what: str, given: Any) -> Path:
    """A path from a string or a path object; ArgumentTypeError for others."""
    try:
        return Path(given)
    except TypeError:
        raise ArgumentTypeError(f"{what}: expected a path, got {given!r:.60}") from None


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """A context with a new file in the same folder, which takes the place of `path` at the end.

    Its bytes are on the disk before its name changes. An exception in the context leaves the old
    file as it was; FileError if the folder cannot be written or the disk is full.
    """
    with file_errors(path, "cannot be written"):
        target = Path(os.path.realpath(path))
        new = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
        try:
            new.touch(exist_ok=False)
            yield new
            _flush(new)
            os.replace(new, target)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        _flush(target.parent)


def write_whole(path: Path, text: str) -> None:
    """Write a text file as `whole_file` does."""
    with whole_file(path) as new:
        new.write_text(text, encoding="utf-8", newline="")


@contextmanager
def file_errors(path: Path, what: str) -> Generator[None]:
    """A context that turns OSError into FileError, with the path."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: {what}: {error.strerror or error}") from None


def _flush(path: Path) -> None:
    """Wait until the file, or the names in the folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
