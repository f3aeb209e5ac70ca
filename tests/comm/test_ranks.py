"""Collectives on all ranks in one process: values, derivatives over all ranks at once, mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentError, CommError, PassError
from gradir.frontends.comm.ranks import run_ranks

Array = np.ndarray[Any, np.dtype[np.float64]]

PROGRAM = """
func.func @f(%x: tensor<4x2xf64>) -> tensor<{result}xf64> {{
  %s = array.sin %x : tensor<4x2xf64>
  {op}
  %z = array.multiply %y, %y : tensor<{result}xf64>
  func.return %z : tensor<{result}xf64>
}}
"""
Reference = Callable[[int, list[Array]], Any]
# an op, its result's shape, and what it gives of all ranks' operands
OPS: dict[str, tuple[str, str, Reference]] = {
    "sum": ("comm.all_reduce %s {ranks = N}", "4x2", lambda r, xs: np.sum(xs, 0)),
    "ordered": ("comm.all_reduce %s {ranks = N, ordered = true}", "4x2", lambda r, xs: sum(xs)),
    "mean": ('comm.all_reduce %s {kind = "mean", ranks = N}', "4x2", lambda r, xs: np.mean(xs, 0)),
    "max": ('comm.all_reduce %s {kind = "max", ranks = N}', "4x2", lambda r, xs: np.max(xs, 0)),
    "min": ('comm.all_reduce %s {kind = "min", ranks = N}', "4x2", lambda r, xs: np.min(xs, 0)),
    "reduce": (
        "comm.reduce %s {root = 1, ranks = N}",
        "4x2",
        lambda r, xs: np.sum(xs, 0) if r == 1 else np.zeros((4, 2)),
    ),
    "broadcast": ("comm.broadcast %s {root = 1, ranks = N}", "4x2", lambda r, xs: xs[1]),
    "all_gather": (
        "comm.all_gather %s {axis = 1, ranks = N}",
        "4xM",
        lambda r, xs: np.concatenate(xs, 1),
    ),
    "reduce_scatter": (
        "comm.reduce_scatter %s {axis = 0, ranks = N}",
        "Kx2",
        lambda r, xs: np.split(np.sum(xs, 0), len(xs))[r],
    ),
    "part": (
        "comm.part %s {axis = 0, ranks = N}",
        "Kx2",
        lambda r, xs: np.split(xs[r], len(xs))[r],
    ),
    "permute": (
        "comm.permute %s {sources = [0], targets = [1], ranks = N}",
        "4x2",
        lambda r, xs: xs[0] if r == 1 else np.zeros((4, 2)),
    ),
}


def module_of(name: str, ranks: int, program: str = PROGRAM) -> gradir.Module:
    op, shape, _ = OPS[name]
    shape = shape.replace("M", str(2 * ranks)).replace("K", str(4 // ranks))
    op = f"%y = {op.replace('N', str(ranks))} : tensor<4x2xf64>"
    op += "" if shape == "4x2" and "gather" not in op else f" -> tensor<{shape}xf64>"
    return gradir.parse(program.format(op=op, result=shape))


def arguments(ranks: int) -> list[Array]:
    generator = np.random.default_rng(ranks)
    return list(generator.permutation(8 * ranks).reshape(ranks, 4, 2) / 9 - 0.5)


def each(module: gradir.Module, function: str, xs: Sequence[Array], *more: Array) -> list[Any]:
    return run_ranks(module, function, [(x, *more) for x in xs])


def slopes(f: Any, xs: list[Array]) -> list[Array]:
    """Central differences of a number in all elements of all ranks."""
    found = [np.zeros_like(x) for x in xs]
    for rank, x in enumerate(xs):
        for place in np.ndindex(x.shape):
            sides: list[float] = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in xs]
                moved[rank][place] += step
                sides.append(f(moved))
            found[rank][place] = (sides[0] - sides[1]) / 2e-5
    return found


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", OPS)
def test_values(name: str, ranks: int) -> None:
    xs = arguments(ranks)
    for rank, (got,) in enumerate(each(module_of(name, ranks), "f", xs)):
        want = OPS[name][2](rank, [np.sin(x) for x in xs])
        np.testing.assert_allclose(got, want * want, rtol=1e-14)


@pytest.mark.parametrize("name", OPS)
def test_derivatives_over_all_ranks(name: str) -> None:
    """A rank's cotangent is the slope of the sum of all ranks' results: of both orders."""
    module, xs = module_of(name, 2), arguments(2)

    def total(xs: list[Array]) -> float:
        return sum(r[0].sum() for r in each(module, "f", xs))

    first = module.gradient("f", mode="vjp")
    ones = np.ones(each(module, "f", xs)[0][0].shape)
    found = [r[1] for r in each(first, "f_vjp", xs, ones)]
    np.testing.assert_allclose(found, slopes(total, xs), atol=1e-8)
    tangents = arguments(3)[:2]
    second = first.gradient("f_vjp", mode="jvp", wrt=[0], of=[1])
    args = [(x, ones, t) for x, t in zip(xs, tangents, strict=True)]
    curved = [r[-1] for r in run_ranks(second, "f_vjp_jvp", args)]

    def slope(step: float) -> Any:
        moved = [x + step * t for x, t in zip(xs, tangents, strict=True)]
        return np.array([r[1] for r in each(first, "f_vjp", moved, ones)])

    np.testing.assert_allclose(curved, (slope(1e-5) - slope(-1e-5)) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("name", OPS)
def test_forward_mode(name: str) -> None:
    module, xs, ts = module_of(name, 2), arguments(2), arguments(3)[:2]
    both = list(zip(xs, ts, strict=True))
    found = [r[1] for r in run_ranks(module.gradient("f", mode="jvp"), "f_jvp", both)]
    sides = [
        np.array([r[0] for r in each(module, "f", [x + step * t for x, t in both])])
        for step in (1e-6, -1e-6)
    ]
    np.testing.assert_allclose(found, (sides[0] - sides[1]) / 2e-6, atol=1e-7)


MASKED = """
func.func @f(%x: tensor<4x2xf64>, %taken: i1) -> tensor<{result}xf64> {{
  %s = array.sin %x : tensor<4x2xf64>
  {op}
  %no = array.full {{value = 0.0}} : tensor<{result}xf64>
  %z = scf.if %taken -> (tensor<{result}xf64>) {{
    scf.yield %y : tensor<{result}xf64>
  }} else {{
    scf.yield %no : tensor<{result}xf64>
  }}
  func.return %z : tensor<{result}xf64>
}}
"""


@pytest.mark.parametrize("taken", [(True, False), (False, True)])
@pytest.mark.parametrize("name", OPS)
def test_ranks_that_take_other_branches(name: str, taken: tuple[bool, bool]) -> None:
    """The mask of one rank says nothing of what the others send."""
    module, xs = module_of(name, 2, MASKED), arguments(2)

    def total(xs: list[Array]) -> float:
        return sum(r[0].sum() for r in run_ranks(module, "f", list(zip(xs, taken, strict=True))))

    ones = [np.ones_like(r[0]) for r in run_ranks(module, "f", list(zip(xs, taken, strict=True)))]
    given = list(zip(xs, taken, ones, strict=True))
    derived = module.gradient("f", mode="vjp", wrt=[0])
    found = [r[1] for r in run_ranks(derived, "f_vjp", given)]
    np.testing.assert_allclose(found, slopes(total, xs), atol=1e-8)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_ties_share_and_nan_stays(kind: str) -> None:
    text = f"""
    func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {{
      %y = comm.all_reduce %x {{kind = "{kind}", ranks = 2}} : tensor<3xf64>
      func.return %y : tensor<3xf64>
    }}"""
    module = gradir.parse(text).gradient("f", mode="vjp")
    xs = np.array([1.0, 5.0, np.nan]), np.array([1.0, 5.0, 2.0])
    (_, first), (_, second) = each(module, "f_vjp", xs, np.array([1.0, 3.0, 1.0]))
    np.testing.assert_array_equal(first, [1, 3, np.nan])
    np.testing.assert_array_equal(second, [1, 3, 0])


MESSAGES = """
func.func @f(%x: tensor<2xf64>, %first: i1) -> tensor<2xf64> {
  %s = array.sin %x : tensor<2xf64>
  %y = scf.if %first -> (tensor<2xf64>) {
    %sent = comm.send %s {target = 1, ranks = 2} : tensor<2xf64>
    %got = comm.recv %s {source = 1, ranks = 2} : tensor<2xf64>
    %a = array.add %sent, %got : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  } else {
    %got = comm.recv %s {source = 0, ranks = 2} : tensor<2xf64>
    %b = array.multiply %got, %s : tensor<2xf64>
    %sent = comm.send %b {target = 0, ranks = 2} : tensor<2xf64>
    %c = array.add %sent, %got : tensor<2xf64>
    scf.yield %c : tensor<2xf64>
  }
  %z = array.multiply %y, %y : tensor<2xf64>
  func.return %z : tensor<2xf64>
}
"""


def test_messages_and_their_derivatives() -> None:
    module, xs = gradir.parse(MESSAGES), [np.array([0.3, 0.7]), np.array([1.1, -0.4])]

    def run(module: gradir.Module, function: str, xs: Sequence[Array], *more: Array) -> list[Any]:
        return run_ranks(module, function, [(x, k == 0, *more) for k, x in enumerate(xs)])

    (first,), (second,) = run(module, "f", xs)
    sent = np.sin(xs[0]) * np.sin(xs[1])
    np.testing.assert_allclose([first, second], [sent**2, np.sin(xs[0]) ** 2])

    def total(xs: list[Array]) -> float:
        return sum(r[0].sum() for r in run(module, "f", xs))

    derived = run(module.gradient("f", mode="vjp"), "f_vjp", xs, np.ones(2))
    np.testing.assert_allclose([r[1] for r in derived], slopes(total, xs), atol=1e-9)
    tangents = [(x, k == 0, np.ones(2)) for k, x in enumerate(xs)]
    pushed = run_ranks(module.gradient("f", mode="jvp"), "f_jvp", tangents)
    step = 1e-6
    sides = [np.array([r[0] for r in run(module, "f", [x + s for x in xs])]) for s in (step, -step)]
    np.testing.assert_allclose(
        [r[1] for r in pushed], (sides[0] - sides[1]) / (2 * step), atol=1e-8
    )


def test_a_stage_keeps_what_a_collective_gives() -> None:
    """A replay does not communicate again; neither equal nor unread collectives are dropped."""
    text = """
    func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
      %y = grad.checkpoint -> (tensor<4xf64>) {
        %a = array.sin %x : tensor<4xf64>
        %b = comm.all_reduce %a {ranks = 2} : tensor<4xf64>
        %c = array.exp %b : tensor<4xf64>
        %d = array.multiply %c, %c : tensor<4xf64>
        grad.yield %d : tensor<4xf64>
      }
      %u = comm.all_reduce %x {ranks = 2} : tensor<4xf64>
      %v = comm.all_reduce %x {ranks = 2} : tensor<4xf64>
      func.return %y : tensor<4xf64>
    }"""
    module = gradir.parse(text).gradient("f", mode="vjp")
    derived = str(module).partition("@f_vjp")[2]
    assert derived.count("comm.all_reduce") == 4
    lowered = str(module.run_passes("gradir-stages{until=gradir-fuse}")).partition("@f_vjp")[2]
    assert lowered.count('"comm.all_reduce:world:2"') == 4


def test_a_loop_that_would_repeat_a_collective_is_refused() -> None:
    text = """
    func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<4xf64>) {
        %s = array.sin %a : tensor<4xf64>
        %b = comm.all_reduce %s {ranks = 2} : tensor<4xf64>
        scf.yield %b : tensor<4xf64>
      } POLICY
      func.return %y : tensor<4xf64>
    }"""
    repeats = gradir.parse(text.replace("POLICY", "{grad.loop = #grad.loop<every = 3>}"))
    with pytest.raises(PassError, match=r"comm.all_reduce: has effects, so that a loop of policy"):
        repeats.gradient("f", mode="vjp")
    module = gradir.parse(text.replace("POLICY", "")).gradient("f", mode="vjp")
    xs = [np.full(4, 0.1), np.full(4, 0.2)]
    found = run_ranks(module, "f_vjp", [(x, 2, np.ones(4)) for x in xs])
    inner = np.sin(0.1) + np.sin(0.2)
    slope = 4 * np.cos(inner) * np.cos([0.1, 0.2])
    np.testing.assert_allclose([r[1][0] for r in found], slope)


BRANCH = """
func.func @f(%x: tensor<2xf64>, %p: i1) -> tensor<2xf64> {
  %y = scf.if %p -> (tensor<2xf64>) {
    %a = comm.all_reduce %x {ranks = 2} : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  } else {
    OTHER
    scf.yield %b : tensor<2xf64>
  }
  func.return %y : tensor<2xf64>
}
"""
MISTAKES = {
    "%b = array.sin %x : tensor<2xf64>": (
        r"the ranks wait for each other: rank 0 waits in comm.all_reduce .*; rank 1 has ended"
    ),
    '%b = comm.all_reduce %x {kind = "max", ranks = 2} : tensor<2xf64>': (
        r"all ranks of group world must ask for the same, got comm.all_reduce {ranks .* on rank 0 "
        r"and comm.all_reduce {kind = \"max\".* on rank 1"
    ),
    "%b = comm.recv %x {source = 0, ranks = 2} : tensor<2xf64>": (
        r"rank 1 waits in comm.recv of a message of tensor<2xf64> from rank 0 of group world"
    ),
    "%b = comm.all_reduce %x {ranks = 3} : tensor<2xf64>": (
        r"ranks = 3 must be the size of group world, got 2"
    ),
    '%b = comm.all_reduce %x {ranks = 2, group = "rows"} : tensor<2xf64>': (
        r"there is no group rows; groups: world"
    ),
}


@pytest.mark.parametrize("other", MISTAKES)
def test_mistakes_are_found_at_once(other: str) -> None:
    module, x = gradir.parse(BRANCH.replace("OTHER", other)), np.ones(2)
    with pytest.raises(CommError, match=MISTAKES[other]) as caught:
        run_ranks(module, "f", [(x, True), (x, False)])
    assert "%a = comm" in str(caught.value) or "%b = comm" in str(caught.value)


def test_a_message_that_nobody_receives_is_found() -> None:
    text = """
    func.func @f(%x: tensor<2xf64>, %p: i1) -> tensor<2xf64> {
      %y = scf.if %p -> (tensor<2xf64>) {
        %a = comm.send %x {target = 1, ranks = 2} : tensor<2xf64>
        scf.yield %a : tensor<2xf64>
      } else {
        scf.yield %x : tensor<2xf64>
      }
      func.return %y : tensor<2xf64>
    }"""
    with pytest.raises(CommError, match=r"each comm.send needs a comm.recv"):
        run_ranks(gradir.parse(text), "f", [(np.ones(2), True), (np.ones(2), False)])


def test_a_rank_that_fails_ends_the_others() -> None:
    text = """
    func.func @f(%x: tensor<2xf64>, %i: tensor<1xi64>) -> tensor<2xf64> {
      %t = array.take %x, %i {axis = 0} : tensor<2xf64>, tensor<1xi64> -> tensor<1xf64>
      %y = comm.all_reduce %t {ranks = 2} : tensor<1xf64>
      %z = array.add %x, %x : tensor<2xf64>
      func.return %z : tensor<2xf64>
    }"""
    with pytest.raises(gradir.errors.IndexOutOfRange, match="index 5 is out of range") as caught:
        args = [(np.ones(2), np.array([k])) for k in (0, 5)]
        run_ranks(gradir.parse(text), "f", args)
    assert caught.value.__notes__ == ["on rank 1 of 2"]


def test_groups() -> None:
    text = """
    func.func @f(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<i64>, tensor<i64>) {
      %y = comm.all_reduce %x {ranks = 2, group = "pairs"} : tensor<2xf64>
      %rank = comm.rank {group = "pairs"} : tensor<i64>
      %size = comm.size : tensor<i64>
      func.return %y, %rank, %size : tensor<2xf64>, tensor<i64>, tensor<i64>
    }"""
    module, xs = gradir.parse(text), [(np.full(2, k),) for k in (1.0, 2.0, 4.0)]
    with pytest.raises(CommError, match="rank 1 is not in group pairs"):
        run_ranks(module, "f", xs, {"pairs": [2, 0]})
    with pytest.raises(ArgumentError, match="groups: 'pairs' must be different ranks below 3"):
        run_ranks(module, "f", xs, {"pairs": [3, 0]})
    found = run_ranks(module, "f", xs[:2], {"pairs": [1, 0]})
    assert [(r[0][0], int(r[1]), int(r[2])) for r in found] == [(3, 1, 2), (3, 0, 2)]


def test_sums_of_neighbours() -> None:
    """A rank that has summed neighbours beforehand changes no bit of an ordered sum."""
    parts = [np.array([1e16]), np.array([1.0]), np.array([-1e16]), np.array([1.0])]
    text = """
    func.func @f(%x: tensor<1xf64>) -> tensor<1xf64> {
      %y = comm.all_reduce %x {ranks = RANKS, ordered = true} : tensor<1xf64>
      func.return %y : tensor<1xf64>
    }"""

    def total(parts: list[Array]) -> Any:
        return each(gradir.parse(text.replace("RANKS", str(len(parts)))), "f", parts)[0][0]

    assert total(parts) == total([parts[0] + parts[1], parts[2] + parts[3]]) == 0


def test_one_process_alone_needs_as_many_ranks_as_it_has() -> None:
    module = module_of("sum", 2)
    with pytest.raises(CommError, match="ranks = 2 must be the size of group world, got 1"):
        gradir.interpret(module, "f", np.ones((4, 2)))
    compiled = gradir.compile(module, "f")
    with pytest.raises(CommError, match=r"got 1; start as many processes: mpiexec -n 2"):
        compiled(np.ones((4, 2)))
