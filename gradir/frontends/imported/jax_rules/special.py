"""JAX's special functions: error functions, gammas, their integrals, Bessel functions, zeta."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.jax_rules.indexing import MOST_KNOWN
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.scipy.gammas import LAST_ORDER
from gradir.frontends.scipy.special import BY_NAME
from gradir.frontends.tracing.values import constant_value_of
from gradir.frontends.transforms.derivatives import vjp

RULES = RuleTable("JAX")

RULES.plain(
    erf=op.erf, erfc=op.erfc, erf_inv=BY_NAME["erfinv"], lgamma=op.lgamma,
    digamma=BY_NAME["digamma"], igamma=BY_NAME["gammainc"], igammac=BY_NAME["gammaincc"],
    regularized_incomplete_beta=BY_NAME["betainc"], bessel_i0e=BY_NAME["i0e"],
    bessel_i1e=BY_NAME["i1e"], zeta=BY_NAME["zeta"],
)  # fmt: skip


@RULES.rule("polygamma")
def _polygamma(call: Any, order: Any, x: Any) -> Any:
    """Of a known order; or of any by Hurwitz's zeta function."""
    known = constant_value_of(order) if order.size <= MOST_KNOWN else None
    if known is not None and known.size:
        first = known.flat[0]
        if (known == first).all() and first == int(first) and 0 <= first <= LAST_ORDER:
            return BY_NAME["polygamma"](int(first), x)
    sign = op.cos(np.pi * (order + 1))
    return sign * op.exp(op.lgamma(order + 1)) * BY_NAME["zeta"](order + 1, x)


@RULES.rule("igamma_grad_a")
def _igamma_slope(call: Any, a: Any, x: Any) -> Any:
    made, back = vjp(lambda a: BY_NAME["gammainc"](a, x), a)
    return back(gnp.ones_like(made))[0]


@RULES.rule("random_gamma_grad")
def _gamma_sample_slope(call: Any, a: Any, x: Any) -> Any:
    """The slope of a sample x in a, at a constant gammainc(a, x)."""
    density = op.exp((a - 1) * op.log(x) - x - op.lgamma(a))
    return -_igamma_slope(call, a, x) / density
