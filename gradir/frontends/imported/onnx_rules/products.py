"""ONNX's operators that are sums of products."""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.onnx_rules.arguments import OnnxRules, is_real
from gradir.frontends.tracing.spec import ELEMENTS

RULES = OnnxRules()
INT32 = ELEMENTS["int32"]


@RULES.onnx("MatMul")
def _product(call: Any, x: Any, y: Any) -> Any:
    return gnp.matmul(x, y)


@RULES.onnx("Gemm")
def _sum_of_products(
    call: Any, a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> Any:  # fmt: skip
    made = gnp.matmul(gnp.permute_dims(a, (1, 0)) if transA else a,
                      gnp.permute_dims(b, (1, 0)) if transB else b)  # fmt: skip
    made = made if alpha == 1.0 else made * _factor(a, alpha)
    if c is None:
        return made
    return op.add(made, c if beta == 1.0 else c * _factor(a, beta))


def _factor(x: Any, number: float) -> float:
    return number if is_real(x) else int(number)


@RULES.onnx("Einsum")
def _einsum(call: Any, *arrays: Any, equation: str) -> Any:
    return gnp.einsum(equation.replace(" ", ""), *arrays)


@RULES.onnx("MatMulInteger")
def _integer_product(call: Any, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return gnp.matmul(shifted(a, a_zero, rows=True), shifted(b, b_zero))


def shifted(x: Any, zero: Any, rows: bool = False) -> Any:
    """Small integers less their zero point, as int32; one zero point for each row if there are."""
    wide = converted(x, INT32)
    if zero is None:
        return wide
    zero = converted(zero, INT32)
    if rows and zero.ndim == 1 and zero.shape[0] > 1:
        zero = gnp.expand_dims(zero, -1)
    return op.subtract(wide, zero)
