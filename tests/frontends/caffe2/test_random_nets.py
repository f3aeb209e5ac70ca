"""Random nets against NumPy on blobs that really are overwritten, and central differences.

Blobs are overwritten, read twice, gathered, broadcast, and changed in branches, loops and scopes;
there are several ys, with seeds or without, some operators are skipped. The reference is in
tests/support/caffe2_random.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from caffe2_nets import gradients, net_of, run_net
from caffe2_random import Case, kinds_of, random_case, reference

from gradir.frontends.caffe2 import IR, GradientSlice, Net

FIRST = (1, 4, 12, 17, 18, 27, 43, 49, 50, 51, 57, 60, 67, 71, 73, 87, 99, 101, 111, 112)
SECOND = (13, 17, 18, 27, 50, 51, 72)


def read_first(net: Net, case: Case) -> list[str]:
    """Blobs of `wrt` whose first version is the caller's, or what skipped operators left."""
    first: dict[str, tuple[bool, int]] = {}
    for k, (_, read, made) in enumerate(IR(net.ops).ssa):
        for names, is_read in ((read, True), (made, False)):
            for name in names:
                first.setdefault(name, (is_read, k))
    found = {name: first.get(name, (True, 0)) for name in case.wrt}
    return [name for name, (is_read, k) in found.items() if is_read or k < case.skip]


@pytest.mark.parametrize("seed", FIRST)
def test_values_and_gradients(seed: int) -> None:
    case = random_case(seed)
    end, expected = reference(case)
    net = net_of("net", case.rows, inputs_of=list(case.inputs))
    written = {name for op in net.ops for name in op.results}
    fetch = [name for name in end if name in written]
    wrt = read_first(net, case)
    options: dict[str, Any] = {"is_exact": True, "skip": case.skip, "is_native": seed % 4 == 0}
    found, values = gradients(net, case.ys, wrt, case.inputs, fetch, **options)
    for name in fetch:
        np.testing.assert_allclose(values[name], end[name], rtol=1e-9, atol=1e-12)
    for name in wrt:
        np.testing.assert_allclose(found[name], expected[name], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("seed", SECOND)
def test_second_order(seed: int) -> None:
    """The gradient operators of a sum of sines of gradients, against differences of that sum."""
    case = random_case(seed)
    assert not {"StopGradient", "NegateGradient"} & kinds_of(case.rows)
    net = net_of("net", case.rows, inputs_of=list(case.inputs))
    wrt = [
        name for name in case.wrt if name in IR(net.ops).ssa[0][1] or name in net.external_inputs
    ]
    parts: list[Any] = []
    for name, gradient in net.AddGradientOperators(list(case.ys), wrt=wrt).items():
        values = gradient.values if isinstance(gradient, GradientSlice) else gradient
        parts.append(net.SumElements(net.Sin(values, f"sin_{name}"), f"sum_{name}"))
    net.Sum(parts, "total")
    feeds = {name: case.inputs[name] for name in net.external_inputs}
    run = net.compile(["total"])
    found, _ = gradients(net, {"total": None}, wrt, feeds, is_exact=True, is_native=False)
    for name in wrt:

        def total(x: Any, name: str = name) -> Any:
            return run({**feeds, name: x})["total"]

        expected = differences(total, feeds[name])
        np.testing.assert_allclose(found[name], expected, rtol=2e-4, atol=3e-5)


def differences(function: Any, value: Any) -> Any:
    made = np.zeros(np.shape(value))
    for at in np.ndindex(made.shape):
        up, down = np.array(value), np.array(value)
        up[at] += 1e-5
        down[at] -= 1e-5
        made[at] = (function(up) - function(down)) / 2e-5
    return made


def test_the_reference_sees_a_fault() -> None:
    """A net that overwrites another blob than the rows say has other values."""
    case = random_case(7)
    end, _ = reference(case)
    rows = [*case.rows, ["Scale", ["x"], ["x"], {"scale": 2.0}]]
    net = net_of("net", rows, inputs_of=list(case.inputs))
    found = run_net(net, {n: case.inputs[n] for n in net.external_inputs}, ["x"])
    assert np.abs(found["x"] - end["x"]).max() > 0.1
