"""A net's operators in order, with the version of each blob that they read and write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.operator import VERSIONED, Link, Operator
from gradir.frontends.caffe2.scopes import ScopeNames, resolved, tables
from gradir.frontends.caffe2.table import OperatorType, entry

Version: TypeAlias = tuple[str, int]


class NetStep(NamedTuple):
    """An operator, the versions that it computes from, and those that it makes.

    A gradient operator computes from the operands of what it is the gradient of, and then from the
    gradients that it reads.
    """

    op: Operator
    operands: tuple[Version, ...]
    results: tuple[Version, ...]


class NetReplay:
    """The steps of operators; `frontier` is the last version of each blob.

    The first mention of a blob is its version 0, and each write after that makes another.
    """

    def __init__(self, ops: Sequence[Operator]):
        self.frontier: dict[str, int] = {}
        self.steps: list[NetStep] = []
        self.ssa: list[tuple[Operator, dict[str, int], dict[str, int]]] = []
        self._rules: dict[int, Rule] = {}
        known = ScopeNames((self.frontier,))
        for op in ops:
            made = op if op.scope else resolved(op, known)
            read = [self._read(made, name) for name in made.operands]
            written = [self._write(name) for name in made.results]
            versions = {n: v for n, (_, v) in zip(made.operands, read, strict=True)}
            self.ssa.append((made, versions, dict(written)))
            self.steps.append(NetStep(made, self._operands(made, read), tuple(written)))

    def _read(self, op: Operator, name: str) -> Version:
        found = VERSIONED.fullmatch(name) if op.is_gradient_op else None
        if found is None:
            return name, self.frontier.setdefault(name, 0)
        last, version = self.frontier.setdefault(found[1], 0), int(found[2])
        if version > last:
            raise OperatorError(
                f'{op.type}: it reads version {version} of "{found[1]}", whose last one is {last}'
            )
        return found[1], version

    def _write(self, name: str) -> Version:
        self.frontier[name] = self.frontier.get(name, -1) + 1
        return name, self.frontier[name]

    def _operands(self, op: Operator, read: Sequence[Version]) -> tuple[Version, ...]:
        forward = forward_of(op)
        if forward is None:
            if op.link is not None:
                self._require_sum(op, op.link)
            return tuple(read)
        if not self._fits(op, forward):
            raise OperatorError(f"{op.type}: it does not fit the operator that it belongs to")
        return (*self.steps[forward].operands, *read[len(read) - len(gradients_read(op)) :])

    def _fits(self, op: Operator, forward: int) -> bool:
        """What a link says is in range: it may come from a file."""
        link = op.link
        assert link is not None
        if not 0 <= forward < len(self.steps) or len(op.inputs) < len(link.outputs):
            return False
        step = self.steps[forward]
        return (
            op.type == f"{step.op.type}Gradient"
            and all(0 <= k < len(step.results) for k in link.outputs)
            and all(0 <= k < len(step.operands) for k in link.inputs)
            and len(op.outputs) == sum(1 + (k in tables(step.op)) for k in link.inputs)
        )

    def _require_sum(self, op: Operator, link: Link) -> None:
        """OperatorError unless a link belongs to a sum of gradients, or to rows that are joined."""
        if link.op < len(self.steps):
            step = self.steps[link.op]
            if op.type == "Sum" and len(link.inputs) == 1:
                if link.inputs[0] < len(step.operands):
                    return
            elif op.type == step.op.type == "Concat" and step.op.link == link:
                if len(step.op.inputs) == len(op.inputs):
                    return
        elif op.type == "Concat" and link.op == len(self.steps):
            return
        raise OperatorError(f"{op.type}: it is no sum of gradients where it stands")

    def label(self, version: Version) -> str:
        """How a gradient operator names a version: by the name, or name@k if it is not the last."""
        name, k = version
        return name if self.frontier[name] == k else f"{name}@{k}"

    def rule(self, k: int) -> Rule:
        """What is known of the gradient of a step."""
        if k not in self._rules:
            self._rules[k] = self._rule(self.steps[k])
        return self._rules[k]

    def _rule(self, step: NetStep) -> Rule:
        forward = forward_of(step.op)
        if forward is None:
            return Rule.of(entry(step.op), step)
        inner = self.rule(forward)
        count = len(self.steps[forward].operands)
        gradients = range(count, len(step.operands))
        # without reads it is linear in the gradients, and depends on nothing else
        slots = (*inner.differentiable, *gradients) if inner.reads else tuple(gradients)
        return Rule(slots, reads=step.operands if inner.reads else ())


class Rule(NamedTuple):
    """The gradient of a step: places of the operands that have one, and versions that it reads.

    `tables`: places of the operands whose gradient is a GradientSlice, of an operator with nested
    nets.
    """

    differentiable: tuple[int, ...]
    forwards: frozenset[int] = frozenset()
    reads: tuple[Version, ...] = ()
    shapes: tuple[Version, ...] = ()
    broadcasts: bool = False
    slices: bool = False
    keeps_slices: bool = False
    tables: tuple[int, ...] = ()

    @classmethod
    def of(cls, kind: OperatorType, step: NetStep) -> Rule:
        """What the table says of a step."""
        op = step.op
        shapes = kind.shapes(op) if callable(kind.shapes) else kind.shapes
        is_sum_of_gradients = op.type == "Sum" and op.is_gradient_op
        return cls(
            tuple(kind.differentiable_slots(op)),
            frozenset(kind.forwarded_slots(op)),
            versions_of(step, kind.reads),
            versions_of(step, [str(each) for each in shapes]),
            kind.broadcasts(op) or is_sum_of_gradients,
            kind.slices(op),
            kind.keeps_slices,
            tables(op),
        )


def versions_of(step: NetStep, tokens: Sequence[str]) -> tuple[Version, ...]:
    """The values that the table calls `ins`, `in0`, `out1`, each once; none where there is none."""
    found: list[Version] = []
    for token in tokens:
        if token == "ins":
            found += step.operands
        else:
            row = step.operands if token.startswith("in") else step.results
            found += row[(at := int(token.lstrip("inout"))) : at + 1]
    return tuple(dict.fromkeys(found))


def forward_of(op: Operator) -> int | None:
    """The place of the operator whose gradient this one is; None for other operators."""
    return op.link.op if op.link is not None and op.link.outputs else None


def gradients_read(op: Operator) -> tuple[str, ...]:
    """The gradients that a gradient operator reads, the last of its inputs."""
    assert op.link is not None
    return op.inputs[len(op.inputs) - len(op.link.outputs) :]
