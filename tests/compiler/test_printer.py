"""What is printed parses back to the same program, to the bit."""

from __future__ import annotations

import struct
from typing import Any, cast

import numpy as np
import pytest

import gradir
from gradir.symbols import function_named

UNREAD_REGION = """
    func.func @g(%x: f64) -> f64 {
      func.return %x : f64
    }
    func.func @f(%x: f64) -> f64 {
      %y = scf.execute_region -> (f64) {
        %z = func.call @g(%x) : (f64) -> f64
        scf.yield %x : f64
      }
      func.return %x : f64
    }"""
WIDTHS = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}


def test_a_region_that_hands_nothing_back_keeps_its_terminator() -> None:
    derived = gradir.parse(UNREAD_REGION).gradient("f", mode="vjp")
    again = gradir.parse(str(derived))
    assert str(again) == str(derived)
    (value, ct) = gradir.interpret(again, "f_vjp", np.float64(0.5), np.float64(2.0))
    assert (value, ct) == (0.5, 2.0)


def constant_bytes(module: gradir.Module) -> bytes:
    [constant, _] = function_named(module.op, "f").body.block.ops
    return cast(Any, constant).dense.data.data


@pytest.mark.parametrize("count", [1, 3, 120])
@pytest.mark.parametrize("element", WIDTHS)
def test_constants_keep_their_bits(element: str, count: int) -> None:
    """Zeros of both signs; infinities, and nans with and without a payload."""
    width = WIDTHS[element]
    numbers = [b"\0" * width, b"\0" * (width - 1) + b"\x80", b"\xff" * width]
    payload = b"\x81\x7f" if width == 2 else b"\1" + b"\0" * (width - 3) + b"\x80\x7f"
    numbers += [payload, b"\0" * (width - 1) + b"\x7c"]
    for start in range(len(numbers)):
        for step in (0, 1, 2):
            parts = [numbers[(start + k * step) % len(numbers)] for k in range(count)]
            data = b"".join(parts)
            type_ = f"tensor<{count}x{element}>"
            module = gradir.parse(f"""
                func.func @f() -> {type_} {{
                  %y = array.constant {{value = dense<"0x{data.hex()}"> : {type_}}} : {type_}
                  func.return %y : {type_}
                }}""")
            assert constant_bytes(module) == data
            assert constant_bytes(gradir.parse(str(module))) == data


def test_zeros_of_two_signs_are_no_splat() -> None:
    module = gradir.parse("""
        func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
          %zeros = array.constant {value = dense<[0.0, -0.0]> : tensor<2xf64>} : tensor<2xf64>
          %y = array.add %x, %zeros : tensor<2xf64>
          func.return %y : tensor<2xf64>
        }""")
    for each in (module, gradir.parse(str(module)), module.run_passes("gradir-simplify")):
        given = np.array([-0.0, -0.0])
        for (y,) in (gradir.compile(each, "f")(given), gradir.interpret(each, "f", given)):
            assert [struct.pack(">d", v)[0] for v in y] == [0, 0x80]


@pytest.mark.parametrize(
    "op",
    [
        '"array.tanh"(%x) : (tensor<?x3xf32>) -> tensor<3x?xf32>',
        '"array.add"(%x, %y) : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<?x?xf32>',
        '"array.sort"(%x) : (tensor<?x3xf32>) -> tensor<2x?xf32>',
        '"nn.softmax"(%x) : (tensor<?x3xf32>) -> tensor<2x3xf32>',
    ],
)
def test_types_of_which_not_all_extents_are_known(op: str) -> None:
    """An op of one type names all where they differ in known extents."""
    module = gradir.parse(f"""
        func.func @f(%x: tensor<?x3xf32>, %y: tensor<2x?xf32>) {{
          %z = {op}
          func.return
        }}""")
    again = gradir.parse(str(module))
    made, printed = (next(iter(function_named(m.op, "f").body.block.ops)) for m in (module, again))
    assert [o.type for o in made.operands] == [o.type for o in printed.operands]
    assert made.results[0].type == printed.results[0].type
