"""The interface of tensor ops; `op_rules.py` has it for ops of other dialects too.

A `TensorOp` is one class that holds all facts about an op: types (`infer_types`), derivative
(`vjp`), vectorization (`vmap`), meaning on arrays (`numpy`), simplification (`simplify`) and one of
three lowerings: a scalar `body` (elementwise ops), `lower` (loop nests), or `decompose` (simpler
tensor ops).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Plain, Types, attribute, print_attributes
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.shapes import (
    compatible,
    element_of,
    is_complex_tensor,
    is_scalar,
    is_tensor,
    require_element,
    shape_of,
)
from gradir.dialects.base.support import Mask, Supports
from gradir.dialects.base.value import SOURCE_ATTRIBUTE, Emitter, Value

Cotangents = Sequence[Value | None]


def has_trait(op: Operation, trait: type[OpTrait]) -> bool:
    """Whether an op has a trait; False for an unregistered op."""
    return op.has_trait(trait, value_if_unregistered=False)


def is_terminator(op: Operation) -> bool:
    """Whether an op ends its block; an unregistered op does where it is the last one."""
    return op.next_op is None and op.has_trait(IsTerminator)


def require_real(op: str, types: Iterable[Attribute]) -> None:
    """VerifyException for complex tensors of an op without a meaning on them."""
    wrong = next(filter(is_complex_tensor, types), None)
    if wrong is not None:
        raise VerifyException(
            f"{op}: elements must be real, got {wrong}; take array.real, array.imag or array.abs"
        )


def require_tensor(op: str, type_: Attribute) -> None:
    """VerifyException for a type of an op that is no ranked tensor of elements known here."""
    if not is_tensor(type_):
        raise VerifyException(f"{op}: expected ranked tensors, got {type_}")
    try:
        require_element(type_)
    except VerifyException as error:
        raise VerifyException(f"{op}: {error}") from None


class TensorOp(IRDLOperation, ABC):
    """Base of all ops on ranked tensors."""

    # No cotangent flows through the op: its results do not depend smoothly on any operand.
    INACTIVE: ClassVar[bool] = False
    # The result is the first operand's elements in another shape, at no cost.
    IS_VIEW: ClassVar[bool] = False
    # The result is elements of the first operand, at places that the other operands name.
    READS_PART: ClassVar[bool] = False
    # Differentiation decomposes the op first.
    IS_TAKEN_APART: ClassVar[bool] = False
    # The result is read off the operand, which is as large or smaller, at little cost: derivatives
    # keep the operand alone.
    IS_READ_OFF: ClassVar[bool] = False
    # Results are vectors that can be chosen in many ways where their values are equal: sums over
    # them become functions of the matrix before they are differentiated.
    GIVES_VECTORS: ClassVar[bool] = False
    # Complex results are vectors whose phases nothing determines: their elements are no functions.
    HAS_PHASES: ClassVar[bool] = False
    # Results that get no cotangent, and that only derivatives read: frontends do not return them.
    HIDDEN: ClassVar[tuple[int, ...]] = ()
    # Bools that cost more to compute than to pack: derivatives keep them as bits.
    KEPT_AS_BITS: ClassVar[bool] = False
    # Operands without a derivative: an active one is refused.
    NOT_DIFFERENTIABLE: ClassVar[tuple[int, ...]] = ()
    # Elements of an operand meet cotangents of many results: those that reach none are taken as 0.
    SUMS_PRODUCTS: ClassVar[bool] = False
    # Indices are checked at run time; the error names the op of the source program.
    CHECKS_INDICES: ClassVar[bool] = False
    # One type stands for all operands and results in the custom form.
    SAME_TYPE: ClassVar[bool] = False
    # Operands and results may be scalars too.
    TAKES_SCALARS: ClassVar[bool] = False
    # The elements of data that the op takes, of `require_elements`: frontends convert to them.
    DOMAIN: ClassVar[str] = "any"
    # The op has a meaning on complex elements, too; others refuse them.
    COMPLEX: ClassVar[bool] = False
    # The op's attributes; others are refused.
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ()

    # The operand that the op copies and then writes to.
    WRITES_INTO: ClassVar[int | None] = None

    def __init__(self, *values: object, **parts: Any) -> None:
        if values:
            name = type(self).__name__
            raise TypeError(
                f"{name}: write {name}.on(x, ...), with values of an Emitter, or "
                f"{name}.of([ssa, ...]) for the op alone; on arrays it is a function of "
                "gradir.numpy or gradir.nn"
            )
        super().__init__(**parts)

    # Types.

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types | None:
        """The result types; None where they must be written. VerifyException on bad operands."""
        del operands, attributes
        return None

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            if not (self.TAKES_SCALARS and is_scalar(value.type)):
                require_tensor(self.name, value.type)
        if not self.COMPLEX:
            require_real(self.name, [v.type for v in (*self.operands, *self.results)])
        for name in self.attributes:
            if name not in self.ATTRIBUTES and "." not in name:
                known = ", ".join(self.ATTRIBUTES) or "none"
                raise VerifyException(f"{self.name}: unknown attribute {name}; known: {known}")
        try:
            expected = self.infer_types([o.type for o in self.operands], self.attributes)
            self.verify_types()
        except VerifyException as error:
            raise VerifyException(f"{self.name}: {error}") from None
        if expected is not None:
            self._verify_results(expected)

    @property
    def source_name(self) -> str:
        """The name of the op of the source program from which this one comes."""
        source = self.attributes.get(SOURCE_ATTRIBUTE)
        return source.data if isinstance(source, StringAttr) else self.name

    def verify_types(self) -> None:
        """Further checks of an op; messages need not name it."""

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        """Shapes implied by the types, beyond `infer_types`: pairs of a value and its shape.

        An unknown extent is dynamic. Specialization finds unwritten extents from these.
        """
        return ()

    def _verify_results(self, expected: Sequence[Attribute]) -> None:
        if len(expected) != len(self.results):
            raise VerifyException(
                f"{self.name}: {len(expected)} results expected, got {len(self.results)}"
            )
        for result, type_ in zip(self.results, expected, strict=True):
            if result.type == type_:
                continue
            if not (is_tensor(result.type) and is_tensor(type_)):
                raise VerifyException(
                    f"{self.name}: result type must be {type_}, got {result.type}"
                )
            same_element = element_of(result.type) == element_of(type_)
            if not same_element or not compatible(shape_of(result.type), shape_of(type_)):
                raise VerifyException(
                    f"{self.name}: result type must be {type_}, got {result.type}"
                )

    # Building.

    @classmethod
    def of(
        cls,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute] | None = None,
        **attributes: Plain | None,
    ) -> Self:
        """The op on SSA values, its result types inferred unless given."""
        given = {k: attribute(v) for k, v in attributes.items() if v is not None}
        inferred = types or cls.infer_types([o.type for o in operands], given)
        assert inferred is not None, f"{cls.name} needs its result types"
        return cls.create(operands=operands, result_types=inferred, attributes=given)

    @classmethod
    def on(cls, *values: Value, type: Attribute | None = None, **attributes: Plain | None) -> Value:
        """Emit the op where the first value does; returns its first result."""
        op = cls.of([v.ssa for v in values], [type] if type else None, **attributes)
        return Value(values[0].emitter.insert(op).results[0], values[0].emitter)

    @classmethod
    def all_on(
        cls,
        *values: Value,
        types: Sequence[Attribute] | None = None,
        **attributes: Plain | None,
    ) -> list[Value]:
        """Like `on`, for an op with several results: returns all."""
        op = cls.of([v.ssa for v in values], types, **attributes)
        emitter = values[0].emitter
        return [Value(r, emitter) for r in emitter.insert(op).results]

    # Derivative.

    def vjp(self, ct: Value, *args: Value) -> Cotangents:
        """Cotangents of the operands, given the one result's: `vjp(ct, y, x0, x1, ...)`.

        None where no cotangent flows. An op with several results overrides `vjp_all` instead.
        """
        del ct, args
        raise NotImplementedError(self.name)

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        """Cotangents of the operands, given all results' (None is zero; not all are None)."""
        assert len(cts) == 1 and cts[0] is not None
        return self.vjp(cts[0], results[0], *operands)

    def row_slices(self, ct: Value, y: Value, *operands: Value) -> Value | None:
        """The cotangent of the first operand as row slices, if it is one of few rows."""
        return None

    @property
    def slice_count(self) -> int | None:
        """The number of those slices; None where there are none, or the number is unknown."""
        return None

    # Cotangents that selections made 0 (`support.py`).

    def zero_operands(self) -> Sequence[SSAValue] | None:
        """Operands that make an element of the result 0 where they are all 0, at the same place.

        None where zeros of operands may become something else: 0 * inf is nan.
        """
        return None

    def support(self, of: Supports) -> Mask | None:
        """The support of the one result; None where it may be anything anywhere."""
        zeros = self.zero_operands()
        return None if zeros is None else of.of_any(zeros)

    def selected_operand(self, of: Supports) -> int | None:
        """The operand, of the result's type, whose elements the op keeps or replaces by 0 or nan.

        None where it does something else.
        """
        return None

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """Where the operand at a place takes part in elements of the results that masks name.

        A mask has the shape of its result; None names no element. None where that is unknown. Not
        asked of elementwise ops.
        """
        del place, masks
        return None

    # Vectorization.

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """The results on many rows at once; None to run the op on one row after the other."""
        del batch
        return None

    @classmethod
    def has_vjp(cls) -> bool:
        return (
            cls.IS_TAKEN_APART or cls.vjp is not TensorOp.vjp or cls.vjp_all is not TensorOp.vjp_all
        )

    # Meaning and lowering.

    def numpy(self, *arrays: Any) -> Any:
        """The value on NumPy arrays; a tuple for several results. The caller casts to the types."""
        raise NotImplementedError(self.name)

    def meaning(self) -> Callable[..., Any]:
        """`numpy`, with what the op's attributes and types say read once: for many calls."""
        return self.numpy

    def simplify(self, *operands: Value) -> Value | None:
        """An equal value that is cheaper (bit for bit the same), or None."""
        return None

    def added_to(self, base: Value, *operands: Value) -> Value:
        """base + the result of an op that writes into zeros (`WRITES_INTO`), written into base."""
        raise NotImplementedError(self.name)

    def decompose(self, *operands: Value) -> Value | Sequence[Value]:
        """The same value by simpler ops."""
        raise NotImplementedError(self.name)

    @classmethod
    def has_decomposition(cls) -> bool:
        return cls.decompose is not TensorOp.decompose

    def waits_for_planes(self) -> bool:
        """Whether only gradir-split-complex replaces it, as its decomposition has real numbers."""
        return False

    def apart(self) -> Callable[..., Value | Sequence[Value]] | None:
        """The same value by the ops that differentiation puts in the op's place; None to let it
        stay."""
        return self.decompose if self.IS_TAKEN_APART else None

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Emit loop nests for the op on lowered operands; returns its results."""
        raise NotImplementedError(self.name)

    # Text: `array.sum %x {axis = [1]} : tensor<2x3xf32> -> tensor<2xf32>`.

    def prints_one_type(self) -> bool:
        """Whether one type is written for all operands and results."""
        values = (*self.operands, *self.results)
        return self.SAME_TYPE and all(v.type == values[0].type for v in values)

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.operands else "")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.attributes:
            print_attributes(printer, self.attributes)
        printer.print_string(" : ")
        results = [r.type for r in self.results]
        if not self.prints_one_type() and self.operands:
            printer.print_list([o.type for o in self.operands], printer.print_attribute)
            printer.print_string(" -> ")
        if len(results) == 1:
            printer.print_attribute(results[0])
        else:
            with printer.in_parens():
                printer.print_list(results, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        operands = operands or []
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_type, parser.parse_type
        )
        types = types or []
        if parser.parse_optional_punctuation("->") is not None:
            results = _parse_result_types(parser)
        elif cls.SAME_TYPE or not operands:
            results = types or _parse_result_types(parser)
            types = results[:1] * len(operands)
        else:
            parser.raise_error(f"{cls.name}: expected `-> type` after the operand types")
        values = parser.resolve_operands(operands, types, position)
        return cls.create(operands=values, result_types=results, attributes=attributes)


def _parse_result_types(parser: Parser) -> list[Attribute]:
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)
