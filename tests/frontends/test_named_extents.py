"""Functions of arrays with named extents: one trace for all sizes, the bits of each size's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import Spec
from gradir.dialects.base.extent_values import holds
from gradir.errors import ArgumentError, ArgumentTypeError, PassError, TraceError, VerifyError
from gradir.passes.shapes.name_values import conditions_of
from gradir.symbols import function_named

SIZES = (0, 1, 2, 7, 33)
SPECS = (Spec("n, 3"), Spec(("n",)), Spec((3, 3)), Spec("n", "int64"))


def arrays(size: int) -> list[Any]:
    generator = np.random.default_rng(size)
    return [
        generator.normal(size=(size, 3)),
        generator.normal(size=size),
        generator.normal(size=(3, 3)),
        generator.integers(0, 3, size),
    ]


def written(parameters: str, text: str) -> Callable[..., Any]:
    """The function of these parameters."""
    return eval(compile(f"lambda {parameters}: {text}", __file__, "eval"), globals())


def assigned(x: Any, v: Any) -> Any:
    y = gnp.zeros(x.shape)
    y[0] = 1
    y[1:] = x[:-1]
    y[:, 1] += v
    return y


@gradir.custom_vjp
def rounded(x: Any) -> Any:
    return gnp.round(x)


rounded.defvjp(written("x", "(rounded(x), x.shape[0] * x)"), written("kept, ct", "(ct * kept,)"))


@gradir.custom_jvp
def softplus(x: Any) -> Any:
    return gnp.log(1 + gnp.exp(x))


softplus.defjvps(written("t, y, x", "t * (1 - 1 / (1 + gnp.exp(x)))"))

FORMS: dict[str, str] = {
    "made": "x + gnp.zeros((x.shape[0], 3)) + gnp.ones(len(x.shape) + 1)",
    "reshaped": "x.reshape(-1).reshape(x.shape[0], 3)[:, ::-1] + x.size",
    "broadcast": "gnp.broadcast_to(v[:, None], x.shape) * x",
    "counted": "gnp.arange(1, x.shape[0] + 1) * v + gnp.eye(x.shape[0]) @ v",
    "ranged": (
        "(gnp.arange(1.0, x.shape[0] + 1.0) * v, gnp.arange(0, 2.0 * x.shape[0] + 0.5, 0.5), "
        "gnp.arange(x.shape[0] + 1.0, -1, -1.5), gnp.arange(1, x.shape[0] + 1.0, dtype=int))"
    ),
    "sliced": "(x[1:] * x[:-1], x[::2], x[::-1], v[1:-1:2], v[-2:], v[:2])",
    "halves": "(v[x.shape[0] // 2:], v[:x.shape[0] // 2])",
    "indexed": "(x[0] + x[-1], w[i], x[gnp.arange(x.shape[0]), i])",
    "joined": "(gnp.concatenate([x, w, x]), gnp.stack([v, v], 1), gnp.tile(v, 2))",
    "divided": "gnp.sum(x) / x.shape[0] + 0.5 * x.shape[0] + gnp.sqrt(x.shape[0])",
    "reduced": "(gnp.mean(x, 0), gnp.var(x), gnp.prod(v), gnp.cumsum(x, 0))",
    "products": "(x @ w @ x.T, x.T @ x, v @ x, gnp.einsum('ni,nj->ij', x, x))",
    "softmax": "(nn.softmax(x, axis=0), nn.log_softmax(x))",
    "losses": "(nn.cross_entropy(x, i), nn.mse_loss(x, 2 * x))",
    "norms": "nn.layer_norm(x, w[0], w[1])",
    "attention": "nn.scaled_dot_product_attention(x[None], x[None] @ w, x[None])",
    "images": (
        "nn.max_pool2d(nn.conv2d(x.reshape(x.shape[0], 1, 1, 3), gnp.ones((2, 1, 1, 2))), (1, 2))"
    ),
    "sorted": "(gnp.sort(v), gnp.argsort(v), gnp.where(x > 0, x, v[:, None]))",
    "searched": (
        "(gnp.searchsorted(gnp.sort(v), x), gnp.digitize(x, gnp.sort(v)[::-1], right=True))"
    ),
    "interpolated": "gnp.interp(x, gnp.sort(v), v) + gnp.interp(x, v, v, period=2.0)",
    "updated": "(assigned(x, v), x.at[::2].multiply(2.0), v.at[i].add(1.0))",
    "fori": "gradir.fori_loop(0, x.shape[0], lambda k, c: c + v[k] * c, 1.0)",
    "scan": "gradir.scan(lambda c, r: (c * 0.5 + r, c), w[0], x, reverse=True)",
    "cond": "gradir.cond(gnp.sum(v) > 0, lambda a: a * 2, lambda a: a - 1, x)",
    "map": "gradir.map(lambda r: gnp.sum(r * r), x)",
    "vmap": "gradir.vmap(lambda r, q: gnp.tanh(w @ r) * q)(x, v)",
    "columns": "gradir.vmap(lambda c: gnp.mean(c * v), in_axes=1)(x)",
    "diag": "(gnp.diag(v) @ x, gnp.tril(gnp.outer(v, v)), gnp.roll(x, 1, 0))",
    "padded": "(gnp.pad(x, ((1, 2), (0, 0))), gnp.diff(x, axis=0))",
}

DERIVATIVES: dict[str, str] = {
    "value_and_grad": (
        "gradir.value_and_grad(lambda x, w: nn.cross_entropy(gnp.tanh(x @ w), i), "
        "argnums=(0, 1))(x, w)"
    ),
    "mean": "gradir.grad(lambda x: gnp.mean(x ** 3) / x.shape[0])(x)",
    "interp": (
        "gradir.grad(lambda x, v: gnp.sum(gnp.interp(x, gnp.sort(v), v) ** 2), (0, 1))(x, v)"
    ),
    "twice": (
        "gradir.grad(lambda w: gnp.sum(gradir.grad(lambda x: gnp.mean(gnp.tanh(x @ w) ** "
        "2))(x) ** 2))(w)"
    ),
    "vjp": "gradir.vjp(lambda x, w: gnp.sin(x @ w), x, w)[1](x)",
    "linearize": "gradir.linearize(lambda x: gnp.sin(x @ w), x)[1](x * 3)",
    "jvp": "gradir.jvp(lambda x: gnp.mean(gnp.sin(x @ w)), (x,), (x * 2,))",
    "hvp": "gradir.hvp(lambda w: gnp.mean(gnp.sin(x @ w)), (w,), (w * 2,))",
    "rows": "gradir.vmap(gradir.grad(lambda r, q: gnp.sum(gnp.sin(w @ r) * q)))(x, v)",
    "columns": (
        "gradir.vmap(gradir.value_and_grad(lambda c, v: gnp.mean(gnp.sin(c * v)), "
        "argnums=(0, 1)), in_axes=(1, None))(x, v)"
    ),
    "jacfwd": "gradir.jacfwd(lambda v: gnp.sin(v) * v[::-1])(v)",
    "jacrev": "gradir.jacrev(lambda w: gnp.mean(gnp.sin(x @ w), 0))(w)",
    "hessian": "gradir.hessian(lambda a: gnp.mean(gnp.sin(x @ a)))(w[0])",
    "checkpoint": (
        "gradir.grad(lambda w: gnp.mean(gradir.checkpoint(lambda a: "
        "gnp.tanh(gnp.sin(a)))(x @ w)))(w)"
    ),
    "scan": (
        "gradir.grad(lambda c: gnp.sum(gradir.scan(lambda c, r: (gnp.tanh(c * 0.5 + r), "
        "c), c, x)[1]))(w[0])"
    ),
    "fori": (
        "gradir.grad(lambda v: gradir.fori_loop(0, x.shape[0], lambda k, a: gnp.sin(a) * "
        "v[k] + a, v[0]))(v)"
    ),
    "custom_vjp": "gradir.grad(lambda v: gnp.sum(rounded(v) ** 2))(v)",
    "custom_jvp": "gradir.grad(lambda v: gnp.sum(softplus(v) ** 2))(v)",
}


def same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def programs_agree(function: Callable[..., Any], conditioned: bool) -> None:
    """The program for all sizes gives the bits of the one for each; or refuses a small size."""
    module = gradir.trace(function, *SPECS)
    conditions = conditions_of(function_named(module.op, "main"))
    assert conditioned or not conditions
    assert str(gradir.parse(str(module))) == str(module)
    for size in SIZES:
        given = arrays(size)
        with np.errstate(all="ignore"):
            if all(holds(c, {"n": size}) for c in conditions):
                static = gradir.trace(function, *given)
                expected = gradir.interpret(static, "main", *given)
                assert same(expected, gradir.interpret(module, "main", *given)), size
            else:
                assert size <= 2
                with pytest.raises(PassError, match=rf"@main is a program for .*, got n = {size}"):
                    gradir.interpret(module, "main", *given)


# What assumes that there are some rows, and is a program of its own where there are fewer.
CONDITIONED = {
    "sliced", "indexed", "fori", "scan", "map", "updated", "padded", "images", "diag",
    "custom_vjp", "vmap", "rows", "jacrev", "hessian", "searched", "interpolated", "interp",
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_programs_are_those_of_each_size(name: str):
    programs_agree(written("x, v, w, i", FORMS[name]), name in CONDITIONED)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_each_size(name: str):
    programs_agree(written("x, v, w, i", DERIVATIVES[name]), name in CONDITIONED)


def network(params: Any, x: Any, targets: Any) -> Any:
    h = gnp.tanh(x @ params["w"] + params["b"])
    return nn.cross_entropy(h[:, :3], targets) + gnp.sum(h[1:] * h[:-1]) / x.shape[0]


def test_jit_traces_once_for_all_sizes():
    traces = 0

    def step(params: Any, x: Any, targets: Any) -> Any:
        nonlocal traces
        traces += 1
        return gradir.value_and_grad(network)(params, x, targets)

    function = gradir.jit(step, shapes=(None, "n, 5", "n"))
    generator = np.random.default_rng(0)
    params: Any = {"w": generator.normal(size=(5, 4)), "b": np.zeros(4)}
    for size in (3, 1, 3):
        x, targets = generator.normal(size=(size, 5)), generator.integers(0, 3, size)
        value, gradients = function(params, x, targets)
        expected, by_size = gradir.value_and_grad(network)(params, x, targets)
        assert value == expected and same([*gradients.values()], [*by_size.values()])
    function.compiled(params, Spec((40, 5)), Spec(40, "int64"))
    assert traces == 1
    function(params, np.ones((0, 5)), np.ones(0, int))  # h[1:] of no rows is another program
    assert traces == 2


def test_second_derivatives_are_derivatives():
    def f(w: Any, x: Any) -> Any:
        return gnp.mean(gnp.tanh(x[1:] @ w) * x[:-1, 0]) / x.shape[0]

    module = gradir.trace(f, Spec(3), Spec("n, 3")).gradient("f", [0], "grad")
    twice = module.gradient("f_grad", [0], "vjp", of=[1])
    x, w, ct, step = arrays(4)[0], *np.random.default_rng(1).normal(size=(2, 3)), 1e-6

    def gradient(w: Any) -> Any:
        return gradir.interpret(module, "f_grad", w, x)[1]

    found = gradir.interpret(twice, "f_grad_vjp", w, x, ct)[2]
    for k, e in enumerate(np.eye(3) * step):
        along = (gradient(w + e) - gradient(w - e)) @ ct / (2 * step)
        assert abs(found[k] - along) < 1e-7


def total(x: Any, y: Any) -> Any:
    return gnp.sum(x) + gnp.sum(y)


@pytest.mark.parametrize(
    ("shapes", "given", "message"),
    [
        (("n, 3", "n"), ((4, 3), (5,)),
         "total: argument y has shape (5,), expected (n,) with n = 4 (from argument x)"),
        (("2*n + 1", "n"), ((6,), (2,)),
         "total: argument x has shape (6,), expected (2*n + 1,) with n = 2 (from argument y)"),
        (("2*n", None), ((5,), (2,)),
         "total: argument x has shape (5,), expected (2*n,): 2*n is 5 for no integer n >= 0"),
        (("n*m", "2*n + 1"), ((5,), (0,)),
         "total: argument x: no argument says what m is"),
        (("n", "k, 2*k + 1"), ((5,), (1, 4)), "total: argument y has shape (1, 4), expected "),
        (("n, 2*k + 1", "n"), ((1, 4), (1,)), "total: argument x has shape (1, 4), expected "
         "(n, 2*k + 1): 2*k + 1 is 4 for no integer k >= 0"),
        (("n, 3", None), ((4, 2), (5,)), "total: argument x has shape (4, 2), expected (n, 3)"),
        (("n, 3", None), ((4,), (5,)), "total: argument x has shape (4,), expected (n, 3)"),
        (("n, ...", "n"), ((4, 2, 2), (5,)),
         "total: argument y has shape (5,), expected (n,) with n = 4 (from argument x)"),
        (("n*m", "n"), ((6,), (3,)), "total: argument x: no argument says what m is"),
        (({"a": "n"}, None), ((4,), (5,)), "jit: shapes: the entry of x must be nested like it"),
        (("n", "n", "n"), ((4,), (4,)), "jit: shapes: 3 entries for 2 arguments by position"),
        ({"z": "n"}, ((4,), (4,)), "jit: shapes: no argument z; arguments: x, y"),
        ((3, None), ((4,), (4,)), 'jit: shapes: expected text such as "n, 3", a gradir.Spec or'),
        ("n", ((4,), (4,)), "jit: shapes: expected a tuple with an entry for each argument, or a"),
        (("n +", None), ((4,), (4,)), "shape: an extent must be names and integers with +, -, *"),
        ((Spec("n", "float32"), None), ((4,), (4,)),
         "total: argument x has dtype float64, expected float32"),
    ],
)  # fmt: skip
def test_calls_are_checked(shapes: Any, given: Any, message: str):
    with pytest.raises(ArgumentError) as error:
        gradir.jit(total, shapes=shapes)(*map(np.ones, given))
    assert message in str(error.value)


def test_shapes_by_name_and_nested():
    function = gradir.jit(
        written("p, x", "p['w'] * x.shape[1]"), shapes={"p": "n, ...", "x": "k, n"}
    )
    p = {"w": np.ones((3, 2)), "b": np.ones(3)}
    assert (function(p, x=np.ones((2, 3))) == 3).all()
    with pytest.raises(
        ArgumentError, match=r"argument x has shape \(2, 4\), expected \(k, n\) with"
    ):
        function(p, x=np.ones((2, 4)))
    power = gradir.jit(written("k, x, y", "x**k + y"), static_argnums=0, shapes=(None, "n", "n"))
    assert power(2, np.full(2, 3.0), np.ones(2)).tolist() == [10.0, 10.0]
    with pytest.raises(ArgumentError, match="argument y has shape"):
        power(2, np.ones(2), np.ones(3))
    copy = pickle.loads(pickle.dumps(gradir.jit(total, shapes=("n", "n"))))
    with pytest.raises(ArgumentError, match="argument y has shape"):
        copy(np.ones(2), np.ones(3))


def test_calls_in_traces_are_checked():
    function = gradir.jit(total, shapes=("n, 3", "n"))
    with pytest.raises(ArgumentError, match=r"total: argument y has shape \(5,\), expected \(n,\)"):
        gradir.grad(function)(np.ones((4, 3)), np.ones(5))
    assert gradir.grad(function)(np.ones((1, 3)), np.ones(1)).tolist() == [[1.0] * 3]
    gradir.trace(function, Spec("k, 3"), Spec("k"))


def test_results_take_the_memory_of_arguments():
    function = gradir.jit(written("x, y", "x * 2 + y"), shapes=("n", "n"), donate_argnums=0)
    for size in (2, 5):
        x = np.ones(size)
        view = x.view()
        assert function(x, np.ones(size)).tolist() == [3.0] * size == view.tolist()


def test_arrays_of_numpy_with_named_extents():
    """In a copy of the function they are gradir's."""
    function = gradir.jit(written("x", "x * 2 + np.ones((x.shape[0], 3))"), shapes=("n, 3",))
    for size in (1, 4):
        np.testing.assert_array_equal(function(np.ones((size, 3))), np.full((size, 3), 3.0))


@pytest.mark.parametrize(
    ("use", "what"),
    [
        ("[x for _ in range(n)]", "index"),
        ("list(x)", "index"),
        ("len(x)", "index"),
        ("[x] * n", "index"),
        ("float(n)", "float"),
        ("int(n)", "int"),
        ("np.sqrt(n)", "numpy.asarray"),
    ],
)
def test_what_needs_a_number_is_refused(use: str, what: str):
    with pytest.raises(TraceError) as error:
        gradir.trace(written("x", f"(lambda n: {use})(x.shape[0])"), Spec("n, 3"))
    place, _, message = str(error.value).partition(": error: ")
    assert message.startswith(
        f"{what}: the extent n is not known while tracing; loop with gradir.fori_loop or scan, "
        "make arrays with gradir.numpy, or fix the extent"
    )
    assert "test_named_extents.py" in place


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("0, n, 0.1", "arange: from or up to an extent, start, stop and step must be whole"),
        ("0, n, n", "arange: from or up to an extent, start, stop and step must be whole"),
        ("0.1 + n", "arange: start, stop and step must be known while tracing"),
        ("n / 2", "arange: start, stop and step must be known while tracing"),
        ("1.0 * n, 9, dtype=int", "arange: start must be a whole number for integers"),
    ],
)
def test_ranges_whose_length_is_no_extent_are_refused(use: str, message: str):
    with pytest.raises(TraceError, match=message):
        gradir.trace(written("x", f"(lambda n: gnp.arange({use}))(x.shape[0])"), Spec("n"))


@pytest.mark.parametrize(
    ("use", "question"),
    [
        ("n == 3", "n == 3"),
        ("n - 1 == -1", "n - 1 == -1"),
        ("bool(n)", "n == 0"),
        ("min(2 * n, 5)", "2*n > 5"),
        ("(n, 3) == (4, 3)", "n == 4"),
    ],
)
def test_what_is_not_known_is_refused(use: str, question: str):
    with pytest.raises(TraceError) as error:
        gradir.trace(written("x", f"(lambda n: {use})(x.shape[0])"), Spec("n, 3"))
    message = str(error.value).partition(": error: ")[2]
    known = "is not known while tracing; choose with gradir.numpy.where or gradir.cond, or fix"
    assert message.startswith(f"{question} {known} the extent"), message


def test_equal_traces_have_equal_conditions():
    # nothing that is kept from trace to trace may leave out a condition
    for text in FORMS.values():
        one, other = (gradir.trace(written("x, v, w, i", text), *SPECS) for _ in range(2))
        assert str(one) == str(other)


def test_what_is_known():
    def f(x: Any) -> Any:
        n = x.shape[0]
        assert n == x.size // 3 and n >= 0 and n + 1 > 0 and n != -1 and x.shape == (x * 2).shape
        assert (n * 3) // 3 == n and n * 2 >= n and max(n, n + 1) == n + 1
        return x

    gradir.trace(f, Spec("n, 3"))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ('x + y', "array.add: shapes must broadcast, got [n, 3] and [m, 3]"),
        ('x + np.ones((5, 3))', "array.add: shapes must broadcast, got [n, 3] and [5"),
        ('x.T @ y', "array.matmul: inner sizes must match, got n and m"),
        ('gnp.stack([x, y])', "array.stack: operand types must be equal, got tensor<?x3"),
        ('gradir.fori_loop(0, 3, lambda k, c: c[1:], x)',
         "fori_loop: the body must return the types of init, got float64[n - 1, 3] and float64["),
        ('x.reshape(2, -1)', "reshape: [2, -1] must hold 3*n elements"),
        ('gradir.associative_scan(gnp.add, x)',
         "associative_scan: the number of elements must be known, got n; use gradir.scan"),
        ("gradir.vjp(lambda a: (gradir.debug.print('', a), gnp.sum(a))[1], x)[0]",
         "has effects, which would happen twice with extents that are not known"),
    ],
)  # fmt: skip
def test_shapes_that_differ_are_refused(use: str, message: str):
    with pytest.raises((TraceError, VerifyError)) as error:
        gradir.trace(written("x, y", use), Spec("n, 3"), Spec("m, 3"))
    assert message in str(error.value)


def test_compiled_programs_check_calls():
    module = gradir.trace(total, Spec("n, 3"), Spec("n"))
    function = gradir.compile(module, "total")
    assert function(np.ones((2, 3)), np.ones(2))[0] == 8
    assert function(np.ones((0, 3)), np.ones(0))[0] == 0
    with pytest.raises(ArgumentError, match=r"expected \(n,\) with n = 4 \(from argument x"):
        function(np.ones((4, 3)), np.ones(5))
    with pytest.raises(ArgumentTypeError):
        function(np.ones((4, 3)))
    with pytest.raises(PassError, match=r"@total: argument y has shape \(5,\)"):
        module.run_passes("gradir-specialize{function=total shapes=4x3,5}")
    with pytest.raises(PassError, match="no argument says what n is"):
        module.run_passes("gradir-specialize{function=total}")


def test_values_are_printed():
    def f(x: Any) -> Any:
        gradir.debug.print("{} {}", x[0], x.shape[0])
        return gnp.sum(gradir.debug.check_nan(x))

    gradient = gradir.jit(gradir.grad(f), shapes=("n, 3",))
    assert gradient(np.ones((2, 3))).tolist() == [[1.0] * 3] * 2
