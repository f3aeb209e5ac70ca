"""nn: activations that are compositions of ops, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.activations import SoftmaxOp, SoftplusOp, SoftsignOp
from gradir.dialects.nn.gated import PreluOp
from gradir.frontends.functions.arguments import axis_of, floating
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import is_complex_array
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer


def relu6(x: Any) -> Tracer:
    """minimum(relu(x), 6).   vjp: ct where 0 < x < 6"""
    return _between(floating(x), 0, 6)


def _between(x: Tracer, low: float, high: float) -> Tracer:
    return gnp.where(x <= low, low, gnp.where(x >= high, high, x))


def threshold(x: Any, threshold: float, value: float) -> Tracer:
    """x where x > threshold, else `value`; nan of nan.   vjp: ct where x > threshold"""
    x = floating(x)
    return gnp.where(x <= threshold, value, x)


def hardshrink(x: Any, lambd: float = 0.5) -> Tracer:
    """x where |x| > lambd, else 0; nan of nan.   vjp: ct where |x| > lambd"""
    x = floating(x)
    return gnp.where((x >= -lambd) & (x <= lambd), 0, x)


def softshrink(x: Any, lambd: float = 0.5) -> Tracer:
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0; lambd >= 0; nan of nan.

    vjp: ct where |x| > lambd
    """
    if not lambd >= 0:
        raise refusal(f"nn.softshrink: lambd must be >= 0, got {lambd!r}")
    x = floating(x)
    inner = gnp.where(x >= -lambd, x * 0, x + lambd)
    return gnp.where(x > lambd, x - lambd, inner)


def softplus(x: Any, beta: float | None = None, threshold: float | None = None) -> Tracer:
    """log(1 + exp(beta * x)) / beta, without overflow; x where beta * x > threshold.

    Without a threshold it is the function itself, everywhere. The op is nn.softplus.
    vjp: ct * sigmoid(beta * x); ct beyond the threshold
    """
    x = floating(x)
    y: Any = apply(SoftplusOp, {"x": x, "beta": beta})
    if threshold is None:
        return y
    return gnp.where(x * (1 if beta is None else beta) > threshold, x, y)


def prelu(x: Any, weight: Any) -> Tracer:
    """x where x > 0, else weight * x: weight [] or [1], or [C] along axis 1 of x.

    The op is nn.prelu.
    vjp: ct where x > 0, else weight * ct; sum of x * ct where not x > 0, so 0 at 0
    """
    weight = floating(weight)
    return apply(PreluOp, {"x": x, "weight": weight if weight.ndim else weight[None]})


def softsign(x: Any) -> Tracer:
    """x / (1 + |x|).   vjp: ct / (1 + |x|) ** 2; of complex numbers that of the quotient

    The op, of real numbers, is nn.softsign.
    """
    x = floating(x)
    if is_complex_array(x):
        size: Any = gnp.abs(x)
        return x / (1 + size)
    return apply(SoftsignOp, {"x": x})


def tanhshrink(x: Any) -> Tracer:
    """x - tanh(x).   vjp: ct * tanh(x) ** 2"""
    x = floating(x)
    return x - gnp.tanh(x)


def softmin(x: Any, axis: int = -1) -> Tracer:
    """softmax(-x) along `axis`."""
    return apply(SoftmaxOp, {"x": -floating(x), "axis": axis})


def rrelu(
    x: Any, key: Any = None, counter: Any = 0, lower: float = 1 / 8, upper: float = 1 / 3
) -> Tracer:
    """x where x >= 0, else x * a: a uniform in [lower, upper) for each element, drawn from `key`
    and `counter`; without a key, as in evaluation, a is (lower + upper) / 2.   vjp: ct, or ct * a
    """
    if not lower <= upper:
        raise refusal(f"nn.rrelu: lower must be <= upper, got {lower!r} and {upper!r}")
    x = floating(x)
    slope: Any = (lower + upper) / 2
    if key is not None and lower < upper:
        slope = gnp.uniform(key, counter, shape=x.shape, dtype=x.dtype, low=lower, high=upper)
    return gnp.where(x >= 0, x, x * slope)


def gumbel_softmax(
    logits: Any, key: Any, counter: Any, tau: float = 1.0, hard: bool = False, axis: int = -1
) -> Tracer:
    """softmax((logits + g) / tau) along `axis`, g from Gumbel's distribution by `key`, `counter`.

    hard: the one-hot vector of the largest; its derivative is the softmax's.
    """
    x = floating(logits)
    if not tau > 0:
        raise refusal(f"nn.gumbel_softmax: tau must be > 0, got {tau!r}")
    # -log(1 - u) is exponentially distributed; u is below 1, and 0 is moved away from log's pole
    u = gnp.uniform(key, counter, shape=x.shape, dtype=x.dtype)
    tiny = float(gnp.finfo(x.dtype).tiny)
    noise = -gnp.log(gnp.maximum(-gnp.log1p(-u), tiny))
    soft: Any = apply(SoftmaxOp, {"x": (x + noise) / tau, "axis": axis})
    if not hard:
        return soft
    place = axis_of(x, axis)
    largest = gnp.expand_dims(gnp.argmax(soft, axis=place), place)
    line = [-1 if d == place else 1 for d in range(x.ndim)]
    chosen = gnp.reshape(gnp.arange(x.shape[place]), line) == largest
    return gnp.where(chosen, 1 + (soft - soft), soft - soft)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    relu6, threshold, hardshrink, softshrink, softplus, prelu, softsign, tanhshrink, softmin, rrelu,
    gumbel_softmax,
)  # fmt: skip
