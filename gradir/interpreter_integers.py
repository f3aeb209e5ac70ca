"""Integer division in the interpreter, and other integer ops on scalars.

What would trap on a machine is what native code makes of it: by 0, quotient and remainder are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Operation

Array = np.ndarray[Any, np.dtype[Any]]


def _unsigned(x: Array) -> Array:
    return x.view(np.dtype(f"u{x.dtype.name}")) if x.dtype.kind == "i" else x


def _divided(x: Any, y: Any, signed: bool) -> tuple[Any, Any]:
    """The quotient, towards zero, and the remainder."""
    x, y = np.asarray(x), np.asarray(y)
    if not signed:
        x, y = _unsigned(x), _unsigned(y)
    safe = np.where(y == 0, 1, y)
    quotient = np.floor_divide(x, safe)
    rest = x - quotient * safe
    # numpy rounds down; where that is not towards zero, one is missing
    is_low = (rest != 0) & ((x < 0) != (safe < 0))
    return np.where(y == 0, 0, quotient + is_low), np.where(y == 0, 0, rest - is_low * safe)


def _quotient(x: Any, y: Any) -> Any:
    return _divided(x, y, signed=True)[0]


def _unsigned_quotient(x: Any, y: Any) -> Any:
    return _divided(x, y, signed=False)[0]


def _remainder(x: Any, y: Any) -> Any:
    return _divided(x, y, signed=True)[1]


def _unsigned_remainder(x: Any, y: Any) -> Any:
    return _divided(x, y, signed=False)[1]


def _floor(x: Any, y: Any) -> Any:
    quotient, rest = _divided(x, y, signed=True)
    return quotient - ((rest != 0) & (np.asarray(y) != 0) & ((rest < 0) != (np.asarray(y) < 0)))


def _ceil(x: Any, y: Any) -> Any:
    quotient, rest = _divided(x, y, signed=True)
    return quotient + ((rest != 0) & (np.asarray(y) != 0) & ((rest < 0) == (np.asarray(y) < 0)))


def _unsigned_minimum(x: Any, y: Any) -> Any:
    return np.minimum(_unsigned(np.asarray(x)), _unsigned(np.asarray(y)))


def _unsigned_maximum(x: Any, y: Any) -> Any:
    return np.maximum(_unsigned(np.asarray(x)), _unsigned(np.asarray(y)))


INTEGER_OPS: dict[type[Operation], Callable[..., Any]] = {
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _unsigned_quotient,
    arith.RemSIOp: _remainder,
    arith.RemUIOp: _unsigned_remainder,
    arith.FloorDivSIOp: _floor,
    arith.CeilDivSIOp: _ceil,
    arith.MinUIOp: _unsigned_minimum,
    arith.MaxUIOp: _unsigned_maximum,
}
