"""Functions that a kernel calls many times are compiled once, and the bits are the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradir
from gradir.codegen import vector_math
from gradir.codegen.vector_math import MOST_INLINED
from gradir.runtime.executable import Executable

TYPE = "tensor<37x5xf32>"


def chain(length: int) -> Executable:
    """An exp and a power in turn, `length` of each."""
    lines = [f"func.func @f(%v0: {TYPE}, %p: {TYPE}) -> {TYPE} {{"]
    for k in range(length):
        lines.append(f"  %n{k} = array.negative %v{k} : {TYPE}")
        lines.append(f"  %e{k} = array.exp %n{k} : {TYPE}")
        lines.append(f"  %v{k + 1} = array.pow %e{k}, %p : {TYPE}")
    text = "\n".join([*lines, f"  func.return %v{length} : {TYPE}", "}"])
    made = gradir.compile(gradir.parse(text), "f", threads=1)
    assert isinstance(made, Executable)
    return made


def test_few_calls_are_inlined() -> None:
    assert "@nest_0.exp" not in chain(1).llvm_ir


def test_many_calls_are_calls_of_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    length = MOST_INLINED + 1
    called = chain(length)
    for name in ("exp", "pow"):
        assert len(re.findall(rf"call .* @nest_0\.{name}\.v\d+f32\(", called.llvm_ir)) >= length
        assert len(re.findall(rf"call .* @gradir\.{name}\.v\d+f32\(", called.llvm_ir)) == 1
    monkeypatch.setattr(vector_math, "MOST_INLINED", 4 * length)
    inlined = chain(length)
    assert "@nest_0.exp" not in inlined.llvm_ir
    generator = np.random.default_rng(0)
    x, p = generator.uniform(0.1, 2, (2, 37, 5)).astype(np.float32)
    x[0, 0], x[1, 1] = np.nan, np.inf
    assert called(x, p)[0].tobytes() == inlined(x, p)[0].tobytes()
