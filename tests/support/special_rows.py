"""The functions of gradir.scipy.special with their meanings in mpmath, and points of their domains.

Points are the ends of the domain, tiny and huge numbers, integers, half-integers, and those where
formulas join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp
from scipy_rows import HUGE, LARGE, MIDDLE, PROBABILITIES, SMALL, TINY, TO_ONE, Number, Row, signed

from gradir.scipy import special as sp


def _all(*parts: Sequence[float]) -> list[float]:
    return [x for part in parts for x in part]


def normal_quantile(p: Number) -> Number:
    """The quantile of the normal distribution."""
    if p > 0.5:
        return -_quantile_below(1 - p)
    return _quantile_below(p)


def _quantile_below(p: Number) -> Number:
    if p == 0.5:
        return mp.mpf(0)
    x = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else (p - 0.5) * 2.5
    for _ in range(60):
        below = mp.erfc(-x / mp.sqrt(2)) / 2
        step = mp.log(below / p) * below / mp.npdf(x)
        x -= step
        if abs(step) < abs(x) * mp.eps * 10:
            break
    return x


def _logistic(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def _erfcx(x: Number) -> Number:
    return mp.exp(x * x) * mp.erfc(x)


def _log_ndtr(x: Number) -> Number:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def _dawson(x: Number) -> Number:
    if x > 20:
        return _far_dawson(x)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _far_dawson(x: Number) -> Number:
    """By an asymptotic series."""
    term, found, k = 1 / (2 * x), mp.mpf(0), 0
    while abs(term) > abs(found) * mp.eps and k < 400:
        found += term
        k += 1
        term *= (2 * k - 1) / (2 * x * x)
    return found


def _spence(z: Number) -> Number:
    return mp.re(mp.polylog(2, 1 - z))


def _psi(n: int) -> Callable[[Number], Number]:
    return lambda x: mp.psi(n, x)


def _incomplete(a: Number, x: Number) -> Number:
    return mp.gammainc(a, 0, x, regularized=True)


def _complement(a: Number, x: Number) -> Number:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _beta_share(a: Number, b: Number, x: Number) -> Number:
    return mp.betainc(a, b, 0, x, regularized=True)


def _beta_rest(a: Number, b: Number, x: Number) -> Number:
    return mp.betainc(a, b, x, 1, regularized=True)


def _of(name: str, meaning: Callable[..., Number], points: Sequence[float], **rest: Any) -> Row:
    return Row(name, getattr(sp, name), meaning, points, **rest)


def _order(name: str, n: int, meaning: Callable[..., Number], points: Sequence[float]) -> Row:
    """A function of an order, and of a number."""
    return Row(f"{name} {n}", lambda x: getattr(sp, name)(n, x), meaning, points)


_POSITIVE = _all(TINY, SMALL, MIDDLE, LARGE, HUGE)
_UP = _all(TINY, SMALL, MIDDLE, LARGE)
_WAVES = _all(TINY, SMALL, MIDDLE, (100.0, 1e4))
_SHAPES = ((0.5,), (1.0,), (3.0,), (30.0,))
_BETAS = ((0.5, 0.5), (1.0, 3.0), (2.5, 4.0), (30.0, 12.0))
_HALVES = (-0.5, -1.5, -2.5, -5.5, -0.25, -10.25)

ROWS: tuple[Row, ...] = (
    _of("erf", mp.erf, signed(TINY, SMALL, (5.0, 10.0, 20.0)), digits=700),
    _of("erfc", mp.erfc, signed(TINY, SMALL, (5.0, 10.0, 20.0, 26.0)), digits=700),
    _of("erfcx", _erfcx, [*_all(TINY, SMALL, MIDDLE, (100.0,)), -0.5, -1.0, -5.0, -20.0]),
    _of("erfi", mp.erfi, signed(TINY, SMALL, (5.0, 10.0, 20.0))),
    _of("dawsn", _dawson, _all(TINY, SMALL, MIDDLE, LARGE, (1e8,))),
    _of(
        "erfinv",
        lambda y: normal_quantile((1 + y) / 2) / mp.sqrt(2),
        signed((1e-17, 1e-9, 1e-4, 0.1, 0.5, 0.85, 0.9, 0.9999, 1 - 2.0**-30)),
        ends=(1.0, -1.0),
    ),
    _of(
        "erfcinv",
        lambda y: -normal_quantile(y / 2) / mp.sqrt(2),
        [*PROBABILITIES, 1.0001, 1.25, 1.5, 1.9, 1.9999],
        ends=(2.0,),
    ),
    _of(
        "ndtr",
        lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
        signed(TINY, SMALL, (5.0, 10.0, 20.0, 37.0)),
        digits=700,
    ),
    _of("log_ndtr", _log_ndtr, signed(TINY, SMALL, MIDDLE), digits=700),
    _of("ndtri", normal_quantile, PROBABILITIES, ends=(1.0,)),
    _of("expit", _logistic, signed(TINY, SMALL, MIDDLE), digits=700),
    _of("log_expit", lambda x: -mp.log1p(mp.exp(-x)), signed(TINY, SMALL, MIDDLE), digits=700),
    _of("logit", lambda p: mp.log(p) - mp.log1p(-p), PROBABILITIES, ends=(1.0,)),
    _of("entr", lambda x: -x * mp.log(x), _POSITIVE),
    _of("exp10", lambda x: mp.mpf(10) ** x, signed(TINY, SMALL, (20.0, 100.0, 300.0))),
    _of("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), signed(TINY[1:], SMALL, LARGE)),
    _of(
        "sinc",
        lambda x: mp.sinc(mp.pi * x),
        signed(TINY, (0.1, 0.15, 0.16, 0.25, 0.5, 1.0, 1.5, 2.0, 7.5, 100.0)),
    ),
    _of("gamma", mp.gamma, [*_all(TINY, SMALL, MIDDLE, (100.0, 170.5)), *_HALVES]),
    _of("gammaln", lambda x: mp.re(mp.loggamma(x)), [*_POSITIVE, *_HALVES]),
    _of("loggamma", mp.loggamma, _POSITIVE),
    _of("rgamma", mp.rgamma, [*_all(TINY, SMALL, MIDDLE), *_HALVES, -1.0, -2.0]),
    _of("digamma", mp.digamma, [*_all(TINY, SMALL, MIDDLE, LARGE, HUGE), *_HALVES]),
    *(
        _order("polygamma", n, _psi(n), [*_all((1e-9, 1e-4), SMALL, MIDDLE, LARGE), -0.5, -2.5])
        for n in (1, 2)
    ),
    Row(
        "multigammaln 2",
        lambda a: sp.multigammaln(a, 2),
        lambda a: mp.log(mp.pi) / 2 + mp.loggamma(a) + mp.loggamma(a - mp.mpf(0.5)),
        _all(SMALL[3:], MIDDLE, LARGE),
    ),
    _of(
        "gammainc", _incomplete, _all(TINY[1:], SMALL, MIDDLE, (100.0,)), others=_SHAPES, digits=200
    ),
    _of(
        "gammaincc",
        _complement,
        _all(TINY[1:], SMALL, MIDDLE, (100.0,)),
        others=_SHAPES,
        digits=420,
    ),
    _of("beta", mp.beta, _all(TINY[1:], SMALL, MIDDLE, (100.0,)), others=_SHAPES),
    _of(
        "betaln",
        lambda a, b: mp.log(mp.beta(a, b)),
        _all(TINY, SMALL, MIDDLE, LARGE),
        others=_SHAPES,
    ),
    _of("betainc", _beta_share, TO_ONE, others=_BETAS, ends=(1.0,), digits=700),
    _of("betaincc", _beta_rest, TO_ONE, others=_BETAS, ends=(1.0,), digits=700),
    _of("binom", mp.binomial, (0.5, 1.5, 2.0, 3.0, 7.25), others=((5.0,), (10.5,), (40.0,))),
    _of("poch", mp.rf, (0.5, 1.0, 1.5, 2.0, 3.0, 7.25), others=((0.5,), (3.0,), (20.0,))),
    _of(
        "zeta",
        lambda x, q: mp.zeta(x, q),
        _all((0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 1e4)),
        others=((1.5,), (2.0,), (7.0,)),
        order=1,
    ),
    _of("exp1", mp.e1, _all(TINY, SMALL, MIDDLE, (100.0, 700.0))),
    _of("expi", mp.ei, signed(TINY, SMALL, MIDDLE, (100.0, 700.0))),
    _order("expn", 2, lambda x: mp.expint(2, x), _all(TINY, SMALL, MIDDLE, (100.0, 700.0))),
    _of("ellipk", mp.ellipk, [*TO_ONE, -0.5, -3.0, -100.0, -1e8], ends=(1.0,)),
    _of("ellipe", mp.ellipe, [*TO_ONE, -0.5, -3.0, -100.0, -1e8], ends=(1.0,)),
    _of("spence", _spence, _all(TINY, SMALL, MIDDLE, LARGE)),
    _of(
        "lambertw",
        lambda z: mp.re(mp.lambertw(z)),
        [*_POSITIVE, -1e-9, -0.1, -0.25, -0.36, -0.3678],
        ends=(-0.36787944117144233,),
    ),
    Row("si", lambda x: sp.sici(x)[0], mp.si, signed(TINY, SMALL, MIDDLE, (100.0, 1e4))),
    Row("ci", lambda x: sp.sici(x)[1], mp.ci, _all(TINY, SMALL, MIDDLE, (100.0, 1e4))),
    Row("shi", lambda x: sp.shichi(x)[0], mp.shi, signed(TINY, SMALL, MIDDLE)),
    Row("chi", lambda x: sp.shichi(x)[1], mp.chi, _all(TINY, SMALL, MIDDLE)),
    Row("fresnel s", lambda x: sp.fresnel(x)[0], mp.fresnels, signed(TINY[1:], SMALL, MIDDLE)),
    Row("fresnel c", lambda x: sp.fresnel(x)[1], mp.fresnelc, signed(TINY[1:], SMALL, MIDDLE)),
    _of("i0", lambda x: mp.besseli(0, x), signed(TINY, SMALL, MIDDLE, (100.0, 700.0))),
    _of("i1", lambda x: mp.besseli(1, x), signed(TINY, SMALL, MIDDLE, (100.0, 700.0))),
    _of("i0e", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), _all(TINY, SMALL, MIDDLE, LARGE)),
    _of("i1e", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), _all(TINY, SMALL, MIDDLE, LARGE)),
    _of("k0", lambda x: mp.besselk(0, x), _all(TINY[1:], SMALL, MIDDLE, (100.0, 700.0))),
    _of("k1", lambda x: mp.besselk(1, x), _all(TINY[1:], SMALL, MIDDLE, (100.0, 700.0))),
    _of("k0e", lambda x: mp.exp(x) * mp.besselk(0, x), _all(TINY[1:], SMALL, MIDDLE, LARGE)),
    _of("k1e", lambda x: mp.exp(x) * mp.besselk(1, x), _all(TINY[1:], SMALL, MIDDLE, LARGE)),
    _of("j0", lambda x: mp.besselj(0, x), _WAVES),
    _of("j1", lambda x: mp.besselj(1, x), _WAVES),
    _of("y0", lambda x: mp.bessely(0, x), _WAVES),
    _of("y1", lambda x: mp.bessely(1, x), _WAVES),
    _order("jn", 3, lambda x: mp.besselj(3, x), _WAVES[3:]),
    _order("yn", 2, lambda x: mp.bessely(2, x), _WAVES[3:]),
    _order("kn", 2, lambda x: mp.besselk(2, x), _all(TINY[1:], SMALL, MIDDLE, (100.0, 700.0))),
    _order("iv", 2, lambda x: mp.besseli(2, x), _all(TINY[2:], SMALL, MIDDLE, (100.0,))),
    Row(
        "boxcox",
        lambda p, x: sp.boxcox(x, p),
        lambda p, x: mp.log(x) if p == 0 else mp.powm1(x, p) / p,
        _all(TINY[1:], SMALL, MIDDLE, (1e4,)),
        others=((0.0,), (1e-9,), (0.5,), (2.0,)),
    ),
    Row(
        "inv_boxcox",
        lambda p, y: sp.inv_boxcox(y, p),
        lambda p, y: mp.exp(y) if p == 0 else mp.exp(mp.log1p(p * y) / p),
        _all(TINY[1:], SMALL, (10.0, 50.0)),
        others=((0.0,), (1e-9,), (0.5,), (2.0,)),
    ),
    _of("xlogy", lambda x, y: x * mp.log(y), _POSITIVE, others=((0.5,), (3.0,))),
    _of(
        "xlog1py", lambda x, y: x * mp.log1p(y), [*_POSITIVE, -0.5, -1e-9], others=((0.5,), (3.0,))
    ),
    _of(
        "rel_entr",
        lambda x, y: x * mp.log(x / y),
        _all(TINY, SMALL, MIDDLE),
        others=((0.5,), (3.0,)),
    ),
    _of(
        "kl_div",
        lambda x, y: x * mp.log(x / y) - x + y,
        _all(TINY, SMALL, MIDDLE),
        others=((0.5,), (3.0,)),
    ),
    _of(
        "pseudo_huber",
        lambda d, r: d * (mp.hypot(d, r) - d),
        signed(TINY, SMALL, LARGE),
        others=((1.0,), (3.0,)),
    ),
)


_BY_REASON = {
    "an op with a row in docs/ops.md": "exp2 expm1 log1p logsumexp softmax log_softmax psi",
    "four functions with rows: si, ci, shi, chi": "sici shichi",
    "a function of whole numbers": "comb factorial gammasgn",
    "the loss nn.huber_loss": "huber",
    "a root of a function with a row": "gammaincinv gammainccinv betaincinv",
    "another order or scale of a function with a row": "jv ive",
}
REASONS = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
