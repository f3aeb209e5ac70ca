"""comm: messages from rank to rank, the wait for all ranks, and a rank's number.

A message is linear: `send` gives 0 here and x there. So the derivative of a send is the receipt of
the cotangent, and the derivative of a receipt is a send.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import ConstantOp, FullOp, IotaOp
from gradir.dialects.array.indexing import TakeOp
from gradir.dialects.array.rows import empty_rows
from gradir.dialects.array.slicing import ConcatOp
from gradir.dialects.base.attributes import Attributes, Types, integers, print_attributes
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.effects import OutsideEffect
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.comm import worlds
from gradir.dialects.comm.comm_op import CommOp, GroupOp, rank_of, ranks_of


@irdl_op_definition
class PermuteOp(CommOp):
    """x of another rank: `targets[k]` gets x of `sources[k]`, and 0 where it is no target.

    A rank is the source of one message at most, and the target of one.

    vjp: ct by the way back
    """

    name = "comm.permute"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("sources", "targets", *CommOp.ATTRIBUTES)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        ways(attributes)
        return super().infer_types(operands, attributes)

    @property
    def ways(self) -> dict[int, int]:
        """The sources by their targets."""
        return ways(self.attributes)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        back = self.ways
        return [self.again(PermuteOp, ct, sources=list(back), targets=list(back.values()))]

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        x = batch.with_rows(0)
        blank = empty_rows(tensor([1, *x.shape[1:]], x.element), emitter)
        sources = [self.ways.get(rank, self.ranks) for rank in range(self.ranks)]
        indices = emitter.insert(ConstantOp.of_array(np.array(sources), i64))
        table = ConcatOp.on(x, blank, axis=0)
        return [TakeOp.on(table, emitter.value(indices.y), axis=0)]

    def numpy(self, x: Any) -> Any:
        parts = self.collected(x)
        source = self.ways.get(worlds.current().rank(self.group))
        return np.zeros_like(x) if source is None else parts[source]

    def decompose(self, x: Value) -> Value:
        pairs = ",".join(f"{source}>{target}" for target, source in self.ways.items())
        return self.run(x, "permute", x.type, pairs)


def ways(attributes: Attributes) -> dict[int, int]:
    """The sources of messages by their targets."""
    ranks = ranks_of(attributes)
    sources, targets = (integers(attributes, name, []) or [] for name in ("sources", "targets"))
    if len(sources) != len(targets):
        raise VerifyException(
            f"sources and targets must be pairs, got {len(sources)} and {len(targets)}"
        )
    for name, found in (("sources", sources), ("targets", targets)):
        if len(set(found)) != len(found) or not all(0 <= rank < ranks for rank in found):
            raise VerifyException(f"{name} must be different ranks below {ranks}, got {found}")
    return dict(zip(targets, sources, strict=True))


@irdl_op_definition
class SendOp(CommOp):
    """x goes to the rank `target`, which takes it by a comm.recv; the result is 0.

    Its cotangent is what comes back. So a program that is differentiated adds the result to what
    its loss is computed from.

    vjp: the ct of the target's comm.recv
    """

    name = "comm.send"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("target", *CommOp.ATTRIBUTES)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        rank_of(attributes, "target")
        return super().infer_types(operands, attributes)

    @property
    def target(self) -> int:
        return rank_of(self.attributes, "target")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(RecvOp, ct, source=self.target)]

    def numpy(self, x: Any) -> Any:
        self.located(lambda: self._send(worlds.current(), x))
        return np.zeros_like(x)

    def _send(self, world: worlds.World, x: Any) -> None:
        self.check_ranks(world)
        world.send(self.group, self.target, message(self), x)

    def decompose(self, x: Value) -> Value:
        return self.run(x, "send", x.type, self.target)


@irdl_op_definition
class RecvOp(CommOp):
    """The value that the rank `source` has sent by a comm.send, of x's type; x is not read.

    Where it has a derivative x depends on what the derivative is for, as the result does.

    vjp: ct goes to the source's comm.send; 0 to x
    """

    name = "comm.recv"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("source", *CommOp.ATTRIBUTES)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        rank_of(attributes, "source")
        return super().infer_types(operands, attributes)

    @property
    def source(self) -> int:
        return rank_of(self.attributes, "source")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [self.again(SendOp, ct, target=self.source)]

    def numpy(self, x: Any) -> Any:
        return self.located(lambda: self._received(worlds.current()))

    def _received(self, world: worlds.World) -> Any:
        self.check_ranks(world)
        return worlds.paired(world, self.group, self.source, message(self))

    def decompose(self, x: Value) -> Value:
        return self.run(x, "recv", x.type, self.source)


def message(op: CommOp) -> str:
    """The text that both ends of a message must agree on."""
    return f"a message of {op.x.type}"


@irdl_op_definition
class BarrierOp(GroupOp):
    """All ranks of the group wait here for one another."""

    name = "comm.barrier"
    INACTIVE: ClassVar[bool] = True
    traits = traits_def(OutsideEffect())

    def numpy(self) -> Any:
        self.located(lambda: worlds.agreed(self.group, self.name, None))
        return ()

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return self.call(emitter, operands, [], "barrier")

    # Text: `comm.barrier {group = "rows"}`.

    def print(self, printer: Printer) -> None:
        if self.attributes:
            print_attributes(printer, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(attributes=parser.parse_optional_attr_dict())


class _NumberOp(GroupOp):
    """A number of rank 0 that the program reads from its world.

    If `ranks` is given, the group must have this many.
    """

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("group", "ranks")
    INACTIVE: ClassVar[bool] = True

    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if "ranks" in attributes:
            ranks_of(attributes)
        return [tensor([], i64)]

    def numpy(self) -> Any:
        return self.located(lambda: np.array(self._number(worlds.current())))

    def _number(self, world: worlds.World) -> int:
        size = world.size(self.group)
        if "ranks" in self.attributes and (ranks := ranks_of(self.attributes)) != size:
            raise worlds.WorldError(
                f"ranks = {ranks} must be the size of group {self.group}, got {size}"
            )
        return size

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        words = [ranks_of(self.attributes)] if "ranks" in self.attributes else []
        return self.call(emitter, operands, [self.y.type], self.name.partition(".")[2], *words)


@irdl_op_definition
class RankOp(_NumberOp):
    """The number of this rank in the group, from 0, as i64; of a group of `ranks`, where given."""

    name = "comm.rank"

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        made = IotaOp.of([], [tensor([batch.size], i64)], axis=0)
        return [emitter.value(emitter.insert(made).results[0])]

    def _number(self, world: worlds.World) -> int:
        super()._number(world)
        return world.rank(self.group)


@irdl_op_definition
class SizeOp(_NumberOp):
    """The number of ranks in the group, as i64."""

    name = "comm.size"
    DIFFERS_BY_RANK: ClassVar[bool] = False

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        return [emitter.value(emitter.insert(FullOp.fill(batch.size, self.y.type)).y)]


OPS: tuple[type[GroupOp], ...] = (PermuteOp, SendOp, RecvOp, BarrierOp, RankOp, SizeOp)
