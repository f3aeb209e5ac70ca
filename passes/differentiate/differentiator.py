"""Reverse mode on one block: of a function, or of a region in one.

One walk forward copies the block; one walk back appends the derivative of each active op, by its
rule (`rule.py`). `contributions` holds the cotangents so far.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.interfaces import is_terminator
from gradir.passes.analysis.region_flow import executions_within
from gradir.passes.differentiate.block_code import BlockCode
from gradir.passes.differentiate.contributions import Contributions, cotangent_hint
from gradir.passes.differentiate.shared import Shared


class Differentiator(BlockCode):
    """Makes the forward and the backward code of one block.

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

    # Forward.

    def copy_forward(self) -> None:
        """Append the forward code of all ops but the terminator."""
        self.copy_block(self.block)

    def copy_block(self, block: Block) -> None:
        for op in block.ops:
            if is_terminator(op):
                continue
            if self.shared.takes_part(op):
                self.shared.saved[op] = self.shared.rule(op).forward(self, op)
            else:
                self.copy(op)

    def dissolve(self, op: Operation, block: Block, results: Iterable[SSAValue]) -> None:
        """Differentiate the ops of a region that runs once as ops of this block."""
        self.copy_block(block)
        self.shared.dissolved[op] = block
        for result, value in zip(op.results, results, strict=True):
            self.shared.identify(result, value)
            self.shared.primal[result] = self.primal(value)

    # Backward.

    def walk_back(self) -> None:
        """Append the backward code for the contributions so far.

        The contributions to arguments and to values from outside are left.
        """
        self.walk_block_back(self.block)
        self.emitter.location = self.location
        self.contributions.check_none_inside(self.block)

    def walk_block_back(self, block: Block) -> None:
        """Reverse mode: for each op, the last one first, sum the cotangents of its results, append
        its derivative, and contribute the new cotangents to its operands and captured values."""
        shared, sums = self.shared, self.contributions
        for op in shared.ops_backward(block):
            if not sums.reach(op):
                continue
            self.emitter.location = op.location
            cts = sums.of_results(op)
            flowing = shared.rule(op).backward(self, op, shared.saved.get(op), cts)
            for value, ct in flowing:
                if ct is not None and sums.takes(value):
                    sums.add(value, ct.named(cotangent_hint(value)))

    def walk_region_back(self, block: Block) -> None:
        """Append the backward code of a region's block; all its cotangents are dense."""
        sums = self.contributions
        sparse, sums.sparse = sums.sparse, set[SSAValue]()
        self.walk_block_back(block)
        sums.sparse = sparse
