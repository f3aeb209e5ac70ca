"""ONNX's own tests of its operators, as gradir runs them: onnx.backend.test's cases of nodes.

`outcome` of a case is "" where all results agree, and the reason why not elsewhere. Inputs whose
values an operator must know are bound when the model is loaded; all others are inputs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gradir.errors import GradirError
from gradir.frontends import onnx as gradir_onnx
from gradir.frontends.imported.onnx_rules.table import STATIC
from gradir.frontends.onnx.expansion import name_of
from gradir.packages import package

onnx: Any = package("onnx", "onnx")

HALVES = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
"""Two units in the last place: cases ask for 0.001 where the elements have fewer digits."""

REFUSED = Path(__file__).parent / "onnx_refused.txt"
"""The number of all cases, then those that are refused: a name and the reason on each line."""


@cache
def cases() -> dict[str, Any]:
    """All cases by name."""
    node = package("onnx.backend.test.case.node", "onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of casts that overflow while the cases are made
        return {case.name: case for case in node.collect_testcases(None)}


def refused() -> dict[str, str]:
    """The reasons of the cases that are refused, by name."""
    _, *lines = REFUSED.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def outcome(case: Any) -> str:
    """Why a case is refused, "" if it agrees; AssertionError where results differ."""
    for inputs, outputs in case.data_sets:
        try:
            results = run(case.model, [onnx_array(x) for x in inputs])
        except GradirError as error:
            return _reason(str(error))
        assert len(results) == len(outputs)
        for found, wanted in zip(results, map(onnx_array, outputs), strict=True):
            _compare(case, np.asarray(found), np.asarray(wanted))
    return ""


def run(model: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The results of a model, whose inputs are bound as far as shapes need them."""
    names = [value.name for value in model.graph.input]
    return loaded(model, dict(zip(names, inputs, strict=False)))[1]


Loaded = tuple[Callable[[dict[str, Any]], tuple[Any, ...]], tuple[Any, ...]]


def loaded(model: Any, given: dict[str, Any]) -> Loaded:
    """The model as a function of its free inputs by name, and its results for the given ones."""
    static = static_inputs(model.graph)
    try:
        return _bound(model, given, static)
    except gradir_onnx.ImportedProgramError as error:
        if "must be known" not in str(error) and "known, and the condition" not in str(error):
            raise
    # an operator's definition by others has the one that asks
    small = {
        name for name, x in given.items() if np.size(x) <= 8 and np.asarray(x).dtype.kind in "ib"
    }
    return _bound(model, given, static | small)


def _bound(model: Any, given: dict[str, Any], names: set[str]) -> Loaded:
    bind = {name: np.asarray(x) for name, x in given.items() if name in names}
    made = gradir_onnx.load(model, bind=bind)

    def call(inputs: dict[str, Any]) -> tuple[Any, ...]:
        results = made(made.parameters, *(inputs[name] for name in given if name not in bind))
        return results if isinstance(results, tuple) else (results,)

    return call, call(given)


def static_inputs(graph: Any) -> set[str]:
    """The values that shapes depend on."""
    makers = {name: node for node in graph.node for name in node.output}
    rest = [name for node in graph.node for name in _static_names(node)]
    found: set[str] = set()
    while rest:
        name = rest.pop()
        if name in found:
            continue
        found.add(name)
        if name in makers and makers[name].op_type not in ("Shape", "Size"):
            rest += makers[name].input
    return found


def _static_names(node: Any) -> Iterator[str]:
    places = STATIC.get(name_of(node), ())
    yield from (name for k, name in enumerate(node.input) if k in places)


def onnx_array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _compare(case: Any, found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    rounding = HALVES.get(found.dtype.name, 0.0)
    np.testing.assert_allclose(
        found.astype(np.float64), wanted.astype(np.float64),
        rtol=max(case.rtol, rounding), atol=case.atol,
    )  # fmt: skip


def _reason(text: str) -> str:
    """The reason of a refusal, without places, names and sizes."""
    lines = text.splitlines()
    listed = [line.strip() for line in lines if re.match(r"  \S.*\(.*\): ", line)]
    if listed:
        found = sorted({re.sub(r" \(.*\): ", ": ", line) for line in listed})
        found = [line for line in found if not line.startswith("argument of ")] or found
        return "; ".join(re.sub(r"^argument of \S+: ", "", line) for line in found)
    first = lines[0].split("error: ", 1)[-1]
    return re.sub(r"'[^']*'", "...", first).partition(";")[0]


def main() -> None:
    """Write the file of refused cases anew."""
    lines: list[str] = []
    for name, case in cases().items():
        try:
            reason = outcome(case)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        if reason:
            lines.append(f"{name}: {reason}\n")
    head = f"# {len(cases())} cases of onnx {onnx.__version__}\n"
    REFUSED.write_text(head + "".join(sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
