"""The builder of functions for frontends: arguments, places in the source, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    i1,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser

from gradir.api import Module
from gradir.diagnostics import Sources
from gradir.dialects.base.value import Emitter, Value
from gradir.errors import ArgumentError, ArgumentTypeError, gradir_errors
from gradir.frontends.tracing.spec import Spec, spec_of
from gradir.passes.verify.verify import verify
from gradir.registry import make_context

Type = Attribute | Spec | str
"""A type: of xDSL, a gradir.Spec, or MLIR's text, as "tensor<4xf32>" or "f64"."""
Body = Callable[..., Sequence[Value]]


def location(file: str, line: int, column: int = 1) -> LocationAttr:
    """A place in a source text; lines and columns count from 1."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def type_of(given: Type) -> Attribute:
    """A type as xDSL has it; ParseError for text that is none."""
    if isinstance(given, Attribute):
        return given
    if isinstance(given, str):
        with gradir_errors(Sources({"<type>": given})):
            return Parser(make_context(), given, "<type>").parse_type()
    found = spec_of(given)
    if found is None:
        raise ArgumentTypeError(f"expected a type, got {given!r}")
    return found[0]


class ModuleBuilder:
    """A module under construction, of functions that a frontend writes one after the other."""

    def __init__(self, sources: Mapping[str, str] | None = None):
        """`sources` are texts by file name, which messages quote."""
        self._sources = Sources(sources)
        self._functions: dict[str, FuncOp] = {}

    @contextmanager
    def function(
        self, name: str, arguments: Mapping[str, Type], place: LocationAttr | None = None
    ) -> Generator[FunctionBuilder]:
        """A context in which `@name` is written; it ends with `returns`."""
        if name in self._functions:
            raise ArgumentError(f"function: @{name} is there already")
        made = FunctionBuilder(arguments, place, self._functions)
        yield made
        self._functions[name] = made.finished(name)

    def module(self) -> Module:
        """The module, verified. Raises VerifyError with the place in the source."""
        op = ModuleOp(list(self._functions.values()))
        with gradir_errors(self._sources):
            verify(op)
        return Module(op, self._sources)


class FunctionBuilder:
    """A function under construction. Ops are appended to the innermost block, at `place`.

    Values have operators, which emit where the value was made: `here(value)` is a value from
    around a loop or a branch whose operators emit inside of it.
    """

    def __init__(
        self,
        arguments: Mapping[str, Type],
        place: LocationAttr | None,
        functions: Mapping[str, FuncOp],
    ):
        types = [type_of(given) for given in arguments.values()]
        self._functions, self._block = functions, Block(arg_types=types)
        self.emitter = Emitter(self._block, place)
        self._place = place
        self.arguments: dict[str, Value] = {}
        for name, argument in zip(arguments, self._block.args, strict=True):
            argument.name_hint = name
            self.arguments[name] = self.emitter.value(argument)
        self._is_finished = False

    def at(self, place: LocationAttr) -> None:
        """Give ops from now on a place in the source."""
        self.emitter.location = place

    def here(self, value: Value | SSAValue) -> Value:
        """A value whose operators emit in the innermost block."""
        return self.emitter.value(value.ssa if isinstance(value, Value) else value)

    def insert(self, op: Operation) -> list[Value]:
        """Append an op of any dialect; its results."""
        return [self.here(result) for result in self.emitter.insert(op).results]

    def number(self, number: float, like: Value) -> Value:
        """A constant of the type of another value."""
        return self.here(like).full(number)

    def index(self, number: int) -> Value:
        """A constant of type index, for bounds of loops."""
        attribute = IntegerAttr(number, IndexType())
        return self.insert(arith.ConstantOp(attribute))[0]

    def call(self, name: str, *operands: Value) -> list[Value]:
        """A call of a function that was written before; its results."""
        if name not in self._functions:
            known = ", ".join(f"@{n}" for n in self._functions) or "none"
            raise ArgumentError(f"call: no function @{name}; functions: {known}")
        outputs: list[Attribute] = list(self._functions[name].function_type.outputs)
        return self.insert(CallOp(name, [self.here(o).ssa for o in operands], outputs))

    # Regions: each function gets values of its own, and returns the next ones.

    def repeat(self, count: Value | int, carried: Sequence[Value], body: Body) -> list[Value]:
        """A loop of `count` iterations: `body(i, *values)` gives the next values.

        `count` is a number, or a value of type index, as `i` is. The results are the last values;
        the types of all values stay.
        """
        low, step = self.index(0), self.index(1)
        high = self.index(count) if isinstance(count, int) else self.here(count)
        start = [self.here(v).ssa for v in carried]
        block = Block(arg_types=[IndexType(), *(v.type for v in start)])
        self._write(block, body, scf.YieldOp)
        return self.insert(scf.ForOp(low.ssa, high.ssa, step.ssa, start, Region(block)))

    def repeat_while(
        self, carried: Sequence[Value], condition: Callable[..., Value], body: Body
    ) -> list[Value]:
        """A loop that goes on while `condition(*values)`, a value of type i1, is true."""
        start = [self.here(v).ssa for v in carried]
        types = [v.type for v in start]
        before, after = Block(arg_types=types), Block(arg_types=types)

        def decides(*values: Value) -> Sequence[Value]:
            return [condition(*values), *values]

        self._write(before, decides, lambda first, *rest: scf.ConditionOp(first, *rest))
        self._write(after, body, scf.YieldOp)
        return self.insert(scf.WhileOp(start, types, Region(before), Region(after)))

    def choose(self, condition: Value, then: Body, otherwise: Body) -> list[Value]:
        """The values of `then()` where a value of type i1 is true, else those of `otherwise()`."""
        if condition.ssa.type != i1:
            raise ArgumentError(f"choose: the condition must be i1, got {condition.ssa.type}")
        chosen, other = Block(), Block()
        self._write(chosen, then, scf.YieldOp)
        self._write(other, otherwise, scf.YieldOp)
        last = cast(Operation, chosen.last_op)
        types = list(last.operand_types)
        ops = scf.IfOp(self.here(condition).ssa, types, Region(chosen), Region(other))
        return self.insert(ops)

    def _write(self, block: Block, body: Callable[..., Any], end: Callable[..., Operation]) -> None:
        """Have a function write a block, and end it with its values."""
        outer, self.emitter = self.emitter, Emitter(block, self.emitter.location)
        try:
            values = body(*(self.emitter.value(a) for a in block.args))
            self.emitter.insert(end(*(self.here(v).ssa for v in values)))
        finally:
            self.emitter = outer

    # The end.

    def returns(self, *results: Value) -> None:
        """End the function with its results."""
        self.emitter.insert(ReturnOp(*(self.here(r).ssa for r in results)))
        self._is_finished = True

    def finished(self, name: str) -> FuncOp:
        """The function, once it is ended."""
        last = self._block.last_op
        if not self._is_finished or not isinstance(last, ReturnOp):
            raise ArgumentError(f"function: @{name} must end with returns")
        types = ([a.type for a in self._block.args], list(last.operand_types))
        made = FuncOp(name, types, Region(self._block))
        if self._place is not None:
            made.location = self._place
        return made
