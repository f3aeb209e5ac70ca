"""Operator types with nested nets: If, While, Do, as control flow of traced programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.operator import NetBlock, Operator, Scope
from gradir.frontends.caffe2.scopes import (
    NestedNet,
    scope_of_do,
    scope_of_if,
    scope_of_while,
    unique,
)
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.branches import cond
from gradir.frontends.transforms.flow import while_loop

Blobs: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[NetBlock, Blobs], dict[str, Any]]


def _truth(name: str, blobs: Blobs) -> Any:
    """The condition as a bool of rank 0."""
    value = blobs[name]
    if not is_bool(element(value)) or value.size != 1:
        raise ArgumentError(f'condition "{name}" must be one bool, got {value!r}')
    return gnp.reshape(value, ())


def _scope(op: Operator) -> Scope:
    assert op.scope is not None
    return op.scope


def _but_the_condition(op: Operator) -> list[int]:
    """All operands but the condition, which is a bool."""
    return [k for k, name in enumerate(op.operands) if name != op.inputs[0]]


_FLOW: dict[str, Any] = {
    "inputs": (1, None),
    "outputs": (0, None),
    "differentiable": _but_the_condition,
}


@operator_type("If", **_FLOW, scope=scope_of_if)
def if_(*operands: Any, op: Operator, run: Run, then_net: Any, else_net: Any = None) -> Any:
    """The outputs of one net or the other; without the second the blobs stay as they are."""
    scope = _scope(op)
    blobs = dict(zip(scope.operands, operands, strict=True))

    def branch(key: str) -> Callable[[], tuple[Any, ...]]:
        def run_branch() -> tuple[Any, ...]:
            net = scope.nets.get(key)
            after = blobs if net is None else run(net, blobs)
            return tuple(after[name] for name in scope.results)

        return run_branch

    return cond(_truth(op.inputs[0], blobs), branch("then_net"), branch("else_net"))


@operator_type("While", **_FLOW, scope=scope_of_while)
def while_(*operands: Any, op: Operator, run: Run, loop_net: Any, cond_net: Any = None) -> Any:
    """The loop's net as long as the condition holds, whose own net runs before each test."""
    scope = _scope(op)
    body, test = cast(NestedNet, scope.nets["loop_net"]), scope.nets.get("cond_net")
    blobs = dict(zip(scope.operands, operands, strict=True))
    tested = cast("NestedNet | None", test)
    handed = () if tested is None else [w for w in tested.writes if w in body.reads]
    carried = unique(scope.results, handed, op.inputs[:1])

    def step(before: Blobs, net: NetBlock | None) -> dict[str, Any]:
        return dict(before) if net is None else run(net, before)

    def state(now: Blobs) -> tuple[Any, list[Any]]:
        return _truth(op.inputs[0], now), [now[name] for name in carried]

    def turn(given: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
        now = {**blobs, **dict(zip(carried, given[1], strict=True))}
        after = {**now, **_kept(step(now, body), carried)}
        return state({**after, **_kept(step(after, test), carried)})

    _, found = while_loop(_first, turn, state(step(blobs, test)))
    last = dict(zip(carried, found, strict=True))
    return tuple(last[name] for name in scope.results)


def _first(given: tuple[Any, list[Any]]) -> Any:
    return given[0]


def _kept(blobs: Blobs, names: Sequence[str]) -> dict[str, Any]:
    """What of a net's blobs is seen outside of it."""
    return {name: blobs[name] for name in names if name in blobs}


@operator_type("Do", inputs=(0, None), outputs=(0, None), scope=scope_of_do)
def do(
    *operands: Any, op: Operator, run: Run, net: Any, inner_blobs: Any = None,
    outer_blobs_idx: Any = None, reuse_workspace: int = 0,
) -> Any:  # fmt: skip
    """The net in a workspace of its own, where some names stand for blobs around it."""
    scope = _scope(op)
    blobs = dict(zip(scope.operands, operands, strict=True))
    inside = {n: blobs[outer] for n, outer in scope.private.items() if outer in blobs}
    after = run(scope.nets["net"], inside)
    changed = {scope.private[n]: after[n] for n in cast(NestedNet, scope.nets["net"]).writes}
    return tuple({**blobs, **changed}[name] for name in scope.results)
