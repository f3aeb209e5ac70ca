"""Rows of the table: collectives in a group of one rank. tests/comm/ has groups of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array


def _same(x: Array, **attributes: Any) -> Array:
    return np.copy(x)


def _none(x: Array, **attributes: Any) -> Array:
    return np.zeros_like(x)


def _one(op: str, shape: tuple[int, ...] = (3, 4), **attributes: Any) -> Case:
    return Case(op, [shape], {"ranks": 1, **attributes}, _same)


CASES = (
    *(_one("comm.all_reduce", kind=kind) for kind in ("sum", "mean", "max", "min")),
    *(_one("comm.all_reduce", shape) for shape in ((), (0,), (17,))),
    _one("comm.all_reduce", ordered=True),
    Case("comm.all_reduce", [np.array([1, -2])], {"ranks": 1, "kind": "max"}, _same),
    _one("comm.reduce"),
    _one("comm.reduce", root=0),
    _one("comm.broadcast"),
    Case("comm.broadcast", [np.array([True, False])], {"ranks": 1}, _same),
    *(_one("comm.all_gather", axis=axis) for axis in (0, 1, -1)),
    *(_one("comm.part", axis=axis) for axis in (0, -1)),
    *(_one("comm.part", shape) for shape in ((0,), (17,))),
    Case("comm.part", [np.array([True, False])], {"ranks": 1}, _same),
    *(_one("comm.reduce_scatter", axis=axis) for axis in (0, 1, -1)),
    _one("comm.permute", sources=[0], targets=[0]),
    Case("comm.permute", [(3,)], {"ranks": 1}, _none),
    Case("comm.rank", [], {}, np.array(0), results=[((), "int64")]),
    Case("comm.size", [], {}, np.array(1), results=[((), "int64")]),
)
