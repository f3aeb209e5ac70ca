"""gradir-bufferize: tensors become buffers that nests write to.

`func.func @f(%x: tensor<..>) -> tensor<..>` becomes `@f(%x: memref<..>, %result0: memref<..>)` with
attributes gradir.inputs and gradir.results. A value that is returned is computed in the caller's
buffer; one that dies where an equal one is made elementwise hands over its buffer; the others
are `memref.alloc`. Constants become `memref.global`, which the runtime passes by address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike

from gradir.dialects.access import Access
from gradir.dialects.diagnostics import PassError
from gradir.dialects.interfaces import TensorOp
from gradir.dialects.loopnest import LoopOp, NestOp, Output, ReshapeOp, ViewOp, YieldOp, scalar_type
from gradir.dialects.shapes import element_of, is_static, is_tensor, shape_of


def bufferize(module: ModuleOp) -> None:
    """Needs: static shapes, one block a function, loopnest ops. Leaves: no tensor type."""
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        if function.is_declaration:
            continue
        if "gradir.inputs" in function.attributes:
            name = function.sym_name.data
            raise PassError(f"@{name}: is on buffers already; run gradir-bufferize once", function)
        if function.body.first_block is not function.body.last_block:
            name = function.sym_name.data
            raise PassError(f"@{name}: native code needs one block, got several", function)
        _Bufferizer(module, function).run()


def buffer_type(type_: Attribute) -> MemRefType[Attribute]:
    return MemRefType(element_of(type_), shape_of(type_))


class _Bufferizer:
    def __init__(self, module: ModuleOp, function: FuncOp):
        self.module = module
        self.function = function
        self.source = function.body.block
        self.block = Block()
        self.buffers: dict[SSAValue, SSAValue] = {}
        # Where a value has to be computed: a result's buffer, seen under the value's shape.
        self.destinations: dict[SSAValue, SSAValue] = {}
        self.last_use = _last_uses(self.source)
        # Buffers made here, the value that owns each, and the position of the owner's last use.
        self.owners: dict[SSAValue, int] = {}

    def run(self) -> None:
        for argument in self.source.args:
            self._argument(argument)
        terminator = self.source.last_op
        if not isinstance(terminator, ReturnOp):
            raise PassError(
                "native code needs a func.return at the end", terminator or self.function
            )
        results = self._result_buffers(terminator)
        for position, op in enumerate(self.source.ops):
            if op is not terminator:
                self._op(op, position)
        for value, buffer in zip(terminator.operands, results, strict=True):
            if self.destinations.get(value) is not buffer:
                self._copy(self.buffers[value], buffer)
        self._replace_function(len(self.source.args), len(results))

    def _argument(self, argument: SSAValue) -> None:
        self._check_type(argument.type, "takes")
        ours = self.block.insert_arg(buffer_type(argument.type), len(self.block.args))
        ours.name_hint = argument.name_hint
        self.buffers[argument] = ours

    def _check_type(self, type_: Attribute, verb: str) -> None:
        if not is_tensor(type_):
            raise PassError(
                f"@{self.function.sym_name.data}: native code {verb} tensors, got {type_}; "
                "use a tensor of rank 0",
                self.function,
            )
        if not is_static(type_):
            raise PassError(
                f"@{self.function.sym_name.data}: native code needs static shapes, got {type_}; "
                "write the extents",
                self.function,
            )

    def _result_buffers(self, terminator: ReturnOp) -> list[SSAValue]:
        """The arguments for the results; a value is computed in the first that returns it."""
        results: list[SSAValue] = []
        for k, value in enumerate(terminator.operands):
            self._check_type(value.type, "returns")
            ours = self.block.insert_arg(buffer_type(value.type), len(self.block.args))
            ours.name_hint = f"result{k}"
            results.append(ours)
        for value, ours in zip(terminator.operands, results, strict=True):
            self._claim(value, ours)
        return results

    def _claim(self, value: SSAValue, buffer: SSAValue) -> None:
        """Have `value` computed in `buffer`, through reshapes and starts of scatters."""
        if value in self.destinations or value in self.buffers or not isinstance(value, OpResult):
            return
        op = value.owner
        if isinstance(op, ViewOp):
            inner = op.operand
            if isinstance(inner.owner, LoopOp | ViewOp) and inner not in self.destinations:
                self._claim(inner, self._seen_as(buffer, inner.type, op))
                if inner in self.destinations:
                    self.destinations[value] = buffer
        elif isinstance(op, LoopOp):
            self.destinations[value] = buffer
            start = op.output_list[value.index].init
            if start is not None and _is_read_once(start):
                self._claim(start, buffer)

    # Ops.

    def _op(self, op: Operation, position: int) -> None:
        if isinstance(op, LoopOp):
            self._loop(op, position)
        elif isinstance(op, ViewOp):
            self._view(op)
        elif isinstance(op, TensorOp) and op.has_trait(ConstantLike):
            self._constant(op)
        else:
            raise PassError(f"{op.name}: {_missing_pass(op)}", op)

    def _view(self, op: ViewOp) -> None:
        if op.result in self.destinations:
            self.buffers[op.result] = self.destinations[op.result]
            return
        self.buffers[op.result] = self._seen_as(self.buffers[op.operand], op.result.type, op)

    def _seen_as(self, buffer: SSAValue, type_: Attribute, op: ViewOp) -> SSAValue:
        """A buffer under the type of a tensor; itself if it has that, as behind a barrier."""
        wanted = buffer_type(type_)
        if buffer.type == wanted:
            return buffer
        return self._emit(ReshapeOp(buffer, wanted), op).results[0]

    def _loop(self, op: LoopOp, position: int) -> None:
        outputs = op.output_list
        targets = [self._target(op, k, o, position) for k, o in enumerate(outputs)]
        body = op.detach_region(op.body)
        hidden = 1 if op.HIDDEN_INPUTS else 0
        block = body.block
        for k, access in enumerate(op.input_accesses):
            if access is None:
                _retype_whole(block, k - op.HIDDEN_INPUTS + hidden)
        made = type(op)(
            op.extents, [self.buffers[i] for i in op.inputs], op.input_accesses,
            [Output(buffer_type(o.type), o.access, o.combiner) for o in outputs], body,
            op.input_pads, targets, op.starting_outputs,
        )  # fmt: skip
        made.attributes |= op.attributes
        self._emit(made, op)

    def _target(self, op: LoopOp, k: int, output: Output, position: int) -> SSAValue:
        """The buffer for an output; it holds the start already if there is one."""
        result = op.results[k]
        buffer = self.destinations.get(result)
        start = None if output.init is None else self.buffers[output.init]
        is_read = any(_root(self.buffers[i]) is start for i in op.inputs)
        if buffer is None and not is_read and self._dies(output.init, position):
            buffer = start
        if buffer is None and start is None:
            buffer = self._dying_input(op, output, position)
        if buffer is None:
            alloc = memref.AllocOp.get(element_of(output.type), None, shape_of(output.type))
            buffer = self._emit(alloc, op).results[0]
            buffer.name_hint = result.name_hint
        if start is not None and start is not buffer:
            self._copy(start, buffer)
        self.buffers[result] = buffer
        if result not in self.destinations:
            self.owners[buffer] = max(self.owners.get(buffer, 0), self.last_use.get(result, 0))
        return buffer

    def _dies(self, value: SSAValue | None, position: int) -> bool:
        """The value is in a buffer of ours that nobody reads after this position."""
        if value is None:
            return False
        buffer = self.buffers[value]
        return self.owners.get(buffer, -1) == position and self.last_use.get(value) == position

    def _dying_input(self, op: LoopOp, output: Output, position: int) -> SSAValue | None:
        """The buffer of an input that is read for the last time, where this output is written."""
        if not isinstance(op, NestOp) or set(op.output_combiners) != {"none"}:
            return None
        taken = {self.buffers[r] for r in op.results if r in self.buffers}
        reads = list(zip(op.inputs, op.input_accesses, op.input_pads, strict=True))
        for value, access, pad in reads:
            buffer = self.buffers[value]
            here = access is not None and access.is_identity and pad is None
            same_place = here and access == output.access
            once = sum(_root(self.buffers[v]) is buffer for v, _, _ in reads) == 1
            fits = buffer.type == buffer_type(output.type)
            if same_place and once and fits and buffer not in taken and self._dies(value, position):
                return buffer
        return None

    def _constant(self, op: TensorOp) -> None:
        value = cast(DenseIntOrFPElementsAttr, op.attributes["value"])
        name = f"{self.function.sym_name.data}_constant{len(self.module.body.block.ops)}"
        type_ = buffer_type(op.results[0].type)
        made = memref.GlobalOp.get(
            StringAttr(name), type_, value, StringAttr("private"), UnitAttr()
        )
        self.module.body.block.insert_op_before(made, self.function)
        got = memref.GetGlobalOp(SymbolRefAttr(name), type_)
        self.buffers[op.results[0]] = self._emit(got, op).results[0]

    # Emission.

    def _emit(self, op: Operation, source: Operation) -> Operation:
        op.location = source.location
        self.block.add_op(op)
        return op

    def _copy(self, source: SSAValue, target: SSAValue) -> None:
        type_, shape = target.type, shape_of(target.type)
        body = Block(arg_types=[scalar_type(element_of(source.type))])
        body.add_op(YieldOp(body.args[0]))
        identity = Access.identity(len(shape))
        copy = NestOp(
            shape, [source], [identity], [Output(type_, identity)], body, buffers=[target]
        )
        self._emit(copy, self.function)

    def _replace_function(self, inputs: int, results: int) -> None:
        self.block.add_op(ReturnOp())
        types = [a.type for a in self.block.args]
        made = FuncOp(self.function.sym_name.data, (types, []), Region(self.block))
        made.location = self.function.location
        made.attributes["gradir.inputs"] = IntegerAttr(inputs, i64)
        made.attributes["gradir.results"] = IntegerAttr(results, i64)
        parent = self.function.parent
        assert parent is not None
        parent.insert_op_before(made, self.function)
        self.function.detach()
        self.function.erase()


def _missing_pass(op: Operation) -> str:
    """Why an op cannot be on buffers."""
    if isinstance(op, CallOp):
        return "calls must be inlined before gradir-bufferize; run gradir-inline first"
    if isinstance(op, TensorOp):
        return "only loop nests become buffers; run gradir-lower first"
    return "native code for this op is not there yet"


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer that a reshape, if it is one, shows under another shape."""
    while isinstance(owner := buffer.owner, ViewOp):
        buffer = owner.operand
    return buffer


def _is_read_once(value: SSAValue) -> bool:
    """The value has one reader, and so has what it is a reshape of."""
    while len(list(value.uses)) == 1:
        if not isinstance(owner := value.owner, ViewOp):
            return True
        value = owner.operand
    return False


def _retype_whole(body: Block, place: int) -> None:
    """The argument for a tensor that the body was handed whole becomes a buffer."""
    old = body.args[place]
    new = body.insert_arg(buffer_type(old.type), place)
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)
    body.erase_arg(old)


def _last_uses(block: Block) -> dict[SSAValue, int]:
    """The position of the last reader of each value; a reshape is read where its result is."""
    last: dict[SSAValue, int] = {}
    ops = list(block.ops)
    for position, op in reversed(list(enumerate(ops))):
        own = position
        if isinstance(op, ViewOp):
            own = last.get(op.result, position)
        for operand in op.operands:
            last[operand] = max(last.get(operand, -1), own)
    return last


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Replace tensors by buffers."""

    name = "gradir-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
