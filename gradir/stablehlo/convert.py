"""Functions on tensors as StableHLO functions: each op by its rule, body or loop nest.

Ops without a form are collected, so that one error names them all with their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp, is_terminator
from gradir.dialects.base.shapes import is_open, is_scalar, is_tensor
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.tape import TapeNewOp, TapeType
from gradir.dialects.loopnest.forall import ForallOp
from gradir.stablehlo import factors, lines, tensors, windows
from gradir.stablehlo import values as v
from gradir.stablehlo.control_flow import (
    GROWING,
    REGION_RULES,
    all_types,
    flatten,
    split_values,
    tape_values,
    types_of,
)
from gradir.stablehlo.dialect import HloOp
from gradir.stablehlo.nests import NoForm, convert_loop_op, elementwise
from gradir.stablehlo.numbers import number_op
from gradir.stablehlo.values import Hlo, HloEmitter

RULES: dict[str, tensors.Rule] = {**tensors.RULES, **lines.RULES, **factors.RULES, **windows.RULES}
"""The rules of ops with a form of their own, by name."""

OWN_LOOPS = "it is a program with loops of its own, and StableHLO has no op for it"

MOST_NESTED = 64
"""The deepest nesting of regions: conversion recurses."""


@dataclass
class Converter:
    """Converts functions; `problems` are ops without a form, and why."""

    problems: list[tuple[str, Operation]] = field(default_factory=list[tuple[str, Operation]])
    depth: int = 0
    known: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])

    # Functions.

    def convert_function(self, function: FuncOp, name: str) -> FuncOp | None:
        """The function in StableHLO under a name; None where a type has no form."""
        source = function.body.block
        for arg in source.args:
            if isinstance(arg.type, TapeType) and arg.type.records is None:
                self.problems.append((f"@{name}: {GROWING}", function))
                return None
        inputs = all_types(source.args)
        block = Block(arg_types=inputs)
        emitter = HloEmitter(block, function.location)
        _name_arguments(block, source)
        results = flatten(
            self.convert_block(
                source, split_values(emitter.values(block.args), source.args), emitter
            )
        )
        emitter.insert(ReturnOp(*(r.ssa for r in results)))
        drop_dead(block)
        type_ = FunctionType.from_lists(inputs, [r.ssa.type for r in results])
        made = FuncOp(name, type_, Region(block), StringAttr("public"))
        made.location = function.location
        return made

    # Blocks and ops.

    def convert_block(
        self, block: Block, args: Sequence[Sequence[Hlo]], emitter: HloEmitter
    ) -> list[list[Hlo]]:
        """Convert the ops of a block; returns the values of the terminator's operands."""
        if self.depth > MOST_NESTED:
            raise NoForm(f"regions may be nested {MOST_NESTED} deep, not deeper")
        for arg, values in zip(block.args, args, strict=True):
            self.known[arg] = [value.ssa for value in values]
        self.depth += 1
        try:
            for op in block.ops:
                if op.next_op is None and is_terminator(op):
                    break
                emitter.location = op.location
                self._convert_op(op, emitter)
        finally:
            self.depth -= 1
        assert block.last_op is not None
        return [self._values(operand, emitter) for operand in block.last_op.operands]

    def _values(self, value: SSAValue, emitter: HloEmitter) -> list[Hlo]:
        return emitter.values(self.known[value])

    def _convert_op(self, op: Operation, emitter: HloEmitter) -> None:
        try:
            operands = [self._values(operand, emitter) for operand in op.operands]
            results = self._results(op, operands, emitter)
        except NoForm as error:
            place = _loop_of(op) if isinstance(op, TapeNewOp) else op
            self.problems.append((f"{_name_of(place)}: {error}", place))
            results = [_placeholders(result.type, emitter) for result in op.results]
        for result, values in zip(op.results, results, strict=True):
            self.known[result] = [value.ssa for value in values]
            if len(values) == 1 and values[0].ssa.name_hint is None:
                values[0].ssa.name_hint = result.name_hint

    def _results(
        self, op: Operation, operands: Sequence[Sequence[Hlo]], emitter: HloEmitter
    ) -> Sequence[Sequence[Hlo]]:
        """The StableHLO values of each result; NoForm where there are none."""
        _require_shapes(op)
        if (tape := tape_values(op, operands, emitter)) is not None:
            return tape
        if isinstance(op, scf.ExecuteRegionOp):
            return self._execute(op, emitter)
        if (region_rule := REGION_RULES.get(type(op))) is not None:
            made = region_rule(op, flatten(operands), self, emitter)
            return split_values(made, op.results)
        if any(len(values) != 1 for values in operands):
            # a tape that is handed on
            return operands
        return [[value] for value in self._tensors(op, [xs[0] for xs in operands], emitter)]

    def _execute(self, op: scf.ExecuteRegionOp, emitter: HloEmitter) -> list[list[Hlo]]:
        if len(op.region.blocks) != 1:
            raise NoForm("a region of several blocks has no form in StableHLO")
        return self.convert_block(op.region.block, [], emitter)

    def _tensors(self, op: Operation, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
        if (rule := RULES.get(op.name)) is not None:
            return rule(op, xs, emitter)
        if isinstance(op, ElementwiseOp) and not op.has_decomposition():
            return [elementwise(op, xs, emitter)]
        if (number := number_op(op, xs, emitter)) is not None:
            return [number]
        if (made := convert_loop_op(op, xs, emitter)) is not None:
            return made
        if isinstance(op, TensorOp):
            return self._lowered(op, xs, emitter)
        raise NoForm(_why_not(op))

    def _lowered(self, op: TensorOp, xs: Sequence[Hlo], emitter: HloEmitter) -> Sequence[Hlo]:
        """An op by the loop nests that it is lowered to."""
        block = Block(arg_types=[o.type for o in op.operands])
        if type(op).lower is TensorOp.lower:
            raise NoForm("it has no form in StableHLO")
        results = op.lower(Emitter(block, op.location), block.args)
        known: dict[SSAValue, Hlo] = dict(zip(block.args, xs, strict=True))
        for inner in block.ops:
            if isinstance(inner, ForallOp):
                raise NoForm(OWN_LOOPS)
            made = self._tensors(inner, [known[o] for o in inner.operands], emitter)
            known.update(zip(inner.results, made, strict=True))
        return [known[value] for value in results]


def drop_dead(block: Block) -> None:
    """Erase the ops whose results nothing reads; ops of StableHLO here have no effects."""
    for op in reversed(list(block.ops)):
        if not isinstance(op, HloOp) or is_terminator(op):
            continue
        if all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
            continue
        for region in op.regions:
            drop_dead(region.block)


def _require_shapes(op: Operation) -> None:
    """NoForm for a value of a dynamic shape."""
    for value in (*op.operands, *op.results):
        if is_open(value.type):
            raise NoForm(
                f"shapes must be known, got {value.type}; write the extents, or run "
                "gradir-specialize"
            )


def _loop_of(tape: TapeNewOp) -> Operation:
    """The op that a new tape is for."""
    return next((use.operation for use in tape.tape.uses), tape)


def _why_not(op: Operation) -> str:
    if isinstance(op, ForallOp):
        return OWN_LOOPS
    if isinstance(op, HostCallOp):
        return f"{op.attributes['callee']} runs on the host and has no form in StableHLO"
    return "it has no form in StableHLO"


def _name_of(op: Operation) -> str:
    return op.source_name if isinstance(op, TensorOp) else op.name


def _placeholders(type_: Attribute, emitter: HloEmitter) -> list[Hlo]:
    """Values in the place of those that have no form, so that later ops are looked at too."""
    if is_open(type_) or not (isinstance(type_, TapeType) or is_tensor(type_) or is_scalar(type_)):
        return [v.number_of(emitter, 0, i64)]
    return [v.full(emitter, 0, cast(Any, t)) for t in types_of(type_)]


def _name_arguments(block: Block, source: Block) -> None:
    if len(block.args) == len(source.args):
        for arg, old in zip(block.args, source.args, strict=True):
            arg.name_hint = old.name_hint


def refuse(problems: Sequence[tuple[str, Operation]]) -> None:
    """One PassError for all problems, each named once a place; nothing where there are none."""
    told = list({(text, op.location): (text, op) for text, op in problems}.values())
    if told:
        (text, op), *others = told
        raise PassError(text, op, others)


def converted(module: ModuleOp, names: dict[str, str]) -> ModuleOp:
    """A StableHLO module of functions, by the names that they get; PassError for all ops without
    a form."""
    converter = Converter()
    made: list[Operation] = []
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data in names:
            function = converter.convert_function(op, names[op.sym_name.data])
            made += [] if function is None else [function]
    refuse(converter.problems)
    return ModuleOp(made)
