"""What the Array API standard asks for beyond NumPy's functions: devices, copies, inspection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

X = np.array([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("name", ["slogdet", "eigh", "qr", "svd"])
def test_several_results_have_names(name: str) -> None:
    function, wanted = getattr(gnp.linalg, name), getattr(np.linalg, name)(X)
    for made in [function(X) for _ in range(3)] + [gradir.jit(function)(X)]:
        assert type(made)._fields == type(wanted)._fields
        assert all(isinstance(each, np.ndarray) for each in made)
    np.testing.assert_allclose(gnp.linalg.slogdet(X).logabsdet, np.log(11.0))


def test_copies() -> None:
    """copy=False is the array itself, copy=True never, traced too."""
    for function in (gnp.asarray, gnp.from_dlpack, lambda x, **k: gnp.astype(x, "float64", **k)):
        for _ in range(3):
            assert function(X, copy=False) is X
            for made in (function(X), function(X, copy=True)):
                assert not np.shares_memory(made, X)

    def written(make: Callable[..., Any]) -> Any:
        def f(x: Any) -> Any:
            base = x.copy()
            made = make(base)
            made += 1
            return base

        return f

    for make, is_same in [
        (lambda x: gnp.asarray(x), True),
        (lambda x: gnp.asarray(x, copy=False), True),
        (lambda x: gnp.asarray(x, copy=True), False),
        (lambda x: x.astype(float), False),
        (lambda x: x.astype(float, copy=False), True),
        (lambda x: gnp.astype(x, "float64", copy=False), True),
    ]:
        np.testing.assert_array_equal(gradir.jit(written(make))(X), X + is_same)
    for call in (
        lambda x: gnp.asarray(x, "float32", copy=False),
        lambda x: gnp.asarray(2, copy=False),
    ):
        for run in (call, gradir.jit(call)):
            with pytest.raises(ValueError, match="copy=False needs an array of the dtype"):
                run(X)
    with pytest.raises(gradir.TraceError, match="do not become int64 by casting='safe'"):
        gradir.trace(lambda x: x.astype(int, casting="safe"), X)


def test_devices() -> None:
    assert gnp.zeros(2, device="cpu").device == "cpu"
    assert gradir.jit(lambda x: x.to_device(x.device) + gnp.ones_like(x, device=None))(X)[0, 0] == 5
    for call in (lambda: gnp.zeros(2, device="gpu"), lambda: gnp.astype(X, "int8", device=1)):
        with pytest.raises(ValueError, match='device must be "cpu" or None'):
            call()
    with pytest.raises(gradir.TraceError, match="astype: unknown argument devise; did you mean"):
        gnp.astype(X, "int8", devise="cpu")


def test_inspection() -> None:
    info = gnp.__array_namespace_info__()
    assert X.__array_namespace__ is not None and gnp.__array_api_version__ >= "2024.12"
    assert info.default_device() in info.devices()
    assert info.dtypes(kind=("bool", "real floating")) == {
        "bool": np.dtype(bool), "float32": np.dtype("float32"), "float64": np.dtype("float64")
    }  # fmt: skip
    assert set(info.dtypes(kind="unsigned integer")) == {
        name for name in ("uint8", "uint16", "uint32", "uint64") if hasattr(gnp, name)
    }
    assert all(gnp.zeros(1, dtype=each).dtype == each for each in info.dtypes().values())
    with gradir.default_dtype("float32"):
        assert info.default_dtypes()["real floating"] == np.float32
    seen: list[bool] = []
    gradir.trace(lambda x: (seen.append(info.capabilities()["boolean indexing"]), x)[1], X)
    assert [info.capabilities()["boolean indexing"], *seen] == [True, False]


VALUED: list[tuple[str, tuple[Any, ...]]] = [
    ("nonzero", (X > 1,)), ("argwhere", (X > 1,)), ("flatnonzero", (X > 1,)), ("where", (X > 1,)),
    ("unique", (X,)), ("unique_all", (X,)), ("unique_counts", (X,)), ("unique_inverse", (X,)),
    ("unique_values", (X,)), ("union1d", (X, [9.0])), ("intersect1d", (X, [1.0])),
    ("setdiff1d", (X, [1.0])), ("setxor1d", (X, [1.0])), ("trim_zeros", (np.array([0, 1, 0]),)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), VALUED, ids=[name for name, _ in VALUED])
def test_shapes_that_depend_on_values(name: str, arguments: tuple[Any, ...]) -> None:
    """NumPy's own results outside of traced functions; refused in them."""
    wanted = getattr(np, name)(*arguments)
    made = getattr(gnp, name)(*arguments)
    pairs = [(made, wanted)] if isinstance(wanted, np.ndarray) else zip(made, wanted, strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
        assert not np.shares_memory(one, arguments[0])
    with pytest.raises(gradir.GradirError):
        gradir.trace(lambda x: getattr(gnp, name)(x, *arguments[1:]), arguments[0])


def test_rank_by_limits_of_each_matrix() -> None:
    x = np.stack([np.diag([4.0, 1.0]), np.diag([4.0, 3.0])])
    limits = np.array([0.5, 0.5])
    np.testing.assert_array_equal(gnp.linalg.matrix_rank(x, rtol=limits), [1, 2])
    np.testing.assert_allclose(
        gnp.linalg.pinv(x[0], rtol=np.float64(0.5)), np.linalg.pinv(x[0], rtol=0.5), atol=1e-15
    )


def test_traced_arrays_of_a_trace_that_has_ended_are_refused() -> None:
    kept: list[Any] = []
    gradir.trace(lambda x: (kept.append(x), x)[1], X)
    for call in (
        lambda t: gnp.unique(t),
        lambda t: gnp.union1d([1.0], ar2=t),
        lambda t: gnp.nonzero(t),
        lambda t: gnp.asarray(t, copy=False),
        lambda t: gnp.sum(t),
    ):
        with pytest.raises(gradir.GradirError):
            call(kept[0])
