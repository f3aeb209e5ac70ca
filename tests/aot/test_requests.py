"""What a call asks of results: left out, added, in an argument's place. And overlaps of memory."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from aot_harness import RUNNABLE, assert_same_bits, exported, random_arrays

import gradir
import gradir.numpy as gnp
from gradir.aot import entry
from gradir.aot.code import Code
from gradir.aot.library import build_image
from gradir.aot.loader import (
    ADD,
    ALIGNMENT,
    NULL,
    WRITE,
    ArrayStruct,
    Function,
    LibraryError,
    StatusStruct,
)
from gradir.aot.program import compiled_function
from gradir.codegen.text.target import target_of

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Function:
    module = gradir.parse(EXAMPLES / "digits_mlp.mlir").gradient("main", mode="grad")
    folder = tmp_path_factory.mktemp("step")
    options: Any = {"functions": {"main_grad": "step"}, "targets": RUNNABLE, "threads": 2}
    return exported(module, folder, **options).step


@pytest.mark.parametrize("threads", [1, 2])
def test_results_of_a_gradient(step: Function, threads: int) -> None:
    """Written, left out and added ones in one call, at each level: the bits of plain calls."""
    arrays = random_arrays(step)
    for level in range(1, len(RUNNABLE) + 1):
        wanted = step(*arrays, level=level)
        start = [np.full(a.shape, 0.5, a.dtype) for a in wanted]
        for turn in range(3):
            requests = [(WRITE, NULL, ADD)[(k + turn) % 3] for k in range(len(wanted))]
            out = [start[k].copy() if r == ADD else None for k, r in enumerate(requests)]
            found = step(*arrays, out=out, requests=requests, level=level, threads=threads)
            for k, request in enumerate(requests):
                if request == NULL:
                    assert found[k] is None
                else:
                    plain = wanted[k] if request == WRITE else start[k] + wanted[k]
                    assert_same_bits([found[k]], [plain])


def test_an_argument_may_be_a_result(step: Function) -> None:
    """Parameters are replaced by their gradients, which read them to the end."""
    arrays = random_arrays(step)
    wanted = step(*arrays)
    names = [a.name for a in step.inputs]
    places = {k: names.index(a.name.removesuffix("_ct")) for k, a in enumerate(step.outputs) if k}
    given = [a.copy() for a in arrays]
    out = [None, *(given[places[k]] for k in range(1, len(wanted)))]
    found = step(*given, out=out)
    assert_same_bits(found, wanted)
    for k, place in places.items():
        assert found[k] is given[place]


KINDS = (
    "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32",
    "uint32", "int64", "uint64",
)  # fmt: skip


@pytest.mark.parametrize("name", [*KINDS, "bool"])
def test_dtypes_that_are_added(name: str, tmp_path: Path) -> None:
    dtype: Any = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    x: Any = np.array([1, 0, 3, 100, 90], dtype)
    f = _exported(lambda x: gnp.stack([x, x]), tmp_path, x)
    before: Any = np.array([[5, 1, 2, 100, 7], [1, 0, 1, 0, 200 % 128]], dtype)
    if dtype.kind not in "iub":
        before[:, 1:] += np.array(0.3, dtype)  # sums that are rounded
    out = before.copy()
    if name in KINDS:
        f(x, out=[out], requests=[ADD])
        assert_same_bits([out], [before + x])
        return
    with pytest.raises(LibraryError, match=r"out\[0\] .*: a result of dtype \d+ cannot be added"):
        f(x, out=[out], requests=[ADD])
    assert_same_bits([out], [before])


def _exported(function: Any, folder: Path, *arrays: Any) -> Function:
    path = folder / "libf.so"
    gradir.export_library(function, path, *arrays, functions="f", targets=RUNNABLE[0])
    return gradir.load_library(path).f


def test_results_whose_contents_are_read(tmp_path: Path) -> None:
    """They can be in the place of another argument, but not left out."""
    update = gradir.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    f = _exported(update, tmp_path, np.ones(4), np.ones(4))
    g = np.arange(4.0)
    (found,) = f(g, out=[g])
    assert found is g and g.tolist() == [0, 0.5, 1, 1.5]
    every: list[Any] = [NULL, WRITE, 3, "add"]
    for wrong in every:
        with pytest.raises(LibraryError, match=r"requests\[0\] .*: expected one of \(2,\), got"):
            f(np.ones(4), out=[g], requests=[wrong])
    with pytest.raises(LibraryError, match="requests: expected 1 entries"):
        f(np.ones(4), out=[g], requests=[])


def test_wrong_requests(step: Function) -> None:
    arrays = random_arrays(step)
    requests = [NULL] * len(step.outputs)
    with pytest.raises(LibraryError, match=r"out\[0\] .*: expected the array whose contents"):
        step(*arrays, requests=[ADD, *requests[1:]])
    out = [None, np.empty(step.outputs[1].shape, np.float32), *[None] * (len(requests) - 2)]
    with pytest.raises(LibraryError, match=r"out\[1\] .*: expected None for a result"):
        step(*arrays, out=out, requests=requests)


# Overlaps: the quick checks, and those that ask one by one, against a few lines of Python.


class Calls:
    """Calls with arrays anywhere in a memory: `run` gives the code, and the places are bytes."""

    def __init__(self, function: Function, memory: Any):
        self.function, self.memory = function, memory
        self.base = -(-memory.ctypes.data // ALIGNMENT) * ALIGNMENT
        self.infos = (*function.inputs, *function.outputs)
        self.shapes = [(ctypes.c_int64 * 2)(*a.shape) for a in self.infos]

    def run(self, places: list[int], workspace: int, room: int = 0) -> int:
        return self.run_structs(self.structs(places), workspace, room)

    def structs(self, places: list[int]) -> list[ArrayStruct]:
        return [
            ArrayStruct(self.base + place, ctypes.addressof(shape), int(np.prod(a.shape)),
                        len(a.shape), a.number, a.request)
            for place, shape, a in zip(places, self.shapes, self.infos, strict=True)
        ]  # fmt: skip

    def run_structs(self, given: list[ArrayStruct], workspace: int, room: int) -> int:
        count = len(self.function.inputs)
        read, written = given[:count], given[count:]
        status = StatusStruct(abi=1, workspace_bytes=self.function.workspace_bytes + room)
        arrays = (ArrayStruct * len(read))(*read), (ArrayStruct * len(written))(*written)
        call: Any = self.function._call
        return int(call(*arrays, self.base + workspace, ctypes.addressof(status)))

    def wanted(self, places: list[int], workspace: int, room: int) -> int:
        """What the code should be, 8 or 9 or 0, where no array of the results is an argument."""
        spans = [range(p, p + a.nbytes) for p, a in zip(places, self.infos, strict=True)]
        count = len(self.function.inputs)
        moved = [w for w in spans[count:] if len(w) and w in spans[:count]]
        need = sum(-(-len(w) // ALIGNMENT) * ALIGNMENT for w in moved)
        if need > room:
            return 9
        for k, one in enumerate(spans[count:]):
            for j, other in enumerate(spans[: count + k]):
                if meets(one, other) and not (one == other and j < count):
                    return 8
        own = range(workspace, workspace + self.function.workspace_bytes + need)
        return 8 if any(meets(own, span) for span in spans) else 0


def meets(one: range, other: range) -> bool:
    return bool(one and other) and one.start < other.stop and other.start < one.stop


COPIES = """
func.func @f(%a: tensor<3xf32>, %b: tensor<0xf32>, %c: tensor<2x8xi8>, %d: tensor<5xi8>)
    -> (tensor<3xf32>, tensor<0xf32>, tensor<2x8xi8>, tensor<5xi8>, tensor<3xf32>) {
  %0 = array.negative %a : tensor<3xf32>
  %1 = array.negative %b : tensor<0xf32>
  %2 = array.negative %c : tensor<2x8xi8>
  %3 = array.negative %d : tensor<5xi8>
  %4 = array.square %a : tensor<3xf32>
  func.return %0, %1, %2, %3, %4
      : tensor<3xf32>, tensor<0xf32>, tensor<2x8xi8>, tensor<5xi8>, tensor<3xf32>
}"""


def test_overlaps(tmp_path: Path) -> None:
    """Random places, mostly apart, some meeting by a byte, some the same."""
    f = exported(gradir.parse(COPIES), tmp_path).f
    calls = Calls(f, np.zeros(1 << 13, np.uint8))
    random = np.random.default_rng(3)
    seen = {0: 0, 8: 0, 9: 0}
    for _ in range(4000):
        workspace = int(random.integers(0, 40)) * ALIGNMENT
        span = int(random.choice([100, 400, 6000]))
        places = [int(p) for p in random.integers(0, span, len(calls.infos))]
        for k, a in enumerate(calls.infos):
            places[k] -= places[k] % a.dtype.itemsize
            if len(places[:k]) and random.random() < 0.3:
                other = int(random.integers(0, k))
                step = int(random.choice([0, calls.infos[other].nbytes, -a.nbytes, 1]))
                near = places[other] + step
                places[k] = max(near - near % a.dtype.itemsize, 0)
        room = int(random.choice([0, 64, 256]))
        wanted = calls.wanted(places, workspace, room)
        # an address of nothing need not be aligned
        places[1] += int(random.integers(0, 4))
        assert calls.run(places, workspace, room) == wanted, (places, workspace, room)
        seen[wanted] += 1
    assert min(seen.values()) > 100, seen


def test_addresses_that_are_alike_in_32_bits(tmp_path: Path) -> None:
    """4 GiB apart: the quick checks take them for one, the others do not."""
    f = exported(gradir.parse(COPIES), tmp_path).f
    memory = np.empty((1 << 32) + (1 << 13), np.uint8)  # two of its pages are touched
    calls = Calls(f, memory)
    far = [0, 64, 128, 192]
    near = [(1 << 32) + place for place in (*far, 256)]
    assert calls.run([*far, *near], 512) == 0
    assert calls.run([*far, *near], (1 << 32) + 512) == 0
    assert calls.run([*far, near[0], 0, *near[2:]], 128) == 8


@pytest.mark.parametrize("bound", ["%ten", "%n"])
def test_calls_allocate_nothing_unless_tapes_grow(bound: str) -> None:
    """Such a library has no function that could."""
    text = f"""
    func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %ten = arith.constant 10 : index
      %y = scf.for %i = %zero to {bound} step %one iter_args(%c = %x) -> (tensor<4xf64>) {{
        %s = array.sin %c : tensor<4xf64>
        scf.yield %s : tensor<4xf64>
      }}
      func.return %y : tensor<4xf64>
    }}"""
    op = gradir.parse(text).gradient("f", mode="vjp").op
    target = target_of(RUNNABLE[0])
    made = compiled_function("f", "f_vjp", [op.clone()], {}, [target], 1)
    found = {*build_image([made], target, 1, "0").imports}
    wanted = {"realloc", "free"} if bound == "%n" else set[str]()
    assert found & {"malloc", "calloc", "realloc", "aligned_alloc", "free", "mmap"} == wanted


def test_ordinary_calls_are_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The checks one by one, which would give the same answers, are not asked: here they refuse."""

    def refusing(texts: dict[str, str]) -> str:
        f = Code(texts)
        f.ret("i32 12")
        names = "ptr %info, ptr %program, ptr %in, ptr %out, ptr %workspace, ptr %status"
        return f.definition("check_call", names, linkage="internal ")

    monkeypatch.setattr(entry, "check_functions", refusing)
    request.addfinalizer(entry.entry_functions.cache_clear)
    entry.entry_functions.cache_clear()
    digits = gradir.parse(EXAMPLES / "digits_mlp.mlir").gradient("main", mode="grad")
    for k, (module, name) in enumerate(((digits, "main_grad"), (gradir.parse(COPIES), "f"))):
        options: Any = {"functions": {name: "f"}, "targets": RUNNABLE, "threads": 2}
        f = exported(module, tmp_path, f"f{k}", **options).f
        arrays = random_arrays(f)
        for level in range(1, len(RUNNABLE) + 1):
            f(*arrays, level=level, threads=level % 3)
        # in any order in memory
        calls = Calls(f, np.zeros(4 << 20, np.uint8))
        sizes = [-(-a.nbytes // ALIGNMENT) * ALIGNMENT for a in calls.infos]
        order = np.random.default_rng(7).permutation(len(sizes))
        starts = np.cumsum([f.workspace_bytes, *(sizes[j] or ALIGNMENT for j in order)])
        places = [int(starts[list(order).index(j)]) for j in range(len(sizes))]
        assert calls.run(places, 0) == 0
        if name == "f":
            with pytest.raises(LibraryError):
                f(*arrays, requests=[NULL] * len(f.outputs))


def test_arrays_of_more_than_two_gigabytes(tmp_path: Path) -> None:
    """Too large for 32 bits: the other checks look at them. No page of them is touched."""
    kind = "tensor<700000000xf32>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  %y = array.negative %x : {kind}\n"
    f = exported(gradir.parse(f"{text}  func.return %y : {kind}\n}}"), tmp_path).f
    calls = Calls(f, np.empty(3 << 30, np.uint8))
    size = f.outputs[0].nbytes
    assert calls.run([256, 512], 0) == calls.run([256, 256 + size - 4], 0) == 8
    assert calls.run([256, 256], 0) == 9
    assert calls.run([256, 256 + size], 512) == 8  # the workspace in the argument


def test_wrong_fields(tmp_path: Path) -> None:
    """One or two fields of a right call are changed: the first wrong one has the code."""
    f = exported(gradir.parse(COPIES), tmp_path).f
    calls = Calls(f, np.zeros(1 << 12, np.uint8))
    places = [64 * k for k in range(len(calls.infos))]
    count = len(f.inputs)
    random = np.random.default_rng(5)
    other = (ctypes.c_int64 * 2)(7, 7)
    seen: set[int] = set()
    for _ in range(3000):
        structs = calls.structs(places)
        found: dict[tuple[int, int], int] = {}
        for _ in range(int(random.integers(1, 3))):
            k = int(random.integers(0, len(structs)))
            struct, a = structs[k], calls.infos[k]
            name, value, code = [
                ("data", None, 0 if k >= count or not a.nbytes else 3),
                ("odd", 1, 6 if a.nbytes and a.dtype.itemsize > 1 else 0),
                ("dtype", int(random.integers(-1, 30)), 4),
                ("rank", int(random.integers(-1, 4)), 5),
                ("size", int(random.integers(-3, 40)), 5),
                ("shape", None, 3),
                ("shape", ctypes.addressof(other), 5),
                ("request", int(random.choice([-1, 3, 77])), 7 if k >= count else 0),
                ("reserved", 5, 0),
            ][int(random.integers(0, 9))]
            if name == "odd":
                if struct.data is None or struct.data % 2:
                    continue
                name, value, place = "data", struct.data + 1, ORDER.index("odd")
            else:
                place = ORDER.index(name)
            if getattr(struct, name) != value:
                setattr(struct, name, value)
                found[k, place] = code
        wanted = 0
        for (k, place), code in sorted(found.items()):
            skipped = k >= count and structs[k].data is None and place != ORDER.index("request")
            wanted = wanted or (0 if skipped else code)
        code = calls.run_structs(structs, 2048, 1024)
        assert code == wanted, (found, code)
        seen.add(code)
    assert seen == {0, 3, 4, 5, 6, 7}


# The order in which a function looks at the fields of an array, and at last whether data is odd.
ORDER = ("request", "data", "dtype", "rank", "shape", "size", "odd", "reserved")
