"""Functions of flat arrays as programs, and their derivatives, which are such programs again.

A system with its own tape asks for derivatives in two forms. The halves are what it runs: the
forward half keeps residuals for the backward half. The transposed program computes the gradients
from the arguments alone, and so can itself be differentiated, as often as the system likes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from gradir.api import Module
from gradir.cache.memory import Store
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import element_of, is_inexact, is_tensor, shape_of
from gradir.dialects.grad.tape import TapeType
from gradir.frontends.tracing.source_locations import SOURCES
from gradir.frontends.transforms.derivatives import vjp
from gradir.frontends.transforms.program import Program, traced_function
from gradir.passes.verify.verify import verify
from gradir.symbols import function_named

MadeT = TypeVar("MadeT")
Function: TypeAlias = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class WrapOptions:
    """The options of all programs of one function, with gradir.grad's and gradir.jit's meanings."""

    policy: str = "keep_all"
    memory_limit: int | None = None
    threads: int | None = None


class Differentiable(Program):
    """A function of a module as a program, and its derivatives as such programs.

    `floating` are its arguments of floats or complex numbers, `of` such results. `function` is what
    was traced, as a function of the arguments that gives the results: for calls in other programs.
    """

    def __init__(
        self, module: Module, name: str, options: WrapOptions, function: Function | None = None
    ):
        super().__init__(traced_function(module, name), options.threads)
        self._options, self.function = options, function
        type_ = function_named(module.op, name).function_type
        self.inputs, self.results = type_.inputs.data, type_.outputs.data
        self.floating, self.of = _floating(self.inputs), _floating(self.results)
        self._derived = Store[Hashable, Any]()

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a call."""
        return self.executable(*arrays)

    def result_spec(self, place: int) -> tuple[tuple[int, ...], Any]:
        """The shape and the dtype of a result."""
        type_ = self.results[place]
        return shape_of(type_), numpy_dtype(element_of(type_))

    def halves(self, wrt: tuple[int, ...]) -> DerivativeHalves:
        """The two halves of the derivative of all floating results in the arguments `wrt`."""
        return self._derived.find_or_make(("split", wrt), lambda: self._split(wrt))

    def transposed(self, wrt: tuple[int, ...]) -> Differentiable:
        """The gradients in the arguments `wrt`, of the arguments and cotangents of `of`."""
        return self._derived.find_or_make(("vjp", wrt), lambda: self._transpose(wrt))

    def find_or_make(self, system: str, make: Callable[[], MadeT]) -> MadeT:
        """What a system makes of the program once."""
        return self._derived.find_or_make(system, make)

    def _split(self, wrt: Sequence[int]) -> DerivativeHalves:
        both = self._differentiate(wrt, "split")
        forward, backward = f"{self.name}_fwd", f"{self.name}_bwd"
        inner, count = function_named(both.op, forward), len(self.results)
        places, kept = _residuals(inner, count)
        types = [value.type for value in _returned(inner)[count:]]
        shortened = _returning(both, forward, [*range(count), *kept])
        return DerivativeHalves(
            Differentiable(shortened, forward, self._options),
            Differentiable(both, backward, self._options),
            tuple(places),
            tuple(k for k, type_ in enumerate(types) if isinstance(type_, TapeType)),
            tuple(k for k in range(len(self.inputs)) if k not in places),
        )

    def _transpose(self, wrt: Sequence[int]) -> Differentiable:
        both, name = self._differentiate(wrt, "vjp"), f"{self.name}_vjp"
        count = len(self.results)
        grads = range(count, count + len(wrt))
        function = None if self.function is None else partial(self._pulled, self.function, wrt)
        return Differentiable(_returning(both, name, grads), name, self._options, function)

    def _pulled(self, function: Function, wrt: Sequence[int], *operands: Any) -> list[Any]:
        """The transposed program as a function of traced arrays."""
        arrays, seeds = operands[: len(self.inputs)], operands[len(self.inputs) :]

        def floating(*active: Any) -> tuple[Any, ...]:
            known = dict(zip(wrt, active, strict=True))
            results = function(*(known.get(k, x) for k, x in enumerate(arrays)))
            return tuple(results[k] for k in self.of)

        _, pull = vjp(floating, *(arrays[k] for k in wrt))
        return list(pull(tuple(seeds)))

    def _differentiate(self, wrt: Sequence[int], mode: str) -> Module:
        options = self._options
        return self.module.gradient(
            self.name, list(wrt), mode, list(self.of), options.policy, options.memory_limit
        )


@dataclass(frozen=True)
class DerivativeHalves:
    """The forward half returns the results and new residuals, the backward half the gradients.

    The backward half takes the residuals, then the cotangents of the floating results.
    """

    forward: Differentiable
    backward: Differentiable
    residuals: tuple[int, ...]
    """The place of each residual in a row of the inputs, the results and the new residuals."""
    tapes: tuple[int, ...]
    """The residuals that are tapes: no arrays, but objects that only the backward half reads."""
    unread: tuple[int, ...]
    """The inputs that are no residuals."""


def _floating(types: Sequence[Attribute]) -> tuple[int, ...]:
    return tuple(k for k, t in enumerate(types) if is_tensor(t) and is_inexact(element_of(t)))


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    last = function.body.block.last_op
    assert last is not None
    return last.operands


def _residuals(forward: FuncOp, count: int) -> tuple[list[int], list[int]]:
    """The places of the residuals, see DerivativeHalves; the places of the kept results."""
    arguments = forward.body.block.args
    returned = _returned(forward)
    known: list[SSAValue] = [*arguments, *returned[:count]]
    places: list[int] = []
    kept: list[int] = []
    for place, value in enumerate(returned[count:], count):
        if value not in known:
            known.append(value)
            kept.append(place)
        places.append(known.index(value))
    return places, kept


def _returning(module: Module, name: str, places: Sequence[int]) -> Module:
    """The module in which a function returns some of its results."""
    copy = module.op.clone()
    function = function_named(copy, name)
    last = function.body.block.last_op
    assert last is not None
    last.operands = [last.operands[k] for k in places]
    types = [value.type for value in last.operands]
    function.function_type = FunctionType.from_lists(function.function_type.inputs.data, types)
    verify(copy)
    return Module(copy, SOURCES, rules=module.rules)
