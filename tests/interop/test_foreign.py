"""What all systems of gradir.interop share, by one whose arrays are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.interop.foreign import Foreign
from gradir.interop.programs import Program, WrapOptions


class Captured(Exception):
    """What arrays of the system raise where they are captured."""


class NumpyFunction(Foreign):
    """A gradir function on NumPy's arrays, which notes the programs that run."""

    array, types, captured = "an array of NumPy", np.ndarray, Captured
    common = frozenset((np.ndarray,))

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function, WrapOptions(), (NumpyFunction, (function,)))
        self.programs: list[Program] = []

    def run(self, program: Program, arrays: Sequence[Any]) -> Sequence[Any]:
        self.programs.append(program)
        return program(arrays)


class OtherArray:
    """An array of another system: hashable, as PyTorch's are."""

    def __dlpack__(self) -> None:
        raise Captured("no bytes")


def test_nested_arguments_and_results() -> None:
    f = NumpyFunction(lambda a, b, *, k: {"sum": a["x"] + b[0] * k, "rest": (a["x"],)})
    x, y = np.arange(3.0), np.ones(3)
    found = f({"x": x}, [y], k=2)
    assert found["sum"].tolist() == [2, 3, 4] and found["rest"][0].tolist() == x.tolist()


def test_a_program_for_each_kind_of_arguments() -> None:
    f = NumpyFunction(lambda x, k=1: x * k)
    kinds = [(np.ones(2),), (np.ones(3),), (np.ones(2, np.float32),)]
    kinds += [(np.ones(2), k) for k in (1, 1.0, np.float32(1), 0.0, -0.0)]
    for arguments in [*kinds, *kinds]:
        f(*arguments)
    assert len(set(f.programs)) == len(kinds)
    assert np.signbit(f(np.ones(2), -0.0)).all() and not np.signbit(f(np.ones(2), 0.0)).any()


def test_threads_share_one_program() -> None:
    f, start = NumpyFunction(lambda x: gnp.sum(x * x)), Barrier(8)

    def call(k: int) -> float:
        start.wait()
        return float(f(np.full(4, float(k))))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(8))) == [4.0 * k * k for k in range(8)]
    assert len(set(f.programs)) == 1


def test_in_a_traced_function_it_is_the_function() -> None:
    f = NumpyFunction(lambda x: x * x)
    assert gradir.grad(lambda x: gnp.sum(f(x)))(np.ones(2)).tolist() == [2, 2]
    assert not f.programs


X = np.ones(2)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            lambda x: gnp.multiply(x, OtherArray()),
            (X,),
            "uses an array of NumPy that is not one of its arg.*no bytes",
        ),
        (lambda x: (x, OtherArray()), (X,), "would be a constant without a gradient"),
        (
            lambda x, y: x,
            (X, [OtherArray()]),
            "y0: expected an array of NumPy.* got OtherArray of",
        ),
        (lambda x, y: x, (X, {"k": {1}}), "y_k: expected an array of NumPy.* got set of builtins"),
        (lambda x: x, (X.astype("m8[s]"),), "wrap: x: dtype: expected .*timedelta64"),
        (lambda x: "word", (X,), "expected an array or a number, got str"),
        (lambda x: x, (X, X), "too many positional arguments"),
    ],
)
def test_errors(function: Any, arguments: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError, match=message) as error:
        NumpyFunction(function)(*arguments)
    assert f"{__file__}:" in str(error.value)
