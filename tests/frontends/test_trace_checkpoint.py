"""gradir.checkpoint: stages of Python functions, their memory, their bits and their errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.dialects.grad.policies import POLICIES
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, TraceError
from gradir.passes.analysis.regions import MAX_REGION_DEPTH
from gradir.testing import check_grads

Array = np.ndarray[Any, Any]
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(32, 16))
WEIGHTS = [RANDOM.normal(size=(16, 16)) / 4 for _ in range(6)]


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def network(wrap: Wrap) -> Callable[..., Any]:
    """Six blocks of two layers with three stored values each, wrapped one by one."""

    def block(x: Any, w: Any) -> Any:
        h = gnp.tanh(x @ w)
        return gnp.sin(h) * gnp.exp(h * 0.1)

    def f(x: Any, weights: Any) -> Any:
        for w in weights:
            x = wrap(block)(x, w)
        return gnp.sum(x**2)

    return f


def derivative(function: Callable[..., Any], *arrays: Any) -> gradir.Module:
    return gradir.trace(function, *arrays).gradient("f", mode="grad")


def compiled(function: Callable[..., Any]) -> Any:
    return gradir.compile(derivative(function, X, WEIGHTS), "f_grad", threads=1)


def assert_same_bits(one: Any, other: Any) -> None:
    assert len(one) == len(other)
    for x, y in zip(one, other, strict=True):
        assert x.tobytes() == y.tobytes()


@pytest.fixture(scope="module")
def unmarked() -> Any:
    return compiled(network(plain))


@pytest.mark.parametrize("policy", POLICIES)
def test_stages_lower_the_peak_and_change_no_bit(policy: str, unmarked: Any) -> None:
    fn = compiled(network(partial(gradir.checkpoint, policy=policy)))
    assert_same_bits(fn(X, *WEIGHTS), unmarked(X, *WEIGHTS))
    assert fn.plan.peak_bytes <= unmarked.plan.peak_bytes
    if policy == "keep_none":
        assert fn.plan.peak_bytes < 0.7 * unmarked.plan.peak_bytes
    if policy == "keep_all":
        assert fn.plan.peak_bytes == unmarked.plan.peak_bytes


def test_stages_nest(unmarked: Any) -> None:
    def nested(function: Callable[..., Any]) -> Callable[..., Any]:
        return gradir.checkpoint(lambda *args: gradir.checkpoint(function)(*args) + 0.0)

    def halves(x: Any, weights: Any) -> Any:
        @gradir.checkpoint
        def half(x: Any, ws: Any) -> Any:
            for w in ws:
                x = gradir.checkpoint(lambda x, w: _block(x, w))(x, w)
            return x

        return gnp.sum(half(half(x, weights[:3]), weights[3:]) ** 2)

    halves.__name__ = "f"
    text = str(gradir.trace(halves, X, WEIGHTS))
    assert text.count("grad.checkpoint ->") == 8
    assert_same_bits(compiled(halves)(X, *WEIGHTS), unmarked(X, *WEIGHTS))
    assert compiled(halves).plan.peak_bytes < 0.7 * unmarked.plan.peak_bytes
    assert str(gradir.trace(network(nested), X, WEIGHTS)).count("grad.checkpoint ->") == 12


def _block(x: Any, w: Any) -> Any:
    h = gnp.tanh(x @ w)
    return gnp.sin(h) * gnp.exp(h * 0.1)


def test_the_text_of_a_stage() -> None:
    @gradir.checkpoint(policy="keep_matmuls")
    def stage(x: Any) -> Any:
        y = gnp.sin(x)
        return y, 2.0

    def f(x: Any) -> Any:
        a, b = stage(x)
        return a * b

    assert str(gradir.trace(f, gradir.Spec(4, "float32"))) == (
        "builtin.module {\n"
        "  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '    %y, %0 = grad.checkpoint policy "keep_matmuls" -> (tensor<4xf32>, tensor<f64>) {\n'
        "      %y_1 = array.sin %x : tensor<4xf32>\n"
        "      %1 = array.full {value = 2.0} : tensor<f64>\n"
        "      grad.yield %y_1, %1 : tensor<4xf32>, tensor<f64>\n"
        "    }\n"
        "    %2 = array.astype %0 : tensor<f64> -> tensor<f32>\n"
        "    %3 = array.broadcast_to %2 : tensor<f32> -> tensor<4xf32>\n"
        "    %4 = array.multiply %y, %3 : tensor<4xf32>\n"
        "    func.return %4 : tensor<4xf32>\n"
        "  }\n"
        "}"
    )


def test_captured_values_and_nested_results() -> None:
    """A stage reads arrays around it, returns them too, and takes objects that are no arrays."""

    def f(x: Any, w: Any) -> Any:
        scale = gnp.sum(w)

        @gradir.checkpoint
        def stage(values: Any, *, times: int, name: str) -> Any:
            y = values["x"] * scale
            for _ in range(times):
                y = gnp.sin(y) + w[0]
            return {"y": y, "same": w, name: [values["x"], None]}

        out = stage({"x": x}, times=2, name="rest")
        assert out["rest"][1] is None
        return gnp.sum(out["y"]) * gnp.sum(out["same"]) + gnp.sum(out["rest"][0] ** 2)

    x, w = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 2))
    check_grads((gradir.trace(f, x, w), "f"), [x, w])


def test_named_values_are_kept() -> None:
    def stage(x: Any) -> Any:
        return gnp.exp(gradir.name(gnp.sin(x), "kept"))

    def f(x: Any) -> Any:
        return gnp.sum(gradir.checkpoint(stage, policy="keep_named")(x))

    text = str(derivative(f, X))
    _, _, after = text.partition("@f_grad")
    assert after.count("array.sin") == 1 and after.count("array.exp") == 2


def test_without_a_trace_the_function_is_called() -> None:
    assert gradir.checkpoint(lambda x, *, by: x * by)(X, by=2)[0, 0] == 2 * X[0, 0]


def test_a_stage_has_the_name_and_the_docstring_of_its_function() -> None:
    def documented(x: Any) -> Any:
        """Does nothing."""
        return x

    stage = gradir.checkpoint(documented)
    assert (stage.__name__, stage.__doc__) == ("documented", "Does nothing.")


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"policy: expected one of keep_all, .*, got 'keep'"):
        gradir.checkpoint(network, policy="keep")
    with pytest.raises(ArgumentTypeError, match="function: expected a Python function, got 3"):
        gradir.checkpoint(3)  # pyrefly: ignore[bad-argument-type]
    kept: list[Any] = []

    @gradir.checkpoint
    def leaks(x: Any) -> Any:
        y = gnp.sin(x)
        kept.append(y)
        return y

    with pytest.raises(TraceError, match="a traced array of a region is used outside of it") as e:
        gradir.trace(lambda x: leaks(x) + kept[0], X)
    assert e.value.diagnostic is not None and e.value.diagnostic.file == __file__
    with pytest.raises(TraceError, match="result of the checkpointed function: expected an array"):
        gradir.trace(lambda x: gradir.checkpoint(lambda x: "x")(x), X)
    with pytest.raises(TraceError, match="bool: a traced array has no value yet"):
        gradir.trace(gradir.checkpoint(lambda x: x if x.sum() else -x), X)


def test_stages_that_are_nested_deeply() -> None:
    """As deep as regions in a text, and then an error at the stage that is one too many."""

    def nested(depth: int, frames: int = 0) -> Any:
        def below(function: Any, x: Any, frames: int) -> Any:
            return below(function, x, frames - 1) if frames else function(x)

        function: Any = gnp.sin
        for _ in range(depth):
            function = partial(gradir.checkpoint(below), function, frames=frames)
        return function

    deepest = MAX_REGION_DEPTH - 2
    assert str(gradir.trace(nested(deepest), X[0])).count("grad.checkpoint") == deepest
    for function, message in (
        (nested(deepest + 1), "one would be in 128 regions, the limit is 128 within each other"),
        (nested(deepest, 10), "nested too deeply for Python's recursion limit"),
    ):
        with pytest.raises(GradirError, match=message) as caught:
            gradir.trace(function, X[0])
        assert caught.value.diagnostic is not None and caught.value.diagnostic.file == __file__


def test_memory_limit_of_a_traced_function() -> None:
    module = gradir.trace(network(plain), X, WEIGHTS)
    most = gradir.compile(module.gradient("f", mode="grad"), "f_grad", threads=1).plan.peak_bytes
    limited = module.gradient("f", mode="grad", memory_limit=most // 2)
    assert gradir.compile(limited, "f_grad").plan.peak_bytes <= most // 2
