"""Derivatives of gradir.scipy.special and gradir.numpy at single points, against mpmath.

At the ends of domains, at 0, at integers, where formulas join, outside, and at nan: where a guard
picks a number, its slope is easily 0. Differences of mpmath's functions, in 90 digits and from each
side, have right values: one-sided at the end of a domain, infinite where it grows without bound,
nan where there is no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from mpmath import isnan, mp, mpc, mpf

import gradir
import gradir.numpy as gnp
from gradir.scipy import special as sp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

Reference = Callable[..., Any]


def _real(function: Reference, *args: Any) -> Any:
    """A value of mpmath, nan where there is no real one."""
    try:
        made = function(*args)
    except (ValueError, ZeroDivisionError):
        return mpf("nan")
    return mpf("nan") if isinstance(made, mpc) else mpf(made)


def _beside(function: Reference, x: Any, order: int) -> Any:
    """The derivative just beside a point, at two distances: None outside, infinite if it grows."""
    found = []
    for distance in ("1e-12", "1e-15"):
        place, step = mpf(x[0]) + x[1] * mpf(distance), mpf(distance) * mpf("1e-8")
        low, here, high = (_real(function, place + k * step) for k in (-1, 0, 1))
        found.append((high - low) / (2 * step) if order == 1 else (high - 2 * here + low) / step**2)
    far, near = found
    if isnan(far) or isnan(near):
        return None
    # a second difference of a linear function is the rounding of its values
    if abs(near) < mpf("1e-30") or (abs(near) < mpf("1e-5") and abs(near) < abs(far) / 2):
        return mpf(0)
    return near * mpf(inf) if abs(near) > abs(far) * mpf("1.05") else near


def wanted(function: Reference, at: Sequence[float], k: int, order: int) -> float:
    """The derivative by argument k, of both sides or of the one there is; nan of a kink."""
    if any(np.isnan(a) for a in at) or isnan(_real(function, *map(mpf, at))):
        return nan
    of_one: Reference = lambda x: function(*map(mpf, at[:k]), x, *map(mpf, at[k + 1 :]))  # noqa: E731
    with mp.workdps(90):
        sides = [_beside(of_one, (at[k], s), order) for s in (-1, 1)]
    found = [s for s in sides if s is not None]
    if not found:
        return nan
    first, last = found[0], found[-1]
    is_one = first == last or abs(last - first) < 1e-6 * (1 + abs(last))
    return float(last) if is_one else nan


def _inside(function: Reference, holds: Callable[..., bool]) -> Reference:
    return lambda *x: function(*x) if holds(*x) else mpf("nan")


def _quantile(p: Any) -> Any:
    if p <= 0 or p >= 1:
        return -mpf(inf) if p == 0 else mpf(inf) if p == 1 else mpf("nan")
    if p > 0.5:
        return -_quantile(1 - p)
    x, step = -mp.sqrt(-2 * mp.log(p)), mpf(1)
    while abs(step) > mpf(10) ** (-0.6 * mp.dps) * (1 - x):  # the error is of a step's square
        below = mp.ncdf(x)
        step = mp.log(below / p) * below / mp.npdf(x)
        x -= step
    return x


def _boxcox(x: Any, power: Any) -> Any:
    return mp.log(x) if power == 0 else mp.powm1(x, power) / power


def _inverse_boxcox(y: Any, power: Any) -> Any:
    return mp.exp(y) if power == 0 else (1 + power * y) ** (1 / power)


def _poch(z: Any, m: Any) -> Any:
    return mp.rf(z, m) if m == mp.floor(m) and m >= 0 else mp.gamma(z + m) * mp.rgamma(z)


def _times_log(x: Any, y: Any) -> Any:
    return x * mp.log(y) if x != 0 else mpf(0)


def _relative(x: Any, y: Any) -> Any:
    return x * mp.log(x / y) if x > 0 else mpf(0)


def _root(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


positive = partial(_inside, holds=lambda x, *_: x > 0)
not_negative = partial(_inside, holds=lambda x, *_: x >= 0)


def _x(*numbers: float) -> list[tuple[float, ...]]:
    return [(x,) for x in numbers]


# A function, its reference, places, and the arguments by which derivatives are taken.
TABLE: dict[str, tuple[Any, Reference, list[tuple[float, ...]], Sequence[int]]] = {
    "erfcx": (sp.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), _x(0, -1, 3, nan), [0]),
    "exp1": (sp.exp1, not_negative(mp.e1), _x(0, 1, 1.5, -1, nan), [0]),
    "expn2": (partial(sp.expn, 2), not_negative(lambda x: mp.expint(2, x)), _x(0, 1, -1, nan), [0]),
    "expn3": (partial(sp.expn, 3), not_negative(lambda x: mp.expint(3, x)), _x(0, 1, -1, nan), [0]),
    "ellipk": (sp.ellipk, mp.ellipk, _x(0, 1, -3, 2, nan), [0]),
    "ellipe": (sp.ellipe, _inside(mp.ellipe, lambda m: m <= 1), _x(0, 1, -3, 2, nan), [0]),
    "spence": (sp.spence, not_negative(lambda z: mp.polylog(2, 1 - z)),
               _x(0, 0.5, 1, 2, 3, -1, nan), [0]),
    "rgamma": (sp.rgamma, mp.rgamma, _x(0, -1, -2, 1, 0.5, nan), [0]),
    "loggamma": (sp.loggamma, not_negative(mp.loggamma), _x(1, 2, 0.5, -0.5, nan), [0]),
    "gamma": (sp.gamma, _inside(mp.gamma, lambda x: x > 0 or x != mp.floor(x)),
              _x(1, -0.5, -1, -2, nan), [0]),
    "ndtri": (sp.ndtri, _quantile, _x(0, 1, 0.075, 0.25, 2, -1, nan), [0]),
    "erfinv": (sp.erfinv, lambda y: _quantile((1 + y) / 2) / mp.sqrt(2),
               _x(1, -1, 0.85, -0.5, 2, nan), [0]),
    "erfcinv": (sp.erfcinv, lambda y: -_quantile(y / 2) / mp.sqrt(2), _x(0, 2, 0.5, -1, nan), [0]),
    "entr": (sp.entr, not_negative(lambda x: -_times_log(x, x)), _x(0, 1, 2, nan), [0]),
    "boxcox": (sp.boxcox, positive(_boxcox),
               [(3, 0), (0.5, 0), (1, 0), (3, 1e-9), (3, -1e-9), (2, 0.5), (-1, 0), (nan, 0),
                (3, nan)], [0, 1]),
    "inv_boxcox": (sp.inv_boxcox, _inverse_boxcox,
                   [(1, 0), (0.5, 0), (0, 0), (1, 1e-9), (-1, 0), (2, 0.5), (nan, 0), (1, nan)],
                   [0, 1]),
    "xlogy": (sp.xlogy, _times_log, [(0, 2), (1, 3), (0, 0.5)], [0, 1]),
    "rel_entr": (sp.rel_entr, not_negative(_relative), [(0, 2), (1, 3), (2, 1), (nan, 1), (1, nan)],
                 [0, 1]),
    "kl_div": (sp.kl_div, not_negative(lambda x, y: _relative(x, y) - x + y),
               [(0, 2), (1, 3), (1, 1), (nan, 1), (1, nan)], [0, 1]),
    "pseudo_huber": (sp.pseudo_huber, not_negative(lambda d, r: d * mp.hypot(d, r) - d * d),
                     [(0, 1), (0, -2), (1, 0), (2, 1)], [0]),
    "poch": (sp.poch, _poch,
             [(0, 0.5), (-1, 1.5), (-2, 3), (-3, 2), (0, 0), (-2.5, 1), (1, 2), (-1, -0.5)], [0]),
    "poch of m": (sp.poch, _poch, [(-1, 0.5), (2, 1.5), (-2, 4), (-2.5, 1.25)], [1]),
    "betaln": (sp.betaln, lambda a, b: mp.log(abs(mp.gammaprod([a, b], [a + b]))),
               [(2, 2), (12, 12), (40, 40), (0.5, -1.2), (3, -0.5)], [0, 1]),
    "beta": (sp.beta, lambda a, b: mp.gammaprod([a, b], [a + b]),
             [(2, 2), (40, 40), (0.5, -0.5), (0.5, -1.5), (-0.5, -1.5), (-2.5, 0.5)], [0, 1]),
    "binom": (sp.binom, _inside(mp.binomial, lambda n, k: n >= 0 or n != mp.floor(n)),
              [(1, -1), (2, -1), (0.5, -2), (1, 2), (3, 4), (-0.5, 1), (3, 1.5), (-1, 2), (nan, 1)],
              [0, 1]),
    "zeta": (sp.zeta, _inside(mp.zeta, lambda x, q: x >= 1 and q > 0),
             [(2, 1), (1.5, 0.5), (0.5, 1), (2, -1), (nan, 1)], [0]),
    "yn1": (partial(sp.yn, 1), positive(lambda x: mp.bessely(1, x)), _x(1, 25, nan), [0]),
    "si": (lambda x: sp.sici(x)[0], mp.si, _x(0, 1, -4, nan), [0]),
    "ci": (lambda x: sp.sici(x)[1], lambda x: mp.ci(abs(x)), _x(1, -4, nan), [0]),
    "shi": (lambda x: sp.shichi(x)[0], mp.shi, _x(0, 1, -2, nan), [0]),
    "lambertw": (sp.lambertw, lambda z: mp.lambertw(z).real, _x(0, 1, 0.05, nan), [0]),
    "cbrt": (gnp.cbrt, _root, _x(0, 1, -8, nan), [0]),
    "sinc": (gnp.sinc, lambda x: mp.sinc(mp.pi * x), _x(0, 1, 0.5 / np.pi, nan), [0]),
}  # fmt: skip


def derivatives(function: Any, columns: list[Any], k: int) -> dict[str, tuple[int, Any]]:
    """All ways to the first two derivatives, interpreted."""
    ones = np.ones_like(columns[0])

    def on(x: Any) -> Any:
        return function(*columns[:k], x, *columns[k + 1 :])

    def reverse(x: Any) -> Any:
        return gradir.grad(lambda x: np.sum(on(x)))(x)

    def forward(x: Any) -> Any:
        return gradir.jvp(on, (x,), (ones,))[1]

    def of_reverse(x: Any) -> Any:
        return gradir.jvp(reverse, (x,), (ones,))[1]

    def of_forward(x: Any) -> Any:
        return gradir.grad(lambda x: np.sum(forward(x)))(x)

    module = gradir.trace(
        lambda x: [reverse(x), forward(x), of_reverse(x), of_forward(x)], columns[k]
    )
    made = gradir.interpret(module, module.functions[-1], columns[k])
    names = ("reverse", 1), ("forward", 1), ("forward of reverse", 2), ("reverse of forward", 2)
    return {name: (order, each) for (name, order), each in zip(names, made, strict=True)}


@pytest.mark.parametrize("name", TABLE)
def test_points(name: str) -> None:
    """Right, or of infinite second derivatives nan; never another number."""
    function, reference, places, arguments = TABLE[name]
    columns = [np.array(c, float) for c in zip(*places, strict=True)]
    for k in arguments:
        numbers = {order: [wanted(reference, at, k, order) for at in places] for order in (1, 2)}
        for way, (order, found) in derivatives(function, columns, k).items():
            for at, each, right in zip(places, found, numbers[order], strict=True):
                if order == 2 and np.isinf(right) and np.isnan(each):
                    continue
                np.testing.assert_allclose(
                    each, right, 1e-8, 1e-10, err_msg=f"{name} by {k} at {at}: {way}"
                )


# By hand: where mpmath has no value, or another one. Values, and slopes by the first argument.
BY_HAND: dict[str, tuple[Any, list[tuple[float, ...]], list[float], list[float]]] = {
    "xlogy": (sp.xlogy, [(0, 0), (0, -1), (0, inf)], [0, 0, 0], [-inf, nan, inf]),
    "xlog1py": (sp.xlog1py, [(0, -1), (0, -2), (0, inf)], [0, 0, 0], [-inf, nan, inf]),
    "rel_entr": (sp.rel_entr, [(1, 0), (0, 0)], [inf, 0], [inf, inf]),
    "boxcox": (sp.boxcox, [(0, 0), (0, 1), (0, 2), (0, 0.5)], [-inf, -1, -0.5, -2],
               [inf, 1, 0, inf]),
    "inv_boxcox": (sp.inv_boxcox, [(-1, 1), (2, -1)], [0, nan], [1, nan]),
    "beta": (sp.beta, [(0, 2), (-2, 2), (-1, 0.5)], [inf, 0.5, inf], [-inf, 0.75, -inf]),
    "betaln": (sp.betaln, [(-2, 2), (-3, 3)], [np.log(0.5), -np.log(3)], [1.5, 11 / 6]),
    "poch": (sp.poch, [(0.5, -0.5), (1, -2)], [inf, -inf], [-inf, inf]),
    "erfcx": (sp.erfcx, [(-inf,), (inf,)], [inf, 0], [-inf, 0]),
    "loggamma": (sp.loggamma, [(0,)], [inf], [-inf]),
    "zeta": (sp.zeta, [(1, 2), (0.5, 1)], [inf, nan], [-inf, nan]),
    "y1": (sp.y1, [(0,)], [-inf], [inf]),
    "lambertw": (lambda z: sp.lambertw(z, k=-1), [(0,)], [-inf], [-inf]),
    "cbrt": (gnp.cbrt, [(0,), (-0.0,)], [0, 0], [inf, inf]),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_points_by_hand(name: str) -> None:
    function, places, values, slopes = BY_HAND[name]
    columns = [np.array(c, float) for c in zip(*places, strict=True)]
    np.testing.assert_allclose(function(*columns), values, 1e-12)
    for way, (order, found) in derivatives(function, columns, 0).items():
        if order == 1:
            np.testing.assert_allclose(found, slopes, 1e-10, 1e-14, err_msg=way)


def test_jumps_have_no_slope() -> None:
    """Of poch and beta by the argument that makes an infinite quotient finite at integers alone."""
    columns = [np.array([-3.0]), np.array([2.0])]
    for function in (sp.poch, sp.beta, sp.betaln):
        for _, found in derivatives(function, columns, 1).values():
            assert np.isnan(found).all()


def test_cross_derivatives() -> None:
    """Where one of two slopes is given by hand."""
    for function, at, right in (
        (sp.xlogy, (0.0, 2.0), 0.5),
        (sp.rel_entr, (0.0, 2.0), -0.5),
        (sp.boxcox, (3.0, 0.0), np.log(3) / 3),
        (sp.pseudo_huber, (0.0, 2.0), 1.0),
    ):
        x, y = map(np.array, at)
        by_x = gradir.grad(function, argnums=0)
        by_y = gradir.grad(function, argnums=1)
        found = gradir.grad(by_x, argnums=1), gradir.grad(by_y, argnums=0)
        for each in found:
            module = gradir.trace(each, x, y)
            [made] = gradir.interpret(module, module.functions[-1], x, y)
            np.testing.assert_allclose(made, right, 1e-12)


def test_deviations_of_equal_elements() -> None:
    """The slope is 0, whichever elements count; angle is constant, nan too."""
    is_there = np.array([True, True, False])
    x = np.array([1.0, 1.0, np.nan])
    for function, at in (
        (gnp.nanstd, x),
        (lambda x: gnp.std(x, where=is_there), np.array([1.0, 1.0, 3.0])),
    ):
        module = gradir.trace(gradir.grad(function), at)
        [made] = gradir.interpret(module, module.functions[-1], at)
        np.testing.assert_array_equal(made, [0, 0, 0])
    for _, (_, made) in derivatives(gnp.angle, [x], 0).items():
        np.testing.assert_array_equal(made, [0, 0, 0])


def test_native_code_says_the_same() -> None:
    """Compiled together, gradients at places of the tables."""
    chosen = ("erfcx", "entr", "boxcox", "inv_boxcox", "xlogy", "ndtri", "spence", "cbrt", "beta")
    given = [[np.array(c, float) for c in zip(*TABLE[n][2], strict=True)] for n in chosen]

    def slopes(columns: Any) -> Any:
        made = []
        for name, args in zip(chosen, columns, strict=True):
            wrt = tuple(range(len(args)))
            made.append(gradir.grad(lambda *x, f=TABLE[name][0]: np.sum(f(*x)), wrt)(*args))
        return made

    native = gradir.jit(slopes)(given)
    module = gradir.trace(slopes, given)
    flat = iter(gradir.interpret(module, module.functions[-1], *(c for cs in given for c in cs)))
    for name, found in zip(chosen, native, strict=True):
        for each in found:
            np.testing.assert_allclose(each, next(flat), 1e-11, 1e-15, err_msg=name)
