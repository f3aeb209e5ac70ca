"""gradir.interop.jax.differentiable and trace: programs of JAX, their values and gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jax_ops import jax, jnp
from jax_programs import POLICIES, PROGRAMS, captured, checkpoint_name
from mpiexec import needs_mpi, on_ranks
from test_jax_primitives import same, total

import gradir
import gradir.numpy as gnp
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.interop import jax_programs
from gradir.interop.jax import differentiable, trace, wrap
from gradir.packages import package

extended: Any = package("jax.extend.core", "jax")
symbolic_shape: Any = package("jax.export", "jax").symbolic_shape


def gradients(function: Any, order: int) -> Any:
    for k in range(order):
        inner = function

        def scalar(arguments: Any, inner: Any = inner, seed: int = 10 * k) -> Any:
            return total(inner(arguments), seed)

        function = jax.jit(jax.grad(scalar))
    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """Values and gradients are JAX's, or those of a function that JAX differentiates."""
    program = PROGRAMS[name]
    ours = differentiable(program.function)
    theirs = program.reference or program.function
    for order in range(program.orders + 1):
        found = gradients(lambda a: ours(*a), order)(program.arguments)
        expected = gradients(lambda a: theirs(*a), order)(program.arguments)
        same(found, expected, 1e-10 * 10**order, f"{name}, order {order}")


class Named:
    """Equal to all of its name, whatever else it holds."""

    def __init__(self, name: str, factor: float):
        self.name, self.factor = name, factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def by_keyword(factor: float) -> Any:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * 1.0

    def backward(_: Any, g: Any, *, factor: float = factor) -> Any:
        return (g * factor,)

    f.defvjp(lambda x: (x * 1.0, None), backward)
    return f


def by_closure(held: Any) -> Any:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * 1.0

    def backward(_: Any, g: Any) -> Any:
        return (g * (held.factor if isinstance(held, Named) else np.copysign(1.0, held)),)

    f.defvjp(lambda x: (x * 1.0, None), backward)
    return f


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (by_keyword, 2.0, 3.0),
        (by_closure, 0.0, -0.0),
        (by_closure, Named("a", 2.0), Named("a", 3.0)),
    ],
)
def test_rules_that_differ_in_what_they_hold_are_two(make: Any, first: Any, second: Any) -> None:
    def both(x: Any) -> Any:
        return jnp.sum(2 * make(first)(x) + make(second)(x))

    x = jnp.asarray([0.3, 0.7])
    np.testing.assert_array_equal(jax.grad(differentiable(both))(x), jax.grad(both)(x))


def test_single_precision() -> None:
    for name in ("mlp", "block", "lstm"):
        program = PROGRAMS[name]
        args = jax.tree_util.tree_map(lambda x: x.astype(jnp.float32), program.arguments)
        found, expected = (
            gradients(lambda a, f=f: f(*a), 1)(args)
            for f in (differentiable(program.function), program.function)
        )
        same(found, expected, 1e-5, name)


def test_gradients_of_a_loop_are_differences() -> None:
    program = PROGRAMS["ode"]
    y, pull = program.arguments
    f = differentiable(lambda pull: jnp.sum(program.function(y, pull) ** 3))
    apart = (f(pull + 1e-6) - f(pull - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(f)(pull), apart, rtol=1e-7)


def test_transformations_around() -> None:
    f = differentiable(lambda x, a: {"y": jnp.sin(x) * a, "n": jnp.argmax(x)})
    x = jnp.asarray([[0.1, 0.5], [1.0, -1.0]])
    made = jax.jit(jax.vmap(f, (0, None)))(x, 2.0)
    np.testing.assert_allclose(made["y"], 2 * np.sin(x))
    assert made["n"].tolist() == [1, 0]
    slopes = jax.vmap(jax.grad(lambda x, a: f(x, a)["y"].sum()), (0, None))(x, 3.0)
    np.testing.assert_allclose(slopes, 3 * np.cos(x))
    # Python numbers have JAX's weak types, and other leaves are static
    g = differentiable(lambda x, k=2, mode="a": x * k if mode == "a" else x)
    assert g(jnp.float32(3)).dtype == g(jnp.float32(3), 2.5).dtype == jnp.float32
    assert g(jnp.float32(3), k=5, mode="b") == 3


def test_decorator_and_options() -> None:
    every: list[dict[str, Any]] = [{"policy": "keep_none"}, {"memory_limit": 10**6}, {"threads": 1}]
    for options in every:

        @differentiable(**options)
        def f(x: Any) -> Any:
            return jnp.sum(jnp.sin(x) ** 2)

        x = jnp.arange(4.0)
        np.testing.assert_allclose(jax.grad(f)(x), 2 * np.sin(x) * np.cos(x))
        assert f.__name__ == "f"


KEPT: dict[str, tuple[Any, int]] = {
    "none": (None, 0),
    "nothing": (POLICIES.nothing_saveable, 0),
    "dots": (POLICIES.dots_saveable, 3),
    "dots without batch": (POLICIES.dots_with_no_batch_dims_saveable, 2),
    "offloaded dots": (POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host"), 2),
    "these names": (POLICIES.save_only_these_names("tanh0", "other"), 1),
    "all names but": (POLICIES.save_any_names_but_these("tanh1"), 2),
    "both": (
        POLICIES.save_from_both_policies(
            POLICIES.dots_with_no_batch_dims_saveable, POLICIES.save_only_these_names("sin0")
        ), 3,
    ),
    "offloaded names": (
        POLICIES.save_and_offload_only_these_names(
            names_which_can_be_saved=["tanh0"], names_which_can_be_offloaded=["tanh1"],
            offload_src="device", offload_dst="pinned_host",
        ), 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_policies_keep_what_they_keep_in_jax(name: str) -> None:
    """The arrays between forward and backward are JAX's, one by one."""
    policy, count = KEPT[name]

    def layers(x: Any, w: Any) -> Any:
        for k in range(2):
            x = checkpoint_name(jnp.tanh(x @ w[k]), f"tanh{k}")
            x = checkpoint_name(jnp.einsum("ij,ij->ij", x, jnp.sin(x)), f"sin{k}")
        return x

    def loss(x: Any, w: Any) -> Any:
        return jnp.sum(jax.checkpoint(layers, policy=policy)(x, w) ** 2)

    def plain(x: Any, w: Any) -> Any:  # what is offloaded has no second derivative in JAX
        return jnp.sum(layers(x, w) ** 2)

    args = jnp.linspace(-1, 1, 10).reshape(5, 2), jnp.linspace(-0.5, 0.9, 8).reshape(2, 2, 2)
    split = trace(loss, *args).gradient("loss", [0, 1], "split")
    _, *kept = gradir.compile(split, "loss_fwd")(*map(np.asarray, args))
    theirs = jax.tree_util.tree_leaves(jax.eval_shape(lambda *a: jax.vjp(loss, *a)[1], *args))
    assert sorted(a.shape for a in kept) == sorted(a.shape for a in theirs)
    # beside the arguments and what the square needs
    assert len(kept) == count + 3
    found, expected = (gradients(lambda a, f=f: f(*a), 2)(args)
                       for f in (differentiable(loss), plain))  # fmt: skip
    same(found, expected, 1e-10, name)


def test_keys_are_arguments_and_results() -> None:
    def f(key: Any, x: Any) -> Any:
        key, other = jax.random.split(key)
        return key, x * jax.random.normal(other, x.shape)

    ours, key, x = differentiable(f), jax.random.key(3), jnp.ones(4)
    for run in (ours, jax.jit(ours)):
        (found, y), (expected, z) = run(key, x), f(key, x)
        assert (jax.random.key_data(found) == jax.random.key_data(expected)).all()
        np.testing.assert_allclose(y, z, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda x: ours(key, x)[1].sum())(x), f(key, x)[1], 1e-12)


def test_in_a_program_of_gradir() -> None:
    f = differentiable(lambda x: jnp.sort(x)[::-1] ** 2)
    x = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(gradir.jit(f)(x), np.sort(x)[::-1] ** 2)
    np.testing.assert_allclose(gradir.grad(lambda x: gnp.sum(f(gnp.sin(x))))(x),
                               2 * np.sin(x) * np.cos(x))  # fmt: skip


def test_what_came_in_goes_on(tmp_path: Path) -> None:
    """fn.profile names JAX's lines, a limit is kept, and a library has the gradient."""

    def loss(w: Any, x: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return state[0] < 8

        def step(state: Any) -> Any:
            return state[0] + 1, jnp.tanh(state[1] @ w)

        return jnp.sum(jax.lax.while_loop(goes_on, step, (0, x))[1] ** 2)

    random = np.random.default_rng(0)
    w, x = random.normal(size=(16, 16)) * 0.3, random.normal(size=(64, 16))
    ours = differentiable(loss)
    whole = gradir.jit(gradir.value_and_grad(ours))
    profile = whole.profile(w, x)
    assert profile.seconds > 0
    assert any(__file__ in str(part.lines) for part in profile.kernels)
    value, slope = whole(w, x)
    limited = gradir.jit(gradir.value_and_grad(ours, memory_limit=60_000))
    np.testing.assert_array_equal(limited(w, x)[1], slope)
    path = tmp_path / "loss.so"
    gradir.export_library(gradir.value_and_grad(ours), path, w, x, functions="loss_gradient")
    of_library = gradir.load_library(path).loss_gradient(w, x)
    np.testing.assert_array_equal(of_library[0], value)
    np.testing.assert_array_equal(of_library[1], slope)


@needs_mpi
def test_two_ranks_differentiate_a_loop() -> None:
    """The mean of the gradients of two halves of a batch is that of the whole, by MPI."""
    program = Path(__file__).parents[1] / "support" / "mpi_jax.py"
    done = on_ranks(2, str(program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["agree 0", "agree 1"]


def test_functions_of_gradir_in_another_one() -> None:
    """Inner functions are differentiated by the outer one, whatever JAX does around them."""

    @differentiable
    def root(a: Any) -> Any:
        step = lambda x: x - (x * x - a) / (2 * x)  # noqa: E731
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-13, step, a)

    square = wrap(lambda x: gnp.sin(x) ** 2)

    def whole(x: Any, root: Any = root, square: Any = square) -> Any:
        inside = jax.grad(lambda v: jnp.sum(jax.vmap(root)(v) ** 3))(x)
        return jnp.sum(jax.jit(jax.vmap(root))(x) * square(x)) + jnp.sum(inside * x)

    x = jnp.asarray([1.3, 2.7])
    ours = differentiable(whole)
    for order in range(3):
        found = gradients(lambda a: ours(*a), order)((x,))
        plain = gradients(lambda a: whole(a[0], jnp.sqrt, lambda x: jnp.sin(x) ** 2), order)((x,))
        same(found, plain, 1e-10, f"order {order}")


def test_rules_are_read_when_a_derivative_asks() -> None:
    """The rule of expn(n) calls expn(n - 1), with an n that JAX itself cannot differentiate by."""
    x = jnp.asarray([0.3, 2.5])
    for function in (jax.scipy.special.exp1, lambda x: jax.scipy.special.expn(3, x)):
        ours = differentiable(function)
        for order in range(2):
            found = gradients(lambda a, f=ours: f(*a), order)((x,))
            expected = gradients(lambda a, f=function: f(*a), order)((x,))
            same(found, expected, 1e-10, f"order {order}")
    assert "grad.custom_vjp" in str(trace(jax.scipy.special.exp1, x))


@pytest.mark.skipif(
    not hasattr(extended, "register_call_primitive_rules"), reason="JAX has it from 0.12 on"
)
def test_calls_that_packages_make() -> None:
    """Such a call is its program: as a function with a rule, its rules would have no end."""
    called = extended.Primitive("called_by_a_package")
    extended.register_call_primitive_rules(called, name="called_by_a_package")

    def cube(x: Any) -> Any:
        [y] = called.bind(x, call_jaxpr=jax.make_jaxpr(lambda x: jnp.sin(x) * x**2)(x))
        return y

    ours, x = differentiable(cube), jnp.asarray([0.3, 2.5])
    for order in range(3):
        [found, expected] = (gradients(lambda a, f=f: f(*a), order)((x,)) for f in (ours, cube))
        same(found, expected, 1e-10, f"order {order}")


def test_linear_algebra_of_empty_matrices() -> None:
    for shape in ((0, 0), (3, 0, 0)):
        empty = jnp.zeros(shape)
        for function in (jnp.linalg.inv, jnp.linalg.det, lambda a: jnp.linalg.slogdet(a)[1]):
            same(differentiable(function)(empty), function(empty), 0.0, str(shape))


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("name", ["max", "min"])
def test_running_extremes_are_linear(name: str, is_reverse: bool) -> None:
    """Windows that reach to one end are one loop; the first of equal elements has the gradient."""
    join, start = getattr(jax.lax, name), {"max": -np.inf, "min": np.inf}[name]

    def run(x: Any) -> Any:
        n = x.shape[1]
        ends = (0, n - 1) if is_reverse else (n - 1, 0)
        return jax.lax.reduce_window(x, start, join, (1, n), (1, 1), ((0, 0), ends))

    text = str(trace(run, jnp.zeros((2, 1000))))
    assert "scf.for" in text and "pool" not in text
    ours = differentiable(run)
    x = jnp.asarray([[1.0, 3, 3, 2, 3], [-2, -2, 0, -5, -5]])
    seeds = jnp.arange(10.0).reshape(2, 5)
    same(ours(x), run(x), 0.0, "values")
    same(ours(x.at[0, 2].set(np.nan)), run(x.at[0, 2].set(np.nan)), 0.0, "values with nan")
    same(jax.grad(lambda x: jnp.sum(ours(x) * seeds))(x),
         jax.grad(lambda x: jnp.sum(run(x) * seeds))(x), 0.0, "gradients")  # fmt: skip


@pytest.mark.parametrize("name", ["max", "min"])
def test_scattered_extremes(name: str) -> None:
    """Equal ones share the gradient as in JAX: those of x and all updates of one place."""
    x, places = jnp.asarray([1.0, 5.0, 2.0, -3.0]), jnp.asarray([0, 1, 1, 0, 3, 3, 9])
    new = jnp.asarray([1.0, 5.0, 5.0, 0.0, -7.0, -3.0, 1.0])
    seeds = jnp.arange(1.0, 5.0)

    def run(x: Any, new: Any) -> Any:
        return getattr(x.at[places], name)(new, mode="drop")

    ours = differentiable(run)
    same(ours(x, new), run(x, new), 0.0, "values")
    found, expected = (
        jax.grad(lambda *a, f=f: jnp.sum(f(*a) * seeds), (0, 1))(x, new) for f in (ours, run)
    )
    same(found, expected, 1e-14, "gradients")
    count = 20_000  # a square of them would be 3 GB
    many = jax.random.normal(jax.random.key(0), (count,))
    rows = jnp.arange(count) // 2
    found = differentiable(lambda x, v: getattr(x.at[rows], name)(v))(many[: count // 2], many)
    same(found, getattr(many[: count // 2].at[rows], name)(many), 0.0, "many")


def test_trace_gives_a_module() -> None:
    def loss(params: Any, x: Any) -> Any:
        h = jnp.tanh(x @ params["w"])
        return jnp.sum(h * h)

    specs = {"w": gradir.Spec((3, 2), "float32")}, jax.ShapeDtypeStruct((4, 3), "float32")
    module = trace(loss, *specs)
    text = str(module)
    assert "func.func @loss(%params_w: tensor<3x2xf32>, %x: tensor<4x3xf32>)" in text
    assert "%h = array.tanh" in text
    w, x = np.ones((3, 2), np.float32), np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    run = gradir.compile(module.gradient("loss", [0], "vjp", [0]), "loss_vjp")
    found = run(w, x, np.float32(1))[1]
    np.testing.assert_allclose(found, jax.grad(loss)({"w": w}, x)["w"], rtol=1e-5)


def test_arguments_may_be_tuples_and_dicts() -> None:
    def f(pair: Any, named: Any, *rest: Any) -> Any:
        return {"sum": pair[0] + pair[1] + named["k"], "rest": [x * 2 for x in rest]}

    text = str(trace(f, (1.0, 2.0), {"k": 3.0}, 4.0))
    assert "@f(%pair: tensor<f64>, %pair_1: tensor<f64>, %named_k: tensor<f64>" in text
    found = differentiable(f)((1.0, 2.0), {"k": 3.0}, 4.0)
    assert jax.tree_util.tree_map(float, found) == {"sum": 6.0, "rest": [8.0]}


def test_derivative_rules_and_stops_are_kept() -> None:
    module = trace(lambda x: jax.lax.stop_gradient(x) * jax.nn.relu(x), jnp.float32(1))
    assert "grad.no_grad" in str(module) and "grad.custom_vjp" in str(module)


def test_a_running_sum_is_linear() -> None:
    n = 1000
    text = str(trace(lambda x: jax.lax.reduce_window(
        x, 0.0, jax.lax.add, (n,), (1,), ((n - 1, 0),)), jnp.zeros(n)))  # fmt: skip
    assert "array.cumulative_sum" in text and "affine_gather" not in text


def test_all_that_is_missing_is_one_error() -> None:
    def f(x: Any) -> Any:
        y = jnp.fft.fft(x).real
        jax.debug.print("{}", y)
        return y + jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(ImportedProgramError) as caught:
        trace(f, jnp.ones(3))
    text = str(caught.value)
    assert re.match(r".*test_jax_programs.py:\d+:13: error: JAX: @f has what cannot be", text)
    assert "fft (once; " in text and "programs with complex numbers are not read" in text
    assert re.search(r"debug_(print|callback) \(once; .*test_jax_programs.py:\d+:9\)", text)
    assert re.search(r"pure_callback \(once; .*: programs call nothing outside of them", text)


def test_every_reason_has_its_line() -> None:
    """Also those in loops, calls and rows, whose effects have no line of their own."""

    def step(x: Any) -> Any:
        jax.debug.print("{}", x)
        x = x + x.astype(jnp.float8_e5m2).astype(x.dtype)
        x = x + x.astype(jnp.int4).astype(x.dtype)
        x = (x * 1j).real
        x = x + jax.pure_callback(np.sin, jax.typeof(x), x, vmap_method="sequential")
        return jnp.linalg.eigvals(x * jnp.eye(3)).real

    def f(x: Any) -> Any:
        loop = lambda x: jax.lax.while_loop(lambda x: x.sum() > 0, step, x)  # noqa: E731
        return jax.jit(jax.vmap(loop))(x)

    reasons = (
        (r"debug_(print|callback)", "programs call nothing outside of them"),
        ("convert_element_type", "there are no elements of type float8_e5m2"),
        ("convert_element_type", "there are no elements of type int4"),
        ("mul", "programs with elements of type complex128 are not read"),
        ("pure_callback", "programs call nothing outside of them"),
        ("eig", "programs with complex numbers are not read"),
    )
    with pytest.raises(ImportedProgramError) as caught:
        trace(f, jnp.ones((2, 3)))
    text = str(caught.value)
    assert re.match(r".*test_jax_programs.py:\d+:\d+: error: JAX: @f has what cannot be", text), (
        text
    )
    assert "an effect" not in text, text
    for line, (op, why) in enumerate(reasons, step.__code__.co_firstlineno + 1):
        place = rf"[^)]*test_jax_programs.py:{line}:"
        assert re.search(rf"  {op} \({place}.*\): {why}", text), (op, text)


def test_symbolic_extents_are_refused() -> None:
    symbolic = jax.ShapeDtypeStruct(symbolic_shape("n"), "float32")
    with pytest.raises(gradir.GradirError, match=r"argument 0: shape: expected integers, got \[n"):
        trace(lambda x: x, symbolic)


def test_bad_arguments() -> None:
    wrong: Any = 3
    with pytest.raises(gradir.GradirError, match=r"argument 0: dtype: expected .*, got complex128"):
        differentiable(lambda x: x)(jnp.ones(2, complex))
    with pytest.raises(gradir.GradirError, match="hashable static values, got set"):
        differentiable(lambda x, s: x)(jnp.ones(2), {1})
    with pytest.raises(gradir.GradirError, match="expected a Python function"):
        differentiable(wrong)
    with pytest.raises(gradir.GradirError, match="trace: expected an array, a spec or a number"):
        trace(lambda x: x, "x")
    with pytest.raises(gradir.GradirError, match="shapes of JAX functions must be integers"):
        trace(lambda x: x, gradir.Spec("n"))
    with pytest.raises(gradir.GradirError, match="is not one of its arguments"):
        jax.grad(lambda w: differentiable(lambda x: x * w)(jnp.ones(())))(1.0)
    held = differentiable(lambda x: captured(jnp.asarray([1.0, 2.0, 3.0]))(x))
    with pytest.raises(gradir.GradirError, match="such as one that a derivative rule has captured"):
        jax.grad(lambda x: jnp.sum(held(x)))(jnp.ones(3))
    with pytest.raises(gradir.GradirError, match=r"qr: pivots are not there"):
        trace(lambda a: jax.scipy.linalg.qr(a, pivoting=True), jnp.eye(3))


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_programs.jax, "__version__", "0.13.1")
    with pytest.raises(gradir.GradirError, match=r"JAX 0.13.1 is not supported: .* from 0.10 on, "):
        trace(lambda x: x, jnp.ones(2))


@pytest.mark.parametrize(("is_tanh", "form"), [(True, "tanh"), (False, "none")])
def test_gelu_is_one_op(is_tanh: bool, form: str) -> None:
    """jax.nn.gelu, which jaxprs write out, keeps its argument alone; others stay products."""

    def f(x: Any) -> Any:
        return jax.nn.gelu(x, approximate=is_tanh)

    x = jnp.linspace(-6, 6, 101, dtype="float64")
    text = str(trace(f, x))
    assert text.count("nn.gelu") == 1 and f'approximate = "{form}"' in text
    [found, expected] = (gradients(lambda a, g=g: g(*a), 2)((x,)) for g in (differentiable(f), f))
    same(found, expected, 1e-10, "second derivative")
    for near in (lambda x: 0.5 * x * jax.lax.erfc(-x * 0.7), lambda x: 0.5 * x * (1 + jnp.tanh(x))):
        assert "nn.gelu" not in str(trace(near, x))
    assert "nn.gelu" not in str(trace(f, x.astype("bfloat16")))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    ("function", "name"),
    [(jax.nn.softmax, "nn.softmax"), (jax.nn.log_softmax, "nn.log_softmax")],
)
def test_softmax_is_one_op(function: Any, name: str, axis: int) -> None:
    def f(x: Any) -> Any:
        return jnp.sin(function(x, axis=axis))

    x = 3 * jnp.sin(jnp.arange(36.0, dtype="float64")).reshape(3, 4, 3)
    assert str(trace(f, x)).count(f"{name} ") == 1
    [found, expected] = (gradients(lambda a, g=g: g(*a), 2)((x,)) for g in (differentiable(f), f))
    same(found, expected, 1e-10, "second derivative")
    assert "nn." not in str(trace(f, x.astype("bfloat16")))
    special = jnp.array([[1, -jnp.inf, 2], [jnp.inf, 0, 1], [-jnp.inf] * 3, [jnp.nan, 1, 2]])
    np.testing.assert_allclose(differentiable(function)(special), function(special), rtol=1e-12)


def stable(x: Any) -> Any:
    return jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))


NEARLY_SOFTMAX: list[Callable[[Any], Any]] = [
    lambda x: stable(x) / stable(x).sum(0, keepdims=True),
    lambda x: stable(x) / (2 * stable(x)).sum(-1, keepdims=True),
    lambda x: stable(x) / stable(2 * x).sum(-1, keepdims=True),
    lambda x: stable(x) / stable(x).sum(-1)[:, None, :],
    lambda x: stable(x) / stable(x).max(-1, keepdims=True),
    lambda x: jnp.exp(x - x.max(-1, keepdims=True)) / stable(x).sum(-1, keepdims=True),
    lambda x: jnp.log(stable(x)) - jnp.log(stable(x).sum(0, keepdims=True)),
]


@pytest.mark.parametrize("k", range(len(NEARLY_SOFTMAX)))
def test_what_is_nearly_softmax_stays(k: int) -> None:
    x = jnp.sin(jnp.arange(27.0, dtype="float64")).reshape(3, 3, 3)
    assert "nn." not in str(trace(NEARLY_SOFTMAX[k], x))
    f = NEARLY_SOFTMAX[k]
    [found, expected] = (gradients(lambda a, g=g: g(*a), 1)((x,)) for g in (differentiable(f), f))
    same(found, expected, 1e-10, "derivative")
