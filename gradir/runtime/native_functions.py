"""gradir.native: functions in native code for `gradir.custom_op`, and the header they include."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from gradir.argument_checks import known_arguments
from gradir.errors import ArgumentTypeError, NativeFunctionError

# Of ctypes: a function that is to be called with the GIL.
_NEEDS_GIL = 4
_FunctionPointer = cast(Any, ctypes)._CFuncPtr
_POINTERS: Any = (
    ctypes.c_void_p, ctypes.c_char_p, cast(Any, ctypes)._Pointer, _FunctionPointer,
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class NativeFunction:
    """An address of a function, and the `data` of its calls; see `gradir.native`.

    `kept` are the objects that they live as long as. `source` pickles. `finish` is the address of a
    function that waits for what the function has started; 0 where nothing is left when it returns.
    """

    name: str
    address: int
    data: int | None
    kept: tuple[Any, ...] = field(compare=False)
    source: tuple[str, str] | None = field(compare=False)
    finish: int = 0

    def __repr__(self) -> str:
        return f"<gradir.native {self.name}>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.source is None:
            raise ArgumentTypeError(
                f"gradir.native of {self.name!r} does not pickle: give the path of a library and a "
                "symbol, without data"
            )
        return native, self.source


@known_arguments
def native(function: Any, symbol: str | None = None, *, data: Any = None) -> NativeFunction:
    """A function in native code, for `gradir.custom_op` in place of a Python function.

    `native(library, symbol)`: of a shared library, its path or a ctypes.CDLL. `native(function)`: a
    ctypes function pointer, or an object with an integer `address`, as numba.cfunc makes. It is a
    `gradir_op` of gradir_op.h (`gradir.include_dir()`), and lives as long as code that calls it.

    data: what its calls are handed: a NumPy array, an object or a pointer of ctypes, an address.
    """
    place = _address_of_data(data)
    if symbol is None:
        if isinstance(function, (str, os.PathLike, ctypes.CDLL)):
            raise ArgumentTypeError("symbol: expected the name of a function of the library")
        name = getattr(function, "__name__", None) or type(function).__name__
        return NativeFunction(str(name), _address(function), place, (function, data), None)
    if not isinstance(symbol, str):
        raise ArgumentTypeError(f"symbol: expected the name of a function, got {symbol!r}")
    if "\0" in symbol:  # the loader would look for the part before it
        raise NativeFunctionError(f"symbol: expected the name of a function, got {symbol!r}")
    library = _loaded(function)
    try:
        found = library[symbol]
    except (AttributeError, ValueError) as error:
        raise NativeFunctionError(f"{symbol!r} is not in {library._name}: {error}") from None
    source = None
    if isinstance(function, (str, os.PathLike)) and data is None:
        source = str(cast(Any, function)), symbol
    return NativeFunction(symbol, _address(found), place, (library, data), source)


@known_arguments
def include_dir() -> str:
    """The folder of gradir_op.h, for the compiler's -I."""
    return str(Path(__file__).parents[1] / "include")


def is_pointer(function: object) -> bool:
    """Whether this is a ctypes function pointer, which Python could call too."""
    return isinstance(function, _FunctionPointer)


def _loaded(library: Any) -> Any:
    if isinstance(library, ctypes.CDLL):
        return library
    if not isinstance(library, (str, os.PathLike)):
        raise ArgumentTypeError(
            f"library: expected a path or a ctypes.CDLL, got {type(library).__name__}"
        )
    try:
        return ctypes.CDLL(os.fspath(library))
    except (OSError, ValueError) as error:
        raise NativeFunctionError(f"{library!s} cannot be loaded: {error}") from None


def _address(function: Any) -> int:
    address: Any = None
    if is_pointer(function):
        if cast(Any, type(function))._flags_ & _NEEDS_GIL:
            raise NativeFunctionError(
                "expected a function that runs without the GIL, got one of ctypes.PyDLL or "
                "PYFUNCTYPE"
            )
        _check_prototype(function)
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
    else:
        address = getattr(function, "address", None)
    found = _integer(address)
    if found is None:
        raise ArgumentTypeError(
            "expected a ctypes function pointer, an object with an integer address, or a library "
            f"and a symbol, got {function!r}"
        )
    if not 0 < found < 1 << 64:
        raise NativeFunctionError(f"expected the address of a function, got {found}")
    if not _may_hold_code(found):
        raise NativeFunctionError(
            f"expected the address of a function, got {found:#x}, where this process has no code"
        )
    return found


def _integer(value: object) -> int | None:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(cast(Any, value)) if is_integer else None


def _may_hold_code(address: int) -> bool:
    """Whether the memory at an address may be run, as far as the system says so."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:  # of Linux alone
        return True
    for line in lines:
        bounds, rights = line.split(maxsplit=2)[:2]
        first, last = (int(end, 16) for end in bounds.split("-"))
        if first <= address < last:
            return "x" in rights
    return False


def _check_prototype(function: Any) -> None:
    """NativeFunctionError for declared types other than a gradir_op's."""
    result, arguments = function.restype, function.argtypes
    is_status = isinstance(result, type) and issubclass(result, (ctypes.c_int, ctypes.c_int32))
    is_call = arguments is None or (len(arguments) == 1 and issubclass(arguments[0], _POINTERS))
    if not (is_status and is_call):
        raise NativeFunctionError(
            "expected a function from a pointer, to a gradir_call, to int32, got one from "
            f"{arguments} to {result}"
        )


def _address_of_data(data: Any) -> int | None:
    if isinstance(data, np.ndarray):
        return data.ctypes.data
    if data is None:
        return None
    number = _integer(data)
    if number is not None:
        if not 0 <= number < 1 << 64:
            raise ArgumentTypeError(f"data: expected an address, got {data}")
        return number
    if isinstance(data, _POINTERS):
        return ctypes.cast(data, ctypes.c_void_p).value
    try:
        return ctypes.addressof(data)
    except TypeError:
        raise ArgumentTypeError(
            "data: expected a NumPy array, an object or a pointer of ctypes, or an address, got "
            f"{type(data).__name__}"
        ) from None
