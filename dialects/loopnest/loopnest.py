"""The loopnest dialect: structured loops in the sense of `linalg.generic`, on tensors or buffers.

A nest is an iteration space, an access for each operand, a scalar body (arith and math), and for
each output a combiner. Fusion and code generation work on these ops alone.

    %y, %s = loopnest.nest [64, 10] (%a = %x[d0, d1] : tensor<64x10xf32>,
                                     %b = %bias[d1] : tensor<10xf32>)
        -> ([d0, d1] : tensor<64x10xf32>, add [d0] : tensor<64xf32>) {
      %0 = arith.addf %a, %b : f32
      loopnest.yield %0, %0 : f32, f32
    }

Dimensions that an output's access leaves out are reduced by its combiner (add, multiply, maximum,
minimum, and, or), in an order set by the bounds and the access alone. An output without a combiner
is written at most once. `%a = %x[d0 - 1] pad 0.0 : f32 : tensor<64xf32>` reads 0 outside of the
tensor. An input without subscripts is handed to the body whole, for `loopnest.load`. An output row
may be a symbol,
`add [s0, d1]`: the index is yielded by the body after the values (scatter). An output may start
from a tensor (`init %z`); at buffer level it then starts from the buffer's contents.
Elements that get nothing have the combiner's neutral number, or what they start from; without
combiner and start they are undefined.
The yielded type may be wider than the output's: it is accumulated so and rounded once.

Programs may use nests as ops; `dialects/foreign/nest_rules.py` has their derivative.

Ops with loops of their own, as a sort or a triangular solve, are `loopnest.forall`: see forall.py.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import ClassVar, NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access, access_of
from gradir.dialects.base.attributes import bounds_attribute, bounds_of
from gradir.dialects.base.kept_facts import kept_fact
from gradir.dialects.base.segments import SIZES, read_quickly, segment_sizes
from gradir.dialects.loopnest import body_ops, buffer_ops, special
from gradir.dialects.loopnest.body_ops import (
    CheckIndexOp,
    IndexOp,
    LoadOp,
    ShapedType,
    WritesBuffers,
    YieldOp,
    scalar_type,
)
from gradir.dialects.loopnest.checks import (
    require_combiner,
    require_count,
    require_pad,
    require_subscripts,
    verify_factors,
    verify_precision,
    verify_starts,
    verify_yielded,
)
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.dialects.loopnest.text import parse_loop_header, print_loop, subscripts

__all__ = [
    "CheckIndexOp", "ContractOp", "IndexOp", "KernelOp", "LoadOp", "LoopOp", "Loopnest", "NestOp",
    "Output", "ReshapeOp", "ShapedType", "YieldOp", "scalar_type",
]  # fmt: skip


class Output(NamedTuple):
    """One output of a nest: its type, access and combiner, and the tensor that it starts from."""

    type: Attribute
    access: Access
    combiner: str = "none"
    init: SSAValue | None = None


# Attributes repeat from nest to nest, and one costs as much to build as the rest of an op.


@lru_cache(maxsize=4096)
def _numbers(values: tuple[int, ...]) -> Attribute:
    return bounds_attribute(values)


@lru_cache(maxsize=4096)
def _maps(accesses: tuple[Access | None, ...]) -> ArrayAttr[Attribute]:
    return ArrayAttr(UnitAttr() if a is None else AffineMapAttr(a.to_map()) for a in accesses)


@kept_fact
def _accesses(maps: Attribute) -> tuple[Access | None, ...]:
    """The accesses of a property of maps: `_maps`, back."""
    entries = cast(ArrayAttr[Attribute], maps)
    return tuple(access_of(m.data) if isinstance(m, AffineMapAttr) else None for m in entries)


@lru_cache(maxsize=4096)
def _pads(values: tuple[Attribute | None, ...]) -> ArrayAttr[Attribute]:
    return ArrayAttr(UnitAttr() if p is None else p for p in values)


@kept_fact
def _pads_of(pads: Attribute) -> tuple[Attribute | None, ...]:
    """`_pads`, back."""
    entries = cast(ArrayAttr[Attribute], pads)
    return tuple(None if isinstance(p, UnitAttr) else p for p in entries)


@kept_fact
def _names_of(names: Attribute) -> tuple[str, ...]:
    """`_names`, back."""
    return tuple(name.data for name in cast(ArrayAttr[StringAttr], names))


@kept_fact
def _numbers_of(numbers: Attribute) -> tuple[int, ...]:
    """`_numbers`, back."""
    return bounds_of(numbers)


@lru_cache(maxsize=4096)
def _names(values: tuple[str, ...]) -> ArrayAttr[StringAttr]:
    return ArrayAttr(map(StringAttr, values))


class LoopOp(IRDLOperation, ABC):
    """The base of nest and contract: bounds, inputs with accesses, outputs with combiners."""

    inputs = var_operand_def()
    inits = var_operand_def()
    outputs = var_operand_def()
    scratch = var_operand_def()
    results_ = var_result_def()
    bounds = prop_def(DenseArrayBase)
    input_maps = prop_def(ArrayAttr[Attribute])
    pads = prop_def(ArrayAttr[Attribute])
    output_maps = prop_def(ArrayAttr[AffineMapAttr])
    combiners = prop_def(ArrayAttr[StringAttr])
    init_outputs = prop_def(DenseArrayBase)
    roles = opt_prop_def(StringAttr)
    precision = opt_prop_def(StringAttr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    # The number of leading inputs that the body does not see (the two factors of a contraction).
    HIDDEN_INPUTS: ClassVar[int] = 0

    def __init__(
        self,
        bounds: Sequence[int],
        inputs: Sequence[SSAValue],
        accesses: Sequence[Access | None],
        outputs: Sequence[Output],
        body: Region | Block,
        pads: Sequence[Attribute | None] | None = None,
        buffers: Sequence[SSAValue] = (),
        init_outputs: Sequence[int] | None = None,
        scratch: SSAValue | None = None,
        roles: StringAttr | None = None,
        precision: StringAttr | None = None,
    ):
        """Build at tensor level, or at buffer level where `buffers` holds one memref an output.

        `scratch` is a buffer of bytes for code generation, undefined before and after.
        `roles` are the roles of a contraction's dimensions, `precision` that of its products.
        """
        starts = [k for k, o in enumerate(outputs) if o.init is not None]
        groups = (
            inputs,
            [o.init for o in outputs if o.init is not None],
            buffers,
            [scratch] if scratch else [],
        )
        properties: dict[str, Attribute] = {
            SIZES: segment_sizes(*map(len, groups)),
            "bounds": _numbers(tuple(bounds)),
            "input_maps": _maps(tuple(accesses)),
            "pads": _pads(tuple(pads or [None] * len(inputs))),
            "output_maps": _maps(tuple(o.access for o in outputs)),
            "combiners": _names(tuple(o.combiner for o in outputs)),
            "init_outputs": _numbers(tuple(init_outputs or starts)),
        }
        if roles is not None:
            properties["roles"] = roles
        if precision is not None:
            properties["precision"] = precision
        # not IRDL's constructor, which costs more than all else here
        Operation.__init__(
            self,
            operands=[operand for group in groups for operand in group],
            result_types=[] if buffers else [o.type for o in outputs],
            properties=properties,
            regions=[body if isinstance(body, Region) else Region(body)],
        )

    def set_inputs(
        self,
        values: Sequence[SSAValue],
        accesses: Sequence[Access | None],
        pads: Sequence[Attribute | None],
    ) -> None:
        """Read these inputs from now on; the body's arguments must be made to match."""
        groups = (values, self.inits, self.outputs, self.scratch)
        self.operands = [operand for group in groups for operand in group]
        self.properties[SIZES] = segment_sizes(*map(len, groups))
        self.properties["input_maps"] = _maps(tuple(accesses))
        self.properties["pads"] = _pads(tuple(pads))

    def set_accesses(self, inputs: Sequence[Access | None], outputs: Sequence[Access]) -> None:
        """Address the operands in another way from now on."""
        self.properties["input_maps"] = _maps(tuple(inputs))
        self.properties["output_maps"] = _maps(tuple(outputs))

    def set_extents(self, extents: Sequence[int]) -> None:
        """Run over these dimensions from now on; accesses must be made to match."""
        self.properties["bounds"] = _numbers(tuple(extents))

    # Queries of passes.

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of iterations of each dimension."""
        return _numbers_of(self.properties["bounds"])

    @property
    def input_accesses(self) -> list[Access | None]:
        """One access per input; None for a whole tensor."""
        return list(_accesses(self.properties["input_maps"]))

    @property
    def input_pads(self) -> list[Attribute | None]:
        return list(_pads_of(self.properties["pads"]))

    @property
    def output_accesses(self) -> list[Access]:
        return list(cast(tuple[Access, ...], _accesses(self.properties["output_maps"])))

    @property
    def output_combiners(self) -> list[str]:
        return list(_names_of(self.properties["combiners"]))

    @property
    def output_types(self) -> list[Attribute]:
        """Tensor types at tensor level, memref types at buffer level."""
        return [v.type for v in self.outputs or self.results_]

    @property
    def starting_outputs(self) -> list[int]:
        """The outputs that start from `inits` (tensors) or from their buffer's contents."""
        return list(_numbers_of(self.properties["init_outputs"]))

    @property
    def output_list(self) -> list[Output]:
        """The outputs as the constructor's arguments."""
        inits = dict(zip(self.starting_outputs, self.inits, strict=False))
        rows = zip(self.output_types, self.output_accesses, self.output_combiners, strict=True)
        return [Output(t, a, c, inits.get(k)) for k, (t, a, c) in enumerate(rows)]

    @property
    def yielded(self) -> list[SSAValue]:
        """The values the body yields: one per output, then the scattered indices."""
        last = self.body.block.last_op
        assert last is not None
        return list(last.operands)

    def is_stored_as_yielded(self, number: int) -> bool:
        """Whether an output holds the numbers that the body yields: wider ones are rounded."""
        element = cast(ShapedType, self.output_types[number]).element_type
        return self.yielded[number].type == scalar_type(element)

    # Verification.

    def verify_(self) -> None:
        rank = len(self.extents)
        if any(n < 0 for n in self.extents):
            raise VerifyException(
                f"{self.name}: bounds must not be negative, got {list(self.extents)}"
            )
        if not len(self.input_maps) == len(self.pads) == len(self.inputs):
            raise VerifyException(f"{self.name}: one access and pad per input expected")
        if not len(self.output_maps) == len(self.combiners) == len(self.output_types):
            raise VerifyException(f"{self.name}: one access and combiner per output expected")
        require_count(self, self.extents)
        self._verify_accesses(rank)
        verify_starts(self)
        self._verify_body()

    def _verify_accesses(self, rank: int) -> None:
        try:
            inputs, outputs = self.input_accesses, self.output_accesses
        except ValueError as error:
            raise VerifyException(f"{self.name}: {error}") from None
        kinds = list(zip(self.inputs.types, inputs, self.input_pads, strict=True))
        kinds += [(t, a, None) for t, a in zip(self.output_types, outputs, strict=True)]
        for type_, access, pad in kinds:
            shape = cast(ShapedType, type_).get_shape()
            if access is None:
                continue
            require_pad(self, pad, type_)
            if access.num_dims != rank or len(access.rows) != len(shape):
                raise VerifyException(
                    f"{self.name}: {len(shape)} subscripts over {rank} loops expected for {type_}, "
                    f"got {subscripts(access)} over {access.num_dims}"
                )
            require_subscripts(self, access, self.extents)
            if pad is None and not access.is_in_bounds(self.extents, shape):
                raise VerifyException(
                    f"{self.name}: subscripts must stay inside {type_} over bounds "
                    f"{list(self.extents)}, got {subscripts(access)}"
                )
        if any(row.symbol is not None for access in inputs if access for row in access.rows):
            raise VerifyException(f"{self.name}: only subscripts of outputs can be symbols")
        for combiner, type_ in zip(self.output_combiners, self.output_types, strict=True):
            require_combiner(self, combiner, type_)

    def _verify_body(self) -> None:
        args = [a.type for a in self.body.block.args]
        expected = self.body_argument_types()
        if args != expected:
            raise VerifyException(
                f"{self.name}: body arguments must be ({', '.join(map(str, expected))}), "
                f"got ({', '.join(map(str, args))})"
            )
        symbols = sum(r.symbol is not None for a in self.output_accesses for r in a.rows)
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"{self.name}: the body must end in loopnest.yield")
        for op in self.body.block.ops:
            if isinstance(op, IndexOp) and not 0 <= op.dim.value.data < len(self.extents):
                raise VerifyException(
                    f"{self.name}: loopnest.index must be below {len(self.extents)}, "
                    f"got {op.dim.value.data}"
                )
            if isinstance(op, LoadOp) and op.source not in self.body.block.args:
                raise VerifyException(f"{self.name}: loopnest.load must read an input")
        if len(self.yielded) != len(self.output_types) + symbols:
            raise VerifyException(
                f"{self.name}: the body must yield {len(self.output_types)} values and {symbols} "
                f"indices, got {len(self.yielded)}"
            )
        verify_yielded(self)

    def body_argument_types(self) -> list[Attribute]:
        """The types that the body's block arguments must have."""
        types: list[Attribute] = []
        visible = list(zip(self.inputs.types, self.input_maps, strict=True))[self.HIDDEN_INPUTS :]
        for type_, affine_map in visible:
            whole = isinstance(affine_map, UnitAttr)
            types.append(type_ if whole else scalar_type(cast(ShapedType, type_).element_type))
        return types

    # Text.

    def print(self, printer: Printer) -> None:
        print_loop(printer, self)

    @classmethod
    def parse(cls, parser: Parser):
        header = parse_loop_header(parser, cls.HIDDEN_INPUTS)
        body = parser.parse_region(header.arguments(parser, cls.HIDDEN_INPUTS))
        return header.build(parser, cls, body)


@irdl_op_definition
class NestOp(LoopOp):
    """A perfect loop nest with a scalar body; see the head of this file."""

    name = "loopnest.nest"
    traits = traits_def(WritesBuffers(), IsolatedFromAbove())


@irdl_op_definition
class ContractOp(LoopOp):
    """A contraction with an epilogue: sums the products of its two first inputs over the last
    dimensions, then applies the body to the accumulator.

    Dimensions are (batch..., m, n, k), or one letter each in `roles`: both factors vary along b,
    the left one along m, the right one along n, and k is summed. There can be several of a kind, in
    any order, but the summed ones come last. A convolution is one over `mnmmkkk`: images,
    output channels, rows, columns, and input channels and the two dimensions of the kernel.

    The order of a sum is set by the bounds, roles and types (and the vector width, where a nest
    does it), never by how the factors lie in memory or by the body:
    - Floats with an f32 or f64 accumulator: one chain `acc = fma(lhs, rhs, acc)` over k = 0, 1,
      ..., from 0, whatever the tiling; the last of several dimensions k runs fastest.
    - But dot products, m = n = 1, with k >= 32, and other accumulators: rounded products, summed
      as by a nest over the same bounds that reduces k. So are contractions whose left factor
      varies along n or whose right one varies along m.
    Integers wrap, so that their order does not matter.

    `precision bf16` behind the roles is for f32: factors are rounded to bf16, and each sum is one
    chain in which subnormal numbers are zeros (dialects/base/precision.py).

        %y = loopnest.contract [64, 10, 784] (%x[d0, d2] : tensor<64x784xf32>,
            %w[d2, d1] : tensor<784x10xf32>, %b = %bias[d1] : tensor<10xf32>)
            acc %acc : f32 -> ([d0, d1] : tensor<64x10xf32>) {
          %0 = arith.addf %acc, %b : f32
          loopnest.yield %0 : f32
        }
    """

    name = "loopnest.contract"
    traits = traits_def(WritesBuffers(), IsolatedFromAbove())
    HIDDEN_INPUTS: ClassVar[int] = 2

    @property
    def accumulator_type(self) -> Attribute:
        """The type the products are summed in."""
        return self.body.block.args[0].type

    @property
    def dim_roles(self) -> str:
        """The role of each dimension: b, m, n or k."""
        if self.roles is not None:
            return self.roles.data
        return "b" * (len(self.extents) - 3) + "mnk"

    @property
    def free_dims(self) -> int:
        """The number of dimensions that are not summed; they come first."""
        return len(self.dim_roles.rstrip("k"))

    def body_argument_types(self) -> list[Attribute]:
        accumulators = [a.type for a in self.body.block.args[:1]]
        return accumulators + super().body_argument_types()

    def verify_(self) -> None:
        super().verify_()
        fewest = 1 if self.roles is not None else 3
        if len(self.inputs) < 2 or len(self.extents) < fewest or None in self.input_accesses[:2]:
            raise VerifyException(f"{self.name}: two subscripted factors over m, n, k expected")
        verify_factors(self)
        verify_precision(self)
        roles = self.dim_roles
        if len(roles) != len(self.extents) or not re.fullmatch("[bmn]*k+", roles):
            raise VerifyException(
                f"{self.name}: roles must be {len(self.extents)} of b, m, n, and k for those at "
                f"the end, got {roles}"
            )


for _class in (NestOp, ContractOp):
    read_quickly(_class, "inputs", "inits", "outputs", "scratch")


class ViewOp(IRDLOperation, ABC):
    """The elements of the operand in place; no cost."""

    operand = operand_def()
    result = result_def()
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, type_: Attribute):
        super().__init__(operands=[operand], result_types=[type_])

    def verify_(self) -> None:
        source, target = cast(ShapedType, self.operand.type), cast(ShapedType, self.result.type)
        if prod(source.get_shape()) != prod(target.get_shape()):
            raise VerifyException(f"{self.name}: sizes must match, got {source} and {target}")
        if source.element_type != target.element_type:
            raise VerifyException(f"{self.name}: elements must agree, got {source} and {target}")


@irdl_op_definition
class ReshapeOp(ViewOp):
    """The same elements in row-major order under another shape."""

    name = "loopnest.reshape"
    traits = traits_def(Pure())


@irdl_op_definition
class BarrierOp(ViewOp):
    """The same tensor; nests that read the result never merge with those that read the operand.

    It declares an effect, so that passes neither merge nor move it.
    """

    name = "loopnest.barrier"
    traits = traits_def()


KernelOp: TypeAlias = LoopOp | ForallOp | RowsOp
"""The ops that become kernels of native code."""

Loopnest = Dialect(
    "loopnest",
    [
        NestOp,
        ContractOp,
        ForallOp,
        RowsOp,
        ReshapeOp,
        BarrierOp,
        *body_ops.OPS,
        *special.OPS,
        *buffer_ops.OPS,
        HostInvokeOp,
    ],
    [],
)
