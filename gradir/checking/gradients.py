"""Checking gradients: first and second order against central differences, native code against the
interpreter.

    gradir.testing.check_grads(loss, args)                    # a Python function of gradir.numpy
    gradir.testing.check_grads((module, "loss"), args)

A central difference moves one argument along a random direction and projects the results on random
cotangents, so that one number stands for a whole gradient. Complex numbers count as pairs: a
cotangent c of z gives the number real(c * dz).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    ModuleOp,
    f64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from gradir import api
from gradir.argument_checks import known_arguments
from gradir.dialects.array.creation import ConstantOp, numpy_dtype
from gradir.dialects.base.attribute_names import NAME_ATTRIBUTE
from gradir.dialects.base.attributes import numbers_of
from gradir.dialects.base.shapes import (
    c128,
    element_of,
    is_complex,
    is_complex_tensor,
    is_float,
    is_inexact,
    is_tensor,
    shape_of,
    tensor,
)
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, gradir_errors
from gradir.frontends.tracing.trace import traced
from gradir.frontends.tracing.trees import flatten
from gradir.passes.analysis.activity import carries_cotangent
from gradir.passes.analysis.arguments import state_results
from gradir.passes.analysis.call_graph import callees_first, functions_by_name
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.differentiate.selectors import Selector, resolve_wrt
from gradir.passes.verify.verify import verify
from gradir.symbols import function_named
from gradir.validation.differences import difference

Array = np.ndarray[Any, np.dtype[Any]]

# The most elements of a wrong gradient that is searched for its worst element.
SEARCHED_ELEMENTS = 256


class GradientMismatch(GradirError, AssertionError):
    """A gradient, or a result of native code, is wrong."""


@known_arguments
def check_grads(
    fn: Any,
    args: Sequence[Any],
    order: int = 2,
    *,
    function: str | None = None,
    wrt: Sequence[Selector] | Selector | None = None,
    atol: float = 1e-5,
    rtol: float = 1e-5,
    native: bool = True,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function at `args`, up to the given order.

    `fn` is a Python function that gradir.trace takes (gradir.jit of one, too), `(module, "name")`,
    a Module (then `function` names it), or an object with the attributes `module` and `function`.
    Arguments of a Python function may be nested tuples, lists and dicts of arrays. All is computed
    in float64 and complex128, for any floating types of the program. `wrt` are arguments by index
    or name, for a Python function its arrays in the order and with the names of gradir.trace; by
    default all floating ones. With `native`, compiled code must agree with the interpreter. The
    function must be smooth at `args`.

    Raises GradientMismatch, an AssertionError, with the argument, the order, the expected and the
    found number.
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ArgumentError(f"order must be an integer >= 0, got {order!r}")
    if not isinstance(args, (list, tuple)):
        raise ArgumentTypeError(f"args: expected a list or tuple of arrays, got {args!r}")
    module, name, args, names = _resolve(fn, function, args)
    module = in_double(module, name)
    wanted = _argument_indices(module, name, _by_place(wrt, names))
    values = _double_arguments(module, name, args)
    check = _Check(atol, rtol, np.random.default_rng(seed))
    for degree in range(1, order + 1):
        module, name, values, wanted = check.derivative(module, name, values, wanted, degree)
    if native:
        check.native(module, name, values)


def _resolve(
    fn: Any, function: str | None, args: Sequence[Any]
) -> tuple[api.Module, str, Sequence[Any], Sequence[str]]:
    """The module, the function's name there, its arguments, and their names in Python."""
    match fn:
        case (api.Module() as module, str(name)) if function is None:
            return module, name, args, ()
        case api.Module() as module:
            if function is None:
                raise ArgumentTypeError("function: name the function of the module to check")
            return module, function, args, ()
        case _:
            found = getattr(fn, "module", None), getattr(fn, "function", None)
    match found:
        case (api.Module() as module, str(name)):
            return module, name if function is None else function, args, ()
        case _ if callable(fn):
            return _traced(fn, function, args)
        case _:
            raise ArgumentTypeError(
                "fn: expected a Python function, (module, 'name') or an object with .module and "
                f".function, got {fn!r}"
            )


def _traced(
    fn: Callable[..., Any], function: str | None, args: Sequence[Any]
) -> tuple[api.Module, str, Sequence[Any], Sequence[str]]:
    if function is not None:
        raise ArgumentTypeError(f"function: names one of a Module, got {function!r} beside {fn!r}")
    found = traced("check_grads", fn, args)
    leaves, _ = flatten(tuple(args))
    return found.module, found.name, leaves, found.names


def _by_place(
    wrt: Sequence[Selector] | Selector | None, names: Sequence[str]
) -> Sequence[Selector] | None:
    """Selectors, with names of a Python function's arguments replaced by their places."""
    selectors = [wrt] if isinstance(wrt, int | str) else wrt
    if selectors is None:
        return None
    return [names.index(s) if isinstance(s, str) and s in names else s for s in selectors]


# The program in float64.


def in_double(module: api.Module, function: str) -> api.Module:
    """A function and its callees, with all floating types f64."""
    with gradir_errors():
        only = _with_derivatives(module.op, function)
        for op in only.walk():
            _widen(op)
        verify(only)
    kept = module._sources, module._provenance
    return api.Module(only, *kept)


def _with_derivatives(module: ModuleOp, name: str) -> ModuleOp:
    """Copies of a function, its callees, and their custom vjps."""
    functions = functions_by_name(module)
    rules = [op for op in module.ops if isinstance(op, CustomVjpOp)]
    kept: list[CustomVjpOp] = []
    needed = callees_first(functions, [function_named(module, name)])
    while more := [op for op in rules if op not in kept and functions[op.names[0]] in needed]:
        # their functions may call others that have rules
        kept += more
        added = [functions[n] for op in more for n in op.names]
        needed = callees_first(functions, [*needed, *added])
    return ModuleOp(Region(Block([op.clone() for op in (*kept, *reversed(needed))])))


def _double(type_: Attribute) -> Attribute:
    if is_tensor(type_):
        element = element_of(type_)
        wide = c128 if is_complex(element) else f64
        return tensor(shape_of(type_), wide) if is_inexact(element) else type_
    return f64 if is_float(type_) else type_


def _widen(op: Operation) -> None:
    match op:
        case ConstantOp() if is_inexact(element_of(op.y.type)):
            type_: Any = _double(op.y.type)
            numbers = op.array.astype(numpy_dtype(element_of(type_)))
            op.attributes["value"] = DenseIntOrFPElementsAttr(type_, BytesAttr(numbers.tobytes()))
        case arith.ConstantOp(value=FloatAttr() as number):
            op.properties["value"] = FloatAttr(number.value.data, f64)
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense) if is_tensor(
            op.result.type
        ) and is_float(element_of(op.result.type)):
            wide: Any = _double(op.result.type)
            op.properties["value"] = DenseIntOrFPElementsAttr.from_list(wide, numbers_of(dense))
        case FuncOp():
            inputs, outputs = (
                list(map(_double, types.data))
                for types in (op.function_type.inputs, op.function_type.outputs)
            )
            op.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        case _:
            pass
    arguments = [a for r in op.regions for b in r.blocks for a in b.args]
    values: list[SSAValue] = [*op.results, *arguments]
    for value in values:
        if _double(value.type) != value.type:
            Rewriter.replace_value_with_new_type(value, _double(value.type))


# Arguments.


def _argument_indices(module: api.Module, name: str, wrt: Sequence[Selector] | None) -> list[int]:
    with gradir_errors():
        targets = resolve_wrt(function_named(module.op, name), wrt)
    indices: list[int] = []
    for target in targets:
        if not isinstance(target.value, BlockArgument):
            raise ArgumentError(f"wrt: only arguments of @{name} can be moved, got {target.hint!r}")
        indices.append(target.value.index)
    if not indices:
        raise ArgumentError(f"@{name} has no floating argument to differentiate")
    return indices


def _double_arguments(module: api.Module, name: str, args: Sequence[Any]) -> list[Array]:
    parameters = function_named(module.op, name).body.block.args
    if len(args) != len(parameters):
        raise ArgumentTypeError(f"args: expected {len(parameters)} for @{name}, got {len(args)}")
    arrays: list[Array] = []
    for k, (given, parameter) in enumerate(zip(args, parameters, strict=True)):
        array = np.asarray(given)
        if carries_cotangent(parameter):
            # a copy: the caller's array must not change
            is_real = not is_complex_tensor(parameter.type)
            array = np.array(array, np.float64 if is_real else np.complex128)
        if is_tensor(parameter.type) and array.shape != shape_of(parameter.type):
            raise ArgumentError(
                f"args: argument {k} (%{parameter.name_hint or k}) of @{name} has type "
                f"{parameter.type}, got shape {array.shape}"
            )
        arrays.append(array)
    return arrays


# The checks.


@dataclass(frozen=True)
class _Check:
    atol: float
    rtol: float
    generator: np.random.Generator

    def derivative(
        self, module: api.Module, name: str, args: list[Array], wrt: list[int], degree: int
    ) -> tuple[api.Module, str, list[Array], list[int]]:
        """Check the gradient of `@name`; returns the gradient function, and its check."""
        derived = module.gradient(name, wrt=wrt, mode="vjp")
        results = api.interpret(module, name, *args)
        state = state_results(function_named(module.op, name)).values()
        floating = [k for k, r in enumerate(results) if r.dtype.kind in "fc" and k not in state]
        for k in floating:
            if not np.isfinite(results[k]).all():
                raise GradientMismatch(
                    f"@{name}: result {k} is not finite at these arguments: no derivative there"
                )
        cts = [self._numbers(results[k]) for k in floating]
        grads = api.interpret(derived, f"{name}_vjp", *args, *cts)[len(results) :]

        def projected(*moved: Array) -> float:
            values = api.interpret(module, name, *moved)
            return sum(_paired(values[k], ct) for k, ct in zip(floating, cts, strict=True))

        for index, grad in zip(wrt, grads, strict=True):
            place = f"@{name}: gradient of order {degree} in {_argument_text(module, name, index)}"
            self._argument(projected, args, index, grad, place)
        moved = [*wrt, *range(len(args), len(args) + len(cts))]
        return derived, f"{name}_vjp", [*args, *cts], moved

    def _argument(
        self,
        function: Callable[..., float],
        args: list[Array],
        index: int,
        grad: Array,
        place: str,
    ) -> None:
        """Compare one gradient with a difference along a random direction."""
        if grad.size == 0:
            return
        direction = self._direction(grad.shape)
        if grad.dtype.kind == "c":
            direction = direction + 1j * self._direction(grad.shape)
        expected = difference(function, args, index, direction)
        got = _paired(grad, direction)
        if self._agree(expected, got):
            return
        message = (
            f"{place}, projected on a random direction: expected {expected:.12g} by central "
            f"differences, got {got:.12g} (off by {abs(got - expected):.3g})"
        )
        raise GradientMismatch(message + self._worst_element(function, args, index, grad))

    def _numbers(self, like: Array) -> Array:
        """Random numbers between -1 and 1, of complex arrays in both parts."""
        real = self.generator.uniform(-1, 1, like.shape)
        return (
            real
            if like.dtype.kind == "f"
            else real + 1j * self.generator.uniform(-1, 1, like.shape)
        )

    def _direction(self, shape: tuple[int, ...]) -> Array:
        sizes = self.generator.uniform(0.5, 1, shape)
        return np.where(self.generator.random(shape) < 0.5, sizes, -sizes)

    def _worst_element(
        self, function: Callable[..., float], args: list[Array], index: int, grad: Array
    ) -> str:
        if not 1 < grad.size <= SEARCHED_ELEMENTS:
            return ""
        units = np.eye(grad.size).reshape(grad.size, *grad.shape)
        expected = np.array([difference(function, args, index, unit) for unit in units])
        if grad.dtype.kind == "c":
            turned = [difference(function, args, index, 1j * unit) for unit in units]
            expected = expected - 1j * np.array(turned)
        off = np.abs(expected - grad.ravel())
        k = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        at = [int(i) for i in np.unravel_index(k, grad.shape)]
        return f"; worst at {at}: expected {expected[k]:.12g}, got {grad.ravel()[k]:.12g}"

    def _agree(self, expected: float, got: float) -> bool:
        if np.isnan(expected) or np.isnan(got):
            return False
        return abs(expected - got) <= self.atol + self.rtol * max(abs(expected), abs(got))

    def native(self, module: api.Module, name: str, args: list[Array]) -> None:
        """Compare compiled code with the interpreter."""
        expected = api.interpret(module, name, *args)
        found = api.compile(module, name)(*args)
        for k, (one, other) in enumerate(zip(expected, found, strict=True)):
            close = np.isclose(other, one, rtol=self.rtol, atol=self.atol, equal_nan=True)
            if not close.all():
                at = [int(i) for i in np.argwhere(~close)[0]]
                raise GradientMismatch(
                    f"@{name}: native code differs from the interpreter in result {k} at {at}: "
                    f"expected {one[tuple(at)]}, got {other[tuple(at)]}"
                )


def _paired(one: Array, other: Array) -> float:
    """The sum of products, of complex numbers its real part."""
    return float(np.sum(one * other).real)


def _argument_text(module: api.Module, name: str, index: int) -> str:
    function = function_named(module.op, name)
    given = argument_attributes(function)[index].get(NAME_ATTRIBUTE)
    label = getattr(given, "data", None) or function.body.block.args[index].name_hint or str(index)
    return f"argument {index} (%{label})"
