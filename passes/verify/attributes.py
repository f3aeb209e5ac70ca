"""gradir-verify: gradir's attributes on arguments and on ops of other dialects, and the types and
ranges of numbers on all ops. A misspelt or misplaced name would be ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attribute_names import (
    INACTIVE_ATTRIBUTE,
    LOOPS,
    LOSS_SCALE,
    MEMORY_LIMIT,
    ON_ARGUMENTS,
    ON_FUNCTIONS,
    ON_LOOPS,
    PEAK,
    PLACES,
    PREFIX,
    REQUIRES,
)
from gradir.dialects.base.diagnostics import Place, VerifyError, kind_name, value_name
from gradir.dialects.base.extent_values import read_condition
from gradir.dialects.base.shapes import FLOAT_NAMES, element_of, is_float, is_tensor
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.analysis.arguments import TIES, tied_results
from gradir.passes.analysis.region_ops import is_loop


def verify_attributes(op: Operation) -> None:
    """VerifyError at an attribute `grad.*` that is unknown, misplaced or wrong."""
    for name, value in (*op.properties.items(), *op.attributes.items()):
        _verify_number(name, value, op)
    if op.attributes:
        _verify_names(op.attributes, _known_of(op), kind_name(op), op)
        _verify_values(op.attributes, op)
    if isinstance(op, FuncOp):
        _verify_signature(op)


def _verify_number(name: str, value: Attribute, op: Operation) -> None:
    """Check that a number, or each of a list or a dictionary, has a known type and fits it."""
    match value:
        case ArrayAttr():
            for each in value:
                _verify_number(name, each, op)
        case DictionaryAttr():
            for key, each in value.data.items():
                _verify_number(key, each, op)
        case IntegerAttr() if isinstance(value.type, IndexType):
            number = cast(IntegerAttr[Any], value).value.data
            if not _FIRST_INDEX <= number < -_FIRST_INDEX:
                raise VerifyError(
                    f"{kind_name(op)}: {name} must be an index of 64 bits, got {number}", op
                )
        case FloatAttr():
            _verify_float(value.type, op)
        case DenseIntOrFPElementsAttr():
            _verify_float(cast(Any, value).get_element_type(), op)
        case _:
            pass


def _verify_float(type_: Attribute, op: Operation) -> None:
    if isinstance(type_, AnyFloat) and not is_float(type_):
        raise VerifyError(f"{kind_name(op)}: floating types must be {FLOAT_NAMES}, got {type_}", op)


def verify_float_types(op: Operation) -> None:
    """VerifyError for a result of a floating type without native code."""
    for result in op.results:
        type_ = result.type
        _verify_float(element_of(type_) if is_tensor(type_) else type_, op)


_FIRST_INDEX = -(1 << 63)


def _known_of(op: Operation) -> Sequence[str]:
    if is_loop(op):
        return ON_LOOPS
    return ON_FUNCTIONS if isinstance(op, FuncOp) else ()


def _verify_signature(function: FuncOp) -> None:
    first = function.body.first_block
    arguments = () if first is None else first.args
    for k, given in enumerate(function.arg_attrs or ()):
        place: Place = arguments[k] if k < len(arguments) else function
        label = value_name(arguments[k]) if k < len(arguments) else f"argument {k}"
        _verify_names(given.data, ON_ARGUMENTS, label, place)
        _verify_values(given.data, place)
    for name in TIES:
        tied_results(function, name)
    for k, given in enumerate(function.res_attrs or ()):
        _verify_names(given.data, (), f"result {k}", function)


def _verify_values(given: Mapping[str, Attribute], place: Place) -> None:
    for name, (is_one, wanted) in _VALUES.items():
        if (value := given.get(name)) is not None and not is_one(value):
            raise VerifyError(f"{name}: must be {wanted}, got {value}", place)


def _is_bytes(value: Attribute) -> bool:
    return isinstance(value, IntegerAttr) and cast(IntegerAttr[Any], value).value.data >= 0


def _are_policies(value: Attribute) -> bool:
    return isinstance(value, ArrayAttr) and all(
        isinstance(each, LoopPolicyAttr) for each in cast(ArrayAttr[Attribute], value)
    )


def _are_conditions(value: Attribute) -> bool:
    try:
        return isinstance(value, ArrayAttr) and all(
            isinstance(each, StringAttr) and read_condition(each.data)
            for each in cast(ArrayAttr[Attribute], value)
        )
    except VerifyException:
        return False


_VALUES: dict[str, tuple[Callable[[Attribute], bool], str]] = {
    INACTIVE_ATTRIBUTE: (lambda value: isinstance(value, UnitAttr), "without a value"),
    LOSS_SCALE: (lambda value: isinstance(value, UnitAttr), "without a value"),
    MEMORY_LIMIT: (_is_bytes, "a number of bytes"),
    PEAK: (_is_bytes, "a number of bytes"),
    REQUIRES: (_are_conditions, 'a list of conditions such as ["n >= 2", "n != 1"]'),
    LOOPS: (_are_policies, "a list of policies such as [#grad.loop<every = 2>]"),
}
"""The test of each attribute's value, and its description; for TIES see analysis/arguments.py."""


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
    from difflib import SequenceMatcher  # of errors alone

    return SequenceMatcher(None, one, other).ratio()
