"""Calls of native code without Python in between, by codegen/driver/call_function.py.

The functions are compiled once in a process, after some calls: a process that makes fewer has its
results earlier without. They read NumPy's arrays as extension modules do, so they are used only on
versions of CPython and NumPy of known layout; on others Python makes the calls.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np

from gradir.cache.memory import made_once
from gradir.codegen.driver import call_function as numbers
from gradir.codegen.driver import call_text as text
from gradir.codegen.driver.tree_call import TREE_ENTRY, tree_call
from gradir.codegen.text.structs import Struct
from gradir.runtime import jit
from gradir.runtime.arrays import Array, ArraySpec
from gradir.runtime.fixed_code import fixed_object

Runner = Callable[[tuple[object, ...], object], Any]
"""Takes the arguments and `out`; returns the results, False after an error, None before a run."""

# The tested versions. PyObject's header has 16 bytes in these, in builds with the GIL.
PYTHONS = ((3, 11), (3, 12), (3, 13))
HEADER_BYTES = 16
# PyArray_GetNDArrayCVersion of NumPy 1 and 2.
NUMPY_INTERFACES = (0x01000009, 0x02000000)

# Places in NumPy's table of functions, the same in all its versions.
NUMPY_VERSION, NUMPY_ARRAY_TYPE = 0, 2
NUMPY_PLACES = {"PyArray_ScalarAsCtype": 62, "PyArray_NewFromDescr": 94}

# METH_FASTCALL.
FASTCALL = 0x80

# The calls that Python makes in a process before the native functions are compiled, in the time of
# a thousand such calls.
PYTHON_CALLS: int = 64

_calls_by_python = 0
_C_TYPES = {"i64": ctypes.c_int64, "i32": ctypes.c_int32, "ptr": ctypes.c_void_p}


def structure(record: Struct) -> type[ctypes.Structure]:
    """The record of native functions, as ctypes has it."""
    fields = [(name, _C_TYPES[type_]) for name, type_ in record.fields]
    return type(record.name, (ctypes.Structure,), {"_fields_": fields})


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


_NdArray, _Array, _Program, _Call = map(
    structure, (text.NDARRAY, text.ARRAY, text.PROGRAM, text.CALL)
)


class NativeCall:
    """The native calls of one program: makes a `Runner` per table. Must outlive its runners.

    `first` is the word of a table for the first input; from `numbers` on a table has a word
    per input. A maker returns its result's array; other results are new arrays.
    """

    def __init__(
        self,
        entry: int,
        inputs: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        makers: Sequence[Callable[[], Array] | None],
        first: int,
        numbers: int,
    ):
        specs = (*inputs, *results)
        self._kept: list[object] = [specs, makers]
        none = (None,) * len(inputs)
        arrays = [self._array(s, m) for s, m in zip(specs, (*none, *makers), strict=True)]
        table: Any = (_Array * len(arrays))(*arrays)
        places = (first, numbers, ctypes.addressof(table))
        self._program = _Program(entry, len(inputs), len(results), *places)
        self._kept.append(table)

    def replace_entry(self, entry: int) -> None:
        """Have all runners, also those that exist, run other code of the program."""
        self._program.entry = entry

    def runner(self, table: int) -> Runner:
        """The runner of the program with the table at an address."""
        call = _Call(ctypes.addressof(self._program), table)
        return native_function(numbers.CALL_ENTRY, call) or decline

    def _array(self, spec: ArraySpec, maker: Callable[[], Array] | None) -> ctypes.Structure:
        extents = (ctypes.c_int64 * len(spec.shape))(*spec.shape)
        self._kept.append(extents)
        scalar, number, low, high = _numbers(spec)
        return _Array(
            id(spec.dtype), len(spec.shape), ctypes.addressof(extents), spec.nbytes,
            *(id(scalar) if scalar else None, number, low, high),
            id(maker) if maker else None,
        )  # fmt: skip


def _numbers(spec: ArraySpec) -> tuple[type | None, int, int, int]:
    """The numbers that fit an array: NumPy's type, Python's kind, least and greatest."""
    dtype = spec.dtype
    if spec.shape != () or dtype.isbuiltin != 1 or dtype.kind == "c":
        return None, numbers.NO_NUMBER, 0, 0
    if dtype.kind in "iu":
        range_ = np.iinfo(dtype)
        return dtype.type, numbers.INTEGER, int(range_.min), min(int(range_.max), (1 << 63) - 1)
    kinds = {"float64": numbers.FLOAT64, "float32": numbers.FLOAT32, "bool": numbers.BOOLEAN}
    return dtype.type, kinds.get(dtype.name, numbers.NO_NUMBER), 0, 0


def decline(arguments: tuple[object, ...], out: object) -> None:
    """The runner that leaves each call to Python."""


def note_call() -> None:
    """Note a call that Python makes."""
    global _calls_by_python
    _calls_by_python += 1


def is_due() -> bool:
    """Whether the native functions pay by now."""
    return _calls_by_python >= PYTHON_CALLS


def native_function(entry: str, record: ctypes.Structure, *kept: object) -> Any:
    """A compiled function on a record, which lives as long; None if it must not be used."""
    definition = _definition(entry)
    if definition is None:
        return None
    # as the function's module, so that it lives as long as the function
    alive = (record, definition, kept)
    return _new_function(ctypes.addressof(definition), ctypes.addressof(record), alive)


@cache
def _definition(entry: str) -> _MethodDefinition | None:
    """The definition of a compiled function for Python; None where it must not be used."""
    if not is_supported():
        return None
    code = _code()
    return _MethodDefinition(entry.encode(), code.addresses[entry], FASTCALL, None)


@made_once
def _code() -> jit.LoadedCode:
    symbols = {name: id(thing) for name, thing in text.OBJECTS.items()}
    symbols |= {name: _python_function(name) for name in text.PYTHON_FUNCTIONS}
    symbols |= {name: _numpy_address(NUMPY_PLACES[name]) for name in text.NUMPY_FUNCTIONS}
    symbols[text.ARRAY_TYPE] = _numpy_address(NUMPY_ARRAY_TYPE)
    module = text.module(numbers.call_function(), tree_call())
    entries = (numbers.CALL_ENTRY, TREE_ENTRY)
    return jit.LoadedCode([fixed_object(module)], entries, symbols)


def is_supported() -> bool:
    """Whether the code knows this Python's and this NumPy's layout of arrays."""
    return (
        sys.implementation.name == "cpython"
        and sys.version_info[:2] in PYTHONS
        and object.__basicsize__ == HEADER_BYTES  # not in builds without the GIL, or with tracing
        and sys.byteorder == "little"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and _numpy_interface() in NUMPY_INTERFACES
        and _numpy_address(NUMPY_ARRAY_TYPE) == id(np.ndarray)
        and _is_laid_out_as_declared()
    )


def _is_laid_out_as_declared() -> bool:
    array = np.zeros((3, 5), np.float32)[::2]
    seen: Any = _NdArray.from_address(id(array))
    extents = (ctypes.c_int64 * 2).from_address(seen.extents)
    return (
        seen.type == id(np.ndarray)
        and seen.data == array.__array_interface__["data"][0]
        and (seen.rank, *extents) == (2, 2, 5)
        and seen.base == id(array.base)
        and seen.dtype == id(array.dtype)
        and seen.flags & (numbers.C_CONTIGUOUS | numbers.ALIGNED | numbers.WRITEABLE)
        == (numbers.ALIGNED | numbers.WRITEABLE)
    )


# The C interfaces.


@cache
def _numpy_table() -> Any:
    """NumPy's table of functions and types, which extension modules take from a capsule."""
    core = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    capsule = import_module(f"{core}._multiarray_umath")._ARRAY_API
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    return (ctypes.c_void_p * (1 + max(NUMPY_PLACES.values()))).from_address(pointer(capsule, None))


def _numpy_address(place: int) -> int:
    return _numpy_table()[place]


def _numpy_interface() -> int:
    """The version of NumPy's binary interface."""
    return ctypes.PYFUNCTYPE(ctypes.c_uint)(_numpy_address(NUMPY_VERSION))()


def _python_function(name: str) -> int:
    return cast(int, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)


_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
)(("PyCFunction_NewEx", ctypes.pythonapi))
