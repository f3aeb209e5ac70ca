"""Third derivatives of a sample of ops against central differences of the second."""

from __future__ import annotations

import pytest
from op_cases import CASES, Case
from op_programs import function, is_active, module_of
from xdsl.dialects.builtin import f64

from gradir import Module
from gradir.testing import check_grads

SAMPLE = (
    "array.exp", "array.expm1", "array.log", "array.log1p", "array.sin", "array.cos", "array.tan",
    "array.tanh", "array.sqrt", "array.rsqrt", "array.square", "array.reciprocal", "array.erf",
    "array.asin", "array.atan", "array.multiply", "array.divide", "array.pow", "array.atan2",
    "array.hypot", "array.logaddexp", "array.where", "array.maximum", "array.abs", "array.clip",
    "array.sum", "array.mean", "array.prod", "array.var", "array.std", "array.norm", "array.max",
    "array.logsumexp", "array.reshape", "array.permute_dims", "array.broadcast_to", "array.pad",
    "array.slice", "array.take", "array.scatter_add", "array.take_along_axis", "array.matmul",
    "nn.softmax", "nn.log_softmax", "nn.sigmoid", "nn.gelu", "nn.silu", "nn.softplus", "nn.relu",
    "nn.linear", "nn.layer_norm", "nn.cross_entropy", "nn.mse_loss",
    "nn.bce_with_logits", "nn.dropout", "grad.accumulate",
    "array.cumulative_sum", "array.cumulative_prod", "array.sort", "array.cholesky", "array.solve",
    "array.triangular_solve", "array.inv", "array.det", "array.slogdet",
)  # fmt: skip


def sample() -> list[Case]:
    """The first case of each op that has elements to differentiate."""
    first: dict[str, Case] = {}
    for case in CASES:
        if is_active(case) and case.is_derivative and case.arrays(f64)[0].size:
            first.setdefault(case.op, case)
    return [first[op] for op in SAMPLE]


@pytest.mark.parametrize("case", sample(), ids=str)
def test_third_order(case: Case) -> None:
    arrays = case.arrays(f64)
    module = Module(module_of(function(case, arrays, f64)))
    check_grads((module, "f"), arrays, order=3, wrt=case.wrt, atol=1e-6, rtol=1e-7, native=False)
