"""Ops between the ranks of a group, which may be the rows of a vmap that names its axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.value import Emitter, Value


class BetweenRanksOp(TensorOp):
    """An op of all ranks of a group, or of some of them."""

    DIFFERS_BY_RANK: ClassVar[bool] = True
    """Whether ranks may get different results where their operands are alike."""

    @property
    @abstractmethod
    def group(self) -> str:
        """The name of the group."""

    @abstractmethod
    def between_rows(self, batch: Batch, emitter: Emitter) -> Sequence[Value]:
        """The results where the ranks are the rows of vmap; they have rows if DIFFERS_BY_RANK."""
