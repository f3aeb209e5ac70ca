"""Attention in blocks, and errors of embedding: what the op table's small operands do not reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import Module
from gradir.dialects.grad import attention
from gradir.errors import IndexOutOfRange

Array = np.ndarray[Any, np.dtype[Any]]

ROWS, COLUMNS, WIDTH = 70, 45, 3


def program(attributes: str, mask: str | None, element: str = "f64") -> Module:
    q, k = (f"tensor<2x{n}x{WIDTH}x{element}>" for n in (ROWS, COLUMNS))
    types = [q, k, k, *([] if mask is None else [f"tensor<{mask}>"])]
    names = ["%q", "%k", "%v", "%mask"][: len(types)]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    return gradir.parse(
        f"func.func @f({arguments}) -> {q} {{\n"
        f"  %y = nn.attention {', '.join(names)} {attributes} : {', '.join(types)} -> {q}\n"
        f"  func.return %y : {q}\n}}\n"
    )


def arguments(mask: Sequence[int] | None, is_bool: bool, dtype: Any) -> list[Array]:
    generator = np.random.default_rng(0)
    shapes = [(2, ROWS, WIDTH), (2, COLUMNS, WIDTH), (2, COLUMNS, WIDTH)]
    arrays = [generator.uniform(-1, 1, s).astype(dtype) for s in shapes]
    if mask is not None:
        numbers = generator.uniform(-1, 1, tuple(mask))
        arrays.append(numbers > -0.5 if is_bool else numbers.astype(dtype))
    return arrays


@pytest.fixture
def _blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of rows, the last of them shorter, of small operands."""
    monkeypatch.setattr(attention, "BLOCK_BYTES", 2 * 8 * 16 * COLUMNS)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(
    ("attributes", "mask", "is_bool"),
    [
        ("", None, False),
        ("{causal = true}", None, False),
        ("", f"{ROWS}x{COLUMNS}xi1", True),
        ("{causal = true}", f"{ROWS}x{COLUMNS}xf64", False),
        ("{scale = 0.3}", f"2x1x{COLUMNS}xf64", False),
        ("{causal = true}", f"{ROWS}x1xf64", False),
    ],
)
def test_blocks(attributes: str, mask: str | None, is_bool: bool):
    """Values and gradients in blocks equal the formulas, made without blocks."""
    module = program(attributes, mask).gradient("f", mode="vjp")
    shape = None if mask is None else [int(n) for n in mask.split("x")[:-1]]
    operands = arguments(shape, is_bool, np.float64)
    ct = np.random.default_rng(1).uniform(-1, 1, (2, ROWS, WIDTH))
    expected = gradir.interpret(module, "f_vjp", *operands, ct)
    for one, other in zip(gradir.compile(module, "f_vjp")(*operands, ct), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("_blocks")
def test_half_precision_in_blocks():
    module = program("{causal = true}", None, "f16").gradient("f", mode="vjp")
    operands = arguments(None, False, np.float16)
    ct = np.ones((2, ROWS, WIDTH), np.float16)
    expected = gradir.interpret(module, "f_vjp", *operands, ct)
    found = gradir.compile(module, "f_vjp")(*operands, ct)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float16
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=2e-3, atol=2e-3)


def test_memory_of_long_scores():
    """Neither the value nor the gradient keeps more than a few blocks of the scores."""
    type_ = "tensor<2x1024x8xf32>"
    module = gradir.parse(
        f"func.func @f(%q: {type_}, %k: {type_}, %v: {type_}) -> {type_} {{\n"
        f"  %y = nn.attention %q, %k, %v : {type_}, {type_}, {type_} -> {type_}\n"
        f"  func.return %y : {type_}\n}}\n"
    )
    scores = 2 * 1024 * 1024 * 4
    module = module.gradient("f", mode="vjp")
    old, attention.BLOCK_BYTES = attention.BLOCK_BYTES, scores // 8
    try:
        compiled = [gradir.compile(module, name) for name in ("f", "f_vjp")]
    finally:
        attention.BLOCK_BYTES = old
    for one in compiled:
        assert one.plan.peak_bytes < scores / 2


@pytest.mark.parametrize("mode", ["forward", "gradient"])
def test_embedding_names_itself(mode: str):
    module = gradir.parse(
        "func.func @f(%t: tensor<3x2xf32>, %i: tensor<2xi64>) -> tensor<2x2xf32> {\n"
        "  %y = nn.embedding %t, %i : tensor<3x2xf32>, tensor<2xi64> -> tensor<2x2xf32>\n"
        "  func.return %y : tensor<2x2xf32>\n}\n"
    )
    operands: list[Array] = [np.ones((3, 2), np.float32), np.array([0, 3])]
    name = "f"
    if mode == "gradient":
        # the backward half alone, which has no other op that checks the ids
        module, name = module.gradient("f", mode="split"), "f_bwd"
        operands = [np.array([0, 3]), np.ones((2, 2), np.float32)]
    with pytest.raises(IndexOutOfRange, match=r"nn\.embedding: index 3 is out of range"):
        gradir.interpret(module, name, *operands)
    with pytest.raises(IndexOutOfRange, match=r"nn\.embedding: index 3 is out of range"):
        gradir.compile(module, name)(*operands)
