"""Solutions that are differentiated by what they solve: closure_convert, custom_root and
custom_linear_solve, as in JAX.

A function that uses traced arrays from around it becomes one that takes them as arguments, so that
the solver is a function with a derivative of its own (custom_derivatives.py) by those arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from xdsl.ir import Attribute

from gradir.dialects.base.shapes import element_of, is_inexact
from gradir.frontends.functions.creation import zeros_like
from gradir.frontends.functions.promotion import converted
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.trace import Traced, function_name, traced_callee
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import current, element, lifted, tracing
from gradir.frontends.tracing.trees import Tree, flatten, leaves_like, map_tree
from gradir.frontends.transforms.custom_derivatives import CustomJvp, CustomVjp
from gradir.frontends.transforms.derivatives import jvp, vjp
from gradir.frontends.transforms.derived_calls import call_of, results_of
from gradir.frontends.transforms.jacobians import linear_transpose, linearize

Function = Callable[..., Any]
Part = Callable[[Any, Any], Any]
"""A function of the arrays that it uses from around it, and of its argument."""


@public
def closure_convert(function: Function, *example_args: Any) -> tuple[Function, list[Any]]:
    """The function with the traced arrays that it uses from around it as further arguments.

    Returns `converted` and the list `arrays`, so that `converted(*args, *arrays)` is
    `function(*args)` for arguments nested and typed like `example_args`. A function that is
    differentiated by hand (`custom_vjp`) may so depend on a closure. Outside of a traced function
    the list is empty. Raises TraceError for arguments of other types.
    """
    trace = tracing()
    if trace is None:
        return function, []
    inner = traced_callee("closure_convert", function, example_args, trace)
    count = len(example_args)

    def converted_function(*args: Any) -> Any:
        return _called(inner, args[:count], args[count:])

    converted_function.__name__ = function_name(function)
    return converted_function, [Tracer(trace, value) for value in inner.captured]


def _called(inner: Traced, args: tuple[Any, ...], around: tuple[Any, ...]) -> Any:
    trace, leaves = current("closure_convert"), flatten((*args, *around))[0]
    function = trace.functions[inner.name]
    types = function.function_type.inputs
    if len(leaves) != len(types):
        raise refusal(
            f"closure_convert: @{inner.name} takes {len(types)} arrays, with those from around it, "
            f"got {len(leaves)}"
        )
    pairs = zip(leaves, types, strict=True)
    operands = [trace.use(_typed(inner.name, leaf, type_)) for leaf, type_ in pairs]
    return results_of(inner, call_of(trace, function, operands))


def _typed(name: str, leaf: Any, type_: Attribute) -> Tracer:
    value = lifted(leaf)
    value = converted(value, element_of(type_)) if value.weak else value
    if value.type != type_:
        raise refusal(
            f"closure_convert: @{name} takes {type_text(type_)} here, got {type_text(value.type)}"
        )
    return value


class _Converted(NamedTuple):
    """A closure of one argument as a function of the arrays from around it and the argument."""

    function: Function
    arrays: list[Any]

    @classmethod
    def of(cls, function: Function, *examples: Any) -> _Converted:
        return cls(*closure_convert(function, *examples))

    def part(self) -> Part:
        return lambda arrays, x: self.function(x, *arrays)


# Roots.


@public
def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Function,
    tangent_solve: Function,
    has_aux: bool = False,
) -> Any:
    """x with f(x) = 0, found by `solve(f, initial_guess)`, differentiated by what f depends on.

    `initial_guess`, f(x) and x are nested alike. `tangent_solve(g, y)` solves g(x) = y for a linear
    function g, the derivative of f at the root: `lambda g, y: y / g(1.0)` for numbers, a linear
    solver for arrays. With `has_aux` `solve` returns (x, aux), and aux has no derivative. `solve`
    is not differentiated; the derivative is -tangent_solve of the derivative of f by the arrays
    that f uses from around it (the implicit function theorem), in both modes and at every order.
    The guess has the derivative 0. That f is 0 at what `solve` returns is not checked.
    """
    if tracing() is None:
        return solve(f, initial_guess)
    guess = map_tree(lifted, initial_guess)
    function = _Converted.of(f, guess)
    solver = _Converted.of(_named("solve", lambda x: solve(f, x)), guess)

    def solved_tangents(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    tangents = _Converted.of(_named("tangent_solve", solved_tangents), guess, guess)

    def root(around: Mapping[str, Any], x: Any) -> Any:
        return solver.function(x, *around["solve"])

    found = CustomJvp(root)

    def pushed(primals: tuple[Any, Any], moved: tuple[Any, Any]) -> Any:
        around, start = primals
        results = found(around, start)
        x = results[0] if has_aux else results
        slope = _pushed(function.part(), around["f"], moved[0]["f"], x)
        moving = map_tree(lambda t: -t, tangents.function(x, slope, *around["tangent_solve"]))
        return results, (moving, _no_tangents(results[1])) if has_aux else moving

    found.defjvp(pushed)
    parts = {"f": function, "solve": solver, "tangent_solve": tangents}
    return found({name: part.arrays for name, part in parts.items()}, guess)


def _named(name: str, function: Function) -> Function:
    function.__name__ = name
    return function


def _pushed(part: Part, arrays: Any, moved: Any, x: Any) -> Any:
    """How part(arrays, x) moves with the arrays, of which integers do not move."""
    leaves, tree, active = _with_active(arrays)
    tangents = _leaves_like(moved, tree)
    if not active or all(tangents[k] is None for k in active):
        return map_tree(zeros_like, part(arrays, x))
    given = [zeros_like(leaves[k]) if tangents[k] is None else tangents[k] for k in active]
    by_active = _by_active(part, leaves, tree, active, x)
    return jvp(by_active, [leaves[k] for k in active], given)[1]


def _pulled(part: Part, arrays: Any, cotangents: Any, x: Any) -> Any:
    """The cotangents of the arrays from minus those of part(arrays, x), None for integers."""
    leaves, tree, active = _with_active(arrays)
    grads: list[Any] = [None] * len(leaves)
    if active:
        by_active = _by_active(part, leaves, tree, active, x)
        _, pull = vjp(by_active, *(leaves[k] for k in active))
        for k, grad in zip(active, pull(map_tree(lambda g: -g, cotangents)), strict=True):
            grads[k] = grad
    return tree.build(grads)


def _with_active(arrays: Any) -> tuple[list[Any], Tree, list[int]]:
    """The leaves of nested arrays, their nesting, and the numbers of those with derivatives."""
    leaves, tree = flatten(arrays)
    return leaves, tree, [k for k, leaf in enumerate(leaves) if is_inexact(element(leaf))]


def _by_active(part: Part, leaves: list[Any], tree: Tree, active: list[int], x: Any) -> Function:
    def by_active(*given: Any) -> Any:
        known = dict(zip(active, given, strict=True))
        return part(tree.build([known.get(k, leaf) for k, leaf in enumerate(leaves)]), x)

    return by_active


# Linear systems.


@public
def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Function,
    transpose_solve: Function | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """x with matvec(x) = b for a linear function, found by `solve(matvec, b)`.

    x, b and matvec(x) are nested alike. `solve` is not differentiated: the derivative by b, and by
    the arrays that `matvec` uses from around it, solves the same system in forward mode and the
    transposed one, `transpose_solve(vecmat, b)`, in reverse mode, at every order. `symmetric` says
    that the system is its own transpose; without both, `solve` itself is transposed, so it must be
    linear in b. With `has_aux` the solvers return (x, aux), and aux has no derivative. That
    matvec(x) is b is not checked.
    """
    if tracing() is None:
        return solve(matvec, b)
    b = map_tree(lifted, b)
    if symmetric and transpose_solve is None:
        transpose_solve = solve

    def vecmat(y: Any) -> Any:
        return matvec(y) if symmetric else linear_transpose(matvec, b)(y)[0]

    made = {
        "matvec": _Converted.of(matvec, b),
        "solve": _Converted.of(_named("solve", lambda y: solve(matvec, y)), b),
    }
    if transpose_solve is not None:
        other = transpose_solve
        transposed = _named("transpose_solve", lambda y: other(vecmat, y))
        made["vecmat"] = _Converted.of(vecmat, b)
        made["transpose_solve"] = _Converted.of(transposed, b)
    parts = {name: converted.part() for name, converted in made.items()}
    solver = linear_solver(parts, has_aux)
    return solver({name: converted.arrays for name, converted in made.items()}, b)


def linear_solver(parts: Mapping[str, Part], has_aux: bool = False) -> CustomVjp:
    """The function (arrays, b) of x with matvec(x) = b, by the part "solve".

    `arrays` has for each part, by its name, what it uses beside its argument. The parts
    "transpose_solve" and "vecmat" solve and are the transposed system.
    """
    solver = CustomVjp(_of_arrays(parts["solve"], "solve"))
    if "transpose_solve" not in parts:
        back = _transposed(parts["solve"], has_aux)
        solver.defvjp(*_rules(solver, back, parts["matvec"], "matvec", has_aux))
        return solver
    other = CustomVjp(_of_arrays(parts["transpose_solve"], "transpose_solve"))
    apart = _first(other, has_aux)
    solver.defvjp(*_rules(solver, apart, parts["matvec"], "matvec", has_aux))
    apart = _first(solver, has_aux)
    other.defvjp(*_rules(other, apart, parts["vecmat"], "vecmat", has_aux))
    return solver


def _of_arrays(part: Part, name: str) -> Function:
    def solved(arrays: Mapping[str, Any], b: Any) -> Any:
        return part(arrays[name], b)

    return _named(name, solved)


def _first(solver: Function, has_aux: bool) -> Function:
    return (lambda arrays, b: solver(arrays, b)[0]) if has_aux else solver


def _transposed(solve: Part, has_aux: bool) -> Function:
    """The transposed system by the transpose of what solves the first one."""

    def back(arrays: Mapping[str, Any], cotangents: Any) -> Any:
        def solved(b: Any) -> Any:
            found = solve(arrays["solve"], b)
            return found[0] if has_aux else found

        return vjp(solved, cotangents)[1](cotangents)[0]

    return back


def _rules(
    solver: CustomVjp, transposed: Function, product: Part, name: str, has_aux: bool
) -> tuple[Function, Function, Function]:
    """The derivative of x with product(arrays, x) = b: of db - (d product) x, solved for."""

    def forward(arrays: Mapping[str, Any], b: Any) -> Any:
        # the function with this rule: what its program keeps of the system has no derivative
        results = solver(arrays, b)
        return results, (arrays, results[0] if has_aux else results)

    def backward(residuals: Any, cotangents: Any) -> Any:
        arrays, x = residuals
        of_b = transposed(arrays, cotangents[0] if has_aux else cotangents)
        grads = dict.fromkeys(arrays)
        grads[name] = _pulled(product, arrays[name], of_b, x)
        return grads, of_b

    def pushed(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> Any:
        arrays, b = primals
        results = solver(arrays, b)
        x = results[0] if has_aux else results
        slope = _pushed(product, arrays[name], tangents[0][name], x)
        moved, tree = flatten(slope)
        moving = _leaves_like(tangents[1], tree)
        right = [-m if t is None else t - m for m, t in zip(moved, moving, strict=True)]
        found = solver(arrays, tree.build(right))
        return results, (found[0], _no_tangents(results[1])) if has_aux else found

    return forward, backward, pushed


def _leaves_like(moved: Any, tree: Tree) -> list[Any]:
    """The leaves of tangents nested like a tree, None for what does not move."""
    found = leaves_like(moved, tree)
    assert found is not None, "tangents are nested like their primals"
    return found


def _no_tangents(aux: Any) -> Any:
    """None in place of each leaf."""
    return map_tree(lambda leaf: None, aux)
