"""Matrix products: bits against a scalar chain of fma, for all targets, layouts and splits."""

from __future__ import annotations

import ctypes
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import llvmlite.binding as llvmlite_binding
import ml_dtypes
import numpy as np
import pytest

from gradir.codegen.contractions.choose_tiles import plan_product
from gradir.codegen.contractions.finish import ResultPlace
from gradir.codegen.contractions.product import emit_product
from gradir.codegen.contractions.product_plan import Operand, Product, ProductPlan
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.target import MachineTarget, host, target_of
from gradir.codegen.text.writer import FunctionWriter
from gradir.codegen.vector_math import definitions
from gradir.codegen.vector_math.target_functions import completed

Array = np.ndarray[Any, np.dtype[Any]]
llvm: Any = llvmlite_binding

NUMPY_TYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}
SIZES = (1, 2, 7, 13, 17, 64, 100)


def widths() -> list[int]:
    """The vector widths in bytes that this machine can run."""
    return [width for width in (16, 32, 64) if width <= host().vector_bytes]


@dataclass(frozen=True)
class Case:
    """One contraction of dense operands; a transposed one is stored column by column."""

    m: int
    n: int
    k: int
    batch: tuple[int, ...] = ()
    lhs_transposed: bool = False
    rhs_transposed: bool = False
    element: str = "f32"
    accumulator: str = "f32"
    rhs_repeats: bool = False
    padding: int = 0

    def product(self) -> Product:
        lhs = self._operand(self.m, self.k, self.lhs_transposed, False)
        rhs = self._operand(self.k, self.n, self.rhs_transposed, self.rhs_repeats)
        return Product(self.batch, self.m, self.n, self.k, lhs, rhs, self.accumulator)

    def _operand(self, rows: int, columns: int, transposed: bool, repeats: bool) -> Operand:
        inner, outer = (rows, columns) if transposed else (columns, rows)
        strides = (1, inner + self.padding) if transposed else (inner + self.padding, 1)
        step, batch = (inner + self.padding) * outer, list[int]()
        for extent in reversed(self.batch):
            batch.append(0 if repeats else step)
            step *= extent
        return Operand(self.element, *strides, tuple(reversed(batch)))


class Compiled:
    """Native code of one plan, with addresses of its phases."""

    def __init__(self, text: str, names: list[str], target: MachineTarget) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly("\n".join(completed(text, target)))
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=target.cpu, features=target.features, opt=2
        )
        # the text is meant to be good code as it stands: no pass of the optimizer runs over it
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        self.addresses: list[int] = [self.engine.get_function_address(name) for name in names]
        self.assembly: str = machine.emit_assembly(module)


def store(plan: ProductPlan, bias: bool = False) -> Any:
    """An epilogue that stores into a dense result, plus its column number if `bias`."""
    c = plan.product

    def epilogue(f: FunctionWriter, value: str, place: ResultPlace) -> None:
        kind, vector, offset = c.accumulator, place.vector, "0"
        indices = [*place.batch, place.row, place.column]
        for index, extent in zip(indices, [*c.batch, c.m, c.n], strict=True):
            offset = f.emit(f"mul i64 {offset}, {extent}")
            offset = f.emit(f"add i64 {offset}, {index}")
        if bias:
            numbers = f.lane_numbers(vector.lanes, place.column)
            numbers = f.cast("sitofp", "i64", kind, vector.lanes, numbers)
            value = f.binary("fadd", kind, vector.lanes, value, numbers)
        f.store(kind, vector.lanes, f.address(kind, "%out", offset), value, vector.mask)

    return epilogue


def product_text(plan: ProductPlan, epilogue: Any) -> str:
    """The module of a product, with the functions that it calls."""
    needs = Needs()
    text = emit_product(plan, "f", epilogue, needs=needs)
    called = definitions(needs.functions, attributes=plan.target.attributes)
    return "\n".join([*called, text])


def aligned(size: int) -> tuple[Array, int]:
    """Fresh memory full of a pattern that is NaN as any floating type, and its aligned address."""
    memory = np.full(size + 64, 0xFF, np.uint8)
    return memory, -(-memory.ctypes.data // 64) * 64


def run(plan: ProductPlan, lhs: Array, rhs: Array, shares: int = 1, bias: bool = False) -> Array:
    """Compile and run all phases, each split into `shares` ranges, the last range first."""
    c = plan.product
    text = product_text(plan, store(plan, bias))
    code = Compiled(text, [f"f.{phase.suffix}" for phase in plan.phases], plan.target)
    out = np.full((*c.batch, c.m, c.n), np.nan, NUMPY_TYPES[c.accumulator])
    keep, scratch = aligned(plan.scratch_bytes)
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)
    for phase, address in zip(plan.phases, code.addresses, strict=True):
        call = signature(address)
        bounds = [phase.items * share // shares for share in range(shares + 1)]
        for begin, end in reversed(list(itertools.pairwise(bounds))):
            call(lhs.ctypes.data, rhs.ctypes.data, scratch, out.ctypes.data, begin, end)
    assert keep.size > plan.scratch_bytes
    return out


def data(case: Case) -> tuple[Array, Array]:
    """Random operands in memory, as large as the strides ask; padding is NaN."""
    generator = np.random.default_rng(0)
    found: list[Array] = []
    for transposed, rows, columns in (
        (case.lhs_transposed, case.m, case.k),
        (case.rhs_transposed, case.k, case.n),
    ):
        inner, outer = (rows, columns) if transposed else (columns, rows)
        shape = (*case.batch, outer, inner + case.padding)
        values = generator.standard_normal(shape)
        values[..., inner:] = np.nan
        found.append(values.astype(NUMPY_TYPES[case.element]))
    return found[0], found[1]


def matrices(case: Case, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """The operands as dense batches of m x k and k x n in the accumulator's type."""
    kind = NUMPY_TYPES[case.accumulator]
    left = lhs[..., : case.m if case.lhs_transposed else case.k]
    right = rhs[..., : case.k if case.rhs_transposed else case.n]
    left = left.swapaxes(-1, -2) if case.lhs_transposed else left
    right = right.swapaxes(-1, -2) if case.rhs_transposed else right
    if case.rhs_repeats:
        right = np.broadcast_to(right[(0,) * len(case.batch)], (*case.batch, case.k, case.n))
    return np.ascontiguousarray(left, kind), np.ascontiguousarray(right, kind)


@cache
def chain_code() -> Compiled:
    """Scalar loops: one chain of fma for each element of a dense m x n result."""
    functions = "\n".join(
        f"""
define void @chain.{kind}(ptr %a, ptr %b, ptr %c, i64 %m, i64 %n, i64 %k) {{
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.next ]
  %ai = mul i64 %i, %k
  %ci = mul i64 %i, %n
  br label %column
column:
  %j = phi i64 [ 0, %row ], [ %j.next, %column.next ]
  br label %inner
inner:
  %p = phi i64 [ 0, %column ], [ %p.next, %step ]
  %acc = phi {kind} [ 0.0, %column ], [ %acc.next, %step ]
  %more = icmp slt i64 %p, %k
  br i1 %more, label %step, label %column.next
step:
  %ao = add i64 %ai, %p
  %ap = getelementptr {kind}, ptr %a, i64 %ao
  %av = load {kind}, ptr %ap
  %bi = mul i64 %p, %n
  %bo = add i64 %bi, %j
  %bp = getelementptr {kind}, ptr %b, i64 %bo
  %bv = load {kind}, ptr %bp
  %acc.next = call {kind} @llvm.fma.{name}({kind} %av, {kind} %bv, {kind} %acc)
  %p.next = add i64 %p, 1
  br label %inner
column.next:
  %co = add i64 %ci, %j
  %cp = getelementptr {kind}, ptr %c, i64 %co
  store {kind} %acc, ptr %cp
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n
  br i1 %j.more, label %column, label %row.next
row.next:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %m
  br i1 %i.more, label %row, label %done
done:
  ret void
}}"""
        for kind, name in (("float", "f32"), ("double", "f64"))
    )
    return Compiled(functions, ["chain.float", "chain.double"], host())


def expected(case: Case, lhs: Array, rhs: Array) -> Array:
    """The result by the scalar chain."""
    left, right = matrices(case, lhs, rhs)
    out = np.zeros((*case.batch, case.m, case.n), left.dtype)
    address = chain_code().addresses[case.accumulator == "f64"]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(address)
    if out.size:
        for index in np.ndindex(*case.batch):
            pointers = [array[index].ctypes.data for array in (left, right, out)]
            call(*pointers, case.m, case.n, case.k)
    return out


def check(case: Case, plan: ProductPlan, shares: int = 1) -> None:
    lhs, rhs = data(case)
    want = expected(case, lhs, rhs)
    np.testing.assert_array_equal(run(plan, lhs, rhs, shares), want, str(case))
    left, right = (side.astype(np.float64) for side in matrices(case, lhs, rhs))
    bound = (np.abs(left) @ np.abs(right)) * np.finfo(want.dtype).eps * max(case.k, 1)
    assert (np.abs(want - left @ right) <= bound + 1e-30).all(), case


def sampled_cases() -> Iterator[Case]:
    """Every pair of sizes for each two of m, n, k, with layouts and element types mixed in."""
    choice = random.Random(0)
    for first, second in itertools.product(SIZES, SIZES):
        sizes = [first, second, choice.choice(SIZES)]
        choice.shuffle(sizes)
        m, n, k = sizes
        yield Case(m, n, k, (), choice.random() < 0.5, choice.random() < 0.5)


@pytest.mark.parametrize("case", list(sampled_cases()), ids=str)
def test_sizes(case: Case) -> None:
    check(case, plan_product(case.product(), host()))


LAYOUTS = [
    Case(30, 41, 23),
    Case(30, 41, 23, padding=3),
    Case(30, 41, 23, lhs_transposed=True),
    Case(30, 41, 23, rhs_transposed=True, padding=2),
    Case(3, 41, 39, rhs_transposed=True),
    Case(16, 41, 39, rhs_transposed=True, element="f64", accumulator="f64"),
    Case(30, 41, 23, element="f64", accumulator="f64", rhs_transposed=True),
    Case(30, 41, 23, element="f32", accumulator="f64"),
    Case(30, 41, 23, element="f16", lhs_transposed=True),
    Case(30, 41, 23, element="bf16", rhs_transposed=True),
    Case(1, 41, 23, element="bf16"),
    Case(2, 21, 23, element="f16", rhs_transposed=True),
    Case(30, 41, 23, element="bf16", accumulator="f64"),
    Case(5, 9, 11, (3,)),
    Case(5, 19, 11, (2, 3), lhs_transposed=True, rhs_transposed=True),
    Case(5, 19, 11, (2, 1, 3), rhs_transposed=True, rhs_repeats=True),
]


@pytest.mark.parametrize("width", widths())
@pytest.mark.parametrize("case", LAYOUTS, ids=str)
def test_bits_do_not_depend_on_the_target_or_the_split(case: Case, width: int) -> None:
    """The scalar chain is one for all targets, so equality with it is equality among them."""
    check(case, plan_product(case.product(), host(width), threads=3), shares=3)


# Left operands with rows far apart, and a right one that the L2 cache cannot hold.
SWEPT = [
    (Case(300, 20, 200, lhs_transposed=True), 64),
    (Case(1030, 20, 100, (2,), lhs_transposed=True, rhs_transposed=True), 32),
    (Case(70, 300, 301, lhs_transposed=True, element="bf16"), 64),
    (Case(300, 20, 128, lhs_transposed=True), 128),
]


@pytest.mark.parametrize("width", widths())
@pytest.mark.parametrize(("case", "most"), SWEPT, ids=str)
def test_rows_far_apart_are_read_a_few_at_a_time(case: Case, most: int, width: int) -> None:
    """In blocks of k, each from end to end of the rows; the chain goes on in the next block."""
    chosen = plan_product(case.product(), host(width), threads=3)
    assert chosen.pack_lhs or most // 2 <= chosen.k_block <= most
    check(case, chosen, shares=3)


def test_a_large_right_operand_is_read_a_few_rows_at_a_time() -> None:
    target = replace(host(), l2_bytes=1 << 20)
    sizes = [plan_product(Case(200, 500, k).product(), target).k_block for k in (200, 2000)]
    assert sizes[0] == 200 and 64 <= sizes[1] <= 128


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [False, True])
def test_narrow_panels_of_far_rows_are_packed(element: str, transposed: bool) -> None:
    """Their lines lie in few sets of the L1 cache; wide panels and near rows are read in place."""
    narrow = replace(target_of("x86-64-v3"), l2_bytes=1 << 20)
    case = Case(256, 256, 256, (), transposed, element=element, accumulator=element)
    assert plan_product(case.product(), narrow).pack_rhs in ("shared", "private")
    few = replace(case, m=48)
    assert plan_product(few.product(), narrow).pack_rhs == "none"
    near = replace(case, n=16 if element == "f32" else 8)
    assert plan_product(near.product(), narrow).pack_rhs == "none"
    wide = replace(target_of("x86-64-v4"), l2_bytes=1 << 20)
    assert plan_product(case.product(), wide).pack_rhs == "none"


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_many_rows_share_what_a_run_reads(level: str) -> None:
    """A right operand beyond the caches is read once for each 100 rows or so of the left one."""
    target = replace(target_of(level), l2_bytes=1 << 20)
    case = Case(2048, 2048, 2048, element="f64", accumulator="f64")
    chosen = plan_product(case.product(), target)
    assert chosen.run_panels * chosen.height > 96 and chosen.k_blocks > 1
    small = plan_product(Case(128, 128, 128).product(), target)
    assert small.k_blocks == 1


# blocks of k, runs, groups and every way of packing, forced on a shape too small to want them
FORCED = [
    {"pack_rhs": "shared", "k_block": 32, "run_panels": 2, "group_panels": 1, "shares": 2},
    {"pack_rhs": "private", "k_block": 32, "run_panels": 3, "group_panels": 2, "shares": 3},
    {"pack_rhs": "private", "k_block": 75, "run_panels": 9, "group_panels": 2, "shares": 1},
    {"pack_lhs": True, "k_block": 16, "run_panels": 2, "group_panels": 9, "shares": 2},
    {"pack_lhs": True, "k_block": 75, "run_panels": 4, "group_panels": 1, "shares": 4},
]


@pytest.mark.parametrize("width", widths())
@pytest.mark.parametrize("forced", FORCED, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_forced_choices(forced: dict[str, Any], transposed: bool, width: int) -> None:
    case = Case(23, 75, 75, (2,), lhs_transposed=transposed, rhs_transposed=transposed)
    chosen = plan_product(case.product(), host(width))
    base = replace(chosen, height=5, vectors=2, pack_rhs="shared" if transposed else "none")
    check(case, replace(base, **forced), shares=2)


def test_operands_without_unit_stride() -> None:
    """Neither stride of an operand has to be 1."""
    case = Case(13, 40, 21)
    lhs, rhs = data(case)
    spread = np.full((13, 21, 2), np.nan, np.float32)
    spread[..., 0] = lhs
    wide = np.full((21, 40, 3), np.nan, np.float32)
    wide[..., 0] = rhs
    c = replace(case.product(), lhs=Operand("f32", 42, 2), rhs=Operand("f32", 120, 3))
    got = run(plan_product(c, host()), spread, wide)
    np.testing.assert_array_equal(got, expected(case, lhs, rhs))
    packed = replace(plan_product(c, host()), pack_lhs=True, shares=1)
    np.testing.assert_array_equal(run(packed, spread, wide), got)


@pytest.mark.parametrize("width", widths())
def test_no_terms_give_the_epilogue_of_zero(width: int) -> None:
    case = Case(5, 21, 0, (2,))
    lhs, rhs = data(case)
    got = run(plan_product(case.product(), host(width)), lhs, rhs, bias=True)
    np.testing.assert_array_equal(got, np.broadcast_to(np.arange(21.0), (2, 5, 21)))


@pytest.mark.parametrize("case", [Case(0, 3, 4), Case(3, 0, 4), Case(3, 4, 5, (0,))], ids=str)
def test_empty_results_have_no_items(case: Case) -> None:
    chosen = plan_product(case.product(), host())
    assert [phase.items for phase in chosen.phases] == [0]
    assert run(chosen, *data(case)).size == 0


def test_epilogue_sees_every_element_once() -> None:
    """Rows that the last tile repeats are not handed out twice: the epilogue may accumulate."""
    case = Case(29, 37, 8)
    chosen = replace(plan_product(case.product(), host()), height=8)
    lhs, rhs = data(case)
    text = product_text(chosen, _count_epilogue(chosen))
    code = Compiled(text, ["f.compute"], chosen.target)
    out = np.zeros((29, 37), np.float32)
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)
    items = chosen.phases[0].items
    pointers = (lhs.ctypes.data, rhs.ctypes.data, None, out.ctypes.data)
    signature(code.addresses[0])(*pointers, 0, items)
    np.testing.assert_array_equal(out, np.ones_like(out))


def _count_epilogue(plan: ProductPlan) -> Any:
    """An epilogue that adds 1 to every element it is handed."""

    def epilogue(f: FunctionWriter, value: str, place: ResultPlace) -> None:
        del value
        row = f.emit(f"mul i64 {place.row}, {plan.product.n}")
        for lane in range(place.vector.valid):
            offset = f.emit(f"add i64 {place.column}, {lane}")
            offset = f.emit(f"add i64 {offset}, {row}")
            pointer = f.address("f32", "%out", offset)
            old = f.load("f32", 1, pointer)
            f.store("f32", 1, pointer, f.binary("fadd", "f32", 1, old, "1.0"))

    return epilogue


def test_transposed_contraction_has_the_same_bits() -> None:
    case = Case(45, 1, 33)
    lhs, rhs = data(case)
    turned = case.product().transposed()
    assert (turned.m, turned.n) == (1, 45)
    got = run(plan_product(turned, host()), rhs, lhs)
    np.testing.assert_array_equal(got.reshape(45, 1), expected(case, lhs, rhs))


@pytest.mark.parametrize("width", widths())
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("n", [10, 256])
def test_accumulators_stay_in_registers(element: str, width: int, n: int) -> None:
    """The loop over k has an fma for each accumulator, in full width, and stores nothing."""
    case = Case(96, n, 64, element=element, accumulator=element)
    chosen = plan_product(case.product(), host(width))
    code = Compiled(product_text(chosen, store(chosen)), ["f.compute"], chosen.target)
    loops = [lines for lines in basic_blocks(code.assembly) if any("fmadd" in x for x in lines)]
    if not loops:
        pytest.skip("no fused multiply-add in the assembly of this machine")
    counts = [sum("fmadd" in line for line in lines) for lines in loops]
    assert chosen.height * len(chosen.tail or (0,) * chosen.vectors) in counts
    for lines in loops:
        assert not [line for line in lines if re.search(r"mov.*, [^,]*\)$", line)], lines
    register = {16: "xmm", 32: "ymm", 64: "zmm"}[width]
    if n == 256:
        assert all(register in line for lines in loops for line in lines if "fmadd" in line)


def basic_blocks(assembly: str) -> list[list[str]]:
    """The instructions between labels and jumps."""
    blocks: list[list[str]] = [[]]
    for line in assembly.splitlines():
        if re.match(r"\S|\s+j", line):
            blocks.append([])
        else:
            blocks[-1].append(line)
    return blocks


def test_scratch_and_phases() -> None:
    """Packing needs a phase and scratch; small contiguous operands need neither."""
    # a second-level cache that holds the operands, whatever this machine's
    target = replace(host(), l2_bytes=1 << 21)
    small = plan_product(Case(64, 256, 784).product(), target)
    assert [phase.suffix for phase in small.phases] == ["compute"]
    assert small.scratch_bytes == 0
    large = plan_product(Case(1024, 1024, 1024).product(), host())
    assert [phase.suffix for phase in large.phases] == ["pack", "compute"]
    assert large.scratch_bytes >= 4 * 1024 * 1024
    assert prod([large.product.m, large.product.n]) * 2048 == large.product.flops


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("width", widths())
def test_groups_have_about_as_many_panels(width: int, threads: int) -> None:
    """A last group of one panel would be all that a thread has."""
    target = replace(host(width), l2_bytes=1 << 20)
    for n in (600, 1024, 2048, 4096):
        chosen = plan_product(Case(2048, n, 2048).product(), target, threads)
        units = -(-chosen.units // threads)
        whole, rest = divmod(units, chosen.row_panels)
        panels = whole * chosen.group_panels * chosen.row_panels + rest * chosen.group_panels
        tiles = chosen.column_panels * chosen.row_panels
        assert min(panels, tiles) <= 1.1 * tiles / threads, n


def test_a_plan_does_not_depend_on_where_factors_begin() -> None:
    product = Case(40, 50, 60).product()
    moved = replace(product, lhs=replace(product.lhs, offset=7))
    plan, other = (plan_product(each, host()) for each in (product, moved))
    assert other.product.lhs.offset == 7 and replace(other, product=plan.product) == plan
