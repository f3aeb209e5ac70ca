"""array: reads and sums at subscripts that are affine in the places of a grid.

`map` gives the subscripts of x for each place: `affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)>` reads
x[2 i + j - 1]. The two ops are each other's transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import AffineMapAttr, bf16, f16
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.joining import pad_value
from gradir.dialects.base.access import Access, Row, access_of, dim_row
from gradir.dialects.base.attributes import flag, number
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import (
    element_of,
    is_float,
    is_static,
    require_size,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements, require_number
from gradir.dialects.building.nests import Read, add_at, nest, view
from gradir.dialects.loopnest.loopnest import Output

HALVES = (f16, bf16)
LARGEST = 1 << 40
"""The bound of subscripts and the numbers in them, which products with extents keep in 64 bits."""


def _same(x: Scalar) -> Sequence[Scalar]:
    return [x]


class _AffineOp(TensorOp):
    """The base of the two ops: one operand, a grid, and the subscripts of another array."""

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    def require_access(self, grid: Attribute, subscripted: Attribute, is_free: bool) -> None:
        """VerifyException unless `map` fits both types, and stays inside if it is not free."""
        if element_of(grid) != element_of(subscripted):
            raise VerifyException(f"elements must agree, got {self.x.type} and {self.y.type}")
        access, bounds, shape = self.access, shape_of(grid), shape_of(subscripted)
        if access.num_dims != len(bounds) or len(access.rows) != len(shape):
            raise VerifyException(
                f"map must go from {len(bounds)} dimensions to {len(shape)} subscripts, got "
                f"{access.num_dims} and {len(access.rows)}"
            )
        for d, row in enumerate(access.rows):
            numbers = [row.constant, *row.coefficients]
            if max(map(abs, numbers)) >= LARGEST:
                raise VerifyException(
                    f"numbers of subscript {d} must stay below 2**40, got {numbers}"
                )
        if 0 in bounds or not (is_static(grid) and is_static(subscripted)):
            return
        for d, (row, extent) in enumerate(zip(access.rows, shape, strict=True)):
            low, high = row.interval(bounds)
            if max(abs(low), abs(high)) >= LARGEST:
                raise VerifyException(f"subscript {d} must stay below 2**40, got {low} to {high}")
            if not is_free and not 0 <= low <= high < extent:
                raise VerifyException(
                    f"subscript {d} must be in [0, {extent}), got {low} to {high}; {self.WAY_OUT}"
                )

    WAY_OUT: ClassVar[str]

    @property
    def access(self) -> Access:
        """The subscripts; VerifyException where they are not affine."""
        found = self.attributes.get("map")
        if not isinstance(found, AffineMapAttr):
            raise VerifyException(f"map must be an affine map, got {found or 'nothing'}")
        try:
            access = access_of(found.data)
        except ValueError as error:
            raise VerifyException(f"map: {error}") from None
        if found.data.num_symbols:
            raise VerifyException("map must have no symbols")
        return access

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """The op with one more loop in front, which is the first subscript."""
        access = self.access
        rank = access.num_dims + 1
        rows = [Row((0, *row.coefficients), row.constant) for row in access.rows]
        wider = Access(rank, (dim_row(rank, 0, 1, 0), *rows))
        return batch.same_op(
            batch.operands, batch.result_types(), map=AffineMapAttr(wider.to_map())
        )

    def places(self, bounds: Sequence[int], shape: Sequence[int]) -> tuple[Any, Any]:
        """Where the grid's places are inside of an array, and the elements' numbers there."""
        grid, inside = np.indices(bounds), np.ones(bounds, bool)
        numbers = np.zeros(bounds, np.int64)
        for row, extent in zip(self.access.rows, shape, strict=True):
            place = np.full(bounds, row.constant)
            for d, c in enumerate(row.coefficients):
                place = place + c * grid[d]
            inside &= (place >= 0) & (place < extent)
            numbers = numbers * extent + place
        return inside, numbers[inside]


@irdl_op_definition
class AffineGatherOp(_AffineOp):
    """y[d...] = x[map(d...)] for each place d... of the result, as in a loop nest.

    `map` is an affine map without symbols. Subscripts stay inside of x, or give the number `pad`
    outside.   vjp: array.affine_scatter_add of ct by the same map
    """

    name = "array.affine_gather"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("map", "pad")
    WAY_OUT: ClassVar[str] = "give a pad for reads outside"

    def verify_types(self) -> None:
        self.require_access(self.y.type, self.x.type, "pad" in self.attributes)
        if "pad" in self.attributes:
            require_number(number(self.attributes, "pad"), self.x.type)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        drops = {"drop": True} if "pad" in self.attributes else {}
        return [AffineScatterAddOp.on(ct, type=x.type, map=self.attributes["map"], **drops)]

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        pad = None
        if "pad" in self.attributes:
            pad = pad_value(number(self.attributes, "pad"), element_of(self.y.type))
        return view(emitter, self.y.type, operands[0], self.access, pad)

    def numpy(self, x: Any) -> Any:
        inside, numbers = self.places(shape_of(self.y.type), x.shape)
        y = np.empty(inside.shape, x.dtype)
        if "pad" in self.attributes:
            value = number(self.attributes, "pad")
            y[...] = rounded(value, element_of(self.y.type)) if x.dtype.kind == "f" else value
        y[inside] = x.reshape(-1)[numbers]
        return y


@irdl_op_definition
class AffineScatterAddOp(_AffineOp):
    """y[map(d...)] += x[d...] for each place d... of x, from zeros, as in a loop nest.

    `map` is an affine map without symbols. Subscripts stay inside of y; with `drop = true` what
    falls outside is dropped. Places may repeat: f16 and bf16 are added in f32 and rounded once.
    vjp: array.affine_gather of ct by the same map
    """

    name = "array.affine_scatter_add"
    COMPLEX: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("map", "drop")
    WAY_OUT: ClassVar[str] = "set drop = true for sums outside"

    @property
    def drops(self) -> bool:
        return flag(self.attributes, "drop", False)

    def verify_types(self) -> None:
        require_elements(self.x.type, "number", self.COMPLEX)
        self.require_access(self.x.type, self.y.type, self.drops)
        if is_static(self.x.type) and is_static(self.y.type):
            require_size(tensor(self._extents(), element_of(self.y.type)))

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        pad = {"pad": 0.0 if is_float(x.element) else 0} if self.drops else {}
        return [AffineGatherOp.on(ct, type=x.type, map=self.attributes["map"], **pad)]

    def _intervals(self) -> list[tuple[int, int]]:
        bounds = shape_of(self.x.type)
        return [row.interval(bounds) for row in self.access.rows]

    def _extents(self) -> list[int]:
        """The shape in which all sums have a place, inside or outside of the result."""
        if not self.drops or 0 in shape_of(self.x.type):
            return list(shape_of(self.y.type))
        return [high - low + 1 for low, high in self._intervals()]

    def _inverse(self) -> Access | None:
        """The place of x for each place of y, where each dimension has a subscript of its own."""
        dims = [row.used for row in self.access.rows]
        if sorted(dims) != [(d,) for d in range(self.access.num_dims)]:
            return None
        found: list[Row] = []
        for d in range(len(dims)):
            axis = dims.index((d,))
            row = self.access.rows[axis]
            sign = row.coefficients[d]
            if abs(sign) != 1:
                return None
            found.append(dim_row(len(dims), axis, sign, -sign * row.constant))
        return Access(len(dims), tuple(found))

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        element = element_of(self.y.type)
        if (inverse := self._inverse()) is not None:
            is_inside = inverse.is_in_bounds(shape_of(self.y.type), shape_of(self.x.type))
            pad = None if is_inside else pad_value(0, element)
            return view(emitter, self.y.type, operands[0], inverse, pad)
        if not self.drops or 0 in shape_of(self.x.type):
            return [self._sums(emitter, operands[0], self.access)]
        low = [lo for lo, _ in self._intervals()]
        rows = [
            Row(row.coefficients, row.constant - lo)
            for row, lo in zip(self.access.rows, low, strict=True)
        ]
        sums = self._sums(emitter, operands[0], Access(self.access.num_dims, tuple(rows)))
        back = [dim_row(len(low), d, 1, -lo) for d, lo in enumerate(low)]
        pad = pad_value(0, element)
        return view(emitter, self.y.type, sums, Access(len(low), tuple(back)), pad)

    def _sums(self, emitter: Emitter, x: SSAValue, access: Access) -> SSAValue:
        """The sums over a shape in which all have a place."""
        extents, element = self._extents(), element_of(self.y.type)
        bounds, type_ = shape_of(self.x.type), tensor(extents, element)
        reads = [Read(x, Access.identity(len(bounds)))]
        dims = [row.dim for row in access.rows]
        if None not in dims and len({*dims}) == len(dims) and element_of(type_) not in HALVES:
            if [bounds[d] for d in dims if d is not None] == extents:  # each place gets a sum
                return nest(emitter, bounds, reads, [Output(type_, access, "add")], _same)[0]
        zeros = Output(type_, Access.identity(len(extents)))

        def zero(near: Scalar) -> Scalar:
            return b.literal(near, 0, element)

        [base] = nest(emitter, extents, [], [zeros], zero)
        return add_at(emitter, base, access, bounds, reads, _same)[0]

    def numpy(self, x: Any) -> Any:
        shape = shape_of(self.y.type)
        inside, numbers = self.places(x.shape, shape)
        wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
        y = np.zeros(prod(shape), wide)
        np.add.at(y, numbers, x[inside].astype(wide))
        return y.reshape(shape).astype(x.dtype)


OPS: tuple[type[TensorOp], ...] = (AffineGatherOp, AffineScatterAddOp)
