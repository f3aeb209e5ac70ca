"""PyTorch's values as types and constants of foreign graphs, and the lines of a program's nodes."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from gradir.frontends.imported.graph import ForeignConstant, ForeignType
from gradir.packages import folder_of, package

torch: Any = package("torch", "torch")

NOWHERE = UnknownLoc()
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class Unreadable(Exception):
    """A value of a program that no array of a known shape is; the text says why."""


def foreign_type(value: Any) -> ForeignType:
    """The type of a tensor; Unreadable where its shape or its layout is not that of an array."""
    if not isinstance(value, torch.Tensor):
        raise Unreadable("it is a number that depends on values of tensors, or on symbolic extents")
    if not all(isinstance(n, int) for n in value.shape):
        shape = ", ".join(map(str, value.shape))
        raise Unreadable(f"its shape [{shape}] is symbolic, or depends on values of tensors")
    if value.layout is not torch.strided:
        raise Unreadable(f"its layout is {value.layout}")
    return ForeignType(tuple(value.shape), dtype_name(value.dtype))


def dtype_name(dtype: Any) -> str:
    """PyTorch's name of a dtype, which is NumPy's where that has it."""
    return str(dtype).removeprefix("torch.")


def foreign_constant(tensor: Any) -> ForeignConstant:
    """A tensor with its elements; what is not an array is refused by its type later on."""
    return ForeignConstant(foreign_type(tensor), array_of(tensor))


def array_of(tensor: Any) -> Any:
    """The elements of a tensor, copied."""
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor._is_zerotensor():  # without memory
        tensor = tensor.new_zeros(tensor.shape)
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().copy().view(ml_dtypes.bfloat16)
    try:
        return np.array(tensor.numpy())
    except TypeError:  # of a dtype that NumPy has not
        return None


def place_of(node: Any) -> LocationAttr:
    """The user's line of a node: the innermost frame outside of PyTorch."""
    return _place(node.meta.get("stack_trace") or "")


@cache
def _place(trace: str) -> LocationAttr:
    folder = folder_of(torch)
    for file, line in reversed(_FRAME.findall(trace)):
        if not file.startswith((folder, "<")):
            return _location(file, int(line))
    return NOWHERE


def _location(file: str, line: int) -> LocationAttr:
    text = linecache.getline(file, line)
    column = len(text) - len(text.lstrip()) + 1
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def map_nested(change: Callable[[Any], Any], value: Any) -> Any:
    """Nested lists and tuples with each leaf changed."""
    if isinstance(value, (list, tuple)):
        return tuple(map_nested(change, each) for each in value)
    return change(value)
