"""A long list of calls is several functions, and behaves as one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.codegen.driver.parts import LONG_LIST
from gradir.errors import HostCallError, IndexOutOfRange
from gradir.runtime.executable import Executable

STEPS = LONG_LIST + 3
SQUARE, ROWS = "tensor<96x96xf64>", "tensor<3xi64>"

Array = np.ndarray[Any, np.dtype[Any]]


def text(steps: int) -> str:
    """Rows of a matrix after `steps` products with another one, each of them a call."""
    lines = [f"func.func @main(%h0: {SQUARE}, %w: {SQUARE}, %i: {ROWS}) -> tensor<3x96xf64> {{"]
    for k in range(steps):
        lines.append(f"  %h{k + 1} = array.matmul %h{k}, %w : {SQUARE}, {SQUARE} -> {SQUARE}")
    taken = f"array.take %h{steps}, %i {{axis = 0}} : {SQUARE}, {ROWS} -> tensor<3x96xf64>"
    return "\n".join([*lines, f"  %y = {taken}", "  func.return %y : tensor<3x96xf64>", "}"])


@cache
def compiled(threads: int) -> Executable:
    made = gradir.compile(gradir.parse(text(STEPS)), "main", threads=threads)
    assert isinstance(made, Executable)
    return made


def arguments() -> tuple[Array, Array]:
    """A matrix, and one whose powers stay small."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 96, 96))
    return first, np.linalg.qr(second)[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_result(threads: int) -> None:
    first, factor = arguments()
    rows = np.array([5, 0, 95])
    (found,) = compiled(threads)(first, factor, rows)
    expected = (first @ np.linalg.matrix_power(factor, STEPS))[rows]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_two_threads_share_the_work_of_parts() -> None:
    assert compiled(2).program.is_parallel
    assert compiled(2).program.barriers >= STEPS


@pytest.mark.parametrize("threads", [1, 2])
def test_error_of_a_later_part(threads: int) -> None:
    """The record that a kernel of the second part is handed is read after the call."""
    first, factor = arguments()
    with pytest.raises(IndexOutOfRange, match="96"):
        compiled(threads)(first, factor, np.array([0, 96, 1]))


def test_a_part_has_a_limited_number_of_calls() -> None:
    """So that LLVM's time grows as the list does; equal products are one kernel."""
    ir = compiled(1).llvm_ir
    parts = re.split(r"^define ", ir, flags=re.MULTILINE)
    calls = [p.count("call void @") for p in parts if p.startswith("internal i1 @gradir_part_")]
    assert len(calls) == 2
    assert max(calls) <= LONG_LIST
    assert sum(calls) == STEPS + 1
    assert len(re.findall(r"^define .*@contract_\d+\.compute\(", ir, re.MULTILINE)) <= 2


def test_a_host_function_ends_a_call_in_any_part() -> None:
    """An exception in the first part: no later one runs."""
    calls: list[int] = []

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            raise ValueError("enough")
        outputs[0][...] = inputs[0]

    def same(x: gradir.Spec) -> gradir.Spec:
        return x

    op = gradir.custom_op(forward, same, name="driver_parts")

    def f(x: Any, w: Any) -> Any:
        for k in range(2 * LONG_LIST):
            x = gradir.numpy.matmul(x, w)
            if k % 40 == 0:
                x = op(x)
        return x

    first, factor = arguments()
    with pytest.raises(HostCallError, match="enough"):
        gradir.jit(f)(first, factor)
    assert calls == [0, 1]
