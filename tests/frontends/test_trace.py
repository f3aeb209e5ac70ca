"""gradir.trace: Python functions as programs, their values, gradients, text and errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from trace_harness import RANDOM, X, fails, run, text

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import Spec, TraceError
from gradir.errors import ArgumentError, ArgumentTypeError, VerifyError
from gradir.testing import check_grads

W = RANDOM.normal(size=(4, 2))
COUNTS = np.array([3, -4, 7, 2])


# Text.


def layer(x: Any, params: dict[str, Any]) -> Any:
    h = gnp.tanh(x @ params["w"] + params["b"])
    loss = gnp.mean(h**2)
    return loss, h


LAYER = """\
func.func @layer(%x: tensor<4x3xf32>, %params_b: tensor<2xf32>, %params_w: tensor<3x2xf32>) \
-> (tensor<f32>, tensor<4x2xf32>) {
%0 = array.matmul %x, %params_w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
%1 = array.broadcast_to %params_b : tensor<2xf32> -> tensor<4x2xf32>
%2 = array.add %0, %1 : tensor<4x2xf32>
%h = array.tanh %2 : tensor<4x2xf32>
%3 = array.square %h : tensor<4x2xf32>
%loss = array.mean %3 : tensor<4x2xf32> -> tensor<f32>
func.return %loss, %h : tensor<f32>, tensor<4x2xf32>"""


def test_a_traced_function_reads_like_the_python_function() -> None:
    params = {"w": Spec((3, 2), "float32"), "b": Spec(2, np.float32)}
    assert text(layer, Spec((4, 3), "float32"), params) == LAYER


def test_the_text_parses_back() -> None:
    module = gradir.trace(layer, X, {"w": W, "b": W[0]})
    assert str(gradir.parse(str(module))) == str(module)


def test_ops_have_the_place_of_the_python_code() -> None:
    module = gradir.trace(layer, X, {"w": W, "b": W[0]})
    function: Any = module.op.body.block.first_op
    lines = [op.location.line.data for op in function.body.block.ops]
    first = layer.__code__.co_firstlineno
    assert function.location.line.data == first
    assert lines == [first + 1] * 4 + [first + 2] * 2 + [first]
    assert {op.location.filename.data for op in function.body.block.ops} == {__file__}


@pytest.mark.parametrize(
    "function",
    [lambda a, _: a[0] + _[0], lambda *_: _[0][0] + _[1][0], lambda _, __: _[0] + __[0]],
)
def test_parameters_that_nobody_names(function: Callable[..., Any]) -> None:
    x = np.ones(2)
    assert gradir.jit(function)([x], [x]).tolist() == [2, 2]
    [slope] = gradir.grad(lambda a, b: gnp.sum(function(a, b)))([x], [x])
    assert slope.tolist() == [1, 1]


def test_names_of_functions() -> None:
    assert gradir.trace(layer, X, {"w": W, "b": W[0]}).functions == ("layer",)
    assert gradir.trace(lambda x: x, X).functions == ("main",)
    assert gradir.trace(functools.partial(layer, params={"w": W, "b": W[0]}), X).functions == (
        "layer",
    )


class Pair(NamedTuple):
    left: Any
    right: Any


def test_arguments_and_results_are_nested() -> None:
    def f(a: Any, *rest: Any) -> Any:
        return {"z": a[0].left, "a": [rest[0]["k"], (None, rest[1])]}

    shown = text(f, [Pair(Spec((), "bool"), X)], {"k": Spec(3, "int32"), "c": 2}, 1.5)
    assert shown == (
        "func.func @f(%a0_left: tensor<i1>, %a0_right: tensor<3x4xf64>, %rest0_c: tensor<i64>, "
        "%rest0_k: tensor<3xi32>, %rest1: tensor<f64>) -> (tensor<3xi32>, tensor<f64>, tensor<i1>) "
        "{\nfunc.return %rest0_k, %rest1, %a0_left : tensor<3xi32>, tensor<f64>, tensor<i1>"
    )


# Values.

VALUES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (
        lambda x, y: (x + y) * 2 - y / 3 + (-x) ** 2 - 1 / (abs(y) + 1),
        lambda x, y: (x + y) * 2 - y / 3 + (-x) ** 2 - 1 / (abs(y) + 1),
        (X, X[0]),
    ),
    "division": (lambda x: x // 3 + x % 3, lambda x: x // 3 + x % 3, (COUNTS,)),
    "swapped": (
        lambda x: 2**x + 7 // x + 7 % x + (1 - x) + np.arange(4.0) @ x,
        lambda x: 2**x + 7 // x + 7 % x + (1 - x) + np.arange(4.0) @ x,
        (X[0],),
    ),
    "comparisons": (
        lambda x: (x > 0) & ~(x < 1) | (x == 0) ^ (x != x) | (0 >= x) & (x <= 3),
        lambda x: (x > 0) & ~(x < 1) | (x == 0) ^ (x != x) | (0 >= x) & (x <= 3),
        (X,),
    ),
    "bits": (lambda x: ~x & 6 | 1 ^ x, lambda x: ~x & 6 | 1 ^ x, (COUNTS,)),
    "bits of unsigned": (lambda x: ~x, lambda x: ~x, (np.array([0, 3, 255], np.uint8),)),
    "matmul": (lambda x, w: x @ w, lambda x, w: x @ w, (X, W)),
    "transposed": (lambda x: x.T @ x.mT.T, lambda x: x.T @ x, (X,)),
    "numpy first": (lambda x: X * x + np.float64(2) * x, lambda x: X * x + 2 * x, (X,)),
    "reductions": (
        lambda x: x.sum(axis=0) + x.mean(0) + x.max(axis=-2) - x.min(axis=0, keepdims=True)[0],
        lambda x: x.sum(axis=0) + x.mean(0) + x.max(axis=-2) - x.min(axis=0),
        (X,),
    ),
    "axes": (lambda x: x.sum(axis=(0, 1)) + x.sum(), lambda x: 2 * x.sum(), (X,)),
    "statistics": (
        lambda x: gnp.std(x, axis=1, correction=1) + x.var(axis=1),
        lambda x: x.std(axis=1, ddof=1) + x.var(axis=1),
        (X,),
    ),
    "places": (lambda x: (x.argmax(axis=1), x.argmin()), lambda x: (x.argmax(1), x.argmin()), (X,)),
    "counts": (lambda x: (x > 0).sum(axis=1), lambda x: (x > 0).sum(axis=1), (X,)),
    "small integers": (
        lambda x: (x.sum(), x.prod(), gnp.cumulative_sum(x), x.sum(dtype="int8")),
        lambda x: (x.sum(), x.prod(), np.cumsum(x), x.sum(dtype=np.int8)),
        (np.array([100, 100, 2], np.int8),),
    ),
    "truth": (lambda x: (gnp.any(x > 2), gnp.all(x)), lambda x: (np.any(x > 2), np.all(x)), (X,)),
    "reshape": (
        lambda x: x.reshape(2, -1) + x.reshape((2, 6)) + gnp.reshape(x, [-1, 6]),
        lambda x: 3 * x.reshape(2, 6),
        (X,),
    ),
    "clip": (
        lambda x, y: (x.clip(-1, 0.5), gnp.clip(x, max=y), gnp.clip(x, -y, y)),
        lambda x, y: (x.clip(-1, 0.5), x.clip(None, y), x.clip(-y, y)),
        (X, abs(X[0])),
    ),
    "where": (
        lambda x, y: gnp.where(x > 0, y, 0) + gnp.where(True, x, y),
        lambda x, y: np.where(x > 0, y, 0) + x,
        (X, X[1]),
    ),
    "axes moved": (
        lambda x: gnp.moveaxis(x, 0, -1) + gnp.moveaxis(x, [0, 2], [2, 0]).transpose((0, 2, 1))[:1],
        lambda x: np.moveaxis(x, 0, -1) + np.moveaxis(x, [0, 2], [2, 0]).transpose((0, 2, 1))[:1],
        (X.reshape(3, 2, 2)[:2],),
    ),
    "joined": (
        lambda x, y: (gnp.concat([x, y], axis=1), gnp.stack((x, x)), *gnp.unstack(x, axis=1)),
        lambda x, y: (np.concatenate([x, y], axis=1), np.stack((x, x)), *x.T),
        (X, X[:, :2]),
    ),
    "contractions": (
        lambda x, w: (gnp.einsum("ij,jk->k", x, w), gnp.tensordot(x, w, 1)),
        lambda x, w: (np.einsum("ij,jk->k", x, w), x @ w),
        (X, W),
    ),
    "tensordot of lists": (
        lambda x: gnp.tensordot(x, x, axes=([0, 1], [0, 1])),
        lambda x: np.tensordot(x, x, axes=([0, 1], [0, 1])),
        (X,),
    ),
    "tensordot of axes": (
        lambda x: (gnp.tensordot(x, x, axes=(1, 1)), gnp.tensordot(x, x, (-2, [0])),
                   gnp.tensordot(x, x, np.int64(0)), gnp.tensordot(x, x, np.array([0, 0]))),
        lambda x: (np.tensordot(x, x, axes=(1, 1)), np.tensordot(x, x, (-2, [0])),
                   np.tensordot(x, x, 0), np.tensordot(x, x, (0, 0))),
        (X,),
    ),
    "creation": (
        lambda x: (gnp.zeros(3), gnp.ones((2, 2), "float32"), gnp.full(2, x), gnp.full((), 7),
                   gnp.ones_like(x), gnp.zeros((2,), gnp.bool), gnp.full_like(x, 2.5)),
        lambda x: (np.zeros(3), np.ones((2, 2), "float32"), np.full(2, x), np.full((), 7),
                   np.ones_like(x), np.zeros((2,), bool), np.full_like(x, 2.5)),
        (np.float32(3.25),),
    ),
    "ranges": (
        lambda x: (gnp.arange(5), gnp.arange(1, 7, 2), gnp.arange(5, 0, -2), gnp.arange(0, 1, 0.25),
                   gnp.arange(3, dtype="float32"), gnp.linspace(0, 1, 5), gnp.arange(4, 4),
                   gnp.eye(3), gnp.eye(2, 3, k=1), x),
        lambda x: (np.arange(5), np.arange(1, 7, 2), np.arange(5, 0, -2), np.arange(0, 1, 0.25),
                   np.arange(3, dtype="float32"), np.linspace(0, 1, 5), np.arange(4, 4),
                   np.eye(3), np.eye(2, 3, k=1), x),
        (X,),
    ),
    "constants": (
        lambda x: (x + W.T[0], gnp.asarray([[1, 2], [3, 4]]), [1.0, True, 2], np.zeros((0, 2)),
                   gnp.asarray([True, False]), gnp.asarray([1, 2], "float32"), np.full(3, -0.0)),
        lambda x: (x + W.T[0], np.array([[1, 2], [3, 4]]), 1.0, True, 2, np.zeros((0, 2)),
                   np.array([True, False]), np.array([1, 2], "float32"), np.full(3, -0.0)),
        (X,),
    ),
    "layers": (
        lambda x, w: nn.relu(nn.linear(x, w.T)) + nn.softmax(x @ w, axis=-1),
        lambda x, w: np.maximum(x @ w, 0) + np.exp(x @ w) / np.exp(x @ w).sum(1, keepdims=True),
        (X, W),
    ),
    "sorting": (
        lambda x: (gnp.sort(x, axis=0), *gnp.top_k(x, k=2)),
        lambda x: (np.sort(x, axis=0), -np.sort(-x)[:, :2], np.argsort(-x)[:, :2]),
        (X,),
    ),
    "attributes": (
        lambda x: gnp.full((np.ndim(x), x.size), len(x) + np.shape(x)[1]) * (x.dtype == "float64"),
        lambda x: np.full((2, 12), 7) * True,
        (X,),
    ),
    "iteration": (
        lambda x: sum(row * k for k, row in enumerate(x)), lambda x: x[1] + 2 * x[2], (X,)
    ),
    "namespace": (lambda x: x.__array_namespace__().exp(x), np.exp, (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name: str) -> None:
    function, reference, arrays = VALUES[name]
    found, expected = run(function, *arrays), reference(*arrays)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_native_code_gives_the_same() -> None:
    params = {"w": W, "b": W[0]}
    module = gradir.trace(layer, X, params)
    loss, h = gradir.compile(module, "layer")(X, params["b"], params["w"])
    np.testing.assert_allclose(h, np.tanh(X @ W + W[0]))
    np.testing.assert_allclose(loss, np.mean(h**2))


# Gradients.


def network(x: Any, params: Any) -> Any:
    for w, b in params:
        x = gnp.tanh(x @ w + b)
    return gnp.mean(nn.softmax(x, axis=-1) ** 2) + 0.1 * gnp.logsumexp(x)


def test_gradients_of_a_network() -> None:
    params = [(RANDOM.normal(size=(4, 4)), RANDOM.normal(size=4)) for _ in range(2)]
    module = gradir.trace(network, X, params)
    check_grads((module, "network"), [X, *params[0], *params[1]])


def test_no_grad_and_name() -> None:
    def f(x: Any) -> Any:
        h = gradir.name(x * x, "hidden")
        return gnp.sum(h * gradir.no_grad({"h": h})["h"])

    module = gradir.trace(f, X)
    assert '%hidden = grad.name %0 {name = "hidden"} : tensor<3x4xf64>' in str(module)
    _, x_ct = gradir.interpret(module.gradient("f", mode="grad"), "f_grad", X)
    np.testing.assert_allclose(x_ct, 2 * X**3)
    _, h_ct = gradir.interpret(module.gradient("f", wrt=["hidden"], mode="grad"), "f_grad", X)
    np.testing.assert_allclose(h_ct, X**2)


# Errors.


def branching(x: Any) -> Any:
    y = x + 1
    if y.sum() > 0:
        return y
    return x


def test_a_branch_on_values_is_refused() -> None:
    first = branching.__code__.co_firstlineno
    with pytest.raises(TraceError) as caught:
        gradir.trace(branching, X)
    assert str(caught.value) == (
        f"{__file__}:{first + 2}:8: error: bool: a traced array has no value yet; choose with "
        "gradir.cond, gradir.while_loop or gradir.numpy.where instead of if, while, and, or, not\n"
        "    if y.sum() > 0:\n       ^"
    )
    assert caught.value.diagnostic is not None and caught.value.diagnostic.line == first + 2


ERRORS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: float(x), "float: a traced array has no value yet; return it from the traced"),
    (lambda x: gnp.sort(2j * x), "array.sort: elements must be real, got complex128; take x.real,"),
    (lambda x: x.at[0].set(2j), "x.at[...]: values must be of the kind of x or a lower one, got"),
    (lambda x: gnp.full(2, 2j, float), "2j is no float64 number; take its real or imaginary part"),
    (lambda x: math.sin(x.item(0)), "float: a traced array has no value yet; return it"),
    (lambda x: list(range(x)), "index: a traced array has no value yet; take elements with"),
    (lambda x: np.asarray(x, float), "numpy.asarray: an array of float64 cannot hold traced num"),
    (lambda x: x and 1, "bool: a traced array has no value yet; choose with gradir.cond"),
    (lambda x: x @ x, "array.matmul: inner sizes must match, got 4 and 3"),
    (lambda x: x + np.ones(3), "array.add: shapes must broadcast, got [3, 4] and [3]"),
    (lambda x: gnp.sum(x, axis=2), "array.sum: axis must be in [-2, 2), got 2"),
    (lambda x: gnp.mean(x, axis=x), "array.mean: axis must be known while tracing, got <traced"),
    (lambda x: gnp.mean(x, axis="0"), "array.mean: axis must be integers, got"),
    (lambda x: gnp.mean(x, axis=(0, 0.5)), "array.mean: axis must be a number, integers or a"),
    (
        lambda x: gnp.mean(x, dim=0),
        "mean: unknown argument dim; did you mean axis? known: a, axis, dtype, keepdims",
    ),
    # pyrefly: ignore
    (lambda x: gnp.mean(), "mean: missing 1 required positional argument: 'a'; parameters: a, a"),
    (lambda x: gnp.tensordot(x, x, (1, 0, 2)), "tensordot: axes must be a number of axes that"),
    (lambda x: gnp.tensordot(x, x, 3), "tensordot: axes must be a number of axes that both"),
    (lambda x: gnp.tensordot(x, x, (0, 1.5)), "tensordot: axes must be a number of axes that"),
    (lambda x: gnp.tensordot(x, x, (5, 0)), "array.dot_general: lhs_contract must be in [-2, 2)"),
    (lambda x: gnp.moveaxis(x, "a", 0), "axes must be an integer or integers, got 'a'"),
    (lambda x: gnp.concat(3.0), "concatenate: expected a sequence of arrays, got float"),
    (lambda x: gnp.take(x, 0, mode="no"), "take: mode must be one of 'raise', 'wrap', 'clip', got"),
    (lambda x: gnp.cumulative_sum(x), "array.cumulative_sum: axis must be given for an array"),
    (lambda x: x.reshape(5, -1), "reshape: [5, -1] must hold 12 elements, got <traced array %x"),
    (lambda x: x.reshape(7), "array.reshape: sizes must match, got tensor<3x4xf64> and tensor<7"),
    (lambda x: x.reshape(-2, -6), "shape: extents must not be negative, got [-2, -6]"),
    (
        lambda x: x.astype("complex256"),
        "dtype: expected float64, float32, float16, bfloat16, int64,",
    ),
    (lambda x: (x > 0) - (x > 1), "array.subtract: numpy boolean subtract, the `-` operator, is"),
    (lambda x: x.astype("int64") ** -1, "pow: integers to negative integer powers are not allowed"),
    (lambda x: gnp.sin([x, x[0]]), "the parts of a list must have one shape to be an array, got"),
    (lambda x: gnp.sin([x, "x"]), "expected an array or a number, got str"),
    (lambda x: gnp.sin("x"), "expected an array or a number, got str"),
    (lambda x: "x", "result of the traced function: expected an array or a number, got str"),
    (lambda x: gnp.unique(x), "array.unique: the result's shape must not depend on values"),
    (lambda x: gnp.full(2, 300, "uint8"), "array.full: value must be an integer in [0, 256)"),
    (lambda x: x.astype("int64") + 2**70, "1180591620717411303424 is no element of int64[3, 4]"),
    (lambda x: x + 10**400, "so large an integer is no element of float64[3, 4]"),
    (lambda x: gnp.zeros(3, "M8[s/0]"), "dtype: expected float64, float32, float16, bfloat16, "),
    (lambda x: gnp.zeros(3, "f\udc90"), "dtype: expected float64, float32, float16, bfloat16, "),
    (lambda x: gnp.zeros(3, [1]), "dtype: expected float64, float32, float16, bfloat16, int64,"),
    (lambda x: gnp.arange(x), "arange: start, stop and step must be known while tracing"),
    (lambda x: x.__setitem__(0, 1), "assignment: x is an argument of the traced function, and"),
    (lambda x: nn.conv2d(x, x), "nn.conv2d: "),
    (lambda x: len(x.sum()), "len: expected an array of rank >= 1, got one of rank 0"),
    (lambda x: gradir.trace(lambda y: x + y, X), "a traced array of another trace is used here;"),
]


@pytest.mark.parametrize(("function", "message"), ERRORS, ids=[m[:40] for _, m in ERRORS])
def test_errors(function: Callable[..., Any], message: str) -> None:
    assert fails(function, X).startswith(message)


def test_errors_of_users_pass() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gradir.trace(f, X)


def test_the_kinds_of_errors() -> None:
    for error, function in ((VerifyError, lambda x: x @ x), (ArgumentError, lambda x: x.astype(3))):
        with pytest.raises(error):
            gradir.trace(function, X)


def test_arguments_that_cannot_be_traced() -> None:
    with pytest.raises(ArgumentTypeError, match=r"x0_k: expected an array, .*got str"):
        gradir.trace(lambda *x: x[0]["k"], {"k": "a"})
    with pytest.raises(ArgumentTypeError, match="expected a Python function, got 3"):
        gradir.trace(3)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match="keys of a dict must have an order"):
        gradir.trace(lambda x: x, {"a": X, 1: X})
    with pytest.raises(ArgumentTypeError, match=r"dtype: expected .*, got datetime64"):
        gradir.trace(lambda x: x, np.zeros(2, "datetime64[s]"))


def test_a_value_that_has_left_its_trace() -> None:
    kept: list[Any] = []
    gradir.trace(lambda x: kept.append(x) or x, X)
    with pytest.raises(TraceError, match="a traced array of another trace"):
        gradir.trace(lambda x: x + kept[0], X)


def test_a_trace_that_failed_leaves_no_trace_behind() -> None:
    with pytest.raises(TraceError):
        gradir.trace(branching, X)
    assert isinstance(gnp.zeros(3), np.ndarray)


def test_traced_arrays_are_shown_by_name_and_type() -> None:
    shown: list[str] = []
    gradir.trace(lambda x: shown.append(repr(x)) or x, Spec((2, 3), "bfloat16"))
    assert shown == ["<traced array %x bfloat16[2, 3]>"]
