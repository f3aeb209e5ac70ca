"""Tracing a Python function for one result, its text, its types or its error."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.frontends.tracing import copied_code

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4))


def run(function: Callable[..., Any], *arrays: Any, native: bool = False) -> Any:
    """The result of a traced function, a tuple of several."""
    module = gradir.trace(function, *arrays)
    name = module.functions[-1]
    results = (gradir.compile if native else _interpreter)(module, name)(*arrays)
    return results[0] if len(results) == 1 else results


def _interpreter(module: gradir.Module, name: str) -> Callable[..., Any]:
    return functools.partial(gradir.interpret, module, name)


def text(function: Callable[..., Any], *specs: Any) -> str:
    """The body of the traced function."""
    return "\n".join(
        line.strip() for line in str(gradir.trace(function, *specs)).strip().splitlines()[1:-2]
    )


def fails(function: Callable[..., Any], *specs: Any) -> str:
    """The message of the error that tracing ends in, without its place, in code of a package.

    Such code is not copied, and its NumPy is NumPy's own.
    """
    with pytest.raises(gradir.GradirError) as caught, pytest.MonkeyPatch.context() as patch:
        patch.setattr(copied_code, "_is_users", lambda file: False)
        gradir.trace(function, *specs)
    file = re.escape(function.__code__.co_filename)
    assert re.match(rf"{file}:\d+:\d+: error: ", str(caught.value)), caught.value
    return str(caught.value).split("error: ", 1)[1].split("\n")[0]


def result_types(function: Callable[..., Any], *specs: Any) -> Any:
    """The types of the results of the traced function."""
    traced: Any = gradir.trace(function, *specs).op.body.block.first_op
    return traced.function_type.outputs.data
