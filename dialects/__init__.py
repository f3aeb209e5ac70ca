"""The IR. Loading it registers the operators of values and the rules of foreign ops."""

from gradir.dialects.base.lazy_formats import lazy_formats

with lazy_formats():
    from gradir.dialects.foreign import nest_rules, scalar_rules, tensor_rules
    from gradir.dialects.grad import lapack

__all__ = ["lapack", "nest_rules", "scalar_rules", "tensor_rules"]
