"""Every op verifies on types with dynamic extents (`?`), and what it infers from them is sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import pytest
from op_cases import CASES, ELEMENTS, Case
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import DYNAMIC, compatible, element_of, shape_of, tensor

# Where an extent must be written: op, and what the refusal says.
STATIC = {
    # the default is all axes of extent 1, so that the rank would not be known
    "array.squeeze": "axis must be given where an extent is not known",
    # the rank of the result is a function of this extent
    "array.gather_nd": "the last extent of the indices must be static",
    "array.scatter_nd_add": "the last extent of the indices must be static",
    # its type comes from the elements written in it
    "array.constant": "the value's type must be the result's",
}

Hides = Callable[[int, int], bool]
"""Whether the extent of axis d of operand k is left open."""


def _hidings(count: int) -> Iterator[Hides]:
    yield lambda k, d: True
    yield lambda k, d: d == 0
    yield lambda k, d: d > 0
    for j in range(count):
        yield lambda k, d, j=j: k == j
        yield lambda k, d, j=j: k != j


def _open(k: int, type_: Attribute, hides: Hides) -> Attribute:
    extents = [DYNAMIC if hides(k, d) else n for d, n in enumerate(shape_of(type_))]
    return tensor(extents, element_of(type_))


def _verified(static: TensorOp, types: Sequence[Attribute]) -> TensorOp:
    """The op on operands of these types, with all extents of its results open, verified."""
    op = type(static).create(
        operands=list(Block(arg_types=types).args),
        result_types=[_open(k, r.type, lambda k, d: True) for k, r in enumerate(static.results)],
        attributes=static.attributes,
        properties=static.properties,
    )
    op.verify()
    return op


def _check(case: Case) -> None:
    types = [tensor(a.shape, ELEMENTS[a.dtype.name]) for a in case.arrays(f32)]
    operands = Block(arg_types=types).args
    static = case.op_class.of(operands, case.result_types(f32), **case.attributes)
    for hides in _hidings(len(types)):
        dynamic = [_open(k, type_, hides) for k, type_ in enumerate(types)]
        try:
            op = _verified(static, dynamic)
        except VerifyException as error:
            assert case.op in STATIC and STATIC[case.op] in str(error), str(error)
            assert str(DYNAMIC) not in str(error)
            continue
        inferred = case.op_class.infer_types(dynamic, op.attributes)
        if inferred is None:
            continue
        for found, result in zip(inferred, static.results, strict=True):
            assert compatible(shape_of(found), shape_of(result.type)), f"{found} of {dynamic}"
            assert all(n >= 0 or n == DYNAMIC for n in shape_of(found)), str(found)


@pytest.mark.parametrize("op", sorted({case.op for case in CASES}))
def test_dynamic_extents(op: str) -> None:
    for case in (c for c in CASES if c.op == op):
        _check(case)


def test_every_refusal_is_met() -> None:
    """None of the refusals is stale."""
    refused: set[str] = set()
    for op, cases in groupby((c for c in CASES if c.op in STATIC), lambda c: c.op):
        for case in cases:
            types = [tensor(a.shape, ELEMENTS[a.dtype.name]) for a in case.arrays(f32)]
            static = case.op_class.of(
                Block(arg_types=types).args, case.result_types(f32), **case.attributes
            )
            try:
                _verified(static, [_open(k, t, lambda k, d: True) for k, t in enumerate(types)])
            except VerifyException:
                refused.add(op)
    assert refused == STATIC.keys()
