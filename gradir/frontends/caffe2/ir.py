"""IR: the operators of a net by the versions of their blobs, and the pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2.backward import Backward, Gradient, Gradients, require_known, seeds_of
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.replay import NetReplay, Version, forward_of
from gradir.frontends.caffe2.strict import check_orphans, check_versions
from gradir.frontends.caffe2.table import check


class IR:
    """The operators of a net in order.

    `ssa` has for each the operator and, by name, the versions of the blobs that it reads and those
    that it makes; `frontier` is the last version of each. The first mention of a blob is its
    version 0, also a read of one that nothing wrote. After a backward pass `loose` are versions
    that may have been broadcast into a sum, and have the sum's gradient.
    """

    def __init__(self, ops: Sequence[Operator], strict_versions: bool = False):
        self.ops = tuple(ops)
        self.strict_versions = strict_versions
        for op in self.ops:
            if not isinstance(op, Operator):
                raise ArgumentTypeError(f"IR: expected operators, got {op!r}")
            if forward_of(op) is None:
                check(op)
        self._replay = NetReplay(self.ops)
        self.loose: list[tuple[Version, Gradient]] = []

    @property
    def ssa(self) -> list[tuple[Operator, dict[str, int], dict[str, int]]]:
        """For each operator itself, versions that it reads, and versions that it makes."""
        return self._replay.ssa

    @property
    def frontier(self) -> dict[str, int]:
        """The last version of each blob."""
        return self._replay.frontier

    def declare(self, names: Iterable[str]) -> None:
        """Name blobs that there are, whether or not an operator mentions them."""
        for name in names:
            self.frontier.setdefault(name, 0)

    def SanityCheck(self) -> None:
        """OrphanError for a StopGradient whose output is never read."""
        check_orphans(self.ops)

    def GetBackwardPass(self, ys: object) -> tuple[list[Operator], Gradients]:
        """The gradient operators in order, and the gradient of each blob's earliest version.

        `ys` is a list, or a mapping to None (ones), a blob or a GradientSlice.
        """
        return self.backward(ys)

    def backward(
        self, ys: object, first: int = 0, wrt: Sequence[str] | None = None,
        taken: Iterable[str] = (),
    ) -> tuple[list[Operator], Gradients]:  # fmt: skip
        """GetBackwardPass of the operators from `first` on, for the blobs `wrt`.

        `taken` are names that gradients must not have.
        """
        seeds = seeds_of(ys)
        require_known("ys", seeds, self.frontier)
        require_known("wrt", wrt or (), self.frontier)
        if self.strict_versions:
            self.SanityCheck()
            check_versions(self._replay, seeds, first)
        walk = Backward(self._replay, first, wrt, taken)
        gradients = walk.run(seeds)
        self.loose = walk.loose
        return walk.ops, gradients
