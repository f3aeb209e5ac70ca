"""The tangents of an op by its vjp, transposed: one rule serves both modes.

The vjp is emitted on dummy cotangents. Its ops on them are a linear program, and the derivative of
that program with respect to the dummies, by the rules of its own ops, gives the tangents. Its ops
on primal values alone stay, as the coefficients; the linear program itself is erased.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import op_name
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import vjp_rule
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.gates import Gates, Wanted
from gradir.dialects.grad.grad import accumulated
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.edits import erase
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.cleanup.decompose import decompose_block, is_taken_apart
from gradir.passes.differentiate.contributions import lost


def pushed_forward(
    op: Operation,
    tangents: Sequence[SSAValue | None],
    wanted: Sequence[bool],
    emitter: Emitter,
    gates: Gates,
) -> Sequence[SSAValue | None]:
    """Append the tangents of the wanted results of an op, given its operands' tangents.

    None is 0. The op is in the emitter's block.
    """
    rule = vjp_rule(op)
    assert rule is not None, f"{op.name} has no derivative"
    before = emitter.block.last_op
    dummies = Block(arg_types=[cotangent_type(r.type) for r in op.results])
    cts = [emitter.value(a) if w else None for a, w in zip(dummies.args, wanted, strict=True)]
    operands, results = (list(map(emitter.value, values)) for values in (op.operands, op.results))
    flowing = _in_parts(rule(op, cts, results, operands), before, emitter)
    contributions: dict[SSAValue, list[Value]] = {}
    for ct, tangent in zip(flowing, tangents, strict=True):
        if ct is not None and tangent is not None:
            contributions.setdefault(ct.ssa, []).append(emitter.value(tangent))
    linear = _linear_ops(_ops_behind(before, emitter.block), dummies)
    # what the rule itself selects needs no gate: its other factors are finite there
    is_gated = any(gates.may_have_support(t) for t in tangents if t is not None)
    _transpose(linear, dummies, contributions, emitter, gates if is_gated else None)
    _erase(linear, op)
    return [accumulated(p).ssa if (p := contributions.get(a)) else None for a in dummies.args]


def _in_parts(flowing: Cotangents, before: Operation | None, emitter: Emitter) -> Cotangents:
    """The results of a rule after a decomposition of the ops it emitted behind `before`."""
    held = emitter.insert(ReturnOp(*(ct.ssa for ct in flowing if ct is not None)))
    decompose_block(emitter.block, is_taken_apart, before)
    found = iter(held.operands)
    flowing = [None if ct is None else emitter.value(next(found)) for ct in flowing]
    erase(held)
    return flowing


def _ops_behind(op: Operation | None, block: Block) -> Iterator[Operation]:
    current = block.first_op if op is None else op.next_op
    while current is not None:
        yield current
        current = current.next_op


def _linear_ops(ops: Iterator[Operation], dummies: Block) -> list[Operation]:
    """The ops that depend on the dummy cotangents."""
    dependent: set[SSAValue] = set(dummies.args)
    found: list[Operation] = []
    for op in ops:
        if any(o in dependent for o in op.operands):
            dependent.update(op.results)
            found.append(op)
    return found


def _transpose(
    linear: Sequence[Operation],
    dummies: Block,
    contributions: dict[SSAValue, list[Value]],
    emitter: Emitter,
    gates: Gates | None,
) -> None:
    """Run a linear program backward, from the contributions to its results."""
    dependent = {*dummies.args, *(r for op in linear for r in op.results)}
    for op in reversed(linear):
        cts = [accumulated(p) if (p := contributions.pop(r, None)) else None for r in op.results]
        if not any(cts):
            continue
        rule = vjp_rule(op)
        assert rule is not None, f"{op.name} has no derivative"
        operands, results = (
            list(map(emitter.value, values)) for values in (op.operands, op.results)
        )
        before = emitter.block.last_op
        if gates is None:
            flowing = rule(op, cts, results, operands)
        else:
            flowing = gates.flow(op, rule, cts, results, operands, _is_wanted(op, dependent))
        kept: set[SSAValue] = set()
        for operand, ct in zip(op.operands, flowing, strict=True):
            if ct is not None and operand in dependent:
                kept.add(ct.ssa)
                contributions.setdefault(operand, []).append(ct)
        remove_dead_ops(emitter.block, before, kept)
    for value in dependent.difference(dummies.args).intersection(contributions):
        raise lost(value, "is left over in the transpose of a vjp")


def _is_wanted(op: Operation, dependent: Set[SSAValue]) -> Wanted:
    """Whether the operand at a place is one of the dependent values."""
    return lambda place: op.operands[place] in dependent


def _erase(linear: Sequence[Operation], source: Operation) -> None:
    """Erase the linear program; AssertionError where one of its values is read."""
    for op in reversed(linear):
        read = any(r.first_use is not None for r in op.results)
        assert not read, f"{op_name(source)}: its vjp is not linear in the cotangent, at {op.name}"
        erase(op)
