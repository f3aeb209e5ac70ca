"""The ops of the table in a few large libraries: the bits of the JIT's calls of the same code."""

from __future__ import annotations

from pathlib import Path

import pytest
from aot_harness import RUNNABLE, assert_same_bits
from op_cases import ELEMENTS, OP_CLASSES
from op_programs import COMPLEX_OPS, Batch, first_real_case, function, is_active

from gradir.aot.elf_library import write_library
from gradir.aot.library import build_image
from gradir.aot.loader import load_library
from gradir.aot.program import function_of_codes
from gradir.codegen.text.target import target_of
from gradir.compiler.compiler import native_code
from gradir.compiler.pipeline import Machine
from gradir.dialects.grad.lapack import FACTOR_OPS
from gradir.runtime.native_code import loaded

GROUPS = 6
# Calls of functions in this process, which a library cannot make.
CALLS = (*(op.name for op in FACTOR_OPS), "grad.cofactor")
# Libraries refuse complex numbers.
LEFT = (*CALLS, *COMPLEX_OPS)
OPS = [name for name in OP_CLASSES if not name.startswith("comm.") and name not in LEFT]


@pytest.mark.parametrize("group", range(GROUPS))
def test_ops(group: int, tmp_path: Path) -> None:
    """The first case of each op, and its vjp, in f32, at one of the levels of this machine."""
    batch = Batch()
    for k, op in enumerate(OPS[group::GROUPS]):
        case = first_real_case(op)
        arrays = case.arrays(ELEMENTS["float32"])
        source = function(case, arrays, ELEMENTS["float32"], f"f{k}")
        batch.add(source, arrays, case.wrt, 1 if is_active(case) else 0)
    batch.add_driver()
    target = target_of(RUNNABLE[group % len(RUNNABLE)])
    code = native_code(batch.module, "driver", Machine(target, 1))
    made = function_of_codes("driver", "driver", [(target.level, code)], [], {})
    path = tmp_path / "libops.so"
    path.write_bytes(write_library(build_image([made], target, 1, "0"), path.name))
    given = [array for _, arrays in batch.calls for array in arrays]
    assert_same_bits(load_library(path).driver(*given), loaded(code, target)(*given))
