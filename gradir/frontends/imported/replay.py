"""The replay of a foreign graph on traced arrays, by a table of rules.

Each op runs at the place of its line in the foreign program, and its results must have the shapes
and dtypes that the other system says.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation

from gradir.dialects.array.creation import ConstantOp, FullOp
from gradir.errors import GradirError, translate
from gradir.frontends.imported.check import require_replayable
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import (
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    Operand,
)
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import SOURCES, at, refusal
from gradir.frontends.tracing.spec import ELEMENTS, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import constant, current, element, lifted
from gradir.frontends.tracing.values import constant_value_of
from gradir.frontends.transforms.markers import name
from gradir.passes.analysis.edits import erase

DEEPEST = 24
"""Derivative rules that call further functions with rules, each in the rule of another."""


class Replay:
    """The replay of one program: `made` are functions with a derivative rule, by their keys."""

    def __init__(self, table: RuleTable):
        self.table = table
        self.made: dict[Hashable, Any] = {}
        self.depth = 0
        self._names = 0

    def run(self, graph: ForeignGraph, operands: Sequence[Any]) -> list[Tracer]:
        """The results of a graph on traced arrays; all that it has without a rule is refused."""
        require_replayable(graph, self.table)
        return self.inside(graph, operands)

    def inside(self, graph: ForeignGraph, operands: Sequence[Any]) -> list[Tracer]:
        """The results of a graph that was checked, or is a part of one that was."""
        values: dict[int, Tracer] = {}
        for value, given in zip(graph.inputs, operands, strict=True):
            values[id(value)] = _checked(lifted(given), value.type, "argument")
        for node in graph.nodes:
            with _about(node):
                last = current(node.op).blocks[-1].last_op
                given = [_value(values, operand) for operand in node.operands]
                found = self.results(node, given)
                if node.op in self.table.exact and not node.kept and all(map(_is_number, given)):
                    found = [_number(found[0], last)]
                for value, made in zip(node.results, found, strict=True):
                    values[id(value)] = made
        return [_value(values, output) for output in graph.outputs]

    def function(self, graph: ForeignGraph) -> Callable[..., list[Tracer]]:
        """A graph as a function of traced arrays."""

        def function(*operands: Any) -> list[Tracer]:
            return self.inside(graph, operands)

        function.__name__ = graph.name
        return function

    def derived(self, graph: ForeignGraph) -> Callable[..., list[Tracer]]:
        """A graph of a derivative rule, which is not a part of the program, as a function."""
        require_replayable(graph, self.table)
        inner = self.function(graph)

        def function(*operands: Any) -> list[Tracer]:
            if self.depth >= DEEPEST:
                raise refusal(
                    f"{graph.name}: derivative rules call functions with rules of their own in "
                    f"{DEEPEST} levels, or a rule calls its own function in a way that is not seen"
                )
            self.depth += 1
            try:
                return inner(*operands)
            finally:
                self.depth -= 1

        return function

    def results(self, node: ForeignNode, operands: Sequence[Tracer]) -> list[Tracer]:
        """The results of an op by its rule, of the types that the other system says."""
        rule = self.table.rules[node.op]
        found = rule(ForeignCall(node, self), *operands)
        results: list[Any] = list(found) if isinstance(found, (tuple, list)) else [found]
        pairs = zip(node.results, results, strict=True)
        made = [_checked(lifted(result), value.type, "result") for value, result in pairs]
        if node.variable is not None and len(made) == 1:
            made[0].named(node.variable)
        return [self._saved(each) for each in made] if node.kept else made

    def _saved(self, made: Tracer) -> Tracer:
        """A value that a recomputed stage keeps."""
        self._names += 1
        return name(made, f"saved_{self._names}")


@dataclass(frozen=True)
class Verifier:
    """A foreign system's own verifier, by its name, and whether it accepts the program at hand."""

    name: str
    accepts: Callable[[], bool]


class UnverifiedReplay(Replay):
    """A replay of a file that nobody verified.

    What a rule stumbles over is a fault of the file, unless the system's verifier, which is asked
    then and not before, accepts the file; then it is a fault of gradir's.
    """

    def __init__(self, table: RuleTable, verifier: Verifier):
        super().__init__(table)
        self.verifier = verifier

    def results(self, node: ForeignNode, operands: Sequence[Tracer]) -> list[Tracer]:
        """As of Replay; ImportedProgramError for what no rule expects."""
        try:
            return super().results(node, operands)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, GradirError):
                raise
            raise refusal(self._blame(node, error), ImportedProgramError) from error

    def _blame(self, node: ForeignNode, error: Exception) -> str:
        """Whose fault an error of a rule is."""
        what = f"{node.op} {node.label!r}" if node.label else node.op
        if not self.verifier.accepts():
            return f"{what}: it is not valid {self.table.system}: {error}"
        return (
            f"{what}: gradir fails on it, where {self.verifier.name} finds no fault in the "
            f"program: {type(error).__name__}: {error}; if the inputs fit the program, "
            "please report this"
        )


class ForeignCall:
    """What a rule knows beside its operands: the op's parameters, and the types of its results."""

    def __init__(self, node: ForeignNode, replay: Replay):
        self.op, self.params, self.graphs, self.replay = node.op, node.params, node.graphs, replay
        self.operands = [value.type for value in node.operands]
        self.results = [value.type for value in node.results]

    def __getitem__(self, key: str) -> Any:
        return self.params[key]

    @property
    def type(self) -> ForeignType:
        """The type of the only result."""
        [type_] = self.results
        return type_

    @property
    def element(self) -> Any:
        """The element type of the only result."""
        return ELEMENTS[self.type.dtype]


def _value(values: dict[int, Tracer], operand: Operand) -> Tracer:
    if isinstance(operand, ForeignConstant):
        array = np.asarray(operand.array)
        return constant(array, ELEMENTS[operand.type.dtype])
    return values[id(operand)]


def _checked(made: Tracer, type_: ForeignType, what: str) -> Tracer:
    """A result, not weak; ImportedProgramError unless it has the foreign type."""
    is_like = not type_.is_known or (made.shape, element(made)) == (
        type_.shape, ELEMENTS[type_.dtype],
    )  # fmt: skip
    if not is_like:
        raise ImportedProgramError(
            f"{what}: expected {type_}, got {type_text(made.type)}: its rule is wrong"
        )
    return Tracer(made.made_in, made.ssa) if made.weak else made


def _is_number(x: Tracer) -> bool:
    return not x.shape and isinstance(x.ssa.owner, ConstantOp | FullOp)


def _number(made: Tracer, last: Operation | None) -> Tracer:
    """The value of a result that depends on known numbers, in place of the ops after `last`."""
    value, block = constant_value_of(made), made.made_in.blocks[-1]
    if value is None or made.shape:
        return made
    while block.last_op is not None and block.last_op is not last:
        erase(block.last_op)
    return constant(value, element(made))


@contextmanager
def _about(node: ForeignNode) -> Generator[None]:
    """What is emitted is at the node's place, and errors name it."""
    with at(node.place):
        try:
            yield
        except GradirError as error:
            if cast(Any, error).diagnostic is not None:
                raise
            raise refusal(f"{node.op}: {error}", ImportedProgramError) from None
        except RecursionError:
            raise
        except Exception as error:
            ours = translate(error, SOURCES)
            if ours is None:
                raise
            raise refusal(f"{node.op}: {ours}", ImportedProgramError) from None
