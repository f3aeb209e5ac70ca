"""Nets of the tests and issues of Caffe2 and MXNet, with their gradients (cases.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caffe2_nets import arrays, gradients, net_of

from gradir.frontends.caffe2 import Net, OrphanError, VersionError

FILE = Path(__file__).parent / "cases.json"
CASES: list[Any] = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
ERRORS = {"version": VersionError, "orphan": OrphanError}


def named(case: dict[str, Any]) -> str:
    return case["name"]


def case_net(case: dict[str, Any], strict: bool = False) -> Net:
    return net_of(case["name"], case["ops"], strict, list(case["inputs"]))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_gradients(case: dict[str, Any]) -> None:
    """The gradients, and what the case lists of values; half of them by `wrt`."""
    feeds, wanted = arrays(case["inputs"]), case.get("outputs", {})
    k = CASES.index(case)
    options: dict[str, Any] = {"is_exact": k % 2 == 0, "is_native": k % 3 == 0}
    found, values = gradients(case_net(case), case["ys"], case["wrt"], feeds, [*wanted], **options)
    for name, expected in case["grads"].items():
        assert np.shape(found[name]) == np.shape(expected)
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-5)
    for name, expected in wanted.items():
        np.testing.assert_allclose(values[name], expected, rtol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_strict_versions(case: dict[str, Any]) -> None:
    """What Caffe2 refuses is refused, and all else is differentiated alike."""
    net, ys = case_net(case, strict=True), dict.fromkeys(case["ys"])
    if "strict" in case:
        with pytest.raises(ERRORS[case["strict"]], match=case["strict"]):
            net.AddGradientOperators(ys)
    else:
        other = case_net(case)
        assert net.AddGradientOperators(ys) == other.AddGradientOperators(ys)
        assert net == other


@pytest.mark.parametrize("case", CASES, ids=named)
def test_files(case: dict[str, Any]) -> None:
    """A net with its gradient operators is read back equal, from text and from bytes."""
    net = case_net(case)
    net.AddGradientOperators(dict.fromkeys(case["ys"]))
    for other in (Net.parse(str(net)), Net.parse(net.serialize())):
        assert other == net
        assert [op.link for op in other.ops] == [op.link for op in net.ops]


def test_cases_are_found() -> None:
    assert len(CASES) == 60
    assert sum("strict" in case for case in CASES) == 7
