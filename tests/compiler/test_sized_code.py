"""Code for many sizes: the bits of code for one size, few codes for many, and what has none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from op_cases import CASES, ELEMENTS, Case
from sized_programs import compare_program, random_program
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

import gradir
import gradir.numpy as gnp
from gradir.compiler.dynamic import MOST_SIZES, SpecializingExecutable
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of, tensor
from gradir.dialects.base.traced_sizes import (
    EqualSizesError,
    FixedSizeError,
    SizeGraph,
    UnsizedError,
    divides,
    is_surely,
    is_traced,
    of_sizes,
)
from gradir.errors import ArgumentError

Array = np.ndarray[Any, np.dtype[Any]]


# Sizes.


def test_sizes_are_polynomials_and_quotients():
    graph = SizeGraph()
    n, m = graph.extent(500), graph.extent(7)
    assert is_surely((n + m) * 2, 2 * m + n + n) and not is_surely(n, 500)
    assert is_surely(n * m // n, m) and is_surely((4 * n + 6) // 2, 2 * n + 3)
    assert is_surely(n - n, 0) and type(n - n) is int
    assert divides(8, 16 * n) and not divides(8, n)
    assert is_traced(-(-n // 64)) and not is_traced(n // n)
    # no comparison was made
    assert graph.guards == ()
    evaluate = graph.evaluator([n * m, -(-n // 64), n % 64])
    assert evaluate(500, 7) == ((), (3500, 8, 52)) and evaluate(64, 2) == ((), (128, 1, 0))


def test_comparisons_are_guards():
    graph = SizeGraph()
    n = graph.extent(500)
    assert n > 64 and not n >= 1000 and n != 1 and n / 4 > 2.5
    evaluate = graph.evaluator([])
    assert [evaluate(k) is not None for k in (1, 64, 65, 999, 1000)] == [0, 0, 1, 1, 0]


def test_what_must_be_a_number_says_of_which_extents():
    graph = SizeGraph()
    n, m = graph.extent(8), graph.extent(8)
    for use in (lambda: range(m), lambda: m == 8, lambda: float(m), lambda: n - m // 2 == 4):
        with pytest.raises(FixedSizeError) as error:
            use()
        assert 1 in error.value.extents
    with pytest.raises(EqualSizesError):
        assert n == m
    with pytest.raises(UnsizedError):
        int(n / 2.0)


def test_functions_of_sizes_decide_nothing():
    graph = SizeGraph()

    @of_sizes
    def parts(total: int, most: int) -> tuple[int, ...]:
        return (total // 2, total - total // 2) if total > most else (total, 0)

    n: Any = graph.extent(10)
    first, second = parts(n, 8)
    assert is_traced(first) and parts(10, 8) == (5, 5) and parts(n, 8)[1] is second
    evaluate = graph.evaluator([first, second])
    assert graph.guards == () and evaluate(7)[1] == (7, 0) and evaluate(11)[1] == (5, 6)


# The op table.


def _opened(values: Sequence[SSAValue]) -> list[Attribute]:
    return [tensor([DYNAMIC] * len(shape_of(v.type)), element_of(v.type)) for v in values]


def _on_open_types(case: Case) -> SpecializingExecutable | None:
    """A function of the op of a case, on operands of any sizes."""
    types = [tensor(a.shape, ELEMENTS[a.dtype.name]) for a in case.arrays(f32)]
    static = case.op_class.of(
        Block(arg_types=types).args, case.result_types(f32), **case.attributes
    )
    if static.infer_types([o.type for o in static.operands], static.attributes) is None:
        return None
    block = Block(arg_types=_opened(static.operands))
    op = type(static).create(
        operands=list(block.args), result_types=_opened(static.results),
        attributes=static.attributes, properties=static.properties,
    )  # fmt: skip
    block.add_ops([op, ReturnOp(*op.results)])
    signature = [a.type for a in block.args], [r.type for r in op.results]
    module = gradir.api.Module(ModuleOp([FuncOp("f", signature, Region(block))]))
    made = gradir.compile(module, "f", threads=2, wait=True)
    return made if isinstance(made, SpecializingExecutable) else None


# They need an extent, or the axis, to be written.
NOT_OPEN = {"array.squeeze", "array.gather_nd", "array.scatter_nd_add"}


# Ops without such code where all extents are open: factorizations of matrices, convolutions with
# kernels of any size, transforms, and functions of the host.
BY_SIZE = {
    "array.cholesky", "array.det", "array.eig", "array.eigh", "array.fft", "array.inv",
    "array.pinv", "array.qr", "array.slogdet", "array.solve", "array.std", "array.svd",
    "comm.all_gather",
    "comm.all_reduce", "comm.broadcast", "comm.part", "comm.permute", "comm.reduce",
    "comm.reduce_scatter", "grad.cofactor", "grad.cofactor_slope", "grad.eigen_solve",
    "grad.lu_factor", "grad.lyapunov", "grad.pack_bits", "grad.polar", "grad.spectral",
    "grad.sylvester", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv_transpose1d",
    "nn.conv_transpose2d", "nn.conv_transpose3d",
}  # fmt: skip


@pytest.mark.parametrize("op", sorted({c.op for c in CASES if c.operands} - NOT_OPEN))
def test_an_op_has_the_bits_of_its_code_for_one_size(op: str):
    case = next((c for c in CASES if c.op == op), None)
    assert case is not None
    run = _on_open_types(case)
    if run is None:
        return
    arrays = case.arrays(f32)
    expected = run(*arrays)
    found = run.for_many_sizes(*arrays)
    assert found is not None or op in BY_SIZE
    for one, other in zip(expected, found(*arrays) if found else expected, strict=True):
        assert one.tobytes() == other.tobytes() and one.shape == other.shape


# Programs.


@pytest.mark.parametrize("seed", [*range(14), 20039, 30274])
def test_random_programs(seed: int):
    program = random_program(seed)
    if program is not None:
        compare_program(program, seed, calls=5)


def test_a_sum_over_a_polynomial_extent_has_one_block():
    """A plan of one block of k has no memory for sums between blocks: a quotient of equal
    polynomials was none for code, which wrote such sums."""

    def product(p: Any, c: Any) -> Any:
        return gnp.swapaxes(p, 0, 1) @ c

    module = gradir.trace(product, gradir.Spec("n + 3, n"), gradir.Spec("n + 3, n + 3"))
    code = gradir.compile(module, "product", threads=1, wait=True)
    for count in (33, 3, 9, 40):
        p, c = np.ones((count + 3, count)), np.ones((count + 3, count + 3))
        assert (code(p, c)[0] == count + 3).all()
    assert isinstance(code, SpecializingExecutable) and code.codes_for_many_sizes >= 2
    graph = SizeGraph()
    n = graph.extent(3)
    assert (n + 3) // (n + 3) == 1 and -(n + 3) // (n + 3) == -1 and graph.guards == ()


def loss(w: Any, v: Any, x: Any, y: Any) -> Any:
    return gnp.mean((gnp.tanh(x @ w) @ v - y) ** 2)


SHAPES = (None, None, "n, ...", "n, ...")


def _arguments(count: int) -> list[Array]:
    numbers = np.random.default_rng(count)
    shapes = ((6, 9), (9, 2), (count, 6), (count, 2))
    return [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]


def _code_of(count: int) -> SpecializingExecutable:
    """The code of all sizes, after one size."""
    module = gradir.trace(
        gradir.value_and_grad(loss, argnums=(0, 1)),
        *(gradir.Spec(shape, "float32") for shape in ((6, 9), (9, 2), ("n", 6), ("n", 2))),
    )
    code = gradir.compile(module, "value_and_grad_loss", threads=2, wait=True)
    assert isinstance(code, SpecializingExecutable)
    code(*_arguments(count))
    return code


def test_a_few_codes_serve_all_sizes():
    """Tiles of products have no more rows than there are, and no code has a tile for one row."""
    code = _code_of(20)
    alone = gradir.jit(gradir.value_and_grad(loss, argnums=(0, 1)), threads=2)
    for count in (1, 2, 3, *range(5, 60, 7), 100, 333, 600, 1000):
        arguments = _arguments(count)
        value, gradients = alone(*arguments)
        for one, other in zip(code(*arguments), (value, *gradients), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert 1 <= code.codes_for_many_sizes <= 10
    assert code.specialized(*_arguments(333)).program.text == code.specialized(
        *_arguments(334)
    ).program.text  # fmt: skip


def test_the_first_size_has_code_of_its_own():
    code = _code_of(7)
    first = code.specialized(*_arguments(7))
    assert code.codes_for_many_sizes == 0 and "%size" not in first.llvm_ir
    other = code.specialized(*_arguments(40))
    assert code.codes_for_many_sizes == 1 and "%size" in other.llvm_ir
    assert code.specialized(*_arguments(7)) is first


def test_jit_with_names_traces_and_compiles_for_many_sizes():
    traces: list[int] = []

    def counted(*args: Any) -> Any:
        traces.append(1)
        return loss(*args)

    gradient = gradir.jit(gradir.grad(counted), shapes=SHAPES)
    alone = gradir.jit(gradir.grad(loss))
    for count in (8, 9, 10, 40, 41, 300, 301):
        arguments = _arguments(count)
        np.testing.assert_array_equal(gradient(*arguments), alone(*arguments))
    assert len(traces) == 1
    ready = [gradient.compiled(*_arguments(count)).executable for count in (40, 41)]
    assert ready[0].program.text == ready[1].program.text
    assert "tensor<41x6xf32>" in gradient.lower(*_arguments(41)).as_text()


def test_quick_code_is_replaced_for_all_sizes():
    gradient = gradir.jit(gradir.grad(loss), shapes=SHAPES)
    before = [gradient(*_arguments(count)) for count in (8, 9, 10)]
    for count in (9, 10):
        gradient.compiled(*_arguments(count)).executable.wait_for_code()
    for count, expected in zip((8, 9, 10), before, strict=True):
        np.testing.assert_array_equal(gradient(*_arguments(count)), expected)


def test_an_executable_of_one_of_many_sizes_is_as_any_other():
    code = _code_of(20)
    arguments = _arguments(50)
    made = code.specialized(*arguments)
    assert [spec.shape for spec in made.inputs] == [(6, 9), (9, 2), (50, 6), (50, 2)]
    assert made.plan.peak_bytes == made.program.arena_bytes
    out = [np.empty((), np.float32), np.empty((6, 9), np.float32), None]
    results = made(*arguments, out=out)
    assert results[0] is out[0] and results[1] is out[1]
    assert "kernels" in repr(made.profile(*arguments))
    with pytest.raises(ArgumentError, match=r"shape \(50, 6\), got float32 of shape \(51, 6\)"):
        made(*arguments[:2], *_arguments(51)[2:])


def test_messages_have_the_numbers_of_a_call():
    def row(x: Any, i: Any) -> Any:
        return gnp.take(x, i, 0) * 2

    module = gradir.trace(row, gradir.Spec(("n", 3), "float32"), gradir.Spec((2,), "int64"))
    code = gradir.compile(module, "row", threads=1)
    messages: list[str] = []
    for count in (4, 9, 30):
        with pytest.raises(gradir.GradirError) as error:
            code(np.ones((count, 3), np.float32), np.array([0, 77]))
        messages.append(str(error.value))
    assert isinstance(code, SpecializingExecutable) and code.codes_for_many_sizes == 1
    assert "%size" not in "".join(messages) and "77" in messages[2]
    ends = [f"array.take: index 77 is out of range for a size of {n}" for n in (4, 9, 30)]
    assert [m.partition("error: ")[2] or m.partition(": ")[2] for m in messages] == ends


def test_sizes_that_ran_last_are_kept():
    def twice(x: Any) -> Any:
        return x * 2

    code = gradir.compile(gradir.trace(twice, gradir.Spec("n")), "twice", threads=1)
    assert isinstance(code, SpecializingExecutable)
    for count in range(2, MOST_SIZES + 40):
        assert code(np.ones(count))[0].tolist() == [2.0] * count
    assert f"{MOST_SIZES} specializations" in repr(code)


def test_threads_share_code():
    code = _code_of(20)

    def call(count: int) -> float:
        return float(code(*_arguments(count))[0])

    counts = [40, 41, 42, 43, 100, 101, 33, 34] * 3
    expected = {count: _code_of(count) for count in {*counts}}
    with ThreadPoolExecutor(6) as pool:
        for count, value in zip(counts, pool.map(call, counts), strict=True):
            assert value == float(expected[count](*_arguments(count))[0])


def test_the_environment_may_ask_for_code_of_each_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADIR_SIZES", "0")
    code = _code_of(20)
    code(*_arguments(21))
    assert code.codes_for_many_sizes == 0
    monkeypatch.setenv("GRADIR_SIZES", "few")
    with pytest.raises(ArgumentError, match="GRADIR_SIZES: 0 or 1 expected, got 'few'"):
        _code_of(20)


def test_a_limit_of_bytes_is_met_for_each_size():
    module = gradir.trace(loss, *(gradir.Spec(s) for s in ((6, 9), (9, 2), ("n", 6), ("n", 2))))
    made = module.gradient("loss", mode="grad", memory_limit=1 << 20)
    code = gradir.compile(made, "loss_grad")
    assert isinstance(code, SpecializingExecutable)
    for count in (10, 11, 12):
        code(*(a.astype(np.float64) for a in _arguments(count)))
    assert code.codes_for_many_sizes == 0


def test_equal_extents_without_names_are_one():
    text = """
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %z = array.multiply %x, %y : tensor<?xf32>
      func.return %z : tensor<?xf32>
    }
    """
    code = gradir.compile(gradir.parse(text), "f")
    assert isinstance(code, SpecializingExecutable)
    for count in range(3, 20):
        x = np.arange(count, dtype=np.float32)
        assert code(x, x)[0].tolist() == (x * x).tolist()
    assert code.codes_for_many_sizes <= 2
    with pytest.raises(gradir.GradirError):
        code(np.ones(4, np.float32), np.ones(3, np.float32))
