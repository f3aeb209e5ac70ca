"""gradir-bufferize: tensors become buffers that nests write to.

`func.func @f(%x: tensor<..>) -> tensor<..>` becomes `@f(%x: memref<..>, %result0: memref<..>)` with
attributes gradir.inputs and gradir.results. A value that is returned is computed in the caller's
buffer; one that dies where an equal one is made elementwise hands over its buffer; the others
are `memref.alloc`. Constants become `memref.global`, which the runtime passes by address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float32Type,
    Float64Type,
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

from gradir.dialects.base.access import Access
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp, has_trait
from gradir.dialects.base.shapes import (
    element_of,
    is_open,
    is_scalar,
    is_tensor,
    memref_type,
    shape_of,
)
from gradir.dialects.foreign.elements import dense_of
from gradir.dialects.grad.tape import TapeType
from gradir.dialects.loopnest.buffer_ops import WindowOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, NestOp, Output, ViewOp
from gradir.passes.analysis.arguments import READ_RESULTS, in_out_results
from gradir.passes.analysis.contraction_chains import may_overwrite
from gradir.passes.analysis.edits import erase
from gradir.passes.buffers import control_flow, tensor_ops
from gradir.passes.buffers.delay_updates import delay_updates
from gradir.passes.buffers.stacked import write_stacks
from gradir.passes.buffers.state import BufferState, buffer_type, is_window, root_of
from gradir.passes.buffers.tape_memory import parameters
from gradir.passes.buffers.tapes import Tapes


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
        delay_updates(function.body.block)
        write_stacks(_Bufferizer(module, function).run())


@dataclass
class _Places:
    """The roots of an op's inputs, of its operands, and of the buffers that have an output; and,
    by type, the inputs whose buffers the op may write to, with their roots."""

    op: LoopOp | ForallOp
    reads: Sequence[SSAValue]
    operands: set[SSAValue]
    taken: set[SSAValue]
    writable: dict[Attribute, list[tuple[SSAValue, SSAValue]]]


class _Bufferizer:
    def __init__(self, module: ModuleOp, function: FuncOp):
        self.function = function
        self.state = BufferState(module, function)
        self.state.tapes = Tapes(self.state)

    def run(self) -> FuncOp:
        s = self.state
        in_out = in_out_results(self.function)
        for argument in s.source.args:
            if argument.index not in in_out:
                self._argument(argument)
        terminator = s.source.last_op
        if not isinstance(terminator, ReturnOp):
            raise PassError(
                "native code needs a func.return at the end", terminator or self.function
            )
        inputs = len(s.block.args)
        results = self._result_buffers(terminator)
        for k, result in in_out.items():
            s.place(s.source.args[k], results[result])
        self._load_scalars()
        s.tapes.declare(s.source)
        self._block(s.source)
        self._store_results(terminator, results)
        made = self._replace_function(inputs, len(s.block.args) - inputs)
        if in_out:
            read = DenseArrayBase.from_list(
                i64, sorted(s.block.args.index(results[r]) - inputs for r in in_out.values())
            )
            made.attributes[READ_RESULTS] = read
        return made

    def _argument(self, argument: SSAValue) -> None:
        if isinstance(argument.type, TapeType):
            self.state.tapes.arguments[argument] = self._slots(argument.type, argument.name_hint)
            return
        self._check_type(argument.type, "takes")
        ours = self.state.block.insert_arg(_slot_type(argument.type), len(self.state.block.args))
        ours.name_hint = argument.name_hint
        self.state.values[argument] = ours

    def _slots(self, type_: TapeType, hint: str | None, is_result: bool = False) -> list[SSAValue]:
        """New arguments for the memory of a tape."""
        block = self.state.block
        slots: list[SSAValue] = []
        for each in parameters(type_, is_result):
            slots.append(block.insert_arg(each, len(block.args)))
            slots[-1].name_hint = hint
            if is_result:
                self.state.own(slots[-1])
        return slots

    def _load_scalars(self) -> None:
        """A scalar argument is handed over in a slot."""
        for argument in self.state.source.args:
            if is_scalar(argument.type):
                slot = self.state.values[argument]
                load = self.state.emit(memref.LoadOp.get(slot, []), self.function)
                load.results[0].name_hint = argument.name_hint
                self.state.values[argument] = load.results[0]

    def _check_type(self, type_: Attribute, verb: str) -> None:
        if not (is_tensor(type_) or is_scalar(type_)):
            raise PassError(
                f"@{self.function.sym_name.data}: native code {verb} tensors and numbers, "
                f"got {type_}",
                self.function,
            )
        if is_open(type_):
            raise PassError(
                f"@{self.function.sym_name.data}: native code needs static shapes, got {type_}; "
                "write the extents, or run gradir-specialize",
                self.function,
            )

    def _result_buffers(self, terminator: ReturnOp) -> list[SSAValue]:
        """The arguments for the results; a value is computed in the first that returns it."""
        s = self.state
        results: list[SSAValue] = []
        for k, value in enumerate(terminator.operands):
            if isinstance(value.type, TapeType):
                slots = self._slots(value.type, f"result{k}", is_result=True)
                s.tapes.results[k] = (value, slots)
                results.append(slots[-1])
                continue
            self._check_type(value.type, "returns")
            ours = s.block.insert_arg(_slot_type(value.type), len(s.block.args))
            ours.name_hint = f"result{k}"
            s.own(ours)
            results.append(ours)
        for value, ours in zip(terminator.operands, results, strict=True):
            if is_tensor(value.type):
                s.claim(value, ours)
        return results

    def _store_results(self, terminator: ReturnOp, results: Sequence[SSAValue]) -> None:
        s = self.state
        moves: list[tuple[SSAValue, SSAValue]] = []
        for value, buffer in zip(terminator.operands, results, strict=True):
            if is_tensor(value.type):
                moves.append((s.values[value], buffer))
            elif is_scalar(value.type):
                s.emit(memref.StoreOp.get(s.values[value], buffer, []), terminator)
        s.tapes.store_counts(terminator)
        s.copy_all(moves)

    # Ops.

    def _block(self, block: Block) -> None:
        """All ops of a block but its terminator."""
        for op in block.ops:
            if op.next_op is not None:
                self._op(op)

    def _op(self, op: Operation) -> None:
        s = self.state
        if isinstance(op, LoopOp):
            self._loop(op)
        elif isinstance(op, ForallOp):
            self._forall(op)
        elif isinstance(op, ViewOp):
            self._view(op)
        elif has_trait(op, ConstantLike) and is_tensor(op.results[0].type):
            self._constant(op)
        elif s.tapes.bufferize(op):
            pass
        elif (flow := control_flow.BUFFERIZERS.get(type(op))) is not None:
            flow(s, op, self._block)
        elif (tensors := tensor_ops.BUFFERIZERS.get(type(op))) is not None:
            tensors(s, op)
        elif op.regions or any(is_tensor(v.type) for v in (*op.operands, *op.results)):
            raise PassError(f"{op.name}: {_missing_pass(op)}", op)
        else:
            s.block.add_op(made := op.clone(s.values))
            made.location = op.location

    def _view(self, op: ViewOp) -> None:
        s = self.state
        source = s.values[op.operand]
        claimed = s.destinations.get(op.result)
        if claimed is not None and root_of(source) is root_of(claimed):
            s.place(op.result, claimed, beside=True)
            return
        s.place(op.result, s.seen_as(source, op.result.type, op), beside=True)

    def _loop(self, op: LoopOp) -> None:
        s = self.state
        outputs = op.output_list
        targets = self._targets(op, outputs)
        inputs = [s.values[i] for i in op.inputs]
        self._place_all(op, targets)
        body = op.detach_region(op.body)
        hidden = 1 if op.HIDDEN_INPUTS else 0
        block = body.block
        for k, access in enumerate(op.input_accesses):
            if access is None:
                _retype_whole(block, k - op.HIDDEN_INPUTS + hidden)
        made = type(op)(
            op.extents, inputs, op.input_accesses,
            [Output(buffer_type(o.type), o.access, o.combiner) for o in outputs], body,
            op.input_pads, targets, op.starting_outputs, roles=op.roles,
            precision=op.precision,
        )  # fmt: skip
        made.attributes |= op.attributes
        s.emit(made, op)

    def _forall(self, op: ForallOp) -> None:
        s = self.state
        nowhere = Access.identity(0)
        targets = self._targets(op, [Output(type_, nowhere) for type_ in op.output_types])
        inputs = [s.values[i] for i in op.inputs]
        self._place_all(op, targets)
        body = op.detach_region(op.body)
        for k in range(len(op.inputs)):
            _retype_whole(body.block, k)
        made = ForallOp(op.extents, inputs, op.output_types, body, targets)
        made.attributes |= op.attributes
        s.emit(made, op)

    def _place_all(self, op: Operation, targets: Sequence[SSAValue]) -> None:
        for result, target in zip(op.results, targets, strict=True):
            self.state.place(result, target, beside=isinstance(target.owner, WindowOp))

    def _targets(self, op: LoopOp | ForallOp, outputs: Sequence[Output]) -> list[SSAValue]:
        """The buffers for all outputs of an op."""
        values = self.state.values
        reads = [root_of(values[i]) for i in op.inputs]
        types = {buffer_type(output.type) for output in outputs}
        writable: dict[Attribute, list[tuple[SSAValue, SSAValue]]] = {}
        for value, root in zip(op.inputs, reads, strict=True):
            buffer = values[value]
            if buffer.type in types and self._may_be_overwritten(buffer, op):
                writable.setdefault(buffer.type, []).append((value, root))
        operands = {root_of(values[o]) for o in op.operands}
        places = _Places(op, reads, operands, set(), writable)
        targets: list[SSAValue] = []
        for k, output in enumerate(outputs):
            targets.append(self._target(places, op.results[k], output))
            places.taken.add(root_of(targets[-1]))
        return targets

    def _target(self, places: _Places, result: OpResult, output: Output) -> SSAValue:
        """The buffer for an output; it holds the start already if there is one."""
        s, op = self.state, places.op
        if output.init is not None:
            start = s.values[output.init]
            buffer = self._started(places, result, start)
            if start is not buffer:
                s.copy(start, buffer)
            return buffer
        claimed = s.destinations.get(result)
        type_ = buffer_type(output.type)
        if (
            claimed is not None
            and claimed.type == type_
            and self._may_be_overwritten(claimed, op)
            and self._may_write(places, output, claimed, root_of(claimed))
        ):
            return claimed
        window = tensor_ops.window_for(s, op, result) or s.tapes.window_for(op, result)
        if window is not None:
            return window
        # one number is not worth an order between its readers
        is_number = prod(shape_of(output.type)) == 1
        for value, root in places.writable.get(type_, ()):
            if not is_number or value.has_one_use():
                if self._may_write(places, output, s.values[value], root):
                    return s.values[value]
        return s.alloc(output.type, op, result.name_hint)

    def _started(self, places: _Places, result: OpResult, start: SSAValue) -> SSAValue:
        """The buffer for an output that starts from `start`: that one, if it dies unread."""
        s, op = self.state, places.op
        others = places.taken | set(places.reads)
        if root_of(start) not in others and s.is_free(start, op):
            return start
        claimed = s.destinations.get(result)
        if claimed is not None and root_of(claimed) not in others | {root_of(start)}:
            if s.is_free_before(claimed, op):
                return claimed
        return s.alloc(result.type, op, result.name_hint)

    def _may_be_overwritten(self, buffer: SSAValue, op: Operation) -> bool:
        """A whole buffer in which nothing is read behind the op."""
        return not is_window(buffer) and self.state.is_free(buffer, op)

    def _may_write(self, places: _Places, output: Output, buffer: SSAValue, root: SSAValue) -> bool:
        """An output without a start may be computed in a buffer of its type, in which nothing is
        read behind the op, and which may hold an input."""
        if root in places.taken:
            return False
        return self._is_read_in_place(places, output, buffer, root)

    def _is_read_in_place(
        self, places: _Places, output: Output, buffer: SSAValue, root: SSAValue
    ) -> bool:
        """The op reads a buffer at most once, each element in the iteration that writes it."""
        op = places.op
        if root not in places.operands:
            return True
        if not isinstance(op, LoopOp) or set(op.output_combiners) != {"none"}:
            return False
        reads = [k for k, read in enumerate(places.reads) if read is root]
        if len(reads) != 1 or self.state.values[op.inputs[reads[0]]] is not buffer:
            return False
        if reads[0] < op.HIDDEN_INPUTS:
            assert isinstance(op, ContractOp)
            return may_overwrite(op, reads[0], output.access)
        if not _writes_once(op, reads[0]):
            return False
        return op.input_accesses[reads[0]] == output.access and op.input_pads[reads[0]] is None

    def _constant(self, op: Operation) -> None:
        s = self.state
        value = dense_of(op)
        if value is None:
            raise PassError(f"{op.name}: native code needs dense<...> for a tensor", op)
        name = f"{self.function.sym_name.data}_constant{len(s.module.body.block.ops)}"
        type_ = buffer_type(op.results[0].type)
        made = memref.GlobalOp.get(
            StringAttr(name), type_, value, StringAttr("private"), UnitAttr()
        )
        s.module.body.block.insert_op_before(made, self.function)
        got = memref.GetGlobalOp(SymbolRefAttr(name), type_)
        s.values[op.results[0]] = s.emit(got, op).results[0]

    def _replace_function(self, inputs: int, results: int) -> FuncOp:
        block = self.state.block
        block.add_op(ReturnOp())
        types = [a.type for a in block.args]
        made = FuncOp(self.function.sym_name.data, (types, []), Region(block))
        made.location = self.function.location
        made.attributes["gradir.inputs"] = IntegerAttr(inputs, i64)
        made.attributes["gradir.results"] = IntegerAttr(results, i64)
        signature = self.function.function_type
        in_out = in_out_results(self.function)
        passed = [t for k, t in enumerate(signature.inputs) if k not in in_out]
        for name, kinds in (("inputs", passed), ("results", signature.outputs)):
            if any(isinstance(t, TapeType) for t in kinds):
                tapes = (t if isinstance(t, TapeType) else UnitAttr() for t in kinds)
                made.attributes[f"gradir.{name}_tapes"] = ArrayAttr(tapes)
        parent = self.function.parent
        assert parent is not None
        parent.insert_op_before(made, self.function)
        erase(self.function)
        return made


def _writes_once(op: LoopOp, read: int) -> bool:
    """Each element is written once, when nothing of input `read` is needed but that element.

    A contraction may keep sums in its output, or reduce in a nest; not one of matrices of floats.
    """
    access = op.output_accesses[0]
    if isinstance(op, NestOp):
        return access.is_identity
    assert isinstance(op, ContractOp)
    free = op.free_dims
    sizes = {role: [n for r, n in zip(op.dim_roles, op.extents, strict=True) if r == role]
             for role in "mn"}  # fmt: skip
    left, right = (a.used for a in op.input_accesses[:2] if a is not None)
    varies = {role: {d for d, r in enumerate(op.dim_roles) if r == role} for role in "mn"}
    is_product = not left & varies["n"] and not right & varies["m"]
    elements = [op.accumulator_type, *(element_of(v.type) for v in op.inputs[:2])]
    return (
        read >= op.HIDDEN_INPUTS
        and access.dims == tuple(range(free))
        and is_product
        and prod([*sizes["m"], *sizes["n"]]) > 1
        and all(isinstance(e, Float32Type | Float64Type) for e in elements)
    )


def _slot_type(type_: Attribute) -> MemRefType[Attribute]:
    """The buffer of an argument or result; a scalar's is of rank 0."""
    return buffer_type(type_) if is_tensor(type_) else memref_type([], type_)


def _missing_pass(op: Operation) -> str:
    """The reason for refusing an op at buffer level."""
    if isinstance(op, CallOp):
        return "calls must be inlined before gradir-bufferize; run gradir-inline{every=true} first"
    if isinstance(op, TensorOp):
        return "only loop nests become buffers; run gradir-lower first"
    return "native code for this op is not there yet"


def _retype_whole(body: Block, place: int) -> None:
    """The argument for a tensor that the body was handed whole becomes a buffer."""
    old = body.args[place]
    new = body.insert_arg(buffer_type(old.type), place)
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)
    body.erase_arg(old)


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Replace tensors by buffers."""

    name = "gradir-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bufferize(op)
