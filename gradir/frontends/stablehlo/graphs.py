"""StableHLO functions as foreign graphs: ops in order, regions as graphs, places of lines.

What a region reads around it is an operand of its op, behind the others, and the first arguments of
each of the op's graphs; constants are taken along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import NUMPY_NAMES, element_of, is_static, is_tensor, shape_of
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.graph import (
    ForeignConstant,
    ForeignGraph,
    ForeignNode,
    ForeignType,
    ForeignValue,
    Operand,
    live_nodes,
)
from gradir.frontends.tracing.source_locations import refusal

MOST_NESTED = 64
MOST_OPS = 250_000
"""The most ops of a program after its calls are inlined."""

Values = dict[SSAValue, Operand]


class FunctionReader:
    """Reads the functions of a module, each once."""

    def __init__(self, module: ModuleOp):
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._read: dict[str, ForeignGraph] = {}
        self._sizes: dict[str, int] = {}
        self._open: list[str] = []

    def graph(self, name: str, at: Operation) -> ForeignGraph:
        """The graph of @name, which `at` names; ImportedProgramError for recursion."""
        function = self.functions.get(name)
        if function is None or function.is_declaration:
            raise refusal(f"no function @{name} with a body", ImportedProgramError, at.location)
        if name in self._open:
            raise refusal(f"@{name} calls itself", ImportedProgramError, at.location)
        if name not in self._read:
            if len(self._open) > MOST_NESTED:
                message = f"calls may be nested {MOST_NESTED} deep, not deeper"
                raise refusal(message, ImportedProgramError, at.location)
            self._open.append(name)
            self._sizes[name] = 0
            self._read[name] = self._function(name, function)
            self._open.pop()
        if self._open:
            self._count(self._sizes[name], at)
        return self._read[name]

    def _function(self, name: str, function: FuncOp) -> ForeignGraph:
        block = function.body.first_block
        if block is None or block.next_block is not None:
            message = f"@{name}: one block expected"
            raise refusal(message, ImportedProgramError, function.location)
        return self._graph(name, block, {}, (), 0, function)

    def _count(self, more: int, op: Operation) -> None:
        """Count ops of the function that is being read."""
        name = self._open[-1]
        self._sizes[name] += more
        if self._sizes[name] > MOST_OPS:
            message = f"@{name}: more than {MOST_OPS:,} ops, those of calls counted"
            raise refusal(message, ImportedProgramError, op.location)

    def _graph(
        self, name: str, block: Block, outer: Values, captured: Sequence[SSAValue], depth: int,
        at: Operation,
    ) -> ForeignGraph:  # fmt: skip
        """A block as a graph: its arguments are the captured values, then its own."""
        if depth > MOST_NESTED:
            message = f"regions may be nested {MOST_NESTED} deep, not deeper"
            raise refusal(message, ImportedProgramError, at.location)
        values = dict(outer)
        inputs: list[ForeignValue] = []
        for value in (*captured, *block.args):
            values[value] = made = ForeignValue(foreign_type(value.type))
            inputs.append(made)
        nodes: list[ForeignNode] = []
        last = block.last_op
        if last is None or not (isinstance(last, ReturnOp) or last.name == "stablehlo.return"):
            message = f"{name}: a region must end in a return"
            raise refusal(message, ImportedProgramError, at.location)
        for op in block.ops:
            if op is not last:
                self._count(1, op)
                self._read_op(op, values, nodes, depth)
        outputs = tuple(values[o] for o in last.operands)
        return ForeignGraph(
            name, tuple(inputs), tuple(live_nodes(nodes, outputs)), outputs, at.location
        )

    def _read_op(self, op: Operation, values: Values, nodes: list[ForeignNode], depth: int) -> None:
        constant = _constant(op)
        if constant is not None:
            values[op.results[0]] = constant
            return
        around = {v: values[v] for v in _captured(op)} if op.regions else {}
        captured = [v for v, o in around.items() if isinstance(o, ForeignValue)]
        constants: Values = {v: o for v, o in around.items() if isinstance(o, ForeignConstant)}
        regions = [r.first_block for r in op.regions]
        graphs = [
            self._graph(_short(op), block, constants, captured, depth + 1, op)
            for block in regions
            if block is not None
        ]
        params: dict[str, Any] = {**op.attributes, **op.properties, "captured": len(captured)}
        if isinstance(op, CallOp):
            graphs = [self.graph(op.callee.string_value(), op)]
        results = tuple(ForeignValue(foreign_type(r.type)) for r in op.results)
        values.update(zip(op.results, results, strict=True))
        operands = tuple(values[o] for o in (*op.operands, *captured))
        hint = op.results[0].name_hint if op.results else None
        nodes.append(
            ForeignNode(_name(op), operands, results, params, op.location, tuple(graphs),
                        variable=hint, refused=_refused(op))
        )  # fmt: skip


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _short(op: Operation) -> str:
    return _name(op).partition(".")[2].replace(".", "_")


def _captured(op: Operation) -> list[SSAValue]:
    """The values of other blocks that the regions of an op read, in order."""
    found: dict[SSAValue, None] = {}
    inside: set[Block] = {block for region in op.regions for block in _blocks(region)}
    for region in op.regions:
        for inner in region.walk():
            found.update((o, None) for o in inner.operands if _block_of(o) not in inside)
    return list(found)


def _blocks(region: Any) -> Iterator[Block]:
    for block in region.blocks:
        yield block
        for op in block.ops:
            for inner in op.regions:
                yield from _blocks(inner)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def foreign_type(type_: Attribute) -> ForeignType:
    """A type as the check of programs reads it; what gradir has no tensors of by its text."""
    if not is_tensor(type_):
        return ForeignType((), str(type_))
    element = element_of(type_)
    return ForeignType(tuple(type_.get_shape()), NUMPY_NAMES.get(element, str(element)))


def _refused(op: Operation) -> str:
    """Why an op cannot be replayed whatever it is: a shape that is not known."""
    for value in (*op.operands, *op.results):
        if is_tensor(value.type) and not is_static(value.type):
            return f"shapes must be known, got {value.type}"
    return ""


def _constant(op: Operation) -> ForeignConstant | None:
    """The array of a stablehlo.constant whose elements gradir has."""
    if op.name != "stablehlo.constant":
        return None
    value = {**op.attributes, **op.properties}.get("value")
    type_ = op.results[0].type
    if not isinstance(value, DenseIntOrFPElementsAttr) or not is_tensor(type_):
        return None
    if element_of(type_) not in NUMPY_NAMES:
        return None
    return ForeignConstant(foreign_type(type_), array_of(value))


def array_of(value: DenseIntOrFPElementsAttr) -> Any:
    """A dense constant as an array."""
    type_ = value.get_type()
    element, shape = element_of(type_), shape_of(type_)
    name = NUMPY_NAMES[element]
    if name in ("bool", "bfloat16"):
        listed = np.array([float(cast(float, each)) for each in value.get_values()])
        return listed.reshape(shape).astype(numpy_dtype(element))
    data = np.frombuffer(value.data.data, numpy_dtype(element))
    return np.array(data.reshape(shape) if data.size == np.prod(shape) else
                    np.broadcast_to(data, shape))  # fmt: skip
