"""Programs of all kinds in libraries: the bits of gradir.compile at the same level."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aot_harness import RUNNABLE, assert_same_bits, exported, random_arrays
from library_programs import Counts, compare_group

import gradir
import gradir.numpy as gnp
from gradir.aot.loader import ADD, LibraryError, StatusStruct, load_library

Array = np.ndarray[Any, Any]

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def digits() -> gradir.Module:
    return gradir.parse(EXAMPLES / "digits_mlp.mlir").gradient("main", mode="grad")


def test_each_level(digits: gradir.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"main_grad": "digits_grad", "predict": "digits_predict"}
    levels = [level for level in RUNNABLE if level != "x86-64-v2"]
    library = exported(digits, tmp_path, functions=names, targets=levels)
    assert library.functions == ("digits_grad", "digits_predict")
    assert library.digits_grad.levels == tuple(levels)
    for source, name in names.items():
        arrays = random_arrays(library[name])
        for number, level in enumerate(levels, 1):
            monkeypatch.setenv("GRADIR_CPU", level)
            wanted = gradir.compile(digits, source, 1)(*arrays)
            assert_same_bits(library[name](*arrays, level=number), wanted)
        # the last of them is the best
        monkeypatch.setenv("GRADIR_CPU", levels[-1])
        assert_same_bits(library[name](*arrays), gradir.compile(digits, source, 1)(*arrays))
    with pytest.raises(AttributeError, match="no function main; functions: digits_grad, digits_p"):
        _ = library.main


def test_threads(digits: gradir.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of several threads at once, each with helpers of the library's."""
    monkeypatch.setenv("GRADIR_CPU", RUNNABLE[-1])
    options: Any = {"functions": {"main_grad": "step"}, "targets": RUNNABLE[-1:], "threads": 3}
    step = exported(digits, tmp_path, **options).step
    assert step.threads == 3
    arrays = random_arrays(step)
    wanted = gradir.compile(digits, "main_grad", 3)(*arrays)
    failed: list[object] = []

    def work(threads: int) -> None:
        try:
            for _ in range(40):
                assert_same_bits(step(*arrays, threads=threads), wanted)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 9)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


def test_two_libraries_in_a_process(tmp_path: Path) -> None:
    """Functions of one name, which the loader has at once, and tables of the same words."""
    text = (
        "func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {\n  %0 = array.OP %x : tensor<3xf64>\n"
    )
    text += "  func.return %0 : tensor<3xf64>\n}"
    rules = {"exp": np.exp, "negative": np.negative, "square": np.square}
    loaded = [
        exported(gradir.parse(text.replace("OP", op)), tmp_path, op, threads=2) for op in rules
    ]
    x = np.array([0.5, -1.0, 2.0])
    for library, rule in zip(loaded, rules.values(), strict=True):
        np.testing.assert_allclose(library.f(x)[0], rule(x), rtol=1e-15)


FORKED = """
import os, sys
import numpy as np
from loader import load_library
step = load_library(sys.argv[1]).step
arrays = [np.ones(a.shape, a.dtype) for a in step.inputs]
before = step(*arrays, threads=2)
child = os.fork()
after = step(*arrays, threads=2)
if child == 0:
    os._exit(0 if all(a.tobytes() == b.tobytes() for a, b in zip(before, after)) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_has_threads_of_its_own(digits: gradir.Module, tmp_path: Path) -> None:
    library = exported(digits, tmp_path, functions={"main_grad": "step"}, threads=2)
    (tmp_path / "loader.py").write_text(LOADER.read_text())
    command = [sys.executable, "-c", FORKED, library.path]
    subprocess.run(command, check=True, cwd=tmp_path, env=bare_environment(), timeout=60)


LOADER = Path(gradir.__file__).parent / "aot" / "loader.py"


def bare_environment() -> dict[str, str]:
    """Without gradir on the path."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}


ALONE = """
import sys
import numpy as np
from loader import LibraryError, load_library
library = load_library(sys.argv[1])
print(library.f(np.arange(6.0)[::2], [1, 2, 3])[0].tolist(), "gradir" in sys.modules)
try:
    library.f(np.ones(4), np.ones(3))
except LibraryError as error:
    print(error)
"""


def test_the_loader_alone(tmp_path: Path) -> None:
    """A copy of one file, in a process that has no gradir."""
    gradir.export_library(lambda x, y: x * y, tmp_path / "libf.so", np.ones(3), np.ones(3),
                          functions="f")  # fmt: skip
    (tmp_path / "loader.py").write_text(LOADER.read_text())
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})"]
    command[-1] += ALONE
    result = subprocess.run(
        [*command, tmp_path / "libf.so"], check=True, capture_output=True, text=True, cwd="/"
    )
    assert result.stdout.splitlines() == [
        "[0.0, 4.0, 12.0] False",
        "f: argument 0 (x): expected float64 array of shape (3,), got float64 of shape (4,)",
    ]


# Loops, branches, stages, tapes.


def growing(x: Any) -> Any:
    """A loop of a number of trips that data decides."""

    def go(c: Any) -> Any:
        return gnp.sum(c) < 100

    def step(c: Any) -> Any:
        return c * 1.1 + 0.1 * gnp.sin(c)

    return gnp.sum(gradir.while_loop(go, step, x))


def staged(x: Any) -> Any:
    def stage(y: Any) -> Any:
        return gnp.tanh(gnp.exp(y) * y)

    return gnp.sum(gradir.checkpoint(stage)(gradir.checkpoint(stage)(x)))


def branching(x: Any) -> Any:
    return gradir.cond(x[0] > 0, lambda: gnp.sum(x * x), lambda: gnp.sum(gnp.exp(x)))


def looping(x: Any) -> Any:
    return gradir.fori_loop(0, 7, lambda i, c: c * gnp.cos(x[0]) + x[1], x[2])


@pytest.mark.parametrize("function", [growing, staged, branching, looping])
def test_flow(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_CPU", RUNNABLE[-1])
    gradient = gradir.value_and_grad(function)
    made = gradir.export_library(
        gradient, tmp_path / "libf.so", np.ones(8), functions="f", targets=RUNNABLE[-1]
    )
    f = load_library(made.library).f
    for x in (np.linspace(0.1, 0.9, 8), -np.linspace(0.1, 0.9, 8)):
        if function is growing:
            x = abs(x)
        value, slope = gradient(x)
        assert_same_bits(f(x), [np.asarray(value), slope])
        # an array that is neither aligned nor contiguous is copied
        memory = np.zeros(16 * 8 + 1, np.uint8)[1:].view(np.float64)[::2]
        memory[:] = x
        assert_same_bits(f(memory), [np.asarray(value), slope])


def test_limits_in_bytes(tmp_path: Path) -> None:
    """A smaller workspace, and the bits of the plan without a limit."""
    layers = [f"  %{k + 1} = array.matmul %{k}, %w : tensor<64x64xf32>, tensor<64x64xf32> -> "
              f"tensor<64x64xf32>\n  %{k + 2} = array.tanh %{k + 1} : tensor<64x64xf32>"
              for k in range(0, 48, 2)]  # fmt: skip
    text = "\n".join(
        [
            "func.func @f(%0: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<f32> {",
            *layers,
            "  %s = array.sum %48 : tensor<64x64xf32> -> tensor<f32>",
            "  func.return %s : tensor<f32>\n}",
        ]
    )
    source = gradir.parse(text)
    free = exported(source.gradient("f", mode="grad"), tmp_path, "free", functions="f_grad").f_grad
    limit = free.workspace_bytes // 2
    tight = source.gradient("f", mode="grad", memory_limit=limit)
    step = exported(tight, tmp_path, "tight", functions="f_grad").f_grad
    table = 1024
    assert step.workspace_bytes <= limit + table < free.workspace_bytes
    arrays = random_arrays(step)
    assert_same_bits(step(*arrays), free(*arrays))


def test_tapes_that_grow_and_their_limits(tmp_path: Path) -> None:
    text = """
    func.func @f(%x: tensor<1000xf64>, %n: index) -> tensor<1000xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y = scf.for %i = %zero to %n step %one iter_args(%c = %x) -> (tensor<1000xf64>) {
        %s = array.sin %c : tensor<1000xf64>
        scf.yield %s : tensor<1000xf64>
      }
      func.return %y : tensor<1000xf64>
    }"""
    module = gradir.parse(text).gradient("f", mode="vjp")
    f = exported(module, tmp_path, functions="f_vjp").f_vjp
    compiled = gradir.compile(module, "f_vjp", 1)
    x, ct = np.linspace(0, 1, 1000), np.ones(1000)
    for n in (0, 1, 50, 3):
        assert_same_bits(f(x, n, ct), compiled(x, n, ct))


# Requests, in-place arguments, operators.


def test_gradients_that_are_added(digits: gradir.Module, tmp_path: Path) -> None:
    source = gradir.parse(EXAMPLES / "digits_mlp.mlir")
    module = source.gradient("main", mode="grad", req={"w1": "add", "b1": "null"})
    f = exported(module, tmp_path, functions={"main_grad": "step"}).step
    assert [a.request for a in f.outputs] == [1, ADD, 1, 1, 1, 1]
    arrays = random_arrays(f)
    start = np.full(f.outputs[1].shape, 0.5, np.float32)
    wanted = gradir.compile(module, "main_grad", 1)(*arrays, out=[None, start.copy(), *[None] * 4])
    found = f(*arrays, out=[None, start.copy(), *[None] * 4])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert not np.array_equal(found[1], f(*arrays, out=[None, 0 * start, *[None] * 4])[1])
    with pytest.raises(LibraryError, match=r"out\[1\] \(w1_ct\): expected the array whose cont"):
        f(*arrays)


def test_donated_arguments_are_in_place(tmp_path: Path) -> None:
    step = gradir.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    made = gradir.export_library(step, tmp_path / "libf.so", np.ones(4), np.ones(4), functions="f")
    f = load_library(made.library).f
    assert len(f.inputs) == 1 and f.outputs[0].request == ADD
    p = np.arange(4.0)
    (result,) = f(np.ones(4), out=[p])
    assert result is p and p.tolist() == [-0.5, 0.5, 1.5, 2.5]


def test_row_slices_are_two_arrays(tmp_path: Path) -> None:
    text = """
    func.func @f(%w: tensor<6x2xf32> {grad.name = "w"}, %i: tensor<3xi64>) -> tensor<f32> {
      %0 = array.take %w, %i {axis = 0} : tensor<6x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
      %1 = array.sum %0 : tensor<3x2xf32> -> tensor<f32>
      func.return %1 : tensor<f32>
    }"""
    module = gradir.parse(text).gradient("f", mode="grad", req={"w": "slices"})
    f = exported(module, tmp_path, functions="f_grad").f_grad
    _, places, rows = f(np.ones((6, 2), np.float32), np.array([4, 0, 4]))
    assert (places.tolist(), rows.tolist()) == ([4, 0, 4], [[1, 1]] * 3)


# Errors of calls.


def test_a_wrong_index_has_a_place(tmp_path: Path) -> None:
    text = (
        "func.func @f(%x: tensor<5xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {\n"
        "  %0 = array.take %x, %i {axis = 0} : tensor<5xf32>, tensor<2xi64> -> tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}"
    )
    f = exported(gradir.parse(text, "some.mlir"), tmp_path).f
    x = np.arange(5, dtype=np.float32)
    assert f(x, np.array([4, -5]))[0].tolist() == [4, 0]
    with pytest.raises(LibraryError) as info:
        f(x, np.array([0, 5]))
    assert (str(info.value), info.value.code) == (
        "some.mlir:2:3: array.take: index 5 is out of range for a size of 5",
        11,
    )


ENDLESS = """
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %y = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %s = tensor.extract %a[] : tensor<f64>
    %zero = arith.constant 0.0 : f64
    %go = arith.cmpf oge, %s, %zero : f64
    scf.condition(%go) %a : tensor<f64>
  } do {
  ^bb0(%b: tensor<f64>):
    %c = array.sqrt %b : tensor<f64>
    scf.yield %c : tensor<f64>
  }
  func.return %y : tensor<f64>
}"""


def test_a_call_is_stopped(tmp_path: Path) -> None:
    f = exported(gradir.parse(ENDLESS), tmp_path).f
    found: list[Any] = []
    status = StatusStruct()

    def work() -> None:
        try:
            f(np.array(4.0), status=status)
        except LibraryError as error:
            found.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.02)
    status.stop = 1
    worker.join(20)
    assert not worker.is_alive()
    assert (found[0].code, str(found[0])) == (10, "the call was stopped")


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the fuzzer with their gradients; the module's command compares hundreds."""
    monkeypatch.setenv("GRADIR_CPU", RUNNABLE[seed % len(RUNNABLE)])
    counts = Counts()
    compare_group(seed, tmp_path, counts)
    assert counts.alike > 4
