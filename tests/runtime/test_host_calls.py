"""grad.host_call: Python functions in programs, natively and in the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.dialects.grad.host_functions import (
    _FUNCTIONS,
    Spec,
)
from gradir.errors import ArgumentTypeError, HostCallError, PassError
from gradir.testing import check_grads

pytestmark = pytest.mark.usefixtures("native_calls")

Array = np.ndarray[Any, np.dtype[Any]]
X = np.array([0.5, -1.0, 1.5, 2.0])


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    """Functions that a test registers are gone after it."""
    before = dict(_FUNCTIONS)
    yield
    _FUNCTIONS.clear()
    _FUNCTIONS.update(before)


def program(attributes: str = "", body: str = "") -> str:
    return f"""
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
  %a = array.sin %x : tensor<4xf64>
  %b = grad.host_call %a {{callee = "cube"{attributes}}} : (tensor<4xf64>) -> tensor<4xf64>
  {body}
  %y = array.multiply %b, %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}}"""


def runs(module: gradir.Module, name: str) -> list[Any]:
    return [gradir.compile(module, name), partial(gradir.interpret, module, name)]


def register_cube(**more: Any) -> list[Array]:
    """x**3; returns the list of what it was called with."""
    seen: list[Array] = []

    def cube(x: Array) -> Array:
        seen.append(x)
        return x**3

    gradir.register_host_function("cube", cube, **more)
    return seen


def test_values() -> None:
    def same(x: Spec) -> Spec:
        return x

    register_cube(shape=same)
    for run in runs(gradir.parse(program()), "f"):
        np.testing.assert_allclose(run(X)[0], np.sin(X) ** 3 * X)


def test_arrays_are_the_functions_own() -> None:
    """What it keeps or changes is no memory of the program."""
    seen = register_cube()
    for run in runs(gradir.parse(program()), "f"):
        run(X)
        seen[-1][:] = 7
        np.testing.assert_allclose(run(X)[0], np.sin(X) ** 3 * X)


def cube_backward(ct: Array, x: Array, y: Array) -> Array:
    del y
    return 3 * x * x * ct


def test_the_backward_function_is_the_derivative() -> None:
    register_cube(backward=cube_backward, pure=True)
    module = gradir.parse(program())
    check_grads(module, [X], function="f", order=1)
    derived = module.gradient("f", mode="vjp")
    for run in runs(derived, "f_vjp"):
        s = np.sin(X)
        np.testing.assert_allclose(run(X, np.ones(4))[1], s**3 + 3 * s * s * np.cos(X) * X)


def test_only_what_is_declared_is_passed() -> None:
    """In the order of deps; a result that is not there is not kept either."""
    seen: list[tuple[Array, ...]] = []

    def backward(*given: Array) -> Array:
        seen.append(given)
        return 3 * given[0] ** 2 * given[1]

    register_cube(backward=backward)
    module = gradir.parse(program(', deps = ["in0", "out_grad0"]')).gradient("f", mode="vjp")
    for run in runs(module, "f_vjp"):
        run(X, np.ones(4))
        np.testing.assert_allclose(seen[-1], [np.sin(X), X])


def test_second_order_needs_another_backward() -> None:
    register_cube(backward=cube_backward)
    first = gradir.parse(program()).gradient("f", mode="vjp")
    with pytest.raises(
        PassError, match=r"grad\.host_call @cube(\.backward)?: it has no derivative"
    ):
        first.gradient("f_vjp", mode="vjp")

    # the backward call has no deps of its own: its derivative gets all, also its result
    def second(ct: Array, out_ct: Array, x: Array, out: Array) -> tuple[Array, Array]:
        del out
        return 3 * x * x * ct, 6 * x * out_ct * ct

    def slope(out_ct: Array, x: Array) -> Array:
        return 3 * x * x * out_ct

    gradir.register_host_function("d", slope, backward=second, pure=True)
    register_cube(backward="d", pure=True)
    text = program(', pure, deps = ["out_grad0", "in0"]')
    check_grads(gradir.parse(text), [X], function="f", order=2)


def test_unknown_derivatives_are_refused() -> None:
    register_cube()
    with pytest.raises(
        PassError, match=r"grad\.host_call @cube(\.backward)?: it has no derivative"
    ):
        gradir.parse(program()).gradient("f")
    with pytest.raises(
        PassError, match=r"grad\.host_call @cube(\.backward)?: it has no derivative"
    ):
        gradir.parse(program(", pure")).gradient("f")
    register_cube(backward=cube_backward)
    with pytest.raises(PassError, match=r"grad\.host_call @cube: it has no jvp"):
        gradir.parse(program()).gradient("f", mode="jvp")


def test_errors_have_the_traceback_and_the_place() -> None:
    def broken(x: Array) -> Array:
        raise ValueError("no good")

    gradir.register_host_function("cube", broken)
    module = gradir.parse(program(), "p.mlir")
    for run in runs(module, "f"):
        for _ in range(2):
            with pytest.raises(HostCallError) as caught:
                run(X)
            text = str(caught.value)
            assert text.startswith("p.mlir:4:3: grad.host_call @cube: ValueError: no good")
            assert 'raise ValueError("no good")' in text
    register_cube()
    for run in runs(module, "f"):
        np.testing.assert_allclose(run(X)[0], np.sin(X) ** 3 * X)


def short(x: Array) -> Array:
    return x[:2]


def single(x: Array) -> Array:
    return x.astype("f4")


def twice(x: Array) -> tuple[Array, Array]:
    return x, x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (short, r"result 0 must be float64\[4\], got float64\[2\]"),
        (single, r"result 0 must be float64\[4\], got float32\[4\]"),
        (twice, "must return 1 arrays, got 2"),
    ],
)
def test_results_are_checked(function: Any, message: str) -> None:
    gradir.register_host_function("cube", function)
    for run in runs(gradir.parse(program()), "f"):
        with pytest.raises(HostCallError, match=message):
            run(X)


def halved(x: Spec) -> Spec:
    return (2,), x[1]


def test_what_is_registered_is_checked() -> None:
    module = gradir.parse(program(", pure"))
    checks: list[Any] = [
        partial(gradir.compile, module, "f"),
        partial(gradir.interpret, module, "f", X),
    ]
    for run in checks:
        with pytest.raises(PassError, match="no host function 'cube' is registered"):
            run()
        register_cube()
        with pytest.raises(PassError, match="'cube' was not registered as pure"):
            run()
        register_cube(pure=True, shape=halved)
        with pytest.raises(PassError, match=r"'cube' gives float64\[2\], got float64\[4\]"):
            run()
        del _FUNCTIONS["cube"]


def test_calls_with_effects_run_once_and_in_order() -> None:
    """Neither dropped where unused, nor merged, nor run again in a stage."""
    order: list[str] = []

    def note(name: str, x: Array) -> Array:
        order.append(name)
        return x.copy()

    def backward(ct: Array, x: Array, y: Array) -> Array:
        del x, y
        return ct

    for name in ("first", "second"):
        gradir.register_host_function(name, partial(note, name), backward=backward)
    module = gradir.parse("""
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %s = grad.start_checkpoint %x : tensor<4xf64>
  %u = grad.host_call %s {callee = "first"} : (tensor<4xf64>) -> tensor<4xf64>
  %a = grad.host_call %s {callee = "second"} : (tensor<4xf64>) -> tensor<4xf64>
  %b = grad.host_call %s {callee = "second"} : (tensor<4xf64>) -> tensor<4xf64>
  %c = array.multiply %a, %b : tensor<4xf64>
  %d = array.sin %c : tensor<4xf64>
  %y = grad.end_checkpoint %d : tensor<4xf64>
  func.return %y : tensor<4xf64>
}""")
    derived = module.gradient("f", mode="vjp")
    for run in runs(derived, "f_vjp"):
        order.clear()
        _, x_ct = run(X, np.ones(4))
        assert order == ["first", "second", "second"]
        np.testing.assert_allclose(x_ct, np.cos(X * X) * 2 * X)


IN_A_CALLEE = (
    program().replace("@f", "@g")
    + """
func.func @h(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = func.call @g(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %s = grad.start_checkpoint %x : tensor<4xf64>
  %a = func.call @h(%s) : (tensor<4xf64>) -> tensor<4xf64>
  %b = array.sin %a : tensor<4xf64>
  %y = grad.end_checkpoint %b : tensor<4xf64>
  func.return %y : tensor<4xf64>
}"""
)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none"])
def test_a_stage_keeps_what_a_callee_got_from_the_host(policy: str) -> None:
    """As it keeps what a call in the stage itself gave; the module stays as it was."""
    seen = register_cube(backward=cube_backward)
    module = gradir.parse(IN_A_CALLEE)
    before = str(module)
    derived = module.gradient("f", mode="vjp", policy=policy)
    assert str(module) == before
    region = gradir.parse(IN_A_CALLEE).run_passes("gradir-outline-checkpoints")
    regions = region.gradient("f", mode="vjp", policy=policy)
    b, slope = np.sin(X) ** 3, 3 * np.sin(X) ** 2 * np.cos(X)
    wanted = np.cos(b * X) * (slope * X + b)
    for each in (derived, regions):
        for run in runs(each, "f_vjp"):
            seen.clear()
            np.testing.assert_allclose(run(X, np.ones(4))[1], wanted)
            assert len(seen) == 1
    register_cube(backward=cube_backward, pure=True)
    pure = gradir.parse(IN_A_CALLEE.replace('"cube"', '"cube", pure'))
    check_grads(pure, [X], function="f", order=1)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none"])
def test_stages_with_effects_further_down_are_refused(policy: str) -> None:
    """In branches of a stage that keeps nothing, also where a function has the branch."""
    register_cube(backward=cube_backward)
    branch = """%c = arith.constant true
  %b = scf.if %c -> (tensor<4xf64>) {
    %r = grad.host_call %a {callee = "cube"} : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %r : tensor<4xf64>
  } else {
    scf.yield %a : tensor<4xf64>
  }"""
    lines = IN_A_CALLEE.split("\n")
    lines[3] = branch
    with pytest.raises(PassError) as caught:
        gradir.parse("\n".join(lines)).gradient("f", mode="vjp", policy=policy)
    first, *notes = str(caught.value).split("\n<string>")
    assert first.startswith(
        "<string>:6:5: error: grad.host_call @cube: has effects, so that a checkpoint"
    )
    assert [note.partition(": ")[0] for note in notes] == [":20:3"]


def test_loops_that_run_again_take_no_effects() -> None:
    register_cube(backward=cube_backward)
    text = """
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %y = scf.for %i = %zero to %nine step %one iter_args(%a = %x) -> (tensor<4xf64>) {
    %s = array.sin %a : tensor<4xf64>
    %b = grad.host_call %s {callee = "cube"} : (tensor<4xf64>) -> tensor<4xf64>
    %c = array.add %b, %x : tensor<4xf64>
    scf.yield %c : tensor<4xf64>
  } {grad.loop = #grad.loop<every = 3>}
  func.return %y : tensor<4xf64>
}"""
    with pytest.raises(
        PassError, match=r"grad\.host_call @cube: has effects, so that a loop of policy"
    ):
        gradir.parse(text).gradient("f", mode="vjp")
    loop = """
func.func @f(%x: tensor<4xf64>, %n: i64) -> tensor<4xf64> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k, %y = scf.while (%i = %zero, %a = %x) : (i64, tensor<4xf64>) -> (i64, tensor<4xf64>) {
    %c = arith.cmpi slt, %i, %n : i64
    scf.condition(%c) %i, %a : i64, tensor<4xf64>
  } do {
  ^bb0(%i: i64, %a: tensor<4xf64>):
    %b = grad.host_call %a {callee = "cube"} : (tensor<4xf64>) -> tensor<4xf64>
    %j = arith.addi %i, %one : i64
    scf.yield %j, %b : i64, tensor<4xf64>
  } attributes {grad.loop = #grad.loop<online = 3>}
  func.return %y : tensor<4xf64>
}"""
    with pytest.raises(
        PassError, match=r"grad\.host_call @cube: has effects, so that a loop of policy"
    ):
        gradir.parse(loop).gradient("f", mode="vjp")
    store_all = gradir.parse(text.replace("every = 3", "store_all")).gradient("f", mode="vjp")
    register_cube(backward=cube_backward, pure=True)
    every = gradir.parse(text.replace('"cube"', '"cube", pure')).gradient("f", mode="vjp")
    expected = gradir.interpret(store_all, "f_vjp", X, np.ones(4))
    for module in (store_all, every):
        for run in runs(module, "f_vjp"):
            np.testing.assert_allclose(run(X, np.ones(4)), expected, rtol=1e-12)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "auto"])
def test_pure_calls_may_run_again(policy: str) -> None:
    seen = register_cube(backward=cube_backward, pure=True)
    module = gradir.parse(program(", pure", "%c = array.sin %b : tensor<4xf64>"))
    derived = module.gradient("f", mode="vjp", policy=policy)
    plain = gradir.interpret(module.gradient("f", mode="vjp"), "f_vjp", X, np.ones(4))
    for run in runs(derived, "f_vjp"):
        seen.clear()
        np.testing.assert_allclose(run(X, np.ones(4)), plain)
        assert len(seen) == 1 + (policy == "keep_none")


def test_a_host_function_may_run_native_code() -> None:
    """Also while other threads of the outer call wait."""
    text = """
func.func @NAME(%x: tensor<300x300xf64>) -> tensor<300x300xf64> {
  %a = array.matmul %x, %x : tensor<300x300xf64>, tensor<300x300xf64> -> tensor<300x300xf64>
  %b = BODY
  %y = array.matmul %b, %x : tensor<300x300xf64>, tensor<300x300xf64> -> tensor<300x300xf64>
  func.return %y : tensor<300x300xf64>
}"""
    plain = text.replace("NAME", "g").replace("BODY", "array.sin %a : tensor<300x300xf64>")
    inner = gradir.compile(gradir.parse(plain), "g")

    def nested(x: Array) -> Array:
        return inner(x)[0]

    gradir.register_host_function("nested", nested)
    call = 'grad.host_call %a {callee = "nested"} : (tensor<300x300xf64>) -> tensor<300x300xf64>'
    outer = gradir.parse(text.replace("NAME", "f").replace("BODY", call))
    x = np.random.default_rng(0).standard_normal((300, 300)) / 20
    [y] = gradir.compile(outer, "f")(x)
    np.testing.assert_allclose(y, nested(x @ x) @ x, rtol=1e-9, atol=1e-12)


def test_in_loops_with_several_threads() -> None:
    """On one thread among shared work; a failure ends a loop that would not end."""
    calls: list[float] = []

    def step(x: Array, n: Array) -> tuple[Array, Array]:
        calls.append(float(x[0, 0]))
        if n > 5:
            raise RuntimeError("too far")
        return x + 1, n + 1

    gradir.register_host_function("step", step)
    text = """
func.func @f(%x: T, %m: I) -> T {
  %zero = array.full {value = 0} : I
  %y, %k = scf.while (%a = %x, %n = %zero) : (T, I) -> (T, I) {
    %c = array.less %n, %m : I, I -> tensor<i1>
    %b = tensor.extract %c[] : tensor<i1>
    scf.condition(%b) %a, %n : T, I
  } do {
  ^bb0(%a: T, %n: I):
    %d = array.multiply %a, %a : T
    %e, %l = grad.host_call %d, %n {callee = "step"} : (T, I) -> (T, I)
    %g = array.sqrt %e : T
    scf.yield %g, %l : T, I
  }
  func.return %y : T
}""".replace("T", "tensor<256x256xf64>").replace("I", "tensor<i64>")
    module = gradir.parse(text)
    x = np.full((256, 256), 2.0)
    for run in runs(module, "f"):
        np.testing.assert_allclose(run(x, np.array(3))[0], np.sqrt(x * x + 3))
        with pytest.raises(HostCallError, match="RuntimeError: too far"):
            run(x, np.array(100))


@pytest.mark.parametrize("more", [{"function": 3}, {"shape": 3}, {"backward": 3}, {"name": 3}])
def test_what_is_registered_must_be_functions(more: Any) -> None:
    given: dict[str, Any] = {"name": "cube", "function": np.sin, **more}
    with pytest.raises(ArgumentTypeError, match="expected"):
        gradir.register_host_function(**given)


def test_other_types_and_sizes() -> None:
    def many(x: Array, n: Array, c: Array) -> tuple[Array, ...]:
        return x + n, ~c, x[:0]

    gradir.register_host_function("many", many)
    module = gradir.parse("""
func.func @f(%x: tensor<3xf32>, %n: tensor<3xi32>, %c: tensor<i1>)
    -> (tensor<3xf64>, tensor<i1>, tensor<0xf32>) {
  %a, %b, %d = grad.host_call %x, %n, %c {callee = "many"}
    : (tensor<3xf32>, tensor<3xi32>, tensor<i1>) -> (tensor<3xf64>, tensor<i1>, tensor<0xf32>)
  func.return %a, %b, %d : tensor<3xf64>, tensor<i1>, tensor<0xf32>
}""")
    for run in runs(module, "f"):
        a, b, d = run(np.ones(3, np.float32), np.arange(3, dtype=np.int32), np.array(True))
        np.testing.assert_array_equal(a, [1, 2, 3])
        assert not b and d.shape == (0,)
