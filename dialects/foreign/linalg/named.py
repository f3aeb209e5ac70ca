"""Named ops of linalg that xDSL has no classes for, one line of subscripts each.

`n c h+y w+x, f c y x -> n f h w` is a convolution: `h+y` is `h * stride + y * dilation`, strides
and dilations in the order of the windows. A dimension that the result lacks is reduced. The body
multiplies the inputs, or takes the first where the second is a window without elements, and joins
with what the result has so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseIntElementsAttr,
    FloatAttr,
    IntegerType,
)
from xdsl.dialects.linalg.abstract_ops import ElementwiseOperation, NamedOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, opt_prop_def


@dataclass(frozen=True)
class Subscripts:
    """Parsed subscripts: a name or a window's two for each axis of each operand."""

    text: str

    @cached_property
    def terms(self) -> list[list[tuple[str, ...]]]:
        """The inputs', then the result's."""
        inputs, result = self.text.split("->")
        return [
            [tuple(axis.split("+")) for axis in term.split()]
            for term in [*inputs.split(","), result]
        ]

    @cached_property
    def dims(self) -> list[str]:
        """Kept dimensions in the result's order, then reduced ones."""
        kept = [axis[0] for axis in self.terms[-1]]
        others = [name for term in self.terms[:-1] for axis in term for name in axis]
        return [*kept, *dict.fromkeys(name for name in others if name not in kept)]

    @cached_property
    def window_count(self) -> int:
        return sum(len(axis) == 2 for term in self.terms for axis in term)

    @property
    def iterators(self) -> list[str]:
        kept = len(self.terms[-1])
        return ["parallel"] * kept + ["reduction"] * (len(self.dims) - kept)

    def maps(self, strides: Sequence[int], dilations: Sequence[int]) -> list[AffineMap]:
        """A map for each operand."""
        steps = iter(zip(strides, dilations, strict=True))

        def expression(axis: tuple[str, ...]) -> AffineExpr:
            dims = [AffineDimExpr(self.dims.index(name)) for name in axis]
            if len(dims) == 1:
                return dims[0]
            stride, dilation = next(steps)
            return dims[0] * stride + dims[1] * dilation

        return [AffineMap(len(self.dims), 0, tuple(map(expression, t))) for t in self.terms]


Joins = tuple[type[Operation], type[Operation]]
_ADD, _MAX, _MIN = (
    (arith.AddfOp, arith.AddiOp),
    (arith.MaximumfOp, arith.MaxSIOp),
    (arith.MinimumfOp, arith.MinSIOp),
)


@dataclass(frozen=True)
class Meaning:
    """An op's subscripts, how an element joins the result, and whether it is a product."""

    subscripts: Subscripts
    joins: Joins
    multiplies: bool


class NotatedOp(NamedOperation):
    """The base of the ops below."""

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True

    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)

    @classmethod
    def meaning(cls) -> Meaning:
        """The meaning of the op's name."""
        return MEANINGS[cls.name.removeprefix("linalg.")]

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        types = cls.body_arg_types((*inputs, *outputs))
        number, meaning = types[-1], cls.meaning()
        which = 0 if isinstance(number, AnyFloat) else 1

        @Builder.implicit_region(types)
        def region(args: tuple[BlockArgument, ...]) -> None:
            wide = [_widened(x, number) for x in args[:-1]]
            value = wide[0]
            if meaning.multiplies:
                kind = (arith.MulfOp, arith.MuliOp)[which]
                value = _binary(kind, wide[0], wide[1])
            YieldOp(_binary(meaning.joins[which], value, args[-1]))

        return region

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        subscripts = self.meaning().subscripts
        count = subscripts.window_count
        numbers = [
            [1] * count if given is None else list(given.get_values())
            for given in (self.strides, self.dilations)
        ]
        return subscripts.maps(*numbers)

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return ArrayAttr(map(AffineMapAttr, self.get_default_indexing_maps()))

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        kinds = {"parallel": IteratorTypeAttr.parallel, "reduction": IteratorTypeAttr.reduction}
        return ArrayAttr(kinds[kind]() for kind in self.meaning().subscripts.iterators)


def _binary(kind: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
    return kind(x, y).results[0]  # pyrefly: ignore


def _widened(x: SSAValue, number: Attribute) -> SSAValue:
    if x.type == number:
        return x
    if isinstance(number, IntegerType):
        return arith.ExtSIOp(x, number).result
    return arith.ExtFOp(x, number).result


CONTRACTIONS = {
    "matmul_transpose_a": "k m, k n -> m n",
    "matmul_transpose_b": "m k, n k -> m n",
    "batch_matmul": "b m k, b k n -> b m n",
    "batch_matmul_transpose_a": "b k m, b k n -> b m n",
    "batch_matmul_transpose_b": "b m k, b n k -> b m n",
    "batch_reduce_matmul": "b m k, b k n -> m n",
    "matvec": "m n, n -> m",
    "vecmat": "m, m n -> n",
    "batch_matvec": "b m n, b n -> b m",
    "batch_vecmat": "b m, b m n -> b n",
    "dot": "m, m -> ",
    "mmt4d": "m k a c, n k b c -> m n a b",
    "conv_1d": "w+x, x -> w",
    "conv_1d_nwc_wcf": "n w+x c, x c f -> n w f",
    "conv_1d_ncw_fcw": "n c w+x, f c x -> n f w",
    "conv_2d": "h+y w+x, y x -> h w",
    "conv_2d_nhwc_hwcf": "n h+y w+x c, y x c f -> n h w f",
    "conv_2d_nhwc_fhwc": "n h+y w+x c, f y x c -> n h w f",
    "conv_2d_nchw_fchw": "n c h+y w+x, f c y x -> n f h w",
    "conv_2d_ngchw_fgchw": "n g c h+y w+x, f g c y x -> n g f h w",
    "conv_2d_ngchw_gfchw": "n g c h+y w+x, g f c y x -> n g f h w",
    "conv_2d_nhwgc_gfhwc": "n h+y w+x g c, g f y x c -> n h w g f",
    "conv_3d": "d+z h+y w+x, z y x -> d h w",
    "conv_3d_ndhwc_dhwcf": "n d+z h+y w+x c, z y x c f -> n d h w f",
    "conv_3d_ncdhw_fcdhw": "n c d+z h+y w+x, f c z y x -> n f d h w",
    "depthwise_conv_1d_nwc_wc": "n w+x c, x c -> n w c",
    "depthwise_conv_1d_ncw_cw": "n c w+x, c x -> n c w",
    "depthwise_conv_1d_nwc_wcm": "n w+x c, x c m -> n w c m",
    "depthwise_conv_2d_nhwc_hwc": "n h+y w+x c, y x c -> n h w c",
    "depthwise_conv_2d_nchw_chw": "n c h+y w+x, c y x -> n c h w",
    "depthwise_conv_2d_nhwc_hwcm": "n h+y w+x c, y x c m -> n h w c m",
    "depthwise_conv_3d_ndhwc_dhwc": "n d+z h+y w+x c, z y x c -> n d h w c",
    "depthwise_conv_3d_ncdhw_cdhw": "n c d+z h+y w+x, c z y x -> n c d h w",
}
POOLS = {
    "nwc": "n w+x c, x -> n w c",
    "ncw": "n c w+x, x -> n c w",
    "nhwc": "n h+y w+x c, y x -> n h w c",
    "nchw": "n c h+y w+x, y x -> n c h w",
    "ndhwc": "n d+z h+y w+x c, z y x -> n d h w c",
}


def _meanings() -> dict[str, Meaning]:
    made = {name: Meaning(Subscripts(text), _ADD, True) for name, text in CONTRACTIONS.items()}
    for layout, text in POOLS.items():
        for kind, joins in {"sum": _ADD, "max": _MAX, "min": _MIN}.items():
            made[f"pooling_{layout}_{kind}"] = Meaning(Subscripts(text), joins, False)
    return made


MEANINGS = _meanings()


def op_class(name: str) -> type[NotatedOp]:
    """A class for an op of MEANINGS."""
    return _class_of(name, NotatedOp, f"linalg.{name}: `{MEANINGS[name].subscripts.text}`.")


# Ops element by element.


def _square(x: SSAValue) -> SSAValue:
    return arith.MulfOp(x, x).result


def _reciprocal(x: SSAValue) -> SSAValue:
    one = arith.ConstantOp(FloatAttr(1.0, cast(AnyFloat, x.type))).result
    return arith.DivfOp(one, x).result


def _quotient(x: SSAValue, y: SSAValue) -> SSAValue:
    kind = arith.DivfOp if isinstance(x.type, AnyFloat) else arith.DivSIOp
    return kind(x, y).result


ELEMENTWISE: dict[str, Callable[..., SSAValue]] = {
    "div": _quotient,
    "powf": lambda x, y: math.PowFOp(x, y).result,
    "abs": lambda x: math.AbsFOp(x).result,
    "negf": lambda x: arith.NegfOp(x).result,
    "ceil": lambda x: math.CeilOp(x).result,
    "floor": lambda x: math.FloorOp(x).result,
    "round": lambda x: math.RoundOp(x).result,
    "rsqrt": lambda x: math.RsqrtOp(x).result,
    "square": _square,
    "reciprocal": _reciprocal,
    "tanh": lambda x: math.TanhOp(x).result,
    "erf": lambda x: math.ErfOp(x).result,
}


class ElementsOp(ElementwiseOperation):
    """The base of the ops of ELEMENTWISE."""

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        make = ELEMENTWISE[cls.name.removeprefix("linalg.")]

        @Builder.implicit_region(cls.body_arg_types((*inputs, *outputs)))
        def region(args: tuple[BlockArgument, ...]) -> None:
            YieldOp(make(*args[:-1]))

        return region


def _class_of(name: str, base: type[Any], doc: str) -> type[Any]:
    members = {"name": f"linalg.{name}", "__doc__": doc, "__module__": __name__}
    title = "".join(part.title() for part in name.split("_"))
    return irdl_op_definition(type(f"{title}Op", (base,), members))


def op_classes(taken: frozenset[str]) -> list[type[Operation]]:
    """A class for each name that is not taken."""
    made: list[type[Operation]] = []
    made += [op_class(name) for name in MEANINGS if f"linalg.{name}" not in taken]
    for name in ELEMENTWISE:
        if f"linalg.{name}" not in taken:
            made.append(_class_of(name, ElementsOp, f"linalg.{name}, element by element."))
    return made
