"""Nested nets: which blobs around them they read and change, and which names are their own."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.operator import VERSIONED, Argument, NetBlock, Operator, Scope
from gradir.frontends.caffe2.table import entry

MAX_DEPTH = 32
"""How deep nets nest: each is three messages of a NetDef, and protobuf reads 100 at most."""


@dataclass(frozen=True)
class ScopeNames:
    """Names that exist, in any of several containers.

    `promised` exist too, but are not said to be outside of a net by that alone.
    """

    parts: tuple[Container[str], ...]
    promised: tuple[Container[str], ...] = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name in part for part in self.parts)

    def around(self, more: Container[str]) -> ScopeNames:
        """These names and more."""
        return ScopeNames((*self.parts, more), self.promised)

    def promising(self, more: Container[str]) -> ScopeNames:
        """These names, and more that are promised."""
        return ScopeNames(self.parts, (*self.promised, more))

    def has(self, name: str) -> bool:
        """Whether a name exists, or is promised."""
        return name in self or any(name in part for part in self.promised)


class NestedNet(NetBlock):
    """The operators of a nested net, whose own nested nets are resolved."""

    def __init__(self, net: NetBlock, known: ScopeNames, what: str, depth: int):
        if depth > MAX_DEPTH:
            raise OperatorError(f"{what}: nets nest more than {MAX_DEPTH} deep")
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self._declared = net.external_inputs
        inside = known.around(self.reads).around(self.writes).promising(self._declared)
        self._ops: list[Operator] = []
        for op in net.ops:
            made = resolved(op, inside, depth)
            self._ops.append(made)
            for name in reads(made):
                if name not in self.writes:
                    self.reads[name] = None
            self.writes |= dict.fromkeys(made.results)

    @property
    def ops(self) -> tuple[Operator, ...]:
        return tuple(self._ops)

    @property
    def external_inputs(self) -> tuple[str, ...]:
        return self._declared


def reads(op: Operator) -> Iterable[str]:
    """The blobs that an operator reads, versions of a gradient operator's named as blobs."""
    if not op.is_gradient_op:
        return op.operands
    return [m[1] if (m := VERSIONED.fullmatch(name)) else name for name in op.operands]


def resolved(op: Operator, known: ScopeNames, depth: int = 0) -> Operator:
    """The operator with the scope of its nested nets, where `known` are the blobs around it.

    Its outputs are completed by the blobs that the nets change.
    """
    find = None if op.link is not None and op.link.outputs else entry(op).scope
    if find is None:
        return op
    inside = known.around(op.inputs).around(op.outputs)
    nets = {
        key: NestedNet(net, inside, f"{op.type}: {key}", depth + 1)
        for key, net in op.nets().items()
    }
    args = {key: nets.get(key, value) for key, value in op.args.items()}
    found = find(replace(op, args=cast("dict[str, Argument]", args)), known)
    outputs = (*op.outputs, *(r for r in found.results if r not in op.outputs and "\0" not in r))
    return replace(op, outputs=outputs, scope=found._replace(nets=nets))


def nested(op: Operator, key: str) -> NestedNet | None:
    """A nested net of an operator that is being resolved."""
    return cast("NestedNet | None", op.args.get(key))


def required(op: Operator, key: str) -> NestedNet:
    """A nested net that there must be."""
    found = op.args.get(key)
    if not isinstance(found, NestedNet):
        raise OperatorError(f"{op.type}: {key}: expected a Net, got {found!r}")
    return found


def unique(*several: Iterable[str]) -> tuple[str, ...]:
    """The names in order, each once."""
    return tuple(dict.fromkeys(name for each in several for name in each))


def changed(op: Operator, known: ScopeNames, nets: Sequence[NestedNet]) -> tuple[str, ...]:
    """The outputs that an operator lists, and the other blobs around it that its nets write."""
    outside = known.around(op.inputs).around(unique(*(n.reads for n in nets)))
    written = unique(*(n.writes for n in nets))
    return unique(op.outputs, (w for w in written if w in outside))


def require_old(op: Operator, names: Iterable[str], known: ScopeNames, why: str) -> None:
    """OperatorError unless blobs exist before the operator, where it may not write them."""
    for name in names:
        if not known.has(name):
            raise OperatorError(
                f'{op.type}: output "{name}" has no value before it, and {why}; write it before, '
                "or declare it with AddExternalInput"
            )


def scope_of_if(op: Operator, known: ScopeNames) -> Scope:
    """Reads of both branches; an output that one does not write keeps its value."""
    then, other = required(op, "then_net"), nested(op, "else_net")
    nets = [then] if other is None else [then, other]
    results = changed(op, known, nets)
    kept = [r for r in results if not (other and r in then.writes and r in other.writes)]
    captured = unique(*(n.reads for n in nets))
    require_old(op, kept, known.around(op.inputs).around(captured), "a branch does not write it")
    return Scope(unique(op.inputs, captured, kept), results)


def scope_of_while(op: Operator, known: ScopeNames) -> Scope:
    """The condition's net runs first, so that what it writes needs no value before."""
    body, before = required(op, "loop_net"), nested(op, "cond_net")
    written = dict[str, None]() if before is None else before.writes
    first = dict[str, None]() if before is None else before.reads
    captured = unique(first, (r for r in body.reads if r not in written))
    nets = [body] if before is None else [before, body]
    results = changed(op, known, nets)
    cond = op.inputs[0]
    given = op.inputs[1:] if cond in written and cond not in first else op.inputs
    kept = [r for r in results if r not in written]
    require_old(op, kept, known.around(given).around(captured), "the loop may not run")
    return Scope(unique(given, captured, kept), results)


def scope_of_do(op: Operator, known: ScopeNames) -> Scope:
    """Names of the inner net stand for others by its bindings; the rest is of the workspace."""
    inner = required(op, "net")
    workspace, bound = _bindings(op, inner)
    reuse = bool(op.args.get("reuse_workspace"))
    private: dict[str, str] = {}
    outside = known.around(op.inputs).around(op.outputs)
    for name in unique(inner.reads, inner.writes):
        kept = f"{workspace}\0{name}"
        if bound is not None and name in bound:
            private[name] = bound[name]
        elif reuse and kept in known:
            private[name] = kept
        elif bound is None and (name in outside or name in inner.reads):
            private[name] = name
        elif name in inner.reads:
            raise OperatorError(f'Do: "{name}" is read in the net and bound to no blob')
        else:
            private[name] = kept
    operands = unique(private[n] for n in inner.reads)
    results = unique(private[n] for n in inner.writes)
    listed = [n for n in op.outputs if n != workspace and n not in results]
    if bound is not None:
        listed = [n for n in listed if n in bound.values()]
    require_old(op, listed, known.around(op.inputs), "the net does not write it")
    return Scope(unique(operands, listed), unique(results, listed), private)


def _are(given: object, kind: type) -> bool:
    """Whether an argument is a list of such items."""
    items = cast("tuple[object, ...]", given)
    return isinstance(given, tuple) and all(isinstance(item, kind) for item in items)


def _bindings(op: Operator, inner: NestedNet) -> tuple[str, dict[str, str] | None]:
    """The workspace's name, which may be the last input and output, and what inner names mean."""
    inside = {*inner.reads, *inner.writes}
    last = op.inputs[-1] if op.inputs and op.inputs[-1:] == op.outputs[-1:] else ""
    names = cast("tuple[str, ...]", op.args.get("inner_blobs", ()))
    places = cast("tuple[int, ...]", op.args.get("outer_blobs_idx", ()))
    if not {"inner_blobs", "outer_blobs_idx"} & op.args.keys():
        return ("", None) if last in inside else (last, None)
    if not (_are(names, str) and _are(places, int) and len(names) == len(places)):
        raise OperatorError("Do: inner_blobs and outer_blobs_idx: expected one place for each name")
    count = len(op.inputs) + len(op.outputs)
    short = (*op.inputs[:-1], *op.outputs[:-1])
    has_workspace = bool(last) and all(p < len(short) for p in places)
    outer = short if has_workspace else (*op.inputs, *op.outputs)
    if any(not 0 <= p < len(outer) for p in places):
        raise OperatorError(f"Do: outer_blobs_idx: expected numbers in [0, {count})")
    bound = {name: outer[p] for name, p in zip(names, places, strict=True)}
    if len(bound) < len(names) or len(set(bound.values())) < len(bound):
        raise OperatorError("Do: bindings must be one to one")
    return (last if has_workspace else "", bound)


def tables(op: Operator) -> tuple[int, ...]:
    """The operands of an If or a Do whose nested nets read nothing of them but rows, by Gather."""
    if op.scope is None:
        return ()
    return tuple(k for k in range(len(op.scope.operands)) if _is_table(op, k))


def _is_table(op: Operator, slot: int) -> bool:
    if op.scope is None or op.type not in ("If", "Do"):
        return False
    name = op.scope.operands[slot]
    return name not in op.scope.results and _by_rows(op, name)


def _by_rows(op: Operator, outer: str) -> bool:
    """Whether the nets of an operator read a blob around it, and by rows alone."""
    assert op.scope is not None
    private = op.scope.private
    names = {n for n, other in private.items() if other == outer} if private else {outer}
    readers = [
        (inner, slot)
        for net in op.scope.nets.values()
        for inner in net.ops
        for slot, operand in enumerate(inner.operands)
        if operand in names
    ]
    return bool(readers) and all(_reads_rows(inner, slot) for inner, slot in readers)


def _reads_rows(op: Operator, slot: int) -> bool:
    if op.is_gradient_op:
        return False
    return _is_table(op, slot) or (slot == 0 and entry(op).slices(op))
