"""gradir.jacfwd, jacrev, jacobian, hessian, linearize, linear_transpose, as in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from gradir.dialects.base.shapes import element_of, is_complex, is_inexact
from gradir.frontends.functions.creation import eye, zeros
from gradir.frontends.tracing.copying import as_called
from gradir.frontends.tracing.source_locations import named_options, public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import function_name
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.derivatives import (
    Transposed,
    jvp,
    require_complex,
    require_output,
    vjp,
)
from gradir.frontends.transforms.jit import Jitted, P, jit, jit_transform
from gradir.frontends.transforms.requests import numbers_of
from gradir.frontends.transforms.vmap import vmap
from gradir.runtime.tapes import NativeTape

Numbers = int | Sequence[int]


@named_options
def jacfwd(
    function: Callable[P, Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, Any]:
    """The Jacobian of a function by forward mode, with one tangent for each element of its input.

    It is nested like the result, and in each place like the argument, or the tuple of arguments, of
    `argnums`; an array has the result's shape, then the argument's. `has_aux`: the function returns
    (result, aux), its Jacobian (Jacobian, aux). Forward mode is for few inputs, jacrev for few
    results. `holomorphic`: of complex arguments, by which the function has a complex derivative.
    """
    return _jacobian(jacfwd, _forward, function, argnums, has_aux, holomorphic)


@named_options
def jacrev(
    function: Callable[P, Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, Any]:
    """The Jacobian of a function by reverse mode, with a cotangent for each element of its result.

    As jacfwd otherwise.
    """
    return _jacobian(jacrev, _reverse, function, argnums, has_aux, holomorphic)


@named_options
def jacobian(
    function: Callable[P, Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, Any]:
    """jacrev."""
    return jacrev(function, argnums, has_aux, holomorphic)


@named_options
def hessian(
    function: Callable[P, Any],
    argnums: Numbers = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Jitted[P, Any]:
    """The second derivatives of a function: jacfwd of jacrev."""
    inner = jacrev(function, argnums, has_aux, holomorphic)
    return jacfwd(inner, argnums, has_aux, holomorphic)


Blocks = Callable[[Callable[..., Any], Sequence[Tracer], bool], tuple[list[list[Tracer]], Tree]]


def _jacobian(
    transform: Callable[..., Any],
    blocks: Blocks,
    function: Callable[..., Any],
    argnums: Numbers,
    has_aux: bool,
    holomorphic: bool,
) -> Jitted[..., Any]:
    """The Jacobian by a transform; `blocks` gives an array for each leaf of result and argument."""
    name, argnums = function_name(function), numbers_of(argnums)

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        if any(not -len(args) <= n < len(args) for n in numbers):
            raise refusal(f"{transform.__name__}: no argument {argnums} among {len(args)}")
        numbers = [n % len(args) for n in numbers]
        chosen = [args[n] for n in numbers]
        leaves, tree = flatten(chosen[0] if isinstance(argnums, int) else tuple(chosen))
        primals = [lifted(leaf) for leaf in leaves]
        _require_floats(transform.__name__, primals, tree)
        for primal in primals:
            if holomorphic:
                require_complex(transform.__name__, "inputs", primal.type)
            elif transform is jacfwd:
                _require_real_input(primal)

        def of_leaves(*given: Any) -> Any:
            built = tree.build(list(given))
            inserted = [built] if isinstance(argnums, int) else list(built)
            places = dict(zip(numbers, inserted, strict=True))
            result = as_called(function)(*(places.get(k, a) for k, a in enumerate(args)), **kwargs)
            if not has_aux:
                return result
            return _with_aux(result, transform.__name__, name)[0]

        found, results = blocks(of_leaves, primals, holomorphic)
        jacobian = results.build([tree.build(row) for row in found])
        if not has_aux:
            return jacobian
        whole = as_called(function)(*args, **kwargs)
        return jacobian, _with_aux(whole, transform.__name__, name)[1]

    return jit_transform(jacobian_of, function, transform, argnums, has_aux, holomorphic)


def _with_aux(result: Any, what: str, name: str) -> Sequence[Any]:
    """(result, aux)."""
    pair = cast(Sequence[Any], result) if isinstance(result, tuple) else ()
    if len(pair) != 2:
        raise refusal(f"{what}: @{name} must return (result, aux)")
    return pair


def _require_real_input(primal: Tracer) -> None:
    """TraceError for a complex input of jacfwd, in JAX's words."""
    if is_complex(element_of(primal.type)):
        raise refusal(
            "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {primal.dtype}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex inputs or integer "
            "inputs, use gradir.jvp directly"
        )


def _require_floats(what: str, primals: Sequence[Tracer], tree: Tree) -> None:
    for primal, path in zip(primals, tree.paths("the argument"), strict=True):
        if not is_inexact(element_of(primal.type)):
            raise refusal(f"{what}: {path} must be floating, got {type_text(primal.type)}")


def _basis(values: Sequence[Tracer]) -> list[Tracer]:
    """For each value, rows with the part of the unit vectors of all values."""
    sizes = [prod(v.shape) for v in values]
    count, start, rows = sum(sizes), 0, list[Tracer]()
    for value, size in zip(values, sizes, strict=True):
        unit = eye(count, size, k=-start, dtype=value.dtype)
        rows.append(unit.reshape((count, *value.shape)))
        start += size
    return rows


def _forward(
    function: Callable[..., Any], primals: Sequence[Tracer], holomorphic: bool
) -> tuple[list[list[Tracer]], Tree]:
    shapes = [p.shape for p in primals]

    def along(*tangents: Any) -> Any:
        return jvp(function, tuple(primals), tangents)[1]

    pushed, results = flatten(vmap(along, out_axes=-1)(*_basis(primals)))
    for each in pushed if holomorphic else ():
        require_complex("jacfwd", "outputs", each.type)
    return [_parts(p, shapes, p.shape[:-1], True) for p in pushed], results


def _reverse(
    function: Callable[..., Any], primals: Sequence[Tracer], holomorphic: bool
) -> tuple[list[list[Tracer]], Tree]:
    value, back = vjp(function, *primals)
    leaves, results = flatten(value)
    outputs = [lifted(leaf) for leaf in leaves]
    _require_floats("jacrev", outputs, results)
    for output in outputs:
        require_output("jacrev", output.type, holomorphic, "gradir.vjp")
    shapes = [y.shape for y in outputs]

    def backward(*cotangents: Any) -> Any:
        return back(results.build(list(cotangents)))

    pulled = vmap(backward)(*_basis(outputs))
    columns = [_parts(p, shapes, p.shape[1:], False) for p in pulled]
    return [list(row) for row in zip(*columns, strict=True)], results


def _parts(
    x: Tracer, shapes: Sequence[tuple[int, ...]], rest: tuple[int, ...], is_last: bool
) -> list[Tracer]:
    """The parts of the last or the first axis of x, each in its own shape."""
    found: list[Tracer] = []
    start = 0
    for shape in shapes:
        stop = start + prod(shape)
        part: Any = x[..., start:stop] if is_last else x[start:stop]
        found.append(part.reshape((*rest, *shape) if is_last else (*shape, *rest)))
        start = stop
    return found


@public
def linearize(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The results of the function, and the function from tangents of the primals to theirs.

    What the derivative needs of the primals is computed once, here; but of a function with loops,
    linearized outside of traces, with each call of the derivative.
    """
    value, back = vjp(function, *primals)
    if isinstance(back, Transposed) and any(isinstance(r, NativeTape) for r in back.residuals):
        return value, jit(lambda *tangents: jvp(function, primals, tangents)[1])
    leaves, tree = flatten(value)
    zero = tree.build([_zero_like(leaf) for leaf in leaves])
    _, forward = vjp(back, zero)

    def push(*tangents: Any) -> Any:
        [pushed] = forward(tangents)
        return pushed

    return value, push


@public
def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[[Any], Any]:
    """The transpose of a linear function, from cotangents of results to cotangents of arguments.

    `primals` are arrays or gradir.Spec of the arguments' shapes and dtypes.
    """
    leaves, tree = flatten(primals)
    _, back = vjp(function, *tree.build([_zero_like(leaf) for leaf in leaves]))
    return back


def _zero_like(leaf: Any) -> Any:
    if isinstance(leaf, Tracer):
        return zeros(leaf.shape, leaf.dtype)
    return np.zeros(np.shape(leaf) if not hasattr(leaf, "shape") else leaf.shape, leaf.dtype)
