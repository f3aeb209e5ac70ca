"""gradir-verify: grad.custom_vjp names functions of matching types, and each function once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.diagnostics import VerifyError
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.tape import cotangent_type, is_floating

Declared = dict[Operation, CustomVjpOp]
"""The declarations so far, by function."""


def verify_custom_vjp(
    op: CustomVjpOp, symbols: Mapping[str, Operation], declared: Declared
) -> None:
    """VerifyError for a wrong declaration; else adds it to `declared`."""
    function, *rules = (_function(op, name, symbols) for name in op.names)
    if (other := declared.get(function)) is not None:
        raise VerifyError(
            f"{op.name}: a function must have one derivative, got another for {_name(function)}",
            op,
            [("the first is here", other)],
        )
    declared[function] = op
    if op.has_rules:
        _verify_rules(op, function, *rules)
    elif rules:
        raise VerifyError(f"{op.name}: a jvp stands beside a forward and a backward function", op)


def _verify_rules(
    op: CustomVjpOp, function: FuncOp, forward: FuncOp, backward: FuncOp, *tangent: FuncOp
) -> None:
    """VerifyError where a function of the derivative has other types than it must have."""
    inputs, outputs = _types(function)
    taken, made = _types(forward)
    _require(op, forward, "must take the arguments of", function, inputs, taken)
    _require(
        op,
        forward,
        "must return first what is returned by",
        function,
        outputs,
        made[: len(outputs)],
    )
    residuals = made[len(outputs) :]
    seeds, grads = _cotangent_types(outputs), _cotangent_types(inputs)
    taken, made = _types(backward)
    what = "must take the residuals and the cotangents of the floating results of"
    _require(op, backward, what, function, [*residuals, *seeds], taken)
    what = "must return the cotangents of the floating arguments of"
    _require(op, backward, what, function, grads, made)
    for pushed in tangent:
        taken, made = _types(pushed)
        what = "must take the arguments and the tangents of the floating ones of"
        _require(op, pushed, what, function, [*inputs, *grads], taken)
        what = "must return the results and the tangents of the floating ones of"
        _require(op, pushed, what, function, [*outputs, *seeds], made)


def _function(op: CustomVjpOp, name: str, symbols: Mapping[str, Operation]) -> FuncOp:
    found = symbols.get(name)
    if not isinstance(found, FuncOp):
        fact = "which is not defined" if found is None else f"which is a {found.name}"
        raise VerifyError(f"{op.name}: expected functions, got @{name}, {fact}", op)
    return found


def _types(function: FuncOp) -> tuple[list[Attribute], list[Attribute]]:
    type_ = function.function_type
    return list(type_.inputs.data), list(type_.outputs.data)


def _cotangent_types(types: Sequence[Attribute]) -> list[Attribute]:
    """The types of the cotangents of floating values."""
    return [cotangent_type(t) for t in types if is_floating(t)]


def _name(function: FuncOp) -> str:
    return f"@{function.sym_name.data}"


def _require(
    op: CustomVjpOp,
    function: FuncOp,
    requirement: str,
    of: FuncOp,
    wanted: Sequence[Attribute],
    got: Sequence[Attribute],
) -> None:
    if list(wanted) != list(got):
        expected, found = (", ".join(map(str, types)) or "none" for types in (wanted, got))
        raise VerifyError(
            f"{op.name}: {_name(function)} {requirement} {_name(of)} ({expected}), got {found}",
            op,
            [(f"{_name(function)} is defined here", function)],
        )
