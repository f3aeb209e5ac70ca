"""Rules of any op: methods of a `TensorOp`, and registered functions for ops of other dialects.

`dialects/foreign` registers them, by class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import is_scalar, is_static, is_tensor
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import Value

VjpRule = Callable[[Any, Cotangents, Sequence[Value], Sequence[Value]], Cotangents]
# From the tangents of the operands, None for integer ones, those of the results.
JvpRule = VjpRule
VmapRule = Callable[[Any, Batch], Sequence[Value] | None]
Simplification = Callable[..., Value | None]
# The support of a result, by its number.
SupportRule = Callable[[Any, int, Supports], Mask | None]
ZeroOperands = Callable[[Any], Sequence[SSAValue] | None]
Addition = Callable[..., Value]
Decomposition = Callable[..., Value | Sequence[Value]]
# Why an op has no derivative, given which values are active; None where it has one.
Refusal = Callable[[Any, Callable[[SSAValue], bool]], str | None]

_VJP_RULES: dict[type[Operation], VjpRule] = {}
_JVP_RULES: dict[type[Operation], JvpRule] = {}
_VMAP_RULES: dict[type[Operation], VmapRule] = {}
_ELEMENTWISE: set[type[Operation]] = set()
_APPLIES: dict[type[Operation], Callable[[Any], bool]] = {}
_REFUSALS: dict[type[Operation], Refusal] = {}
_REMEDIES: dict[type[Operation], Callable[[Any], str]] = {}
_INACTIVE: set[type[Operation]] = set()
_SUPPORTS: dict[type[Operation], SupportRule] = {}
_ZERO_OPERANDS: dict[type[Operation], ZeroOperands] = {}
_SELECTED: dict[type[Operation], Callable[[Any, Supports], int | None]] = {}
_SIMPLIFICATIONS: dict[type[Operation], Simplification] = {}
_WRITES_INTO: dict[type[Operation], int] = {}
_ADDITIONS: dict[type[Operation], Addition] = {}
_DECOMPOSITIONS: dict[type[Operation], Decomposition] = {}
_APART: dict[type[Operation], Callable[[Any], Decomposition | None]] = {}
_MEANINGS: dict[type[Operation], Callable[..., Any]] = {}
# Ops with a rule of another package, whose code a program does not tell.
_OF_PLUGINS: set[type[Operation]] = set()


def register_vjp(
    op_class: type[Operation],
    rule: VjpRule,
    applies: Callable[[Any], bool] | None = None,
) -> None:
    """Give an op of another dialect a derivative: `rule(op, cts, results, operands)`.

    With `applies`, only for ops on which that is true.
    """
    _VJP_RULES[op_class] = rule
    if applies is not None:
        _APPLIES[op_class] = applies


def register_jvp(op_class: type[Operation], rule: JvpRule) -> None:
    """Give an op of another dialect a derivative for forward mode, in place of its vjp's transpose.

    `rule(op, tangents, results, operands)` gives the tangents of the results.
    """
    _JVP_RULES[op_class] = rule


def register_vmap(op_class: type[Operation], rule: VmapRule) -> None:
    """Give an op of another dialect its `vmap`: `rule(op, batch)`."""
    _VMAP_RULES[op_class] = rule


def register_refusal(op_class: type[Operation], function: Refusal) -> None:
    """Refuse some ops of a class where they are active: `function(op, is_active)` says why."""
    _REFUSALS[op_class] = function


def register_elementwise(op_class: type[Operation]) -> None:
    """Register an op of another dialect as elementwise: on tensors, the op on numbers per element.

    Its rules apply to numbers and tensors, and to no other types.
    """
    _ELEMENTWISE.add(op_class)


def register_inactive(op_class: type[Operation]) -> None:
    """Register an op of another dialect as inactive: no cotangent flows through it."""
    _INACTIVE.add(op_class)


def register_support(op_class: type[Operation], function: SupportRule) -> None:
    """Give an op of another dialect the support of its results: `function(op, number, of)`."""
    _SUPPORTS[op_class] = function


def register_zero_operands(op_class: type[Operation], function: ZeroOperands) -> None:
    """Give an op of another dialect with one result its `zero_operands`."""
    _ZERO_OPERANDS[op_class] = function


def register_selected_operand(
    op_class: type[Operation], function: Callable[[Any, Supports], int | None]
) -> None:
    """Give an op of another dialect its `selected_operand`."""
    _SELECTED[op_class] = function


def selected_operand(op: Operation, of: Supports) -> int | None:
    """The operand whose elements the op keeps or replaces by 0 or nan; None for other ops."""
    if isinstance(op, TensorOp):
        return op.selected_operand(of)
    function = _SELECTED.get(type(op))
    return None if function is None else function(op, of)


def zero_operands(op: Operation) -> Sequence[SSAValue] | None:
    """Operands that make an element of the result 0 where they are all 0; None where unknown."""
    if isinstance(op, TensorOp):
        return op.zero_operands()
    function = _ZERO_OPERANDS.get(type(op))
    return None if function is None else function(op)


def support_of(value: SSAValue, of: Supports) -> Mask | None:
    """The support of a result of an op."""
    op = value.owner
    if isinstance(op, TensorOp):
        return op.support(of) if len(op.results) == 1 else None
    assert isinstance(op, Operation)
    if (function := _SUPPORTS.get(type(op))) is not None:
        return function(op, op.results.index(value), of)
    zeros = zero_operands(op)
    return None if zeros is None else of.of_any(zeros)


def registered() -> tuple[list[type[Operation]], list[type[Operation]]]:
    """The registered ops of other dialects: those with a derivative, and the inactive ones."""
    return list(_VJP_RULES), [op for op in _INACTIVE if op not in _VJP_RULES]


def register_simplification(op_class: type[Operation], function: Simplification) -> None:
    """Give an op of one result a `simplify`: `function(op, *operands)`."""
    _SIMPLIFICATIONS[op_class] = function


def register_addition(op_class: type[Operation], into: int, function: Addition) -> None:
    """Give an op that writes to a copy of operand `into` its `added_to` (`op, base, *operands`)."""
    _WRITES_INTO[op_class] = into
    _ADDITIONS[op_class] = function


def register_decomposition(op_class: type[Operation], function: Decomposition) -> None:
    """Give an op of another dialect a `decompose`: `function(op, *operands)`."""
    _DECOMPOSITIONS[op_class] = function


def register_apart(
    op_class: type[Operation], function: Callable[[Any], Decomposition | None]
) -> None:
    """Give an op of another dialect an `apart`, as a TensorOp has it: `function(op)`."""
    _APART[op_class] = function


def register_meaning(op_class: type[Operation], function: Callable[..., Any]) -> None:
    """Give an op of another dialect its `numpy`: `function(op, *arrays)`."""
    _MEANINGS[op_class] = function


def note_plugin(op_class: type[Operation]) -> None:
    """Note that a rule of an op is another package's."""
    _OF_PLUGINS.add(op_class)


def has_plugin_rule(op_class: type) -> bool:
    """Whether another package has given an op class a rule."""
    return op_class in _OF_PLUGINS


def decomposition(op: Operation) -> Decomposition | None:
    """The decomposition of an op, to be called with its operands; None without one."""
    if isinstance(op, TensorOp):
        is_apart = op.has_decomposition() and not op.waits_for_planes()
        return op.decompose if is_apart else None
    function = _DECOMPOSITIONS.get(type(op))
    return None if function is None else partial(function, op)


def apart(op: Operation) -> Decomposition | None:
    """The ops that differentiation puts in the place of `op`; None to let it stay."""
    if isinstance(op, TensorOp):
        return op.apart()
    function = _APART.get(type(op))
    return None if function is None else function(op)


def meaning(op: Operation) -> Callable[..., Any] | None:
    """The registered meaning on arrays of an op of another dialect; None without one."""
    function = _MEANINGS.get(type(op))
    return None if function is None else partial(function, op)


def is_inactive(op: Operation) -> bool:
    """Whether no cotangent ever flows through `op`."""
    if isinstance(op, TensorOp):
        return op.INACTIVE
    return type(op) in _INACTIVE


def vjp_rule(op: Operation) -> VjpRule | None:
    """The derivative of `op`, to be called as `rule(op, cts, results, operands)`."""
    if isinstance(op, TensorOp):
        return cast(VjpRule, type(op).vjp_all) if op.has_vjp() else None
    applies = _APPLIES.get(type(op))
    if foreign_type(op) is not None or (applies is not None and not applies(op)):
        return None
    return _VJP_RULES.get(type(op))


def jvp_rule(op: Operation) -> JvpRule | None:
    """The registered derivative of an op for forward mode; None without one."""
    return _JVP_RULES.get(type(op))


def vmap_op(batch: Batch) -> Sequence[Value] | None:
    """The results of an op on many rows at once; None to run it on one row after the other."""
    op = batch.op
    if isinstance(op, TensorOp):
        return op.vmap(batch)
    if (rule := _VMAP_RULES.get(type(op))) is not None:
        return rule(op, batch)
    on_tensors = all(is_tensor(v.type) for v in (*op.operands, *op.results))
    return batch.in_front() if is_elementwise(op) and on_tensors else None


def refusal(op: Operation, is_active: Callable[[SSAValue], bool]) -> str | None:
    """Why an active op has no derivative; None where its rule, or the lack of one, decides."""
    function = _REFUSALS.get(type(op))
    return None if function is None else function(op, is_active)


def register_remedy(kind: type[Operation], remedy: Callable[[Any], str]) -> None:
    """Register a user's way out where an active op of this type has no derivative."""
    _REMEDIES[kind] = remedy


def remedy(op: Operation, otherwise: str) -> str:
    """The way out where an active op has no derivative; `otherwise` if none is registered."""
    function = _REMEDIES.get(type(op))
    return otherwise if function is None else function(op)


def is_elementwise(op: Operation) -> bool:
    """Whether `op` is an elementwise op of another dialect."""
    return type(op) in _ELEMENTWISE


def foreign_type(op: Operation) -> Attribute | None:
    """A type in an elementwise op that is neither a number nor a tensor; else None."""
    if type(op) not in _ELEMENTWISE:
        return None
    types = (v.type for v in (*op.operands, *op.results))
    return next((t for t in types if not (is_scalar(t) or is_tensor(t))), None)


def simplified(op: Operation, operands: Sequence[Value]) -> Value | None:
    """A cheaper value equal to the result of `op`; None where none is known."""
    # equal types with unknown extents need not be equal shapes
    if any(is_tensor(o.ssa.type) and not is_static(o.ssa.type) for o in operands):
        return None
    if isinstance(op, TensorOp):
        return op.simplify(*operands)
    function = _SIMPLIFICATIONS.get(type(op))
    return None if function is None or foreign_type(op) else function(op, *operands)


def written_tensor(op: Operation) -> SSAValue | None:
    """The operand that `op` copies and then writes to; None for other ops."""
    place = op.WRITES_INTO if isinstance(op, TensorOp) else _WRITES_INTO.get(type(op))
    return None if place is None else op.operands[place]


def added_to(op: Operation, base: Value) -> Value:
    """base + the result of an op that writes into zeros, without making the zeros."""
    operands = [base.emitter.value(o) for o in op.operands]
    if isinstance(op, TensorOp):
        return op.added_to(base, *operands)
    return _ADDITIONS[type(op)](op, base, *operands)
