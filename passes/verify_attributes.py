"""What gradir-verify checks of attributes of gradir on ops of other dialects and on arguments: a
name that is misspelt, or stands where nobody looks, would be ignored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gradir.dialects.attribute_names import (
    ON_ARGUMENTS,
    ON_FUNCTIONS,
    ON_LOOPS,
    PLACES,
    PREFIX,
)
from gradir.dialects.diagnostics import Place, VerifyError, value_name


def verify_attributes(op: Operation) -> None:
    """VerifyError at an attribute `grad.*` that is none, or is none of this op."""
    if op.attributes:
        _verify_names(op.attributes, _known_of(op), op.name, op)
    if isinstance(op, FuncOp):
        _verify_signature(op)


def _known_of(op: Operation) -> Sequence[str]:
    if isinstance(op, scf.ForOp | scf.WhileOp):
        return ON_LOOPS
    return ON_FUNCTIONS if isinstance(op, FuncOp) else ()


def _verify_signature(function: FuncOp) -> None:
    first = function.body.first_block
    arguments = () if first is None else first.args
    for k, given in enumerate(function.arg_attrs or ()):
        place: Place = arguments[k] if k < len(arguments) else function
        label = value_name(arguments[k]) if k < len(arguments) else f"argument {k}"
        _verify_names(given.data, ON_ARGUMENTS, label, place)
    for k, given in enumerate(function.res_attrs or ()):
        _verify_names(given.data, (), f"result {k}", function)


def _verify_names(names: Iterable[str], known: Sequence[str], label: str, place: Place) -> None:
    for name in names:
        if not name.startswith(PREFIX) or name in known:
            continue
        if name in PLACES:
            raise VerifyError(f"{label}: {name} must stand on {PLACES[name]}", place)
        closest = sorted(known or PLACES, key=lambda other: -_likeness(name, other))
        where = "here" if known else "elsewhere"
        raise VerifyError(
            f"{label}: unknown attribute {name}; known {where}: {', '.join(closest)}", place
        )


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
