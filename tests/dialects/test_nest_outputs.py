"""Outputs of loop nests in text: which combiners and types there are, interpreted and native."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.errors import GradirError

Array = np.ndarray[Any, np.dtype[Any]]

TYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64, "ui8": np.uint8,
}  # fmt: skip
COMBINERS = ("add", "multiply", "maximum", "minimum", "and", "or")
SHAPES = [(0, 3), (1, 1), (3, 37)]


def nest(shape: tuple[int, int], element: str, outputs: str, yielded: str, body: str = "") -> str:
    """Outputs of a nest over `shape` that reads %x, and starts from %start where they say so."""
    kept = shape[1]
    return f"""func.func @f(%x: tensor<{shape[0]}x{shape[1]}x{element}>,
    %start: tensor<{kept}x{element}>) -> tensor<{kept}x{element}> {{
  %y = loopnest.nest [{shape[0]}, {shape[1]}]
      (%a = %x[d0, d1] : tensor<{shape[0]}x{shape[1]}x{element}>)
      -> ({outputs} : tensor<{kept}x{element}>) {{
    {body}
    loopnest.yield {yielded}
  }}
  func.return %y : tensor<{kept}x{element}>
}}"""


def numbers(element: str, *shape: int) -> Array:
    random = np.random.default_rng(1)
    dtype = np.dtype(TYPES[element])
    if element == "i1":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    found = random.normal(0, 2, shape)
    found[..., -1:], found[..., :1] = np.nan, -0.0
    return found.astype(dtype)


@pytest.mark.parametrize("element", TYPES)
def test_combiners(element: str) -> None:
    """Interpreted and native code combine alike, or the text is refused."""
    is_float = element[0] in "fb"
    held = "i8" if element == "ui8" else element
    for combiner in COMBINERS:
        for shape in SHAPES:
            text = nest(shape, element, f"{combiner} [d1] init %start", f"%a : {held}")
            if is_float and combiner in ("and", "or"):
                with pytest.raises(GradirError, match=f"has no combiner {combiner}; known: add"):
                    gradir.parse(text)
                continue
            module = gradir.parse(text)
            arguments = numbers(element, *shape), numbers(element, shape[1])
            [native] = gradir.compile(module, "f", threads=1)(*arguments)
            [value] = gradir.interpret(module, "f", *arguments)
            assert native.dtype == value.dtype
            # sums of halves are rounded in another order
            tolerance = {"f16": 2e-2, "bf16": 1e-1}.get(element, 1e-6 if is_float else 0)
            got, want = (v.astype(np.float64 if is_float else v.dtype) for v in (native, value))
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_halves_are_rounded_after_each_step() -> None:
    """Those that the body yields; where it yields f32, sums are rounded once."""
    x = np.array([[2048.0], [1], [1], [1]], np.float16)
    for yielded, body, want in (
        ("%a : f16", "", 2048),
        ("%w : f32", "%w = arith.extf %a : f16 to f32", 2052),
    ):
        module = gradir.parse(nest((4, 1), "f16", "add [d1]", yielded, body))
        start = np.zeros(1, np.float16)
        assert gradir.interpret(module, "f", x, start)[0] == want
    assert gradir.compile(module, "f")(x, start)[0] == 2052


@pytest.mark.parametrize(
    ("element", "body", "yielded"),
    [
        ("f64", "%n = arith.truncf %a : f64 to f32", "%n : f32"),
        ("i64", "%n = arith.trunci %a : i64 to i8", "%n : i8"),
        ("i64", "%n = arith.trunci %a : i64 to i1", "%n : i1"),
        ("f32", "%n = arith.truncf %a : f32 to f16", "%n : f16"),
        ("f16", "%n = arith.bitcast %a : f16 to bf16", "%n : bf16"),
        ("bf16", "%n = arith.fptosi %a : bf16 to i64", "%n : i64"),
        ("i64", "%n = arith.sitofp %a : i64 to f64", "%n : f64"),
    ],
)
@pytest.mark.parametrize("combiner", ["add ", ""])
def test_narrower_numbers(element: str, body: str, yielded: str, combiner: str) -> None:
    """They would be combined in their own type, `init` too."""
    message = f"the body must yield {element}, or a wider number, for tensor"
    with pytest.raises(GradirError, match=f"loopnest.nest: {message}"):
        gradir.parse(nest((2, 3), element, f"{combiner}[d1]", yielded, body))


@pytest.mark.parametrize(
    ("element", "widening", "wide"),
    [("f32", "extf", "f64"), ("bf16", "extf", "f64"), ("f16", "extf", "f32"),
     ("i8", "extsi", "i64"), ("ui8", "extui", "i32"), ("i1", "extui", "i8")],
)  # fmt: skip
@pytest.mark.parametrize("combiner", ["add", "maximum"])
def test_wider_numbers(element: str, widening: str, wide: str, combiner: str) -> None:
    """They are combined in their own type, and rounded or wrapped once."""
    held = "i8" if element == "ui8" else element
    body = f"%n = arith.{widening} %a : {held} to {wide}"
    text = nest((5, 3), element, f"{combiner} [d1] init %start", f"%n : {wide}", body)
    x, start = numbers(element, 5, 3), numbers(element, 3)
    module = gradir.parse(text)
    [native], [value] = (
        gradir.compile(module, "f")(x, start),
        gradir.interpret(module, "f", x, start),
    )
    np.testing.assert_array_equal(native.astype(float), value.astype(float))


@pytest.mark.parametrize(
    "subscript",
    ["d0 * 4611686018427387904", "d1 + 9223372036854775808", "d0 * 18446744073709551616"],
)
def test_subscripts_that_would_wrap(subscript: str) -> None:
    text = nest((2, 3), "f64", "add [d1]", "%a : f64").replace(
        "%x[d0, d1]", f"%x[{subscript}, d1] pad 0.0 : f64"
    )
    with pytest.raises(GradirError, match=r"loopnest.nest: subscripts must stay below 2\*\*62"):
        gradir.parse(text)


@pytest.mark.parametrize("extent", [0, 1])
@pytest.mark.parametrize("row", ["d0 * 18446744073709551616", "d0 + 1099511627776"])
def test_large_numbers_of_affine_gathers(row: str, extent: int) -> None:
    text = f"""func.func @f(%x: tensor<4xf64>) -> tensor<{extent}xf64> {{
      %y = array.affine_gather %x {{map = affine_map<(d0) -> ({row})>}}
          : tensor<4xf64> -> tensor<{extent}xf64>
      func.return %y : tensor<{extent}xf64>
    }}"""
    with pytest.raises(GradirError, match=r"numbers of subscript 0 must stay below 2\*\*40, got"):
        gradir.parse(text)
