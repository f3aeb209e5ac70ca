"""The programs of gradir.checking, under the name that tests have for them."""

from gradir.checking.programs import (
    ELEMENT_OF,
    Array,
    assert_close,
    bits_of,
    function,
    interpret,
    is_active,
    largest,
    limits_of,
    module_of,
    quick_results,
    run_native,
    shared_operands,
)
from gradir.checking.programs import CompiledTogether as Batch

__all__ = [
    "ELEMENT_OF",
    "Array",
    "Batch",
    "assert_close",
    "bits_of",
    "function",
    "interpret",
    "is_active",
    "largest",
    "limits_of",
    "module_of",
    "quick_results",
    "run_native",
    "shared_operands",
]
