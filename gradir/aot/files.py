"""Files that are there whole or not at all: written by another name, and renamed."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from gradir.errors import ArgumentError, ArgumentTypeError, CompileError, FileError


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write files; FileError, and then none of them is there, or the old ones are."""
    for path in files:
        _require_file(path)
    written: dict[Path, str] = {}
    try:
        for path, data in files.items():
            written[path] = _write_beside(path, data)
        _rename_all(written)
    finally:
        for temporary in written.values():
            with suppress(OSError):
                os.unlink(temporary)


def _require_file(path: Path) -> None:
    """FileError where something is there that is no file, such as a device: a rename would take its
    place."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise _cannot_write(path, error) from None
    if not S_ISREG(mode):
        kind = "a folder" if S_ISDIR(mode) else "no regular file"
        raise FileError(f"cannot write '{path}': it is {kind}")


def _rename_all(written: Mapping[Path, str]) -> None:
    """Give files their names, all or none: the old ones are kept aside until all have them."""
    before: dict[Path, str | None] = {}
    try:
        for path, temporary in written.items():
            try:
                before[path] = _keep_aside(path)
                os.replace(temporary, path)
            except OSError as error:
                raise _cannot_write(path, error) from None
    except BaseException:
        for path, old in before.items():
            with suppress(OSError):
                os.unlink(path) if old is None else os.replace(old, path)
        raise
    finally:
        # a file that was not replaced is still the same one by both names, which no rename changes
        for old in before.values():
            with suppress(OSError):
                os.unlink(old or "")


def _keep_aside(path: Path) -> str | None:
    """Another name of a file beside it; None if there is no file."""
    if not os.path.lexists(path):
        return None
    name = _name_beside(path)
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:
        # a file system without links
        os.rename(path, name)
    return name


def _name_beside(path: Path) -> str:
    """A name that no file in the folder of a path has."""
    return str(path.parent / f".{path.name[:200]}.{secrets.token_hex(8)}")


def _write_beside(path: Path, data: bytes) -> str:
    """The name of a new file with the data, in the folder of a path, with the rights of any."""
    temporary = _name_beside(path)
    try:
        # the system applies the process's mask, which nobody can read without setting it
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise _cannot_write(path, error) if isinstance(error, OSError) else error from None
    return temporary


def _cannot_write(path: Path, error: OSError) -> FileError:
    return FileError(f"cannot write '{path}': {error.strerror or error}")


def linker_words(command: str) -> list[str]:
    """The words of a linker's command."""
    try:
        words = shlex.split(command)
    except (AttributeError, TypeError):
        raise ArgumentTypeError(f"linker: expected a command, got {command!r}") from None
    except ValueError as error:
        raise ArgumentError(f"linker: {error} in {command!r}") from None
    if not words:
        raise ArgumentError("linker: expected a command, such as gcc, clang or 'zig cc'")
    return words


def linked_by(words: Sequence[str], data: bytes, name: str, threads: bool) -> bytes:
    """The shared library that another linker makes of an object. CompileError where it fails."""
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
