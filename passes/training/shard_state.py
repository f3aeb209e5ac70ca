"""gradir-shard-state: a step of training whose optimizer's state lies in parts on several ranks.

    @step(params, state, batch) -> (params', state', loss)     calls  @f_grad

becomes `@step_sharded`. Some of its arguments are this rank's parts (passes/training/parts.py),
and so are the results of the same numbers, their new values. What works element by element is
done on parts, each rank its own; what does not and reads parts is refused. A gradient that is read
in parts is a part where @f_grad makes it (`@sharded_f_grad`), so that gradir-data-parallel adds it
up by reduce_scatter. Other results are gathered. A parameter in parts is gathered in @f_grad, for
its forward code and again for its backward code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.base.diagnostics import PassError, kind_name, value_name
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.kinds import ElementwiseOp, SameValueOp
from gradir.passes.analysis.call_graph import calls_in, functions_by_name
from gradir.passes.analysis.regions import values_read
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.cleanup.inline import inline_calls
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.selectors import Selector
from gradir.passes.training.calls import (
    argument_name,
    callable_named,
    check_group,
    derivative_call,
    end_of,
    selected_arguments,
)
from gradir.passes.training.parts import Parts
from gradir.passes.training.sharded_gradient import SHARDED, sharded_gradient

TITLE = "gradir-shard-state"


def shard_state(
    module: ModuleOp,
    function: str,
    sharded: Sequence[Selector],
    ranks: int,
    group: str = "world",
    call: str | None = None,
    into: str | None = None,
) -> FuncOp:
    """Add `@into` (by default `@function_sharded`), the step with arguments in parts.

    `sharded` are arguments, by index or name, whose new values are the results of their numbers.
    `call` is the derivative's function that @function calls, by default the one whose name ends in
    _grad or _vjp. Located PassError where an op does not work element by element.
    """
    source = callable_named(module, function)
    if ranks < 1:
        raise PassError(f"{TITLE}: ranks must be positive, got {ranks}", source)
    check_group(TITLE, source, group)
    chosen = selected_arguments(TITLE, "sharded", source, sharded)
    name = f"{function}_sharded" if into is None else into
    functions = functions_by_name(module)
    outer = [op for op in source.body.block.ops if isinstance(op, CallOp)]
    callee = derivative_call(TITLE, source, outer, call).callee.string_value()
    for made in (name, f"{SHARDED}{callee}"):
        if (found := functions.get(made)) is not None:
            raise PassError(f"{TITLE}: @{made} exists already; choose another with into=", found)
    flat = source.clone()
    inline_calls(functions, flat, {callee})
    derivative = next(iter(calls_in(flat)))
    return _Step(flat, derivative, chosen, Parts(ranks, group)).insert(module, name)


class _Step:
    """The step in the making: values have copies that are whole, parts, or both."""

    def __init__(self, source: FuncOp, derivative: CallOp, chosen: Sequence[int], parts: Parts):
        self.source, self.derivative = source, derivative
        self.chosen, self.parts = chosen, parts
        self.block = Block()
        self.whole: dict[SSAValue, SSAValue] = {}
        self.part: dict[SSAValue, SSAValue] = {}

    def insert(self, module: ModuleOp, name: str) -> FuncOp:
        self._arguments()
        for op in self.source.body.block.ops:
            if not isinstance(op, ReturnOp):
                self._copy(op)
        self._return()
        remove_dead_ops(self.block)
        made = function_around(name, self.block, argument_attributes(self.source))
        made.location = self.source.location
        module.body.block.add_op(made)
        sharded_gradient(module, made, self.derivative.callee.string_value(), self.parts)
        return made

    def _arguments(self) -> None:
        for argument in self.source.body.block.args:
            type_, env = argument.type, self.whole
            if argument.index in self.chosen:
                self._check(argument)
                type_, env = self.parts.type(type_), self.part
            env[argument] = ours = self.block.insert_arg(type_, argument.index, argument.location)
            ours.name_hint = argument.name_hint

    def _check(self, argument: BlockArgument) -> None:
        results = self.source.function_type.outputs.data
        name = argument_name(self.source, argument.index)
        if not is_tensor(argument.type) or not is_static(argument.type):
            raise PassError(
                f"{TITLE}: {name} must be a tensor of static shape, got {argument.type}", argument
            )
        if argument.index >= len(results) or results[argument.index] != argument.type:
            found = results[argument.index] if argument.index < len(results) else "no result"
            raise PassError(
                f"{TITLE}: {name} must have its new value in result {argument.index}, got {found} "
                f"for {argument.type}",
                argument,
            )

    def _copy(self, op: Operation) -> None:
        """An op on whole values; or on parts, where an operand has no whole."""
        divided = [v for v in values_read(op) if v in self.part and v not in self.whole]
        if not divided:
            copy = op.clone(self.whole)
            copy.location = op.location
            self.block.add_op(copy)
            self.whole.update(zip(op.results, copy.results, strict=True))
        elif op is self.derivative:
            operands = [self.whole.get(v, self.part.get(v, v)) for v in op.operands]
            made = CallOp(self.derivative.callee, operands, [r.type for r in op.results])
            self._emitter(op).insert(made)
            self.whole.update(zip(op.results, made.results, strict=True))
            for result, ours in zip(op.results, made.results, strict=True):
                ours.name_hint = result.name_hint
        elif _is_elementwise(op):
            self._on_parts(op)
        else:
            raise PassError(
                f"{TITLE}: {value_name(divided[0])} is in parts on {self.parts.ranks} ranks, so "
                f"what reads it must work element by element, got {kind_name(op)}; shard other "
                "arguments",
                op,
            )

    def _on_parts(self, op: Operation) -> None:
        operands = [self._part(v, op) for v in op.operands]
        types = [self.parts.type(r.type) for r in op.results]
        made = type(op).create(operands=operands, result_types=types, attributes={**op.attributes})
        self._emitter(op).insert(made)
        for result, ours in zip(op.results, made.results, strict=True):
            ours.name_hint = result.name_hint
            self.part[result] = ours

    def _part(self, value: SSAValue, reader: Operation) -> SSAValue:
        """This rank's part of a value, made of those that it is computed from where it can be."""
        if value not in self.part:
            owner, emitter = value.owner, self._emitter(reader)
            if isinstance(owner, FullOp):
                self.part[value] = emitter.insert(FullOp.fill(owner.whole, self._type(value))).y
            elif isinstance(owner, BroadcastToOp) and not shape_of(owner.x.type):
                scalar = emitter.value(self.whole[owner.x])
                self.part[value] = BroadcastToOp.on(scalar, type=self._type(value)).ssa
            elif isinstance(owner, Operation) and _is_elementwise(owner):
                self._on_parts(owner)
            else:
                self.part[value] = self.parts.part(emitter.value(self.whole[value])).ssa
        return self.part[value]

    def _type(self, value: SSAValue) -> Attribute:
        return self.parts.type(value.type)

    def _return(self) -> None:
        last = end_of(self.source)
        results: list[SSAValue] = []
        for k, value in enumerate(last.operands):
            if k in self.chosen:
                results.append(self._part(value, last))
            elif value in self.whole:
                results.append(self.whole[value])
            else:
                part = self._emitter(last).value(self.part[value])
                results.append(self.parts.whole(part, value.type).ssa)
        made = ReturnOp(*results)
        made.location = last.location
        self.block.add_op(made)

    def _emitter(self, op: Operation) -> Emitter:
        return Emitter(self.block, op.location)


def _is_elementwise(op: Operation) -> bool:
    """Whether each element of the results is made of those at its place, in static shapes."""
    return isinstance(op, ElementwiseOp | SameValueOp) and all(
        is_tensor(v.type) and is_static(v.type) and shape_of(v.type)
        for v in (*op.operands, *op.results)
    )


@dataclass(frozen=True)
class ShardStatePass(ModulePass):
    """The state of an optimizer, and parameters, in parts on several ranks."""

    name = "gradir-shard-state"

    function: str
    sharded: tuple[int | str, ...]
    ranks: int
    group: str = "world"
    call: str | None = None
    into: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        given = self.function, self.sharded, self.ranks, self.group, self.call, self.into
        shard_state(op, *given)
