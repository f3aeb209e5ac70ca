"""gradir.debug: what traced functions print and check while their programs run.

Both are host calls with effects, of values without a derivative: they run once for each time that
the program comes by, in its order, and neither in backward code nor again in a stage.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.shapes import element_of, is_inexact, shape_of
from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted, tracing
from gradir.frontends.tracing.trees import flatten
from gradir.frontends.transforms.custom_op import custom_op
from gradir.frontends.transforms.markers import no_grad

Array = np.ndarray[Any, Any]


@public
def print(form: str, *args: Any, **kwargs: Any) -> None:
    """Print `form.format(*args, **kwargs)` when the program comes by; traced arrays as arrays.

    Arguments may be nested. Numbers of rank 0 are NumPy's scalars: `{x:.3f}`. Outside of tracing it
    prints at once. Under gradir.vmap it prints for each row, if an argument has rows.
    """
    if not isinstance(cast(object, form), str):
        raise ArgumentTypeError(f"debug.print: expected a text to format, got {form!r}")
    leaves, tree = flatten((args, kwargs))

    def show(arrays: Sequence[Array]) -> str:
        given, named = tree.build([a[()] for a in arrays])
        return form.format(*given, **named)

    if tracing() is None:
        builtins.print(show([np.asarray(leaf) for leaf in leaves]))
        return
    values = [lifted(leaf) for leaf in leaves]
    try:
        shapes = [[2 if is_extent(n) else n for n in shape_of(v.type)] for v in values]
        show([np.zeros(s, v.dtype) for s, v in zip(shapes, values, strict=True)])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise refusal(f"debug.print: {form!r} does not fit its arguments: {error}") from None
    _run("debug_print", lambda arrays: builtins.print(show(arrays)), values)


@public
def check_nan(value: Any, what: str = "the value") -> Any:
    """The value, nested or not; FloatingPointError when the program comes by and it has a nan.

    `what` names it in the error. A running program ends with HostCallError, which has the place.
    """
    leaves, tree = flatten(value)
    paths = tree.paths(what)
    if tracing() is None:
        _require_no_nan([np.asarray(leaf) for leaf in leaves], paths)
        return value
    values = [lifted(leaf) for leaf in leaves]
    floats = [k for k, v in enumerate(values) if is_inexact(element_of(v.type))]
    names = [paths[k] for k in floats]
    if floats:
        _run("check_nan", lambda a: _require_no_nan(a, names), [values[k] for k in floats])
    return tree.build(values)


def _require_no_nan(arrays: Sequence[Array], names: Sequence[str]) -> None:
    for array, name in zip(arrays, names, strict=True):
        wrong = array != array
        if wrong.any():
            first = [int(n) for n in np.argwhere(wrong)[0]]
            where = f", the first at {first}" if first else ""
            count = f"{int(wrong.sum())} of {array.size} elements" if first else "a nan"
            raise FloatingPointError(f"{name} has nan: {count}{where}")


def _run(name: str, function: Callable[[Sequence[Array]], None], values: Sequence[Tracer]) -> None:
    """A call of the function with the values of each run."""

    def forward(inputs: Sequence[Array], outputs: object, req: object) -> None:
        function(inputs)

    call = custom_op(forward, lambda *specs: (), name=name)
    call(*(no_grad(v) if is_inexact(element_of(v.type)) else v for v in values))
