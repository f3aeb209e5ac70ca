"""The IR. Loading it registers the operators of values and the rules of foreign ops."""

from gradir.dialects.foreign import scalar_rules, tensor_rules

__all__ = ["scalar_rules", "tensor_rules"]
