"""gradir.build: functions written by a frontend, and the calculator language of the examples."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.build import ModuleBuilder, array, body, location
from gradir.errors import ArgumentError, ParseError, VerifyError
from gradir.testing import check_grads

CALCULATOR = Path(__file__).parents[2] / "examples" / "calculator.py"


sine: Any = body.sin


def calculator() -> Any:
    spec = spec_from_file_location("calculator", CALCULATOR)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tensors_loops_branches_and_calls() -> None:
    builder = ModuleBuilder()
    with builder.function("half", {"x": "tensor<3xf64>"}) as code:
        code.returns(0.5 * code.arguments["x"])
    with builder.function("f", {"x": gradir.Spec((3,)), "a": "f64"}) as code:
        x, a = code.arguments["x"], code.arguments["a"]
        [y] = code.repeat(3, [x], lambda i, y: [array.elementwise.SinOp.on(y) + code.here(x)])
        [z] = code.call("half", y)

        [b] = code.repeat_while(
            [a],
            lambda b: b > 1.0,
            lambda b: [b / 2.0],
        )
        [c] = code.choose(a > b, lambda: [code.here(a) * code.here(b)], lambda: [code.here(a)])
        code.returns(z, c, code.here(sine(b)))
    module = builder.module()
    x0, a0 = np.array([0.3, -0.5, 1.1]), 5.0
    y = x0
    for _ in range(3):
        y = np.sin(y) + x0
    found = gradir.compile(module, "f")(x0, np.float64(a0))
    np.testing.assert_allclose(found[0], y / 2, rtol=1e-14)
    np.testing.assert_allclose(found[1:], [5 * 0.625, math.sin(0.625)], rtol=1e-14)
    check_grads((module, "f"), [x0, a0], order=2)
    assert str(gradir.parse(str(module))) == str(module)


def test_places_and_refusals() -> None:
    text = "first line\nsecond line\n"
    builder = ModuleBuilder({"some.calc": text})
    with builder.function("g", {"x": "tensor<3xf64>", "y": "tensor<4xf64>"}) as code:
        code.at(location("some.calc", 2, 3))
        x, y = code.arguments["x"], code.arguments["y"]
        code.insert(array.elementwise.AddOp.of([x.ssa, y.ssa], [x.type]))
        code.returns(x)
    with pytest.raises(VerifyError) as caught:
        builder.module()
    assert "some.calc:2:3: error: array.add" in str(caught.value)
    assert "second line" in str(caught.value)
    builder = ModuleBuilder()
    with pytest.raises(ArgumentError, match="@h must end with returns"):
        with builder.function("h", {"x": "f64"}):
            pass
    with builder.function("h", {"x": "f64"}) as code:
        with pytest.raises(ArgumentError, match="call: no function @q; functions: none"):
            code.call("q")
        with pytest.raises(ArgumentError, match="the condition must be i1, got f64"):
            code.choose(code.arguments["x"], lambda: [], lambda: [])
        code.returns(code.number(2.0, code.arguments["x"]))
    with pytest.raises(ArgumentError, match="@h is there already"):
        with builder.function("h", {"x": "f64"}):
            pass
    with pytest.raises(ParseError):
        with builder.function("k", {"x": "tensor<3xf6"}):
            pass


def test_the_calculator_language() -> None:
    tool = calculator()
    module = tool.Calculator(tool.PROGRAM).module()
    for rate in (0.05, 0.1):
        check_grads((module, "cost"), [rate, 100.0], order=2)
    check_grads((module, "root"), [2.0], order=2)
    rest = 100.0
    for _ in range(10):
        rest *= 1.1
        rest -= math.sqrt(0.1) if rest > 200 else 0
    found = gradir.compile(module, "cost")(np.float64(0.1), np.float64(100))
    np.testing.assert_allclose(found, [rest], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn f(x) { return q }", "c:1:18: error: no value q; values: x"),
        ("fn f(x) {\n  y = 2 *\n", "c:3:1: error: expected more, got the end"),
        ("fn f(x) { while x { x = 1 } return x }", "c:1:19: error: expected a comparison, got {"),
        ("f(x)", "c:1:1: error: expected fn, got f"),
    ],
)
def test_errors_of_the_calculator(text: str, message: str) -> None:
    with pytest.raises(SystemExit) as caught:
        calculator().Calculator(text, "c").module()
    assert str(caught.value) == message


def test_the_calculator_s_command() -> None:
    done = subprocess.run(
        [sys.executable, str(CALCULATOR)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("cost(0.05, 100) = 162.8894627\nslopes: 1551.32821")
