"""Wrong keywords are told the known ones, wrong calls why; objects say what they are."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.comm
import gradir.debug
import gradir.optim
import gradir.testing
import gradir.tree

X = np.array([0.5, -1.0, 2.0])
G: Any = gradir  # for calls that no checker of types takes

EAGER = {"axis_index", "axis_size", "barrier", "load_library"}
"""Functions with one parameter at most, and the loader, whose file stands alone."""


def public_functions() -> list[Any]:
    """The functions of the modules that have no gradients themselves, and of modules as values."""
    modules = [gradir, gradir.optim, gradir.testing, gradir.debug, gradir.comm, gradir.tree]
    found = {(m.__name__, name): getattr(m, name) for m in modules for name in m.__all__}
    found |= {("Module", n): f for n, f in vars(gradir.Module).items() if n[0] != "_"}
    found |= {("", each.__name__): each for each in (gradir.Trainer, gradir.Spec)}
    found |= {("", "OpCase"): gradir.testing.OpCase}
    return [
        pytest.param(function, id=".".join(key).strip("."))
        for key, function in found.items()
        if (inspect.isfunction(function) or key[0] == "") and key[1] not in EAGER
        if key[1] not in ("define_rules", "explored")  # of gradir's own
    ]


@pytest.mark.parametrize("function", public_functions())
def test_wrong_keywords_list_the_known_ones(function: Callable[..., Any]) -> None:
    given = [None] if next(iter(inspect.signature(function).parameters), "") == "self" else []
    with pytest.raises(TypeError) as caught:
        function(*given, zzz=1)
    name, kinds = (
        function.__name__,
        {p.kind for p in inspect.signature(function).parameters.values()},
    )
    if inspect.Parameter.VAR_KEYWORD in kinds:  # they take any keyword
        assert f"{name}: missing a required argument: " in str(caught.value)
        return
    assert f"{name}: unknown argument zzz; known: " in str(caught.value)
    assert "self" not in str(caught.value).partition("known: ")[2].split(", ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.gradient("f", argnums=0),
            "Module.gradient: unknown argument argnums; did you mean wrt?",
        ),
        (lambda m: G.compile(m, "f", thread=2), "unknown argument thread; did you mean threads?"),
        (
            lambda m: G.compile(m),
            "compile: missing a required argument: 'function'; parameters: mo",
        ),
        (lambda m: G.Trainer(abs, optimizr=1), "optimizr; did you mean optimizer? known: loss, "),
        (lambda m: G.Spec((3,), dtypes="f4"), "Spec: unknown argument dtypes; did you mean dtype?"),
    ],
)
def test_wrong_keywords_name_the_nearest(call: Any, message: str) -> None:
    module = gradir.trace(lambda x: x * x, 1.0)
    with pytest.raises(TypeError) as caught:
        call(module)
    assert message in str(caught.value)


BY_POSITION = "arrays are given by position: f(x, scale, out=None)"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"x": X, "scale": X}, f"f: got x=; {BY_POSITION}"),
        ({"scal": X}, "f: unknown argument scal; did you mean scale? known: x, scale, out; "),
        ({"outt": X}, f"did you mean out? known: x, scale, out; {BY_POSITION}"),
    ],
)
@pytest.mark.parametrize("shape", ["3", "?"])
def test_compiled_functions_take_arrays_by_position(
    shape: str, named: dict[str, Any], message: str
) -> None:
    kind = f"tensor<{shape}xf64>"
    module = gradir.parse(
        f"""func.func @f(%x: {kind}, %scale: {kind}) -> {kind} {{
              %y = array.multiply %x, %scale : {kind}
              func.return %y : {kind}
            }}"""
    )
    compiled: Any = gradir.compile(module, "f")
    with pytest.raises(TypeError) as caught:
        compiled(*[X] * (2 - len(named)), **named)
    assert message in str(caught.value)
    with pytest.raises(TypeError, match=r"f: expected 2 arguments \(%x, %scale\), got 3"):
        compiled(X, X, X)
    with pytest.raises(TypeError, match="profile: unknown argument x; known: arrays, out"):
        compiled.profile(x=X)


@pytest.mark.parametrize("transform", [gradir.jit, gradir.grad])
def test_wrong_calls_of_jitted_functions_name_the_parameters(transform: Any) -> None:
    def f(x: Any, weight: Any) -> Any:
        return (x * weight).sum()

    def any_name(x: Any, y: Any, **named: Any) -> Any:
        return x.sum()

    made, name = transform(f), transform.__name__
    for call, message in (
        (
            lambda: made(X, weigth=X),
            "2 arguments: unknown argument weigth; did you mean weight? kno",
        ),
        (
            lambda: made(X, X, X),
            "3 arguments: too many positional arguments; parameters: x, weight",
        ),
        (lambda: made(X), "1 argument: missing a required argument: 'weight'; parameters: x, we"),
        (lambda: transform(any_name)(X, z=X), "argument: 'y'; parameters: x, y, named"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert f"error: {name}: " in str(caught.value) and message in str(caught.value)


def test_errors_inside_of_functions_pass() -> None:
    def init(params: Any) -> Any:
        raise TypeError("of the user")

    with pytest.raises(TypeError, match=r"^of the user$"):
        gradir.tree.map(init, [X])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: G.grad(np.sum, X), r"argnums: .* got array\(.*: gradir.grad\(f\)\(x\)"),
        (lambda: G.grad(np.sum, argnums="x"), "argnums: expected an integer, .* got 'x'"),
        (lambda: G.jacfwd(np.sum, argnums=1.0), "argnums: expected an integer, .* got 1.0"),
        (lambda: G.grad(np.sum)(), "argnums: no argument 0: the call has no arguments by po"),
        (lambda: gradir.grad(np.sum, 3)(X), "no argument 3: the call has 1 argument by position"),
        (lambda: gradir.vjp(np.sum, X)[1](X), r"a cotangent must be float64\[\], got float64\[3"),
        (lambda: gradir.vjp(np.sum, X)[1]("a"), r"a cotangent must be float64\[\], got 'a'"),
        (lambda: gradir.vjp(np.sin, X)[1](np.float32(1)), r"be float64\[3\], got float32\[\]"),
        (lambda: gradir.parse("/tmp/f.txt"), r"no program; .* gradir.parse\(pathlib.Path\('/tmp"),
        (lambda: gradir.parse("nowhere.mlir"), "^cannot read 'nowhere.mlir': No such file or dir"),
        (lambda: G.Spec("float64"), r"shape: expected extents, got a dtype: Spec\(\(\), 'float64'"),
    ],
)
def test_wrong_calls(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        call()
    assert "main_" not in str(caught.value), "a name of generated code"


def test_numbers_of_numpy_choose_arguments() -> None:
    np.testing.assert_array_equal(G.grad(np.sum, np.int64(0))(X), 1.0)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: gradir.grad(lambda x: (x * x).sum())([1.0, 2.0]), "list"),
        (lambda: gradir.jit(lambda x: x.sum())((1.0, 2.0)), "tuple"),
    ],
)
def test_a_list_in_place_of_an_array_is_named(call: Any, kind: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=kind) as caught:
        call()
    assert caught.value.__notes__ == [
        f"x is a {kind} of 2 entries, as it was given; numpy.array(x) is one array"
    ]


def test_attributes_that_are_not_there_have_short_tracebacks() -> None:
    with pytest.raises(AttributeError, match="did you mean sum") as caught:
        gradir.jit(lambda x: x.summ())(X)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[-1] == __file__ and len(files) <= 3


def test_objects_say_what_they_are() -> None:
    ruled = gradir.custom_vjp(np.sin)
    ruled.defvjp(lambda x: (x, x), lambda x, ct: (ct,))
    trainer = gradir.Trainer(lambda p, x: p * x, gradir.optim.sgd(0.1), X)
    expected = {
        "<gradir.vjp of @sin: cotangents of float64[3] to those": gradir.vjp(np.sin, X)[1],
        "<gradir.custom_vjp of <ufunc 'sin'>>": ruled,
        "<gradir.custom_jvp of <ufunc 'sin'>, without a rule": gradir.custom_jvp(np.sin),
        "<gradir.Trainer after 0 epochs and 0 steps>": trainer,
        "<gradir.optim.GradientTransformation: init(params), upd": gradir.optim.adam(0.1),
    }
    for start, value in expected.items():
        assert repr(value).startswith(start) and len(repr(value)) < 300
