"""gradir-vmap: a function on many rows of its arguments at once, `@f_vmap`.

    @f(x: tensor<3xf32>, w: tensor<3xf32>) -> tensor<f32>    with rows of x becomes
    @f_vmap(x: tensor<8x3xf32>, w: tensor<3xf32>) -> tensor<8xf32>

Ops that treat leading axes one by one get one more; others are rewritten, or run in a loop over the
rows, as do branches and loops that go other ways in each row. What depends on no row is computed
once. A function with a derivative written by hand keeps one, on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from re import sub

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.dialects.grad.tape import TapeType
from gradir.passes.analysis.call_graph import called_name
from gradir.passes.analysis.signature import argument_attributes
from gradir.passes.batch.batcher import Batcher, NoRows
from gradir.passes.batch.named_axis import NamedAxis
from gradir.passes.batch.spread import Spread
from gradir.passes.cleanup.decompose import is_only_apart, without_compounds
from gradir.passes.differentiate.derived import function_around
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.selectors import Selector, argument_or_name

TITLE = "gradir-vmap"

Key = tuple[str, tuple[bool, ...]]


@dataclass(frozen=True)
class OnRows:
    """A function on rows, and which of its results have them.

    `awaited`: functions on rows whose derivative is declared and not in the program, by name, and
    the functions they are made from.
    """

    function: FuncOp
    rows: tuple[bool, ...]
    awaited: Mapping[str, str] = field(default_factory=dict[str, str])


class FunctionsOnRows:
    """The functions of a program on `size` rows, made as they are called; `axis` names the rows."""

    def __init__(self, program: ModuleFunctions, size: int, axis: str | None = None):
        self.program, self.size = program, size
        self.axis = NamedAxis(program, axis)
        self._made: dict[Key, OnRows | None] = {}
        self._custom: dict[str, OnRows | None] = {}
        self.awaited: dict[str, str] = {}
        # the arguments that functions take with rows
        self._taken: dict[Key, Sequence[bool]] = {}

    def function_on_rows(self, name: str, rows: Sequence[bool], place: Operation) -> OnRows | None:
        """@name with rows in some arguments; None if it cannot run on rows."""
        key = (name, tuple(rows))
        if key not in self._made:
            self._made[key] = self._new_function(self.program.function(name, place), key)
        return self._made[key]

    def _new_function(self, source: FuncOp, key: Key) -> OnRows | None:
        for taken in _ways(source, key[1]):
            mask = "".join(str(int(has)) for has in taken)
            try:
                made = self.on_rows(source, taken, False, f"_vmap{self.label}_{mask}")
            except NoRows:
                continue
            self._taken[key] = taken
            return made
        return None

    def on_rows(
        self, source: FuncOp, rows: Sequence[bool], all_results: bool, ending: str
    ) -> OnRows:
        """A function with rows in some arguments, and in all results if asked for."""
        source = without_compounds(source, is_only_apart)
        block = self.program.block(source)
        spread = Spread(self.callee_rows, self.axis)
        spread.values.update(a for a, has in zip(block.args, rows, strict=True) if has)
        spread.block(block)
        work = Batcher(spread, self, self.size, self.axis, Block())
        for argument in block.args:
            work.argument(argument)
        work.ops(block)
        results = self.program.results(source)
        emitter = Emitter(work.block, source.location)
        found = tuple(all_results or has for has in spread.rows(results))
        pairs = zip(results, found, strict=True)
        ends = [work.with_rows(v, emitter) if has else work.new[v] for v, has in pairs]
        emitter.insert(ReturnOp(*ends))
        name = f"{source.sym_name.data}{ending}"
        none: list[dict[str, Attribute]] = [{} for _ in block.args]
        made = function_around(name, work.block, none)
        return OnRows(self.program.share(made, source), found, self.awaited)

    # Calls.

    def callee_rows(self, call: CallOp, rows: Sequence[bool]) -> Sequence[bool] | None:
        found = self._callee_on_rows(call, rows)
        return None if found is None else found.rows

    def callee(self, call: CallOp, rows: Sequence[bool]) -> FuncOp:
        found = self._callee_on_rows(call, rows)
        assert found is not None
        return found.function

    def operand_rows(self, call: CallOp, rows: Sequence[bool]) -> Sequence[bool]:
        name = called_name(call)
        if name in self.program.custom:
            return [True] * len(rows)
        return self._taken[name, tuple(rows)]

    def differentiated(
        self, op: DerivativeOp, rows: Sequence[bool]
    ) -> tuple[FuncOp, Sequence[bool]] | None:
        """The function on rows of a derivative, with rows in all that it differentiates."""
        source = self.program.function(op.function, op)
        wrt, count = op.selectors("wrt"), len(source.function_type.inputs.data)
        if (
            op.function in self.program.custom
            or wrt is None
            or any(isinstance(w, str) for w in wrt)
        ):
            return None
        taken = [has or k in wrt for k, has in enumerate(rows[:count])]
        mask = "".join(str(int(has)) for has in taken)
        try:
            made = self.on_rows(source, taken, True, f"_vmap{self.label}_{mask}_all")
        except NoRows:
            return None
        return made.function, [*taken, *(True for _ in rows[count:])]

    @property
    def label(self) -> str:
        """The number of rows in names, and the axis."""
        named = "" if self.axis.name is None else f"_{self.axis.name}"
        return sub(r"\W+", "_", f"{self.size}{named}")

    def _callee_on_rows(self, call: CallOp, rows: Sequence[bool]) -> OnRows | None:
        name = called_name(call)
        if name not in self.program.custom:
            return self.function_on_rows(name, rows, call)
        if name not in self._custom:
            try:
                self.with_derivative(name)
            except NoRows:
                self._custom[name] = None
        return self._custom[name]

    def with_derivative(self, called: str) -> list[str]:
        """A function and its derivative, all of them with rows in all arguments and results.

        The derivative runs on one row at a time where it must.
        """
        op = self.program.custom[called]
        self._custom[called] = made = self._all_on_rows(called, op)
        names = [made.function.sym_name.data]
        for name in op.names[1:]:
            try:
                rule = self._all_on_rows(name, op)
            except NoRows:
                rule = self._all_on_rows(name, op, _caller)
            names.append(rule.function.sym_name.data)
        if not op.has_rules:
            self.awaited[names[0]] = called
        if names[0] not in self.program.custom:
            declared = CustomVjpOp.of(names, op)
            block = op.parent
            assert block is not None
            block.insert_op_after(declared, op)
            self.program.custom[names[0]] = declared
        return names

    def _all_on_rows(
        self, name: str, op: CustomVjpOp, way: Callable[[FuncOp], FuncOp] | None = None
    ) -> OnRows:
        source = self.program.function(name, op)
        rows = [True] * len(source.function_type.inputs.data)
        return self.on_rows(way(source) if way else source, rows, True, f"_vmap{self.label}_all")


def _ways(source: FuncOp, rows: tuple[bool, ...]) -> list[Sequence[bool]]:
    """The arguments with rows, and these with the tapes that a function may give rows.

    An empty tape of the caller becomes one of rows.
    """
    types = source.function_type
    if not any(isinstance(type_, TapeType) for type_ in types.outputs):
        return [rows]
    pairs = zip(rows, types.inputs, strict=True)
    wide = tuple(has or isinstance(type_, TapeType) for has, type_ in pairs)
    return [rows] if wide == rows else [rows, wide]


def vmap(
    module: ModuleOp,
    function: str,
    size: int,
    rows: Sequence[Selector] | None = None,
    axis: str | None = None,
) -> FuncOp:
    """Add @f_vmap, of `size` rows of some arguments, by default of all; all results have rows.

    Collectives of the group `axis` are between the rows.

    PassError where a value has no rows, such as a tape between two functions.
    """
    if type(size) is not int or size < 0:
        raise PassError(f"{TITLE}: size must be a number >= 0, got {size!r}", module)
    program = ModuleFunctions(module)
    source = program.function(function)
    program.block(source)
    return on_rows(program, source, size, _asked(source, rows), True, axis).function


def on_rows(
    program: ModuleFunctions,
    source: FuncOp,
    size: int,
    rows: Sequence[bool],
    all_results: bool,
    axis: str | None = None,
) -> OnRows:
    """A function on rows, one after the other if it must be; `axis` names the rows."""
    functions = FunctionsOnRows(program, size, axis)
    try:
        return functions.on_rows(source, rows, all_results, "_vmap")
    except NoRows:
        return functions.on_rows(_caller(source), rows, all_results, "_vmap")


def _asked(source: FuncOp, rows: Sequence[Selector] | None) -> list[bool]:
    arguments = source.body.block.args
    if rows is None:
        return [True] * len(arguments)
    attributes = argument_attributes(source)
    chosen = [argument_or_name("rows", source, r, attributes).value for r in rows]
    for value in chosen:
        if value not in arguments:
            raise PassError(f"rows: {value_name(value)} is no argument of the function", source)
    return [a in chosen for a in arguments]


def _caller(source: FuncOp) -> FuncOp:
    """A function that calls another, of its name, so that the call runs on one row at a time."""
    block = Block(arg_types=source.function_type.inputs.data)
    for argument, named in zip(block.args, source.body.block.args, strict=True):
        argument.name_hint = named.name_hint
    emitter = Emitter(block, source.location)
    types = list(source.function_type.outputs.data)
    call = emitter.insert(CallOp(source.sym_name.data, list(block.args), types))
    emitter.insert(ReturnOp(*call.results))
    made = function_around(source.sym_name.data, block, [{} for _ in block.args])
    made.location = source.location
    return made


@dataclass(frozen=True)
class VmapPass(ModulePass):
    """A function on many rows of its arguments at once."""

    name = TITLE

    function: str
    size: int
    rows: tuple[int | str, ...] | None = None
    axis: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        vmap(op, self.function, self.size, self.rows, self.axis)
