"""Random programs that read a table by rows: gradients as row slices add up to the dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table_programs import random_table_program

import gradir
from gradir import Module, RowSlices

# with slices of loops, branches and calls among them
SEEDS = (1, 10, 22, 40, 73, 85, 98, 134, 207, 311)


def arguments(seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    i, j = generator.integers(-60, 60, 3), generator.integers(0, 4, 2)
    n, c = np.int64(generator.integers(0, 4)), np.bool_(generator.integers(0, 2))
    return [generator.uniform(-1, 1, (60, 2)), i, j, n, c, np.asarray(0.8)]


def densified(values: Any) -> list[Any]:
    return [v.densify() if isinstance(v, RowSlices) else v for v in values]


def check_equal(expected: Any, found: Any) -> None:
    for one, other in zip(expected, densified(found), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-11)


def derived_twice(module: Module, options: dict[str, Any], given: list[Any]) -> tuple[Any, Any]:
    """The gradient of @f, and its derivative along a fixed direction."""
    first = module.gradient("f", wrt=[0, 5], mode="grad", **options)
    direction = [np.sin(np.arange(120.0)).reshape(60, 2), np.asarray(0.3)]
    second = first.gradient("f_grad", of=[1, 2], wrt=[0, 5], mode="vjp", **options)
    once = gradir.interpret(first, "f_grad", *given)
    twice = gradir.interpret(second, "f_grad_vjp", *given, *direction)
    return once, twice


@pytest.mark.parametrize("seed", SEEDS)
def test_first_and_second_order(seed: int) -> None:
    module, given = gradir.parse(random_table_program(seed)), arguments(seed)
    dense = derived_twice(module, {}, given)
    sparse = derived_twice(module, {"req": {0: "slices"}}, given)
    for expected, found in zip(dense, sparse, strict=True):
        check_equal(expected, found)


@pytest.mark.parametrize("seed", (1, 22, 98))
def test_native(seed: int) -> None:
    """Native code gives the slices of the interpreter."""
    module, given = gradir.parse(random_table_program(seed)), arguments(seed)
    derived = module.gradient("f", wrt=[0, 5], mode="grad", req={0: "slices"})
    expected: Any = gradir.interpret(derived, "f_grad", *given)
    found: Any = gradir.compile(derived, "f_grad")(*given)
    np.testing.assert_array_equal(found[1].indices, expected[1].indices)
    check_equal(densified(expected), found)
