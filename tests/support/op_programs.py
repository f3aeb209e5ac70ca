"""The programs of gradir.op_checks, under the name that tests have for them."""

from gradir.op_checks.programs import (
    ELEMENT_OF,
    Array,
    Batch,
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
