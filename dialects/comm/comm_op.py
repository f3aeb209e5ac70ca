"""The base of ops of the comm dialect: the group, the number of its ranks, the call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.movement import PermuteDimsOp
from gradir.dialects.base.attributes import Attributes, Types, integer, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.between_ranks import BetweenRanksOp
from gradir.dialects.base.diagnostics import PassError, RankError
from gradir.dialects.base.effects import OutsideEffect
from gradir.dialects.base.shapes import normalize_axis, shape_of
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.kinds import one_shape, require_elements
from gradir.dialects.comm import worlds
from gradir.dialects.grad.host_call import COLLECTIVE, IN_REGION, LENT, STARTED, HostCallOp

LENDING = ("reduce", "reduce_scatter", "send", "permute")
"""The calls that read their operand until they end; others copy it first."""


OF_ALL = ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "barrier")
"""The calls that all ranks of a group make. In a loop or branch they look whether they all do."""


class GroupOp(BetweenRanksOp):
    """An op of all ranks of a group, or of some of them."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("group",)

    @property
    def group(self) -> str:
        return group_of(self.attributes)

    def verify_types(self) -> None:
        _ = self.group

    def located(self, meaning: Callable[[], Any]) -> Any:
        """The value of a function that talks to the world; its errors at this op."""
        try:
            return meaning()
        except worlds.WorldError as error:
            raise RankError(f"{self.name}: {error}", self) from None

    def between_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        """The results where the ranks are the rows of vmap; PassError for a count that differs."""
        if "ranks" in self.attributes and (ranks := ranks_of(self.attributes)) != batch.size:
            raise PassError(
                f'{self.name}: ranks = {ranks} must be the number of rows "{self.group}", got '
                f"{batch.size}",
                self,
            )
        return self.of_rows(batch, emitter)

    def of_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        """The results of rows as many as ranks; they have rows if DIFFERS_BY_RANK."""
        raise PassError(f'{self.name}: rows, here of "{self.group}", must be ranks', self)

    def call(
        self,
        emitter: Emitter,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        *words: object,
    ) -> Sequence[SSAValue]:
        """The host call of this op with these words, as `gradir.runtime.collectives` reads them."""
        mode = LENT if words[0] in LENDING else STARTED
        kind = f"{COLLECTIVE}{words[0]}"
        if words[0] in OF_ALL and not isinstance(emitter.block.parent_op(), FuncOp):
            kind += IN_REGION
        name = ":".join([kind, self.group, *map(str, words[1:])])
        attributes: dict[str, Attribute] = {"callee": StringAttr(name), "exec": StringAttr(mode)}
        if not self.has_trait(OutsideEffect):
            attributes["pure"] = UnitAttr()
        made = HostCallOp.create(operands=operands, result_types=types, attributes=attributes)
        return emitter.insert(made).results


class CommOp(GroupOp):
    """y from x, with a group of `ranks` ranks."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("ranks", "group")
    SAME_TYPE: ClassVar[bool] = True
    COMPLEX: ClassVar[bool] = True

    x = operand_def()
    y = result_def()
    traits = traits_def(OutsideEffect())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        ranks_of(attributes)
        require_elements(operands[0], cls.DOMAIN, cls.COMPLEX)
        return [operands[0]]

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        return one_shape([self.x, self.y]) if self.SAME_TYPE else ()

    @property
    def ranks(self) -> int:
        return ranks_of(self.attributes)

    def again(self, made: type[CommOp], ct: Value, **others: Any) -> Value:
        """An op on the same group."""
        return made.on(ct, **others, ranks=self.ranks, group=self.attributes.get("group"))

    def collected(self, x: Any) -> list[Any]:
        """The operands of all ranks, by rank."""
        return self.located(lambda: self._collected(x))

    def _collected(self, x: Any) -> list[Any]:
        self.check_ranks(worlds.current())
        return worlds.agreed(self.group, self.said, x)

    def check_ranks(self, world: worlds.World) -> None:
        """WorldError unless the group has as many ranks as the program says."""
        if (size := world.size(self.group)) != self.ranks:
            raise worlds.WorldError(
                f"ranks = {self.ranks} must be the size of group {self.group}, got {size}"
            )

    @property
    def said(self) -> str:
        """The text that ranks must agree on."""
        words = [f"{k} = {v}" for k, v in sorted(self.attributes.items()) if "." not in k]
        return f"{self.name} {{{', '.join(words)}}} : {self.x.type}"

    def run(self, x: Value, kind: str, type_: Attribute, *words: object) -> Value:
        """The result of the host call on x."""
        [found] = self.call(x.emitter, [x.ssa], [type_], kind, self.ranks, *words)
        return x.emitter.value(found)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """All rows go in one message."""
        return batch.in_front()


def group_of(attributes: Attributes) -> str:
    found = text(attributes, "group", "world")
    if not re.fullmatch(r"[A-Za-z0-9_]+", found):
        raise VerifyException(f'group must be a name of letters, digits and _, got "{found}"')
    return found


def ranks_of(attributes: Attributes) -> int:
    found = integer(attributes, "ranks")
    if not 0 < found < 1 << 31:
        raise VerifyException(f"ranks must be a positive number of 32 bits, got {found}")
    return found


def rank_of(attributes: Attributes, name: str) -> int:
    """An attribute that is the number of a rank."""
    found, ranks = integer(attributes, name, 0), ranks_of(attributes)
    if not 0 <= found < ranks:
        raise VerifyException(f"{name} must be a rank below {ranks}, got {found}")
    return found


def axis_of(attributes: Attributes, type_: Attribute) -> int:
    """The axis along which the ranks' parts lie."""
    return normalize_axis(integer(attributes, "axis", 0), len(shape_of(type_)))


def moved(x: Value, source: int, target: int) -> Value:
    """x with one axis in another place."""
    axes = [d for d in range(len(x.shape)) if d != source]
    axes.insert(target, source)
    return x if source == target else PermuteDimsOp.on(x, axes=axes)
