"""PyTorch's activations, and its special functions of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.torch_rules.arguments import AtenRules, Function, axis_of, typed
from gradir.frontends.scipy.special import BY_NAME
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.markers import no_grad

RULES = AtenRules()

RULES.of_floats(
    sigmoid=nn.sigmoid, silu=nn.silu, mish=nn.mish, relu6=nn.relu6, selu=nn.selu,
    hardsigmoid=nn.hardsigmoid, hardswish=nn.hardswish, log_sigmoid=nn.logsigmoid,
    softsign=nn.softsign, erf=op.erf, erfc=op.erfc, lgamma=op.lgamma, i0=gnp.i0,
    digamma=BY_NAME["digamma"], erfinv=BY_NAME["erfinv"],
    **{f"special_{name}": BY_NAME[name] for name in
       "i0e i1 i1e ndtr ndtri log_ndtr entr erfcx".split()},
    special_modified_bessel_i0=gnp.i0, special_modified_bessel_i1=BY_NAME["i1"],
    special_modified_bessel_k0=BY_NAME["k0"], special_modified_bessel_k1=BY_NAME["k1"],
    special_bessel_j0=BY_NAME["j0"], special_bessel_j1=BY_NAME["j1"],
    special_bessel_y0=BY_NAME["y0"], special_bessel_y1=BY_NAME["y1"],
    special_scaled_modified_bessel_k0=BY_NAME["k0e"],
    special_scaled_modified_bessel_k1=BY_NAME["k1e"],
)  # fmt: skip


@RULES.aten("relu")
def _relu(call: Any, x: Any) -> Any:
    return nn.relu(x) if is_float(element(x)) else op.maximum(x, 0)


@RULES.aten("gelu")
def _gelu(call: Any, x: Any, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate)


@RULES.aten("leaky_relu")
def _leaky_relu(call: Any, x: Any, negative_slope: float = 0.01) -> Any:
    return nn.leaky_relu(x, slope=negative_slope)


@RULES.aten("elu")
def _elu(call: Any, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    low = gnp.where(op.greater(x, 0), converted(0, element(x)), x)
    below = op.multiply(op.expm1(op.multiply(low, input_scale)), alpha * scale)
    return gnp.where(op.greater(x, 0), op.multiply(x, scale), below)


@RULES.aten("celu")
def _celu(call: Any, x: Any, alpha: float = 1) -> Any:
    return nn.celu(x, alpha)


@RULES.aten("hardtanh")
def _hardtanh(call: Any, x: Any, min_val: float = -1, max_val: float = 1) -> Any:
    """x between two numbers; at the ends the derivative is 0."""
    inside = op.logical_and(op.greater(x, min_val), op.less(x, max_val))
    ends = gnp.where(
        op.less_equal(x, min_val), *(converted(v, element(x)) for v in (min_val, max_val))
    )
    return gnp.where(inside, x, gnp.where(op.isnan(x), x, ends) if is_float(element(x)) else ends)


@RULES.aten("softplus")
def _softplus(call: Any, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return nn.softplus(x, beta, threshold)


@RULES.aten("hardshrink")
def _hardshrink(call: Any, x: Any, lambd: float = 0.5) -> Any:
    return nn.hardshrink(x, lambd)


@RULES.aten("softshrink")
def _softshrink(call: Any, x: Any, lambd: float = 0.5) -> Any:
    return nn.softshrink(x, lambd)


@RULES.aten("threshold")
def _threshold(call: Any, x: Any, threshold: float, value: float) -> Any:
    return gnp.where(op.greater(x, threshold), x, converted(value, element(x)))


@RULES.aten("prelu", "_prelu_kernel")
def _prelu(call: Any, x: Any, weight: Any) -> Any:
    if weight.size == 1 and x.ndim:
        weight = gnp.reshape(weight, [1] * x.ndim)
    elif weight.ndim == 1 and x.ndim > 1:
        weight = gnp.reshape(weight, [1, -1, *[1] * (x.ndim - 2)])
    return gnp.where(op.greater(x, 0), x, op.multiply(gnp.reshape(weight, ()) if not x.ndim
                                                      else weight, x))  # fmt: skip


@RULES.aten("glu")
def _glu(call: Any, x: Any, dim: int = -1) -> Any:
    return nn.glu(x, axis=axis_of(x, dim))


@RULES.aten("rrelu", "rrelu_with_noise", note="by gradir's random numbers")
def _rrelu(
    call: Any, x: Any, noise: Any = None, lower: float = 1 / 8, upper: float = 1 / 3,
    training: bool = False, key: Any = None,
) -> Any:  # fmt: skip
    if not training:
        return gnp.where(op.greater_equal(x, 0), x, op.multiply(x, (lower + upper) / 2))
    return nn.rrelu(x, key, 0, lower, upper)


def _along(function: Function) -> Function:
    def rule(call: Any, x: Any, dim: int, half_to_float: bool = False) -> Any:
        [x] = typed(call, x)
        if not x.ndim:
            return gnp.reshape(function(gnp.reshape(x, (1,)), axis=0), ())
        return function(x, axis=axis_of(x, dim))

    return rule


RULES.aten("softmax", "_softmax", "special_softmax")(_along(nn.softmax))
RULES.aten("log_softmax", "_log_softmax", "special_log_softmax")(_along(nn.log_softmax))


@RULES.aten("_safe_softmax")
def _safe_softmax(call: Any, x: Any, dim: int) -> Any:
    """softmax, 0 in rows of -inf alone."""
    [x] = typed(call, x)
    if not x.ndim:
        return gnp.reshape(_safe_softmax(call, gnp.reshape(x, (1,)), 0), ())
    axis = axis_of(x, dim)
    is_none = op.all(op.equal(x, -np.inf), axis=[axis], keepdims=True)
    made = nn.softmax(gnp.where(is_none, converted(0, element(x)), x), axis=axis)
    return gnp.where(is_none, converted(0, element(x)), made)


# Special functions of several arguments.


@RULES.aten("logit", "special_logit")
def _logit(call: Any, x: Any, eps: float | None = None) -> Any:
    [x] = typed(call, x)
    if eps is not None:
        x = gnp.where(op.less(x, eps), eps, gnp.where(op.greater(x, 1 - eps), 1 - eps, x))
    return BY_NAME["logit"](x)


def _special(name: str) -> Function:
    return lambda call, x, other: BY_NAME[name](*typed(call, x, other))


for _names, _ours in {
    ("xlogy", "special_xlogy"): "xlogy", ("special_xlog1py",): "xlog1py",
    ("special_zeta",): "zeta", ("igamma", "special_gammainc"): "gammainc",
    ("igammac", "special_gammaincc"): "gammaincc",
}.items():  # fmt: skip
    RULES.aten(*_names)(_special(_ours))


@RULES.aten("polygamma", "special_polygamma")
def _polygamma(call: Any, n: Any, self: Any) -> Any:
    [x] = typed(call, self)
    return BY_NAME["polygamma"](n, x)


@RULES.aten("mvlgamma", "special_multigammaln")
def _multigammaln(call: Any, x: Any, p: int) -> Any:
    [x] = typed(call, x)
    return BY_NAME["multigammaln"](x, p)


# Dropped elements.


_DRAWN = "by gradir's random numbers, of a key"


@RULES.aten("dropout", note=_DRAWN)
def _dropout(call: Any, x: Any, p: float, train: bool, key: Any = None) -> Any:
    return nn.dropout(x, key, 0, p=p) if key is not None else x


@RULES.aten("native_dropout", note=_DRAWN)
def _native_dropout(call: Any, x: Any, p: float, train: bool | None, key: Any = None) -> Any:
    if key is None:
        return x, gnp.ones(x.shape, dtype="bool")
    kept = no_grad(nn.dropout(gnp.ones(x.shape, dtype=x.dtype), key, 0, p=p))
    return op.multiply(x, kept), op.greater(kept, 0)


@RULES.aten("alpha_dropout", note=_DRAWN)
def _alpha_dropout(call: Any, x: Any, p: float, train: bool, key: Any = None) -> Any:
    return nn.alpha_dropout(x, key, 0, p=p) if key is not None else x


@RULES.aten("feature_alpha_dropout", note=_DRAWN)
def _feature_alpha_dropout(call: Any, x: Any, p: float, train: bool, key: Any = None) -> Any:
    return nn.feature_alpha_dropout(x, key, 0, p=p) if key is not None else x


@RULES.aten("feature_dropout", note=_DRAWN)
def _feature_dropout(call: Any, x: Any, p: float, train: bool, key: Any = None) -> Any:
    if key is None:
        return x
    if x.ndim < 2:
        raise refusal("feature_dropout: there are no channels")
    shape = (*x.shape[:2], *[1] * (x.ndim - 2))
    kept = no_grad(nn.dropout(gnp.ones(shape, dtype=x.dtype), key, 0, p=p))
    return gnp.where(op.greater(kept, 0), op.multiply(x, kept), 0).astype(x.dtype)
