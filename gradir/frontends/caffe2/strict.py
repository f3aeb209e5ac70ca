"""The checks of strict_versions: where Caffe2 refuses to differentiate a net.

Caffe2 walks the net backward by names of blobs, and has only the last version of each. What is
checked here is what it checks, false alarms included; and also gradients that are handed on without
an operator, which escape its checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradir.frontends.caffe2.errors import OrphanError, VersionError
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.replay import NetReplay, NetStep, Rule, Version


def check_orphans(ops: Iterable[Operator]) -> None:
    """OrphanError for a StopGradient whose output's name is never read."""
    ops = list(ops)
    read = {name for op in ops for name in op.operands}
    for op in ops:
        if op.type == "StopGradient" and op.outputs[0] not in read:
            raise OrphanError(
                f'StopGradient: its output "{op.outputs[0]}" is an orphan: nothing reads it; give '
                "it the name of its input"
            )


def check_versions(replay: NetReplay, ys: Iterable[str], first: int = 0) -> set[str]:
    """VersionError where Caffe2 raises one; the blobs that the gradient operators read."""
    walk = _Walk(replay, ys)
    for k in reversed(range(first, len(replay.steps))):
        walk.visit(replay.steps[k], replay.rule(k))
    return walk.read


class _Walk:
    """The walk by names: which names have a gradient, and for which version."""

    def __init__(self, replay: NetReplay, ys: Iterable[str]):
        self.replay = replay
        self.gradients = {y: replay.frontier[y] for y in ys if y in replay.frontier}
        self.read: set[str] = set()

    def visit(self, step: NetStep, rule: Rule) -> None:
        """What Caffe2 does with one operator."""
        outs = [v for v in step.results if v[0] in self.gradients]
        if not outs:
            return
        slots = list(rule.differentiable)
        if step.op.scope is not None:
            slots = self._visit_nested(step, outs, slots)
        elif slots:
            self._check_gradients(step, outs)
            self._check_values(step, _values(step, rule))
        self._move(step, slots)

    def _visit_nested(
        self, step: NetStep, outs: Sequence[Version], slots: Sequence[int]
    ) -> list[int]:
        """Nets are checked by themselves; all but a loop reads the blobs of now."""
        self._check_gradients(step, outs)
        scope, op = step.op.scope, step.op
        assert scope is not None
        read: set[str] = set(op.inputs[:1] if op.type == "If" else ())
        used: set[str] = set()
        for net in scope.nets.values():
            inside = scope.private
            ys = [n for n in _written(net.ops) if inside.get(n, n) in {name for name, _ in outs}]
            read |= {inside.get(n, n) for n in check_versions(NetReplay(net.ops), ys)}
            used |= {inside.get(n, n) for o in net.ops for n in o.operands}
        if op.type != "While":
            now = dict(step.operands) | dict(step.results)
            self._check_values(step, [v for v in now.items() if v[0] in read])
        return [k for k in slots if step.operands[k][0] in used]

    def _check_gradients(self, step: NetStep, outs: Sequence[Version]) -> None:
        for name, version in outs:
            if self.gradients[name] != version:
                raise VersionError(
                    f'{step.op.type}: the gradient of version {version} of "{name}" is needed, but '
                    f"the one that there is belongs to version {self.gradients[name]}"
                )

    def _check_values(self, step: NetStep, values: Iterable[Version]) -> None:
        for name, version in values:
            self.read.add(name)
            last = self.replay.frontier[name]
            if last != version:
                raise VersionError(
                    f'{step.op.type}: its gradient needs version {version} of "{name}", but the '
                    f"last one is version {last}"
                )

    def _move(self, step: NetStep, slots: Sequence[int]) -> None:
        """Hand the gradients of the outputs on to the inputs."""
        outputs = {name for name, _ in step.results}
        with_gradient = {step.operands[k] for k in slots}
        for name, version in step.operands:
            if (name, version) in with_gradient:
                self.gradients[name] = version
            elif name in outputs:
                self.gradients.pop(name, None)


def _values(step: NetStep, rule: Rule) -> list[Version]:
    """What the gradient reads, also for its shape. Pow in place reads what it wrote (C8)."""
    op = step.op
    if op.type == "Pow" and len(op.inputs) == 1 and op.inputs == op.outputs:
        return list(step.results)
    return [*rule.reads, *rule.shapes]


def _written(ops: Iterable[Operator]) -> list[str]:
    return list(dict.fromkeys(name for op in ops for name in op.results))
