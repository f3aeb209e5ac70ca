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
import operator
import os
import platform
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
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
        info_of = _symbol(library, f"{name}_info")
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
        self._library = library
        self._call = _symbol(library, name)
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
        asked = self._requests(requests)
        read = self._read(arrays)
        made = self._made(out, asked)
        given, kept = _structs(read, self.inputs, [NULL] * len(read))
        written, also_kept = _structs(made, self.outputs, asked)
        size = self.workspace_bytes + self._room(read, made, asked)
        workspace, own = self._memory(size)
        if status is None:
            status = own
            status.stop = 0
        status.abi, status.threads, status.level = ABI, threads, level
        status.workspace_bytes = size
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
                raise LibraryError(
                    f"{self.name}: requests[{k}] ({info.name}): expected one of {known}, "
                    f"got {request!r}"
                )
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
        for k, (entry, info, request) in enumerate(
            zip(entries, self.outputs, requests, strict=True)
        ):
            place = f"{self.name}: out[{k}] ({info.name})"
            if request == NULL:
                if entry is not None:
                    raise LibraryError(f"{place}: expected None for a result that is not wanted")
            elif entry is not None:
                _check_output(entry, info, place)
            elif request == ADD:
                raise LibraryError(f"{place}: expected the array whose contents are read, a {info}")
            else:
                entry = np.empty(info.shape, info.dtype)
            found.append(entry)
        return found


class Library:
    """The functions of a library, as attributes; `functions` are their names."""

    def __init__(self, path: str):
        self.path = path
        names = set(_ElfFile(path).names())
        self.functions = tuple(
            sorted(n for n in names if {f"{n}_info", f"{n}_workspace_bytes"} <= names)
        )
        if not self.functions:
            raise LibraryError(f"{path}: has no functions of gradir's")
        try:
            self._library = ctypes.CDLL(_name_of_file(path))
        except OSError as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}") from None
        self._made = {name: Function(self._library, name) for name in self.functions}

    def __getattr__(self, name: str) -> Function:
        made: dict[str, Function] = self.__dict__.get("_made", {})
        if name not in made:
            known = ", ".join(made)
            raise AttributeError(f"{self.path}: no function {name}; functions: {known}")
        return made[name]

    def __getitem__(self, name: str) -> Function:
        return self.__getattr__(name)

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


def load_library(path: str | os.PathLike[str]) -> Library:
    """The functions of a shared library that gradir has compiled. Raises LibraryError."""
    try:
        name = os.path.abspath(os.fsdecode(path))
    except TypeError:
        raise LibraryError(f"path: expected the name of a file, got {path!r}") from None
    if "\0" in name:
        raise LibraryError(f"path: expected the name of a file, got {name!r}")
    return Library(name)


def _symbol(library: ctypes.CDLL, name: str) -> Any:
    # each a new object: two functions would share the types of an attribute
    return library[name]


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
    if array.dtype != info.dtype or array.shape != info.shape:
        raise LibraryError(f"{place}: expected {info}, got {array.dtype} of shape {array.shape}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return array


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
    try:
        found = operator.index(value)
    except TypeError:
        found = -1
    if not 0 <= found < 1 << 31:
        raise LibraryError(f"{name}: expected a number from 0 on, got {value!r}")
    return found


def _check_output(array: Any, info: ArrayInfo, place: str) -> None:
    if not isinstance(array, np.ndarray):
        raise LibraryError(f"{place}: expected a NumPy {info}, got {type(array).__name__}")
    if array.dtype != info.dtype or array.shape != info.shape:
        raise LibraryError(f"{place}: expected {info}, got {array.dtype} of shape {array.shape}")
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
    if status.file:
        return f"{status.file.decode()}:{status.line}:{status.column}: {text}"
    return text


# ELF files.

_MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
_SHARED, _LOADED, _DYNAMIC, _DYNAMIC_SYMBOLS, _WITHOUT_BYTES = 3, 1, 2, 11, 8
"""Types of ELF files, segments and sections."""


class _ElfFile:
    """The parts of a shared library, each of which is there in full. Raises LibraryError.

    The system's loader believes what a file says: with a part of it missing it ends the process.
    """

    def __init__(self, path: str):
        self._path = path
        try:
            with open(path, "rb") as file:
                self._data = file.read()
        except OSError as error:
            raise LibraryError(f"{path}: cannot be read: {error.strerror or error}") from None
        if not self._data.startswith(b"\x7fELF\x02\x01"):
            raise LibraryError(f"{path}: expected an ELF file of 64 bits")
        if len(self._data) < 64:
            raise self._truncated(64)
        kind, machine = struct.unpack_from("<HH", self._data, 16)
        if kind != _SHARED:
            raise LibraryError(f"{path}: expected a shared library, got ELF type {kind}")
        own = _MACHINES.get(platform.machine(), machine)
        if machine != own:
            raise LibraryError(
                f"{path}: is for another processor: ELF machine {machine}, this one is {own}"
            )
        self._check_segments()

    def names(self) -> list[str]:
        """The names that the library has for others."""
        # flags, address, entry size and alignment of a section are of no interest
        sections = self._table(40, 58, "<4xI16xQQI4x16x")
        found: list[str] = []
        for kind, offset, length, link in sections:
            if kind != _DYNAMIC_SYMBOLS:
                continue
            if link >= len(sections):
                raise self._damaged(f"section {link} is missing")
            _, strings, size, _ = sections[link]
            texts = self._part(strings, size)
            for name, section in struct.iter_unpack("<I2xH16x", self._part(offset, length)):
                if section:
                    end = texts.find(b"\0", name)
                    if end < 0:
                        raise self._damaged("a name has no end")
                    found.append(texts[name:end].decode(errors="replace"))
        return found

    def _check_segments(self) -> None:
        segments = self._table(32, 54, "<I4xQ16xQ16x")
        for _, offset, length in segments:
            self._part(offset, length)
        kinds = [kind for kind, _, _ in segments]
        if _LOADED not in kinds or _DYNAMIC not in kinds:
            raise self._damaged("it has no segments to load")

    def _table(self, place: int, sizes: int, form: str) -> list[Any]:
        """The rows of the table whose place is at `place`, and whose sizes at `sizes`."""
        (start,) = struct.unpack_from("<Q", self._data, place)
        size, count = struct.unpack_from("<HH", self._data, sizes)
        if count and size != struct.calcsize(form):
            raise self._damaged(f"a table has rows of {size} bytes")
        rows = list(struct.iter_unpack(form, self._part(start, count * size)))
        if sizes == 58:
            rows = [row if row[0] != _WITHOUT_BYTES else (row[0], 0, 0, row[3]) for row in rows]
        return rows

    def _part(self, start: int, length: int) -> bytes:
        if start + length > len(self._data):
            raise self._truncated(start + length)
        return self._data[start : start + length]

    def _truncated(self, size: int) -> LibraryError:
        return LibraryError(
            f"{self._path}: is not complete: expected {size} bytes at least, got {len(self._data)}"
        )

    def _damaged(self, text: str) -> LibraryError:
        return LibraryError(f"{self._path}: is damaged: {text}")
