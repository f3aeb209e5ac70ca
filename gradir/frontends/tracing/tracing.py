"""The function under construction: growing blocks, and the values visible in them.

An op on traced arrays is appended to the innermost block under construction: the function's, or
a region's (a checkpoint stage, the body of a loop). A region may use values of the blocks
around it. A function traced inside of another gets captured values of that one as further
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.creation import ConstantOp, FullOp, numpy_dtype
from gradir.dialects.base.attributes import Plain, attribute
from gradir.dialects.base.diagnostics import VerifyError
from gradir.dialects.base.extents import Condition, Extent
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import (
    AnyTensor,
    element_of,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    tensor,
)
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.extent import ExtentOp
from gradir.frontends.tracing.callbacks import unknown_extent
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.nodes import kind_of
from gradir.frontends.tracing.object_arrays import is_object_array, require_numbers
from gradir.frontends.tracing.source_locations import location, refusal
from gradir.frontends.tracing.spec import element_named, type_text
from gradir.frontends.tracing.tracer import Tracer, registered
from gradir.frontends.tracing.values import Known
from gradir.long_compilations import OPS_BETWEEN_LOOKS, tell_while_tracing
from gradir.passes.analysis.regions import MAX_REGION_DEPTH

if TYPE_CHECKING:
    from gradir.passes.verify.own_rules import check_once
else:
    check_once = lazy_function("gradir.passes.verify.own_rules", "check_once")

OpT = TypeVar("OpT", bound=Operation)


class Trace:
    """One function under construction, with its callees. `has_program`: of SSA values."""

    has_program: ClassVar[bool] = True

    def __init__(self, types: Sequence[AnyTensor], outer: Trace | None = None):
        self.name = "main"
        self.count = 0
        self.has_looked = False
        self.entry = Block(arg_types=types)
        self.outer = outer
        self.blocks: list[Block] = [self.entry]
        self.captured: dict[SSAValue, SSAValue] = {}
        self.functions: dict[str, FuncOp] = {} if outer is None else outer.functions
        # declarations beside the functions, their rules (later_rules.py), and the function of each
        # custom_vjp
        self.declarations: list[CustomVjpOp] = [] if outer is None else outer.declarations
        self.rules: dict[str, Callable[[Trace], Sequence[str]] | None] = (
            {} if outer is None else outer.rules
        )
        # facts of extents that the trace has relied on
        self.conditions: list[Condition] = [] if outer is None else outer.conditions
        self.custom: dict[Any, Any] = {} if outer is None else outer.custom
        self.known = Known((), (), None if outer is None else outer.known.path)

    def emit(self, op: OpT) -> OpT:
        """Append an op to the innermost block; VerifyError at the user's call for a wrong op.

        Ops of other dialects, whose rules need the ops around them, are verified at the end.
        """
        op.location = location()
        if isinstance(op, TensorOp):
            check_once(op)
        self.blocks[-1].add_op(op)
        self.count += 1
        if not self.count % OPS_BETWEEN_LOOKS:
            tell_while_tracing(self.name, self.blocks)
        return op

    def apply(
        self,
        op: type[TensorOp],
        operands: Sequence[Tracer],
        types: Sequence[Attribute],
        attributes: dict[str, Attribute],
    ) -> list[Tracer]:
        """The results of an op, appended to the innermost block."""
        values = [self.use(o) for o in operands]
        made = op.create(operands=values, result_types=types, attributes=attributes)
        return [Tracer(self, result) for result in self.emit(made).results]

    def holding(self, array: np.ndarray[Any, Any], type_: AnyTensor) -> Tracer:
        """An array as a constant of the program; a C-contiguous one of the type."""
        data = array.tobytes()
        if data[: array.itemsize] * array.size == data:
            return filled(array.flat[0].item() if array.size else 0, type_)
        value = _dense(array, type_, data)
        return self.apply(ConstantOp, [], [type_], {"value": value})[0]

    def value_at(self, ssa: SSAValue) -> np.ndarray[Any, Any] | None:
        """The value of an SSA value, as far as it is at hand."""
        return self.known.values.get(ssa)

    def use(self, tracer: Tracer) -> SSAValue:
        """The value of a traced array that ops emitted here may use; captured if necessary."""
        ssa = tracer.ssa
        if tracer.made_in is self:
            if _block_of(ssa) not in self.blocks:
                raise refusal(
                    "a traced array of a region is used outside of it; "
                    "return it from the function that makes the region"
                )
            return ssa
        if self.outer is None:
            raise refusal(
                "a traced array of another trace is used here; "
                "return it from the function that makes it, and take it as an argument"
            )
        around = self.outer.use(tracer)
        if around not in self.captured:
            argument = self.entry.insert_arg(around.type, len(self.entry.args))
            argument.name_hint = around.name_hint
            self.captured[around] = argument
        return self.captured[around]

    def results_like(self, op: Operation, values: Sequence[Tracer]) -> list[Tracer]:
        """The results of an op, named and weak like its region's yielded values."""
        made = [
            Tracer(self, result, value.weak)
            for result, value in zip(op.results, values, strict=True)
        ]
        for tracer, value in zip(made, values, strict=True):
            if value.ssa.name_hint is not None:
                tracer.named(value.ssa.name_hint)
        return made

    def is_building(self, block: Block) -> bool:
        """Whether ops of the running trace are appended to this block."""
        return _current.trace is self and self.blocks[-1] is block

    @contextmanager
    def ending(self, block: Block) -> Generator[None]:
        """A context whose ops go to a block under construction, ahead of regions begun in it."""
        if block not in self.blocks:
            raise refusal(
                "a view of an array that was made in a region is used outside of it; "
                "return it from the function that makes the region"
            )
        blocks = self.blocks
        self.blocks = blocks[: blocks.index(block) + 1]
        try:
            with running(self):
                yield
        finally:
            self.blocks = blocks

    @contextmanager
    def region(self, block: Block) -> Generator[Block]:
        """A context whose ops go to this block of a region."""
        around = len(self.blocks) + 1  # and the module's region
        if around >= MAX_REGION_DEPTH:
            raise refusal(
                f"regions are nested too deeply: this one would be in {around} regions, the limit "
                f"is {MAX_REGION_DEPTH} within each other"
            )
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()


ENDED = "a traced array of a trace that has ended is used here; return it from the traced function"
"""The refusal of arrays without a value and without a program that goes on."""


class Unwritten(Trace):
    """A trace without a program: its arrays have other objects in place of SSA values."""

    has_program: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__([])
        self.name = "eager"

    def use(self, tracer: Tracer) -> SSAValue:
        """The array's own object."""
        if tracer.made_in is not self:
            raise refusal(ENDED)
        return tracer.ssa


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


# The trace of this thread.


class _Current(local):
    trace: Trace | None = None


_current = _Current()

IN_PYTHON: list[object] = []
"""While anything is here, native code makes no calls as a whole: the running traces of all threads,
blocks with defaults of their own, and default dtypes of the process other than float64."""


def note_read_of_elements() -> None:
    """Note that a function decides by an array's elements: its ops do not tell of all that it does.

    Called where an argument is an array with values, which then cannot be a traced one.
    """
    if _current.trace is not None:
        _current.trace.has_looked = True


def tracing() -> Trace | None:
    """The innermost running trace of this thread, if any."""
    return _current.trace


def current(what: str) -> Trace:
    """The innermost running trace; TraceError with the function's name where there is none."""
    if _current.trace is None:
        raise refusal(
            f"{what}: expected to be called while a function is traced; "
            "call it in a function that gradir.trace or gradir.jit is given"
        )
    return _current.trace


@contextmanager
def running(trace: Trace) -> Generator[Trace]:
    """A context in which this is the innermost trace."""
    before = _current.trace
    _current.trace = trace
    IN_PYTHON.append(trace)
    try:
        yield trace
    finally:
        IN_PYTHON.remove(trace)
        _current.trace = before


# Ops on traced arrays.


def emit(
    op: type[TensorOp],
    *operands: Tracer,
    types: Sequence[Attribute] | None = None,
    **attributes: Plain | None,
) -> list[Tracer]:
    """The results of an op on traced arrays; its result types are inferred unless given."""
    trace = current(op.name)
    given = {k: attribute(v) for k, v in attributes.items() if v is not None}
    try:
        inferred = types
        if inferred is None:
            inferred = op.infer_types([o.type for o in operands], given)
    except VerifyException as error:
        raise VerifyError(f"{op.name}: {error}", location()) from None
    assert inferred is not None, f"{op.name} needs its result types"
    return trace.apply(op, operands, inferred, given)


def emit_one(
    op: type[TensorOp], *operands: Tracer, type: Attribute | None = None, **attributes: Plain | None
) -> Tracer:
    """The single result of an op on traced arrays."""
    [result] = emit(op, *operands, types=None if type is None else [type], **attributes)
    return result


def filled(value: complex, type_: AnyTensor) -> Tracer:
    """A constant of one repeated number."""
    trace = current(FullOp.name)
    try:
        if is_float(type_.element_type):
            float(cast(float, value))  # an integer may be too large
        elif not is_complex(type_.element_type) and isinstance(value, complex):
            raise ValueError
        op = FullOp.fill(value, type_)
    except (OverflowError, TypeError, ValueError, VerifyException):
        is_long = isinstance(value, int) and value.bit_length() > 128
        number = "so large an integer" if is_long else str(value)
        raise refusal(f"{number} is no element of {type_text(type_)}") from None
    return trace.apply(FullOp, [], [type_], op.attributes)[0]


def constant(value: Any, element: Attribute | None = None) -> Tracer:
    """An array, or an object that NumPy converts to one, as a constant of the program.

    `element`: the element type to convert to. Python numbers in lists have NumPy's types.
    """
    is_listed = isinstance(value, (list, tuple)) and element is not None and is_integer(element)
    try:
        # at once: numbers from 2**63 on would be floats without a dtype
        array = np.asarray(cast(Any, value), numpy_dtype(element) if is_listed else None)
    except OverflowError as error:
        raise refusal(f"asarray: {error}") from None
    if element is None:
        element = element_named(array.dtype)
    array = np.asarray(array.astype(numpy_dtype(element), copy=False), order="C")
    return current(ConstantOp.name).holding(array, tensor(array.shape, element))


def _dense(array: np.ndarray[Any, Any], type_: AnyTensor, data: bytes) -> Attribute:
    kind: Any = type_
    if is_bool(type_.element_type):
        return cast(Attribute, DenseIntOrFPElementsAttr.from_list(kind, array.ravel().tolist()))
    return cast(Attribute, DenseIntOrFPElementsAttr(kind, BytesAttr(data)))


def is_number(value: object) -> bool:
    """Whether a value is a Python number, whose type is weak; NumPy's have types of their own."""
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def lifted(value: object, element: Attribute | None = None, what: str = "") -> Tracer:
    """A traced array, a number or an array of any library as a traced array.

    Other objects say by `__gradir_array__` which traced array they stand for.
    TraceError that begins with `what` for other objects. A Python number gets the element type; or
    without one its default, and is then weak.
    """
    if isinstance(value, Tracer):
        return value
    if is_number(value):
        number = cast(float, value)
        kind = element or default_element(type(value))
        made = filled(number, tensor([], kind))
        made.weak = element is None
        return made
    if isinstance(value, Extent):
        trace = current(ExtentOp.name)
        return Tracer(trace, trace.emit(ExtentOp(value, tensor([], i64))).result, weak=True)
    if is_object_array(value):
        nested = cast(np.ndarray[Any, Any], value).tolist()
        if holds_tracers([nested]):
            require_numbers(cast(np.ndarray[Any, Any], value))
            return nested if isinstance(nested, Tracer) else registered("asarray")(nested)
    if isinstance(value, (list, tuple)) and holds_tracers(cast(Sequence[Any], value)):
        return registered("asarray")(value)
    if isinstance(value, (np.ndarray, np.generic, list, tuple)):
        return constant(value)
    if hasattr(value, "__gradir_array__"):
        return cast(Any, value).__gradir_array__()
    if hasattr(value, "__dlpack__"):
        return constant(np.from_dlpack(cast(Any, value)))
    raise refusal(f"{what}expected an array or a number, got {kind_of(value)}")


def holds_tracers(value: Sequence[Any]) -> bool:
    """Whether a traced array is in nested lists."""
    return any(
        isinstance(item, Tracer | Extent)
        or (isinstance(item, (list, tuple)) and holds_tracers(cast(Sequence[Any], item)))
        for item in value
    )


Extent.hooks.refusal, Extent.hooks.array = unknown_extent, lifted


def element(tracer: Tracer) -> Attribute:
    """The element type of a traced array."""
    return element_of(tracer.type)
