"""Calls functions of a library that gradir has compiled: with NumPy and ctypes, without gradir.

    from loader import load_library      # a copy of this file, or: from gradir import load_library
    library = load_library("libf.so")
    results = library.f_vjp(x, ct)       # a tuple of arrays; library.functions are the names

Arguments are NumPy arrays of exactly the argument's dtype and shape, or numbers of Python's, alone
or in lists. Arrays that are not C-contiguous or aligned are copied. `out` has
an array, or None, for each result: C-contiguous, aligned, writable. Many threads may call.
"""

from __future__ import annotations

import ctypes
import hashlib
import operator
import os
import platform
import re
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

ABI = 1
NULL, WRITE, ADD = 0, 1, 2
MESSAGE_BYTES = 440
ALIGNMENT = 64
DTYPES = (
    "none", "bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "int16", "uint16", "uint32", "uint64",
)  # fmt: skip
"""By their numbers in C."""

CODES = (
    "ok", "bad_abi", "bad_cpu", "null_pointer", "bad_dtype", "bad_shape", "bad_alignment",
    "bad_request", "overlap", "bad_workspace", "stopped", "out_of_range", "failed", "no_memory",
    "operator_failed",
)  # fmt: skip


class LibraryError(Exception):
    """A library cannot be used, or one of its functions has failed. `code` is the function's."""

    def __init__(self, message: str, code: int = 0):
        super().__init__(message)
        self.code = code


_I32, _I64, _POINTER, _TEXT = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p


def _fields(**types: Any) -> list[tuple[str, Any]]:
    return [*types.items()]


class ArrayStruct(ctypes.Structure):
    """gradir_array."""

    _fields_ = _fields(
        data=_POINTER, shape=_POINTER, size=_I64, rank=_I32, dtype=_I32, request=_I32,
        reserved=_I32,
    )  # fmt: skip


class StatusStruct(ctypes.Structure):
    """gradir_status."""

    _fields_ = _fields(
        abi=_I32, threads=_I32, level=_I32, stop=_I32, workspace_bytes=ctypes.c_size_t,
        allocator=_POINTER, code=_I32, used_level=_I32, argument=_I32, line=_I32, column=_I32,
        reserved=_I32, op=_TEXT, file=_TEXT, message=ctypes.c_char * MESSAGE_BYTES,
    )  # fmt: skip


class ArrayInfoStruct(ctypes.Structure):
    """gradir_array_info."""

    _fields_ = _fields(
        name=_TEXT, shape=ctypes.POINTER(_I64), size=_I64, bytes=_I64, rank=_I32, dtype=_I32,
        request=_I32, alignment=_I32,
    )  # fmt: skip


class InfoStruct(ctypes.Structure):
    """gradir_info."""

    _fields_ = _fields(
        abi=_I32, threads=_I32, version=_TEXT, name=_TEXT, inputs=ctypes.POINTER(ArrayInfoStruct),
        outputs=ctypes.POINTER(ArrayInfoStruct), n_in=_I32, n_out=_I32, n_levels=_I32, grows=_I32,
        workspace_bytes=ctypes.c_size_t, levels=ctypes.POINTER(_TEXT),
        level_bytes=ctypes.POINTER(ctypes.c_size_t),
    )  # fmt: skip


@dataclass(frozen=True)
class ArrayInfo:
    """An array of a function. `request` of a result: WRITE, or ADD, whose contents are read."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    request: int
    number: int  # of the dtype, in C
    nbytes: int

    def __str__(self) -> str:
        return f"{DTYPES[self.number]} array of shape {self.shape}"


class Function:
    """A function of a library; `function(*arrays)` gives a tuple of arrays.

    Options of a call: `out`; `requests`, for each result WRITE, NULL if it is not wanted (it is
    None then), or ADD to add it to what is in `out`; `threads`, the most threads; `level`, the
    highest of `levels` that may run, counted from 1, 0 for the best of this processor; `status`, a
    StatusStruct of which another thread may set `stop` to 1: that ends the call at its next look,
    in a long loop. An array of `out` may be one of the arguments. Raises LibraryError.

    `workspace_bytes` is the memory of a call beside arguments and results, of which each thread of
    Python's keeps its own.
    """

    def __init__(self, library: ctypes.CDLL, name: str):
        # each a new object: two functions would share the types of an attribute
        info_of, self._call = library[f"{name}_info"], library[name]
        info_of.restype = ctypes.POINTER(InfoStruct)
        info = info_of().contents
        if info.abi != ABI:
            raise LibraryError(
                f"{name}: the library has ABI {info.abi}, this loader ABI {ABI}; use the loader of "
                f"gradir {_text(info.version)}"
            )
        self.name = name
        self.version = _text(info.version)
        self.inputs = tuple(_array_info(info.inputs[k]) for k in range(info.n_in))
        self.outputs = tuple(_array_info(info.outputs[k]) for k in range(info.n_out))
        self.levels = tuple(_text(info.levels[k]) for k in range(info.n_levels))
        self.threads = int(info.threads)
        self.workspace_bytes = int(info.workspace_bytes)
        self._call.restype, self._call.argtypes = ctypes.c_int32, [ctypes.c_void_p] * 4
        self._local = threading.local()

    def __repr__(self) -> str:
        given = ", ".join(f"{a.name}: {a}" for a in self.inputs)
        made = ", ".join(map(str, self.outputs))
        return f"<gradir library function {self.name}({given}) -> ({made})>"

    def __call__(
        self,
        *arrays: Any,
        out: Any = None,
        requests: Sequence[int] | None = None,
        threads: int = 1,
        level: int = 0,
        status: StatusStruct | None = None,
    ) -> tuple[Any, ...]:
        threads = _as_number(threads, f"{self.name}: threads")
        if not 0 <= _as_number(level, f"{self.name}: level") <= len(self.levels):
            known = ", ".join(f"{k} ({name})" for k, name in enumerate(self.levels, 1))
            raise LibraryError(f"{self.name}: level: expected 0 for the best, {known}, got {level}")
        if not (status is None or isinstance(status, StatusStruct)):
            raise LibraryError(f"{self.name}: status: expected a StatusStruct, got {status!r}")
        asked, read = self._requests(requests), self._read(arrays)
        made = self._made(out, asked)
        given, kept = _structs(read, self.inputs, [NULL] * len(read))
        written, also_kept = _structs(made, self.outputs, asked)
        size = self.workspace_bytes + self._room(read, made, asked)
        workspace, own = self._memory(size)
        if status is None:
            status = own
            status.stop = 0
        status.abi, status.threads, status.level, status.workspace_bytes = ABI, threads, level, size
        code = self._call(given, written, workspace, ctypes.addressof(status))
        del kept, also_kept
        if code:
            raise LibraryError(_failure(status, code), code)
        return tuple(made)

    def _requests(self, given: Sequence[int] | None) -> list[int]:
        if given is None:
            return [info.request for info in self.outputs]
        if not isinstance(given, (tuple, list)) or len(given) != len(self.outputs):
            raise LibraryError(f"{self.name}: requests: expected {len(self.outputs)} entries")
        for k, (request, info) in enumerate(zip(given, self.outputs, strict=True)):
            known = (ADD,) if info.request == ADD else (NULL, WRITE, ADD)
            if request not in known:
                place = f"{self.name}: requests[{k}] ({info.name})"
                raise LibraryError(f"{place}: expected one of {known}, got {request!r}")
        return [*given]

    def _room(self, read: Sequence[Any], made: Sequence[Any], requests: Sequence[int]) -> int:
        """The bytes of results that are not written in their place."""
        taken = {array.ctypes.data for array in read}
        moved = [
            info
            for array, info, request in zip(made, self.outputs, requests, strict=True)
            if request != info.request or array.ctypes.data in taken
        ]
        return sum(-(-info.nbytes // ALIGNMENT) * ALIGNMENT for info in moved)

    def _memory(self, size: int) -> tuple[int, StatusStruct]:
        """The workspace and the status of this thread of Python's."""
        state = self._local.__dict__
        if state.get("size", -1) < size:
            state["size"], state["memory"] = size, np.empty(size + ALIGNMENT, np.uint8)
            start = state["memory"].ctypes.data
            state["workspace"] = -(-start // ALIGNMENT) * ALIGNMENT
            state["status"] = StatusStruct()
        return state["workspace"], state["status"]

    def _read(self, arrays: Sequence[Any]) -> list[Any]:
        if len(arrays) != len(self.inputs):
            names = ", ".join(a.name for a in self.inputs)
            raise LibraryError(
                f"{self.name}: expected {len(self.inputs)} arguments ({names}), got {len(arrays)}"
            )
        return [
            _as_input(array, info, f"{self.name}: argument {k} ({info.name})")
            for k, (array, info) in enumerate(zip(arrays, self.inputs, strict=True))
        ]

    def _made(self, out: Any, requests: Sequence[int]) -> list[Any]:
        """An array for each result; None for one that is not wanted."""
        entries = [None] * len(self.outputs) if out is None else out
        if not isinstance(entries, (tuple, list)) or len(entries) != len(self.outputs):
            raise LibraryError(f"{self.name}: out: expected {len(self.outputs)} entries")
        found: list[Any] = []
        for k, (entry, info) in enumerate(zip(entries, self.outputs, strict=True)):
            place = f"{self.name}: out[{k}] ({info.name})"
            if requests[k] == NULL and entry is not None:
                raise LibraryError(f"{place}: expected None for a result that is not wanted")
            if requests[k] == ADD and entry is None:
                raise LibraryError(f"{place}: expected the array whose contents are read, a {info}")
            if entry is not None:
                _check_output(entry, info, place)
            elif requests[k] == WRITE:
                entry = np.empty(info.shape, info.dtype)
            found.append(entry)
        return found


class Library:
    """The functions of a library, as attributes; `functions` are their names."""

    def __init__(self, path: str, check: bool = True):
        self.path = path
        try:
            with open(path, "rb") as opened:
                file = ElfFile(path, opened.read())
        except OSError as error:
            raise LibraryError(f"{path}: cannot be read: {error.strerror or error}") from None
        own = _MACHINES.get(platform.machine(), file.machine)
        if file.machine != own:
            raise LibraryError(
                f"{path}: is for another processor: ELF machine {file.machine}, this one is {own}"
            )
        if check:
            file.check_digest()
        names = file.names()
        try:
            self._library = ctypes.CDLL(_name_of_file(path)) if names else None
        except OSError as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}") from None
        ends = "", "_info", "_workspace_bytes"
        has = [all(hasattr(self._library, name + end) for end in ends) for name in names]
        self.functions = tuple(compress(names, has))
        if self._library is None or not self.functions:
            raise LibraryError(f"{path}: has no functions of gradir's")
        self._made = {name: Function(self._library, name) for name in self.functions}

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_") or name not in self._made:
            known = ", ".join(self.functions)
            raise AttributeError(f"{self.path}: no function {name}; functions: {known}")
        return self._made[name]

    def __getitem__(self, name: str) -> Function:
        return self.__getattr__(name)

    def __reduce__(self) -> Any:
        return load_library, (self.path,)

    def __repr__(self) -> str:
        return f"<gradir library {self.path}: {', '.join(self.functions)}>"


_files: dict[str, list[tuple[int, int, int]]] = {}


def _name_of_file(path: str) -> str:
    """A name of the file that is there now: the system takes a name it knows for what it has.

    A file that was written anew gets one more `/.` in its path.
    """
    try:
        found = os.stat(path)
    except OSError:
        return path
    known = _files.setdefault(path, [])
    is_file = found.st_dev, found.st_ino, found.st_mtime_ns
    if is_file not in known:
        known.append(is_file)
    folder, name = os.path.split(path)
    return os.path.join(folder + "/." * known.index(is_file), name)


def load_library(path: str | os.PathLike[str], check: bool = True) -> Library:
    """The functions of a shared library that gradir has compiled. Raises LibraryError.

    A library that gradir has linked has a digest of all that is loaded, and is refused where that
    is another; with `check=False` also such a file is loaded, as one that patchelf has changed.
    """
    is_path = isinstance(path, (str, bytes, os.PathLike))
    name = os.path.abspath(os.fsdecode(path)) if is_path else "\0"
    if "\0" in name:
        raise LibraryError(f"path: expected the name of a file, got {path!r}")
    return Library(name, check)


def _text(data: Any) -> str:
    return (data or b"").decode(errors="replace")


def _array_info(info: ArrayInfoStruct) -> ArrayInfo:
    shape = tuple(int(info.shape[k]) for k in range(info.rank))
    return ArrayInfo(
        _text(info.name), shape, _dtype(info.dtype), info.request, info.dtype, int(info.bytes)
    )


def _dtype(number: int) -> np.dtype[Any]:
    """NumPy's dtype; bfloat16 is that of ml_dtypes, or its bits as uint16 where that is missing."""
    if DTYPES[number] != "bfloat16":
        return np.dtype(DTYPES[number])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def _as_input(value: Any, info: ArrayInfo, place: str) -> Any:
    is_array = isinstance(value, (np.ndarray, np.generic))
    array = np.asarray(value) if is_array else _as_array(value, info, place)
    _check_type(array, info, place)
    is_plain = array.flags.c_contiguous and array.flags.aligned
    return array if is_plain else np.array(array, order="C")


def _check_type(array: Any, info: ArrayInfo, place: str) -> None:
    if array.dtype != info.dtype or array.shape != info.shape:
        raise LibraryError(f"{place}: expected {info}, got {array.dtype} of shape {array.shape}")


def _as_array(value: Any, info: ArrayInfo, place: str) -> Any:
    """Numbers of Python's, alone or in lists, as an array that has their values."""
    try:
        array = np.asarray(value)
        # whole numbers are int64 to NumPy, also those for unsigned arguments: their values decide
        whole = info.dtype.kind in "iu" and array.dtype.kind in "iu"
        fits = whole or np.can_cast(array.dtype, info.dtype, "same_kind") or info.dtype.kind == "V"
        made = array.astype(info.dtype) if fits else array
        is_same = not whole or np.array_equal(made, array)
    except (TypeError, ValueError, OverflowError) as error:
        raise LibraryError(
            f"{place}: expected {info}, got {type(value).__name__}: {error}"
        ) from None
    if not is_same:
        raise LibraryError(f"{place}: {value!r} does not fit {DTYPES[info.number]}")
    return made


def _as_number(value: Any, name: str) -> int:
    """An option of a call, which is an i32 in C."""
    found = operator.index(value) if hasattr(value, "__index__") else -1
    if not 0 <= found < 1 << 31:
        raise LibraryError(f"{name}: expected a number from 0 on, got {value!r}")
    return found


def _check_output(array: Any, info: ArrayInfo, place: str) -> None:
    if not isinstance(array, np.ndarray):
        raise LibraryError(f"{place}: expected a NumPy {info}, got {type(array).__name__}")
    _check_type(array, info, place)
    if not (array.flags.c_contiguous and array.flags.aligned and array.flags.writeable):
        raise LibraryError(f"{place}: expected a C-contiguous, aligned and writable array")


def _structs(
    arrays: Sequence[Any], infos: Sequence[ArrayInfo], requests: Sequence[int]
) -> tuple[Any, list[Any]]:
    """The structures of arrays, and what must outlive the call."""
    kept: list[Any] = []
    made = (ArrayStruct * max(len(arrays), 1))()
    for k, (array, info, request) in enumerate(zip(arrays, infos, requests, strict=True)):
        if array is None:  # not wanted
            continue
        shape = (ctypes.c_int64 * max(len(info.shape), 1))(*info.shape)
        kept.append(shape)
        made[k] = ArrayStruct(
            array.ctypes.data, ctypes.addressof(shape), array.size, array.ndim, info.number,
            request,
        )  # fmt: skip
    return made, kept


def _failure(status: StatusStruct, code: int) -> str:
    """The message of a failed call, after the place in the source, if that is known."""
    text = status.message.decode(errors="replace") or CODES[code]
    return f"{status.file.decode()}:{status.line}:{status.column}: {text}" if status.file else text


# ELF files.

_MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
_SHARED, _LOADED, _DYNAMIC = 3, 1, 2
"""Types of ELF files and of segments."""


DIGEST_BYTES = 32
DIGEST_MARK = struct.pack("<3I8s", 7, DIGEST_BYTES, 1, b"gradir")
"""What stands before the digest, near the begin of the file."""
_DIGEST_WITHIN = 4096


class ElfFile:
    """The parts of a shared library, each of which is there in full. Raises LibraryError.

    The system's loader believes what a file says: with a part of it missing it ends the process.
    """

    def __init__(self, path: str, data: bytes):
        self._path, self._data = path, data
        if not data.startswith(b"\x7fELF\x02\x01"):
            raise LibraryError(f"{path}: expected an ELF file of 64 bits")
        kind, machine = struct.unpack_from("<HH", self._part(0, 64), 16)
        if kind != _SHARED:
            raise LibraryError(f"{path}: expected a shared library, got ELF type {kind}")
        self.machine, self._segments = machine, self._read_segments()

    def names(self) -> list[str]:
        """The names of functions that the library may have for others."""
        found = re.findall(rb"(?<=\0)([A-Za-z]\w*)_workspace_bytes(?=\0)", self._data)
        return sorted({name.decode() for name in found})

    def check_digest(self) -> None:
        """LibraryError where the file has a digest that is another file's."""
        if self.with_digest() != self._data:
            raise self._damaged(
                "its digest is another one; write it anew, or if it was changed on purpose: "
                "load_library(path, check=False)"
            )

    def with_digest(self) -> bytes:
        """The file with its own digest, if it has a place for one.

        It is of all that is loaded, but for the digest and the header's words on sections, which
        strip changes.
        """
        mark = self._data.find(DIGEST_MARK, 0, _DIGEST_WITHIN)
        if mark < 0:
            return self._data  # another linker's
        place = mark + len(DIGEST_MARK)
        data, end = bytearray(self._data), place + DIGEST_BYTES
        for start, stop in ((place, end), (40, 48), (58, 64)):
            data[start:stop] = bytes(stop - start)
        found, view = hashlib.blake2b(digest_size=DIGEST_BYTES), memoryview(data)
        for kind, offset, length in self._segments:
            if kind == _LOADED:
                found.update(view[offset : offset + length])
        return self._data[:place] + found.digest() + self._data[end:]

    def _read_segments(self) -> list[tuple[int, int, int]]:
        """Kind, place and length of each segment."""
        (start,) = struct.unpack_from("<Q", self._data, 32)
        size, count = struct.unpack_from("<HH", self._data, 54)
        if size != 56:
            raise self._damaged(f"a table has rows of {size} bytes")
        segments = [*struct.iter_unpack("<I4xQ16xQ16x", self._part(start, count * size))]
        for _, offset, length in segments:
            self._part(offset, length)
        if not {_LOADED, _DYNAMIC} <= {kind for kind, _, _ in segments}:
            raise self._damaged("it has no segments to load")
        return segments

    def _part(self, start: int, length: int) -> bytes:
        if start + length > len(self._data):
            raise LibraryError(
                f"{self._path}: is not complete: expected {start + length} bytes at least, got "
                f"{len(self._data)}"
            )
        return self._data[start : start + length]

    def _damaged(self, text: str) -> LibraryError:
        return LibraryError(f"{self._path}: is damaged: {text}")
