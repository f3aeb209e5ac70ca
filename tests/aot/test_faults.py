"""Names, files and arrays that libraries once got wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentError, CompileError, FileError
from tests.support.custom_ops import first_like
from tests.support.native_ops import build

X = np.ones(3)


def test_a_library_written_anew_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "libf.so"
    for factor in (2.0, 5.0, 7.0):
        gradir.export_library(lambda x, k=factor: x * k, path, X, functions="f")
        library = gradir.load_library(path)
        for function in (library.f, gradir.load_library(path)["f"]):
            [found] = function(X)
            np.testing.assert_array_equal(found, factor * X)


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    path = tmp_path / "libf.so"
    (tmp_path / "libf.json").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        gradir.export_library(lambda x: x * 2, path, X, functions="f")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libf.json"]


@pytest.mark.parametrize("name", ["nullptr", "static_cast", "typeof", "co_await", "xor_eq"])
def test_words_of_c_and_cpp_are_no_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="expected a name that C can have"):
        gradir.export_library(lambda x: x * 2, tmp_path / "libf.so", X, functions=name)


def test_names_of_the_program_stay_in_comments(tmp_path: Path) -> None:
    module = gradir.parse(
        """func.func @"f*/ int bad; /*"(%x: tensor<3xf64>) -> tensor<3xf64> {
  func.return %x : tensor<3xf64>
}"""
    )
    names = {module.functions[0]: "good"}
    made = gradir.export_library(module, tmp_path / "libf.so", functions=names)
    assert "/* good: @f* / int bad; / * of the program." in made.header.read_text()


def test_file_names_with_words_of_other_systems(tmp_path: Path) -> None:
    gradir.export_library(lambda x: x * 2, tmp_path / "libpineapple.so", X, functions="f")
    with pytest.raises(ArgumentError, match="Mach-O"):
        gradir.export_library(lambda x: x * 2, tmp_path / "libf.dylib", X, functions="f")
    with pytest.raises(ArgumentError, match="expected the name of a file"):
        gradir.export_library(lambda x: x * 2, ".", X, functions="f")
    with pytest.raises(ArgumentError, match="linker: No closing quotation"):
        gradir.export_library(
            lambda x: x * 2, tmp_path / "libf.so", X, functions="f", linker="'gcc"
        )


SCALE = """#include "gradir_op.h"
int32_t scale(const gradir_call *call) {
    const double *x = call->inputs[0].data;
    double *y = call->outputs[0].data;
    for (int64_t k = 0; k < call->inputs[0].size; k++)
        y[k] = FACTOR * x[k];
    return 0;
}
"""


def scaled(folder: Path, factor: int) -> Any:
    source = folder / f"scale{factor}.c"
    source.write_text(SCALE.replace("FACTOR", str(factor)))
    library = build(source, folder / f"libscale{factor}.so")
    return gradir.custom_op(gradir.native(str(library), "scale"), first_like)


def test_operators_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    two, three = scaled(tmp_path, 2), scaled(tmp_path, 3)
    with pytest.raises(CompileError, match=r"symbol scale .* in libscale2.so, too"):
        gradir.export_library(lambda x: two(x) + three(x), tmp_path / "libf.so", X, functions="f")
    with pytest.raises(CompileError, match=r"symbol scale .* is the name of an exported function"):
        gradir.export_library(lambda x: two(x), tmp_path / "libf.so", X, functions="scale")
    with pytest.raises(CompileError, match="only gradir's own knows the libraries"):
        gradir.export_library(
            lambda x: two(x), tmp_path / "libf.so", X, functions="f", linker="gcc"
        )
