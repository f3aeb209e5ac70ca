"""Random functions written for NumPy have its values, and slopes that equal differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_programs import numpy_program

import gradir
from gradir.errors import GradirError

BLOCKS = range(4)
CASES = 8
REFUSED = ("no value yet", "values outside of the program", "may share memory", "it has a copy")


def point(seed: int) -> Any:
    return np.array([0.7, -0.3, 1.6, 0.2]) + np.random.default_rng(seed).uniform(0, 0.1, 4)


def found(call: Callable[[], Any]) -> Any:
    """What the call gives; None for the refusals that docs/assignment.md has."""
    try:
        return call()
    except GradirError as error:
        assert any(reason in str(error) for reason in REFUSED), error
        return None


@pytest.mark.parametrize("block", BLOCKS)
def test_values_and_slopes(block: int) -> None:
    compared = 0
    for seed in range(CASES * block, CASES * (block + 1)):
        f, text = numpy_program(seed)
        x = point(seed)
        try:
            with np.errstate(all="ignore"):
                wanted = f(x.copy())
        except (ValueError, IndexError):  # a view may be written to that NumPy has as read-only
            continue
        of_grad = found(lambda f=f, x=x: gradir.value_and_grad(f)(x))
        of_jit = found(lambda f=f, x=x: gradir.jit(f)(x))
        if of_jit is not None:
            np.testing.assert_allclose(of_jit, wanted, rtol=1e-9, atol=1e-11, err_msg=text)
        if of_grad is not None:
            compared += 1
            np.testing.assert_allclose(of_grad[0], wanted, rtol=1e-9, atol=1e-11, err_msg=text)
            slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
            scale = max(1.0, np.abs(slopes).max())
            np.testing.assert_allclose(
                of_grad[1], slopes, rtol=1e-4, atol=1e-5 * scale, err_msg=text
            )
    assert compared >= CASES // 2
