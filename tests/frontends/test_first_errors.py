"""What a newcomer's first mistakes are told: names, arguments, SciPy, static values, tracebacks."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir import long_compilations
from gradir.errors import ArgumentTypeError, TraceError, VerifyError
from gradir.frontends.tracing import copied_code, tracing

X = np.array([0.5, -1.0, 2.0])
G: Any = gradir  # for calls that no checker of types takes


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from gradir import gard", "gradir has no gard: did you mean grad?"),
        ("from gradir import lax", "gradir has no lax: scan, while_loop, fori_loop, cond"),
        ("from gradir.numpy import arrange", "gradir.numpy has no arrange: did you mean arange?"),
        ("from gradir.nn import rellu", "gradir.nn has no rellu: did you mean relu?"),
        ("from gradir.nn import ReLU", "gradir.nn has no ReLU: did you mean relu?"),
        ("from gradir.nn import Sequential", "as it is by gradir.interop.torch.differentiable"),
        ("from gradir import zeros", "gradir has no zeros: gradir.numpy.zeros"),
        ("from gradir import tree_map", "gradir has no tree_map: gradir.tree.map"),
        ("from gradir.tree import mapp", "gradir.tree has no mapp: did you mean map?"),
        ("from gradir.comm import psumm", "gradir.comm has no psumm: did you mean psum?"),
        ("from gradir.debug import prnt", "gradir.debug has no prnt: did you mean print?"),
        ("from gradir.testing import check_grad", "did you mean check_grads?"),
        ("from gradir.interop import torhc", "gradir.interop has no torhc: did you mean torch?"),
        ("from gradir.scipy import optimize", "no optimize: gradir.interop.scipy.minimize, or"),
        ("from gradir.optim import adamm", "gradir.optim has no adamm: did you mean adam?"),
        ("from gradir.scipy.special import expitt", "did you mean expit?"),
        ("from gradir.compat.jax import pmap", "jax.vmap on one machine, gradir.comm on several"),
        ("from gradir.compat.jax import gard", "gradir.compat.jax has no gard: did you mean grad?"),
        ("from gradir.compat.jax.lax import all_to_all", "jnp.swapaxes of the rows, outside"),
        ("from gradir.compat.jax.lax import scann", "did you mean scan?"),
        ("from gradir.compat.jax.lax import scatter_add", "x.at[indices].add(values)"),
        ("from gradir.compat.jax.nn import rellu", "did you mean relu?"),
        ("from gradir.compat.jax.numpy import arrange", "did you mean arange?"),
        ("from gradir.compat.jax.random import normall", "did you mean normal?"),
    ],
)
def test_unknown_names_are_told_the_nearest(statement: str, message: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement)
    assert message in str(caught.value)
    module, _, name = statement.removeprefix("from ").partition(" import ")
    with pytest.raises(AttributeError) as found:
        getattr(sys.modules[module], name)
    assert message in str(found.value)
    assert not hasattr(sys.modules[module], name)


def test_the_listed_names_are_the_public_ones() -> None:
    shown = [name for name in dir(gradir) if not name.startswith("__")]
    assert {"grad", "numpy", "Trainer"} <= {*shown}
    assert not {"Any", "sys", "import_module", "TYPE_CHECKING", "_LAZY"} & {*shown}
    assert all(hasattr(gradir, name) for name in shown)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: G.grad(abs, argnum=0),
            "grad: unknown argument argnum; did you mean argnums?",
        ),
        (lambda: G.optim.sgd(lr=0.1), "sgd: unknown argument lr; did you mean learning_rate?"),
        (lambda: G.optim.adam(0.1, betas=(0.9, 0.99)), "betas; did you mean b1 and b2?"),
        (lambda: G.vmap(abs, in_axis=0), "did you mean in_axes? known: function, in_axes"),
        (lambda: G.jit(abs, static_argnum=0), "did you mean static_argnums?"),
        (
            lambda: G.scan(abs, X, X, lenght=3),
            "scan: unknown argument lenght; did you mean len",
        ),
        (lambda: gnp.sum(X, dim=0), "sum: unknown argument dim; did you mean axis?"),
        (lambda: G.grad(), "grad: missing a required argument: 'function'; parameters: fun"),
    ],
)
def test_unknown_arguments_are_told_the_nearest(call: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value) and __file__ in str(caught.value)


def test_errors_of_the_function_itself_pass() -> None:
    def wrong(x: Any) -> Any:
        return len(3)  # pyrefly: ignore[bad-argument-type]

    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        gradir.jit(wrong)(X)


# PyTorch's names and order of arguments.


def test_names_of_pytorch_in_nn() -> None:
    table, ids = np.arange(6.0).reshape(3, 2), np.array([2, 0])
    np.testing.assert_array_equal(nn.embedding(ids, table), nn.embedding(table, ids))
    np.testing.assert_array_equal(nn.embedding(table, ids), table[ids])
    np.testing.assert_array_equal(
        nn.embedding_bag(ids[None], table), nn.embedding_bag(table, ids[None])
    )
    m = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(nn.softmax(m, dim=1), nn.softmax(m, axis=1))
    np.testing.assert_array_equal(nn.softmax(input=m, dim=1), nn.softmax(m, axis=1))
    image = np.arange(16.0).reshape(1, 1, 4, 4)
    pooled = nn.max_pool2d(image, kernel_size=2)
    np.testing.assert_array_equal(pooled, nn.max_pool2d(image, 2))
    traced = gradir.jit(lambda x: nn.max_pool2d(x, kernel_size=2))(image)
    np.testing.assert_array_equal(traced, pooled)
    with pytest.raises(TraceError, match="unknown argument dim"):
        nn.softmax(m, axis=1, dim=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.dropout(X, 0.5), "draws come from a key, as of gradir.random.key"),
        (lambda: nn.dropout(X, 0.5, True), "key must be an integer, got 0.5; draws come from a k"),
        (lambda: nn.dropout(X, p=0.5, training=True), "dropout\\(x, key, counter, p\\)"),
        # pyrefly: ignore
        (lambda: nn.batch_norm(X, X, X, X, X), "is batch_norm\\(x, weight, bias, \\(mean, var\\)"),
        (lambda: nn.batch_norm(X, running_mean=X), "unknown argument running_mean; .* PyTorch's"),
    ],
)
def test_what_pytorch_has_otherwise_names_ours(call: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        call()


# Values that choose the program.


class Scaled:
    factor = 3.0

    @gradir.jit
    def unhashed(self, x: Any) -> Any:
        return self.factor * x

    @partial(gradir.jit, static_argnums=0)
    def scaled(self, x: Any) -> Any:
        return self.factor * x


def test_jitted_methods_have_self() -> None:
    np.testing.assert_array_equal(Scaled().scaled(X), 3 * X)
    with pytest.raises(ArgumentTypeError, match="static_argnames='self'"):
        Scaled().unhashed(X)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x, mode: x if mode == "a" else 2 * x, "a"),
        (lambda x, mode: mode(x), np.sin),
        (lambda x, mode: x * 2 if mode else x, True),
        (lambda x, mode: x.reshape(mode, -1), 3),
        (lambda x, mode: [x * k for k in range(mode)], 3),
        (lambda x, mode: gnp.zeros(mode), 3),
        (lambda x, mode: gnp.sum(x, axis=mode), 0),
    ],
)
def test_values_that_choose_the_program_name_static_arguments(function: Any, argument: Any) -> None:
    with pytest.raises(TypeError) as caught:
        gradir.jit(function)(X, argument)
    said = "".join(traceback.format_exception_only(caught.value))
    assert "gradir.jit(f, static_argnames='mode')" in said
    gradir.jit(function, static_argnames="mode")(X, argument)


# SciPy.

needs_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="SciPy is not installed")


@needs_scipy
def test_ufuncs_of_scipy_are_ours() -> None:
    import scipy.special

    np.testing.assert_allclose(gradir.jit(scipy.special.expit)(X), scipy.special.expit(X))
    np.testing.assert_allclose(gradir.grad(lambda x: scipy.special.gammaln(x))(2.0), 0.42278433509)


SCIPY = {
    "linalg.cho_factor(x)": "call gradir.scipy.linalg.cho_factor",
    "linalg.solve(x, x)": "call gradir.scipy.linalg.solve",
    "special.logsumexp(x)": "call gradir.scipy.special.logsumexp",
    "stats.norm.logpdf(x)": "call gradir.scipy.stats.norm.logpdf",
    "ndimage.zoom(x, 2)": "gradir.scipy does not have it; compose it of gradir.numpy",
    "interpolate.CubicSpline([0, 1, 2], x)": "scipy.interpolate.CubicSpline: it looks into arrays",
    "interpolate.interp1d([0, 1, 2], x)": "numpy.interp is differentiated",
    "sparse.csr_matrix(x)": "make it of constants with SciPy, and compute with its arrays",
    "optimize.minimize(lambda y: ((y - x) ** 2).sum(), x)": "gradir.interop.scipy.minimize",
}


@needs_scipy
@pytest.mark.parametrize("call", SCIPY)
def test_functions_of_scipy_name_ours(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scipy: dict[str, Any] = {}
    exec(f"import scipy.{call.partition('.')[0]}", scipy)
    function = eval(f"lambda x: scipy.{call}", scipy)
    monkeypatch.setattr(copied_code, "_is_users", lambda file: False)  # as in a package's code
    with pytest.raises(TraceError) as caught:
        gradir.jit(lambda x: function(x))(np.eye(3))
    assert SCIPY[call] in str(caught.value)
    assert f"scipy.{call.partition('(')[0]}" in str(caught.value)


@needs_scipy
def test_errors_of_scipy_on_arrays_pass() -> None:
    import scipy.linalg

    with pytest.raises(np.linalg.LinAlgError):
        gradir.jit(lambda x: x + scipy.linalg.cho_factor(-np.eye(3))[0])(X)


# Tracebacks, and programs that take long.


def test_tracebacks_hide_our_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner(x: Any) -> Any:
        return gnp.reshape(x, (7,))

    def names(function: Any) -> list[str]:
        with pytest.raises(Exception) as caught:
            gradir.grad(function)(X)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [frame.name for frame in frames]

    def outer(x: Any) -> Any:
        return inner(x).sum()

    def own(x: Any) -> Any:
        raise KeyError(x)

    assert names(outer) == ["names", "__call__", "outer", "inner"]
    assert names(own) == ["names", "__call__", "own"]
    monkeypatch.setenv("GRADIR_TRACEBACK", "1")
    assert len(names(outer)) > 12


def test_long_programs_say_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(long_compilations, "SECONDS", 0.0)
    monkeypatch.setenv("GRADIR_CACHE", "0")

    def unrolled(x: Any) -> Any:
        for k in range(1200):
            x = gnp.sin(x) + k
        return x

    with caplog.at_level(logging.WARNING, "gradir"):
        gradir.compile(gradir.trace(unrolled, X), "unrolled")
    [said] = caplog.messages
    assert "@unrolled has been traced for more than 0 s, and has so far 1,024 ops" in said
    assert "test_first_errors.py:" in said
    assert "gradir.scan, fori_loop and while_loop have them once" in said
    caplog.clear()
    monkeypatch.setattr(tracing, "OPS_BETWEEN_LOOKS", 8192)
    with caplog.at_level(logging.WARNING, "gradir"):
        gradir.jit(unrolled)(X)
    [said] = caplog.messages
    assert "@unrolled takes more than 0 s to trace and compile: it has 3,603 ops" in said


def test_a_misspelt_module_costs_no_import() -> None:
    code = "import sys, gradir; hasattr(gradir, 'x'); assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


MISTAKES = {
    "gradir.grad(lambda x: None)(1.0)": "must return a floating number, got None; is a return miss",
    "gradir.jit(lambda x: x.summ())(X)": "no attribute 'summ'; did you mean sum?",
    "gradir.jit(lambda x: x.backward())(X)": "no attribute 'backward'; gradients are results, of",
    "gradir.jit(lambda x: x.detach())(X)": "no attribute 'detach'; use gradir.no_grad(x)",
    "gradir.jit(lambda name: name)(np.array(['a']))": "name: dtype: expected float64, float32",
    "gnp.zeros(3, 4)": "got 4; a shape is one argument, (3, 4)",
}


@pytest.mark.parametrize("call", MISTAKES)
def test_mistakes_have_a_way_out(call: str) -> None:
    names = {"gradir": gradir, "np": np, "X": X, "gnp": gradir.numpy}
    with pytest.raises((gradir.GradirError, AttributeError)) as caught:
        eval(call, names)
    assert MISTAKES[call] in str(caught.value)


@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss])
def test_targets_that_are_no_classes_are_told_the_way_out(loss: Any) -> None:
    x, classes = np.zeros((4, 3)), np.array([0, 1, 2, 1])
    is_cross = loss is nn.cross_entropy
    for targets, message in (
        (classes + 0.0, "must be integers, "),
        (classes + 0.0, "astype(int)" if is_cross else "convert them by astype"),
        (classes[:, None], "got tensor<4x1xi64>; drop their last axis: targets[..., 0]"),
        (np.eye(3, dtype=int)[classes], "are floats" if is_cross else "take argmax(axis=1)"),
    ):
        with pytest.raises((TypeError, VerifyError)) as caught:
            loss(x, targets)
        assert message in str(caught.value)
