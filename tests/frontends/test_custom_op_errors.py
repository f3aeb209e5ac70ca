"""gradir.custom_op: a fault of its functions is an error with its name and place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, ExecutionError, HostCallError, PassError, TraceError
from tests.support.custom_ops import Arrays, backward, first_like, forward, own_registry, wave

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.75])
KEPT: list[Any] = []


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    KEPT.clear()
    with own_registry():
        yield


def ways(op: Any) -> list[tuple[str, Callable[..., Any]]]:
    """Native code, the interpreter and at once, with how errors name the op."""
    module = gradir.trace(lambda x, w: op(x, w), X, W)
    native, interpreted = gradir.compile(module, "main"), partial(gradir.interpret, module, "main")
    call = "grad.host_call @bad: "
    return [(call, native), (call, interpreted), ("custom_op @bad: ", op)]


def require_error(function: Any, message: str, **options: Any) -> None:
    """A forward function fails with a message, at its place, and the program stays usable."""
    is_wrong = True

    def sometimes(inputs: Arrays, outputs: Arrays, req: Arrays) -> Any:
        return (function if is_wrong else forward)(inputs, outputs, req)

    op = gradir.custom_op(sometimes, first_like, name="bad", **options)
    for name, run in ways(op):
        is_wrong = True
        for _ in range(2):
            with pytest.raises(HostCallError, match=message) as caught:
                run(X, W)
            assert re.match(rf".*test_custom_op_errors\.py:\d+:\d+: {name}", str(caught.value))
        is_wrong = False
        KEPT.clear()
        np.testing.assert_allclose(np.reshape(run(X, W), (3,)), np.sin(X) * W)


def nothing(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    """Forgets its result."""


def a_part(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    outputs[0][:2] = 1


def added(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    """Reads the memory's old content."""
    outputs[0][...] += inputs[0]


def returned(inputs: Arrays, outputs: Arrays, req: Arrays) -> Any:
    return np.sin(inputs[0])


def raised(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    raise RuntimeError("no good")


def reshaped(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    outputs[0].shape = (3, 1)
    outputs[0][...] = 1


def too_large(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    outputs[0][...] = np.ones((2, 3))


def mutating(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    forward(inputs, outputs, req)
    inputs[0][0] = 7


def forcing(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    forward(inputs, outputs, req)
    inputs[1].setflags(write=True)
    inputs[1][0] = 7


def keeping(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
    forward(inputs, outputs, req)
    KEPT.append((inputs[0][1:], outputs[0].reshape(3, 1)))


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nothing, r"outputs\[0\] is not written, in 3 of 3 elements"),
        (added, r"outputs\[0\] is not written, in 3 of 3 elements"),
        (returned, r"must write into outputs and return None, got ndarray"),
        (raised, r"RuntimeError: no good\nTraceback(.|\n)*raise RuntimeError\(\"no good\"\)"),
        (reshaped, r"must not change the type of outputs\[0\], float64\[3\], got float64\[3, 1\]"),
        (too_large, r"ValueError: could not broadcast input array from shape \(2,3\)"),
        (mutating, r"ValueError: assignment destination is read-only"),
        (keeping, r"must not keep inputs\[0\], outputs\[0\](, whose memory is the program's)?; "),
    ],
)
def test_mistakes_of_forward(function: Any, message: str, debug: bool) -> None:
    require_error(function, message, debug=debug)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (a_part, r"outputs\[0\] is not written, in 1 of 3 elements"),
        (forcing, r"must not write into inputs\[1\]"),
    ],
)
def test_mistakes_that_debug_mode_finds(function: Any, message: str) -> None:
    require_error(function, message, debug=True)


def test_what_is_not_written_is_nan_or_zero() -> None:
    """Never old bytes, also without debug mode."""

    def infer(x: gradir.Spec) -> tuple[gradir.Spec, gradir.Spec]:
        return x, gradir.Spec(x.shape, "int32")

    def part(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        outputs[0][0] = outputs[1][0] = 1

    op = gradir.custom_op(part, infer, name="part")
    for run in (op, gradir.jit(lambda x: op(x))):
        y, n = run(X)
        np.testing.assert_array_equal(y, [1, np.nan, np.nan])
        np.testing.assert_array_equal(n, [1, 0, 0])
    debugged = gradir.custom_op(
        lambda inputs, outputs, req: outputs[0].fill(1), infer, name="part", debug=True
    )
    with pytest.raises(HostCallError, match=r"outputs\[1\] is not written, in 3 of 3 elements"):
        debugged(X)


@pytest.mark.parametrize("debug", [False, True])
def test_a_forgotten_gradient_is_an_error(debug: bool) -> None:
    def half(cts: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, req: Arrays) -> None:
        grads[0][...] = cts[0] * inputs[1] * np.cos(inputs[0])

    op = gradir.custom_op(forward, first_like, half, name="half", debug=debug)

    def loss(x: Any, w: Any) -> Any:
        return gnp.sum(op(x, w))

    message = r"host_call @half\.backward: grads\[1\] is not written, in 3 of 3 elements"
    with pytest.raises(HostCallError, match=message):
        gradir.grad(loss, argnums=(0, 1))(X, W)
    np.testing.assert_allclose(gradir.grad(loss)(X, W), np.cos(X) * W)


def test_an_error_leaves_other_results_and_later_calls() -> None:
    """It is of the type HostCallError, with its cause, in forward and backward alike."""
    fails = {"forward": False, "backward": False}

    def run(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        if fails["forward"]:
            raise ValueError("forward failed")
        forward(inputs, outputs, req)

    def back(*args: Any) -> None:
        if fails["backward"]:
            raise ValueError("backward failed")
        backward(*args)

    for mode in ("sync", "async"):
        op = gradir.custom_op(run, first_like, back, exec=mode, name="exc")
        slope = gradir.grad(lambda x, op=op: gnp.sum(op(x, W)))
        before = slope(X)
        wanted = before.copy()
        for part, name in (("forward", "exc"), ("backward", r"exc\.backward")):
            fails[part] = True
            with pytest.raises(HostCallError, match=rf"@{name}: ValueError: {part} fail") as caught:
                slope(X)
            assert isinstance(caught.value.__cause__, ValueError)
            fails[part] = False
            np.testing.assert_array_equal(slope(X), wanted)
        np.testing.assert_array_equal(before, wanted)


def test_the_frames_of_an_error_hold_no_memory_of_the_program() -> None:
    """They outlive it; in debug mode they hold copies, for a debugger."""

    def broken(inputs: Arrays, outputs: Arrays, req: Arrays) -> None:
        x = inputs[0]
        raise ValueError(x.shape)

    for debug in (False, True):
        op = gradir.custom_op(broken, first_like, debug=debug)
        with pytest.raises(HostCallError) as caught:
            gradir.jit(lambda x, op=op: op(x, W))(X)
        cause = caught.value.__cause__
        assert cause is not None
        trace = cause.__traceback__
        held = False
        while trace is not None:
            held |= "x" in trace.tb_frame.f_locals
            trace = trace.tb_next
        assert held is debug


def bad_shape(x: gradir.Spec, w: gradir.Spec) -> Any:
    return x.shape


def raising(x: gradir.Spec, w: gradir.Spec) -> Any:
    raise ValueError(f"no rule for {x}")


def unlike(x: gradir.Spec) -> Any:
    return x


def wide(x: gradir.Spec, w: gradir.Spec) -> Any:
    return gradir.Spec(x.shape, "complex128")


@pytest.mark.parametrize(
    ("infer", "message"),
    [
        (bad_shape, r"@bad: infer must return a gradir\.Spec, or a tuple of them, got \(3,\)"),
        (raising, r"@bad: infer: ValueError: no rule for float64\[3\]"),
        (unlike, r"@bad: infer: TypeError: .*takes 1 positional argument"),
        (wide, r"@bad: arguments and results must be real, got complex128"),
    ],
)
def test_mistakes_of_infer(infer: Any, message: str) -> None:
    op = gradir.custom_op(forward, infer, name="bad")
    for call in (gradir.jit(lambda x, w: op(x, w)), op):
        with pytest.raises(TraceError, match=message) as caught:
            call(X, W)
        assert "test_custom_op_errors.py:" in str(caught.value)
    text = """func.func @f(%x: T, %w: T) -> T {
  %y = grad.host_call %x, %w {callee = "bad"} : (T, T) -> T
  func.return %y : T
}""".replace("T", "tensor<3xf64>")
    with pytest.raises(PassError, match=message) as refused:
        gradir.compile(gradir.parse(text, "p.mlir"), "f")
    assert str(refused.value).startswith("p.mlir:2:3: error: grad.host_call")


def compiled(attributes: str, types: str = "(T, T) -> T") -> Any:
    results = "%y:2" if types.endswith(")") else "%y"
    text = f"""func.func @f(%x: T, %w: T) -> T {{
  {results} = grad.host_call %x, %w {{callee = {attributes}}} : {types}
  func.return %x : T
}}""".replace("T", "tensor<3xf64>")
    return gradir.compile(gradir.parse(text, "p.mlir"), "f")


def test_text_that_does_not_fit_the_op() -> None:
    wave(name="wave")
    checks: list[tuple[tuple[str, ...], str]] = [
        (
            ('"gone"',),
            r"p\.mlir:2:3: error: grad\.host_call: no host function 'gone' is registered",
        ),
        (('"wave", pure',), r"'wave' was not registered as pure"),
        (('"wave"', "(T, T) -> (T, T)"), r"'wave' gives float64\[3\], got float64\[3\], float64"),
        (
            ('"wave", deps = ["out0"]',),
            r"deps must be what 'wave' needs, out_grad0, in0, in1; leave",
        ),
        (
            ('"wave", of = (f64) -> f64',),
            r"`of` must be those of a forward function, got 2 operand",
        ),
        (('"wave.backward"',), r"must be those of a backward function, .* and no `of`"),
    ]
    for given, message in checks:
        with pytest.raises((PassError, ExecutionError), match=message):
            compiled(*given)


def test_bad_arguments() -> None:
    custom: Any = gradir.custom_op
    make: Any = partial(custom, forward, first_like)
    stateful = make(state=1, name="stateful")
    checks: list[tuple[Callable[[], Any], str]] = [
        (lambda: custom(3, first_like), "forward: expected a Python function or a gradir.native"),
        (lambda: custom(forward, None), "infer: expected a Python function"),
        (lambda: make(3), "backward: expected a Python function, a gradir.native or"),
        (lambda: make(jvp=3), "jvp: expected a Python function, a gradir.native or"),
        (lambda: make(stateful), "backward: expected a custom_op without state, got <gradir"),
        (lambda: make(needs="inputs"), "needs: expected a tuple of names, got 'inputs'"),
        (lambda: make(needs=("input",)), "needs: expected cotangents, inputs, outputs, in<k>, "),
        (lambda: make(state=-1), "state: expected a number of arguments, got -1"),
        (lambda: make(state=True), "state: expected a number of arguments, got True"),
        (
            lambda: make(exec="later"),
            "exec: expected one of sync, async, cross_device, got 'later'",
        ),
        (lambda: make(name=3), "name: expected the name of an op, got 3"),
        (lambda: make(wave(name="a"), name="a"), "name: expected another than that of <gradir"),
    ]
    for run, message in checks:
        with pytest.raises(ArgumentError, match=message):
            run()
    with pytest.raises(TraceError, match=r"@stateful: the last 1 arguments must be state, got 0"):
        stateful()
    with pytest.raises(TraceError, match=r"@forward\w*: needs has 'in2', got 2 inputs"):
        make(backward, needs=("in2",))(X, W)
    with pytest.raises(ArgumentError, match="expected an array or a number, got object"):
        stateful(object(), X)


def test_names_are_unique_unless_given() -> None:
    first, second = wave(), wave()
    assert repr(first) != repr(second)
    old, new = wave(name="same"), wave(name="same")
    assert repr(old) == repr(new)


def test_derivatives_of_one_name():
    """A later op of the name is not the derivative of an earlier one."""

    def power(k: int) -> Any:
        def forward(inputs: Any, outputs: Any, req: Any) -> None:
            outputs[0][...] = inputs[0] ** k

        def slope(inputs: Any, outputs: Any, req: Any) -> None:
            outputs[0][...] = inputs[0] * k * inputs[1] ** (k - 1)

        needs = ("cotangents", "inputs")
        back = gradir.custom_op(slope, lambda c, x: x, needs=needs, name="taken_slope")
        return gradir.custom_op(forward, lambda x: x, back, needs=needs, name=f"taken{k}")

    earlier, later = power(2), power(3)
    assert gradir.grad(later)(3.0) == 27
    assert gradir.grad(earlier)(3.0) == 6


def test_elements_that_an_op_before_did_not_write():
    """The op that reads them hands them on: the error is about the other one."""

    def a_half(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][: outputs[0].size // 2] = 1

    def copy(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0]

    def like(x: Any) -> Any:
        return x

    first, second = gradir.custom_op(a_half, like), gradir.custom_op(copy, like, debug=True)
    message = r"@copy.*: inputs\[0\] comes with 2 of 4 elements that the op which made it has not"
    with pytest.raises(HostCallError, match=message):
        gradir.jit(lambda x: second(first(x)))(np.ones(4))
