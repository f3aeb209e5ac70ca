"""The code of a derivative, and its functions by mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.analysis.arguments import in_out_attribute
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.kept_bits import from_bits, is_kept_as_bits, to_bits
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.cleanup.call_boundaries import remove_joins
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.cleanup.dead_region_values import prune_flow
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.residuals import (
    is_constant,
    is_read_off,
    read_again,
    read_instead,
    readers_of,
    replace_uses_within,
    values_read_of,
)
from gradir.passes.differentiate.row_slices import unpacked
from gradir.passes.differentiate.tapes import TapeThread


@dataclass
class DifferentiatedLoop:
    """A loop of the source through which cotangents flow, and its policy.

    `state` are the types of the carried values in a snapshot; None if no value changes.
    `record_bytes` counts an iteration's records on the loop's own tapes, without inner loops'.
    """

    op: Operation
    policy: LoopPolicyAttr
    state: Sequence[Attribute] | None
    record_bytes: int = 0


@dataclass
class Derived:
    """The code of a differentiated function, not yet in functions.

    `backward` reads values of `forward` freely; its arguments are the cotangents, then the given
    gradients to add to: `added` maps places of gradients to these. `tapes` are the last arguments
    of both. `loops` are loops of the source, in program order.
    """

    source: FuncOp
    forward: Block
    backward: Block
    results: list[SSAValue]
    cotangents: list[SSAValue]
    grads: list[SSAValue]
    tapes: Sequence[TapeThread] = ()
    suffix: str = field(default="")
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    added: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    loops: Sequence[DifferentiatedLoop] = ()

    def copied(self, source: FuncOp) -> tuple[Derived, dict[SSAValue, SSAValue]]:
        """A copy for a copy of the source, and the map of its values; without tapes."""
        copies: dict[SSAValue, SSAValue] = {}
        blocks: list[Block] = []
        for block in (self.forward, self.backward):
            blocks.append(Block(arg_types=[a.type for a in block.args]))
            for ours, argument in zip(blocks[-1].args, block.args, strict=True):
                ours.name_hint = argument.name_hint
                copies[argument] = ours
            for op in block.ops:
                copy = op.clone(copies)
                copy.location = op.location
                blocks[-1].add_op(copy)
        values = ([copies[v] for v in vs] for vs in (self.results, self.cotangents, self.grads))
        results, cotangents, grads = values
        forward, backward = blocks
        added = {k: copies[value] for k, value in self.added.items()}
        made = Derived(source, forward, backward, results, cotangents, grads, added=added)
        return made, copies

    def clean(self, simplify: Callable[[Block], None]) -> None:
        """Simplify the backward code and prune both; a temporary use keeps the returned values."""
        ends = [e for t in self.tapes for e in (t.forward, t.in_backward())]
        returned = ReturnOp(*self.results, *self.grads, *ends)
        self.backward.add_op(returned)
        for block in (self.forward, self.backward):
            remove_joins(block)
        simplify(self.backward)
        remove_dead_ops(self.forward)
        prune_flow([self.forward, self.backward])
        held = iter(returned.operands)
        self.results = [next(held) for _ in self.results]
        self.grads = [next(held) for _ in self.grads]
        for tape in self.tapes:
            tape.forward, tape.backward = next(held), next(held)
        erase(returned)

    def unpack_slices(self) -> None:
        """Return the indices and the values in place of gradients that are row slices."""
        emitter = Emitter(self.backward, self.source.location)
        self.grads = [part.ssa for part in unpacked(map(emitter.value, self.grads))]

    def add_return(self, block: Block, *values: SSAValue) -> None:
        """End a block in a copy of the source's return."""
        op = ReturnOp(*values)
        last = self.source.body.block.last_op
        assert last is not None
        op.location = last.location
        block.add_op(op)

    def name(self, ending: str) -> str:
        return f"{self.source.sym_name.data}_{ending}{self.suffix}"


def joint_function(program: ModuleFunctions, derived: Derived, ending: str) -> FuncOp:
    """`@f_<ending>(primals, cotangents) -> (results, grads)`."""
    block = derived.forward
    for ct in list(derived.backward.args):
        ours = block.insert_arg(ct.type, len(block.args))
        ours.name_hint = ct.name_hint
        derived.grads = [ours if g is ct else g for g in derived.grads]
        derived.added = {k: ours if v is ct else v for k, v in derived.added.items()}
        ct.replace_all_uses_with(ours)
    for op in list(derived.backward.ops):
        op.detach()
        block.add_op(op)
    derived.add_return(block, *derived.results, *derived.grads)
    attributes = argument_attributes(derived.source)
    _mark_added(attributes, derived, len(derived.results))
    function = function_around(derived.name(ending), block, attributes)
    function.attributes |= derived.attributes
    return program.add(function, derived.source)


Insert = Callable[[FuncOp, FuncOp], FuncOp]


def split_functions(
    program: ModuleFunctions, derived: Derived, insert: Insert | None = None
) -> tuple[FuncOp, FuncOp]:
    """`@f_fwd(primals) -> (results, residuals)` and `@f_bwd(residuals, cotangents) -> (grads)`."""
    _clone_constants(derived)
    _keep_smaller(derived)
    residuals = _residuals(derived)
    block = derived.backward
    for k, residual in enumerate(residuals):
        ours = block.insert_arg(residual.type, k)
        ours.name_hint = residual.name_hint
        replace_uses_within(block, residual, ours)
        derived.grads = [ours if g is residual else g for g in derived.grads]
    derived.add_return(block, *derived.grads, *(t.in_backward() for t in derived.tapes))
    ends = [t.forward for t in derived.tapes]
    derived.add_return(derived.forward, *derived.results, *residuals, *ends)
    attributes = argument_attributes(derived.source)
    forward = function_around(derived.name("fwd"), derived.forward, attributes)
    backward = function_around(derived.name("bwd"), block, _mark_added([], derived, 0))
    for function in (forward, backward):
        function.attributes |= derived.attributes
    insert = insert or program.add
    forward = insert(forward, derived.source)
    return forward, insert(backward, forward)


def _mark_added(
    attributes: list[dict[str, Attribute]], derived: Derived, first: int
) -> list[dict[str, Attribute]]:
    """Mark arguments to which gradients are added with their results' indices, from `first` on."""
    for k, value in derived.added.items():
        assert isinstance(value, BlockArgument)
        attributes += [{} for _ in range(value.index + 1 - len(attributes))]
        attributes[value.index] |= in_out_attribute(first + k)
    return attributes


def _clone_constants(derived: Derived) -> None:
    """Copy constants, ops without operands, to the backward code; they are not kept."""
    copies: dict[SSAValue, SSAValue] = {}
    for top in list(derived.backward.ops):
        for op in top.walk():
            for index, operand in enumerate(op.operands):
                owner = operand.owner
                if isinstance(owner, Block) or owner.parent is not derived.forward:
                    continue
                if not is_constant(owner):
                    continue
                if operand not in copies:
                    copy = owner.clone()
                    copy.location = owner.location
                    derived.backward.insert_op_before(copy, top)
                    copies[operand] = copy.results[0]
                op.operands[index] = copies[operand]


def _keep_smaller(derived: Derived) -> None:
    """Let the backward code read bits of certain bools, and the points of certain values."""
    read = values_read_of(derived.forward, derived.backward)
    smaller = [value for value in read if is_kept_as_bits(value) or is_read_off(value)]
    for value, readers in readers_of(smaller, derived.backward).items():
        if is_read_off(value):
            read_again(value, readers, behind_barrier=False)
        else:
            read_as_bits(derived, value, readers)


def read_as_bits(derived: Derived, value: SSAValue, readers: Sequence[Operation]) -> None:
    """Let ops of the backward code read bits of a value, unpacked before the first of them."""
    emitter = Emitter(derived.backward, readers[0].location, before=readers[0])
    read_instead(value, from_bits(to_bits(value), value, emitter), readers)


def _residuals(derived: Derived) -> list[SSAValue]:
    """The forward values that the backward code reads, in order of definition."""
    read = {o for op in derived.backward.walk() for o in op.operands} | set(derived.grads)
    in_order: list[SSAValue] = list(derived.forward.args)
    in_order += [r for op in derived.forward.ops for r in op.results]
    return [v for v in in_order if v in read]


def function_around(name: str, block: Block, attributes: Sequence[dict[str, Attribute]]) -> FuncOp:
    """A function around a block that ends in its return."""
    last = block.last_op
    assert last is not None
    inputs = [a.type for a in block.args]
    given = [DictionaryAttr(a) for a in attributes]
    given += [DictionaryAttr({})] * (len(inputs) - len(given))
    attrs = ArrayAttr(given) if any(a.data for a in given) else None
    return FuncOp(name, (inputs, [o.type for o in last.operands]), Region(block), arg_attrs=attrs)
