"""Code from disk: the same as compiled code, to the last bit and the last message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_flow_programs import PROGRAMS
from custom_ops import own_registry
from xdsl.dialects import test
from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import Operation

import gradir
from gradir import GradirError, Module
from gradir.cache import store
from gradir.cache.memory import Store
from gradir.compiler import compiler, kept_code
from gradir.compiler.kept_code import packed, unpacked
from gradir.compiler.pipeline import Machine
from gradir.frontends.transforms import program
from gradir.passes.gradient import memory_limit
from gradir.runtime.executable import Executable
from gradir.text.fingerprint import fingerprint

TABLE = """
func.func @f(%t: tensor<6xf64>, %w: tensor<2xf64>, %i: tensor<2xi64>) -> tensor<2xf64> {
  %a = array.take %t, %i {axis = 0} : tensor<6xf64>, tensor<2xi64> -> tensor<2xf64>
  %c = array.constant {value = dense<[1.5, 2.5]> : tensor<2xf64>} : tensor<2xf64>
  %b = array.multiply %a, %w : tensor<2xf64>
  %y = array.multiply %b, %c : tensor<2xf64>
  func.return %y : tensor<2xf64>
}"""
TABLE_ARGUMENTS = np.arange(6.0), np.array([2.0, 3.0]), np.array([1, 4])
OPEN = """
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.tanh %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADIR_CACHE", "1")
    monkeypatch.setenv("GRADIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "counts", store.Counts())
    return tmp_path / "cache"


@pytest.fixture
def compiled_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions that are compiled."""
    names: list[str] = []
    compile_ = compiler.native_code

    def counted(module: Any, function: str, machine: Machine, *, may_be_quick: bool) -> Any:
        names.append(function)
        return compile_(module, function, machine, may_be_quick=may_be_quick)

    monkeypatch.setattr(compiler, "native_code", counted)
    return names


def split(name: str) -> Module:
    return gradir.parse(PROGRAMS[name].text).gradient("f", mode="split")


COMPILED: dict[str, Callable[[], tuple[Module, str]]] = {
    "tapes": lambda: (split("carried_matrices"), "f_fwd"),
    "tapes that grow": lambda: (split("rnn_while"), "f_fwd"),
    "arguments that grew": lambda: (split("rnn_while"), "f_bwd"),
    "constants, slices, a result that is added to": lambda: (
        gradir.parse(TABLE).gradient("f", mode="vjp", req={0: "slices", 1: "add"}),
        "f_vjp",
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_all_of_it_comes_back(name: str) -> None:
    module, function = COMPILED[name]()
    code = compiler.native_code(module.op.clone(), function, Machine.here())
    entry = packed(code)
    said = json.loads(json.dumps(entry.said))
    assert unpacked(replace(entry, said=said)) == replace(code, times=None)


def assert_found(
    compile_: Callable[[], Any], call: Callable[[Any], Any], compiled_names: list[str]
) -> Executable:
    """The second code is found, and gives the bits of the first."""
    first = compile_()
    wanted = call(first)
    assert len(compiled_names) == 1 and store.counts.found == 0
    second = compile_()
    got = call(second)
    assert len(compiled_names) == 1 and store.counts.found == 1, "it was compiled again"
    for one, other in zip(wanted, got, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    one, other = getattr(first, "last", first), getattr(second, "last", second)
    assert (one.plan, one.llvm_ir) == (other.plan, other.llvm_ir)
    assert one.compile_times is not None and other.compile_times is None
    return second


def test_a_program(compiled_names: list[str]) -> None:
    fn = assert_found(
        lambda: gradir.compile(gradir.parse(TABLE), "f"),
        lambda fn: fn(*TABLE_ARGUMENTS),
        compiled_names,
    )
    for kept in (fn, gradir.compile(gradir.parse(TABLE), "f")):
        with pytest.raises(GradirError, match=r":3:3: array.take: index 9 is out of range"):
            kept(*TABLE_ARGUMENTS[:2], np.array([1, 9]))
    assert "gradir_entry" in fn.asm


def test_row_slices(compiled_names: list[str]) -> None:
    module = gradir.parse(TABLE).gradient("f", mode="vjp", req={0: "slices", 1: "add"})

    def call(fn: Any) -> list[Any]:
        buffer = np.array([10.0, 20.0])
        y, slices, grad = fn(*TABLE_ARGUMENTS, np.ones(2), out=[None, None, buffer])
        assert grad is buffer
        return [y, slices.densify(), grad]

    fn = assert_found(lambda: gradir.compile(module, "f_vjp"), call, compiled_names)
    with pytest.raises(GradirError, match=r"out\[2\]: expected the array that the result is added"):
        fn(*TABLE_ARGUMENTS, np.ones(2))


def test_open_shapes(compiled_names: list[str]) -> None:
    """By the shapes of a call; the program is not specialized for the second."""
    x = np.linspace(-1, 1, 7)
    assert_found(lambda: gradir.compile(gradir.parse(OPEN), "f"), lambda fn: fn(x), compiled_names)
    gradir.compile(gradir.parse(OPEN), "f")(x[:3])
    assert len(compiled_names) == 2


def test_traced_functions(compiled_names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced again, and found by what they say."""
    monkeypatch.setattr(program, "_codes", Store[Any, Any](0))

    def f(x: Any) -> Any:
        return gradir.numpy.sum(gradir.numpy.tanh(x) * x)

    x = np.linspace(-1, 1, 5)
    one, other = (gradir.jit(gradir.grad(f))(x) for _ in range(2))
    assert one.tobytes() == other.tobytes()
    assert len(compiled_names) == 1 and store.counts.found == 1


def square(x: Any) -> Any:
    return x * x


def negative_square(x: Any) -> Any:
    return -(x * x)


def rows_of_four(x: Any) -> Any:
    return (4,), x[1]


SQUARE = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = grad.host_call %x {callee = "square"} : (tensor<3xf64>) -> tensor<3xf64>
  func.return %y : tensor<3xf64>
}"""


def test_host_functions(compiled_names: list[str]) -> None:
    """Code calls functions of its process, by name; the facts that it depends on are in the key."""
    x = np.array([1.0, 2.0, 3.0])
    with own_registry():
        gradir.register_host_function("square", square)
        (one,) = gradir.compile(gradir.parse(SQUARE), "f")(x)
        gradir.register_host_function("square", negative_square)
        (other,) = gradir.compile(gradir.parse(SQUARE), "f")(x)
        np.testing.assert_array_equal(-one, other)
        assert len(compiled_names) == 1
        gradir.register_host_function("square", square, pure=True)
        gradir.compile(gradir.parse(SQUARE), "f")(x)
        assert len(compiled_names) == 2
        gradir.register_host_function("square", square, shape=rows_of_four)
        with pytest.raises(GradirError, match="'square' gives"):
            gradir.compile(gradir.parse(SQUARE), "f")
    with pytest.raises(GradirError, match="no host function 'square' is registered"):
        gradir.compile(gradir.parse(SQUARE), "f")


def test_what_code_depends_on(compiled_names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(text: str = TABLE, threads: int = 1) -> int:
        gradir.compile(gradir.parse(text), "f", threads=threads)
        return len(compiled_names)

    assert compiled() == 1 and compiled() == 1
    assert compiled(f"// a line\n{TABLE}") == 2, "messages name lines"
    assert compiled(TABLE.replace("%w", "%weights")) == 3, "and arguments"
    assert compiled(TABLE.replace("2.5", "2.75")) == 4
    monkeypatch.setenv("GRADIR_VECTOR_BYTES", "16")
    assert compiled() == 5
    monkeypatch.delenv("GRADIR_VECTOR_BYTES")
    assert compiled(threads=2) == 6
    with monkeypatch.context() as patch:
        patch.setattr(kept_code, "limit_of_machine", lambda: 1 << 40)
        assert compiled() == 7, "the limit of growing tapes is a number in the code"
    with monkeypatch.context() as patch:
        patch.setattr(store, "versions", lambda: "those of another gradir")
        assert compiled() == 8
    assert compiled() == 8
    monkeypatch.setenv("GRADIR_CACHE", "0")
    assert compiled() == 9


def test_a_refusal_is_not_kept(folder: Path) -> None:
    text = OPEN.replace("array.tanh %x", "array.tanh %x {nothing = 1}")
    for _ in range(2):
        with pytest.raises(GradirError):
            gradir.compile(gradir.parse(text), "f")(np.ones(2))
    assert gradir.cache_info().entries == 0


@pytest.mark.parametrize("harm", ["truncated", "flipped", "empty", "another's"])
def test_broken_files(harm: str, folder: Path, compiled_names: list[str]) -> None:
    """They are compiled again, and replaced."""
    gradir.compile(gradir.parse(TABLE), "f")
    gradir.compile(gradir.parse(TABLE.replace("2.5", "2.75")), "f")
    other, file = sorted(folder.iterdir())
    good = {path: path.read_bytes() for path in (other, file)}
    data = bytearray(good[file])
    if harm == "flipped":
        data[-100] ^= 4
    file.write_bytes(
        {"truncated": data[:-1], "empty": b"", "another's": good[other]}.get(harm, data)
    )
    for text in (TABLE, TABLE.replace("2.5", "2.75")):
        gradir.compile(gradir.parse(text), "f")(*TABLE_ARGUMENTS)
    assert len(compiled_names) == 3
    assert {path: path.read_bytes() for path in (other, file)} == good


def test_a_folder_of_others(folder: Path, compiled_names: list[str]) -> None:
    gradir.compile(gradir.parse(TABLE), "f")
    folder.chmod(0o770)
    gradir.compile(gradir.parse(TABLE), "f")(*TABLE_ARGUMENTS)
    assert (
        len(compiled_names) == 2
        and gradir.cache_info().off == "others than its owner can write to it"
    )


# Plans.


@pytest.mark.parametrize("mode", ["vjp", "split"])
def test_the_plan_of_a_memory_limit(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of policies of loops and of kept values; without a search the derivative is the same."""
    path = Path(__file__).parents[2] / "benchmarks" / "programs" / "ode.mlir"
    module = gradir.parse(path)
    assert_remembered(module, {"mode": mode, "memory_limit": 100_000}, monkeypatch)


@pytest.mark.parametrize("policy", ["auto", "keep_none"])
def test_the_plan_of_a_policy(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = gradir.parse(PROGRAMS["carried_matrices"].text)
    assert_remembered(module, {"mode": "vjp", "policy": policy}, monkeypatch)


def assert_remembered(
    module: Module, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = [n for n in module.functions][:1]
    wanted = str(module.gradient(name, **options))
    assert store.counts.written == 1
    with monkeypatch.context() as patch:
        patch.setattr(memory_limit, "Plans", None)
        patch.setattr(memory_limit, "measured_peak", None)
        assert str(module.gradient(name, **options)) == wanted
    assert (store.counts.found, store.counts.missed) == (1, 1)


# Fingerprints.


def prints(*texts: str) -> set[str | None]:
    return {fingerprint([gradir.parse(text).op]) for text in texts}


def test_fingerprints() -> None:
    (same,) = prints(TABLE, TABLE)
    assert same is not None
    others = [
        TABLE.replace("1.5", "-1.5"),
        TABLE.replace("%b, %c", "%c, %b"),
        TABLE.replace("%b", "%bb"),
        TABLE.replace("@f", "@g"),
        TABLE.replace("6xf64", "7xf64"),
        TABLE.replace("%y : tensor<2xf64>\n}", "%b : tensor<2xf64>\n}"),
    ]
    assert len(prints(TABLE, *others)) == 1 + len(others)


def test_fingerprints_have_all_bits() -> None:
    """Of zeros of both signs, which are equal, and of nans, which never are."""
    zeros = [TABLE.replace("1.5, 2.5", text) for text in ("0.0, 0.0", "0.0, -0.0", "-0.0, -0.0")]
    assert len(prints(*zeros)) == 3
    nans = [
        TABLE.replace("[1.5, 2.5]", f'"0x{"000000000000" + n + "7F" + "00" * 8}"')
        for n in ("F8", "F9")
    ]
    assert len(prints(*nans)) == 2

    def ops(*values: float) -> list[Operation]:
        return [test.TestOp(attributes={"x": FloatAttr(value, f64)}) for value in values]

    assert fingerprint(ops(0.0, -0.0)) != fingerprint(ops(0.0, 0.0))
    assert fingerprint(ops(float("nan"))) == fingerprint(ops(float("nan")))


class OwnOp(test.TestOp):
    """An op of somebody else's package, whose code may change."""


def test_ops_of_others_have_no_fingerprint() -> None:
    assert fingerprint([test.TestOp()]) is not None
    assert fingerprint([OwnOp()]) is None


# Processes.

START = """
import os
import time
import numpy as np
import gradir
from gradir.compiler import compiler
from gradir.runtime import fixed_code, llvm

emitted = [0]
compile_object = llvm._Worker.compile
meet = os.environ.get("MEET")

def counted(*args, **kwargs):
    emitted[0] += 1
    if meet and emitted[0] == 1:
        # neither has found the first object, whichever began later
        open(os.path.join(meet, str(os.getpid())), "w").close()
        while len(os.listdir(meet)) < 2:
            time.sleep(0.01)
    return compile_object(*args, **kwargs)

llvm._Worker.compile = counted

gradir.register_host_function("twice", lambda x: x + x)

def function(x, n):
    x = gradir.fori_loop(0, n, lambda i, x: gradir.numpy.sin(x) * 1.25, x)
    return gradir.numpy.sum(x @ x.T)

x = np.linspace(-2, 2, 4096).reshape(64, 64).astype(np.float32)
value, grad = gradir.jit(gradir.value_and_grad(function))(x, 3)
called = gradir.compile(gradir.parse('''
func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = grad.host_call %x {callee = "twice"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}'''), "f")(x)
print(value.tobytes().hex(), hash(grad.tobytes()), hash(called[0].tobytes()))
print(emitted[0])
"""


def test_starts_of_a_program(folder: Path, tmp_path: Path) -> None:
    """Two at once, which compile; and one after them, for which LLVM emits nothing."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    meet = tmp_path / "meet"
    meet.mkdir()

    def begin(**more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", START]
        env = {**environment, **more}
        return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE)

    both = [begin(MEET=str(meet)), begin(MEET=str(meet))]
    one, other = (process.communicate(timeout=120)[0].splitlines() for process in both)
    assert int(one[1]) + int(other[1]) >= 4, "the one may find what the other has compiled"
    last = begin().communicate()[0].splitlines()
    assert one[0] == other[0] == last[0]
    assert last[1] == "0"
