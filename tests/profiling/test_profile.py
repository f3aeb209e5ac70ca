"""Profiles of compiled functions: parts, counts, figures, forms, and what they leave alone."""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.codegen.text.target import host
from gradir.diagnostics import Sources
from gradir.errors import ArgumentError, IndexOutOfRange, TraceError
from gradir.profiling import limits as limits_room
from gradir.profiling.limits import Limits, measured_limits
from gradir.profiling.profile import Line, Part, Profile
from gradir.profiling.table import HEAD
from gradir.runtime.llvm import assembly

LOOP = """
func.func @f(%x: tensor<64x64xf32>, %n: i64) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%c = %x) -> (tensor<64x64xf32>) : i64 {
    %p = array.matmul %c, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %t = array.tanh %p : tensor<64x64xf32>
    scf.yield %t : tensor<64x64xf32>
  }
  %s = array.sum %y {axis = [1]} : tensor<64x64xf32> -> tensor<64xf32>
  func.return %y, %s : tensor<64x64xf32>, tensor<64xf32>
}
"""
TAKE = """
func.func @f(%x: tensor<8xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %y = array.take %x, %i : tensor<8xf32>, tensor<2xi64> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""
LIMITS = Limits(2, {32: 1e12, 64: 5e11}, 1e10)


@pytest.fixture(autouse=True)
def known_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is not measured in each test."""

    def limits(threads: int) -> Limits:
        return LIMITS

    monkeypatch.setattr("gradir.profiling.run.measured_limits", limits)


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradir.profiling.run.SECONDS", 0.001)


def part_of(profile: Profile, line: int) -> Part:
    """The one kernel that is at a source line."""
    [found] = [p for p in profile.kernels if any(place.number == line for place in p.lines)]
    return found


def matrix() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_counts_in_a_loop(threads: int) -> None:
    """Calls count one run, whatever the number of runs; flops and bytes are of the nest."""
    function = gradir.compile(gradir.parse(LOOP), "f", threads=threads)
    x = matrix()
    before = function(x, 7)
    profile = function.profile(x, 7)
    product, total = part_of(profile, 6), part_of(profile, 10)
    assert (product.calls, total.calls) == (7, 1)
    assert profile.runs >= 1
    # 16 for tanh; a sum has an addition for each element
    assert product.flops == 2 * 64**3 + 16 * 64**2
    assert (total.flops, total.bytes) == (64**2, 4 * (64**2 + 64))
    assert product.bytes == 4 * 3 * 64**2
    assert [line.number for line in product.lines] == [6, 7]
    assert product.lines[1].text == "%t = array.tanh %p : tensor<64x64xf32>"
    [loop] = [part for part in profile.parts if part.kind == "loop"]
    assert (loop.name, loop.calls) == ("scf.for", 1)
    for one, other in zip(before, function(x, 7), strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_part_is_counted_twice() -> None:
    """Loops have their own time alone; all parts together are a call."""
    profile = gradir.compile(gradir.parse(LOOP), "f", threads=2).profile(matrix(), 20)
    kinds = [part.kind for part in profile.parts]
    assert kinds.count("rest") == 1 and kinds[-1] == "rest"
    assert all(part.seconds >= 0 for part in profile.parts)
    assert sum(part.seconds for part in profile.parts) <= profile.seconds * (1 + 1e-9)
    assert sum(part.seconds for part in profile.kernels) > 0
    times = [part.seconds for part in profile.parts[:-1]]
    assert times == sorted(times, reverse=True)


def test_the_timed_program_has_the_same_bits() -> None:
    """And the plain one has no clock."""
    out = [np.zeros((64, 64), np.float32), None]
    function = gradir.compile(gradir.parse(LOOP), "f", threads=2)
    function.profile(matrix(), 5, out=out)
    np.testing.assert_array_equal(out[0], function(matrix(), 5)[0])
    assert "gradir_now" not in function.llvm_ir and function.program.timed == ()


def test_a_jitted_function_names_lines_of_python() -> None:
    def f(w: Any, x: Any) -> Any:
        hidden = gnp.tanh(x @ w)
        return gnp.sum(hidden * hidden)

    w = x = matrix()
    profile = gradir.jit(gradir.grad(f)).profile(w, x)
    found = {line.text for part in profile.kernels for line in part.lines}
    assert "hidden = gnp.tanh(x @ w)" in found
    assert all(line.file == __file__ for part in profile.kernels for line in part.lines)


def test_equal_kernels_at_other_lines_are_other_parts() -> None:
    def f(x: Any) -> Any:
        y = gnp.tanh(x @ x)
        for _ in range(2):
            y = gnp.tanh(y @ x)
        return y

    profile = gradir.jit(f).profile(matrix())
    assert sorted(part.calls for part in profile.kernels) == [1, 2]


def test_donated_arguments_stay() -> None:
    def step(x: Any, y: Any) -> Any:
        return x + y

    x = np.ones(1000, np.float32)
    function = gradir.jit(step, donate_argnums=0)
    assert function.profile(x, x * 2).kernels
    np.testing.assert_array_equal(x, 1)
    np.testing.assert_array_equal(function(x, x * 2), 3)
    with pytest.raises(ArgumentError, match="donated"):
        function.profile(x, x)


def test_shapes_that_are_open() -> None:
    text = LOOP.replace("64x64xf32", "?x?xf32").replace("64xf32", "?xf32")
    function = gradir.compile(gradir.parse(text), "f")
    assert part_of(function.profile(matrix(), 3), 6).calls == 3


def test_host_calls() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    gradir.register_host_function("double_for_a_profile", double)
    text = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = grad.host_call %x {callee = "double_for_a_profile"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
    profile = gradir.compile(gradir.parse(text), "f").profile(np.ones(4, np.float32))
    [part] = [part for part in profile.parts if part.kind == "host call"]
    assert (part.name, part.calls) == ("@double_for_a_profile", 1)
    assert [line.number for line in part.lines] == [3] and part.seconds > 0


def test_a_run_that_fails() -> None:
    function = gradir.compile(gradir.parse(TAKE), "f")
    x = np.ones(8, np.float32)
    with pytest.raises(IndexOutOfRange):
        function.profile(x, np.array([1, 8]))
    assert part_of(function.profile(x, np.array([1, 7])), 3).calls == 1


def test_refusals() -> None:
    function = copy.copy(gradir.compile(gradir.parse(TAKE), "f"))
    with pytest.raises(ArgumentError, match="expected 2 arguments"):
        function.profile(np.ones(8, np.float32))
    function.profiler = None
    with pytest.raises(ArgumentError, match=r"gradir\.compile has not made"):
        function.profile(np.ones(8, np.float32), np.array([1, 2]))
    inner = gradir.jit(gnp.sum)

    def outer(x: Any) -> Any:
        return inner.profile(x)

    with pytest.raises(TraceError, match="a profile is of calls with arrays"):
        gradir.jit(outer)(np.ones(3))


def test_assembly_of_one_kernel() -> None:
    function = gradir.compile(gradir.parse(LOOP), "f", threads=1)
    name = part_of(function.profile(matrix(), 3), 6).name
    text = function.kernel_asm(name)
    assert f"{name}." in text.splitlines()[0] and "gradir_driver:" not in text
    assert text in function.asm
    with pytest.raises(ArgumentError, match=r"kernel_asm: expected one of \w+, .*, got nest"):
        function.kernel_asm("nest")


def example() -> Profile:
    """A profile whose figures are round."""
    line = Line("a<b.py", 3, "y = x @ w")
    parts = (
        Part("kernel", "contract_0", ("contract", "tanh"), (line,), 2, 2e-6, 10**6, 10**3, 32),
        Part("kernel", "nest_1", ("nest",), (), 1, 1e-6, None, 10**4, 64),
        Part("rest", "call, threads, numbers", (), (), 1, 1e-6, None, 0, 32),
    )
    return Profile("f", 2, 5, 4e-6, 3e-6, parts, LIMITS)


def test_figures() -> None:
    profile = example()
    product, copied, rest = profile.parts
    assert product.flops_per_second == pytest.approx(1e12)
    assert product.bytes_per_second == pytest.approx(1e9)
    assert product.share_of_limit(LIMITS) == pytest.approx(1.0)
    assert (product.bound(LIMITS), copied.bound(LIMITS), rest.bound(LIMITS)) == (
        *("flops", "bytes", None),
    )
    assert copied.flops_per_second is None and rest.share_of_limit(LIMITS) is None
    assert profile.share(product) == pytest.approx(0.5)


def test_forms() -> None:
    profile = example()
    rows = str(profile).splitlines()
    assert rows[0].startswith("profile of @f: 4.0 us a call (3.0 without clocks), average of 5; 2")
    assert rows[2] == HEAD
    assert rows[3].split() == ["contract_0", "2", "2.00", "50.0%", *"1000.0 1.0 100% flops".split()]
    assert rows[4:6] == ["    contract, tanh", "    a<b.py:3  y = x @ w"]
    assert repr(profile).startswith("<gradir profile of ") and len(repr(profile)) < 120
    said = json.loads(profile.to_json())
    assert said == profile.to_dict() | {"parts": said["parts"]}
    assert said["parts"][0]["lines"] == [{"file": "a<b.py", "number": 3, "text": "y = x @ w"}]
    assert said["parts"][0]["bound"] == "flops" and said["parts"][1]["flops"] is None
    drawn = ElementTree.fromstring(profile.to_svg())
    bars = [e for e in drawn.iter() if e.tag.endswith("rect")]
    assert [float(bar.attrib["width"]) for bar in bars] == [210.0, 105.0, 105.0]
    assert any(e.text == "a<b.py:3 y = x @ w" for e in drawn.iter())


def test_lines_without_a_source() -> None:
    assert str(Line("gone.py", 3, Sources().line("gone.py", 3) or "")) == "gone.py:3"


@pytest.mark.parametrize("bits", [32, 64])
def test_all_chains_of_the_measurement_run(bits: int) -> None:
    target = host()
    code = assembly(limits_room.chains(target, bits, target.vector_bytes * 8 // bits), target)
    operations = re.findall(r"^\s+(?:vfn?madd|fmla|fmadd|v?mulp)", code, re.MULTILINE)
    assert len(operations) == limits_room.CHAINS


def test_limits_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_room, "STREAM_BYTES", 1 << 20)
    monkeypatch.setattr(limits_room, "ROUNDS", 2000)
    monkeypatch.setattr(limits_room, "REPEATS", 2)
    found = measured_limits.__wrapped__(1)
    assert found.flops[32] > found.flops[64] > 1e8 and found.bytes > 1e8
