"""The differentiation of one block, of a function or of a region in one, by the two walks of
reverse_mode.py."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.passes.analysis.region_flow import executions_within
from gradir.passes.differentiate.block_code import BlockCode
from gradir.passes.differentiate.contributions import Contributions
from gradir.passes.differentiate.reverse_mode import walk_block_back, walk_block_forward
from gradir.passes.differentiate.shared import Shared


class Differentiator(BlockCode):
    """The forward and the backward code of one block, and the cotangents so far.

    `executions`: a bound on the block's runs during the life of its tapes; None where unknown.
    `requested` and `sparse` are for `Contributions`.
    """

    def __init__(
        self,
        shared: Shared,
        block: Block,
        location: LocationAttr,
        executions: int | None = 1,
        tapes_are_arguments: bool = True,
        requested: Iterable[SSAValue] = (),
        sparse: Iterable[SSAValue] = (),
    ):
        super().__init__(shared, block, location, tapes_are_arguments)
        self.executions = executions
        self.contributions = Contributions(shared, self.emitter, requested, sparse)

    def region(self, block: Block, op: Operation) -> Differentiator:
        """The differentiator of a block in a region of an op of this block."""
        within = executions_within(self.executions, op)
        return Differentiator(
            self.shared, block, op.location, within, sparse=self.tables_by_rows(op)
        )

    def tables_by_rows(self, op: Operation) -> dict[SSAValue, int]:
        """The tables whose cotangents the regions of a loop or a branch sum as row slices, with
        the most slices of one run of the op."""
        return self.shared.tables.by_rows(op, self.contributions.sparse)

    def walk_forward(self) -> None:
        """Append the forward code."""
        walk_block_forward(self, self.block)

    def dissolve(self, op: Operation, block: Block, results: Iterable[SSAValue]) -> None:
        """Differentiate the ops of a region that runs once as ops of this block."""
        walk_block_forward(self, block)
        self.shared.dissolved[op] = block
        for result, value in zip(op.results, results, strict=True):
            self.shared.identify(result, value)
            self.shared.primal[result] = self.primal(value)

    def walk_back(self) -> None:
        """Append the backward code for the contributions so far.

        The contributions to arguments and to values from outside are left.
        """
        walk_block_back(self, self.block)
        self.emitter.location = self.location
        self.contributions.check_none_inside(self.block)

    def walk_region_back(self, block: Block) -> None:
        """Append the backward code of a region's block; all its cotangents are dense."""
        sums = self.contributions
        sparse, sums.sparse = sums.sparse, set[SSAValue]()
        walk_block_back(self, block)
        sums.sparse = sparse
