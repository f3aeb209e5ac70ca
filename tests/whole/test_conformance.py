"""Programs of earlier systems' tests with their gradients; each file says which system's.

`cotangents` are for the values of `of` (result indices or names), `grads` for members of `wrt` that
are not in `null`. All is computed in float64 by the interpreter, in one function (mode vjp) and in
two (mode split).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

FILES = sorted((Path(__file__).parents[1] / "conformance").glob("*.json"))
CASES: list[Any] = [
    pytest.param(case, id=f"{file.stem}-{case['name']}")
    for file in FILES
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]
]


@pytest.mark.parametrize("case", CASES)
def test_gradient(case: dict[str, Any]) -> None:
    """Both forms give the gradients that the case lists."""
    module = gradir.parse("\n".join(case["program"]))
    function = function_named(module.op, "f")
    types: list[Any] = list(function.function_type.inputs)
    dtypes = [dtype_of(t.element_type) for t in types]
    inputs = [np.array(v, d) for v, d in zip(case["inputs"], dtypes, strict=True)]
    cotangents = [np.array(v, np.float64) for v in case["cotangents"]]
    wrt, of = case["wrt"], case["of"]
    requests = {k: "null" for k in case.get("null", [])}
    count = len(function.function_type.outputs)

    joint = module.gradient("f", wrt, "vjp", of, req=requests)
    results = gradir.interpret(joint, "f_vjp", *inputs, *cotangents)
    split = module.gradient("f", wrt, "split", of, req=requests)
    residuals = gradir.interpret(split, "f_fwd", *inputs)[count:]
    grads = gradir.interpret(split, "f_bwd", *residuals, *cotangents)

    assert len(grads) == len(case["grads"])
    for one, other, expected in zip(results[count:], grads, case["grads"], strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, np.array(expected, np.float64), rtol=1e-5, atol=1e-6)


def test_cases_are_found() -> None:
    """The files are where they are looked for."""
    assert len(FILES) == 4 and len(CASES) > 50
