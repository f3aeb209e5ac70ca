"""The tangents of an op by its vjp, transposed: one rule serves both modes.

The vjp is emitted on dummy cotangents. Its ops on them are a linear program, and the derivative of
that program with respect to the dummies, by the rules of its own ops, gives the tangents. Its ops
on primal values alone stay, as the coefficients; the linear program itself is erased. A plugin's op
may have a jvp: its transpose is a vjp in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, op_name
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import JvpRule, VjpRule, jvp_rule, vjp_rule
from gradir.dialects.base.shapes import element_of, is_inexact
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.gates import Gates, Wanted
from gradir.dialects.grad.grad import accumulated
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.edits import erase
from gradir.passes.cleanup.dead_code import remove_dead_ops
from gradir.passes.cleanup.decompose import decompose_block, taken_apart
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
    jvp = jvp_rule(op)
    rule = vjp_rule(op) if jvp is None else transposed_jvp(jvp)
    assert rule is not None, f"{op.name} has no derivative"
    operands, results = (list(map(emitter.value, values)) for values in (op.operands, op.results))
    given = [None if t is None else emitter.value(t) for t in tangents]
    # what the rule itself selects needs no gate: its other factors are finite there
    is_gated = any(gates.may_have_support(t) for t in tangents if t is not None)
    made = _transposed(
        op, lambda cts: rule(op, cts, results, operands), op.results, wanted, given, emitter,
        gates if is_gated else None, "vjp",
    )  # fmt: skip
    return [None if value is None else value.ssa for value in made]


def transposed_jvp(jvp: JvpRule) -> VjpRule:
    """The vjp of an op with a jvp."""

    def vjp(
        op: Operation, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        wanted = [is_inexact(element_of(o.type)) for o in op.operands]
        emitter = results[0].emitter
        return _transposed(
            op, lambda tangents: jvp(op, tangents, results, operands), op.operands, wanted, cts,
            emitter, None, "jvp",
        )  # fmt: skip

    return vjp


def _transposed(
    op: Operation,
    rule: Callable[[Cotangents], Cotangents],
    values: Sequence[SSAValue],
    wanted: Sequence[bool],
    given: Cotangents,
    emitter: Emitter,
    gates: Gates | None,
    kind: str,
) -> Cotangents:
    """The transpose of a rule that is linear, from cotangents of what it gives.

    The rule takes what belongs to `values`, None for those that are not wanted.
    """
    before = emitter.block.last_op
    dummies = Block(arg_types=[cotangent_type(v.type) for v in values])
    taken = [emitter.value(a) if w else None for a, w in zip(dummies.args, wanted, strict=True)]
    flowing = _in_parts(rule(taken), before, emitter)
    contributions: dict[SSAValue, list[Value]] = {}
    for ct, value in zip(flowing, given, strict=True):
        if ct is not None and value is not None:
            contributions.setdefault(ct.ssa, []).append(value)
    linear = _linear_ops(_ops_behind(before, emitter.block), dummies)
    _transpose(linear, dummies, contributions, emitter, gates)
    _erase(linear, dummies, op, kind)
    return [accumulated(p) if (p := contributions.get(a)) else None for a in dummies.args]


def _in_parts(flowing: Cotangents, before: Operation | None, emitter: Emitter) -> Cotangents:
    """The results of a rule after a decomposition of the ops it emitted behind `before`."""
    held = emitter.insert(ReturnOp(*(ct.ssa for ct in flowing if ct is not None)))
    decompose_block(emitter.block, taken_apart, before)
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


def _erase(linear: Sequence[Operation], dummies: Block, source: Operation, kind: str) -> None:
    """Erase the linear program; PassError where one of its values, or a dummy, is still read."""
    read = None
    for op in reversed(linear):
        if any(r.first_use is not None for r in op.results):
            read = op
            break
        erase(op)
    left = (use.operation for a in dummies.args for use in a.uses)
    if (read := read or next(left, None)) is not None:
        linear_in = "cotangents" if kind == "vjp" else "tangents"
        raise PassError(
            f"{op_name(source)}: its {kind} is not linear in the {linear_in}, at {read.name}",
            source,
        )
