"""Objects that LLVM has made in an earlier run of the tests, by the text that they are made from.

An object depends on its text, the processor, the tier, LLVM and the module that asks it, and on
nothing else of gradir: so changes of gradir compile only what they change. A test that asks LLVM
itself turns it off with the fixture `llvm_alone`, and GRADIR_TEST_OBJECTS=0 for all tests; with a
path in GRADIR_TEST_OBJECTS several clones share that file. `make clean` removes a clone's own.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import zlib
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from gradir.codegen.text.target import MachineTarget
from gradir.runtime import llvm
from gradir.runtime.llvm import FULL, CompiledObject, CompileTimes, Tier

SWITCH_VARIABLE = "GRADIR_TEST_OBJECTS"
FILE = Path(__file__).parents[2] / ".pytest_cache" / "gradir-objects.sqlite"

# A file of more bytes is begun anew.
MOST_BYTES = 1 << 30
# How long a process waits for another one that writes.
WAIT_SECONDS = 60.0

_TIMES = struct.Struct("<3d")
compile_by_llvm = llvm._Worker.compile


class KeptObjects:
    """The file, as this process has it open. A forked child has none, and asks LLVM."""

    def __init__(self, file: Path | None = None) -> None:
        self._path, self._process = file or chosen_file(), os.getpid()
        self._opening, self._using = threading.Lock(), threading.Lock()
        self._file: sqlite3.Connection | None = None
        self._is_usable = True
        self._versions = b""

    def compile(
        self, worker: llvm._Worker, text: str, target: MachineTarget, tier: Tier = FULL
    ) -> CompiledObject:
        """What `_Worker.compile` gives: the object that is kept, or one that is made now."""
        file = self._opened() if os.getpid() == self._process else None
        if file is None:
            return compile_by_llvm(worker, text, target, tier)
        key = self._key(text, target, tier)
        with self._using:  # Python's statements are kept, for one thread at a time
            row = file.execute("select object from objects where key = ?", (key,)).fetchone()
        kept = None if row is None else _unpacked(row[0])
        if kept is not None:
            return kept
        made = compile_by_llvm(worker, text, target, tier)
        with self._using, suppress(sqlite3.OperationalError):  # a full disk
            file.execute("insert or replace into objects values (?, ?)", (key, _packed(made)))
        return made

    def close(self) -> None:
        if self._file is not None and os.getpid() == self._process:
            self._file.close()

    def _opened(self) -> sqlite3.Connection | None:
        """The file, opened when the first module is compiled; None where there can be none."""
        with self._opening:
            if self._file is None and self._is_usable:
                try:
                    self._open()
                except (OSError, sqlite3.Error):
                    self._is_usable = False
            return self._file

    def _open(self) -> None:
        self._versions = repr(llvm.llvm().llvm_version_info).encode()
        self._versions += Path(llvm.__file__).read_bytes()  # how LLVM is asked
        self._path.parent.mkdir(exist_ok=True)
        file = sqlite3.connect(
            self._path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        # what a crash of the machine may damage, checksums find out
        file.execute("pragma journal_mode = wal")
        file.execute("pragma synchronous = off")
        file.execute("create table if not exists objects (key blob primary key, object blob)")
        self._file = file

    def _key(self, text: str, target: MachineTarget, tier: Tier) -> bytes:
        digest = blake2b(self._versions, digest_size=20)
        digest.update(repr((target, llvm.triple_of(target), tier)).encode())
        digest.update(text.encode())
        return digest.digest()


def _packed(made: CompiledObject) -> bytes:
    times = _TIMES.pack(made.times.parse, made.times.optimize, made.times.emit)
    return zlib.compress(times + made.data, 1)


def _unpacked(packed: bytes) -> CompiledObject | None:
    """The object; None for bytes that were damaged."""
    try:
        data = zlib.decompress(packed)
    except zlib.error:
        return None
    return CompiledObject(data[_TIMES.size :], CompileTimes(*_TIMES.unpack_from(data)))


def chosen_file() -> Path:
    """The file that the environment names, or the clone's own."""
    named = os.environ.get(SWITCH_VARIABLE)
    return Path(named).absolute() if named else FILE


def begin() -> KeptObjects | None:
    """Have this process take objects from the file; None where that is turned off."""
    if os.environ.get(SWITCH_VARIABLE) == "0":
        return None
    kept = KeptObjects()

    def find_or_compile(
        self: llvm._Worker, text: str, target: MachineTarget, tier: Tier = FULL
    ) -> CompiledObject:
        return kept.compile(self, text, target, tier)

    llvm._Worker.compile = find_or_compile
    return kept


def end(kept: KeptObjects) -> None:
    """Have LLVM asked again."""
    llvm._Worker.compile = compile_by_llvm
    kept.close()


def drop_if_large(file: Path | None = None) -> None:
    """Begin the file anew where it holds much that nobody asks for; before any process has it."""
    file = file or chosen_file()
    with suppress(OSError):
        if file.stat().st_size > MOST_BYTES:
            for each in file.parent.glob(f"{file.name}*"):
                each.unlink()
