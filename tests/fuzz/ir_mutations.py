"""Changes to a program that leave it well-formed: other operands, ops fewer or doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

import gradir
from gradir import GradirError


def mutated_ir(choose: Random, text: str) -> str:
    """The program after some changes; the text as it is, if it is no program."""
    try:
        module = gradir.parse(text).op
    except GradirError:
        return text
    for _ in range(choose.choice([1, 1, 2, 3, 5])):
        ops = [op for op in module.walk() if op.operands or op.results]
        if ops:
            choose.choice(CHANGES)(choose, choose.choice(ops))
    try:
        return str(module)
    except Exception:  # the mutation's own doing: what an op needs to be printed has gone
        return text


def visible(op: Operation) -> Iterator[SSAValue]:
    """What is defined before an op: in its block, in those around it, and their arguments."""
    at: Operation | None = op
    while at is not None and not isinstance(at, ModuleOp) and at.name != "func.func":
        block = at.parent_block()
        if block is None:
            return
        yield from block.args
        for before in block.ops:
            if before is at:
                break
            yield from before.results
        at = block.parent_op()


def _alike(choose: Random, op: Operation, value: SSAValue) -> SSAValue | None:
    fitting = [v for v in visible(op) if v.type == value.type and v is not value]
    return choose.choice(fitting) if fitting else None


def rewire(choose: Random, op: Operation) -> None:
    """An operand becomes another value of its type."""
    if not op.operands:
        return
    at = choose.randrange(len(op.operands))
    other = _alike(choose, op, op.operands[at])
    if other is not None:
        op.operands[at] = other


def delete(choose: Random, op: Operation) -> None:
    """An op goes; other values of the types stand for its results, if there are any."""
    if op.has_trait(IsTerminator) or op.parent_block() is None:
        return
    others = [_alike(choose, op, r) for r in op.results]
    if any(o is None for o in others):
        return
    for result, other in zip(op.results, others, strict=True):
        assert other is not None
        result.replace_all_uses_with(other)
    op.detach()
    op.erase()


def double(choose: Random, op: Operation) -> None:
    """An op stands twice; some uses are of the second one."""
    block = op.parent_block()
    if op.has_trait(IsTerminator) or block is None or op.name == "func.func":
        return
    copy = op.clone()
    block.insert_op_after(copy, op)
    for result, other in zip(op.results, copy.results, strict=True):
        uses = [use for use in result.uses if use.operation is not copy]
        for use in uses:
            if choose.random() < 0.5 and _is_after(use.operation, copy):
                use.operation.operands[use.index] = other


def _is_after(op: Operation, other: Operation) -> bool:
    """Whether the second is before the first, or before what holds it."""
    block: Block | None = other.parent_block()
    at: Operation | None = op
    while at is not None and at.parent_block() is not block:
        at = at.parent_op()
    return at is not None and at is not other and block is not None and (
        list(block.ops).index(at) > list(block.ops).index(other)
    )  # fmt: skip


def swap_operands(choose: Random, op: Operation) -> None:
    """Two operands of one type change places."""
    if not op.operands:
        return
    i = choose.randrange(len(op.operands))
    same = [k for k, o in enumerate(op.operands) if o.type == op.operands[i].type]
    j = choose.choice(same)
    op.operands[i], op.operands[j] = op.operands[j], op.operands[i]


def drop_attribute(choose: Random, op: Operation) -> None:
    """One attribute goes: most are optional, or else the op says that it is missing."""
    if op.attributes:
        del op.attributes[choose.choice(sorted(op.attributes))]


CHANGES: tuple[Callable[[Random, Operation], None], ...] = (
    rewire, rewire, rewire, delete, delete, double, swap_operands, drop_attribute,
)  # fmt: skip
