"""GRADIR_VALIDATE=1: a stage, a derivative or native code that is wrong is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.compiler import pipeline
from gradir.compiler.pipeline import Machine
from gradir.debug import validations
from gradir.errors import ArgumentError, ValidationError
from gradir.passes.gradient import gradient_pass
from gradir.runtime.executable import Executable
from gradir.validation.report import Report


@pytest.fixture(autouse=True)
def is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_VALIDATE", "1")


X, W = np.ones((3, 4)), np.full((4, 2), 0.5)


def loss(x: Any, w: Any) -> Any:
    y = gnp.tanh(x @ w)
    d = y - x[:, :2]
    return gnp.sum(d * y)


def last_of(kind: str) -> Report:
    return next(r for r in reversed(validations()) if r.what.startswith(kind))


def left_out(report: Report) -> list[str]:
    return [check.found for check in report.checks if not check.is_done]


def test_all_stages_of_a_derivative():
    gradir.grad(loss, argnums=(0, 1))(X, W)
    steps = [check.step for check in last_of("compilation of").checks]
    names = [f"{s.name} (stage {k})" for k, s in enumerate(pipeline.STAGES, 1)]
    assert steps == [*names, "native code"]
    assert set(left_out(last_of("compilation of"))) == {
        "the interpreter does not run buffers; see native code"
    }
    text = str(last_of("derivative of"))
    assert "gradir" not in text and "mode grad" in text and not left_out(last_of("derivative"))
    assert "differences, argument 1, draw 0: within 1e-05" in text


def swap_operands(module: ModuleOp, name: str) -> None:
    """Exchange the operands of the first op of a name."""
    op = next(op for op in module.walk() if op.name == name)
    op.operands = [*reversed(op.operands)]


def break_stage(monkeypatch: pytest.MonkeyPatch, number: int, name: str) -> None:
    """Let a stage, after its work, exchange the operands of the first op of a name."""
    stage = pipeline.STAGES[number - 1]

    def transform(module: ModuleOp, machine: Machine) -> Any:
        made = stage.transform(module, machine)
        swap_operands(module, name)
        return made

    stages = list(pipeline.STAGES)
    stages[number - 1] = replace(stage, transform=transform)
    monkeypatch.setattr(pipeline, "STAGES", tuple(stages))


@pytest.mark.parametrize(
    ("number", "op", "words"),
    [
        (1, "array.subtract", "array.subtract, which makes %d, is the first to differ"),
        (5, "array.subtract", "array.subtract, which makes %d, is the first to differ"),
        (11, "array.subtract", "array.subtract, which makes %d, is the first to differ"),
        (12, "arith.subf", ""),
        (15, "arith.subf", ""),
        (16, "arith.subf", ""),
    ],
)
def test_broken_stages(monkeypatch: pytest.MonkeyPatch, number: int, op: str, words: str):
    break_stage(monkeypatch, number, op)
    with pytest.raises(ValidationError) as found:
        gradir.jit(loss)(X * 0.3, W)
    stage = pipeline.STAGES[number - 1]
    text = str(found.value)
    assert f"{stage.name} (stage {number}) does not keep {stage.keeps}: result 0 is " in text
    assert words in text
    if words:
        assert found.value.diagnostic is not None
        assert found.value.diagnostic.line == loss.__code__.co_firstlineno + 2


def test_a_broken_stage_on_buffers(monkeypatch: pytest.MonkeyPatch):
    """The interpreter does not run it; native code is held against the program."""
    break_stage(monkeypatch, 17, "arith.subf")
    with pytest.raises(ValidationError, match="native code of @loss is not the same up to round"):
        gradir.jit(loss)(X * 0.4, W)


def test_broken_native_code(monkeypatch: pytest.MonkeyPatch):
    plain = Executable.__call__

    def wrong(self: Executable, *arrays: object, out: object = None) -> Any:
        return tuple(r + 1 for r in plain(self, *arrays, out=out))

    monkeypatch.setattr(Executable, "__call__", wrong)
    with pytest.raises(ValidationError, match="native code of @loss is not"):
        gradir.jit(loss)(X * 0.5, W)


def break_gradient(monkeypatch: pytest.MonkeyPatch, change: Callable[[Operation], None]) -> None:
    plain = gradient_pass.apply_gradient

    def broken(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        last = made[-1].body.block.last_op
        assert last is not None
        change(last)
        return made

    monkeypatch.setattr(gradient_pass, "apply_gradient", broken)


@pytest.mark.parametrize("mode", ["vjp", "grad", "split", "jvp"])
def test_a_broken_derivative(monkeypatch: pytest.MonkeyPatch, mode: str):
    def one(x: Any) -> Any:
        return gnp.sum(gnp.sin(x) * x)

    module = gradir.trace(one, np.ones(3))
    module.gradient("one", mode=mode)

    def double(last: Operation) -> None:
        """Twice the last result of the derivative."""
        from gradir.dialects.grad.grad import AccumulateOp

        value = last.operands[-1]
        added = AccumulateOp.create(operands=[value, value], result_types=[value.type])
        assert last.parent is not None
        last.parent.insert_op_before(added, last)
        last.operands[len(last.operands) - 1] = added.results[0]

    break_gradient(monkeypatch, double)
    with pytest.raises(
        ValidationError, match=f"the derivative of @one, mode {mode}: .*differences"
    ):
        module.gradient("one", mode=mode)


def test_programs_that_fail_fail_on_both_sides():
    def taken(x: Any, k: Any) -> Any:
        return x[k + 7]

    with pytest.raises(gradir.errors.IndexOutOfRange):
        gradir.jit(taken)(np.ones(3), 1)
    report = last_of("compilation of @taken")
    assert report.checks[-1].step == "native code" and report.checks[-1].is_done


def test_what_is_left_out_is_said():
    def printed(x: Any) -> Any:
        gradir.debug.print("x")
        return x * 2

    gradir.jit(printed)(np.ones(2))
    [why] = left_out(last_of("compilation of @printed"))
    assert why.startswith("the call of debug_print") and why.endswith("may have effects")
    gradir.grad(lambda x: gnp.sum(gradir.no_grad(x) * x))(np.ones(2))
    assert "grad.no_grad has another derivative than its values" in left_out(last_of("derivative"))
    gradir.grad(lambda x: gnp.sum(x * x))(np.ones(2, np.float32))
    assert "they need float64" in left_out(last_of("derivative of"))
    gradir.grad(lambda x: gnp.sum(gnp.log(x)))(np.ones(2))
    assert left_out(last_of("derivative of")) == ["numbers are not finite, or large"]


def test_programs_of_all_kinds():
    """Contractions, convolutions, sorts, inverses, loops and branches run at each level."""

    def everything(x: Any, image: Any, kernel: Any, n: Any) -> Any:
        a = gnp.sum(nn.conv2d(image, kernel, padding=1) ** 2)
        b = gnp.sum(gnp.sort(x[0]) * x[1]) + gnp.sum(gnp.linalg.inv(x + 3 * gnp.eye(3)))
        c = gradir.scan(lambda s, e: (gnp.sin(s * e), s), a, x[2])[0]
        d = gradir.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 0.5, s[1] + 1), (b, 0))[0]
        p = nn.softmax(x, axis=-1)
        return c + d + gradir.cond(n > 1, lambda: gnp.sum(p * p), lambda: gnp.sum(x))

    generator = np.random.default_rng(0)
    image, kernel = generator.normal(size=(1, 2, 4, 4)), generator.normal(size=(2, 2, 3, 3))
    gradir.grad(everything)(generator.normal(size=(3, 3)), image, kernel, 2)
    said = set(left_out(last_of("compilation of")))
    assert said == {"the interpreter does not run buffers; see native code"}
    assert last_of("compilation of").checks[-1].is_done


def test_unknown_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADIR_VALIDATE", "yes")
    with pytest.raises(ArgumentError, match="GRADIR_VALIDATE: expected 1, or nothing, got 'yes'"):
        gradir.jit(loss)(X * 0.6, W)


def test_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADIR_VALIDATE", "0")
    count = len(validations())
    gradir.grad(loss)(X * 0.7, W)
    assert len(validations()) == count
