"""The element types that an op takes, for docs/ops.md: those that its verifier accepts.

In each row of the op table operands of one type are given each other type, and results too, if the
op's text must say theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import (
    NUMPY_NAMES,
    complex_element,
    element_of,
    is_bool,
    is_complex,
    is_float,
    shape_of,
    tensor,
)

Elements = frozenset[Attribute]

ALL: Elements = frozenset(NUMPY_NAMES)


# Rows whose results' types are tried with all operands' types.
_FREE_ROWS = 3


def elements_line(op: type[TensorOp], cases: Sequence[Any]) -> str:
    """What the elements of each operand can be, and of results whose types must be written."""
    found = accepted(op, cases)
    if len(set(found.values())) == 1:
        return f"Elements: {_named(next(iter(found.values())))}."
    by_elements: dict[Elements, list[str]] = {}
    for name, elements in found.items():
        by_elements.setdefault(elements, []).append(f"`{name}`")
    parts = (f"of {', '.join(names)} {_named(e)}" for e, names in by_elements.items())
    return f"Elements: {'; '.join(parts)}."


def accepted(op: type[TensorOp], cases: Sequence[Any]) -> dict[str, Elements]:
    """The elements of each value, by its name, that the verifier accepts in one of the rows."""
    found: dict[str, set[Attribute]] = {}
    free = 0
    for case in cases:
        is_free = _is_free(op, case)
        free += is_free
        for types, element in _operands(case):
            for results in _results(case, element, is_free and free <= _FREE_ROWS):
                made = _made(op, case, types, results)
                if made is not None:
                    _note(made, is_free or not types, found)
    return {name: frozenset(elements) for name, elements in found.items()}


def _is_free(op: type[TensorOp], case: Any) -> bool:
    """Whether the types of a row's results must be written."""
    types = [_type_of(a) for a in case.arrays(f32)]
    attributes = op.of(Block(arg_types=types).args, case.result_types(f32), **case.attributes)
    return op.infer_types(types, attributes.attributes) is None


def _type_of(array: Any) -> Attribute:
    element = next(e for e, name in NUMPY_NAMES.items() if name == array.dtype.name)
    return tensor(array.shape, element)


def _operands(case: Any) -> Iterator[tuple[list[Attribute], Attribute]]:
    """The types of a row's operands with other elements in place of equal ones, and these. Complex
    and real operands are changed together."""
    types = [_type_of(a) for a in case.arrays(f32)]
    owns = dict.fromkeys(map(element_of, types))
    for own in owns:
        for element in ALL:
            yield [_with(t, element) if element_of(t) == own else t for t in types], element
    if any(map(is_complex, owns)) and any(map(is_float, owns)):
        for element in (f32, f64):
            yield [_in_precision(t, element) for t in types], element
    if not types:
        yield [], f32


def _in_precision(type_: Attribute, element: Attribute) -> Attribute:
    own = element_of(type_)
    if is_complex(own):
        return _with(type_, complex_element(element))
    return _with(type_, element) if is_float(own) else type_


def _results(case: Any, element: Attribute, is_free: bool) -> Iterator[list[Attribute] | None]:
    """The types of a row's results; of all elements, where they must be written."""
    types = case.result_types(element)
    yield types
    if is_free:
        for each in ALL:
            yield [_with(t, each) for t in types]


def _with(type_: Attribute, element: Attribute) -> Attribute:
    return tensor(shape_of(type_), element)


def _made(
    op: type[TensorOp], case: Any, types: Sequence[Attribute], results: Sequence[Attribute] | None
) -> TensorOp | None:
    """The op of a row with other types, if the verifier accepts it."""
    try:
        made = op.of(Block(arg_types=types).args, results, **case.attributes)
        made.verify_()  # `verify` would print each op that is refused
    except (VerifyException, LocatedError):
        return None
    return made


def _note(op: TensorOp, with_results: bool, found: dict[str, set[Attribute]]) -> None:
    """Add the elements of an op's values."""
    definition = op.get_irdl_definition()
    for name, _ in (*definition.operands, *(definition.results if with_results else ())):
        value: Any = getattr(op, name)
        for each in [value] if isinstance(value, SSAValue) else value or ():
            found.setdefault(name, set()).add(element_of(each.type))


# Words.


def _named(elements: Elements) -> str:
    """Whole kinds by a word, others by their names."""
    if elements == ALL:
        return "any"
    kinds = {
        "bools": frozenset(filter(is_bool, ALL)),
        "floats": frozenset(filter(is_float, ALL)),
        "complex numbers": frozenset(filter(is_complex, ALL)),
    }
    kinds = {"integers": ALL.difference(*kinds.values()), **kinds}
    parts: list[str] = []
    for word, kind in kinds.items():
        if elements >= kind:
            parts.append(word)
        else:
            parts += [str(e) for e in reversed(NUMPY_NAMES) if e in elements & kind]
    return ", ".join(parts)
