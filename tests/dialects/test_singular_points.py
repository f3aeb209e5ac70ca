"""Values and gradients at nan, infinities, zeros of both signs and ties, over the whole op table.

A nan must not come with a clean gradient: where a value is nan since an operand is, so is that
operand's gradient; and a finite value of numbers has a gradient. What is otherwise stands in the
lists below, each with its reason.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from op_cases import CASES, Case
from op_programs import function, is_active, module_of
from xdsl.dialects.builtin import f64

import gradir
from gradir import Module
from gradir.dialects.building.kinds import ElementwiseOp

SPECIAL = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.5)
# Cases of one op that are tried.
MOST = 3

LINEAR = "the derivative is a number, or the other operand, whatever this operand is"
STEP = "constant between its steps: the gradient is 0, as PyTorch and JAX have it"
PICKED = "the largest is handed on as it is, and its cotangent to where it came from"

CLEAN: dict[str, str] = {
    "array.add": LINEAR,
    "array.subtract": LINEAR,
    "array.complex": LINEAR,
    "array.negative": LINEAR,
    "array.multiply": LINEAR,
    "array.divide": LINEAR,
    "grad.accumulate": LINEAR,
    "grad.gate": LINEAR,
    "grad.add_slope": LINEAR,
    "array.remainder": "linear in lhs between its steps",
    **dict.fromkeys(("grad.tanh_point", "grad.sigmoid_point"), "it stands for its operand"),
    "array.pow": "x ** 1 is linear",
    "array.copysign": "a step in rhs",
    **dict.fromkeys(
        ("array.sign", "array.floor", "array.ceil", "array.round", "array.trunc"), STEP
    ),
    "array.floor_divide": STEP,
    **dict.fromkeys(("array.sort", "array.top_k"), PICKED),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), PICKED),
}
"""Ops whose value may be nan while the gradient is not, and why."""

OUTSIDE: dict[str, str] = {
    **{name: why for name, why in CLEAN.items() if why in (LINEAR, STEP)},
    "array.remainder": CLEAN["array.remainder"],
    "nn.softsign": "inf / inf, as in PyTorch; the slope at infinity is 0",
    "nn.hardswish": "-inf * 0, as in PyTorch; the slope at -infinity is 0",
}
"""Ops whose value may be nan for operands that are not while the gradient is not, and why."""

UNDEFINED: dict[str, str] = {
    "array.pow": "no derivative in the exponent where the base is negative; inf * 0 for exponents "
    "that are infinite",
    **dict.fromkeys(
        ("grad.gaussian", "grad.normal_density", "grad.atan_slope"), "x * 0 at infinity"
    ),
}
"""Ops whose value may be finite while the gradient is nan, and why."""


def _elementwise() -> list[Case]:
    """A case of each op with each of its attributes, of floats alone."""
    found: dict[str, Case] = {}
    for case in CASES:
        of_floats = all(isinstance(o, tuple) or o.dtype.kind == "f" for o in case.operands)
        if not (issubclass(case.op_class, ElementwiseOp) and of_floats and case.wrt):
            continue
        if case.op != "array.astype" and is_active(case):
            found.setdefault(f"{case.op} {sorted(case.attributes.items(), key=str)}", case)
    return list(found.values())


def _points(case: Case) -> list[np.ndarray[Any, Any]]:
    """All combinations of special numbers; of many operands, of those that count."""
    count = len(case.operands)
    numbers = SPECIAL if count <= 2 else (nan, inf, 0.0, 1.0)
    return [np.array(column) for column in zip(*product(numbers, repeat=count), strict=True)]


@pytest.mark.parametrize("case", _elementwise(), ids=str)
def test_elements(case: Case) -> None:
    arrays = _points(case)
    module = Module(module_of(function(case, arrays, f64)))
    ones = np.ones_like(gradir.interpret(module, "f", *arrays)[0])
    y, *grads = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", *arrays, ones)
    given_nan = np.isnan(arrays).any(axis=0)
    for k, grad in zip(case.wrt, grads, strict=True):
        clean = np.isnan(y) & ~np.isnan(grad) & np.isnan(arrays[k])
        assert not clean.any() or case.op in CLEAN, _at(arrays, clean)
        outside = np.isnan(y) & ~np.isnan(grad) & ~given_nan
        assert not outside.any() or case.op in OUTSIDE, _at(arrays, outside)
        undefined = np.isfinite(y) & np.isnan(grad) & ~given_nan
        assert not undefined.any() or case.op in UNDEFINED, _at(arrays, undefined)


def _at(arrays: list[np.ndarray[Any, Any]], where: np.ndarray[Any, Any]) -> str:
    return f"at {[tuple(a[i] for a in arrays) for i in np.flatnonzero(where)]}"


@pytest.mark.parametrize("case", _elementwise(), ids=str)
def test_tangents_say_the_same(case: Case) -> None:
    """Forward mode has a nan where reverse mode has one, and the same numbers elsewhere."""
    arrays = _points(case)
    module = Module(module_of(function(case, arrays, f64)))
    ct = np.ones_like(gradir.interpret(module, "f", *arrays)[0])
    _, *grads = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", *arrays, ct)
    ones = np.ones_like(arrays[0])
    jvp = module.gradient("f", mode="jvp", wrt=[case.wrt[0]])
    _, tangent = gradir.interpret(jvp, "f_jvp", *arrays, ones)
    np.testing.assert_allclose(tangent, grads[0], rtol=1e-12)


def _others() -> list[Case]:
    seen: Counter[str] = Counter()
    found: list[Case] = []
    for case in CASES:
        if issubclass(case.op_class, ElementwiseOp) or not is_active(case):
            continue
        seen[case.op] += 1
        if seen[case.op] <= MOST:
            found.append(case)
    return found


@pytest.mark.parametrize("case", _others(), ids=str)
def test_one_nan_among_numbers(case: Case) -> None:
    """Unless the op is linear in an operand: its gradient is the same for all numbers there."""
    arrays = case.arrays(f64)
    module = Module(module_of(function(case, arrays, f64)))
    results = gradir.interpret(module, "f", *arrays)
    cts = [np.ones_like(r) for r in results if r.dtype.kind in "fc"]
    derived = module.gradient("f", mode="vjp", wrt=case.wrt)

    def run(k: int, number: float) -> tuple[list[np.ndarray[Any, Any]], Any]:
        moved = [np.array(a) for a in arrays]
        moved[k].reshape(-1)[moved[k].size // 2] = number
        found = gradir.interpret(derived, "f_vjp", *moved, *cts)
        grad = found[len(results) + case.wrt.index(k)]
        return list(found[: len(results)]), grad.reshape(-1)[grad.size // 2]

    for k in case.wrt:
        if arrays[k].size == 0 or case.op in CLEAN:
            continue
        values, grad = run(k, nan)
        fresh = [np.isnan(v).any() and not np.isnan(r).any()
                 for v, r in zip(values, results, strict=True) if v.dtype.kind == "f"]  # fmt: skip
        if any(fresh) and not np.isnan(grad):
            elsewhere = [run(k, n)[1] for n in (-30.0, -1.3, -0.4, 0.45, 0.9, 1.7, 30.0)]
            numbers = [n for n in elsewhere if not np.isnan(n)]
            np.testing.assert_allclose(numbers, grad, rtol=1e-12, err_msg=f"operand {k}")


def _second(line: str, *values: Any, mode: str = "vjp") -> list[np.ndarray[Any, Any]]:
    """The second derivatives of f in x and x, and in x and y, at (x, y).

    Of vectors they belong to the first derivative in the direction (1, 2). In reverse mode over
    reverse mode, or with "jvp" in forward mode over it.
    """
    arrays = [np.array(v, np.float64) for v in values]
    arguments = ", ".join(
        f"%{n}: tensor<{''.join(f'{m}x' for m in a.shape)}f64>"
        for n, a in zip("xy", arrays, strict=False)
    )
    module = gradir.parse(
        f"func.func @f({arguments}) -> tensor<f64> {{\n %r = {line}\n"
        " func.return %r : tensor<f64> }"
    )
    once = module.gradient("f", mode="grad")
    direction = np.arange(1.0, 1 + arrays[0].size).reshape(arrays[0].shape)
    if mode == "jvp":
        forward = once.gradient("f_grad", wrt=[0], mode="jvp")
        return list(gradir.interpret(forward, "f_grad_jvp", *arrays, direction)[-len(values) :])
    twice = once.gradient("f_grad", of=[1], mode="vjp")
    found = gradir.interpret(twice, "f_grad_vjp", *arrays, direction)
    return list(found[-len(values) :])


NUMBER = "tensor<f64>"
LOSS = f"%x, %y : {NUMBER}, {NUMBER} -> {NUMBER}"
VECTOR = f"tensor<2xf64> -> {NUMBER}"

SECOND: list[tuple[str, list[Any], list[Any]]] = [
    ("array.pow %x, %y : tensor<f64>", [0.0, 2.0], [2, 0]),
    ("array.pow %x, %y : tensor<f64>", [0.0, 3.0], [0, 0]),
    ("array.pow %x, %y : tensor<f64>", [0.0, 4.0], [0, 0]),
    ("array.pow %x, %y : tensor<f64>", [2.0, 0.0], [0, 0.5]),
    ("array.pow %x, %y : tensor<f64>", [2.0, 1.0], [0, 1 + np.log(2)]),
    ("array.multiply %x, %y : tensor<f64>", [0.0, 0.0], [0, 1]),
    ("array.logaddexp %x, %y : tensor<f64>", [0.0, 0.0], [0.25, -0.25]),
    (f"array.logsumexp %x : {VECTOR}", [[0.0, 0.0]], [[-0.25, 0.25]]),
    ("nn.softplus %x : tensor<f64>", [0.0], [0.25]),
    ("nn.silu %x : tensor<f64>", [0.0], [0.5]),
    ("nn.gelu %x : tensor<f64>", [0.0], [2 / np.sqrt(2 * np.pi)]),
    # there is none: nan, not a number
    ("array.hypot %x, %y : tensor<f64>", [0.0, 0.0], [nan, nan]),
    ("array.atan2 %x, %y : tensor<f64>", [0.0, 0.0], [nan, nan]),
    (f"array.norm %x : {VECTOR}", [[0.0, 0.0]], [[nan, nan]]),
    ("array.cbrt %x : tensor<f64>", [0.0], [nan]),
    # infinitely curved, at the end of the domain
    ("array.sqrt %x : tensor<f64>", [0.0], [-inf]),
    *((f"array.{name} %x : tensor<f64>", [0.0], [-inf]) for name in ("log", "log2", "log10")),
    ("array.log1p %x : tensor<f64>", [-1.0], [-inf]),
    ("array.atanh %x : tensor<f64>", [1.0], [inf]),
    # a kink: the second derivative of the piece whose slope is the convention
    *(
        (f"array.{name} %x, %y : tensor<f64>", [1.0, 1.0], [0, 0])
        for name in ("maximum", "minimum")
    ),
    *((f"array.{name} %x : {VECTOR}", [[1.0, 1.0]], [[0, 0]]) for name in ("max", "min")),
    *(("array.clip %x {max = 1.0, min = -1.0} : tensor<f64>", [x], [0]) for x in (-1.0, 1.0)),
    ("nn.relu %x : tensor<f64>", [0.0], [0]),
    ("nn.leaky_relu %x : tensor<f64>", [0.0], [0]),
    ("nn.elu %x : tensor<f64>", [0.0], [1]),
    ("nn.celu %x : tensor<f64>", [0.0], [1]),
    ("nn.selu %x : tensor<f64>", [0.0], [1.0507009873554805 * 1.6732632423543772]),
    *(("nn.hardtanh %x : tensor<f64>", [x], [0]) for x in (-1.0, 1.0)),
    *(("nn.hardsigmoid %x : tensor<f64>", [x], [0]) for x in (-3.0, 3.0)),
    *(("nn.hardswish %x : tensor<f64>", [x], [0]) for x in (-3.0, 3.0)),
    (f"nn.huber_loss {LOSS}", [1.0, 0.0], [0, 0]),
    (f"nn.smooth_l1_loss {LOSS}", [1.0, 0.0], [0, 0]),
    # target * (log(target) - x), and its limit
    (f"nn.kl_div {LOSS}", [0.5, 0.0], [0, -1]),
    # the variance x * (1 - x) is at least 1e-12
    (f"nn.bce_loss {LOSS}", [0.0, 0.0], [1e12, -1e12]),
    (f"nn.bce_loss {LOSS}", [1.0, 1.0], [1e12, -1e12]),
]
"""An op at a point where its rule picks, and what the second derivatives are there."""


@pytest.mark.parametrize(("line", "values", "expected"), SECOND)
def test_second_derivatives(line: str, values: list[Any], expected: list[Any]) -> None:
    """Right where there is one; where there is none, no number that looks like one."""
    for found, wanted in zip(_second(line, *values), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("line", "values", "expected"), SECOND)
def test_second_derivatives_by_forward_mode(
    line: str, values: list[Any], expected: list[Any]
) -> None:
    """As `gradir.hessian` has them; in x and x, as rules for two operands pick each for itself."""
    found, wanted = _second(line, *values, mode="jvp")[0], np.array(expected[0], np.float64)
    if np.isnan(wanted).any():
        assert not np.isfinite(found).any()
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


PICKS = ("array.where", "grad.gate", "arith.select")
PICKS_BY_PLACE: dict[str, str] = {
    "array.index_update": "picks by indices",
    "array.eig": "picks by the places of vectors, and nan at equal values",
    "nn.dropout": "picks by a random mask",
    "nn.prelu": "picks as nn.leaky_relu does",
    "nn.cross_entropy": "picks by the targets",
    "grad.attention_backward": "picks by the mask",
    "comm.all_reduce": "picks between ranks as array.max does between elements",
}
"""Ops whose rules pick, but at no point of their own, and why."""

OPEN: dict[str, str] = {
    "array.std": "of equal elements there is no second derivative, and a number is given; of a "
    "single element it is 0, so that the rule must tell these apart",
}
"""Ops that are wrong at their point: to be mended, and to get a row."""


@pytest.mark.parametrize("case", [*_elementwise(), *_others()], ids=str)
def test_what_picks_has_a_row(case: Case) -> None:
    """A derivative that is picked at a point may be right there while its own derivative is not."""
    module = Module(module_of(function(case, case.arrays(f64), f64)))
    derived = str(module.gradient("f", mode="vjp", wrt=case.wrt)).partition("@f_vjp")[2]
    if any(pick in derived for pick in PICKS):
        rows = {line.partition(" ")[0] for line, _, _ in SECOND}
        assert case.op in rows or case.op in PICKS_BY_PLACE or case.op in OPEN


def test_native_code_says_the_same() -> None:
    """Of the ops whose rules choose, in all floating types."""
    lines = [
        "nn.relu %x : T", "nn.leaky_relu %x : T", "nn.elu %x : T", "nn.celu %x : T",
        "nn.selu %x : T", "nn.hardtanh %x : T", "nn.hardsigmoid %x : T", "array.log %x : T",
        "array.clip %x {min = -1.0, max = 1.0} : T", "array.maximum %x, %y : T",
        "array.minimum %x, %y : T", "array.atan2 %x, %y : T", "array.hypot %x, %y : T",
        "arith.maximumf %x, %y : T", "arith.minnumf %x, %y : T", "math.atan2 %x, %y : T",
        "math.absf %x : T", "math.log %x : T", "math.copysign %x, %y : T", "math.powf %x, %y : T",
    ]  # fmt: skip
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    for kind, dtype in (("f64", np.float64), ("f32", np.float32), ("f16", np.float16)):
        type_ = f"tensor<{x.size}x{kind}>"
        body = "\n".join(f"%r{k} = {line}" for k, line in enumerate(lines))
        names, types = (
            ", ".join(v) for v in ([f"%r{k}" for k in range(len(lines))], [type_] * len(lines))
        )
        text = (
            f"func.func @f(%x: T, %y: T) -> ({types}) {{\n{body}\nfunc.return {names} : {types}\n}}"
        )
        module = gradir.parse(text.replace("T", type_)).gradient("f", mode="jvp", wrt=[0])
        given = [x.astype(dtype), y.astype(dtype), np.ones(x.size, dtype)]
        expected = gradir.interpret(module, "f_jvp", *given)
        found = gradir.compile(module, "f_jvp")(*given)
        for line, one, other in zip(lines * 2, found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3 if kind == "f16" else 1e-5,
                                       err_msg=line)  # fmt: skip


@pytest.mark.parametrize("kind", ["f64", "tensor<f64>"])
def test_maxnum(kind: str) -> None:
    """A nan beside a number does not count: nothing flows to it."""
    module = gradir.parse(f"""
        func.func @f(%x: {kind}, %y: {kind}) -> {kind} {{
          %r = arith.maxnumf %x, %y : {kind}
          func.return %r : {kind}
        }}""").gradient("f", mode="grad")
    for values, expected in (
        ((nan, 1.0), (1, 0, 1)),
        ((1.0, nan), (1, 1, 0)),
        ((nan, nan), (nan, nan, nan)),
        ((2.0, 1.0), (2, 1, 0)),
        ((1.0, 1.0), (1, 0.5, 0.5)),
    ):
        found = gradir.interpret(module, "f_grad", *map(np.float64, values))
        np.testing.assert_array_equal([float(v) for v in found], expected)
