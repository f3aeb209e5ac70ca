"""What values are that are made of eigenvectors or singular vectors: products of numbers and of
vectors, with one axis that counts the vectors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.elementwise import splat_of
from gradir.dialects.array.factorizations import EighOp, SvdOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.base.shapes import shape_of, tensor
from gradir.dialects.base.value import Emitter, Value

Step = tuple[str, SSAValue]
"""A change of all values by one number for each matrix: add, multiply."""


@dataclass(frozen=True)
class Factors:
    """The factors of a matrix: its values, and how its vectors are called."""

    op: EighOp | SvdOp

    @property
    def values(self) -> SSAValue:
        return self.op.w if isinstance(self.op, EighOp) else self.op.s

    @property
    def rank(self) -> int:
        """The number of leading axes."""
        return len(shape_of(self.values.type)) - 1


@dataclass(frozen=True)
class Form:
    """What a value is: a product of numbers and vectors with one axis that counts the vectors.

    layout: "w" numbers f(w_i), "u" of one vector each, [.., i]; "c" [.., p, i], "r" [.., i, p].
    legs: the sides of the vectors, "u" or "v", and with what each is multiplied: a matrix
    [.., p, n], None for the identity. One of two legs in layout "u" is a matrix between both.
    An upper-case side is conjugated; of complex matrices one leg of a pair is. `is_real`: the real
    part is taken.
    `vector` are the numbers, [.., i], None for ones; `steps` is how they come of the values, if by
    steps alone. `scale` is a further factor, one number for each matrix.
    """

    factors: Factors
    layout: str
    run: tuple[int, int]
    legs: tuple[tuple[str, SSAValue | None], ...] = ()
    vector: SSAValue | None = None
    steps: tuple[Step, ...] | None = None
    moved: tuple[Step, ...] = ()
    scale: SSAValue | None = None
    axis: int = -1
    is_real: bool = False


class FormReader:
    """One op of a block: the form of its result, or the op in its place."""

    def __init__(self, op: Operation, forms: dict[SSAValue, Form]) -> None:
        self.op, self.forms = op, forms
        block = op.parent
        assert block is not None
        self.emitter = Emitter(block, op.location, before=op)

    def form(self, ssa: SSAValue) -> Form | None:
        return self.forms.get(ssa)

    def value(self, ssa: SSAValue) -> Value:
        return self.emitter.value(ssa)

    def number_of(self, ssa: SSAValue, rank: int) -> Value | None:
        """One number for each matrix, [..], of a tensor that repeats it; None for others."""
        if ssa in self.forms:
            return None
        owner, shape = ssa.owner, shape_of(ssa.type)
        splat = splat_of(ssa)
        if splat is not None:
            one = self.value(ssa)
            type_ = tensor(shape[:rank], one.element)
            return BroadcastToOp.on(filled(one, splat), type=type_)
        if not isinstance(owner, BroadcastToOp):
            return None
        source = shape_of(owner.x.type)
        line = [1] * (len(shape) - len(source)) + list(source)
        if any(n != 1 for n in line[rank:]):
            return None
        inner = reshaped(self.value(owner.x), line[:rank])
        return BroadcastToOp.on(inner, type=tensor(shape[:rank], inner.element))


Found = Form | Value | None


def filled(near: Value, number: complex) -> Value:
    from gradir.dialects.array.creation import FullOp

    op = FullOp.fill(number, tensor([], near.element))
    return near.emitter.value(near.emitter.insert(op).y)


def is_like(x: Form, y: Form) -> bool:
    return x.factors == y.factors and x.run == y.run


def axis_of(form: Form, ssa: SSAValue) -> int:
    """The axis that counts vectors."""
    rank = len(shape_of(ssa.type))
    if form.layout == "w":
        return form.axis % rank
    return rank - 2 if form.layout in ("r", "ar") else rank - 1


def spread_number(reader: FormReader, number: Value, form: Form | None) -> Value:
    assert form is not None
    shape = shape_of(form.factors.values.type)[:-1]
    return BroadcastToOp.on(number, type=tensor(shape, number.element))
