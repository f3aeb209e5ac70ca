"""gradir.numpy: functions of NumPy that are loops here: over rows, or until a condition holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.functions.arguments import axis_of
from gradir.frontends.functions.promotion import common_shape, unified
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracing import element, lifted, tracing

if TYPE_CHECKING:
    from gradir.frontends.transforms.flow import while_loop
    from gradir.frontends.transforms.jit import jit
    from gradir.frontends.transforms.vmap import vmap
else:
    vmap = lazy_function("gradir.frontends.transforms.vmap", "vmap")
    while_loop = lazy_function("gradir.frontends.transforms.flow", "while_loop")
    jit = lazy_function("gradir.frontends.transforms.jit", "jit")


@public
def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of integers, by Euclid's algorithm."""
    if tracing() is None:
        return np.gcd(x1, x2)
    a, b = _sizes("gcd", x1, x2)
    return _common_divisor(a, b).astype(gnp.result_type(x1, x2))


def _sizes(name: str, x1: Any, x2: Any) -> Any:
    """|x1| and |x2| in the unsigned type of their width, which holds the smallest integer's too."""
    (a, b), _ = unified(WhereOp, [lifted(x1), lifted(x2)])
    if is_float(element(a)):
        raise refusal(f"{name}: expected integers, got {a!r} and {b!r}")
    shape = common_shape(name, [a, b])
    dtype = f"uint{8 * a.dtype.itemsize}"
    return [gnp.abs(gnp.broadcast_to(v, shape)).astype(dtype) for v in (a, b)]


def _common_divisor(a: Any, b: Any) -> Any:

    def step(state: Any) -> Any:
        a, b = state
        is_done = b == 0
        return gnp.where(is_done, a, b), gnp.where(is_done, 0, gnp.remainder(a, b))

    def is_left(state: Any) -> Any:
        return gnp.any(state[1] != 0)

    return while_loop(is_left, step, (a, b))[0]


@public
def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of integers; 0 beside 0."""
    if tracing() is None:
        return np.lcm(x1, x2)
    a, b = _sizes("lcm", x1, x2)
    # 0 of two zeros, as integers divided by 0 are 0
    return (a // _common_divisor(a, b) * b).astype(gnp.result_type(x1, x2))


def _run(function: Callable[..., Any], *arrays: Any) -> Any:
    """The function while tracing, and compiled outside of it."""
    return function(*arrays) if tracing() is not None else jit(function)(*arrays)


@public
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """The function of each vector along an axis, which its result's axes replace."""

    def along(x: Any) -> Any:
        x = lifted(x)
        at = axis_of(x, axis)
        rows = gnp.moveaxis(x, at, -1)
        outer = rows.shape[:-1]
        flat = gnp.reshape(rows, (prod(outer), rows.shape[-1]))

        def one(row: Any) -> Any:
            return gnp.asarray(func1d(row, *args, **kwargs))

        made = vmap(one)(flat)
        inner = made.shape[1:]
        made = gnp.reshape(made, (*outer, *inner))
        places = list(range(len(outer), made.ndim))
        return gnp.moveaxis(made, places, [at + k for k in range(len(inner))]) if places else made

    return _run(along, arr)


@public
def vectorize(
    pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None, excluded: Any = None,
    cache: bool = False, signature: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The function on all elements of arrays that broadcast, at once by gradir.vmap.

    signature: `"(n),(n)->()"` says what axes the function takes of each argument. excluded: the
    numbers and names of arguments that it takes as they are.
    """
    left: set[Any] = set() if excluded is None else set(excluded)
    ranks = None if signature is None else _ranks(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        at = [k for k in range(len(args)) if k not in left]
        names = [name for name in kwargs if name not in left]
        if ranks is not None and (len(ranks) != len(at) or names):
            raise refusal(f"vectorize: {len(ranks)} arguments expected, as {signature} says")

        def one(*rows: Any) -> Any:
            given, named = cast(Any, list(args)), cast(Any, dict(kwargs))
            for k, row in zip([*at, *names], rows, strict=True):
                (given if isinstance(k, int) else named)[k] = row
            return pyfunc(*given, **named)

        arrays = [args[k] for k in at] + [kwargs[name] for name in names]
        made = _run(lambda *xs: _on_rows(one, xs, ranks or [0] * len(xs)), *arrays)
        return made if otypes is None else _typed(made, otypes)

    vectorized.__doc__ = doc or pyfunc.__doc__
    return public(vectorized)


def _typed(made: Any, otypes: Any) -> Any:
    names = [np.dtype(t) for t in otypes]
    if isinstance(made, tuple):
        return tuple(gnp.astype(m, t) for m, t in zip(cast(Any, made), names, strict=True))
    return gnp.astype(made, names[0])


def _ranks(signature: str) -> list[int]:
    """The number of axes of each argument."""
    arguments, arrow, _ = signature.partition("->")
    found = re.findall(r"\(([^()]*)\)", arguments)
    if not arrow or not found:
        raise refusal(
            f"vectorize: a signature such as '(m,n),(n)->(m)' expected, got {signature!r}"
        )
    return [len([name for name in each.split(",") if name.strip()]) for each in found]


def _on_rows(function: Callable[..., Any], arrays: Any, ranks: list[int]) -> Any:
    """vmap over all leading axes, which broadcast."""
    values = [lifted(a) for a in arrays]
    pairs = list(zip(values, ranks, strict=True))
    shape = gnp.broadcast_shapes(*(v.shape[: v.ndim - r] for v, r in pairs))
    wide = [gnp.broadcast_to(v, (*shape, *v.shape[v.ndim - r :])) for v, r in pairs]
    for _ in shape:
        function = vmap(function)
    return function(*wide)


BY_NAME: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (gcd, lcm, apply_along_axis, vectorize)
}
