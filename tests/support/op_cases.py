"""One table of cases for all ops: a new op gets its rows here, and all its tests follow.

    *unary("array.tanh"),                                  # compared with the op's NumPy function
    *unary("array.rsqrt", lambda x: x**-0.5, (0.4, 3)),    # or with an independent reference
    Case("array.matmul", [(3, 4), (4, 5)], reference=np.matmul),

An operand is a shape, which stands for random floats in the case's domain, or an array: integers,
bools, or floats that matter. tests/dialects/test_ops.py lists the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from math import erfc, inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from op_references import (
    Array,
    Reference,
    cross_entropy,
    erf,
    flip,
    largest,
    log_softmax,
    logsumexp,
    mean,
    nll_loss,
    nll_loss_backward,
    pad,
    scatter_add,
    slice_,
    smallest,
    softmax,
    summed,
    take_along_axis,
    take_along_axis_backward,
)
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f64, i64
from xdsl.ir import Attribute

from gradir.checking.case import ELEMENTS as ELEMENTS
from gradir.checking.case import OpCase as Case
from gradir.checking.case import Operand
from gradir.dialects import array, comm, nn
from gradir.dialects.base.attributes import Plain
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import NUMPY_NAMES, is_complex, tensor
from gradir.dialects.comm.messages import BarrierOp, RecvOp, SendOp
from gradir.dialects.grad import dialect as grad

# Those that need a second rank, or have no result, have tests of their own.
_PAIRED = (SendOp, RecvOp, BarrierOp)
_ALONE = [op for op in comm.OPS if op not in _PAIRED]
_OPS: tuple[type[TensorOp], ...] = (*array.OPS, *nn.OPS, *grad.OPS, *_ALONE)
OP_CLASSES: dict[str, type[TensorOp]] = {op.name: op for op in _OPS}


# Rows of several cases.

SHAPES = ((3, 4), (), (0,), (1,), (17,))
INTEGERS = range(-8, 9)


def unary(
    op: str,
    reference: Callable[[Array], Array] | None = None,
    domain: tuple[float, float] = (-2, 2),
    **rest: Any,
) -> list[Case]:
    return [Case(op, [s], reference=reference, domain=domain, **rest) for s in SHAPES]


def binary(
    op: str,
    reference: Callable[[Array, Array], Array] | None = None,
    domain: tuple[float, float] = (-2, 2),
    **rest: Any,
) -> list[Case]:
    return [Case(op, [s, s], reference=reference, domain=domain, **rest) for s in SHAPES]


def compare(op: str) -> list[Case]:
    tied = np.array([1.0, 2.0, 3.0, nan, inf]), np.array([1.0, 3.0, 2.0, nan, inf])
    ints = np.array([1, -2, 3], np.int32), np.array([1, 2, -3], np.int32)
    return [*binary(op), Case(op, tied), Case(op, ints)]


def reduction(op: str, reference: Reference | None = None) -> list[Case]:
    rows: list[tuple[tuple[int, ...], dict[str, Plain]]] = [
        ((3, 4), {}),
        ((3, 4), {"axis": [1]}),
        ((3, 4), {"axis": [-2], "keepdims": True}),
        ((2, 3, 4), {"axis": [2, 0]}),
        ((2, 3, 1), {"axis": 1, "keepdims": True}),
        ((17,), {}),
        ((2, 70), {"axis": [1]}),
        ((33, 3), {"axis": [0]}),
        ((), {}),
        ((3, 4), {"axis": []}),
        ((0, 4), {"axis": [1]}),
    ]
    return [Case(op, [s], a, reference) for s, a in rows]


def empty_reduction(op: str, reference: Reference | None = None) -> list[Case]:
    # sums are finite, and so have a derivative; others are not
    rows: list[tuple[tuple[int, ...], dict[str, Plain]]] = [
        ((0,), {}),
        ((3, 0), {"axis": [-1]}),
        ((3, 0), {"keepdims": True}),
    ]
    return [Case(op, [s], a, reference, is_derivative=op == "array.sum") for s, a in rows]


def integers(*values: Any, dtype: Any = np.int64) -> Array:
    return np.array(values[0] if len(values) == 1 else values, dtype)


def bools(*values: int) -> Array:
    return np.array(values, bool)


# The rows.


def _elementwise() -> list[Case]:
    return [
        *unary("array.abs", kinks=[0]),
        *unary("array.negative"),
        *unary("array.exp"),
        *unary("array.expm1"),
        *unary("array.log", domain=(0.4, 3)),
        *unary("array.log1p", domain=(-0.6, 2)),
        *unary("array.sqrt", domain=(0.4, 3)),
        *unary("array.rsqrt", lambda x: x**-0.5, (0.4, 3)),
        *unary("array.square"),
        *unary("array.reciprocal", domain=(-3, -0.4)),
        *unary("array.sin", domain=(-4, 4)),
        *unary("array.cos", domain=(-4, 4)),
        *unary("array.tanh", np.tanh),
        *unary("array.erf", erf),
        *unary("array.sign", kinks=[0]),
        *unary("array.floor", kinks=INTEGERS),
        *binary("array.add"),
        *binary("array.subtract"),
        *binary("array.multiply"),
        *binary("array.divide", domain=(0.4, 3)),
        *binary("array.maximum", np.maximum),
        *binary("array.minimum", np.minimum),
        *compare("array.equal"),
        *compare("array.not_equal"),
        *compare("array.less"),
        *compare("array.less_equal"),
        *compare("array.greater"),
        *compare("array.greater_equal"),
        Case("array.logical_and", [bools(0, 0, 1, 1), bools(0, 1, 0, 1)]),
        Case("array.logical_not", [bools(0, 1)]),
        Case("array.where", [bools(0, 1, 1), (3,), (3,)]),
        Case("array.where", [np.array(True), (), ()]),
        Case("array.where", [np.zeros((2, 0), bool), (2, 0), (2, 0)]),
        Case("array.astype", [(3, 4)], reference=np.copy, results=[((3, 4), None)]),
        Case("array.astype", [(3,)], reference=np.trunc, results=[((3,), "int32")]),
        Case("array.astype", [integers(-3, 0, 5)], reference=np.copy, results=[((3,), None)]),
    ]


def dense(array: Array, element: Attribute) -> Attribute:
    type_: Any = tensor(array.shape, element)
    return DenseIntOrFPElementsAttr.from_list(type_, array.ravel().tolist())


def _creation() -> list[Case]:
    table = np.array([[1.5, -2.0], [0.0, 7.0]])
    counts = np.array([-1, 2**40])
    return [
        Case("array.full", [], {"value": 1.0}, np.ones(3), results=[((3,), "uint8")]),
        Case("array.full", [], {"value": 2.5}, np.full((2, 3), 2.5),
             results=[((2, 3), None)]),
        Case("array.full", [], {"value": -7.0}, np.array(-7),
             results=[((), "int8")]),
        Case("array.full", [], {"value": 2**53 + 1}, np.array([2**53 + 1]),
             results=[((1,), "int64")]),
        Case("array.constant", [], {"value": dense(table, f64)},
             table, results=[((2, 2), "float64")]),
        *(Case("array.constant", [], {"value": dense(np.array([1, 0]), element)},
               np.array([1, 0]), results=[((2,), name)])
          for element, name in NUMPY_NAMES.items() if not is_complex(element)),
        Case("array.constant", [], {"value": dense(counts, i64)},
             counts, results=[((2,), "int64")]),
        Case("array.constant", [], {"value": dense(np.full((2, 2), 3.0), f64)},
             np.full((2, 2), 3.0), results=[((2, 2), "float64")]),
        Case("array.iota", [], {"axis": 1}, np.array([[0, 1, 2]] * 2),
             results=[((2, 3), "int64")]),
        Case("array.iota", [], {"axis": -2}, np.array([[0] * 3, [1] * 3]),
             results=[((2, 3), None)]),
    ]  # fmt: skip


def _movement() -> list[Case]:
    def reshape(source: tuple[int, ...], target: tuple[int, ...]) -> Case:
        return Case("array.reshape", [source], reference=to(*target), results=[(target, None)])

    def to(*shape: int) -> Reference:
        def function(x: Array, **_: Any) -> Array:
            return np.array([float(v) for v in x.flat]).reshape(shape)

        return function

    def broadcast(source: tuple[int, ...], target: tuple[int, ...]) -> Case:
        def function(x: Array) -> Array:
            return np.ones(target) * x

        return Case("array.broadcast_to", [source], reference=function, results=[(target, None)])

    def permute(x: Array, axes: Sequence[int]) -> Array:
        return np.einsum(x, list(range(x.ndim)), [a % x.ndim for a in axes])

    def concat(*xs: Array, axis: int = 0) -> Array:
        return np.moveaxis(np.array([row for x in xs for row in np.moveaxis(x, axis, 0)]), 0, axis)

    return [
        reshape((3, 4), (2, 6)),
        reshape((2, 3, 4), (4, 6)),
        reshape((3, 4), (3, 1, 4, 1)),
        reshape((1,), ()),
        reshape((0, 4), (2, 0)),
        reshape((), (1, 1)),
        Case("array.permute_dims", [(3, 4)], {"axes": [1, 0]}, permute),
        Case("array.permute_dims", [(2, 3, 4)], {"axes": [-1, 0, 1]}, permute),
        Case("array.permute_dims", [(2, 3, 4)], {"axes": [1, 0, 2]}, permute),
        Case("array.permute_dims", [()], {"axes": []}, to()),
        Case("array.permute_dims", [(0, 3)], {"axes": [1, 0]}, permute),
        broadcast((3, 1), (3, 4)),
        broadcast((4,), (2, 3, 4)),
        broadcast((), (5,)),
        broadcast((), ()),
        broadcast((1, 3, 1), (2, 3, 2)),
        broadcast((1,), (0,)),
        Case("array.expand_dims", [(3, 4)], {"axis": 1}, to(3, 1, 4)),
        Case("array.expand_dims", [(3,)], {"axis": [0, -1]}, to(1, 3, 1)),
        Case("array.expand_dims", [()], {"axis": [0]}, to(1)),
        Case("array.squeeze", [(1, 3, 1)], {"axis": [0]}, to(3, 1)),
        Case("array.squeeze", [(1, 3, 1)], {"axis": -1}, to(1, 3)),
        Case("array.squeeze", [(1, 3, 1)], {}, to(3)),
        Case("array.flip", [(3, 4)], {}, flip),
        Case("array.flip", [(3, 4)], {"axis": [-1]}, flip),
        Case("array.flip", [(2, 3, 2)], {"axis": [0, 2]}, flip),
        Case("array.flip", [()], {}, flip),
        Case("array.flip", [(0,)], {"axis": 0}, flip),
        Case("array.slice", [(5, 4)], {"start": [1, 0], "stop": [4, -1]}, slice_),
        Case("array.slice", [(7, 4)], {"start": [0, 1], "stop": [7, 4], "step": [3, 2]}, slice_),
        Case("array.slice", [(8,)], {"start": [-7], "stop": [-1], "step": [4]}, slice_),
        Case("array.slice", [(6,)], {"start": 2, "stop": 2}, slice_),
        Case("array.slice", [(5,)], {"stop": 3}, slice_),
        Case("array.slice", [(2, 3)], {}, slice_),
        Case("array.slice", [()], {}, slice_),
        Case("array.pad", [(3, 4)], {"low": [1, 0], "high": [2, 3]}, pad),
        Case("array.pad", [(3,)], {"low": 2, "high": 1, "value": -1.5}, pad),
        Case("array.pad", [(0,)], {"low": 2, "high": 1, "value": 0.5}, pad),
        Case("array.pad", [()], {"low": [], "high": []}, pad),
        Case("array.concat", [(2, 3), (1, 3), (4, 3)], {}, concat),
        Case("array.concat", [(2, 3), (2, 1), (2, 4)], {"axis": -1}, concat),
        Case("array.concat", [(2, 2, 3), (2, 5, 3)], {"axis": 1}, concat),
        Case("array.concat", [(2,), (0,), (3,)], {"axis": 0}, concat),
        Case("array.concat", [(17,)], {"axis": 0}, concat),
    ]


def _indexing() -> list[Case]:
    def case(
        op: str, operands: Sequence[Operand], reference: Reference | Array, **axis: int
    ) -> Case:
        return Case(op, operands, axis, reference)

    def take(x: Array, indices: Array, axis: int = 0) -> Array:
        axis %= x.ndim
        lines = [np.moveaxis(x, axis, 0)[i] for i in indices.ravel()]
        stacked = np.array(lines).reshape((*indices.shape, *x.shape[:axis], *x.shape[axis + 1 :]))
        return np.moveaxis(stacked, range(indices.ndim), range(axis, axis + indices.ndim))

    repeated = integers(0, 2, 2, -1, 1)
    square = integers([[0, 2], [-3, 0]], dtype=np.int32)
    along = integers([[2, 0, -1, 2], [0, 0, -3, 1]])
    return [
        case("array.take", [(3, 4), repeated], take),
        case("array.take", [(2, 3), square], take, axis=-1),
        case("array.take", [(2, 3, 4), square], take, axis=1),
        case("array.take", [(3,), integers(-1, dtype=np.int8)], take),
        case("array.take", [(3, 2), integers([], dtype=np.int64)], np.zeros((0, 2))),
        case("array.take", [(0,), integers([], dtype=np.int64)], np.zeros(0)),
        case("array.take", [(300,), np.array([255, 0, 7], np.uint8)], take),
        case("array.scatter_add", [(3, 4), repeated, (5, 4)], scatter_add),
        case("array.scatter_add", [(2, 3), square, (2, 2, 2)], scatter_add, axis=-1),
        case("array.scatter_add", [(2, 3, 4), square, (2, 2, 2, 4)], scatter_add, axis=1),
        case("array.scatter_add", [(3,), integers(-1, dtype=np.int8), ()], scatter_add),
        case("array.scatter_add", [(3, 2), integers([], dtype=np.int64), (0, 2)], scatter_add),
        case("array.take_along_axis", [(3, 4), along], take_along_axis),
        case("array.take_along_axis", [(4, 3), along.T], take_along_axis, axis=-1),
        case("array.take_along_axis", [(3,), integers([2, 2], dtype=np.int32)], take_along_axis),
        case("array.take_along_axis", [(0, 2), np.zeros((0, 2), np.int64)], take_along_axis),
    ]  # fmt: skip


def _contraction() -> list[Case]:
    pairs = [
        ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((2, 3, 4), (4,)),
        ((3, 0), (0, 5)), ((0, 4), (4, 5)), ((1, 1), (1, 1)), ((17, 33), (33, 18)),
    ]  # fmt: skip

    def product(lhs: Array, rhs: Array) -> Array:
        left, right = lhs[None] if lhs.ndim == 1 else lhs, rhs[:, None] if rhs.ndim == 1 else rhs
        result = np.sum(left[..., :, :, None] * right[..., None, :, :], axis=-2)
        result = result[..., 0, :] if lhs.ndim == 1 else result
        return result[..., 0] if rhs.ndim == 1 else result

    return [Case("array.matmul", pair, reference=product) for pair in pairs]


def _nn() -> list[Case]:
    def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
        product = np.einsum("...i,oi->...o", x, weight)
        return product if bias is None else product + bias

    softmax_cases: list[tuple[tuple[int, ...], dict[str, Plain]]] = [
        ((3, 4), {}), ((3, 4), {"axis": 0}), ((2, 3, 4), {"axis": -2}), ((17,), {}),
        ((1,), {}), ((3, 0), {}), ((0, 3), {}),
    ]  # fmt: skip
    return [
        *unary("nn.relu", lambda x: np.where(x > 0, x, 0), kinks=[0]),
        *unary("nn.sigmoid", lambda x: 0.5 + 0.5 * np.tanh(x / 2), domain=(-6, 6)),
        *(
            Case(op, [shape], attributes, reference)
            for op, reference in (("nn.softmax", softmax), ("nn.log_softmax", log_softmax))
            for shape, attributes in softmax_cases
        ),
        Case("nn.linear", [(3, 4), (5, 4), (5,)], reference=linear),
        Case("nn.linear", [(3, 4), (5, 4)], reference=linear),
        Case("nn.linear", [(4,), (5, 4), (5,)], reference=linear),
        Case("nn.linear", [(2, 3, 4), (2, 4), (2,)], reference=linear),
        Case("nn.linear", [(0, 4), (5, 4), (5,)], reference=linear),
        Case("nn.linear", [(3, 0), (5, 0), (5,)], reference=linear),
        *_losses(),
    ]  # fmt: skip


# Shapes, targets, class weights and attributes of the likelihood losses.
_WEIGHTS = np.array([0.5, 2.0, 1.0, 0.25])
_LIKELIHOODS: list[tuple[tuple[int, ...], list[Array], dict[str, Plain]]] = [
    ((3, 4), [integers(0, 3, 1)], {}),
    ((3, 4), [integers(0, 3, 1)], {"reduction": "none"}),
    ((3, 4), [integers(0, 3, 1), _WEIGHTS], {}),
    ((3, 4), [integers(0, 3, 1), _WEIGHTS], {"reduction": "sum", "label_smoothing": 0.3}),
    ((3, 4), [integers(0, -1, 1), _WEIGHTS], {"ignore_index": -1}),
    ((3, 4), [integers(0, 255, 1), _WEIGHTS], {"ignore_index": 255, "label_smoothing": 0.1}),
    ((3, 4), [integers(0, -100, 2, dtype=np.int32)], {"label_smoothing": 0.2}),
    ((3, 4), [integers(0, 3, 2)], {"reduction": "none", "label_smoothing": 1.0}),
    ((4,), [integers(2)], {}),
    ((2, 4, 3), [integers([[0, 3, -100], [1, 1, 2]]), _WEIGHTS], {"reduction": "none"}),
    ((2, 4, 3), [integers([[0, 3, -100], [1, 1, 2]], dtype=np.int8)], {"label_smoothing": 0.1}),
    ((0, 4), [integers([], dtype=np.int64)], {"reduction": "sum"}),
    ((0, 4), [integers([], dtype=np.int64)], {"reduction": "none"}),
    ((17, 4), [np.arange(17) % 4], {}),
]  # fmt: skip


def _losses() -> list[Case]:
    return [
        Case(op, [shape, *others], attributes, reference)
        for op, reference in (("nn.nll_loss", nll_loss), ("nn.cross_entropy", cross_entropy))
        for shape, others, attributes in _LIKELIHOODS
    ]


def _logsumexp_slopes() -> list[Case]:
    def reference(ct: Array, x: Array, axis: int, keepdims: bool = False) -> Array:
        line: Any = {"axis": tuple(np.atleast_1d(axis)), "keepdims": True}
        powers = np.exp(x)
        total = np.sum(powers, **line)
        return ct.reshape(total.shape) * powers / total

    return [
        Case("grad.logsumexp_backward", [ct, x], attributes, reference)
        for ct, x, attributes in (
            ((3,), (3, 4), {"axis": 1}),
            ((1, 3, 1), (2, 3, 5), {"axis": [0, 2], "keepdims": True}),
            ((2, 5), (2, 3, 5), {"axis": 1}),
        )
    ]


def _flagged(*parts: float) -> Array:
    """Numbers with the highest bit of the exponent, which is a factor of 2 ** 1024."""
    return np.array(parts) * 2.0**1023 * 2.0


def _point(near: Array, rest: Array) -> Array:
    far = np.copysign(_flagged(*rest.ravel()).reshape(rest.shape), near)
    return np.where(np.abs(near) < 0.5, near, far)


def _tanh_point(x: Array) -> Array:
    return _point(np.tanh(x), 2 / (1 + np.exp(2 * np.abs(x))))


def _sigmoid_point(x: Array) -> Array:
    return _point(np.tanh(x / 2), 1 / (1 + np.exp(np.abs(x))))


def _slopes() -> list[Case]:
    def softmax(x: Array, axis: int) -> Array:
        powers = np.exp(x)
        return powers / np.sum(powers, axis, keepdims=True)

    def along_lines(op: str, reference: Callable[..., Array]) -> list[Case]:
        return [Case(op, [s], {"axis": a}, reference) for s, a in (((3, 4), -1), ((2, 3, 5), 1))]

    def lines(op: str, reference: Callable[..., Array]) -> list[Case]:
        # no share is above 1/2: the rule for one counts on their sum, 1
        return [
            Case(op, [shape, shape], {"axis": axis}, reference, (0.05, 0.45))
            for shape, axis in (((3, 4), -1), ((2, 3, 5), 1), ((4,), 0), ((2, 0), 1))
        ]

    def of_points(op: str, reference: Callable[[Array], Array]) -> list[Case]:
        # points without a flag; tests/dialects/test_tanh_points.py has the others
        return unary(op, reference, (-0.45, 0.45), is_derivative=False)

    return [
        *unary("grad.tanh_point", _tanh_point, (-4, 4), is_derivative=False),
        *unary("grad.sigmoid_point", _sigmoid_point, (-8, 8), is_derivative=False),
        *of_points("grad.tanh_at", lambda p: p),
        *of_points("grad.half_tanh_at", lambda p: p),
        *of_points("grad.sigmoid_at", lambda p: (1 + p) / 2),
        *of_points("grad.tanh_slope_at", lambda p: 1 - p * p),
        *of_points("grad.sigmoid_slope_at", lambda p: (1 - p * p) / 4),
        *unary("grad.softplus_slope", lambda x: 1 / (1 + np.exp(-x))),
        *unary("grad.sigmoid_slope", lambda x: 1 / (2 + 2 * np.cosh(x))),
        *unary("grad.gaussian", lambda x: np.exp(-x * x)),
        *unary("grad.normal_density", lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi)),
        *unary("grad.normal_cdf", np.vectorize(lambda x: erfc(-x / np.sqrt(2)) / 2, [float])),
        *unary("grad.tanh_softplus", lambda x: np.tanh(np.log1p(np.exp(x)))),
        *along_lines("grad.softmax_complement", lambda x, axis: 1 - softmax(x, axis)),
        *_logsumexp_slopes(),
        *unary("grad.atan_slope", lambda x: 1 / (1 + x * x)),
        *unary("grad.square_complement", lambda x: 1 - x * x),
        *lines("grad.centered", lambda x, p, axis: x - np.sum(p * x, axis, keepdims=True)),
        *lines("grad.balanced", lambda x, p, axis: x - p * np.sum(x, axis, keepdims=True)),
    ]


def _grad() -> list[Case]:
    along = integers([[2, 0, -1, 2], [0, 0, -3, 1]])

    def backward(shape: tuple[int, ...], others: list[Array], attributes: dict[str, Plain]) -> Case:
        ct = others[0].shape if attributes.get("reduction") == "none" else ()
        reference = nll_loss_backward(shape)
        operands = [ct, *others]
        return Case("grad.nll_loss_backward", operands, attributes, reference,
                    results=[(shape, None)])  # fmt: skip

    def classes(targets: Array, classes: int) -> Array:
        return targets.astype(np.int64)

    def scatter(shape: tuple[int, ...], indices: Array, **axis: int) -> Case:
        reference = take_along_axis_backward(shape)
        operands = [indices.shape, indices]
        return Case("grad.take_along_axis_backward", operands, axis, reference,
                    results=[(shape, None)])  # fmt: skip

    def named(x: Array, name: str = "") -> Array:
        return x

    def gate(x: Array, keep: Array, rest: Array) -> Array:
        return np.where(keep, x, rest)

    def sloped(y: Array, x: Array, slope: Array) -> Array:
        return np.copy(y)

    def total(*xs: Array) -> Array:
        return np.sum(xs, axis=0)

    return [
        *unary("grad.no_grad", np.copy, is_derivative=False),
        *unary("grad.name", named, attributes={"name": "h"}),
        *unary("grad.negate_gradient", np.copy, is_derivative=False),
        Case("grad.add_slope", [(2, 3)] * 3, reference=sloped, is_derivative=False),
        Case(
            "grad.gate",
            [(2, 3), bools(1, 0, 1, 0, 0, 1).reshape(2, 3), np.zeros((2, 3))],
            reference=gate,
            is_derivative=False,
        ),
        *_slopes(),
        *unary("grad.start_checkpoint", np.copy),
        *unary("grad.end_checkpoint", np.copy),
        *unary("grad.barrier", np.copy),
        Case("grad.zero", [], {}, np.zeros((2, 3)), results=[((2, 3), None)]),
        Case("grad.accumulate", [(3, 4)] * 3, reference=total),
        Case("grad.accumulate", [()] * 2, reference=total),
        Case("grad.accumulate", [(0,)], reference=np.copy),
        scatter((3, 4), along),
        scatter((4, 3), along.T, axis=-1),
        scatter((3,), integers([2, 2], dtype=np.int32)),
        scatter((0, 2), np.zeros((0, 2), np.int64)),
        *(backward(*row) for row in _LIKELIHOODS),
        Case("grad.class_index", [integers(0, 3, 1, dtype=np.int8)], {"classes": 4}, classes),
        Case("grad.class_index", [np.zeros((0, 2), np.uint8)], {"classes": 0}, classes),
    ]


def _families() -> Iterator[Case]:
    """The rows of the files op_cases_FAMILY.py beside this one, which import from it."""
    for path in sorted(Path(__file__).parent.glob("op_cases_*.py")):
        yield from import_module(path.stem).CASES


CASES: tuple[Case, ...] = (
    *_elementwise(),
    *_creation(),
    *reduction("array.sum", summed),
    *empty_reduction("array.sum", summed),
    *reduction("array.mean", mean),
    *empty_reduction("array.mean", mean),
    *reduction("array.max", largest),
    *reduction("array.min", smallest),
    *reduction("array.logsumexp", logsumexp),
    *empty_reduction("array.logsumexp", logsumexp),
    *_movement(),
    *_indexing(),
    *_contraction(),
    *_nn(),
    *_grad(),
    *_families(),
)
