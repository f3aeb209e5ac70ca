"""Random programs with nested control flow: derivatives against central differences, both forms of
code, and what pruning leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_flow_programs import random_flow_program

import gradir
from gradir.testing import check_grads

SEEDS = range(30)


def arguments(seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    floats = [generator.uniform(0.2, 0.9, shape) for shape in ((), (), (3,))]
    return [*floats, np.int64(generator.integers(0, 3)), np.bool_(True), np.bool_(False)]


@pytest.mark.parametrize("seed", SEEDS)
def test_first_order(seed: int) -> None:
    module = gradir.parse(random_flow_program(seed))
    check_grads((module, "f"), arguments(seed), order=1, native=seed < 12)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_second_order(seed: int) -> None:
    module = gradir.parse(random_flow_program(1000 + seed, depth=2))
    check_grads((module, "f"), arguments(seed), native=False)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_both_halves_and_pruning(seed: int) -> None:
    """Bits are the same in one function, in two, and after every clean-up."""
    module, given = gradir.parse(random_flow_program(seed)), arguments(seed)
    joint = module.gradient("f", mode="vjp")
    ct = np.ones_like(gradir.interpret(module, "f", *given)[0])
    expected = gradir.interpret(joint, "f_vjp", *given, ct)
    cleaned = joint.run_passes("gradir-simplify,cse,gradir-dce")
    split = module.gradient("f")
    value, *residuals = gradir.interpret(split, "f_fwd", *given)
    halves = [value, *gradir.interpret(split, "f_bwd", *residuals, ct)]
    for others in (gradir.interpret(cleaned, "f_vjp", *given, ct), halves):
        for one, other in zip(expected, others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", [2, 9, 21, 25, 41, 46])
def test_policies_and_stages(seed: int) -> None:
    """Bits are the same with loops that run again and with stages; joint, in halves, cleaned."""
    given = arguments(seed)
    plain = gradir.parse(random_flow_program(seed)).gradient("f", mode="vjp")
    marked = gradir.parse(random_flow_program(seed, marked=True))
    ct = np.ones_like(gradir.interpret(marked, "f", *given)[0])
    expected = gradir.interpret(plain, "f_vjp", *given, ct)
    joint, split = marked.gradient("f", mode="vjp"), marked.gradient("f")
    cleaned = joint.run_passes("gradir-simplify,cse,gradir-dce,gradir-hoist")
    value, *residuals = gradir.interpret(split, "f_fwd", *given)
    found = [
        gradir.interpret(joint, "f_vjp", *given, ct),
        gradir.interpret(cleaned, "f_vjp", *given, ct),
        [value, *gradir.interpret(split, "f_bwd", *residuals, ct)],
    ]
    for each in found:
        for one, other in zip(expected, each, strict=True):
            np.testing.assert_array_equal(one, other)
