"""Programs of gradir.interop on NumPy arrays, and what it says where a package is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.interop.programs import Differentiable, WrapOptions
from gradir.packages import MissingPackage, package


def program(function: Callable[..., Any], *arrays: Any) -> Differentiable:
    return Differentiable(gradir.trace(function, *arrays), function.__name__, WrapOptions())


def gradients(made: Differentiable, wrt: tuple[int, ...], given: Sequence[Any]) -> list[Any]:
    """By both halves; the cotangents follow the arguments."""
    halves = made.halves(wrt)
    arrays = given[: len(made.inputs)]
    values = [*arrays, *halves.forward.run(arrays)]
    read = [values[k] for k in halves.residuals]
    return [*halves.backward.run([*read, *given[len(arrays) :]])]


def layer(x: Any, w: Any, b: Any) -> Any:
    h = gnp.tanh(x @ w + b)
    return h, gnp.argmax(h, axis=1), gnp.sum(gnp.sin(gnp.exp(h)))


def squares(x: Any) -> Any:
    return gradir.while_loop(lambda c: gnp.sum(c) < 50.0, lambda c: c * c + 1, x)


RANDOM = np.random.default_rng(0)
LAYER = [RANDOM.normal(size=shape) for shape in ((4, 3), (3, 2), (2,))]
CTS = [RANDOM.normal(size=(4, 2)), np.array(0.7)]


def test_residuals_that_exist_are_not_returned_again() -> None:
    made = program(layer, *LAYER)
    halves = made.halves((0, 1, 2))
    assert halves.unread == (2,)
    # x, w and h exist; besides them exp(h) is kept, or less
    assert {0, 1, 3} <= set(halves.residuals)
    assert len(halves.forward.results) == len(made.results) + 1


@pytest.mark.parametrize("wrt", [(0, 1, 2), (1,)])
def test_halves_and_transposed_agree(wrt: tuple[int, ...]) -> None:
    made = program(layer, *LAYER)
    transposed = made.transposed(wrt)
    expected = gradir.vjp(layer, *LAYER)[1]((CTS[0], None, CTS[1]))
    for found in (gradients(made, wrt, [*LAYER, *CTS]), transposed.run([*LAYER, *CTS])):
        for k, grad in zip(wrt, found, strict=True):
            np.testing.assert_allclose(grad, expected[k], rtol=1e-12)


def test_transposed_programs_are_differentiated_again() -> None:
    """With tapes too, which only the halves exchange."""
    x, ct, v = RANDOM.uniform(size=(3, 3))
    made = program(squares, x)
    assert made.halves((0,)).tapes
    second = made.transposed((0,))

    def slope(x: Any) -> Any:
        return gnp.sum(gradir.vjp(squares, x)[1](ct)[0] * v)

    (found,) = gradients(second, (0,), [x, ct, v])
    np.testing.assert_allclose(found, gradir.grad(slope)(x), rtol=1e-12)


def test_a_program_is_compiled_once() -> None:
    made = program(squares, np.ones(3))
    assert made.executable is made.executable
    assert made.halves((0,)) is made.halves((0,))


def test_a_missing_package_is_told_with_its_extra() -> None:
    with pytest.raises(MissingPackage, match=r"interop\.torch needs the package no_such_package.*"):
        package("no_such_package.part", "torch")


@pytest.mark.parametrize("name", ["torch", "jax", "scipy"])
def test_interop_imports_its_package_when_used(name: str) -> None:
    program = f"""
import sys
sys.modules["{name}"] = None  # as if it were not installed
import gradir
gradir.interop
assert not {{"torch", "jax", "scipy"}} & {{n for n, m in sys.modules.items() if m}}
try:
    gradir.interop.{name}
except gradir.GradirError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"pip install 'gradir[{name}]'" in result.stdout
