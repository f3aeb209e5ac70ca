"""The reference interpreter: every op by its NumPy meaning, one at a time. The oracle of the tests.

It never stands in for native code. f16 and bf16 are computed in f32 and rounded after each op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.diagnostics import LocatedError, location_text, op_name
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.op_rules import meaning
from gradir.dialects.base.precision import precision_of
from gradir.dialects.base.shapes import element_of, is_tensor, shape_of
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.comm import worlds
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.tape import TapeType
from gradir.dialects.loopnest.loopnest import ContractOp, NestOp
from gradir.errors import ArgumentTypeError, ExecutionError, IndexOutOfRange
from gradir.interpreter.contractions import contract_values
from gradir.interpreter.control_flow import REGION_OPS, TENSOR_OPS, Steps, tensor_value
from gradir.interpreter.conversions import as_dtype
from gradir.interpreter.known_programs import check_program, in_known_ops
from gradir.interpreter.nests import nest_values
from gradir.interpreter.numbers import constant_value, knows_number_op, number_value
from gradir.interpreter.out import all_arguments, stored
from gradir.interpreter.precision import values_in_parts
from gradir.interpreter.slices import as_slices, slices_value
from gradir.interpreter.tape import TAPE_OPS, Tape, as_tape
from gradir.passes.analysis.call_graph import (
    callee_of,
    callees_first,
    functions_by_name,
    only_block,
)
from gradir.passes.analysis.regions import captured
from gradir.runtime.arrays import ArraySpec, as_input, dtype_of, widened
from gradir.runtime.host_calls import host_call_of, results_of
from gradir.runtime.mpi import world
from gradir.runtime.row_slices import RowSlices
from gradir.symbols import check_signature, function_named

worlds.set_default(world)

Array = np.ndarray[Any, np.dtype[Any]]
Environment = dict[SSAValue, Array]


def interpret(
    module: ModuleOp, function: str, arguments: Sequence[Any], out: object = None
) -> tuple[Array, ...]:
    """The results of `@function`, NumPy arrays of the declared types: new ones, or from `out`.

    Raises ArgumentError where arguments do not have the types of the parameters.
    """
    op = function_named(module, function)
    check_signature(op)
    functions = functions_by_name(module)
    reached = callees_first(functions, [op])
    check_program(reached)
    functions = in_known_ops(functions, reached)
    op = functions[function]
    arrays = check_arguments(op, all_arguments(op, arguments, out))
    with np.errstate(all="ignore"):
        results = Interpreter(functions).call(op, arrays)
    try:
        # arguments that are handed back and broadcast views become arrays of their own
        return stored(op, [_returned(r) for r in results], out)
    except _TOO_LARGE as error:
        if (located := _too_large(op, error)) is None:
            raise
        raise located from None


def _returned(result: Any) -> Any:
    if isinstance(result, RowSlices):
        return RowSlices(np.array(result.indices), np.array(result.values, order="C"), result.shape)
    return result if isinstance(result, Tape) else np.array(result, order="C")


def check_arguments(function: func.FuncOp, arguments: Sequence[Any]) -> list[Array]:
    """The arguments as arrays of exactly the parameters' types."""
    name, parameters = function.sym_name.data, function.body.block.args
    if len(arguments) != len(parameters):
        raise ArgumentTypeError(
            f"{name}: expected {len(parameters)} arguments, got {len(arguments)}"
        )
    arrays: list[Array] = []
    for k, (given, parameter) in enumerate(zip(arguments, parameters, strict=True)):
        label, type_ = parameter.name_hint or str(k), parameter.type
        place = f"{name}: argument {k} (%{label})"
        if isinstance(type_, TapeType):
            arrays.append(cast(Array, as_tape(given, type_, place)))
            continue
        if is_slices(type_):
            arrays.append(cast(Array, as_slices(given, type_, label, place)))
            continue
        shape, dtype = _shape_and_dtype(type_)
        arrays.append(as_input(given, ArraySpec(label, shape, dtype), place))
    return arrays


@kept_fact
def _shape_and_dtype(type_: Attribute) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the type of a tensor's array; a scalar has rank 0."""
    if not is_tensor(type_):
        return (), dtype_of(type_)
    return shape_of(type_), dtype_of(element_of(type_))


class _Frame:
    """A running block: the values of its function, the next op, and the receiver of its results.

    `asker` is the region op that runs the block; None for the body of a function.
    """

    def __init__(
        self,
        block: Block,
        arguments: Sequence[Array],
        values: Environment,
        asker: Steps | None = None,
    ):
        self.values = values
        self.values.update(zip(block.args, arguments, strict=True))
        self.op = block.first_op
        self.asker = asker

    def finish(self, results: Sequence[Array]) -> None:
        """Store the results of the op and go on to the one after it."""
        assert self.op is not None
        self.values.update(zip(self.op.results, results, strict=True))
        self.op = self.op.next_op


class Interpreter:
    """Runs functions of a module; subclasses watch or replace the runs of single ops."""

    def __init__(self, functions: dict[str, func.FuncOp]):
        self.functions = functions

    def call(self, function: func.FuncOp, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """The results of a function; an explicit stack, so that calls and regions may nest deep."""
        frames = [_Frame(only_block(function), arguments, {})]
        while True:
            frame = frames[-1]
            op = frame.op
            assert op is not None
            operands = [frame.values[o] for o in op.operands]
            if isinstance(op, func.CallOp):
                frames.append(_Frame(only_block(callee_of(self.functions, op)), operands, {}))
            elif (asker := self.steps(op, operands)) is not None:
                _advance(frames, asker, None)
            elif op.next_op is not None:
                frame.finish(self.run(op, operands, frame.values))
            else:
                frames.pop()
                if frame.asker is not None:
                    _advance(frames, frame.asker, operands)
                elif frames:
                    frames[-1].finish(operands)
                else:
                    return tuple(operands)

    def steps(self, op: Operation, operands: Sequence[Array]) -> Steps | None:
        """A run of an op with regions; None for other ops."""
        region_op = REGION_OPS.get(type(op))
        return None if region_op is None else region_op(op, operands)

    def run(self, op: Operation, operands: Sequence[Array], values: Environment) -> Sequence[Array]:
        """The results of an op in its place, where these values are known."""
        del values
        return self.results(op, operands)

    def results(self, op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
        """The results of one op on arrays, in the types declared; not of region ops or calls."""
        if (tape_op := TAPE_OPS.get(type(op))) is not None:
            return tape_op(op, operands)
        if (slices := slices_value(op, operands)) is not None:
            return [slices]
        if isinstance(op, HostCallOp):
            return results_of(host_call_of(op), operands)
        return _cast_values(op, operands)


def run_ops(
    ops: Sequence[Operation], values: Environment, functions: Mapping[str, func.FuncOp]
) -> None:
    """Run ops of a function under construction, in this order; their results go to `values`."""
    running = Interpreter(dict(functions))
    with np.errstate(all="ignore"):
        for op in ops:
            if op.regions or isinstance(op, func.CallOp):
                read = captured(op)
                results = running.call(_function_around(op, read), [values[v] for v in read])
            else:
                results = running.results(op, [values[v] for v in op.operands])
            values.update(zip(op.results, results, strict=True))


def _function_around(op: Operation, read: Sequence[SSAValue]) -> func.FuncOp:
    """A function of the values that an op reads, which gives its results."""
    block = Block(arg_types=[v.type for v in read])
    copy = op.clone(dict(zip(read, block.args, strict=True)))
    block.add_ops([copy, func.ReturnOp(*copy.results)])
    type_ = [v.type for v in read], [r.type for r in op.results]
    return func.FuncOp("alone", type_, Region(block))


def values_of(op: TensorOp, operands: Sequence[Array]) -> Sequence[Array]:
    """The results of one op on arrays of its types, without warnings of floating arithmetic."""
    with np.errstate(all="ignore"):
        return _cast_values(op, operands)


def _cast_values(op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
    try:
        values = _values(op, [widened(o) for o in operands])
        return [cast_to(v, r.type) for v, r in zip(values, op.results, strict=True)]
    except _TOO_LARGE as error:
        if (located := _too_large(op, error)) is None:
            raise
        raise located from None


def _advance(frames: list[_Frame], asker: Steps, sent: Sequence[Array] | None) -> None:
    """Advance a region op: run its next block, or store its results."""
    values = frames[-1].values
    try:
        block, arguments = next(asker) if sent is None else asker.send(sent)
    except StopIteration as stop:
        frames[-1].finish(stop.value)
        return
    frames.append(_Frame(block, arguments, values, asker))


# an array that is too large, and a number of Python that no array holds
_TOO_LARGE = (MemoryError, ValueError, OverflowError)


def _too_large(op: Operation, error: Exception) -> ExecutionError | None:
    """The error of what is too large, located at the op; None for another error."""
    # numpy's message for an array whose size overflows
    texts = ("array is too big", "Maximum allowed size", "Maximum allowed dimension")
    if isinstance(error, OverflowError):
        fact = "a number is too large for NumPy"
    elif isinstance(error, ValueError) and not str(error).startswith(texts):
        return None
    else:
        fact = "no memory for its result"
    return ExecutionError(f"{location_text(op)}{op_name(op)}: {fact}: {error}")


def _values(op: Operation, operands: Sequence[Array]) -> tuple[Any, ...]:
    match op:
        case TensorOp():
            return _tensor_values(op, operands)
        case arith.ConstantOp():
            return (constant_value(op),)
        case NestOp(outputs=()):
            return tuple(nest_values(op, operands))
        case _ if type(op) in TENSOR_OPS:
            return (tensor_value(op, operands),)
        case _ if knows_number_op(op):
            return (number_value(op, operands),)
        case _ if (known := meaning(op)) is not None:
            values = known(*operands)
            return cast(tuple[Any, ...], values) if isinstance(values, tuple) else (values,)
        case _:
            raise LocatedError(f"{op.name}: the interpreter does not know this op", op)


def _part_values(op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
    """The results of an op that another was taken apart into, contractions among them."""
    if isinstance(op, ContractOp):
        values = contract_values(op, operands)
        return [cast_to(v, r.type) for v, r in zip(values, op.results, strict=True)]
    return _cast_values(op, operands)


def _tensor_values(op: TensorOp, operands: Sequence[Array]) -> tuple[Any, ...]:
    if precision_of(op.attributes) is not None:
        return values_in_parts(op, operands, _part_values)
    try:
        values = op.numpy(*operands)
    except IndexError as error:
        raise IndexOutOfRange(f"{location_text(op)}{op.source_name}: {error}") from None
    return cast(tuple[Any, ...], values) if isinstance(values, tuple) else (values,)


def cast_to(value: Any, type_: Attribute) -> Array:
    """A value as an array of exactly the given type, as native code converts.

    The array is C-contiguous: NumPy's sums and products round differently for other strides, and a
    value that crosses a call would change its bits.
    """
    shape, dtype = _shape_and_dtype(type_)
    result = value if type(value) is np.ndarray and value.dtype == dtype else as_dtype(value, dtype)
    assert result.shape == shape, f"{result.shape} for {type_}"
    return np.asarray(result, order="C")
