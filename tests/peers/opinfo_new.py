"""Torch's new arrays, types and windows, as functions of ours."""

from __future__ import annotations

from typing import Any

from opinfo_bind import Function, listed, plain

import gradir.numpy as gnp


def to_type(name: str) -> Function:
    return lambda x, memory_format=None: gnp.astype(x, name)


def like(function: Function) -> Function:
    return lambda x, *more, dtype=None, device=None, layout=None, requires_grad=False, **k: (
        function(x, *more, dtype=None if dtype is None else plain(dtype))
    )


def new_array(function: Function) -> Function:
    """A new array of a size, without what says where it lies."""

    def wrapper(
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: Any = None,
        **k: Any,
    ) -> Any:
        return function(*args, dtype="float32" if dtype is None else plain(dtype), **k)

    return wrapper


def of_size(function: Function) -> Function:
    return new_array(
        lambda *size, dtype: function(tuple(listed(size)) if size else (), dtype=dtype)
    )


def new(function: Function) -> Function:
    return lambda x, size, *more, dtype=None, device=None, layout=None, **k: function(
        tuple(listed([size])), *more, dtype=str(x.dtype) if dtype is None else plain(dtype)
    )


def linspace(start: Any, end: Any, steps: int, **k: Any) -> Any:
    return new_array(lambda dtype: gnp.astype(gnp.linspace(start, end, steps), dtype))(**k)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **k: Any) -> Any:
    # in float64, whatever the types of tensors of rank 0
    ends = float(start), float(end)
    return new_array(lambda dtype: gnp.astype(gnp.logspace(*ends, steps, base=base), dtype))(**k)


def arange(*args: Any, end: Any = None, dtype: Any = None, **k: Any) -> Any:
    given = args if end is None else (*args, end)
    kind = "int64" if all(isinstance(a, int) for a in given) else "float32"
    return gnp.astype(gnp.arange(*given), kind if dtype is None else plain(dtype))


def eye(n: int, m: int | None = None, *, dtype: Any = None, **k: Any) -> Any:
    return gnp.eye(n, m, dtype="float32" if dtype is None else plain(dtype))


def window(function: Function) -> Function:
    def wrapper(size: int, *args: Any, sym: bool = True, dtype: Any = None, **k: Any) -> Any:
        for name in ("device", "layout", "requires_grad"):
            k.pop(name, None)
        if size == 0:
            return gnp.zeros(0, dtype="float32" if dtype is None else plain(dtype))
        if size == 1:
            sym = True  # one element is 1
        y = function(size if sym else size + 1, *args, *k.values())
        return gnp.astype(y[:size], "float32" if dtype is None else plain(dtype))

    return wrapper


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    if min == max:
        raise NotImplementedError("limits of the data: bins must be known")
    return gnp.astype(gnp.histogram(x, bins, (min, max))[0], str(x.dtype))


NEW: dict[str, Function | tuple[Function, Function]] = {
    "fill": lambda x, value: gnp.broadcast_to(value, x.shape) + 0 * x,
    "double": to_type("float64"),
    "float": to_type("float32"),
    "half": to_type("float16"),
    "bfloat16": to_type("bfloat16"),
    "bool": to_type("bool"),
    "int": to_type("int32"),
    "long": to_type("int64"),
    "byte": to_type("uint8"),
    "char": to_type("int8"),
    "histc": histc,
    "special.modified_bessel_i0": gnp.i0,
    "zeros_like": like(gnp.zeros_like),
    "ones_like": like(gnp.ones_like),
    "full_like": like(gnp.full_like),
    "zeros": of_size(gnp.zeros),
    "ones": of_size(gnp.ones),
    "new_zeros": new(gnp.zeros),
    "new_ones": new(gnp.ones),
    "full": new_array(lambda size, value, dtype: gnp.full(tuple(size), value, dtype=dtype)),
    "new_full": new(lambda size, value, dtype: gnp.full(size, value, dtype=dtype)),
    "scalar_tensor": new_array(lambda value, dtype: gnp.asarray(value, dtype=dtype)),
    "linspace": linspace,
    "logspace": logspace,
    "eye": eye,
    "arange": arange,
    "signal.windows.hamming": window(gnp.hamming),
    "signal.windows.hann": window(gnp.hanning),
    "signal.windows.bartlett": window(gnp.bartlett),
    "signal.windows.blackman": window(gnp.blackman),
    "signal.windows.kaiser": window(lambda n, beta=12.0: gnp.kaiser(n, beta)),
}
