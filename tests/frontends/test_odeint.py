"""gradir.scipy.integrate.odeint: solutions that are known, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import GradirError
from gradir.scipy import integrate

TIMES = np.array([0.0, 0.3, 1.0, 2.5])
EXACT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}


def turning(y: Any, t: Any, speed: Any) -> Any:
    return gnp.stack([speed * y[1], -speed * y[0]])


def growing(y: Any, t: Any, rate: Any) -> Any:
    return rate * gnp.cos(t) * y


def test_solutions() -> None:
    y0 = np.array([1.0, 0.0])
    for times in (TIMES, TIMES[::-1], TIMES[:1]):
        angle = 2.0 * (times - times[0])
        found = integrate.odeint(turning, y0, times, (2.0,), **EXACT)
        np.testing.assert_allclose(found, np.stack([np.cos(angle), -np.sin(angle)], 1), 0, 1e-8)
    loose = integrate.odeint(turning, y0, TIMES, (2.0,))
    np.testing.assert_allclose(loose[-1], [np.cos(5), -np.sin(5)], 0, 1e-6)
    by_time = integrate.odeint(lambda t, y: -y, 1.0, TIMES, tfirst=True, **EXACT)
    np.testing.assert_allclose(by_time[:, 0], np.exp(-TIMES), 1e-8)
    still = integrate.odeint(lambda y, t: 0 * y, np.zeros(2), TIMES)
    np.testing.assert_array_equal(still, 0)
    single = integrate.odeint(turning, y0.astype(np.float32), TIMES.astype(np.float32), (2.0,),
                              rtol=1e-4, atol=1e-4)  # fmt: skip
    assert single.dtype == np.float32


def test_equal_times_and_options() -> None:
    found = integrate.odeint(
        growing, np.ones(1), np.array([0.0, 1.0, 1.0]), (1.0,), h0=0.1, hmax=0.2
    )
    np.testing.assert_allclose(found[:, 0], np.exp(np.sin([0.0, 1.0, 1.0])), 1e-6)
    cut = integrate.odeint(growing, np.ones(1), TIMES, (1.0,), hmax=0.01, mxstep=40)
    assert np.isfinite(cut[1]).all() and np.isnan(cut[2:]).all()


def test_derivatives() -> None:
    """y(t) = y0 exp(rate (sin t - sin t0)): by y0, the times and the rate, to second order."""
    times, rate = np.array([0.2, 0.7, 1.5]), 0.8

    def exact(y0: Any, times: Any, rate: Any) -> Any:
        return gnp.sum(y0 * gnp.exp(rate * (gnp.sin(times) - gnp.sin(times[0]))) ** 2)

    def solved(y0: Any, times: Any, rate: Any) -> Any:
        rows = integrate.odeint(growing, gnp.stack([1.0, 2.0 * rate]), times, (rate,), **EXACT)
        return gnp.sum(y0 * rows[:, 0] ** 2)

    @gradir.jit
    def derivatives(y0: Any, times: Any, rate: Any) -> Any:
        made = []
        for f in (solved, exact):
            first = gradir.grad(f, (0, 1, 2))(y0, times, rate)
            second = gradir.grad(lambda r: gnp.sum(gradir.grad(f, 1)(y0, times, r)))(rate)  # noqa: B023
            made.append((*first, second))
        return made

    found, wanted = derivatives(1.5, times, rate)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, 1e-7, 1e-8)


def test_forward_mode_and_rows_of_a_map() -> None:
    def last(y: Any) -> Any:
        return integrate.odeint(turning, y, TIMES[:3], (2.0,), **EXACT)[-1]

    turned = np.array([[np.cos(2), np.sin(2)], [-np.sin(2), np.cos(2)]])
    np.testing.assert_allclose(gradir.jacfwd(last)(np.array([1.0, 0.5])), turned, 1e-7, 1e-8)
    starts = np.array([[1.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(gradir.vmap(last)(starts), starts @ turned.T, 1e-7, 1e-8)


ERRORS: list[tuple[Any, str]] = [
    (lambda: integrate.odeint(growing, np.ones((1, 2)), TIMES, (1.0,)), "y0 must be a vector"),
    (lambda: integrate.odeint(growing, np.ones(1), 1.0, (1.0,)), "t must be a vector of times"),
    (lambda: integrate.odeint(lambda y, t: np.ones(3), np.ones(2), TIMES), "the slope of y"),
    (lambda: integrate.odeint(growing, np.ones(1), TIMES, (1.0,), full_output=True),
     "odeint: unknown argument full_output; known: rtol"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(GradirError, match=message):
        call()


def test_absent_names_say_why() -> None:
    with pytest.raises(AttributeError, match="has no solve_ivp: of the solvers odeint is there"):
        integrate.solve_ivp  # noqa: B018  # pyrefly: ignore
