"""Row slices: gradients of tables as the rows that were read, natively and in the interpreter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradir
from gradir import RowSlices
from gradir.errors import ArgumentError, IndexOutOfRange, PassError
from gradir.testing import check_grads

Array = np.ndarray[Any, np.dtype[Any]]
RANDOM = np.random.default_rng(0)
W = RANDOM.standard_normal((6, 2))


def both(module: gradir.Module, name: str, *arguments: Any) -> tuple[Any, ...]:
    """What the interpreter says, which native code agrees with, slices row by row."""
    expected = gradir.interpret(module, name, *arguments)
    for one, other in zip(gradir.compile(module, name)(*arguments), expected, strict=True):
        assert type(one) is type(other)
        if isinstance(one, RowSlices):
            np.testing.assert_array_equal(one.indices, other.indices)
            assert one.shape == other.shape
            one, other = one.values, other.values
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    return expected


def gradients(text: str, *arguments: Any) -> tuple[RowSlices, Array]:
    """The gradient of %w (argument 0) in @f, as slices and as a tensor."""
    module = gradir.parse(text)
    sparse = module.gradient("f", wrt=0, mode="grad", req={0: "slices"})
    dense = module.gradient("f", wrt=0, mode="grad")
    *_, slices = both(sparse, "f_grad", *arguments)
    *_, whole = both(dense, "f_grad", *arguments)
    assert isinstance(slices, RowSlices)
    np.testing.assert_allclose(slices.densify(), whole, rtol=1e-12)
    return slices, whole


EMBEDDING = """
func.func @f(%w: tensor<6x2xf64> {{grad.name = "w"}}, %ids: tensor<2x2xi32>) -> tensor<f64> {{
  %rows = {op} : tensor<6x2xf64>, tensor<2x2xi32> -> tensor<2x2x2xf64>
  %e = array.exp %rows : tensor<2x2x2xf64>
  %y = array.sum %e : tensor<2x2x2xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}}"""
IDS = np.array([[3, -1], [3, 0]], np.int32)


@pytest.mark.parametrize("op", ["nn.embedding %w, %ids", "array.take %w, %ids {axis = 0}"])
def test_repeated_ids(op: str) -> None:
    """One slice for each id, in their order; ids from the end are counted from the start."""
    slices, _ = gradients(EMBEDDING.format(op=op), W, IDS)
    np.testing.assert_array_equal(slices.indices, [3, 5, 3, 0])
    np.testing.assert_allclose(slices.values, np.exp(W[[3, 5, 3, 0]]))


def test_padding_gets_nothing() -> None:
    text = EMBEDDING.format(op="nn.embedding %w, %ids {padding_idx = 3}")
    slices, _ = gradients(text, W, IDS)
    np.testing.assert_array_equal(slices.values[[0, 2]], np.zeros((2, 2)))
    np.testing.assert_allclose(slices.values[[1, 3]], np.exp(W[[5, 0]]))


def test_other_axes_are_dense() -> None:
    """take along axis 1 reads every row: all rows come back."""
    text = """
func.func @f(%w: tensor<3x2xf64>, %ids: tensor<4xi64>) -> tensor<f64> {
  %c = array.take %w, %ids {axis = 1} : tensor<3x2xf64>, tensor<4xi64> -> tensor<3x4xf64>
  %y = array.sum %c : tensor<3x4xf64> -> tensor<f64>
  func.return %y : tensor<f64>
}"""
    slices, _ = gradients(text, W[:3], np.array([0, 1, 1, 1]))
    np.testing.assert_array_equal(slices.indices, [0, 1, 2])


SEVERAL = """
func.func @f(%w: tensor<6x2xf64>, %i: tensor<3xi64>, %j: tensor<2xi64>, %d: tensor<6x2xf64>)
    -> tensor<f64> {
  %a = array.take %w, %i {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
  %b = nn.embedding %w, %j : tensor<6x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
  %p = array.square %a : tensor<3x2xf64>
  %q = array.sin %b : tensor<2x2xf64>
  %s = array.sum %p : tensor<3x2xf64> -> tensor<f64>
  %t = array.sum %q : tensor<2x2xf64> -> tensor<f64>
  %y = array.multiply %s, %t : tensor<f64>
  DENSE
  func.return %z : tensor<f64>
}"""
SPARSE_ONLY = SEVERAL.replace("DENSE", '%z = grad.name %y {name = "z"} : tensor<f64>')
MIXED = SEVERAL.replace(
    "DENSE",
    """%r = array.multiply %w, %d : tensor<6x2xf64>
  %u = array.sum %r : tensor<6x2xf64> -> tensor<f64>
  %z = array.add %y, %u : tensor<f64>""",
)
INPUTS = (W, np.array([1, 4, 1]), np.array([4, 0]), RANDOM.standard_normal((6, 2)))


def test_several_uses_are_concatenated() -> None:
    """In reverse program order, nothing added up."""
    slices, _ = gradients(SPARSE_ONLY, *INPUTS)
    np.testing.assert_array_equal(slices.indices, [4, 0, 1, 4, 1])


def test_dense_uses_make_all_rows() -> None:
    slices, _ = gradients(MIXED, *INPUTS)
    np.testing.assert_array_equal(slices.indices, range(6))


def test_the_rest_stays_dense() -> None:
    """What is asked for of an intermediate goes on as a tensor."""
    text = SPARSE_ONLY.replace(
        "%a = array.take %w",
        """%v = array.multiply %w, %d : tensor<6x2xf64>
  %h = grad.name %v {name = "h"} : tensor<6x2xf64>
  %a = array.take %h""",
    ).replace("nn.embedding %w", "nn.embedding %h")
    module = gradir.parse(text)
    sparse = module.gradient("f", wrt=["h", 0], mode="grad", req={"h": "slices"})
    _, h_ct, w_ct = both(sparse, "f_grad", *INPUTS)
    np.testing.assert_allclose(w_ct, h_ct.densify() * INPUTS[3])
    plain = gradir.interpret(module.gradient("f", wrt=0, mode="grad"), "f_grad", *INPUTS)
    np.testing.assert_allclose(w_ct, plain[1])


def test_nothing_read_is_no_rows() -> None:
    text = """
func.func @f(%w: tensor<6x2xf64>, %y: tensor<f64>) -> tensor<f64> {
  func.return %y : tensor<f64>
}"""
    slices, _ = gradients(text, W, np.array(1.0))
    assert slices.values.shape == (0, 2)


STEP = """
    %a = array.take %w, %i {axis = 0} : tensor<40x2xf64>, tensor<4xi64> -> tensor<4x2xf64>
    %b = array.broadcast_to %x : tensor<f64> -> tensor<4x2xf64>
    %p = array.multiply %a, %b : tensor<4x2xf64>
    %q = array.sin %p : tensor<4x2xf64>
    %s = array.sum %q : tensor<4x2xf64> -> tensor<f64>"""
COUNTED = f"""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %r = scf.for %k = %zero to %three step %one iter_args(%x = %y) -> (tensor<f64>) {{{STEP}
    scf.yield %s : tensor<f64>
  }} POLICY"""
REPEATED = f"""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %last, %r = scf.while (%k = %zero, %z = %y) : (index, tensor<f64>) -> (index, tensor<f64>) {{
    %more = arith.cmpi slt, %k, %three : index
    scf.condition(%more) %k, %z : index, tensor<f64>
  }} do {{
  ^bb0(%k: index, %x: tensor<f64>):{STEP}
    %next = arith.addi %k, %one : index
    scf.yield %next, %s : index, tensor<f64>
  }}"""
BRANCH = f"""
  %r = scf.if %c -> (tensor<f64>) {{
    %j = array.slice %i {{start = [1], stop = [3]}} : tensor<4xi64> -> tensor<2xi64>
    %few = nn.embedding %w, %j : tensor<40x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
    %t = array.prod %few : tensor<2x2xf64> -> tensor<f64>
    scf.yield %t : tensor<f64>
  }} else {{
    %x = array.tanh %y : tensor<f64>{STEP}
    scf.yield %s : tensor<f64>
  }}"""
STAGE = f"""
  %r = grad.checkpoint -> (tensor<f64>) {{
    %x = array.tanh %y : tensor<f64>{STEP}
    grad.yield %s : tensor<f64>
  }}"""
CALL = """
  %r = func.call @g(%w, %i, %y) : (tensor<40x2xf64>, tensor<4xi64>, tensor<f64>) -> tensor<f64>"""
NESTED = f"""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %r = scf.for %k = %zero to %three step %one iter_args(%u = %y) -> (tensor<f64>) {{
    %v = scf.if %c -> (tensor<f64>) {{{CALL.replace("%y", "%u").replace("%r", "%g")}
      scf.yield %g : tensor<f64>
    }} else {{
      scf.yield %u : tensor<f64>
    }}
    scf.yield %v : tensor<f64>
  }}"""


def of_regions(body: str) -> str:
    taken = "%w: tensor<40x2xf64>, %i: tensor<4xi64>"
    return f"""
func.func @f({taken}, %y: tensor<f64>, %c: i1) -> tensor<f64> {{{body}
  func.return %r : tensor<f64>
}}
func.func private @g({taken}, %x: tensor<f64>) -> tensor<f64> {{{STEP}
  func.return %s : tensor<f64>
}}"""


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (COUNTED.replace("POLICY", ""), 12),
        (COUNTED.replace("POLICY", "{grad.loop = #grad.loop<every = 2>}"), 12),
        (COUNTED.replace("POLICY", "{grad.loop = #grad.loop<binomial = 2>}"), 12),
        (REPEATED, 40),  # its iterations are not known at its start
        (BRANCH, 4),
        (STAGE, 4),
        (CALL, 4),
        (NESTED, 12),
    ],
    ids="for every binomial while branch stage call nested".split(),
)
def test_regions_and_calls(body: str, rows: int) -> None:
    """As many slices as rows that are read; in branches as many as the branch that reads most."""
    w = RANDOM.standard_normal((40, 2))
    arguments = (w, np.array([3, -1, 3, 7]), np.array(0.7), True)
    slices, whole = gradients(of_regions(body), *arguments)
    assert len(slices.indices) == rows
    module = gradir.parse(of_regions(body))
    first = module.gradient("f", wrt=0, mode="grad", req={0: "slices"})
    # at second order too, where both gradients are slices
    plain = module.gradient("f", wrt=0, mode="grad").gradient("f_grad", of=1, wrt=0, mode="vjp")
    twice = first.gradient("f_grad", of=1, wrt=0, mode="vjp", req={0: "slices"})
    *_, expected = gradir.interpret(plain, "f_grad_vjp", *arguments, whole)
    *_, found = gradir.interpret(twice, "f_grad_vjp", *arguments, whole)
    np.testing.assert_allclose(found.densify(), expected, atol=1e-12)


@pytest.mark.parametrize("body", [CALL, NESTED], ids=["call", "nested"])
def test_policies(body: str) -> None:
    """A policy leaves slices what they are; it inlines calls."""
    module = gradir.parse(of_regions(body))
    arguments = (RANDOM.standard_normal((40, 2)), np.array([3, -1, 3, 7]), np.array(0.7), True)
    plain, other = (
        module.gradient("f", wrt=0, mode="grad", req={0: "slices"}, policy=policy)
        for policy in ("keep_all", "keep_none")
    )
    *_, expected = gradir.interpret(plain, "f_grad", *arguments)
    *_, found = gradir.interpret(other, "f_grad", *arguments)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("request_of_y", ["write", "add", "null"])
@pytest.mark.parametrize("body", [COUNTED.replace("POLICY", ""), BRANCH, STAGE, CALL, NESTED])
def test_requests_beside_slices(body: str, request_of_y: str) -> None:
    """Those of %y change nothing of the slices; with "null" it has no gradient."""
    module = gradir.parse(of_regions(body))
    arguments = (RANDOM.standard_normal((40, 2)), np.array([3, -1, 3, 7]), np.array(0.7), True)
    plain: Any = module.gradient("f", wrt=[0, 2], mode="grad", req={0: "slices"})
    expected: Any = gradir.interpret(plain, "f_grad", *arguments)
    asked = module.gradient("f", wrt=[0, 2], mode="grad", req={0: "slices", 2: request_of_y})
    out = None if request_of_y != "add" else [None, None, np.array(2.0)]
    found: Any = gradir.compile(asked, "f_grad")(*arguments, out=out)
    _, slices, *rest = found
    np.testing.assert_array_equal(slices.indices, expected[1].indices)
    np.testing.assert_allclose(slices.values, expected[1].values, rtol=1e-12)
    wanted = {"write": [expected[2]], "add": [2.0 + expected[2]], "null": []}[request_of_y]
    np.testing.assert_allclose(rest, wanted, rtol=1e-12)


def test_loop_of_many_rows_is_dense() -> None:
    """A loop that reads more rows than the table has sums a tensor."""
    body = COUNTED.replace("POLICY", "").replace("constant 3", "constant 11")
    places = np.array([3, -1, 3, 0])
    w, y = RANDOM.standard_normal((40, 2)), np.array(0.7)
    slices, _ = gradients(of_regions(body), w, places, y, True)
    np.testing.assert_array_equal(slices.indices, range(40))


def test_branch_without_rows() -> None:
    """It gives zeros for row 0, since both branches give as many slices."""
    body = BRANCH.replace(
        "%few = nn.embedding %w, %j : tensor<40x2xf64>, tensor<2xi64> -> tensor<2x2xf64>",
        "%few = array.full {value = 2.0} : tensor<2x2xf64>",
    )
    slices, _ = gradients(
        of_regions(body), RANDOM.standard_normal((40, 2)), np.arange(4), np.array(0.7), True
    )
    np.testing.assert_array_equal(slices.indices, np.zeros(4))
    assert not slices.values.any()


def test_second_order() -> None:
    """Through a gradient that is slices: its cotangent is a tensor."""
    module = gradir.parse(EMBEDDING.format(op="nn.embedding %w, %ids"))
    first = module.gradient("f", wrt=0, mode="grad", req={0: "slices"})
    v = RANDOM.standard_normal((6, 2))
    *_, product = both(first.gradient("f_grad", of=1, wrt=0, mode="vjp"), "f_grad_vjp", W, IDS, v)
    counts = np.zeros((6, 1))
    np.add.at(counts, [3, 5, 3, 0], 1)
    np.testing.assert_allclose(product, counts * np.exp(W) * v)
    *_, tangent = both(first.gradient("f_grad", of=1, wrt=0, mode="jvp"), "f_grad_jvp", W, IDS, v)
    np.testing.assert_allclose(tangent, counts * np.exp(W) * v)
    again = first.gradient("f_grad", of=1, wrt=0, mode="vjp", req={0: "slices"})
    *_, slices = both(again, "f_grad_vjp", W, IDS, v)
    np.testing.assert_allclose(slices.densify(), product)


@pytest.mark.parametrize("mode", ["vjp", "split"])
@pytest.mark.parametrize("policy", ["keep_all", "keep_none"])
def test_modes_and_policies(mode: str, policy: str) -> None:
    module = gradir.parse(SPARSE_ONLY)
    made = module.gradient("f", wrt=0, mode=mode, policy=policy, req={0: "slices"})
    one = np.array(1.0)
    if mode == "vjp":
        *_, slices = both(made, "f_vjp", *INPUTS, one)
    else:
        _, *residuals = both(made, "f_fwd", *INPUTS)
        [slices] = both(made, "f_bwd", *residuals, one)
    _, whole = gradients(SPARSE_ONLY, *INPUTS)
    np.testing.assert_allclose(slices.densify(), whole)


def test_loops_and_branches_are_dense_inside() -> None:
    """What regions add up is a tensor; outside of them, slices are added to it."""
    text = """
func.func @f(%w: tensor<6x2xf64>, %ids: tensor<3xi64>, %c: i1) -> tensor<f64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %first = array.take %w, %ids {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
  %begin = array.sum %first : tensor<3x2xf64> -> tensor<f64>
  %y = scf.for %i = %zero to %three step %one iter_args(%s = %begin) -> (tensor<f64>) {
    %a = array.take %w, %ids {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
    %b = array.sum %a : tensor<3x2xf64> -> tensor<f64>
    %n = array.multiply %s, %b : tensor<f64>
    scf.yield %n : tensor<f64>
  }
  %z = scf.if %c -> (tensor<f64>) {
    %a = array.take %w, %ids {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
    %b = array.sum %a : tensor<3x2xf64> -> tensor<f64>
    %n = array.multiply %y, %b : tensor<f64>
    scf.yield %n : tensor<f64>
  } else {
    scf.yield %y : tensor<f64>
  }
  %last = array.take %w, %ids {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
  %end = array.sum %last : tensor<3x2xf64> -> tensor<f64>
  %r = array.add %z, %end : tensor<f64>
  func.return %r : tensor<f64>
}"""
    gradients(text, W, np.array([1, 4, 1]), np.array(True))


def test_a_stage_gives_slices() -> None:
    text = """
func.func @f(%w: tensor<6x2xf64>, %ids: tensor<3xi64>) -> tensor<f64> {
  %a = grad.start_checkpoint %w : tensor<6x2xf64>
  %b = array.take %a, %ids {axis = 0} : tensor<6x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
  %c = array.sin %b : tensor<3x2xf64>
  %d = array.sum %c : tensor<3x2xf64> -> tensor<f64>
  %y = grad.end_checkpoint %d : tensor<f64>
  func.return %y : tensor<f64>
}"""
    slices, _ = gradients(text, W, np.array([1, 4, 1]))
    np.testing.assert_array_equal(slices.indices, [1, 4, 1])


# The ops.

OPS = """
func.func @f(%i: tensor<5xi64>, %v: tensor<5x2xf64>, %d: tensor<4x2xf64>)
    -> (tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>) {
  %s = grad.slices %i, %v : tensor<5xi64>, tensor<5x2xf64> -> SLICES
  %c = grad.coalesce %s : SLICES
  %m = grad.coalesce %s {mode = "mean"} : SLICES
  %x = grad.densify %c : SLICES -> tensor<4x2xf64>
  %y = grad.densify %m : SLICES -> tensor<4x2xf64>
  %z = grad.accumulate %s, %d, %m : SLICES, tensor<4x2xf64>, SLICES -> tensor<4x2xf64>
  func.return %x, %y, %z : tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>
}
func.func @coalesce(%s: SLICES) -> SLICES {
  %c = grad.coalesce %s : SLICES
  func.return %c : SLICES
}
func.func @carry(%s: SLICES, %c: i1, %n: index) -> (tensor<4x2xf64>, SLICES) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %t = scf.if %c -> (SLICES) {
    %a = grad.coalesce %s {mode = "mean"} : SLICES
    scf.yield %a : SLICES
  } else {
    scf.yield %s : SLICES
  }
  %u, %x = scf.for %i = %zero to %n step %one iter_args(%p = %t, %q = %s) -> (SLICES, SLICES) {
    %r = func.call @coalesce(%q) : (SLICES) -> SLICES
    scf.yield %r, %p : SLICES, SLICES
  }
  %y = grad.densify %u : SLICES -> tensor<4x2xf64>
  func.return %y, %x : tensor<4x2xf64>, SLICES
}""".replace("SLICES", "!grad.slices<4x2xf64, count = 5>")
PLACES = np.array([2, 0, -2, 3, 2])
PARTS = RANDOM.standard_normal((5, 2))


def test_coalesce() -> None:
    """Each row once, in order; remaining places repeat the last index, with zeros."""
    given = RowSlices(PLACES, PARTS, (4, 2))
    [slices] = both(gradir.parse(OPS), "coalesce", given)
    np.testing.assert_array_equal(slices.indices, [0, 2, 3, 3, 3])
    total = PARTS[[0, 2, 4]].sum(0)
    np.testing.assert_allclose(slices.values[:3], [PARTS[1], total, PARTS[3]])
    np.testing.assert_array_equal(slices.values[3:], np.zeros((2, 2)))
    np.testing.assert_array_equal(slices.densify(), given.densify())


def test_ops_and_their_derivatives() -> None:
    module = gradir.parse(OPS)
    dense = RANDOM.standard_normal((4, 2))
    x, y, z = both(module, "f", PLACES, PARTS, dense)
    np.testing.assert_allclose(x, RowSlices(PLACES, PARTS, (4, 2)).densify())
    np.testing.assert_allclose(y[2], PARTS[[0, 2, 4]].mean(0))
    np.testing.assert_allclose(z, dense + x + y)
    check_grads(module, [PLACES, PARTS, dense], function="f")


@pytest.mark.parametrize("condition", [True, False])
def test_through_regions_and_calls(condition: bool) -> None:
    both(gradir.parse(OPS), "carry", RowSlices(PLACES, PARTS, (4, 2)), condition, 3)


@pytest.mark.parametrize("count", [0, 1, 17])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_sizes_and_elements(count: int, element: str) -> None:
    """No slices, one, and more than there are rows."""
    type_ = f"!grad.slices<4x{element}, count = {count}>"
    module = gradir.parse(f"""
func.func @f(%s: {type_}) -> ({type_}, tensor<4x{element}>) {{
  %c = grad.coalesce %s : {type_}
  %d = grad.densify %c : {type_} -> tensor<4x{element}>
  func.return %c, %d : {type_}, tensor<4x{element}>
}}""")
    dtype = {"f32": np.float32, "f16": np.float16}[element]
    values = np.arange(count).astype(dtype)
    given = RowSlices(np.arange(count) % 4, values, (4,))
    for results in (gradir.interpret(module, "f", given), gradir.compile(module, "f")(given)):
        np.testing.assert_array_equal(results[1], np.bincount(np.arange(count) % 4, values, 4))


def test_bad_indices_name_the_op() -> None:
    module = gradir.parse(OPS)
    bad = np.array([0, 1, 4, 0, 0])
    runs: list[Any] = [gradir.compile(module, "f"), partial(gradir.interpret, module, "f")]
    for run in runs:
        with pytest.raises(IndexOutOfRange, match=r"grad\.densify: index 4 is out of range"):
            run(bad, PARTS, np.zeros((4, 2)))


def test_out_and_arguments() -> None:
    fn: Any = gradir.compile(gradir.parse(OPS), "coalesce")
    into = RowSlices(np.zeros(5, np.int64), np.zeros((5, 2)), (4, 2))
    [result] = fn(RowSlices(PLACES, PARTS, (4, 2)), out=into)
    assert result.values is into.values and into.indices[1] == 2
    with pytest.raises(ArgumentError, match="argument 0: expected RowSlices, got ndarray"):
        fn(PARTS)
    with pytest.raises(ArgumentError, match=r"expected slices of \[4, 2\], got \[5, 2\]"):
        fn(RowSlices(PLACES, PARTS, (5, 2)))


def test_requests_are_checked() -> None:
    module = gradir.parse(EMBEDDING.format(op="nn.embedding %w, %ids"))
    with pytest.raises(PassError, match="req: slices needs a gradient, got mode=jvp"):
        module.gradient("f", mode="jvp", req={"w": "slices"})
    with pytest.raises(PassError, match="req must be write, null, add or slices, got 'sparse'"):
        module.gradient("f", req={"w": "sparse"})


@pytest.mark.parametrize("policy", ["keep_matmuls", "keep_none", "auto"])
def test_row_slices_are_handed_over_under_policies(policy: str) -> None:
    """Their bytes count where the plan of a derivative in two functions is measured."""
    text = """
func.func @f(%i: tensor<5xi64>, %v: tensor<5x2xf64>) -> (tensor<4x2xf64>, !S) {
  %s = grad.slices %i, %v : tensor<5xi64>, tensor<5x2xf64> -> !grad.slices<4x2xf64, count = 5>
  %m = grad.coalesce %s {mode = "mean"} : !grad.slices<4x2xf64, count = 5>
  %b = grad.accumulate %s, %m
      : !grad.slices<4x2xf64, count = 5>, !grad.slices<4x2xf64, count = 5> -> !S
  %x = grad.densify %b : !S -> tensor<4x2xf64>
  func.return %x, %b : tensor<4x2xf64>, !S
}
""".replace("!S", "!grad.slices<4x2xf64, count = 10>")
    module = gradir.parse(text)
    for mode in ("split", "vjp"):
        derived = module.gradient("f", mode=mode, policy=policy)
        assert derived.functions == module.gradient("f", mode=mode).functions
