"""gradir.numpy and gradir.nn have a function for every op, which makes the op it is named after."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from op_calls import MODULES, TRACED, call, function_of
from op_cases import OP_CLASSES, Case
from xdsl.dialects.builtin import f64

import gradir
from gradir.dialects import array, nn
from gradir.dialects.array.data_dependent import REFUSED
from gradir.dialects.base.interfaces import TensorOp


@pytest.mark.parametrize("op", [*array.OPS, *nn.OPS, *REFUSED], ids=lambda op: op.name)
def test_each_op_has_a_function(op: type[TensorOp]) -> None:
    function = function_of(op.name)
    assert callable(function)
    assert (inspect.getdoc(function) or "").strip()
    assert function.__name__ in MODULES[op.name.partition(".")[0]].__all__


@pytest.mark.parametrize("case", TRACED, ids=str)
def test_function_makes_the_op(case: Case) -> None:
    """The op, on the operands in their order, with the attributes and the types of the table."""
    module = gradir.trace(lambda *xs: call(case, xs), *case.arrays(f64))
    function: Any = module.op.body.block.first_op
    *_, made, last = function.body.block.ops
    wanted = case.op_class.of(function.body.block.args, case.result_types(f64), **case.attributes)
    # a constant of equal elements is told by one of them
    names = {case.op, "array.full"} if case.op == "array.constant" else {case.op}
    assert made.name in names
    assert list(made.operands) == list(wanted.operands)
    assert [r.type for r in made.results] == [r.type for r in wanted.results]
    hidden = case.op_class.HIDDEN
    assert list(last.operands) == [r for k, r in enumerate(made.results) if k not in hidden]


def test_all_cases_are_of_known_ops() -> None:
    """Those of comm are gradir.comm's, tests/comm/test_functions.py."""
    known = {n for n in OP_CLASSES if not n.startswith(("grad.", "comm."))}
    assert {c.op for c in TRACED} == known
