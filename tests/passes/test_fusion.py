"""Fusion and memory: fused code computes the bits of unfused code, buffers never overlap.

Random programs are compiled with and without gradir-fuse, and compared with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import random_program
from runtime_harness import compile_buffers
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import gradir
import gradir.numpy as gnp
from gradir import Module, nn
from gradir.codegen.text.target import host
from gradir.compiler.pipeline import STAGES, Machine, run_stages
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp
from gradir.passes.buffers.plan_memory import ALIGNMENT, MemoryPlan, assign_offsets
from gradir.runtime.arrays import dtype_of
from gradir.runtime.executable import Executable
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def staged(module: Module, fused: bool) -> tuple[ModuleOp, MemoryPlan]:
    """@f at buffer level, each stage's promise checked, with or without fusion."""
    op = module.op.clone()
    stages = [stage for stage in STAGES if fused or stage.name != "gradir-fuse"]
    assert fused or len(stages) < len(STAGES)
    plans = run_stages(op, Machine(host(), 1), check=True, stages=stages)
    return op, plans["f"]


def compiled(module: Module, fused: bool) -> Executable:
    op, plan = staged(module, fused)
    return compile_buffers(function_named(op, "f"), 1, host(), plan)


def loops(module: Module, fused: bool = True) -> list[LoopOp]:
    """The loop ops of @f at buffer level."""
    return [op for op in staged(module, fused)[0].walk() if isinstance(op, LoopOp)]


def inputs_of(function: FuncOp, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    types: list[Any] = list(function.function_type.inputs)
    arrays = [(t.get_shape(), dtype_of(t.element_type)) for t in types]
    return [np.asarray(generator.uniform(-2, 2, shape), dtype) for shape, dtype in arrays]


def assert_same_bits(got: Sequence[Array], want: Sequence[Array]) -> None:
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_array_equal(one, other, err_msg=f"result {k}")
        numbers = ~np.isnan(one)
        signs = np.signbit(one[numbers]), np.signbit(other[numbers])
        np.testing.assert_array_equal(*signs, err_msg=f"signs of result {k}")


def check(text: str, tolerance: float) -> None:
    """Fused, unfused and interpreted results of a program agree; the first two bit for bit."""
    module = gradir.parse(text)
    inputs = inputs_of(function_named(module.op, "f"))
    copies = [x.copy() for x in inputs]
    fused, unfused = compiled(module, True)(*inputs), compiled(module, False)(*inputs)
    assert_same_bits(fused, unfused)
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy, err_msg="an argument was written to")
    for one, other in zip(fused, gradir.interpret(module, "f", *inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def chooser(data: st.DataObject) -> Callable[[Sequence[Any]], Any]:
    return lambda options: data.draw(st.sampled_from(list(options)))


@settings(SLOW, max_examples=120)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    """Programs of all kinds of ops, in single precision."""
    steps = data.draw(st.integers(1, 16))
    check(random_program(chooser(data), steps, data.draw(st.integers(1, 3))), 2e-4)


@settings(SLOW, max_examples=60)
@given(st.data())
def test_random_gradients(data: st.DataObject) -> None:
    """The same for derivatives, in double precision."""
    text = random_program(chooser(data), data.draw(st.integers(1, 8)), 1, "f64", smooth=True)
    derived = gradir.parse(text).gradient("f", mode="vjp")
    function = function_named(derived.op, "f_vjp").clone()
    check(str(function).replace("@f_vjp", "@f"), 1e-8)


def program(arguments: str, results: str, *lines: str) -> str:
    return "\n".join([f"func.func @f({arguments}) -> ({results}) {{", *lines, "}"])


X = "tensor<4x4xf32>"
PROGRAMS = {
    # the group of %v3 holds a reduction that the group of %v0 reads
    "a reader joins from behind": program(
        "%x: tensor<4xf32>",
        "tensor<4xf32>, tensor<4xf32>",
        "%v0 = array.minimum %x, %x : tensor<4xf32>",
        "%v1 = nn.softmax %v0 {axis = 0} : tensor<4xf32>",
        "%v2 = array.negative %v0 : tensor<4xf32>",
        "func.return %v2, %v1 : tensor<4xf32>, tensor<4xf32>",
    ),
    "a contraction joins a nest before it": program(
        f"%x: {X}, %u: {X}",
        f"{X}, {X}",
        f"%n = array.tanh %u : {X}",
        f"%c = array.matmul %x, %u : {X}, {X} -> {X}",
        f"%y = array.add %c, %n : {X}",
        f"func.return %y, %n : {X}, {X}",
    ),
    "products of parts of one tensor, which then changes": program(
        "%x: tensor<2x6x4xf32>, %w: tensor<4x3xf32>",
        "tensor<3x3xf32>, tensor<6x6xf32>, tensor<2x6x4xf32>",
        "%t = array.tanh %x : tensor<2x6x4xf32>",
        "%p = array.slice %t {start = [1, 3, 0], stop = [2, 6, 4]}"
        " : tensor<2x6x4xf32> -> tensor<1x3x4xf32>",
        "%q = array.reshape %p : tensor<1x3x4xf32> -> tensor<3x4xf32>",
        "%a = array.matmul %q, %w : tensor<3x4xf32>, tensor<4x3xf32> -> tensor<3x3xf32>",
        "%r = array.slice %t {start = [0, 0, 1], stop = [1, 6, 4]}"
        " : tensor<2x6x4xf32> -> tensor<1x6x3xf32>",
        "%s = array.reshape %r : tensor<1x6x3xf32> -> tensor<6x3xf32>",
        "%u = array.permute_dims %s {axes = [1, 0]} : tensor<6x3xf32> -> tensor<3x6xf32>",
        "%b = array.matmul %s, %u : tensor<6x3xf32>, tensor<3x6xf32> -> tensor<6x6xf32>",
        "%y = array.negative %t : tensor<2x6x4xf32>",
        "func.return %a, %b, %y : tensor<3x3xf32>, tensor<6x6xf32>, tensor<2x6x4xf32>",
    ),
    "an epilogue that reads a factor": program(
        "%x: tensor<1x1xf32>, %w: tensor<1x1xf32>",
        "tensor<1x1xf32>",
        "%c = array.matmul %x, %w : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>",
        "%y = array.add %c, %x : tensor<1x1xf32>",
        "func.return %y : tensor<1x1xf32>",
    ),
    "a padded epilogue": program(
        "%x: tensor<1x3xf32>, %w: tensor<3x4xf32>, %u: tensor<1x2xf32>",
        "tensor<1x4xf32>",
        "%c = array.matmul %x, %w : tensor<1x3xf32>, tensor<3x4xf32> -> tensor<1x4xf32>",
        "%p = array.pad %u {low = [0, 1], high = [0, 1], value = 0.0}"
        " : tensor<1x2xf32> -> tensor<1x4xf32>",
        "%y = array.add %c, %p : tensor<1x4xf32>",
        "func.return %y : tensor<1x4xf32>",
    ),
    "an epilogue that reduces nothing": program(
        f"%x: {X}, %w: {X}",
        f"{X}",
        f"%c = array.matmul %x, %w : {X}, {X} -> {X}",
        f"%y = array.logsumexp %c {{axis = [], keepdims = true}} : {X} -> {X}",
        f"func.return %y : {X}",
    ),
    "a dying buffer seen under another shape": program(
        f"%x: {X}",
        f"{X}",
        f"%t = array.matmul %x, %x : {X}, {X} -> {X}",
        "%down = array.iota {axis = 0} : tensor<16xi64>",
        f"%r = array.reshape %t : {X} -> tensor<16xf32>",
        "%f = array.flip %down : tensor<16xi64> -> tensor<16xi64>",
        "%i = array.reshape %f : tensor<16xi64> -> tensor<4x4xi64>",
        f"%g = array.take %r, %i : tensor<16xf32>, tensor<4x4xi64> -> {X}",
        f"%y = array.add %t, %g : {X}",
        f"%z = array.matmul %y, %x : {X}, {X} -> {X}",
        f"func.return %z : {X}",
    ),
    "a scatter of itself": program(
        "%x: tensor<4xf32>",
        "tensor<4xf32>",
        "%t = array.tanh %x : tensor<4xf32>",
        "%i = array.constant {value = dense<[1, 2, 3, 0]> : tensor<4xi64>} : tensor<4xi64>",
        "%s = array.scatter_add %t, %i, %t"
        " : tensor<4xf32>, tensor<4xi64>, tensor<4xf32> -> tensor<4xf32>",
        "%y = array.negative %s : tensor<4xf32>",
        "func.return %y : tensor<4xf32>",
    ),
    "a scatter into a reshaped value that is read later": program(
        "%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %u: tensor<3xf32>",
        "tensor<8xf32>, tensor<2x3xf32>",
        "%t = array.tanh %x : tensor<2x4xf32>",
        "%s = array.reshape %t : tensor<2x4xf32> -> tensor<8xf32>",
        "%i = array.constant {value = dense<[1, 2, 3]> : tensor<3xi64>} : tensor<3xi64>",
        "%g = array.scatter_add %s, %i, %u"
        " : tensor<8xf32>, tensor<3xi64>, tensor<3xf32> -> tensor<8xf32>",
        "%y = array.matmul %t, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>",
        "func.return %g, %y : tensor<8xf32>, tensor<2x3xf32>",
    ),
    "results that are arguments, constants, reshapes and each other": program(
        f"%x: {X}",
        f"{X}, {X}, tensor<16xf32>, {X}, tensor<16xf32>, tensor<2xf32>",
        f"%y = array.exp %x : {X}",
        f"%r = array.reshape %y : {X} -> tensor<16xf32>",
        f"%s = array.reshape %x : {X} -> tensor<16xf32>",
        "%c = array.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>",
        "func.return %x, %y, %r, %y, %s, %c"
        f" : {X}, {X}, tensor<16xf32>, {X}, tensor<16xf32>, tensor<2xf32>",
    ),
    "nothing": program(
        "%x: tensor<0x4xf32>, %y: tensor<3x0xf32>",
        "tensor<4xf32>, tensor<3x4xf32>, tensor<0xf32>, tensor<2x4xf32>",
        "%s = array.sum %x {axis = 0} : tensor<0x4xf32> -> tensor<4xf32>",
        "%m = array.matmul %y, %x : tensor<3x0xf32>, tensor<0x4xf32> -> tensor<3x4xf32>",
        "%r = array.reshape %x : tensor<0x4xf32> -> tensor<0xf32>",
        "%e = array.exp %r : tensor<0xf32>",
        "%p = array.pad %x {low = [1, 0], high = [1, 0], value = 2.0}"
        " : tensor<0x4xf32> -> tensor<2x4xf32>",
        "func.return %s, %m, %e, %p"
        " : tensor<4xf32>, tensor<3x4xf32>, tensor<0xf32>, tensor<2x4xf32>",
    ),
    "a broadcast of extent 1 that is broadcast again": program(
        "%x: tensor<1x1xf32>, %y: tensor<2x1xf32>",
        "tensor<3x2x4xf32>, tensor<1x1xf32>",
        "%s = array.sum %x {axis = 0, keepdims = true} : tensor<1x1xf32> -> tensor<1x1xf32>",
        "%a = array.broadcast_to %s : tensor<1x1xf32> -> tensor<2x1xf32>",
        "%b = array.add %a, %y : tensor<2x1xf32>",
        "%c = array.broadcast_to %b : tensor<2x1xf32> -> tensor<3x2x4xf32>",
        "func.return %c, %s : tensor<3x2x4xf32>, tensor<1x1xf32>",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """Programs that are easy to get wrong."""
    check(PROGRAMS[name], 1e-5)


# What fuses.


def test_attention_like_program_is_a_few_loops() -> None:
    """Two contractions and a softmax between them: five loops, and no copy of a transpose."""
    module = gradir.parse(
        program(
            "%q: tensor<6x4xf32>, %k: tensor<6x4xf32>, %v: tensor<6x5xf32>",
            "tensor<6x5xf32>",
            "%t = array.permute_dims %k {axes = [1, 0]} : tensor<6x4xf32> -> tensor<4x6xf32>",
            "%s = array.matmul %q, %t : tensor<6x4xf32>, tensor<4x6xf32> -> tensor<6x6xf32>",
            "%p = nn.softmax %s {axis = 1} : tensor<6x6xf32>",
            "%y = array.matmul %p, %v : tensor<6x6xf32>, tensor<6x5xf32> -> tensor<6x5xf32>",
            "func.return %y : tensor<6x5xf32>",
        )
    )
    assert [isinstance(op, ContractOp) for op in loops(module)] == [
        True, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [False, True])
def test_a_product_that_is_only_summed_is_no_epilogue(kept: bool) -> None:
    """Where the contraction's own result is in memory anyway, the sum reads that: nothing else is
    written. Where it is not, the contraction writes the products, and not what they are made of."""
    module = gradir.parse(
        program(
            f"%x: {X}, %w: {X}",
            f"{X}, tensor<4xf32>",
            f"%c = array.matmul %x, %w : {X}, {X} -> {X}",
            f"%p = array.multiply %c, %x : {X}",
            f"%s = array.sum %p {{axis = [1]}} : {X} -> tensor<4xf32>",
            f"func.return %{'c' if kept else 'x'}, %s : {X}, tensor<4xf32>",
        )
    )
    contraction, nest, *_ = loops(module)
    assert [len(op.output_accesses) for op in (contraction, nest)] == [1, 1]
    assert [len(op.input_accesses) for op in (contraction, nest)] == ([2, 2] if kept else [3, 1])


def test_a_chain_of_constants_is_computed_once() -> None:
    """Each link reads the last one four times: copies for each reader would be 4 ** 12."""

    def f(x: Any) -> Any:
        y: Any = gnp.asarray(np.float64(2))
        for _ in range(12):
            y = gnp.where(gnp.less(y, 5.0), y * 1.5, y + y)
        return x + y

    module = gradir.trace(f, gradir.Spec((), "float64"))
    assert len(list(staged(module, True)[0].walk())) < 300
    assert gradir.compile(module, "f")(np.float64(1))[0] == 3457


def test_a_long_chain_is_one_loop() -> None:
    """A chain of 200 ops on one tensor is one nest, and needs no buffer."""
    lines = [f"%v{k + 1} = array.sin %v{k} : {X}" for k in range(200)]
    module = gradir.parse(program(f"%v0: {X}", X, *lines, f"func.return %v200 : {X}"))
    op, plan = staged(module, True)
    assert len([inner for inner in op.walk() if isinstance(inner, LoopOp)]) == 1
    assert plan.peak_bytes == 0


# Memory.


@pytest.mark.parametrize("mode", ["grad", "vjp"])
def test_a_mean_and_its_gradient_are_one_loop(mode: str) -> None:
    """The cotangent 1 / n is a number, and what divides the sum waits: neither parts the two."""
    x = "tensor<4096xf32>"
    module = gradir.parse(
        program(
            f"%x: {x}",
            "tensor<f32>",
            f"%e = array.exp %x : {x}",
            f"%t = array.tanh %x : {x}",
            f"%y = array.multiply %e, %t : {x}",
            f"%m = array.mean %y : {x} -> tensor<f32>",
            "func.return %m : tensor<f32>",
        )
    ).gradient("f", mode=mode)
    fn = gradir.compile(module, f"f_{mode}")
    assert fn.plan.peak_bytes < 4096
    arrays = [np.linspace(-1, 1, 4096, dtype=np.float32), np.float32(2)][: 1 + (mode == "vjp")]
    for got, want in zip(fn(*arrays), gradir.interpret(module, f"f_{mode}", *arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-9)


def assert_disjoint(plan: MemoryPlan) -> None:
    """Buffers that are alive together do not overlap; all lie in the arena, aligned."""
    for k, one in enumerate(plan.buffers):
        assert one.offset % ALIGNMENT == 0 and one.first <= one.last
        assert one.offset + one.size <= plan.peak_bytes or one.size == 0
        for other in plan.buffers[:k]:
            alive = one.first <= other.last and other.first <= one.last
            apart = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
            assert not alive or apart or 0 in (one.size, other.size), (one, other)


RANGES = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 30), st.integers(0, 12)), max_size=30
)


@settings(max_examples=200, derandomize=True)
@given(RANGES)
def test_random_live_ranges(ranges: list[tuple[int, int, int]]) -> None:
    """Whatever lives when: nothing overlaps, and the arena is no larger than all buffers together,
    no smaller than those that are alive at one time."""
    named = [(str(k), size, time, time + length) for k, (size, time, length) in enumerate(ranges)]
    plan = assign_offsets(named)
    assert {b.name for b in plan.buffers} == {name for name, *_ in named}
    assert_disjoint(plan)
    rounded = [-(-size // ALIGNMENT) * ALIGNMENT for _, size, _, _ in named]
    assert plan.peak_bytes <= sum(rounded)
    for time in range(45):
        alive = sum(size for _, size, first, last in named if first <= time <= last)
        assert alive <= plan.peak_bytes


def test_a_chain_of_layers_needs_two_buffers() -> None:
    """Each layer's input dies where its output is made: two buffers serve any depth."""
    for depth in (4, 12):
        lines = [f"%v{k + 1} = array.matmul %v{k}, %w : {X}, {X} -> {X}" for k in range(depth)]
        module = gradir.parse(
            program(f"%v0: {X}, %w: {X}", X, *lines, f"func.return %v{depth} : {X}")
        )
        plan = staged(module, True)[1]
        assert_disjoint(plan)
        sizes = [b.size for b in plan.buffers if "scratch" not in b.name]
        assert len(sizes) == depth - 1
        assert len({b.offset for b in plan.buffers if "scratch" not in b.name}) == 2


@settings(SLOW, max_examples=60)
@given(st.data())
def test_plans_of_random_programs(data: st.DataObject) -> None:
    """The plan of a whole program, and what the code does with the bytes around its arena."""
    module = gradir.parse(random_program(chooser(data), data.draw(st.integers(1, 20)), 2))
    _, plan = staged(module, data.draw(st.booleans()))
    assert_disjoint(plan)


def test_results_do_not_depend_on_old_bytes() -> None:
    """Arena and result memory are written before they are read."""
    module = gradir.parse(
        program(
            f"%x: {X}, %i: tensor<3xi64>",
            f"{X}, {X}",
            f"%z = array.full {{value = 0.0}} : {X}",
            f"%u = array.slice %x {{start = [1, 0], stop = [4, 4]}} : {X} -> tensor<3x4xf32>",
            f"%s = array.scatter_add %z, %i, %u : {X}, tensor<3xi64>, tensor<3x4xf32> -> {X}",
            f"%m = array.matmul %s, %x : {X}, {X} -> {X}",
            f"%y = nn.softmax %m : {X}",
            f"func.return %s, %y : {X}, {X}",
        )
    )
    function = compiled(module, True)
    x = np.arange(16, dtype=np.float32).reshape(4, 4) / 8
    i = np.array([2, 0, 2])
    clean = function(x, i)
    dirty = tuple(np.full((4, 4), np.nan, np.float32) for _ in range(2))
    noise = compiled(gradir.parse(PROGRAMS["a dying buffer seen under another shape"]), True)
    noise(np.full((4, 4), np.nan, np.float32))
    assert_same_bits(function(x, i, out=dirty), clean)


def test_effects_stay_in_order_and_before_the_end() -> None:
    """The first store waits for a group that ends behind it; the second and the return for it."""
    text = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  %a = array.sin %x : tensor<4xf32>
  bufferization.materialize_in_destination %a in restrict writable %m
      : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %x in restrict writable %m
      : (tensor<4xf32>, memref<4xf32>) -> ()
  %b = array.cos %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""
    fused = gradir.parse(text).run_passes("gradir-lower,gradir-fuse")
    ops = list(function_named(fused.op, "f").body.block.ops)
    store = "bufferization.materialize_in_destination"
    assert [op.name for op in ops] == [
        "memref.alloc", "loopnest.nest", store, store, "func.return"
    ]  # fmt: skip
    assert ops[2].operands[0] is ops[1].results[1] or ops[2].operands[0] is ops[1].results[0]
    assert ops[3].operands[0].name_hint == "x"


def test_what_spreads_small_tensors_has_no_memory() -> None:
    """Differences of all pairs are computed where they are read, forward and backward."""
    module = gradir.parse(
        program(
            "%x: tensor<200x1x3xf32>, %y: tensor<1x100x3xf32>",
            "tensor<f32>",
            "%a = array.broadcast_to %x : tensor<200x1x3xf32> -> tensor<200x100x3xf32>",
            "%b = array.broadcast_to %y : tensor<1x100x3xf32> -> tensor<200x100x3xf32>",
            "%d = array.subtract %a, %b : tensor<200x100x3xf32>",
            "%q = array.multiply %d, %d : tensor<200x100x3xf32>",
            "%r = array.sum %q {axis = 2} : tensor<200x100x3xf32> -> tensor<200x100xf32>",
            "%e = array.exp %r : tensor<200x100xf32>",
            "%s = array.sum %e : tensor<200x100xf32> -> tensor<f32>",
            "func.return %s : tensor<f32>",
        )
    ).gradient("f", mode="grad", wrt=[1])
    fn = gradir.compile(module, "f_grad", threads=1)
    # distances and their exponentials have 80 KB each, differences would have 240
    assert fn.plan.peak_bytes < 200_000
    arrays = [np.linspace(0, 1, 600, dtype=np.float32).reshape(200, 1, 3)]
    arrays.append(np.linspace(1, 0, 300, dtype=np.float32).reshape(1, 100, 3))
    for got, want in zip(fn(*arrays), gradir.interpret(module, "f_grad", *arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("source", "rows", "is_in_place"),
    [("x", 1, True), ("t", 16, True), ("t", 2, True), ("t", 1, False)],
)
def test_a_small_part_of_a_tensor_that_may_die_is_copied(
    source: str, rows: int, is_in_place: bool
) -> None:
    """For a product; the tensor would live until then. An argument lives anyway."""
    part = f"tensor<{rows}x4xf32>"
    module = gradir.parse(
        program(
            "%x: tensor<32x4xf32>, %w: tensor<4x5xf32>",
            f"tensor<{rows}x5xf32>, tensor<f32>",
            "%t = array.tanh %x : tensor<32x4xf32>",
            f"%p = array.slice %{source} {{start = [{32 - rows}, 0], stop = [32, 4]}}"
            f" : tensor<32x4xf32> -> {part}",
            f"%y = array.matmul %p, %w : {part}, tensor<4x5xf32> -> tensor<{rows}x5xf32>",
            "%s = array.sum %t : tensor<32x4xf32> -> tensor<f32>",
            f"func.return %y, %s : tensor<{rows}x5xf32>, tensor<f32>",
        )
    )
    [contraction] = [op for op in loops(module) if isinstance(op, ContractOp)]
    access = contraction.input_accesses[0]
    assert access is not None
    assert any(row.constant for row in access.rows) == is_in_place


def test_a_part_of_a_padded_product_is_copied() -> None:
    """In place of it the padded image would be copied as a whole, once for each place of a kernel;
    here it is copied for one image after the other."""

    def loss(x: gradir.Array, y: gradir.Array, w: gradir.Array) -> gradir.Array:
        both = gnp.concatenate([nn.conv2d(x, w, padding=1), nn.conv2d(y, w, padding=1)])
        return gnp.sum(gnp.tanh(both) ** 2)

    random = np.random.default_rng(0)
    x, y = (random.normal(size=(32, 16, 16, 16)).astype(np.float32) for _ in range(2))
    w = random.normal(size=(1, 16, 3, 3)).astype(np.float32)
    gradient = gradir.jit(gradir.grad(loss, argnums=2), threads=1)
    gradient(x, y, w)
    plan = gradient.compiled(x, y, w).executable.plan
    assert plan is not None and plan.peak_bytes < 2 * x.nbytes


ROUNDED = """func.func @f(%x: tensor<4xf16>) -> tensor<4xf32> {
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xf16>) -> ([d0] : tensor<4xf16>) {
    %w = arith.extf %a : f16 to f32
    %s = arith.mulf %w, %w : f32
    loopnest.yield %s : f32
  }
  %z = loopnest.nest [4] (%a = %y[PLACE] : tensor<4xf16>) -> ([d0] : tensor<4xf32>) {
    %w = arith.extf %a : f16 to f32
    loopnest.yield %w : f32
  }
  func.return %z : tensor<4xf32>
}"""
CUT = """func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = loopnest.nest [4] (%a = %x[d0] : tensor<4xi32>) -> ([d0] : tensor<4xi8>) {
    loopnest.yield %a : i32
  }
  %z = loopnest.nest [4] (%a = %y[d0] : tensor<4xi8>) -> ([d0] : tensor<4xi32>) {
    %w = arith.extsi %a : i8 to i32
    loopnest.yield %w : i32
  }
  func.return %z : tensor<4xi32>
}"""


@pytest.mark.parametrize("place", ["d0", "d0 * -1 + 3"])
def test_a_number_that_is_rounded_in_memory_is_not_handed_on(place: str) -> None:
    """A nest may yield wider numbers than its output holds; readers get the output's."""
    x = np.array([1.001, 2.003, 3.007, 0.1], np.float16)
    wanted = (x.astype(np.float32) ** 2).astype(np.float16).astype(np.float32)
    module = gradir.parse(ROUNDED.replace("PLACE", place))
    [found] = gradir.compile(module, "f")(x)
    assert found.tolist() == (wanted if place == "d0" else wanted[::-1]).tolist()


def test_an_integer_that_is_cut_in_memory_is_not_handed_on() -> None:
    x = np.array([1, 300, -200, 127], np.int32)
    [found] = gradir.compile(gradir.parse(CUT), "f")(x)
    assert found.tolist() == [1, 44, 56, 127]
