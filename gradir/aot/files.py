"""Files that are there whole or not at all: written by another name, and renamed."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gradir.errors import ArgumentError, CompileError, FileError


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write files; FileError, and then none of them is there, or the old ones are."""
    for path in files:
        if path.is_dir():
            raise FileError(f"cannot write '{path}': it is a folder")
    written: dict[Path, str] = {}
    try:
        for path, data in files.items():
            written[path] = _write_beside(path, data)
        for path, temporary in written.items():
            try:
                os.replace(temporary, path)
            except OSError as error:
                raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
    finally:
        for temporary in written.values():
            with suppress(OSError):
                os.unlink(temporary)


def _write_beside(path: Path, data: bytes) -> str:
    """The name of a new file with the data, in the folder of a path."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_mask())
    except OSError as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
    return temporary


def _mask() -> int:
    """The process's mask of rights, which is read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def linked_by(command: str, data: bytes, name: str, threads: bool) -> bytes:
    """The shared library that another linker makes of an object. CompileError where it fails."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"linker: {error} in {command!r}") from None
    if not words:
        raise ArgumentError("linker: expected a command, such as gcc, clang or 'zig cc'")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "library.o", Path(folder) / "library.so"
        source.write_bytes(data)
        rest = ["-shared", f"-Wl,-soname,{name}", "-o", str(made), str(source), "-lm"]
        rest += ["-lpthread", "-Wl,-z,nodelete"] if threads else []
        try:
            result = subprocess.run(
                [*words, *rest], capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            reason = error.strerror or error
            raise CompileError(f"linker: {words[0]} cannot be run: {reason}") from None
        if result.returncode or not made.exists():
            told = (result.stderr or result.stdout).strip() or f"exit code {result.returncode}"
            raise CompileError(f"linker: {words[0]} failed: {told}")
        return made.read_bytes()
