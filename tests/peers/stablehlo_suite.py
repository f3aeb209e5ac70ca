"""StableHLO's interpreter tests as cases: a program, its inputs, and what it must give.

A file's @main calls @inputs and @expected, which return constants, and compares by custom calls
`check.expect_close`, `check.expect_almost_eq` or `check.expect_eq`. The comparisons become the
results of @main, those of the program first.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

import gradir
from gradir.errors import GradirError
from gradir.frontends.stablehlo.load import load_module, parsed

CHECKS = ("check.expect_close", "check.expect_almost_eq", "check.expect_eq")
# In units of the largest number, or exact.
TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2, "bfloat16": 4e-2}


def check_file(path: Path) -> str:
    """ "" where a file's results agree, else "refused: why" or "wrong: why"."""
    try:
        module = parsed(path.read_text(encoding="utf-8"), path.name)
        [main] = [op for op in module.ops if isinstance(op, FuncOp) and _name(op) == "main"]
        count = _return_checks(main)
        if not count:
            return "refused: it has no comparison of results"
        program = load_module(module, "main", path.name)
        with np.errstate(all="ignore"):
            made = gradir.interpret(program, "main")
    except GradirError as error:
        return f"refused: {_reason(str(error))}"
    for found, wanted in zip(made[:count], made[count:], strict=True):
        if (fault := _difference(np.asarray(found), np.asarray(wanted))) is not None:
            return f"wrong: {fault}"
    return ""


def _name(op: FuncOp) -> str:
    return op.sym_name.data


def _return_checks(main: FuncOp) -> int:
    """Return what the comparisons of @main compare; how many there are."""
    found: list[Any] = []
    wanted: list[Any] = []
    for op in list(main.body.block.ops):
        if op.name == "stablehlo.custom_call" and _target(op) in CHECKS:
            found.append(op.operands[0])
            wanted.append(op.operands[1])
            op.detach()
            op.erase()
    last = main.body.block.last_op
    assert last is not None
    last.detach()
    last.erase()
    main.body.block.add_op(ReturnOp(*found, *wanted))
    types = [v.type for v in (*found, *wanted)]
    main.properties["function_type"] = FunctionType.from_lists([], types)
    main.properties.pop("res_attrs", None)
    return len(found)


def _target(op: Operation) -> str:
    value = {**op.attributes, **op.properties}.get("call_target_name")
    if isinstance(value, StringAttr):
        return value.data
    return value.string_value() if isinstance(value, SymbolRefAttr) else ""


def _reason(text: str) -> str:
    """The last part of a message, which is alike for files of one kind."""
    lines = [line for line in text.splitlines() if line.startswith("  ") and "): " in line]
    if lines:
        what, _, why = lines[0].strip().partition(" (")
        return f"{what}: {why.partition('): ')[2]}"
    return text.splitlines()[0].partition(" error: ")[2] or text.splitlines()[0]


def _difference(found: Any, wanted: Any) -> str | None:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if found.dtype.kind in "iub":
        return None if np.array_equal(found, wanted) else "other integers"
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return "nan at other places"
    bound = TOLERANCE[str(found.dtype)]
    most = max(1.0, float(np.max(np.abs(other), where=np.isfinite(other), initial=0)))
    is_close = np.isclose(one, other, bound, bound * most, equal_nan=True)
    return None if is_close.all() else f"off by {np.max(np.abs(one - other)[~is_close]):.3g}"


def run_suite(folder: Path) -> Counter[str]:
    """How the files of a folder fared: "agrees", "refused: ..." and "wrong: ..."."""
    return Counter(check_file(path) or "agrees" for path in sorted(folder.rglob("*.mlir")))
