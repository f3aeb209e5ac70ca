"""The structures and numbers of the headers, as the code, the loader and a C compiler have them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import pytest
from aot_harness import C_FLAGS, CXX_FLAGS, run_program, tool

import gradir
from gradir.aot import abi, loader
from gradir.runtime.native_blocks import DTYPES, ArrayRecord

INCLUDE = Path(gradir.include_dir())
HEADER = (INCLUDE / "gradir_abi.h").read_text()

STRUCTURES: dict[str, tuple[abi.Struct, Any]] = {
    "gradir_array": (abi.ARRAY, loader.ArrayStruct),
    "gradir_status": (abi.STATUS, loader.StatusStruct),
    "gradir_array_info": (abi.ARRAY_INFO, loader.ArrayInfoStruct),
    "gradir_info": (abi.INFO, loader.InfoStruct),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_loader_has_the_layout_of_the_code(name: str) -> None:
    ours, theirs = STRUCTURES[name]
    names = [field for field, _ in theirs._fields_]
    renamed = {"in": "inputs", "out": "outputs"} if name == "gradir_info" else {}
    assert names == [renamed.get(field, field) for field in ours.offsets]
    offsets = [getattr(theirs, field).offset for field in names]
    assert (offsets, ctypes.sizeof(theirs)) == ([*ours.offsets.values()], ours.size)


def test_arrays_of_operators_are_arrays_of_functions() -> None:
    assert [field[0] for field in ArrayRecord._fields_] == [*abi.ARRAY.offsets]
    assert loader.DTYPES == DTYPES


def test_numbers() -> None:
    found = re.findall(r"GRADIR_([A-Z_]+) = (\d+)", HEADER)
    assert [(name.lower(), int(number)) for name, number in found] == [
        (name, number) for number, name in enumerate(abi.CODES)
    ]
    assert loader.CODES == abi.CODES
    defined = dict(re.findall(r"#define (GRADIR_\w+) (\d+)", HEADER))
    assert defined == {
        "GRADIR_ABI": str(abi.ABI),
        "GRADIR_ADD": str(abi.ADD),
        "GRADIR_WORKSPACE_ALIGNMENT": str(abi.WORKSPACE_ALIGNMENT),
        "GRADIR_MESSAGE_BYTES": str(abi.MESSAGE_BYTES),
    }
    assert (loader.ABI, loader.ALIGNMENT) == (abi.ABI, abi.WORKSPACE_ALIGNMENT)
    assert (loader.NULL, loader.WRITE, loader.ADD) == (abi.NULL, abi.WRITE, abi.ADD)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_a_compiler_has_the_same_layout(compiler: str, tmp_path: Path) -> None:
    lines = ['#include "gradir_abi.h"', '#include "gradir_op.h"', "#include <stdio.h>"]
    lines += ["int main(void) {", "    gradir_status status = GRADIR_STATUS_INIT;"]
    lines += ["    gradir_stop(&status);", '    printf("%d\\n", (int)status.stop);']
    wanted = ["1"]
    for struct in abi.PUBLIC:
        for field, offset in struct.offsets.items():
            lines.append(f'    printf("%d\\n", (int)offsetof({struct.name}, {field}));')
            wanted.append(str(offset))
        lines.append(f'    printf("%d\\n", (int)sizeof({struct.name}));')
        wanted.append(str(struct.size))
    is_cxx = compiler == "g++"
    source = tmp_path / ("layout.cpp" if is_cxx else "layout.c")
    source.write_text("\n".join([*lines, "    return 0;", "}", ""]))
    flags = CXX_FLAGS if is_cxx else C_FLAGS
    made = tmp_path / "layout"
    run_program(tool(compiler), *flags, f"-I{INCLUDE}", source, "-o", made)
    assert run_program(made).split() == wanted
