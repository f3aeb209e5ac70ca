"""The IR. Loading it registers the operators of values and the rules of foreign ops."""

from gradir.dialects.base.quick_dataclasses import quick_dataclasses

with quick_dataclasses():
    from gradir.dialects.base.identity import ask_for_classes_in_c, compare_in_c
    from gradir.dialects.base.lazy_formats import lazy_formats
    from gradir.dialects.base.quick_ir import quicken_ir

compare_in_c()
ask_for_classes_in_c()
quicken_ir()

with quick_dataclasses(), lazy_formats():
    from gradir.dialects.foreign import (
        branch_supports,
        nest_rules,
        scalar_rules,
        tensor_rules,
        tensor_shapes,
        tensor_supports,
        tensor_vmap,
    )
    from gradir.dialects.grad import lapack

__all__ = [
    "branch_supports",
    "lapack",
    "nest_rules",
    "scalar_rules",
    "tensor_rules",
    "tensor_shapes",
    "tensor_supports",
    "tensor_vmap",
]
