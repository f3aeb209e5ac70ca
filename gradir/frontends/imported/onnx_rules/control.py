"""ONNX's operators that run graphs: If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.onnx_rules.arguments import INT64, OnnxRules, axis_of, counted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import constant
from gradir.frontends.tracing.values import value_of
from gradir.frontends.transforms.branches import cond
from gradir.frontends.transforms.flow import scan, while_loop

RULES = OnnxRules()


def _inputs(call: Any, operands: Sequence[Any]) -> list[Any]:
    return [None if place is None else operands[place] for place in call["inputs"]]


def _body(call: Any, number: int, operands: Sequence[Any]) -> Any:
    """A graph as a function of its own inputs; the values around it that it reads are given."""
    graph = call.graphs[number]
    around = [operands[place] for place in call["captures"][number]]
    return lambda *given: call.replay.inside(graph, [*given, *around])


def _named(call: Any, results: Sequence[Any]) -> list[Any]:
    return [made for made, is_named in zip(results, call["outputs"], strict=False) if is_named]


@RULES.rule("If", note="a condition whose value is known takes its branch alone")
def _if(call: Any, *operands: Any) -> Any:
    [holds] = _inputs(call, operands)
    known = value_of(holds)
    if known is not None:
        return _named(call, _body(call, 0 if bool(known.reshape(())) else 1, operands)())
    made = cond(gnp.reshape(holds, ()), *(_body(call, k, operands) for k in (0, 1)))
    return _named(call, list(made))


@RULES.rule("Loop", note="results of each step need a number of steps that is known")
def _loop(call: Any, *operands: Any) -> Any:
    most, holds, *carried = _inputs(call, operands)
    body = _body(call, 0, operands)
    count = len(carried)
    if len(call.graphs[0].outputs) == count + 1:
        return _named(call, _while(body, most, holds, carried))
    number = None if most is None else value_of(most)
    starts = True if holds is None else value_of(holds)
    if number is None or starts is None or not _keeps_on(call):
        raise refusal(
            "Loop: the shape of its results of each step depends on values: the number of steps "
            "must be known, and the condition stay as it began; give onnx.load(bind={name: array})",
            ImportedProgramError,
        )
    steps = int(np.reshape(number, ())) if np.reshape(starts, ()) else 0

    def step(states: list[Any], at: Any) -> tuple[list[Any], list[Any]]:
        _, *made = body(at, constant(np.array(True)), *states)
        return made[:count], made[count:]

    last, rows = scan(step, carried, constant(counted(steps)), steps)
    return _named(call, [*last, *rows])


def _keeps_on(call: Any) -> bool:
    """Whether a body hands its condition on, or gives one that is true."""
    return bool(call["keeps_on"])


def _while(body: Any, most: Any, holds: Any, carried: list[Any]) -> list[Any]:
    start = constant(np.array(True)) if holds is None else gnp.reshape(holds, ())
    limit = None if most is None else converted(gnp.reshape(most, ()), INT64)

    def goes_on(state: Any) -> Any:
        at, is_true, _ = state
        return is_true if limit is None else gnp.logical_and(is_true, gnp.less(at, limit))

    def step(state: Any) -> Any:
        at, is_true, values = state
        after, *made = body(at, is_true, *values)
        return gnp.add(at, 1), gnp.reshape(after, ()), made

    return list(while_loop(goes_on, step, (constant(np.array(0)), start, carried))[2])


@RULES.rule("Scan")
def _scan(call: Any, *operands: Any) -> Any:
    given, attributes = _inputs(call, operands), call["attributes"]
    scanned = attributes["num_scan_inputs"]
    states, rows = given[: len(given) - scanned], given[len(given) - scanned :]
    body, count = _body(call, 0, operands), len(given) - scanned
    made = len(call.graphs[0].outputs) - count
    axes = attributes.get("scan_input_axes") or [0] * scanned
    flips = attributes.get("scan_input_directions") or [0] * scanned
    ends = attributes.get("scan_output_axes") or [0] * made
    flipped = attributes.get("scan_output_directions") or [0] * made
    moved = [_along(x, axis, flip) for x, axis, flip in zip(rows, axes, flips, strict=True)]

    def step(carry: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        results = body(*carry, *row)
        return results[:count], results[count:]

    last, stacked = scan(step, states, moved)
    stacked = [gnp.flip(y, 0) if flip else y for y, flip in zip(stacked, flipped, strict=True)]
    stacked = [gnp.moveaxis(y, 0, axis % y.ndim) for y, axis in zip(stacked, ends, strict=True)]
    return _named(call, [*last, *stacked])


def _along(x: Any, axis: int, is_reversed: int) -> Any:
    rows = gnp.moveaxis(x, axis_of(x, axis), 0)
    return gnp.flip(rows, 0) if is_reversed else rows
