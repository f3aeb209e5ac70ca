"""The ops of StableHLO that are not there, and why."""

from __future__ import annotations

from gradir.frontends.imported.table import RuleTable

RULES = RuleTable("StableHLO")


def _refuse(why: str, *names: str) -> None:
    RULES.refuse(why, *(f"stablehlo.{name}" for name in names))


_refuse("there are no complex numbers", "complex", "imag", "fft")
_refuse("there are no elements of this kind", "constant")
_refuse(
    "programs run on one device; gradir.comm has collectives",
    *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute"),
    *("cross-replica-sum", "partition_id", "reduce_scatter", "replica_id"),
)
_refuse("programs are without effects", "after_all", "create_token", "infeed", "outfeed", "recv",
        "send")  # fmt: skip
_refuse("what it calls is not known", "custom_call", "composite")
_refuse("its bits are XLA's own", "rng", "rng_bit_generator")
_refuse("values are tensors; return several", "tuple", "get_tuple_element")
_refuse("numbers are not quantized", "uniform_dequantize", "uniform_quantize")
_refuse(
    "shapes must be known",
    *("dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota"),
    *("dynamic_pad", "dynamic_reshape", "get_dimension_size", "real_dynamic_slice"),
    "set_dimension_size",
)
_refuse(
    "it is no op of today's StableHLO",
    *("broadcast", "einsum", "torch_index_select", "unary_einsum"),
)
_refuse("there is no rule for it", "batch_norm_grad", "batch_norm_inference", "batch_norm_training")
