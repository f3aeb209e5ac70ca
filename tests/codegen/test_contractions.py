"""Contractions as native code, against NumPy in float64 (or exactly, for integers)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from runtime_harness import (
    Array,
    compile_buffers,
    compiled,
    contraction_of,
    function,
    function_of,
    memref,
    parse,
)
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64

import gradir
from gradir.cache.memory import Store
from gradir.codegen.contractions import plan
from gradir.codegen.contractions.kernel import THREADS, emit_contract
from gradir.codegen.contractions.plan import contract_scratch_bytes
from gradir.codegen.driver.program import emit_program
from gradir.codegen.text.target import host
from gradir.compiler.pipeline import Machine, run_stages
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.symbols import function_named

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i8": np.int8,
    "ui8": np.uint8,
    "i64": np.int64,
}
SHAPES = [(3, 5, 7), (1, 40, 33), (40, 1, 33), (33, 1, 64), (1, 1, 100), (17, 70, 1), (50, 64, 130)]
LAYOUTS = ["nn", "nt", "tn", "tt"]


def values(shape: tuple[int, ...], element: str, seed: int) -> Array:
    random = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[element])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype)
    return random.standard_normal(shape).astype(dtype)


def contraction(
    bounds: tuple[int, ...],
    factors: tuple[tuple[str, str], tuple[str, str]],
    accumulator: str,
    others: str,
    outputs: str,
    body: str,
    scratch: int = 0,
) -> str:
    """The op; a factor is (its subscripts, its type)."""
    (left, left_type), (right, right_type) = factors
    behind = f"scratch %arena : memref<{scratch}xi8>" if scratch else ""
    return f"""
  loopnest.contract {list(bounds)} (%x[{left}] : {left_type}, %w[{right}] : {right_type}{others})
      acc %acc : {accumulator} -> ({outputs}) {behind} {{
    {body}
  }}"""


def with_scratch(arguments: str, inputs: int, results: int, threads: int = 1, **op: Any) -> str:
    """A function around a contraction that has the scratch it asks for."""
    plain = function(f"%arena: memref<1xi8>, {arguments}", inputs, results, contraction(**op))
    size = contract_scratch_bytes(contraction_of(plain), host(), threads)
    body = contraction(**op, scratch=size)
    return function(f"%arena: memref<{max(size, 1)}xi8>, {arguments}", inputs, results, body)


def product(
    m: int, n: int, k: int, layout: str, element: str, accumulator: str, threads: int = 1
) -> str:
    """@f(x, w) -> x @ w, each factor plain or transposed."""
    left, left_shape = ("d0, d2", (m, k)) if layout[0] == "n" else ("d2, d0", (k, m))
    right, right_shape = ("d2, d1", (k, n)) if layout[1] == "n" else ("d1, d2", (n, k))
    x, w, r = memref(left_shape, element), memref(right_shape, element), memref((m, n), accumulator)
    return with_scratch(
        f"%x: {x}, %w: {w}, %r: {r}",
        2,
        1,
        threads,
        bounds=(m, n, k),
        factors=((left, x), (right, w)),
        accumulator=accumulator,
        others="",
        outputs=f"[d0, d1] to %r : {r}",
        body=f"loopnest.yield %acc : {accumulator}",
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts_and_shapes(shape: tuple[int, int, int], layout: str):
    m, n, k = shape
    fn = compiled(product(m, n, k, layout, "f32", "f32"))
    x, w = values((m, k), "f32", 0), values((k, n), "f32", 1)
    left = x if layout[0] == "n" else np.ascontiguousarray(x.T)
    right = w if layout[1] == "n" else np.ascontiguousarray(w.T)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(fn(left, right)[0], exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("element", "accumulator"),
    [("f64", "f64"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f16")],
)
@pytest.mark.parametrize("shape", [(9, 20, 30), (20, 1, 64)], ids=str)
def test_float_types(shape: tuple[int, int, int], element: str, accumulator: str):
    m, n, k = shape
    fn = compiled(product(m, n, k, "nn", element, accumulator))
    x, w = values((m, k), element, 0), values((k, n), element, 1)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    tolerance = {"f64": 1e-12, "f32": 1e-5, "f16": 5e-2}[accumulator]
    np.testing.assert_allclose(
        fn(x, w)[0].astype(np.float64), exact, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize(
    ("element", "accumulator"), [("i32", "i32"), ("i8", "i32"), ("ui8", "i32"), ("i64", "i64")]
)
def test_integers_wrap(element: str, accumulator: str):
    fn = compiled(product(6, 9, 40, "nn", element, accumulator))
    x, w = values((6, 40), element, 0), values((40, 9), element, 1)
    dtype = DTYPES[accumulator]
    with np.errstate(over="ignore"):
        exact = (x.astype(object) @ w.astype(object)) % (1 << 64)
    wrapped = exact.astype(np.uint64).astype(np.int64).astype(dtype)
    np.testing.assert_array_equal(fn(x, w)[0], wrapped)


EPILOGUE = """%0 = arith.addf %acc, %b1 : f32
    %1 = arith.mulf %0, %c1 : f32
    %2 = arith.maximumf %1, %d1 : f32
    %3 = arith.cmpf ogt, %1, %d1 : f32
    loopnest.yield %2, %0, %3 : f32, f32, i1"""


@pytest.mark.parametrize("shape", [(20, 37, 19), (21, 1, 50), (1, 30, 70)], ids=str)
@pytest.mark.parametrize("layout", ["nn", "tt"])
def test_epilogues_read_and_write_through_their_accesses(shape: tuple[int, int, int], layout: str):
    """A bias by column, a scale by row, a full operand that is transposed; three outputs."""
    m, n, k = shape
    left, x_shape = ("d0, d2", (m, k)) if layout[0] == "n" else ("d2, d0", (k, m))
    right, w_shape = ("d2, d1", (k, n)) if layout[1] == "n" else ("d1, d2", (n, k))
    x, w = memref(x_shape), memref(w_shape)
    b, c, d = memref((n,)), memref((m,)), memref((n, m))
    r, s, t = memref((m, n)), memref((n, m)), memref((m, n), "i1")
    text = with_scratch(
        f"%x: {x}, %w: {w}, %b: {b}, %c: {c}, %d: {d}, %r: {r}, %s: {s}, %t: {t}",
        5,
        3,
        bounds=(m, n, k),
        factors=((left, x), (right, w)),
        accumulator="f32",
        others=f", %b1 = %b[d1] : {b}, %c1 = %c[d0] : {c}, %d1 = %d[d1, d0] : {d}",
        outputs=f"[d0, d1] to %r : {r}, [d1, d0] to %s : {s}, [d0, d1] to %t : {t}",
        body=EPILOGUE,
    )
    arrays = [values(shape_, "f32", seed) for seed, shape_ in enumerate((x_shape, w_shape))]
    bias, scale, full = (values(s_, "f32", 9 + k_) for k_, s_ in enumerate(((n,), (m,), (n, m))))
    first, second, third = compiled(text)(*arrays, bias, scale, full)
    x_, w_ = (
        a.astype(np.float64).T if transposed == "t" else a.astype(np.float64)
        for a, transposed in zip(arrays, layout, strict=True)
    )
    shifted = x_ @ w_ + bias
    scaled = shifted * scale[:, None]
    np.testing.assert_allclose(first, np.maximum(scaled, full.T), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(second, shifted.T, rtol=1e-4, atol=1e-4)
    clear = np.abs(scaled - full.T) > 1e-3
    np.testing.assert_array_equal(third[clear], (scaled > full.T)[clear])


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_repeat_factors(threads: int):
    x, w, r = memref((3, 1, 12, 10)), memref((4, 10, 33)), memref((3, 4, 12, 33), "f16")
    text = with_scratch(
        f"%x: {x}, %w: {w}, %r: {r}",
        2,
        1,
        threads,
        bounds=(3, 4, 12, 33, 10),
        factors=(("d0, 0, d2, d4", x), ("d1, d4, d3", w)),
        accumulator="f32",
        others="",
        outputs=f"[d0, d1, d2, d3] to %r : {r}",
        body="%0 = arith.truncf %acc : f32 to f16\n    loopnest.yield %0 : f16",
    )
    left, right = values((3, 1, 12, 10), "f32", 0), values((4, 10, 33), "f32", 1)
    (result,) = compiled(text, threads)(left, right)
    np.testing.assert_allclose(result, left @ right, rtol=2e-3, atol=2e-3)


def test_an_epilogue_may_reduce():
    x, w, r = memref((12, 10)), memref((10, 33)), memref((12,))
    text = with_scratch(
        f"%x: {x}, %w: {w}, %r: {r}",
        2,
        1,
        bounds=(12, 33, 10),
        factors=(("d0, d2", x), ("d2, d1", w)),
        accumulator="f32",
        others="",
        outputs=f"maximum [d0] to %r : {r}",
        body="loopnest.yield %acc : f32",
    )
    left, right = values((12, 10), "f32", 0), values((10, 33), "f32", 1)
    (result,) = compiled(text)(left, right)
    np.testing.assert_allclose(result, (left @ right).max(1), rtol=1e-5, atol=1e-5)


def test_no_products_sum_to_zero():
    fn = compiled(product(4, 5, 0, "nn", "f32", "f32"))
    result = fn(np.empty((4, 0), np.float32), np.empty((0, 5), np.float32))[0]
    np.testing.assert_array_equal(result, np.zeros((4, 5)))


@pytest.mark.parametrize("shape", [(128, 128, 128), (256, 1, 512), (1, 2048, 64)], ids=str)
def test_the_bits_do_not_depend_on_the_number_of_threads(shape: tuple[int, int, int]):
    m, n, k = shape
    texts = (product(m, n, k, "nt", "f32", "f32", count) for count in (1, 2))
    fn, shared = (compiled(text, count) for count, text in enumerate(texts, 1))
    assert shared.program.is_parallel or shared.threads == 1
    x, w = values((m, k), "f32", 0), values((n, k), "f32", 1)
    assert fn(x, w)[0].tobytes() == shared(x, w)[0].tobytes()


def test_chains_are_in_order():
    """Each element is fma(fma(fma(0, ...)...)) over k, whatever the tiling."""
    fn = compiled(product(5, 20, 40, "nn", "f64", "f64"))
    x, w = values((5, 40), "f64", 0), values((40, 20), "f64", 1)
    x, w = x.astype(np.float32).astype(np.float64), w.astype(np.float32).astype(np.float64)
    chain = np.zeros((5, 20))
    for j in range(40):
        chain += np.multiply.outer(x[:, j], w[j])  # products of floats are exact in double
    np.testing.assert_array_equal(fn(x, w)[0], chain)


def test_too_little_scratch_is_refused():
    text = product(64, 64, 64, "nt", "f32", "f32")
    size = contract_scratch_bytes(contraction_of(text), host(), 1)
    if size == 0:
        pytest.skip("this machine's plan needs no scratch")
    small = text.replace(f"memref<{size}xi8>", "memref<64xi8>")
    with pytest.raises(LocatedError, match=r"needs \d+ bytes of scratch, got 64"):
        emit_program(function_of(small), host(), 1)


def test_the_planned_number_of_threads_is_read():
    """A contraction is split as it was planned, whoever asks for its code."""
    text = product(64, 64, 64, "nt", "f32", "f32")
    one, two = (contract_scratch_bytes(contraction_of(text), host(), n) for n in (1, 2))
    planned, plain = (
        contraction_of(text.replace(f"memref<{one}xi8>", f"memref<{two}xi8>")) for _ in range(2)
    )
    planned.attributes[THREADS] = IntegerAttr(2, 64)
    split = emit_contract(plain, "k", host(), 2)
    assert emit_contract(planned, "k", host(), 1).text == split.text
    assert one == two or emit_contract(plain, "k", host(), 1).text != split.text
    planned.attributes[THREADS] = IntegerAttr(0, 64)
    with pytest.raises(LocatedError, match=r"gradir.threads must be a positive number, got 0"):
        emit_contract(planned, "k", host(), 1)


@pytest.mark.parametrize("kind", ["f32", "i32"])
def test_a_contraction_is_planned_once(kind: str, monkeypatch: pytest.MonkeyPatch):
    """For its scratch memory and for its code; equal contractions share the plan."""
    planned: list[ContractOp] = []
    make_plan = plan._plan

    def noted(op: ContractOp, *machine: Any) -> plan.ContractionPlan:
        planned.append(op)
        return make_plan(op, *machine)

    monkeypatch.setattr(plan, "_plan", noted)
    monkeypatch.setattr(plan, "_plans", Store[Any, Any]())
    square, long = f"tensor<30x30x{kind}>", f"tensor<30x40x{kind}>"
    module = gradir.parse(f"""
      func.func @f(%a: {square}, %b: {long}) -> {long} {{
        %0 = array.matmul %a, %a : {square}, {square} -> {square}
        %1 = array.matmul %0, %b : {square}, {long} -> {long}
        %2 = array.matmul %0, %1 : {square}, {long} -> {long}
        func.return %2 : {long}
      }}
    """).op
    run_stages(module, Machine(host(), 2))
    emit_program(function_named(module, "f"), host(), 2)
    assert len(planned) == 2


def test_a_plan_follows_the_op():
    """An op that changes has another plan, whatever was planned before."""
    op = contraction_of(product(64, 64, 64, "nn", "f32", "f32"))
    before = plan.plan_contraction(op, host(), 1)
    assert plan.plan_contraction(op, host(), 1) is before
    op.properties["bounds"] = DenseArrayBase.from_list(i64, [*op.extents[:-1], 32])
    assert plan.plan_contraction(op, host(), 1) != before


def test_a_kernel_tells_its_cost():
    op = contraction_of(product(64, 64, 64, "nn", "f32", "f32"))
    small = contraction_of(product(8, 64, 64, "nn", "f32", "f32"))
    costs = [sum(p.cost for p in emit_contract(o, "k", host(), 1).phases) for o in (op, small)]
    assert costs[0] > 4 * costs[1] > 0


# Ways a factor may lie in memory: over (batch, rows, k), where `b` is the subscript of the batch.
# Each stores a matrix whose elements of k = 0 are zeros, which padding can stand for.
def stored(kind: str, rows: int, k: int, dim: int) -> tuple[str, tuple[int, int]]:
    """The last subscripts, and the shape of the matrix in memory."""
    forms = {
        "plain": (f"d{dim}, d3", (rows, k)),
        "transposed": (f"d3, d{dim}", (k, rows)),
        "strided": (f"2 * d{dim}, 3 * d3 + 1", (2 * rows, 3 * k + 1)),
        "reversed": (f"d{dim}, -1 * d3 + {k - 1}", (rows, k)),
        "padded": (f"d{dim}, d3 + -1", (rows, k - 1)),
    }
    return forms[kind]


def store(kind: str, matrix: Array) -> Array:
    """A matrix (batch, rows, k) as it lies in memory."""
    if kind == "strided":
        batch, rows, k = matrix.shape
        wide = np.full((batch, 2 * rows, 3 * k + 1), 7, matrix.dtype)
        wide[:, ::2, 1::3] = matrix
        return wide
    changed = {
        "plain": matrix,
        "transposed": matrix.swapaxes(1, 2),
        "reversed": matrix[:, :, ::-1],
        "padded": matrix[:, :, 1:],
    }
    return np.ascontiguousarray(changed[kind])


KINDS = ["plain", "transposed", "strided", "reversed", "padded"]
FACTORS = [
    *((left, right) for left in KINDS[:2] for right in KINDS[:2]),
    *((kind, "plain") for kind in KINDS[2:]),
    *(("plain", kind) for kind in KINDS[2:]),
]


def factors_of(bounds: tuple[int, ...], element: str) -> dict[str, tuple[str, str]]:
    """Every factor's subscripts and type, in the order of KINDS."""
    batch, m, n, k = bounds
    zero = f"pad {0 if element[0] == 'i' else 0.0} : {element} "
    factors: dict[str, tuple[str, str]] = {}
    for side, rows, dim in (("x", m, 1), ("w", n, 2)):
        for kind in KINDS:
            subscripts, shape = stored(kind, rows, k, dim)
            type_ = memref((batch, *shape), element)
            pad = zero if kind == "padded" else ""
            factors[f"%{side}_{kind}"] = (f"[d0, {subscripts}] {pad}: {type_}", type_)
    return factors


def many_layouts(
    bounds: tuple[int, int, int, int], element: str, accumulator: str, width: int, threads: int
) -> Any:
    """@f(every left factor, every right factor) -> the sums by all of FACTORS, and two more.

    These are written by an epilogue that also reduces, whose result is the last one, and into a
    transposed output.
    """
    batch, m, n, _ = bounds
    factors = factors_of(bounds, element)
    types = [memref(shape, accumulator) for shape in ((batch, m, n), (batch, n, m), (batch, m))]
    whole, turned, reduced = types
    forms = [(f"%x_{left}", f"%w_{right}", "plain") for left, right in FACTORS]
    forms += [("%x_plain", "%w_transposed", "reducing"), ("%x_plain", "%w_plain", "turned")]
    results = [f"%r{number}: {whole}" for number in range(len(forms) - 1)]
    results += [f"%t: {turned}", f"%s: {reduced}"]

    def contraction_into(number: int, scratch: int) -> str:
        left, right, form = forms[number]
        outputs, values, kinds = f"[d0, d1, d2] to %r{number} : {whole}", "%acc", accumulator
        if form == "reducing":
            outputs += f", add [d0, d1] to %s : {reduced}"
            values, kinds = "%acc, %acc", f"{accumulator}, {accumulator}"
        if form == "turned":
            outputs = f"[d0, d2, d1] to %t : {turned}"
        return f"""
  loopnest.contract {list(bounds)} ({left}{factors[left][0]}, {right}{factors[right][0]})
      acc %acc : {accumulator} -> ({outputs}) scratch %arena : memref<{scratch}xi8> {{
    loopnest.yield {values} : {kinds}
  }}"""

    def text(scratch: int) -> str:
        arguments = [f"%arena: memref<{scratch}xi8>"]
        arguments += [f"{name}: {type_}" for name, (_, type_) in factors.items()]
        body = "\n".join(contraction_into(number, scratch) for number in range(len(forms)))
        return function(", ".join([*arguments, *results]), len(factors), len(results), body)

    target = host(width)
    contractions = [op for op in parse(text(1)).walk() if isinstance(op, ContractOp)]
    scratch = max(contract_scratch_bytes(op, target, threads) for op in contractions)
    return compile_buffers(function_of(text(max(scratch, 1))), threads, target)


ANY_LAYOUT = [
    (1, 1, 130, 96),
    (1, 1, 300, 300),
    (1, 5, 1, 300),
    (1, 300, 1, 7),
    (1, 1, 1, 1000),
    (1, 1, 1, 5),
    (1, 3, 5, 7),
    (1, 17, 33, 65),
    (1, 2, 2, 40),
    (1, 33, 70, 257),
    (2, 1, 30, 40),
    (3, 4, 1, 33),
    (3, 1, 1, 100),
    (2, 9, 12, 31),
]
ANY_TYPE = [("f64", "f64"), ("f16", "f32"), ("f16", "f16"), ("i32", "i32")]
LAYOUT_CASES = [
    *((bounds, "f32", "f32") for bounds in ANY_LAYOUT),
    *(
        (bounds, *types)
        for bounds in ((1, 1, 130, 96), (1, 5, 1, 300), (2, 1, 1, 100), (1, 9, 20, 35))
        for types in ANY_TYPE
    ),
]


@pytest.mark.parametrize("width", [w for w in (16, 32, 64) if w <= host().vector_bytes])
@pytest.mark.parametrize(("bounds", "element", "accumulator"), LAYOUT_CASES, ids=str)
def test_bits_do_not_depend_on_how_factors_lie_in_memory(
    bounds: tuple[int, int, int, int], element: str, accumulator: str, width: int
):
    batch, m, n, k = bounds
    x, w = values((batch, m, k), element, 0), values((batch, n, k), element, 1)
    x[:, :, 0], w[:, :, 0] = 0, 0
    given = [store(kind, x) for kind in KINDS] + [store(kind, w) for kind in KINDS]
    first = b""
    for threads in (1, 2) if width == host().vector_bytes else (1,):
        *results, turned, _ = many_layouts(bounds, element, accumulator, width, threads)(*given)
        results.append(np.ascontiguousarray(turned.swapaxes(1, 2)))
        first = first or results[0].tobytes()
        assert [r.tobytes() == first for r in results] == [True] * len(results)
        if accumulator in ("f32", "f64"):
            exact = x.astype(np.float64) @ w.astype(np.float64).swapaxes(1, 2)
            np.testing.assert_allclose(results[0], exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bounds", [(1, 1, 130, 96), (1, 6, 1, 300), (1, 1, 1, 90), (1, 7, 9, 40)])
def test_a_repeated_factor_is_as_good_as_its_copies(
    bounds: tuple[int, int, int, int], threads: int
):
    """Steps of 0 along k, along a free dimension, and along both."""
    _, m, n, k = bounds
    x = values((m, k), "f32", 0)
    for shape, rows in (((n, 1), "d1, 0"), ((1, k), "0, d2"), ((1, 1), "0, 0")):
        w = values(shape, "f32", 1)
        full = np.ascontiguousarray(np.broadcast_to(w, (n, k)))
        results: list[bytes] = []
        for matrix, subscripts in ((w, rows), (full, "d1, d2")):
            text = with_scratch(
                f"%x: {memref((m, k))}, %w: {memref(matrix.shape)}, %r: {memref((m, n))}",
                2,
                1,
                threads,
                bounds=(m, n, k),
                factors=(("d0, d2", memref((m, k))), (subscripts, memref(matrix.shape))),
                accumulator="f32",
                others="",
                outputs=f"[d0, d1] to %r : {memref((m, n))}",
                body="loopnest.yield %acc : f32",
            )
            results.append(compiled(text, threads)(x, matrix)[0].tobytes())
        assert results[0] == results[1]


@pytest.mark.parametrize("width", [w for w in (16, 32, 64) if w <= host().vector_bytes])
def test_a_vector_times_a_matrix_is_a_row_of_the_product_of_matrices(width: int):
    """Chains of products with one row or column are like all others."""
    x, w = values((1, 8, 200), "f32", 0), values((1, 40, 200), "f32", 1)
    x[:, :, 0], w[:, :, 0] = 0, 0

    def product_of(left: Array, right: Array) -> Array:
        given = [store(kind, left) for kind in KINDS] + [store(kind, right) for kind in KINDS]
        bounds = (1, left.shape[1], right.shape[1], 200)
        return many_layouts(bounds, "f32", "f32", width, 1)(*given)[1]

    both = product_of(x, w)
    np.testing.assert_array_equal(product_of(x[:, 3:4], w), both[:, 3:4])
    np.testing.assert_array_equal(product_of(x, w[:, 7:8]), both[:, :, 7:8])
