"""Every public function tells a wrong keyword the known ones, and wrong calls of derivatives why."""

from __future__ import annotations

import inspect
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

EAGER = {"axis_index", "axis_size", "barrier"}
"""Functions with one parameter at most."""


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
    name = function.__name__
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


def test_errors_inside_of_functions_pass() -> None:
    def init(params: Any) -> Any:
        raise TypeError("of the user")

    with pytest.raises(TypeError, match=r"^of the user$"):
        gradir.tree.map(init, [X])
