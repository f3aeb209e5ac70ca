"""Which level runs: by the bits of the processor, and a status where it has none."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from aot_harness import RUNNABLE, run_program, tool

import gradir
from gradir.aot.cpu import BITS, CPUID, LEVEL_NUMBERS, LEVEL_OF, XGETBV, cpu_functions
from gradir.codegen.text.target import host, host_is_arm
from gradir.runtime import jit
from gradir.runtime.fixed_code import fixed_object

ADD = """func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %z = array.add %x, %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}"""


def level_of(words: list[int]) -> int:
    code = jit.LoadedCode([fixed_object(cpu_functions(True))], (LEVEL_OF,), {CPUID: 1, XGETBV: 1})
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint32] * 4)(code.address)(*words)


def words_up_to(level: int) -> list[int]:
    found = [0] * 4
    for k in range(2, level + 1):
        for word, bits in enumerate(BITS[k]):
            found[word] |= sum(1 << bit for bit in bits.values())
    return found


@pytest.mark.skipif(host_is_arm(), reason="the code is for x86-64")
def test_each_bit_counts() -> None:
    """A processor without one bit of a level has the level before."""
    assert level_of([0] * 4) == 1
    for level in (1, 2, 3, 4):
        assert level_of(words_up_to(level)) == level
    every = words_up_to(4)
    for level, words in BITS.items():
        for word, bits in enumerate(words):
            for bit in bits.values():
                lacking = [w & ~(1 << bit) if k == word else w for k, w in enumerate(every)]
                assert level_of(lacking) == level - 1


CALLER = """
#include "libf.h"
#include <stdio.h>
int main(void) {
    float x[4] = {1, 2, 3, 4}, z[4] = {0};
    const int64_t shape[1] = {4};
    gradir_array in[2] = {{x, shape, 4, 1, GRADIR_FLOAT32, 0, 0}};
    gradir_array out[1] = {{z, shape, 4, 1, GRADIR_FLOAT32, GRADIR_WRITE, 0}};
    in[1] = in[0];
    _Alignas(64) char workspace[F_WORKSPACE_BYTES];
    gradir_status status = GRADIR_STATUS_INIT;
    int32_t code = f(in, out, workspace, &status);
    printf("%d %d %g %s\\n", code, status.used_level, z[3], status.message);
    return 0;
}
"""


def called_from_c(folder: Path, targets: list[str], *before: object) -> str:
    gradir.export_library(gradir.parse(ADD), folder / "libf.so", targets=targets)
    (folder / "caller.c").write_text(CALLER)
    made = folder / "caller"
    given = folder / "caller.c", folder / "libf.so", "-o", made, f"-Wl,-rpath,{folder}"
    run_program(tool("gcc"), "-std=c11", *given)
    return run_program(*before, made)


@pytest.mark.skipif(RUNNABLE[-1] != "x86-64-v4", reason="this machine has no AVX-512")
def test_the_best_level_runs(tmp_path: Path) -> None:
    assert called_from_c(tmp_path, ["x86-64", "x86-64-v4"]) == "0 2 8 \n"


@pytest.mark.skipif(host_is_arm(), reason="of x86-64")
def test_a_processor_below_the_lowest_level(tmp_path: Path) -> None:
    """valgrind shows programs a processor without AVX-512."""
    valgrind = tool("valgrind"), "-q", "--error-exitcode=9"
    assert called_from_c(tmp_path, ["x86-64-v4"], *valgrind) == (
        "2 0 0 f: this processor lacks instructions of x86-64-v4, the lowest level of the library\n"
    )
    assert called_from_c(tmp_path, ["x86-64", "x86-64-v4"], *valgrind) == "0 1 8 \n"


def test_numbers_are_in_the_order_of_the_levels() -> None:
    numbers = [number for name, number in LEVEL_NUMBERS.items() if name.startswith("x86")]
    assert numbers == [1, 2, 3, 4]
    assert host().level == "host"
