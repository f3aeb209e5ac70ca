"""The programs of docs/ahead-of-time.md in C, C++ and Rust are built, and run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from aot_harness import C_FLAGS, CXX_FLAGS, run_program, tool

import gradir

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ahead-of-time.md").read_text()


def block(language: str, containing: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    [text] = [each for each in found if containing in each]
    return text


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    module = gradir.parse(ROOT / "examples" / "digits_mlp.mlir").gradient("main", mode="grad")
    names = {"main_grad": "digits_grad"}
    gradir.export_library(module, folder / "libdigits.so", functions=names)
    return folder


def test_c(digits: Path) -> None:
    source, made = digits / "main.c", digits / "main"
    source.write_text(block("c", "int main"))
    flags = [flag for flag in C_FLAGS if flag != "-Wextra"]
    run_program(tool("gcc"), *flags, source, digits / "libdigits.so", "-o", made,
                f"-Wl,-rpath,{digits}")  # fmt: skip
    # all numbers are 0: ten digits are alike
    assert run_program(made) == f"loss {np.log(10):g}\n"


def test_cpp(digits: Path) -> None:
    source = digits / "loss.cpp"
    source.write_text(block("cpp", "float loss"))
    run_program(tool("g++"), *CXX_FLAGS, "-c", source, "-o", digits / "loss.o")


def test_rust(tmp_path: Path) -> None:
    text = """func.func @add(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %z = array.add %x, %y : tensor<4xf32>
      func.return %z : tensor<4xf32>
    }"""
    gradir.export_library(gradir.parse(text), tmp_path / "libadd.so")
    (tmp_path / "main.rs").write_text(block("rust", "fn main"))
    rest = ["-L", tmp_path, "-C", f"link-arg=-Wl,-rpath,{tmp_path}", "-o", tmp_path / "main"]
    run_program(tool("rustc"), "-A", "dead_code", tmp_path / "main.rs", *rest)
    assert run_program(tmp_path / "main") == "[6.0, 7.0, 8.0, 9.0]\n"
