"""gradir.cond and switch: one of several functions, chosen by a value, as in JAX.

The functions are traced into the regions of an scf op, and may capture values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, Operation, Region

from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.trace import yielded
from gradir.frontends.tracing.tracing import Trace, is_number, tracing
from gradir.frontends.transforms.block_values import (
    agreed,
    close,
    constant_index,
    index_of,
    require_functions,
    require_type,
    truth,
)
from gradir.frontends.transforms.jit import jit

Function = Callable[..., Any]


@public
def cond(pred: Any, true_function: Function, false_function: Function, *operands: Any) -> Any:
    """The results of one function on the operands: the first where `pred`, a bool, is true.

    Both return results of the same nesting, shapes and dtypes.
    """
    require_functions("cond", true_function, false_function)
    trace = tracing()
    if trace is None:

        def run_cond(pred: Any, operands: Any) -> Any:
            return cond(pred, true_function, false_function, *operands)

        return jit(run_cond)(pred, operands)
    chosen = truth(trace, pred, "cond: pred")
    branches = _Branches(trace, "cond", (true_function, false_function), operands, "both")
    first, second = branches.closed()
    return branches.results(trace.emit(scf.IfOp(chosen, branches.types, first, second)))


@public
def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """The results of one of the functions on the operands: function `index` in the sequence.

    A negative index counts as 0, one beyond the last as the last. All functions return
    results of the same nesting, shapes and dtypes.
    """
    functions = _functions(branches)
    trace = tracing()
    if trace is None:

        def run_switch(index: Any, operands: Any) -> Any:
            return switch(index, functions, *operands)

        return jit(run_switch)(index, operands)
    if is_number(index) and isinstance(index, int) and not isinstance(index, bool):
        return call_user("switch", functions[min(max(index, 0), len(functions) - 1)], *operands)
    number = index_of(trace, index, "switch: index")
    if len(functions) == 1:
        return call_user("switch", functions[0], *operands)
    positive = trace.emit(arith.MaxSIOp(number, constant_index(trace, 0))).result
    chosen = _Branches(trace, "switch", functions, operands, "all")
    *regions, last = chosen.closed()
    cases = DenseArrayBase.from_list(i64, range(len(regions)))
    op = scf.IndexSwitchOp(positive, cases, last, regions, chosen.types)
    return chosen.results(trace.emit(op))


def _functions(branches: object) -> tuple[Function, ...]:
    if not isinstance(branches, (list, tuple)) or not branches:
        raise refusal(f"switch: branches: expected a list of functions, got {branches!r}")
    functions = tuple(cast(Sequence[Function], branches))
    require_functions("switch", *functions)
    return functions


class _Branches:
    """The blocks of some functions, one of them to run, with results of equal types."""

    def __init__(
        self,
        trace: Trace,
        what: str,
        functions: Sequence[Function],
        operands: Sequence[Any],
        several: str,
    ):
        self.trace, self.what, self.said = trace, what, f"{what}: {several} functions must return"
        self.branches = [_Branch(trace, what, f, operands) for f in functions]
        first, *others = self.branches
        if any(first.tree != other.tree for other in others):
            raise refusal(f"{self.said} results of one nesting")
        for other in others:
            first.agree(other)
        for other in others:
            other.agree(first)
            for k, (x, y) in enumerate(zip(first.values, other.values, strict=True)):
                require_type(y, x, f"{self.said} the same types", k)
        self.types = [v.ssa.type for v in first.values]

    def closed(self) -> list[Region]:
        """The functions as regions."""
        return [branch.closed() for branch in self.branches]

    def results(self, op: Operation) -> Any:
        """The results of the op that has these regions."""
        first, *others = self.branches
        made = self.trace.results_like(op, first.values)
        for other in others:
            for result, value in zip(made, other.values, strict=True):
                result.weak &= value.weak
        return first.tree.build(made)


class _Branch:
    """The block and the results of one function."""

    def __init__(self, trace: Trace, what: str, function: Function, operands: Sequence[Any]):
        self.trace = trace
        with trace.region(Block()) as self.block:
            result = call_user(what, function, *operands)
            self.values, self.tree = yielded(result, f"a branch of {what}")

    def agree(self, other: _Branch) -> None:
        """Weak results take the types of the other branch's."""
        pairs = zip(self.values, other.values, strict=True)
        self.values = [agreed(self.trace, self.block, x, y) for x, y in pairs]

    def closed(self) -> Region:
        close(self.trace, self.block, self.values)
        return Region(self.block)
