"""GRADIR_NAN=raise: results that are not finite are errors, however a compiled function is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ExecutionError, NonFiniteError
from gradir.runtime.executable import Executable

HERE = "/test_nan_setting.py"
ZERO = np.zeros(2)


@pytest.fixture(autouse=True)
def is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_NAN", "raise")


def log_loss(x: Any) -> Any:
    return gnp.sum(gnp.log(x))


def root(x: Any) -> Any:
    return gnp.sum(gnp.sqrt(x))


def refused(call: Callable[[], object], *parts: str) -> NonFiniteError:
    with pytest.raises(NonFiniteError) as found:
        call()
    for part in (HERE, *parts):
        assert part in str(found.value)
    return found.value


def test_jit_on_every_way_of_calling():
    run, line = gradir.jit(log_loss), log_loss.__code__.co_firstlineno + 1
    for _ in range(2):
        error = refused(lambda: run(ZERO), "array.log of x = 0.0 is -inf at [0]")
        assert isinstance(error, ExecutionError | FloatingPointError)
        assert error.diagnostic is not None and error.diagnostic.line == line
        for _ in range(80):  # calls are native by then
            assert run(np.ones(2)) == 0
    refused(lambda: run([0.0, 1.0][0] * np.ones(2)), "so the result of log_loss is -inf")


def test_derivatives():
    gradient = gradir.grad(root)
    for _ in range(80):
        gradient(np.ones(2))
    refused(lambda: gradient(ZERO), "the cotangent of x", "array.sqrt of x = 0.0")
    refused(lambda: gradir.hessian(root)(ZERO), "root")
    refused(lambda: gradir.jvp(root, (ZERO,), (ZERO + 1,)), "tangent")
    refused(lambda: gradir.vmap(gradir.grad(lambda x: x**0.5))(ZERO))


def test_halves_check_results_alone():
    """A residual may be infinite where values made of it are not."""
    value, pull = gradir.vjp(lambda x: gnp.sum(1 / gnp.exp(x)), np.array([1000.0, 0.0]))
    assert value == 1
    value, pull = gradir.vjp(root, ZERO)
    refused(lambda: pull(np.float64(1)), "so the result of root_bwd is inf at [0]")


def test_tapes_of_another_call():
    def roots(x: Any) -> Any:
        body = lambda c: (gnp.sqrt(c[0]), c[1] + 1)  # noqa: E731
        return gradir.while_loop(lambda c: c[1] < 3, body, (x, 0))[0]

    _, pull = gradir.vjp(roots, np.float64(0))
    with pytest.raises(NonFiniteError, match="its tapes are those of another call"):
        pull(np.float64(1))
    refused(lambda: gradir.grad(roots)(0.0), "in iteration 2 of 3")


def test_steps_of_training():
    optimizer = gradir.optim.sgd(0.1)
    step = gradir.optim.train_step(lambda p, x: gnp.sum(gnp.sqrt(p["w"] * x)), optimizer)
    params = {"w": np.zeros(2)}
    state = optimizer.init(params)
    refused(lambda: step(params, state, np.ones(2)), "array.sqrt")
    donating = gradir.jit(step, donate_argnums=(0, 1))
    refused(lambda: donating({"w": np.zeros(2)}, state, np.ones(2)), "array.sqrt of 0.0")
    trainer = gradir.Trainer(lambda p, x: gnp.sum(gnp.sqrt(p["w"] * x)), optimizer, params)
    refused(lambda: trainer.fit([(np.ones(2),)], epochs=1), "array.sqrt")


def test_arrays_that_are_written():
    run = gradir.jit(lambda x, y: gnp.log(x) + y)
    y = np.array([1.0, 2.0])
    refused(lambda: run(np.array([1.0, 0.0]), y, out=y), "array.log of x = 0.0 is -inf at [1]")
    added = gradir.grad(root, req="add")
    total = np.ones(2)
    refused(lambda: added(ZERO, out=total), "array.sqrt of x = 0.0")


TEXT = """
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.log %x : tensor<?xf64>
  return %y : tensor<?xf64>
}
func.func @g(%x: tensor<2xf64>) -> (tensor<2xf64>, i64) {
  %n = arith.constant 3 : i64
  %y = array.log %x : tensor<2xf64>
  return %y, %n : tensor<2xf64>, i64
}
"""


@pytest.mark.parametrize("name", ["f", "g"])
def test_text(name: str):
    module = gradir.parse(TEXT, "/test_nan_setting.py")
    run = gradir.compile(module, name)
    assert (run(np.ones(2))[0] == 0).all()
    refused(lambda: run(ZERO), "array.log of x = 0.0 is -inf at [0]")
    assert "@" not in repr(run) and run.name == name and run.llvm_ir


def test_arguments_that_are_not_finite():
    run = gradir.jit(log_loss)
    refused(lambda: run(np.array([1, np.nan])), "argument x is nan at [1], which is read here")
    run = gradir.jit(lambda x: gnp.log(x[0] * 0))
    refused(
        lambda: run(np.array([1, np.nan])),
        "array.log of 0.0 is -inf; argument x is nan at [1] (1 of 2 elements are not finite)",
    )


def test_native_code_that_differs(monkeypatch: pytest.MonkeyPatch):
    """A fault of native code is not explained away."""
    run = gradir.jit(log_loss)
    run(np.ones(2))
    plain = run.compiled(np.ones(2)).executable._plain
    monkeypatch.setattr(type(plain), "__call__", lambda *_, out=None: (np.array(np.nan),))
    monkeypatch.setattr(type(plain), "call_native", lambda *_: None)
    with pytest.raises(NonFiniteError, match="of native code are not finite, and those of the int"):
        run(np.ones(2) * 2)


def test_collectives_are_not_run_again():
    def total(x: Any) -> Any:
        return gradir.comm.psum(gnp.log(x))

    with pytest.raises(NonFiniteError, match="needs all ranks; gradir"):
        gradir.jit(total)(ZERO)


def test_off_and_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GRADIR_NAN")
    run = gradir.jit(lambda x: gnp.log(x) * 3)
    assert (run(ZERO) == -np.inf).all()
    assert type(run.compiled(ZERO).executable) is Executable
    monkeypatch.setenv("GRADIR_NAN", "rise")
    with pytest.raises(ArgumentError, match="GRADIR_NAN: expected raise, or nothing, got 'rise'"):
        gradir.jit(lambda x: gnp.log(x) * 4)(ZERO)
