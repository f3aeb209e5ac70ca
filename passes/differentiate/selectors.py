"""`wrt` and `of`: from indices and names to values of a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.attribute_names import INACTIVE_ATTRIBUTE, NAME_ATTRIBUTE, STATE
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import is_scalar, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.grad import NameOp
from gradir.dialects.grad.tape import is_tape
from gradir.passes.analysis.activity import carries_cotangent
from gradir.passes.analysis.arguments import state_results
from gradir.passes.analysis.signature import argument_attributes

Selector = int | str


@dataclass(frozen=True)
class Target:
    """A requested value, its name in the derivative, and the form of its gradient.

    requests.py defines the forms, and "rows" for a callee's argument: row slices where its ops
    offer these, else a tensor.
    """

    value: SSAValue
    hint: str
    request: str = "write"


def resolve_wrt(function: FuncOp, selectors: Sequence[Selector] | None) -> list[Target]:
    """The values to differentiate with respect to; default: all floating active arguments."""
    arguments = function.body.block.args
    attributes = argument_attributes(function)
    _check_names(function, attributes)
    if selectors is None:
        chosen = [
            a
            for a, given in zip(arguments, attributes, strict=True)
            if carries_cotangent(a) and INACTIVE_ATTRIBUTE not in given and STATE not in given
        ]
        for argument in chosen:
            _check_type("wrt", function, argument)
        return [Target(a, _hint(a, f"arg{a.index}")) for a in chosen]
    targets = _resolve("wrt", function, selectors)
    _check_state("wrt", function, [arguments[k] for k in state_results(function)], targets)
    return targets


def resolve_requested(function: FuncOp, selectors: Sequence[Selector]) -> list[Target]:
    """The values named by `req`, each once."""
    return _resolve("req", function, selectors)


def _resolve(what: str, function: FuncOp, selectors: Sequence[Selector]) -> list[Target]:
    attributes = argument_attributes(function)
    targets = [argument_or_name(what, function, s, attributes) for s in selectors]
    _check(what, function, selectors, targets)
    return targets


def resolve_of(
    function: FuncOp, results: Sequence[SSAValue], selectors: Sequence[Selector] | None, mode: str
) -> list[Target]:
    """The values to differentiate; default: all floating results (mode=grad: result 0).

    A value may be requested several times: its cotangents add.
    """
    if selectors is None and mode == "grad":
        selectors = [0]
    if selectors is None:
        state = state_results(function).values()
        chosen = [(k, r) for k, r in enumerate(results) if carries_cotangent(r) and k not in state]
        for _, result in chosen:
            _check_type("of", function, result)
        return [Target(r, _hint(r, f"result{k}")) for k, r in chosen]
    attributes = argument_attributes(function)
    targets: list[Target] = []
    for selector in selectors:
        if _is_index(selector, function, "of"):
            if not 0 <= selector < len(results):
                raise PassError(
                    f"of: @{_name(function)} has {len(results)} results, got index {selector}",
                    function,
                )
            value = results[selector]
            targets.append(Target(value, _hint(value, f"result{selector}")))
        else:
            targets.append(_named(function, str(selector), attributes, "of"))
    _check_floating("of", function, selectors, targets)
    _check_state("of", function, [results[k] for k in state_results(function).values()], targets)
    return targets


def argument_or_name(
    what: str,
    function: FuncOp,
    selector: Selector,
    attributes: Sequence[dict[str, Attribute]],
) -> Target:
    """The argument of an index, or the value of a name, of any type."""
    arguments = function.body.block.args
    if not _is_index(selector, function, what):
        return _named(function, str(selector), attributes, what)
    if not 0 <= selector < len(arguments):
        raise PassError(
            f"{what}: @{_name(function)} has {len(arguments)} arguments, got index {selector}",
            function,
        )
    return Target(arguments[selector], _hint(arguments[selector], f"arg{selector}"))


def _check_state(
    what: str, function: FuncOp, state: Sequence[SSAValue], targets: Sequence[Target]
) -> None:
    """PassError for a target that is state, or its new value."""
    for target in targets:
        if target.value in state:
            raise PassError(
                f"{what}: {target.hint} is state of @{_name(function)} (grad.state), which has no "
                "derivative",
                function,
            )


def _is_index(selector: Selector, function: FuncOp, what: str) -> TypeGuard[int]:
    """Whether a selector is an index, not a name; PassError for other types."""
    if isinstance(selector, bool) or not isinstance(selector, int | str):
        raise PassError(f"{what}: expected an index or a name, got {selector!r}", function)
    return isinstance(selector, int)


def _named(
    function: FuncOp, name: str, attributes: Sequence[dict[str, Attribute]], what: str
) -> Target:
    """The argument, or the marker's result, of a name, or the argument that is printed `%name`."""
    names = named_values(function, attributes)
    if name not in names:
        printed = [a for a in function.body.block.args if a.name_hint == name]
        if len(printed) == 1:
            return Target(printed[0], name)
        _check_not_in_region(function, name, what)
        known = ", ".join([*names, *_printed_names(function)]) or "none"
        raise PassError(
            f"{what}: no value of @{_name(function)} is named {name!r}; names: {known} "
            "(set by grad.name or an argument attribute grad.name, or printed)",
            function,
        )
    return Target(names[name], name)


def _printed_names(function: FuncOp) -> list[str]:
    """The names of arguments, `%x`."""
    return [f"%{a.name_hint}" for a in function.body.block.args if a.name_hint]


def _check_not_in_region(function: FuncOp, name: str, what: str) -> None:
    """PassError for a name in a loop or a branch, where it names one value per run, or none."""
    for op in function.walk():
        if not isinstance(op, NameOp) or op.label != name:
            continue
        around = op.parent_op()
        while isinstance(around, CheckpointOp):
            around = around.parent_op()
        if around is not None and around is not function:
            raise PassError(
                f"grad.name: {what}: {name!r} is in a region of {around.name}, whose values cannot "
                "be asked for; yield the value and name the result, or name what goes in",
                op,
            )


def named_values(
    function: FuncOp, attributes: Sequence[dict[str, Attribute]] | None = None
) -> dict[str, SSAValue]:
    """All named values of a function; PassError for a repeated name."""
    attributes = argument_attributes(function) if attributes is None else attributes
    found: dict[str, SSAValue] = {}
    for argument, given in zip(function.body.block.args, attributes, strict=True):
        if isinstance(label := given.get(NAME_ATTRIBUTE), StringAttr):
            _add_name(found, label.data, argument, function)
    for op in _ops_of(function):
        if isinstance(op, NameOp):
            _add_name(found, op.label, op.y, op)
    return found


def _ops_of(function: FuncOp) -> Iterator[Operation]:
    """The ops of a function and of its checkpoint stages, in program order."""
    pending = [iter(function.body.block.ops)]
    while pending:
        op = next(pending[-1], None)
        if op is None:
            pending.pop()
            continue
        yield op
        if isinstance(op, CheckpointOp):
            pending.append(iter(op.body.block.ops))


def _check_names(function: FuncOp, attributes: Sequence[dict[str, Attribute]]) -> None:
    """PassError for an argument whose name is no string, requested or not."""
    for argument, given in zip(function.body.block.args, attributes, strict=True):
        label = given.get(NAME_ATTRIBUTE)
        if label is not None and not isinstance(label, StringAttr):
            raise PassError(f"grad.name: a name must be a string, got {label}", argument)


def _add_name(found: dict[str, SSAValue], name: str, value: SSAValue, place: Operation) -> None:
    if name in found:
        raise PassError(f"grad.name: each name must be given once, got {name!r} again", place)
    found[name] = value


def _check(
    what: str, function: FuncOp, selectors: Sequence[Selector], targets: Sequence[Target]
) -> None:
    seen: dict[SSAValue, Selector] = {}
    for selector, target in zip(selectors, targets, strict=True):
        if target.value in seen:
            raise PassError(
                f"{what}: each value must be given once, "
                f"got {seen[target.value]!r} and {selector!r}",
                function,
            )
        seen[target.value] = selector
    _check_floating(what, function, selectors, targets)


def _check_floating(
    what: str, function: FuncOp, selectors: Sequence[Selector], targets: Sequence[Target]
) -> None:
    for selector, target in zip(selectors, targets, strict=True):
        _check_type(what, function, target.value)
        if not carries_cotangent(target.value):
            raise PassError(
                f"{what}: {selector!r} of @{_name(function)} must be floating, "
                f"got {target.value.type}",
                function,
            )


def _check_type(what: str, function: FuncOp, value: SSAValue) -> None:
    """PassError for types without derivatives, as vectors: ignoring them would be wrong."""
    type_ = value.type
    if not (is_tensor(type_) or is_scalar(type_) or is_tape(type_) or is_slices(type_)):
        raise PassError(
            f"{what}: {value_name(value)} of @{_name(function)} must be a tensor or a scalar, "
            f"got {value.type}; mark it {{grad.inactive}} to leave it out",
            function,
        )


def _hint(value: SSAValue, default: str) -> str:
    return value.name_hint or default


def _name(function: FuncOp) -> str:
    return function.sym_name.data
