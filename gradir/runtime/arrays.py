"""Arrays of calls: their specifications, and the checks of arguments.

Element types map to NumPy's: f32 is float32, bf16 is ml_dtypes.bfloat16, i1 is bool, i32 and si32
are int32, ui8 is uint8, index is int64. Nothing is converted: dtype and shape must be exactly those
of the function, except that a Python number stands for a rank-0 array of any type that can hold it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute

from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.shapes import DYNAMIC, NUMPY_NAMES
from gradir.dialects.loopnest.loopnest import ShapedType, scalar_type
from gradir.errors import ArgumentError, ArgumentTypeError

Array = np.ndarray[Any, np.dtype[Any]]
_char = ctypes.c_char
_address_of = ctypes.addressof


@dataclass(frozen=True)
class ArraySpec:
    """One argument or result of a compiled function: its name, shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", int(np.prod(self.shape)) * self.dtype.itemsize)

    def __str__(self) -> str:
        # a dynamic extent is shown as in the program
        return f"{self.dtype} array of shape {self.shape}".replace(str(DYNAMIC), "?")


def spec_of(name: str, type_: ShapedType) -> ArraySpec:
    """The specification of a value of tensor or memref type."""
    return ArraySpec(name, tuple(type_.get_shape()), dtype_of(type_.element_type))


@kept_fact
def dtype_of(element: Attribute) -> np.dtype[Any]:
    """The NumPy dtype of an element type."""
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    # a signed integer (si32) is held as a signless one
    name = NUMPY_NAMES.get(element) or NUMPY_NAMES.get(scalar_type(element))
    if name is None:
        raise ArgumentError(f"no array type holds elements of type {element}")
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def widened(array: Array) -> Array:
    """f16 and bf16 as f32, their compute type; others unchanged."""
    is_half = array.dtype.itemsize == 2 and array.dtype.kind not in "iub"
    return array.astype(np.float32) if is_half else array


def address_of(array: Array) -> int:
    """The address of an array's first element."""
    try:
        # four times as fast as the array interface, but for writable arrays of common dtypes only
        return _address_of(_char.from_buffer(cast(Any, array)))
    except (TypeError, ValueError, BufferError):
        return cast(int, array.__array_interface__["data"][0])


def as_input(value: object, spec: ArraySpec, place: str) -> Array:
    """`value` as an array that native code can read in place; `place` names it in messages.

    A non-contiguous or misaligned array is copied. ArgumentError for other misfits.
    """
    array = _as_array(value, spec, place)
    if array.dtype != spec.dtype or array.shape != spec.shape:
        raise _mismatch(array, spec, place)
    if not (array.flags.c_contiguous and array.flags.aligned):
        return copied(array, place)
    return array


def copied(array: Array, place: str) -> Array:
    """A C-contiguous copy; ArgumentError that begins with `place` where memory has no room."""
    try:
        return np.array(array, order="C")
    except MemoryError:
        raise ArgumentError(
            f"{place}: no memory for a copy of {array.dtype} of shape {array.shape}, "
            f"{array.nbytes} bytes"
        ) from None


def as_output(value: object, spec: ArraySpec, place: str) -> Array:
    """`value` as an array that native code can write in place; of a subclass, its base array."""
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"{place}: expected a NumPy {spec} to write to, got {type(value).__name__}"
        )
    # attributes of a subclass may lie
    array = np.asarray(cast(Array, value))
    if array.dtype != spec.dtype or array.shape != spec.shape:
        raise _mismatch(array, spec, place)
    for name in ("c_contiguous", "aligned", "writeable"):
        if not getattr(array.flags, name):
            qualities = {"c_contiguous": "a C-contiguous", "writeable": "a writable"}
            quality = qualities.get(name, "an aligned")
            raise ArgumentError(f"{place}: expected {quality} array to write to")
    return array


def require_unchanged(array: Array, spec: ArraySpec, place: str) -> None:
    """ArgumentError for a checked array that user code has changed since."""
    if array.dtype != spec.dtype or array.shape != spec.shape or not array.flags.c_contiguous:
        raise ArgumentError(f"{place}: changed while the arguments were read")


def _mismatch(array: Array, spec: ArraySpec, place: str) -> ArgumentError:
    kind = ArgumentTypeError if array.dtype != spec.dtype else ArgumentError
    return kind(f"{place}: expected {spec}, got {array.dtype} of shape {array.shape}")


def _as_array(value: object, spec: ArraySpec, place: str) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(f"{place}: expected {spec}, got a masked array; fill it first")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast(Any, value))
    if isinstance(value, bool | int | float | complex) and spec.shape == ():
        return _scalar(value, spec, place)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, spec, place)
    raise ArgumentTypeError(f"{place}: expected {spec}, got {type(value).__name__}")


def _scalar(value: complex, spec: ArraySpec, place: str) -> Array:
    """A Python number as a rank-0 array; an int fits floats too, and both fit complex numbers."""
    kind = "f" if spec.dtype.name == "bfloat16" else spec.dtype.kind
    if isinstance(value, bool):
        fits = kind == "b"
    elif isinstance(value, int):
        fits = kind in "iufc"
    else:
        fits = kind == "c" or (kind == "f" and isinstance(value, float))
    if not fits:
        raise ArgumentTypeError(
            f"{place}: expected a {spec.dtype} number, got {type(value).__name__} {value}"
        )
    if spec.dtype.kind in "iu":
        # NumPy 1 would truncate it
        limits = np.iinfo(spec.dtype)
        if not limits.min <= cast(int, value) <= limits.max:
            raise ArgumentError(f"{place}: {value} does not fit {spec.dtype}")
    try:
        # an overflow to infinity, as in an array expression
        with np.errstate(over="ignore"):
            return np.array(value, spec.dtype)
    except OverflowError:
        raise ArgumentError(f"{place}: {value} does not fit {spec.dtype}") from None


# DLPack.

# kDLCPU and kDLBfloat.
_DLPACK_CPU = 1
_DLPACK_BFLOAT = 4


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _from_dlpack(value: Any, spec: ArraySpec, place: str) -> Array:
    """The memory of a CPU array of another library, not copied."""
    device = int(value.__dlpack_device__()[0])
    if device != _DLPACK_CPU:
        raise ArgumentTypeError(
            f"{place}: expected an array on the CPU, got one on DLPack device type {device}"
        )
    try:
        if spec.dtype.name == "bfloat16":
            return _bfloat16_from_dlpack(value, spec, place)
        return cast(Array, np.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentTypeError(f"{place}: {type(value).__name__}: {error}") from None


def _bfloat16_from_dlpack(value: Any, spec: ArraySpec, place: str) -> Array:
    # NumPy's reader knows no bfloat16, so the tensor's header is read here
    capsule = value.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    kind = type(value).__name__
    if tensor.device_type != _DLPACK_CPU:
        raise ArgumentTypeError(f"{place}: expected an array on the CPU, got {kind}")
    if (tensor.code, tensor.bits, tensor.lanes) != (_DLPACK_BFLOAT, 16, 1):
        raise ArgumentTypeError(f"{place}: expected {spec}, got {kind} of another element type")
    count = int(np.prod(shape))
    if count == 0:
        return np.empty(shape, spec.dtype)
    strides = [2 * int(tensor.strides[k]) for k in range(tensor.ndim)] if tensor.strides else None
    if strides is not None and min(strides, default=0) < 0:
        raise ArgumentError(f"{place}: a {type(value).__name__} with negative strides")
    extent = 2 + sum((n - 1) * s for n, s in zip(shape, strides or (), strict=False))
    owner: Any = (ctypes.c_char * (2 * count if strides is None else extent)).from_address(
        tensor.data + tensor.byte_offset
    )
    owner.capsule = capsule  # the memory lives as long as its capsule
    return np.ndarray(shape, spec.dtype, owner, strides=strides)
