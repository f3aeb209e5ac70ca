"""The programs of docs/ahead-of-time.md in C, C++, Python and Rust are built, and run.

They run without gradir; those that write libraries are run by tests/whole/test_readme.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
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
    for kind, end in (("static", "a"), ("shared", "so")):
        gradir.export_library(module, folder / f"libdigits.{end}", functions=names, kind=kind)
    return folder


def test_c(digits: Path) -> None:
    (digits / "main.c").write_text(block("c", "int main"))
    commands = re.findall(r"`cc (-O2 main.c [^`]*)`", PAGE)
    assert len(commands) == 2, "with a shared library, and with an archive"
    for command in commands:
        run_program(tool("gcc"), *C_FLAGS, *shlex.split(command), cwd=digits)
        # all numbers are 0: ten digits are alike
        assert run_program(digits / "main") == f"loss {np.log(10):g}\n"


def test_python(digits: Path) -> None:
    """In a process that cannot import gradir."""
    shutil.copy(ROOT / "gradir" / "aot" / "loader.py", digits)
    text = block("python", "from loader") + "print(loss, 'gradir' in sys.modules)\n"
    command = f"import sys; sys.path.insert(0, '.')\n{text}"
    printed = run_program(sys.executable, "-I", "-c", command, cwd=digits)
    assert printed == "w1 float32 array of shape (64, 128)\n2.3025851 False\n"


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
