"""Modules of linalg ops that were made as xDSL's objects, in a process that read no text."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.ops import AddOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Region
import gradir

type_ = TensorType(f32, [2])
block = Block(arg_types=[type_, type_])
empty = EmptyOp([], type_)
total = AddOp(list(block.args), [empty.results[0]], [type_])
block.add_ops([empty, total, ReturnOp(total.results[0])])
module = gradir.Module(ModuleOp([FuncOp("f", ([type_] * 2, [type_]), Region(block))]))
print(module.gradient("f", mode="vjp").functions)
"""


def test_modules_of_objects_know_linalg() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert found.stdout.strip() == "('f', 'f_vjp')", found.stderr
