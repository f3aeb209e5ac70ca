"""array: contractions of any axes: dot_general and its special cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.contraction import MatmulOp, ProductOp
from gradir.dialects.array.lines import factor_reached
from gradir.dialects.array.movement import (
    BroadcastToOp,
    PermuteDimsOp,
    moved_axis,
    reshaped,
    sum_to_shape,
)
from gradir.dialects.array.reductions import SumOp, narrowed, widened
from gradir.dialects.base.access import Access
from gradir.dialects.base.attributes import Attributes, Plain, Types, integer, integers
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import (
    PRECISION,
    precision_in,
    precision_of,
    require_precision,
)
from gradir.dialects.base.shapes import (
    DYNAMIC,
    broadcast_shapes,
    element_of,
    normalize_axes,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.contractions import contract
from gradir.dialects.building.kinds import require_elements_agree
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


@dataclass(frozen=True)
class _Axes:
    """The axes of one factor: those paired with the other factor's, in order, and the free ones."""

    batch: list[int]
    contract: list[int]
    free: list[int]


def _axes(attributes: Attributes, side: str, rank: int) -> _Axes:
    names = [f"{side}_batch", f"{side}_contract"]
    both = [normalize_axes(integers(attributes, name, []) or [], rank, name) for name in names]
    normalize_axes(both[0] + both[1], rank, " and ".join(names))
    return _Axes(both[0], both[1], [d for d in range(rank) if d not in both[0] + both[1]])


def _named_axes(axes: _Axes, side: int) -> dict[int, tuple[str, int, int]]:
    """A name for each axis of a factor; both factors name batch axes alike."""
    names = {d: ("batch", 0, k) for k, d in enumerate(axes.batch)}
    names |= {d: ("contract", 0, k) for k, d in enumerate(axes.contract)}
    return names | {d: ("free", side, k) for k, d in enumerate(axes.free)}


@irdl_op_definition
class DotGeneralOp(ProductOp):
    """The sum of products over pairs of axes, for each pair of batch axes.

    `lhs_contract` and `rhs_contract` are summed together, `lhs_batch` and `rhs_batch` run together,
    each [] where absent. The result has the batch axes, then the axes left of lhs and of rhs.
    f16 and bf16 are summed in f32; `precision` is as for array.matmul.
    vjp: dot_general of ct and the other factor over that one's own axes, permuted
    """

    name = "array.dot_general"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract", PRECISION,
    )  # fmt: skip

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        lhs, rhs = operands
        require_elements_agree(operands, cls.DOMAIN, cls.COMPLEX)
        require_precision(attributes, operands)
        left_shape, right_shape = shape_of(lhs), shape_of(rhs)
        left = _axes(attributes, "lhs", len(left_shape))
        right = _axes(attributes, "rhs", len(right_shape))
        pairs = (("batch", left.batch, right.batch), ("contract", left.contract, right.contract))
        for what, ours, theirs in pairs:
            if len(ours) != len(theirs):
                raise VerifyException(
                    f"lhs_{what} and rhs_{what} must be as many, got {ours} and {theirs}"
                )
            for i, j in zip(ours, theirs, strict=True):
                n, m = left_shape[i], right_shape[j]
                if n != m and DYNAMIC not in (n, m):
                    raise VerifyException(
                        f"axes {i} of lhs and {j} of rhs must have one extent, got {n} and {m}"
                    )
        shape = [left_shape[d] for d in left.batch + left.free]
        return [tensor(shape + [right_shape[d] for d in right.free], element_of(lhs))]

    @property
    def sides(self) -> tuple[_Axes, _Axes]:
        ranks = len(shape_of(self.lhs.type)), len(shape_of(self.rhs.type))
        return _axes(self.attributes, "lhs", ranks[0]), _axes(self.attributes, "rhs", ranks[1])

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        left, right = self.sides
        batch, first = len(left.batch), len(left.batch) + len(left.free)
        of_left = list(range(batch, first))
        of_right = list(range(first, first + len(right.free)))
        return [
            _transposed(ct, rhs, of_right, right, left, precision_in(self.attributes)),
            _transposed(ct, lhs, of_left, left, right, precision_in(self.attributes)),
        ]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        """The elements of a factor at free and batch places of elements that a mask names."""
        [mask] = masks
        if mask is None:
            return None
        sides, shape = self.sides, shape_of(self.operands[place].type)
        named = [_named_axes(axes, k) for k, axes in enumerate(sides)]
        product = [*(named[0][d] for d in sides[0].batch + sides[0].free)]
        product += [named[1][d] for d in sides[1].free]
        return factor_reached(mask, product, [named[place][d] for d in range(len(shape))], shape)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """The rows run together; rows of one factor alone are one of its free axes."""
        changed: dict[str, Plain] = {**precision_in(self.attributes)}
        both = all(batch.has_rows)
        for side, axes, has_rows in zip(("lhs", "rhs"), self.sides, batch.has_rows, strict=True):
            first = [0] if both else []
            changed[f"{side}_batch"] = [*first, *(d + has_rows for d in axes.batch)]
            changed[f"{side}_contract"] = [d + has_rows for d in axes.contract]
        product = DotGeneralOp.on(*batch.operands, type=None, **changed)
        if both:
            return [product]
        left = self.sides[0]
        place = len(left.batch) + (0 if batch.has_rows[0] else len(left.free))
        return [moved_axis(product, place, 0)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        left, right = self.sides
        left_shape, right_shape = shape_of(self.lhs.type), shape_of(self.rhs.type)
        bounds = [left_shape[d] for d in left.batch + left.free]
        bounds += [right_shape[d] for d in right.free]
        free = len(bounds)
        bounds += [left_shape[d] for d in left.contract]
        precision = precision_of(self.attributes)
        if precision is not None and not left.contract:
            bounds.append(1)  # a chain of one product
        batch, first = len(left.batch), len(left.batch) + len(left.free)
        summed = range(free, free + len(left.contract))
        left_dims = {**dict(zip(left.batch + left.free, range(first), strict=True)),
                     **dict(zip(left.contract, summed, strict=True))}  # fmt: skip
        right_dims = {**dict(zip(right.batch, range(batch), strict=True)),
                      **dict(zip(right.free, range(first, free), strict=True)),
                      **dict(zip(right.contract, summed, strict=True))}  # fmt: skip
        rank, element = len(bounds), element_of(self.y.type)
        reads = [
            Read(operand, Access.of_dims(rank, [dims[d] for d in range(len(dims))]))
            for operand, dims in zip(operands, (left_dims, right_dims), strict=True)
        ]
        access = Access.of_dims(rank, range(free))
        if precision is None and (not left.contract or free == batch):
            # no contracted axis, or a result of batch axes alone: no matrix product
            combiner = "add" if left.contract else "none"
            output = Output(self.y.type, access, combiner)
            return nest(emitter, bounds, reads, [output], _product(element, not left.contract))

        def store(total: Scalar) -> Scalar:
            return b.from_compute(total, element)

        roles = "b" * batch + "m" * len(left.free) + "n" * len(right.free)
        roles += "k" * (rank - free)
        output = Output(self.y.type, access)
        return contract(
            emitter, bounds, reads, [output], b.compute_type(element), store, roles, precision
        )

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        left, right = self.sides
        labels = dict(zip(right.batch + right.contract, left.batch + left.contract, strict=True))
        ours = list(range(lhs.ndim))
        theirs = [labels.get(d, lhs.ndim + d) for d in range(rhs.ndim)]
        result = left.batch + left.free + [theirs[d] for d in right.free]
        arguments: list[Any] = [lhs, ours, rhs, theirs, result]
        return np.einsum(*arguments)


def _product(element: Attribute, is_rounded: bool) -> Any:
    """The body of a nest over products, for elements or for sums."""

    def body(x: Scalar, y: Scalar) -> Scalar:
        product = b.to_compute(x, element) * b.to_compute(y, element)
        return b.from_compute(product, element) if is_rounded else product

    return body


def _transposed(
    ct: Value,
    other: Value,
    others_free: list[int],
    other_axes: _Axes,
    own: _Axes,
    precision: Mapping[str, Attribute],
) -> Value:
    """The cotangent of one factor; `others_free` are the other factor's own axes in ct."""
    # contracted axes of the product stand in the order of the other factor
    order = sorted(range(len(own.contract)), key=lambda k: other_axes.contract[k])
    contract_axes = [own.contract[k] for k in order]
    batch = list(range(len(own.batch)))
    ours, theirs = (ct, batch, others_free), (other, other_axes.batch, other_axes.free)
    axes = own.batch + own.free + contract_axes
    if axes != sorted(axes):
        # exchanged factors put the own axes last, which sometimes saves a permutation
        ours, theirs = theirs, ours
        axes = own.batch + contract_axes + own.free
    product = DotGeneralOp.on(
        ours[0],
        theirs[0],
        lhs_batch=ours[1],
        rhs_batch=theirs[1],
        lhs_contract=ours[2],
        rhs_contract=theirs[2],
        **precision,
    )
    return permuted(product, [axes.index(d) for d in range(len(axes))])


def permuted(x: Value, axes: Sequence[int]) -> Value:
    """x with its axes in this order; x itself where they are."""
    return x if list(axes) == sorted(axes) else PermuteDimsOp.on(x, axes=list(axes))


@irdl_op_definition
class OuterOp(ProductOp):
    """y[i, j] = lhs[i] * rhs[j] of two vectors.   vjp: ct rhs, lhs ct"""

    name = "array.outer"
    COMPLEX: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        lhs, rhs = operands
        require_elements_agree(operands, cls.DOMAIN, cls.COMPLEX)
        if len(shape_of(lhs)) != 1 or len(shape_of(rhs)) != 1:
            raise VerifyException(f"operands must have rank 1, got {lhs} and {rhs}")
        return [tensor([*shape_of(lhs), *shape_of(rhs)], element_of(lhs))]

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [
            DotGeneralOp.on(ct, rhs, lhs_contract=[1], rhs_contract=[0]),
            DotGeneralOp.on(ct, lhs, lhs_contract=[0], rhs_contract=[0]),
        ]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        shape = shape_of(self.operands[place].type)
        return None if mask is None else factor_reached(mask, [0, 1], [place], shape)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """A product of a column and a line for each row."""
        lhs, rhs = batch.all_with_rows()
        column, line = [*lhs.shape, 1], [batch.size, 1, *rhs.shape[1:]]
        return [MatmulOp.on(reshaped(lhs, column), reshaped(rhs, line))]

    def decompose(self, lhs: Value, rhs: Value) -> Value:
        return DotGeneralOp.on(lhs, rhs)

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        return np.multiply.outer(lhs, rhs)


@irdl_op_definition
class VecdotOp(ProductOp):
    """The sum of products along one axis of both operands, `axis = -1`; other axes broadcast.

    A negative axis counts from the end of each operand; one >= 0 needs operands of one rank. f16
    and bf16 are summed in f32, and nothing is conjugated.

    vjp: ct * rhs, ct * lhs, summed over broadcast axes
    """

    name = "array.vecdot"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        lhs, rhs = operands
        require_elements_agree(operands, cls.DOMAIN, cls.COMPLEX)
        shape, axis = _common_shape(shape_of(lhs), shape_of(rhs), attributes)
        return [tensor(shape[:axis] + shape[axis + 1 :], element_of(lhs))]

    def common(self, lhs: Value, rhs: Value) -> tuple[Value, Value, int]:
        """Both operands over their common shape, and the axis there."""
        shape, axis = _common_shape(lhs.shape, rhs.shape, self.attributes)
        left, right = (BroadcastToOp.on(x, type=tensor(shape, x.element)) for x in (lhs, rhs))
        return left, right, axis

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        left, right, axis = self.common(lhs, rhs)
        line = reshaped(ct, [*ct.shape[:axis], 1, *ct.shape[axis:]])
        spread = widened(BroadcastToOp.on(line, type=left.type))
        return [
            narrowed(sum_to_shape(spread * widened(right), lhs.shape), lhs.type),
            narrowed(sum_to_shape(spread * widened(left), rhs.shape), rhs.type),
        ]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        if mask is None:
            return None
        shapes = [shape_of(o.type) for o in self.operands]
        common, axis = _common_shape(shapes[0], shapes[1], self.attributes)
        names = list(range(-len(common), 0))
        product = names[:axis] + names[axis + 1 :]
        return factor_reached(mask, product, names[-len(shapes[place]) :], shapes[place])

    def decompose(self, lhs: Value, rhs: Value) -> Value:
        left, right, axis = self.common(lhs, rhs)
        return narrowed(SumOp.on(widened(left) * widened(right), axis=axis), self.y.type)

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        _, axis = _common_shape(lhs.shape, rhs.shape, self.attributes)
        return (lhs * rhs).sum(axis=axis, dtype=lhs.dtype)


def _common_shape(
    lhs: Sequence[int], rhs: Sequence[int], attributes: Attributes
) -> tuple[tuple[int, ...], int]:
    """The broadcast shape of both operands, and its summed axis."""
    axis = integer(attributes, "axis", -1)
    if axis >= 0 and len(lhs) != len(rhs):
        raise VerifyException(
            f"axis must be negative for operands of {len(lhs)} and {len(rhs)} axes, got {axis}"
        )
    from_end = normalize_axis(axis, min(len(lhs), len(rhs))) - min(len(lhs), len(rhs))
    n, m = lhs[from_end], rhs[from_end]
    if n != m and DYNAMIC not in (n, m):
        raise VerifyException(f"both must have one extent along the axis, got {n} and {m}")
    shape = broadcast_shapes(lhs, rhs)
    return shape, len(shape) + from_end


OPS: tuple[type[TensorOp], ...] = (DotGeneralOp, OuterOp, VecdotOp)
