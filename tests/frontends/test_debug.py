"""gradir.debug: prints and checks, once for each time that a program comes by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

X = np.array([0.5, 1.0])


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def noted(x: Any) -> Any:
    y = x * 2
    gradir.debug.print("y = {} of {n}, {total:.2f}", y, n=3, total=y.sum())
    return gnp.sum(y * y)


def test_print(capsys: pytest.CaptureFixture[str]):
    wanted = ["y = [1. 2.] of 3, 3.00"]
    run = gradir.jit(noted)
    for _ in range(2):
        run(X)
    assert lines(capsys) == wanted * 2
    noted(X)
    assert lines(capsys) == wanted
    gradir.grad(noted)(X)
    gradir.jit(gradir.hessian(noted))(X)
    assert lines(capsys) == wanted * 2
    gradir.vmap(noted)(np.stack([X, 2 * X]))
    assert lines(capsys) == [*wanted, "y = [2. 4.] of 3, 6.00"]


def test_print_in_loops_branches_and_stages(capsys: pytest.CaptureFixture[str]):
    def step(k: Any, c: Any) -> Any:
        gradir.debug.print("{}: {c}", k, c=c)
        return c * 2

    def f(x: Any) -> Any:
        y = gradir.checkpoint(lambda x: gradir.fori_loop(0, 2, step, x))(x)
        return gradir.cond(y > 3, lambda: step(7, y), lambda: y)

    for run in (gradir.jit(f), gradir.grad(f)):
        run(1.0)
        assert lines(capsys) == ["0: 1.0", "1: 2.0", "7: 4.0"]


def test_nested_values(capsys: pytest.CaptureFixture[str]):
    gradir.jit(lambda p: gradir.debug.print("{p[w]} {q[1]}", p=p, q=(p["b"], 2)))({"w": X, "b": 1})
    assert lines(capsys) == ["[0.5 1. ] 2"]


@pytest.mark.parametrize(
    ("form", "message"),
    [("{} {}", "does not fit its arguments"), ("{a}", "does not fit"), ("{:.2f}", "does not fit")],
)
def test_forms_that_do_not_fit(form: str, message: str):
    with pytest.raises(gradir.GradirError, match=message):
        gradir.jit(lambda x: gradir.debug.print(form, x))(X)


def test_check_nan():
    def f(p: Any) -> Any:
        q = gradir.debug.check_nan({"w": gnp.log(p["w"]), "n": p["n"]}, what="logs")
        return gnp.sum(q["w"]) * q["n"]

    good, bad = {"w": X, "n": 2}, {"w": -X, "n": 2}
    assert gradir.jit(f)(good) == pytest.approx(2 * np.log(0.5))
    np.testing.assert_allclose(gradir.grad(lambda w: f({"w": w, "n": 2}))(X), 2 / X)
    with np.errstate(invalid="ignore"):
        for run, argument in (
            (gradir.jit(f), bad),
            (gradir.grad(lambda w: f({"w": w, "n": 2})), -X),
        ):
            with pytest.raises(gradir.GradirError, match=r"logs\['w'\] has nan: 2 of 2 elements"):
                run(argument)
        with pytest.raises(FloatingPointError, match="the first at"):
            f(bad)
    assert gradir.jit(f)(good) == pytest.approx(2 * np.log(0.5))
    with pytest.raises(FloatingPointError, match="x has nan: a nan"):
        gradir.debug.check_nan(np.nan, "x")
