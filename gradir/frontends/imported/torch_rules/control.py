"""PyTorch's ops that run programs: branches, loops, and gradir functions in place of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.torch_rules.arguments import AtenRules, filled_in
from gradir.frontends.transforms.branches import cond
from gradir.frontends.transforms.flow import scan, while_loop

RULES = AtenRules()


def _given(call: Any, operands: Sequence[Any]) -> list[Any]:
    return [filled_in(value, operands) for _, value in call["arguments"]]


@RULES.rule("cond")
def _cond(call: Any, *operands: Any) -> Any:
    holds, arrays = _given(call, operands)
    branches = [call.replay.function(graph) for graph in call.graphs]
    return cond(gnp.reshape(holds, ()), *branches, *arrays)


@RULES.rule("while_loop", note="reverse mode too")
def _while(call: Any, *operands: Any) -> Any:
    init, consts = _given(call, operands)
    condition, body = (call.replay.function(graph) for graph in call.graphs)

    def goes_on(values: Sequence[Any]) -> Any:
        [holds] = condition(*values, *consts)
        return op.any(holds) if holds.ndim else holds

    def step(values: Sequence[Any]) -> list[Any]:
        return list(body(*values, *consts))

    return while_loop(goes_on, step, list(init))


@RULES.rule("scan")
def _scan(call: Any, *operands: Any) -> Any:
    init, rows, consts = _given(call, operands)
    [graph] = call.graphs
    body, count = call.replay.function(graph), len(init)

    def step(carry: Sequence[Any], row: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        made = body(*carry, *row, *consts)
        return made[:count], made[count:]

    last, stacked = scan(step, list(init), list(rows))
    return [*last, *stacked]


@RULES.rule("map_impl")
def _map(call: Any, *operands: Any) -> Any:
    rows, consts = _given(call, operands)
    [graph] = call.graphs
    body = call.replay.function(graph)
    return list(scan(lambda carry, row: (carry, list(body(*row, *consts))), [], list(rows))[1])


@RULES.rule("gradir.autograd_function", note="by its gradir function, of custom_vjp=")
def _function(call: Any, *operands: Any) -> Any:
    arrays, number = _given(call, operands)
    run: Callable[..., Any] = call["function"]
    made = run(number, arrays)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    return [results[place] for place in call["used"]]
