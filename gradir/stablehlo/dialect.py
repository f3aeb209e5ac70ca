"""The dialect stablehlo in generic form: its ops by name, its attributes as text.

gradir writes and reads these ops; they have no rules of their own here. An attribute such as
`#stablehlo<comparison_direction LT>` or `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>` is kept
as the text between its brackets.
"""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    OpTraits,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
)
from xdsl.irdl import irdl_attr_definition, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator


class HloOp(Operation):
    """The base of all ops of StableHLO."""

    traits: ClassVar[OpTraits] = traits_def()


NAMES = (
    "abs add after_all all_gather all_reduce all_to_all and atan2 batch_norm_grad "
    "batch_norm_inference batch_norm_training bitcast_convert broadcast_in_dim case cbrt ceil "
    "cholesky clamp collective_broadcast collective_permute compare complex composite concatenate "
    "constant convert convolution cosine count_leading_zeros create_token cross-replica-sum "
    "custom_call divide dot dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_gather "
    "dynamic_iota dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice einsum "
    "exponential exponential_minus_one fft floor gather get_dimension_size get_tuple_element if "
    "imag infeed iota is_finite log log_plus_one logistic map maximum minimum multiply negate not "
    "optimization_barrier or outfeed pad partition_id popcnt power real real_dynamic_slice recv "
    "reduce reduce_precision reduce_scatter reduce_window remainder replica_id reshape return "
    "reverse rng rng_bit_generator round_nearest_afz round_nearest_even rsqrt scatter select "
    "select_and_scatter send set_dimension_size shift_left shift_right_arithmetic "
    "shift_right_logical sign sine slice sort sqrt subtract tan tanh torch_index_select transpose "
    "triangular_solve tuple unary_einsum uniform_dequantize uniform_quantize while xor"
).split()
"""The ops of StableHLO 1.x."""


def _op_class(name: str) -> type[HloOp]:
    traits = traits_def(IsTerminator()) if name == "return" else traits_def()
    return type(name, (HloOp,), {"name": f"stablehlo.{name}", "traits": traits})


HLO_OPS: dict[str, type[HloOp]] = {name: _op_class(name) for name in NAMES}


class _TextAttr(ParametrizedAttribute):
    """An attribute that is kept as its text, without the brackets around it."""

    text: StringAttr

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(StringAttr(text))


class _BracketedAttr(_TextAttr):
    """`#stablehlo.name<text>`."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        parser.parse_punctuation("<")
        return [StringAttr(read_until_closed(parser))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.text.data)


class _SpacedAttr(_TextAttr, SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<name text>`, one word."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.text.data)


def read_until_closed(parser: AttrParser) -> str:
    """The text up to the `>` that closes the attribute, which is read too."""
    text = parser._parse_unregistered_attr_body(None)
    parser.parse_punctuation(">")
    return text.strip()


@irdl_attr_definition
class DirectionAttr(_SpacedAttr):
    """EQ, NE, GE, GT, LE or LT."""

    name = "stablehlo.comparison_direction"


@irdl_attr_definition
class ComparisonTypeAttr(_SpacedAttr):
    """FLOAT, TOTALORDER, SIGNED or UNSIGNED."""

    name = "stablehlo.comparison_type"


@irdl_attr_definition
class PrecisionAttr(_SpacedAttr):
    """DEFAULT, HIGH or HIGHEST."""

    name = "stablehlo.precision"


@irdl_attr_definition
class TransposeAttr(_SpacedAttr):
    """NO_TRANSPOSE, TRANSPOSE or ADJOINT."""

    name = "stablehlo.transpose"


@irdl_attr_definition
class FftTypeAttr(_SpacedAttr):
    """FFT, IFFT, RFFT or IRFFT."""

    name = "stablehlo.fft_type"


@irdl_attr_definition
class RngAlgorithmAttr(_SpacedAttr):
    """DEFAULT, PHILOX or THREE_FRY."""

    name = "stablehlo.rng_algorithm"


@irdl_attr_definition
class RngDistributionAttr(_SpacedAttr):
    """UNIFORM or NORMAL."""

    name = "stablehlo.rng_distribution"


@irdl_attr_definition
class ResultAccuracyModeAttr(_SpacedAttr):
    """DEFAULT, HIGHEST or TOLERANCE."""

    name = "stablehlo.result_accuracy_mode"


@irdl_attr_definition
class DotAttr(_BracketedAttr):
    """The batching and contracting dimensions of both factors."""

    name = "stablehlo.dot"


@irdl_attr_definition
class DotAlgorithmAttr(_BracketedAttr):
    """The types in which a product is made."""

    name = "stablehlo.dot_algorithm"


@irdl_attr_definition
class ConvAttr(_BracketedAttr):
    """The dimensions of input, kernel and output of a convolution."""

    name = "stablehlo.conv"


@irdl_attr_definition
class GatherAttr(_BracketedAttr):
    """The dimension numbers of a gather."""

    name = "stablehlo.gather"


@irdl_attr_definition
class ScatterAttr(_BracketedAttr):
    """The dimension numbers of a scatter."""

    name = "stablehlo.scatter"


@irdl_attr_definition
class AliasAttr(_BracketedAttr):
    """An output in the memory of an operand."""

    name = "stablehlo.output_operand_alias"


@irdl_attr_definition
class ChannelAttr(_BracketedAttr):
    """A channel of communication."""

    name = "stablehlo.channel_handle"


@irdl_attr_definition
class ResultAccuracyAttr(_BracketedAttr):
    """The wanted error of a function."""

    name = "stablehlo.result_accuracy"


@irdl_attr_definition
class BoundsAttr(_BracketedAttr):
    """Bounds of dynamic extents, as the encoding of a type."""

    name = "stablehlo.bounds"


ATTRIBUTES: tuple[type[Attribute], ...] = (
    DirectionAttr, ComparisonTypeAttr, PrecisionAttr, TransposeAttr, FftTypeAttr,
    RngAlgorithmAttr, RngDistributionAttr, ResultAccuracyModeAttr, DotAttr, DotAlgorithmAttr,
    ConvAttr, GatherAttr, ScatterAttr, AliasAttr, ChannelAttr, ResultAccuracyAttr, BoundsAttr,
)  # fmt: skip

StableHlo = Dialect("stablehlo", list(HLO_OPS.values()), list(ATTRIBUTES))
