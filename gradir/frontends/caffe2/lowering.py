"""A net as a traced program: versions of blobs are values, gradient operators derivatives.

A gradient operator is the derivative of what it belongs to, on the versions that this read. So a
forward operator that is differentiated becomes two functions of the module: one returns the
residuals that the other reads; they are shared by all operators of one type, arguments and shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import UnknownLoc

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.errors import ArgumentError, GradirError, translate
from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.operator import Link, NetBlock, Operator
from gradir.frontends.caffe2.replay import NetReplay, NetStep, Version, forward_of
from gradir.frontends.caffe2.shapes import fitted, rows_for
from gradir.frontends.caffe2.table import CONTEXT, WITHOUT_EFFECT, OperatorType, entry
from gradir.frontends.functions.promotion import converted, result_element
from gradir.frontends.tracing.source_locations import SOURCES, at, refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.derived_calls import SplitDerivative


class Lowering:
    """The operators of a net, run once on traced arrays.

    `made` are derivatives to share; `base` says in which nested net the operators are; `is_replay`
    that they have run before, and have no effects now.
    """

    def __init__(
        self,
        ops: Sequence[Operator],
        made: dict[Hashable, SplitDerivative] | None = None,
        base: int = 0,
        is_replay: bool = False,
    ):
        self.replay = NetReplay(ops)
        self.values: dict[Version, Tracer] = {}
        self._made = {} if made is None else made
        self._base = base
        self._token = object()
        self._is_replay = is_replay
        self._runs: dict[int, _Run] = {}
        self._asked: dict[int, Link] = {}
        for step in self.replay.steps:
            self._ask(step)

    def _ask(self, step: NetStep) -> None:
        """Note which gradients of an operator are wanted."""
        forward, link = forward_of(step.op), step.op.link
        if forward is None or link is None:
            return
        before = self._asked.get(forward, Link(forward, (), ()))
        outputs = dict.fromkeys((*before.outputs, *link.outputs))
        inputs = dict.fromkeys((*before.inputs, *link.inputs))
        self._asked[forward] = Link(forward, tuple(sorted(outputs)), tuple(sorted(inputs)))

    def run(self, blobs: Mapping[str, Any]) -> None:
        """Compute the values of all versions; `blobs` are read before anything writes them."""
        self.values = {(name, 0): value for name, value in blobs.items()}
        for k, step in enumerate(self.replay.steps):
            with _about(step.op):
                results = self._results(k, [self.values[v] for v in step.operands])
            for version, result in zip(step.results, results, strict=False):
                self.values[version] = result
                result.named(hint(version[0]))

    def last(self) -> dict[str, Any]:
        """The values of the last versions, by name."""
        known = (v for v in self.replay.frontier.items() if v in self.values)
        return {version[0]: self.values[version] for version in known}

    # Operators.

    def _results(self, k: int, operands: Sequence[Tracer]) -> Sequence[Tracer]:
        op = self.replay.steps[k].op
        if k in self._asked:
            self._runs[k] = self._split(k, operands, self._asked[k])
            return self._runs[k].results
        forward = forward_of(op)
        if forward is None:
            return self._computed(k, operands)
        assert op.link is not None
        count = len(self.replay.steps[forward].operands)
        return self._runs[forward].gradients(op.link, operands[count:])

    def _function(self, k: int) -> Callable[..., Sequence[Tracer]]:
        """The operator as a function of its operands alone."""
        op = self.replay.steps[k].op
        forward, link = forward_of(op), op.link
        if forward is None or link is None:
            return lambda *xs: tuple(self._computed(k, xs))
        count = len(self.replay.steps[forward].operands)

        def gradient(*xs: Tracer) -> Sequence[Tracer]:
            before, self._is_replay = self._is_replay, True
            try:
                return tuple(self._split(forward, xs[:count], link).gradients(link, xs[count:]))
            finally:
                self._is_replay = before

        return gradient

    def _computed(self, k: int, operands: Sequence[Tracer]) -> Sequence[Tracer]:
        """The results of an operator that is in the table."""
        step = self.replay.steps[k]
        op, kind = step.op, entry(step.op)
        given = self._of_gradients(k, operands) if op.link is not None else _settled(operands)
        asked: dict[str, Any] = {
            "is_replay": self._is_replay,
            "outputs": len(op.outputs),
            "number": self._number(k),
            "op": op,
        }
        asked["run"] = partial(self._nested, base=self._number(k))
        context = {name: asked[name] for name in CONTEXT if kind.takes(name)}
        arguments = {n: v for n, v in op.args.items() if n not in WITHOUT_EFFECT or kind.takes(n)}
        found = _compute(kind, given, {**arguments, **context})
        results = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
        if len(results) < len(step.results):
            raise ArgumentError(f"{len(step.results)} results expected, got {len(results)}")
        is_weak = bool(operands) and all(x.weak for x in operands) and not kind.is_typed
        return [_tracer(r, is_weak) for r in results]

    def _of_gradients(self, k: int, operands: Sequence[Tracer]) -> Sequence[Tracer]:
        """The gradients that are summed in the shape of their blob, or rows to be joined."""
        op = self.replay.steps[k].op
        link = op.link
        assert link is not None
        other = self.replay.steps[link.op]
        if op.type == "Sum":
            like = self.values[other.operands[link.inputs[0]]]
            return [fitted(x, like) for x in operands]
        if link.op == k:
            return [gnp.reshape(x, [x.size]) for x in operands]
        indices = [self.values[v] for v in other.operands]
        return [rows_for(i, x) for i, x in zip(indices, operands, strict=True)]

    def _number(self, k: int) -> int:
        """A number of the operator that no other operator has, also in nested nets."""
        return (self._base * 8191 + k + 1) % 2**62

    def _nested(self, net: NetBlock, blobs: Mapping[str, Any], base: int) -> dict[str, Any]:
        """The blobs after a nested net has run."""
        inner = Lowering(net.ops, self._made, base, self._is_replay)
        inner.run(blobs)
        return {**blobs, **inner.last()}

    # Derivatives.

    def _split(self, k: int, operands: Sequence[Tracer], link: Link) -> _Run:
        """Run an operator so that the gradients that a link names can be asked for."""
        wrt = [s for s in link.inputs if is_float(element(operands[s]))]
        tables = self.replay.rule(k).tables
        key = self._key(k, operands, wrt, link.outputs)
        if key not in self._made:
            name = _symbol(self.replay.steps[k].op.type)
            rows = tuple(s for s in tables if s in wrt)
            halves = SplitDerivative.build(
                self._function(k), operands, wrt, link.outputs, name, rows
            )
            self._made[key] = halves
        return _Run(self._made[key], operands, wrt, link.outputs, tables)

    def _key(
        self, k: int, operands: Sequence[Tracer], wrt: Sequence[int], of: Sequence[int]
    ) -> Hashable:
        """What decides the derivative of an operator."""
        op = self.replay.steps[k].op
        types = tuple((x.ssa.type, x.weak) for x in operands)
        facts = types, tuple(wrt), tuple(of)
        if op.link is not None or op.scope is not None or entry(op).takes("number"):
            return self._token, k, self._is_replay, *facts
        return op.type, tuple(op.args.items()), len(op.outputs), op.is_gradient_op, *facts


class _Run:
    """One run of an operator whose gradients may be asked for."""

    def __init__(
        self,
        halves: SplitDerivative,
        operands: Sequence[Tracer],
        wrt: Sequence[int],
        of: Sequence[int],
        tables: Sequence[int],
    ):
        self.tables = tables
        self.halves = halves
        self.operands = operands
        self.wrt = wrt
        self.of = of
        self.results, self.residuals = halves.ahead(operands)

    def gradients(self, link: Link, given: Sequence[Tracer]) -> list[Tracer]:
        """The gradients of some operands from gradients of some results; zeros for the others.

        Those of tables are two arrays, indices and values.
        """
        found = dict(zip(link.outputs, given, strict=True))
        cotangents = [self._cotangent(found.get(slot), slot, link.loose) for slot in self.of]
        grads = iter(self.halves.back(self.residuals, cotangents))
        known = {s: [next(grads) for _ in range(1 + (s in self.tables))] for s in self.wrt}
        return [x for s in link.inputs for x in known.get(s) or self._zero(s, given[0])]

    def _cotangent(self, given: Tracer | None, slot: int, loose: bool) -> Tracer:
        """The gradient of a result, of its shape and type."""
        like = self.results[slot]
        if given is None:
            return gnp.zeros_like(like)
        if loose:
            return fitted(given, like)
        if given.shape != like.shape:
            raise ArgumentError(
                f"the gradient of result {slot} must have its shape {list(like.shape)}, got "
                f"{list(given.shape)}"
            )
        return converted(given, element(like)) if is_float(element(given)) else given

    def _zero(self, slot: int, like: Tracer) -> list[Tracer]:
        """The gradient of an operand that is no floating array."""
        shape = self.operands[slot].shape
        if slot in self.tables:
            return [gnp.zeros((0,), "int64"), gnp.zeros((0, *shape[1:]), like.dtype)]
        return [gnp.zeros(shape, like.dtype)]


def _tracer(value: Any, is_weak: bool) -> Tracer:
    """A result: as weak as what it was computed from, if that were constants without a type."""
    made = value if isinstance(value, Tracer) else gnp.asarray(value)
    return Tracer(made.made_in, made.ssa, made.weak or (is_weak and not is_bool(element(made))))


def _settled(operands: Sequence[Tracer]) -> Sequence[Tracer]:
    """Floating constants without a type get the type of the floating arrays beside them."""
    floats = [x for x in operands if is_float(element(x))]
    strong = [x for x in floats if not x.weak]
    if not strong or len(strong) == len(floats):
        return operands
    kind, _ = result_element(strong)
    return [converted(x, kind) if x.weak and is_float(element(x)) else x for x in operands]


def _compute(kind: OperatorType, operands: Sequence[Tracer], arguments: Mapping[str, Any]) -> Any:
    """The function of an operator; a wrong argument of gradir's own is an ArgumentError."""
    if not kind.builtin:
        return kind.compute(*operands, **arguments)
    try:
        return kind.compute(*operands, **arguments)
    except GradirError:
        raise
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise ArgumentError(str(error)) from None


def hint(blob: str) -> str:
    """A blob's name as one of a value."""
    return re.sub(r"[^A-Za-z0-9_$.-]", "_", blob)


def _symbol(name: str) -> str:
    """A name for a function of the module."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name)


@contextmanager
def _about(op: Operator) -> Generator[None]:
    """What is emitted is at the operator's place, and errors name it."""
    with at(op.place or UnknownLoc()):
        try:
            yield
        except OperatorError:
            raise
        except Exception as error:
            ours = translate(error, SOURCES)
            if ours is None:
                raise
            message = str(ours) if ours.diagnostic is None else ours.diagnostic.message
            made = ", ".join(op.outputs) or "nothing"
            raise refusal(f"{op.type} -> {made}: {message}", OperatorError) from None
