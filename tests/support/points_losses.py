"""What each loss of two operands means in mpmath, without a reduction.

A reduced loss is a sum of these, which has a row of its own.
"""

from __future__ import annotations

from mpmath import mp
from points_pairs import Answers, Binary, Number


def _squared(x: Number, y: Number) -> Answers:
    d = x - y
    return d * d, 2 * d, -2 * d, 2, -2, 2


def _distance(x: Number, y: Number) -> Answers:
    slope = mp.sign(x - y)
    return abs(x - y), slope, -slope, 0, 0, 0


def _huber(x: Number, y: Number) -> Answers:
    """With delta 1, which is smooth_l1 with beta 1."""
    d = x - y
    if abs(d) >= 1:
        return abs(d) - mp.mpf(0.5), mp.sign(d), -mp.sign(d), 0, 0, 0
    return d * d / 2, d, -d, 1, -1, 1


def _is_sure(x: float, y: float) -> bool:
    """Rounding does not move the difference to the kink."""
    return x % 0.5 == y % 0.5 == 0 or not 0.9 < abs(x - y) <= 1


def _logistic(x: Number) -> Number:
    return 1 / (1 + mp.exp(min(-x, mp.mpf(10) ** 5)))


def _linear_parts(x: Number, t: Number) -> tuple[Number, Number]:
    return (1 - t) * max(x, 0), t * max(-x, 0)


def _with_logits(x: Number, t: Number) -> Answers:
    small = mp.exp(max(-abs(x), -(mp.mpf(10) ** 5)))
    slope = (1 - t) * _logistic(x) - t * _logistic(-x)
    value = sum(_linear_parts(x, t)) + mp.log1p(small)
    return value, slope, -x, small / (1 + small) ** 2, -1, 0


def _logits_scale(x: float, t: float, order: int) -> Number:
    """The larger of the terms with the target, and without."""
    numbers = mp.mpf(x), mp.mpf(t)
    if order == 0:
        return max(map(abs, _linear_parts(*numbers)))
    first = max(abs(1 - numbers[1]) * _logistic(x), abs(numbers[1]) * _logistic(-x))
    # two terms with the target, which cancel
    return first if order == 1 else abs(numbers[1]) * _with_logits(*numbers)[3]


def _cross_entropy(x: Number, t: Number) -> Answers:
    variance, present, absent = x * (1 - x), mp.log(x), mp.log1p(-x)
    curve = 1 / variance - (x - t) * (1 - 2 * x) / variance**2
    value = (t - 1) * absent - t * present
    return value, (x - t) / variance, absent - present, curve, -1 / variance, 0


def _cross_entropy_scale(x: float, t: float, order: int) -> Number:
    size, number = max(mp.mpf(1), abs(mp.mpf(t))), mp.mpf(x)
    return size / (number * (1 - number)) ** order * abs(mp.log(number)) ** (order == 0)


def _divergence(x: Number, t: Number) -> Answers:
    return t * (mp.log(t) - x), -t, mp.log(t) + 1 - x, 0, -1, 1 / t


def _divergence_scale(x: float, t: float, order: int) -> Number:
    parts = abs(mp.log(t)), abs(mp.mpf(x))
    return max(parts) * mp.mpf(t) if order == 0 else max(*parts, 1) if order == 1 else 0


_EACH = '{reduction = "none"}'
LOSSES: tuple[Binary, ...] = (
    Binary(f"nn.mse_loss %x, %y {_EACH}", _squared),
    Binary(f"nn.l1_loss %x, %y {_EACH}", _distance),
    Binary(f"nn.huber_loss %x, %y {_EACH}", _huber, holds=_is_sure),
    Binary(f"nn.smooth_l1_loss %x, %y {_EACH}", _huber, holds=_is_sure),
    Binary(f"nn.bce_with_logits %x, %y {_EACH}", _with_logits, scale=_logits_scale),
    Binary(f"nn.bce_loss %x, %y {_EACH}", _cross_entropy, scale=_cross_entropy_scale,
           holds=lambda x, t: 1e-10 < x < 1 and abs(t) < 1e20),
    Binary(f"nn.kl_div %x, %y {_EACH}", _divergence, scale=_divergence_scale,
           holds=lambda x, t: t > 0),
)  # fmt: skip
