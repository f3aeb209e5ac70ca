"""gradir-group-rows: nests that share rows run block by block, with the bits of one after another.

Programs are compiled with and without the pass. Its least sizes are set to nothing, so that small
programs have groups too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import LARGE_SHAPES, ProgramWriter
from runtime_harness import compile_buffers
from xdsl.dialects.builtin import ModuleOp

import gradir
import gradir.nn as nn
import gradir.numpy as gnp
from gradir.codegen.rows import group_rows
from gradir.codegen.rows.kernel import emit_rows
from gradir.codegen.text.target import host
from gradir.compiler.pipeline import STAGES, Machine, run_stages
from gradir.dialects.loopnest.rows import RowsOp
from gradir.runtime.arrays import dtype_of
from gradir.runtime.executable import Executable
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_rows, "LEAST_SHARED_BYTES", 0)
    monkeypatch.setattr(group_rows, "LEAST_BLOCK_BYTES", 0)


def staged(module: gradir.Module, threads: int, grouped: bool) -> tuple[ModuleOp, Any]:
    op = module.op.clone()
    stages = [s for s in STAGES if grouped or s.name != "gradir-group-rows"]
    return op, run_stages(op, Machine(host(), threads), check=True, stages=stages)


def groups(module: gradir.Module, name: str, threads: int = 2) -> list[RowsOp]:
    op = function_named(staged(module, threads, True)[0], name)
    return [inner for inner in op.walk() if isinstance(inner, RowsOp)]


def compiled(module: gradir.Module, name: str, threads: int, grouped: bool) -> Executable:
    op, plans = staged(module, threads, grouped)
    return compile_buffers(function_named(op, name), threads, host(), plans[name])


def assert_same_bits(
    module: gradir.Module, name: str, arrays: Sequence[Array], threads: Sequence[int] = (1, 3)
) -> None:
    want = compiled(module, name, 1, False)(*arrays)
    for count in threads:
        for ours, theirs in zip(compiled(module, name, count, True)(*arrays), want, strict=True):
            assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def softmax(x: Any, w: Any) -> Any:
    return gnp.sum(nn.softmax(x, axis=-1) * w)


def layer_norm(x: Any, w: Any) -> Any:
    return gnp.sum(nn.layer_norm(x, w[0], w[1]) * w)


def logsumexp(x: Any, w: Any) -> Any:
    return gnp.sum(gnp.logsumexp(x, axis=-1)) + w[0, 0]


def column_sums(x: Any, w: Any) -> Any:
    y = nn.softmax(x, axis=-1)
    return gnp.sum(gnp.sum(y, axis=0) * w[0])


def gradient(f: Callable[..., Any], *arrays: Array, wrt: Sequence[int] = (0, 1)) -> gradir.Module:
    def main(*values: Any) -> Any:
        return f(*values)

    return gradir.trace(main, *arrays).gradient("main", mode="grad", wrt=wrt)


CASES = {
    "softmax": (softmax, (256, 300), np.float32),
    "rows of one number": (softmax, (4096, 1), np.float32),
    "short rows": (layer_norm, (4096, 20), np.float32),
    "f64": (layer_norm, (128, 512), np.float64),
    "f16": (layer_norm, (256, 256), np.float16),
    "three dimensions": (logsumexp, (8, 32, 40), np.float32),
    "one row a block": (logsumexp, (97, 64), np.float32),
    "rows larger than a block": (softmax, (8, 20000), np.float32),
    "rows larger than the cache": (softmax, (3, 300000), np.float32),
    "column sums": (column_sums, (512, 130), np.float32),
    "long sums": (column_sums, (4096, 32), np.float32),
    "long sums of many rows": (column_sums, (96, 256, 8), np.float32),
}


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_nests_that_follow_each_other(name: str) -> None:
    f, shape, dtype = CASES[name]
    arrays = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    assert_same_bits(gradient(f, *arrays), "main_grad", arrays)


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = (normal(128, 96, dtype=ml_dtypes.bfloat16),) * 2
    assert_same_bits(gradient(softmax, *arrays), "main_grad", arrays)


@pytest.mark.parametrize("f", [softmax, layer_norm, logsumexp])
def test_a_gradient_is_one_sweep_without_a_tensor_in_memory(f: Callable[..., Any]) -> None:
    arrays = normal(512, 512), normal(512, 512)
    module = gradient(f, *arrays, wrt=[0])
    (one,) = groups(module, "main_grad")
    assert one.rows.value.data == 512
    fn = compiled(module, "main_grad", 2, True)
    # a block of a few buffers for each thread; a tensor has a million bytes
    assert fn.plan is not None
    assert fn.plan.peak_bytes < 300_000
    want = gradir.interpret(module, "main_grad", *arrays)
    for ours, theirs in zip(fn(*arrays), want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(256, 1000), (100, 1000), (1000, 128), (1536, 200), (60, 3000)])
def test_folds_of_a_long_sum_leave_blocks_of_rows(shape: tuple[int, int]) -> None:
    """A loss is summed over all elements: its folds and chunks fit blocks of a few rows."""
    arrays = normal(*shape), normal(*shape)
    (one,) = groups(gradient(layer_norm, *arrays, wrt=[0]), "main_grad")
    assert one.rows.value.data == shape[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_reductions_over_rows_of_all_kinds(dtype: Any) -> None:
    def reduce(x: Any, i: Any) -> Any:
        c = x - gnp.max(x, axis=1, keepdims=True)
        j = 2 * i - gnp.min(i, axis=1, keepdims=True)
        columns = gnp.any(c > -0.1, axis=0), gnp.max(j, axis=0), gnp.prod(1 + c / 512, axis=0)
        return *columns, gnp.min(j), gnp.sum(c), gnp.max(c), gnp.all(c < 0.1)

    x, i = normal(256, 256, dtype=dtype), normal(256, 256) * 100
    arrays = x, i.astype(np.int32)
    module = gradir.trace(reduce, *arrays)
    assert any(one.chunk is not None for one in groups(module, "reduce"))
    assert_same_bits(module, "reduce", arrays)


def test_row_numbers_in_bodies() -> None:
    """Loads from the row of the iteration move with it; other uses of its number do not."""
    logits, targets = normal(256, 40), np.arange(256, dtype=np.int64) % 40

    def loss(x: Any, t: Any) -> Any:
        return nn.cross_entropy(x, t)

    module = gradir.trace(loss, logits, targets).gradient("loss", mode="grad", wrt=[0])
    assert groups(module, "loss_grad")
    assert_same_bits(module, "loss_grad", (logits, targets))
    targets[200] = 40
    with pytest.raises(gradir.errors.IndexOutOfRange, match="40"):
        compiled(module, "loss_grad", 2, True)(logits, targets)


def test_a_triangle_is_no_group_of_rows() -> None:
    def masked(x: Any) -> Any:
        y = gnp.where(gnp.arange(256)[:, None] >= gnp.arange(256)[None, :], x, -1e9)
        return nn.softmax(y, axis=-1)

    x = normal(256, 256)
    assert_same_bits(gradir.trace(masked, x), "masked", (x,))


def test_inside_of_a_loop() -> None:
    def steps(x: Any) -> Any:
        return gradir.fori_loop(0, 5, lambda i, y: x + nn.softmax(y, axis=-1), x)

    x = normal(256, 96)
    module = gradir.trace(steps, x)
    assert groups(module, "steps")
    assert_same_bits(module, "steps", (x,))


def test_a_last_block_overlaps_where_no_size_divides_the_rows() -> None:
    """Its first rows are computed twice, and are the same."""

    def both(x: Any) -> Any:
        y = nn.softmax(x, axis=-1)
        return y, gnp.sum(y * x, axis=-1)

    x = normal(997, 60)
    module = gradir.trace(both, x)
    (one,) = groups(module, "both")
    assert (one.overlaps, one.size.value.data % 16) == (True, 0)
    assert_same_bits(module, "both", (x,), threads=(1, 2, 3))


def test_rows_that_change_in_place_are_not_computed_twice() -> None:
    def steps(x: Any) -> Any:
        return gradir.fori_loop(0, 3, lambda i, y: y * nn.softmax(y, axis=-1), x)

    x = normal(997, 60)
    module = gradir.trace(steps, x)
    assert not any(one.overlaps for one in groups(module, "steps"))
    assert_same_bits(module, "steps", (x,))

    def scaled(x: Any) -> Any:
        return x * nn.softmax(x, axis=-1)

    changed = gradir.jit(scaled, donate_argnums=0)(x.copy())
    np.testing.assert_array_equal(changed, gradir.jit(scaled)(x))


CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
SLOW = settings(deadline=None, suppress_health_check=CHECKS, derandomize=True)


@settings(SLOW, max_examples=60)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    def choose(options: Sequence[Any]) -> Any:
        return data.draw(st.sampled_from(list(options)))

    writer = ProgramWriter(choose, shapes=LARGE_SHAPES)
    for _ in range(3):
        writer.argument(writer.pick(writer.shapes))
    writer.steps(8)
    module = gradir.parse(writer.text(writer.late(2)))
    function = function_named(module.op, "f")
    generator = np.random.default_rng(0)
    types: list[Any] = list(function.function_type.inputs)
    arrays = [
        np.asarray(generator.uniform(-2, 2, t.get_shape()), dtype_of(t.element_type)) for t in types
    ]
    assert_same_bits(module, "f", arrays, threads=(3,))


def test_a_large_result_that_is_not_read_again_goes_past_the_cache() -> None:
    def probabilities(x: Any) -> Any:
        return nn.softmax(x, axis=-1)

    (op,) = groups(gradir.trace(probabilities, normal(512, 512)), "probabilities")
    small = replace(host(), l3_bytes=1 << 20)
    for target, streamed in ((host(), 0), (small, 1)):
        text = emit_rows(op, "rows", target, 1).text
        functions = [part for part in text.split("define void")[1:] if "!nontemporal" in part]
        assert len(functions) == (streamed if host().streaming else 0)
