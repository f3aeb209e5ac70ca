"""Random programs on tensors large enough for vector tails, several threads and packed products."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from random_programs import LARGE_SHAPES, ProgramWriter

import gradir
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

# Values up to which a comparison says something, and how near they come relative to the largest.
LIMITS = {"f32": (1e3, 1e-3), "f64": (1e7, 1e-7)}


def arguments(module: gradir.Module, function: str, seed: int) -> list[Array]:
    generator = np.random.default_rng(seed)
    types: list[Any] = list(function_named(module.op, function).function_type.inputs)
    return [
        np.asarray(generator.uniform(-1, 1, t.get_shape()), dtype_of(t.element_type)) for t in types
    ]


def run_native(module: gradir.Module, function: str, arrays: Sequence[Array]) -> list[Array]:
    """The results by one thread, after a check that two threads give the same bits."""
    one, two = (gradir.compile(module, function, threads=n)(*arrays) for n in (1, 2))
    for k, (left, right) in enumerate(zip(one, two, strict=True)):
        assert left.tobytes() == right.tobytes(), f"result {k} of @{function} by two threads"
    return list(one)


def assert_near(found: Sequence[Array], expected: Sequence[Array], tolerance: float) -> None:
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        largest = 1 + float(np.max(np.abs(other), initial=0))
        bound = tolerance * largest
        np.testing.assert_allclose(one, other, rtol=0, atol=bound, err_msg=f"result {k}")


def largest_value(writer: ProgramWriter, inputs: Sequence[Array]) -> float:
    """The largest magnitude of any value of the program; infinite where one is nan."""
    results = gradir.interpret(gradir.parse(writer.text(writer.values)), "f", *inputs)
    largest = max(float(np.max(np.abs(r), initial=0)) for r in results)
    return largest if np.isfinite(largest) else np.inf


def large_program(choose: Callable[..., object], element: str, smooth: bool) -> ProgramWriter:
    """A program that has matrices to multiply, and enough elements for several threads."""
    writer = ProgramWriter(choose, element, smooth, LARGE_SHAPES)
    for shape in LARGE_SHAPES[:3]:
        writer.argument(shape)
    writer.matmul()
    writer.steps(12)
    return writer


@pytest.mark.parametrize("element", LIMITS)
@pytest.mark.parametrize("seed", range(12))
def test_large_programs(seed: int, element: str) -> None:
    """Native code against the interpreter, and for smooth programs their derivatives in f64."""
    limit, tolerance = LIMITS[element]
    is_smooth = element == "f64"
    choice = random.Random(seed).choice
    writer = large_program(choice, element, is_smooth)
    module = gradir.parse(writer.text(writer.late(3)))
    inputs = arguments(module, "f", seed)
    found = run_native(module, "f", inputs)
    if largest_value(writer, inputs) > limit:
        return
    assert_near(found, gradir.interpret(module, "f", *inputs), tolerance)
    if is_smooth:
        check_derivative(module, inputs, seed, tolerance)


def check_derivative(
    module: gradir.Module, inputs: Sequence[Array], seed: int, tolerance: float
) -> None:
    """@f_vjp against the interpreter, and @f_fwd with @f_bwd against @f_vjp."""
    joint, split = module.gradient("f", mode="vjp"), module.gradient("f")
    cotangents = arguments(joint, "f_vjp", seed)[len(inputs) :]
    both = [*inputs, *cotangents]
    expected = gradir.interpret(joint, "f_vjp", *both)
    found = run_native(joint, "f_vjp", both)
    assert_near(found, expected, tolerance)
    count = len(cotangents)
    forward = run_native(split, "f_fwd", inputs)
    backward = run_native(split, "f_bwd", [*forward[count:], *cotangents])
    assert_near([*forward[:count], *backward], found, tolerance)
