"""Programs that tests run on several ranks: functions of this file, `mpiexec -n N python` on it.

Each prints one line per fact, on rank 0 unless it says more; a rank that finds a fault raises.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradir

ALL = """
func.func @f(%x: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>,
    tensor<4x3xf64>, tensor<4x3xf64>, tensor<4xMxf64>, tensor<Kx3xf64>, tensor<4x3xf64>,
    tensor<4x3xf16>, tensor<4x3xi64>, tensor<4x3xui16>, tensor<i64>, tensor<i64>) {
  %s = array.sin %x : tensor<4x3xf64>
  %a = comm.all_reduce %s {ranks = N} : tensor<4x3xf64>
  %b = comm.all_reduce %s {kind = "max", ranks = N} : tensor<4x3xf64>
  %c = comm.all_reduce %s {kind = "mean", ranks = N, ordered = true} : tensor<4x3xf64>
  %d = comm.reduce %s {root = 0, ranks = N} : tensor<4x3xf64>
  %e = comm.broadcast %s {root = L, ranks = N} : tensor<4x3xf64>
  %g = comm.all_gather %s {axis = 1, ranks = N} : tensor<4x3xf64> -> tensor<4xMxf64>
  %h = comm.reduce_scatter %s {axis = 0, ranks = N} : tensor<4x3xf64> -> tensor<Kx3xf64>
  %i = comm.permute %s {sources = [0], targets = [L], ranks = N} : tensor<4x3xf64>
  comm.barrier
  %half = array.astype %x : tensor<4x3xf64> -> tensor<4x3xf16>
  %j = comm.all_reduce %half {ranks = N} : tensor<4x3xf16>
  %whole = array.astype %x : tensor<4x3xf64> -> tensor<4x3xi64>
  %k = comm.all_reduce %whole {ranks = N} : tensor<4x3xi64>
  %short = array.astype %whole : tensor<4x3xi64> -> tensor<4x3xui16>
  %l = comm.all_reduce %short {ranks = N} : tensor<4x3xui16>
  %unread = comm.all_reduce %x {ranks = N} : tensor<4x3xf64>
  %rank = comm.rank : tensor<i64>
  %size = comm.size : tensor<i64>
  func.return %a, %b, %c, %d, %e, %g, %h, %i, %j, %k, %l, %rank, %size : tensor<4x3xf64>,
    tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4xMxf64>,
    tensor<Kx3xf64>, tensor<4x3xf64>, tensor<4x3xf16>, tensor<4x3xi64>, tensor<4x3xui16>,
    tensor<i64>, tensor<i64>
}
"""

ONE = """
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = comm.all_reduce %x {ranks = N} : tensor<3xf64>
  func.return %y : tensor<3xf64>
}
"""

MESSAGES = """
func.func @f(%x: tensor<2xf64>, %first: i1) -> tensor<2xf64> {
  %y = scf.if %first -> (tensor<2xf64>) {
    %sent = comm.send %x {target = 1, ranks = 2} : tensor<2xf64>
    %got = comm.recv %x {source = 1, ranks = 2} : tensor<2xf64>
    %a = array.add %sent, %got : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  } else {
    %got = comm.recv %x {source = 0, ranks = 2} : tensor<2xf64>
    %b = array.multiply %got, %x : tensor<2xf64>
    %sent = comm.send %b {target = 0, ranks = 2} : tensor<2xf64>
    %c = array.add %sent, %got : tensor<2xf64>
    scf.yield %c : tensor<2xf64>
  }
  func.return %y : tensor<2xf64>
}
"""


def of_ranks(text: str, n: int) -> gradir.Module:
    words = {"N": n, "L": n - 1, "M": 3 * n, "K": 4 // n}
    for name, number in words.items():
        for before, after in (("= ", ""), ("<", "x"), ("x", "x"), ("[", "]"), ("= ", ",")):
            text = text.replace(f"{before}{name}{after}", f"{before}{number}{after}")
    return gradir.parse(text)


def world() -> tuple[int, int]:
    from gradir.runtime.mpi import world

    return world().rank("world"), world().size("world")


def everything() -> None:
    """Native code and the interpreter over MPI, against all ranks in one process."""
    from gradir.frontends.comm.ranks import run_ranks

    rank, n = world()
    xs = [np.linspace(-2, 3, 12).reshape(4, 3) * (k + 1) for k in range(n)]
    modules: list[tuple[gradir.Module, str, Sequence[tuple[Any, ...]]]] = [
        (of_ranks(ALL, n), "f", [(x,) for x in xs])
    ]
    if n == 2:
        messages = gradir.parse(MESSAGES)
        pairs = [np.array([0.5, k + 2.0]) for k in range(2)]
        modules.append((messages, "f", [(x, k == 0) for k, x in enumerate(pairs)]))
        ones = [(x, k == 0, np.ones(2)) for k, x in enumerate(pairs)]
        modules.append((messages.gradient("f", mode="vjp"), "f_vjp", ones))
    for module, name, arguments in modules:
        want = run_ranks(module, name, arguments)[rank]
        compiled = gradir.compile(module, name)
        for got in (compiled(*arguments[rank]), compiled(*arguments[rank]),
                    gradir.interpret(module, name, *arguments[rank])):  # fmt: skip
            for a, b in zip(got, want, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(np.float64(a), np.float64(b), rtol=1e-14, atol=1e-15)
    if n == 2:
        loops(rank)
    else:
        groups(rank)
    print(f"agree {rank}\n", end="", flush=True)


def library(folder: str = "") -> None:
    """A library that one rank exports and all load, against gradir.compile."""
    from mpi4py import MPI

    rank, n = world()
    path = os.path.join(folder or sys.argv[2], "libf.so")
    module = of_ranks(ALL, n)
    if rank == 0:
        gradir.export_library(module, path, functions="f", threads=2)
    MPI.COMM_WORLD.barrier()
    f = gradir.load_library(path).f
    x = np.random.default_rng(rank).standard_normal((4, 3))
    want = gradir.compile(module, "f", 1)(x)
    for threads in (1, 2, 1):
        for a, b in zip(f(x, threads=threads), want, strict=True):
            assert a.tobytes() == np.asarray(b).tobytes()
    print(f"library {rank}\n", end="", flush=True)


def groups(rank: int) -> None:
    """Two groups of two of four ranks, in an order of their own."""
    from gradir import comm

    comm.add_group("even", [2, 0])
    comm.add_group("odd", [1, 3])
    mine, other = ("even", "odd") if rank % 2 == 0 else ("odd", "even")
    assert comm.axis_size(mine) == 2
    partners = comm.all_gather(np.array(rank), mine)
    assert partners.tolist() == ([2, 0] if rank % 2 == 0 else [1, 3])
    text = f"""
    func.func @f(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<i64>) {{
      %y = comm.all_reduce %x {{ranks = 2, group = "{mine}"}} : tensor<2xf64>
      %rank = comm.rank {{group = "{mine}"}} : tensor<i64>
      func.return %y, %rank : tensor<2xf64>, tensor<i64>
    }}"""
    total, place = gradir.compile(gradir.parse(text), "f")(np.full(2, float(rank)))
    assert total.tolist() == [sum(partners)] * 2 and partners[place] == rank
    try:
        comm.psum(1.0, other)
    except gradir.errors.CommError as error:
        assert f"rank {rank} is not in group {other}" in str(error)
    else:
        raise AssertionError("a rank calls a collective of a group that it is not in")


def loop() -> gradir.Module:
    """A loop that starts a collective while it computes."""
    _, n = world()
    text = f"""
    func.func @f(%x: tensor<64x64xf64>, %n: index) -> (tensor<64x64xf64>, tensor<64x64xf64>) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %y, %z = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x)
          -> (tensor<64x64xf64>, tensor<64x64xf64>) {{
        %t = comm.all_reduce %a {{kind = "mean", ranks = {n}}} : tensor<64x64xf64>
        %m = array.matmul %b, %b : tensor<64x64xf64>, tensor<64x64xf64> -> tensor<64x64xf64>
        %c = array.tanh %m : tensor<64x64xf64>
        %s = array.add %t, %c : tensor<64x64xf64>
        %d = array.sin %s : tensor<64x64xf64>
        scf.yield %d, %c : tensor<64x64xf64>, tensor<64x64xf64>
      }}
      func.return %y, %z : tensor<64x64xf64>, tensor<64x64xf64>
    }}"""
    return gradir.parse(text)


def loops(rank: int) -> None:
    """Native code on two threads against the interpreter."""
    x = np.random.default_rng(rank).normal(size=(64, 64)) / 8
    module = loop()
    for a, b in zip(
        gradir.compile(module, "f", threads=2)(x, 20),
        gradir.interpret(module, "f", x, 20),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def raises() -> None:
    rank, n = world()
    compiled = gradir.compile(of_ranks(ONE, n), "f")
    compiled(np.ones(3))
    if rank == 1:
        raise ValueError("this rank has had enough")
    compiled(np.ones(3))


def fails_between() -> None:
    """A program that fails between the start and the end of a collective."""
    import gradir.numpy as gnp
    from gradir import comm

    def fails(inputs: object, outputs: object, req: object) -> None:
        raise ValueError("in between")

    def same(x: gradir.Spec) -> gradir.Spec:
        return x

    between = gradir.custom_op(fails, same)

    def step(x: Any) -> Any:
        return gnp.add(comm.psum(x), between(x))

    try:
        gradir.jit(step)(np.ones(4))
    except gradir.GradirError:
        print("goes on", flush=True)


def dies() -> None:
    rank, n = world()
    compiled = gradir.compile(of_ranks(ONE, n), "f")
    compiled(np.ones(3))
    if rank == 1:
        os.kill(os.getpid(), 9)
    compiled(np.ones(3))


def _one_waits(end: Callable[[], object]) -> None:
    """Rank 1 ends in a way of its own, and rank 0 waits for it."""
    rank, n = world()
    compiled = gradir.compile(of_ranks(ONE, n), "f")
    compiled(np.ones(3))
    if rank == 1:
        end()
    compiled(np.ones(3))


def exits() -> None:
    _one_waits(lambda: sys.exit(1))


def exits_at_once() -> None:
    _one_waits(lambda: os._exit(1))


def sleeps() -> None:
    _one_waits(lambda: time.sleep(60))


def ends_early() -> None:
    """Rank 1 ends while rank 0 goes on alone: that is no fault."""
    rank, n = world()
    gradir.compile(of_ranks(ONE, n), "f")(np.ones(3))
    if rank == 0:
        time.sleep(2)
        print("well", flush=True)


def branches(other: str) -> None:
    """A branch in which rank 1 calls something else, or nothing."""
    rank, _ = world()
    text = f"""
    func.func @f(%x: tensor<2xf64>, %p: i1) -> tensor<2xf64> {{
      %y = scf.if %p -> (tensor<2xf64>) {{
        %a = comm.all_reduce %x {{ranks = 2}} : tensor<2xf64>
        scf.yield %a : tensor<2xf64>
      }} else {{
        {other}
        scf.yield %x : tensor<2xf64>
      }}
      func.return %y : tensor<2xf64>
    }}"""
    compiled = gradir.compile(gradir.parse(text), "f")
    compiled(np.ones(2), True)
    compiled(np.ones(2), rank == 0)


def branch_without() -> None:
    branches("")


def branch_of_another_kind() -> None:
    branches("%b = comm.broadcast %x {ranks = 2} : tensor<2xf64>")


def branch_of_another_shape() -> None:
    branches("""%s = array.slice %x {start = [0], stop = [1]} : tensor<2xf64> -> tensor<1xf64>
        %b = comm.all_reduce %s {ranks = 2} : tensor<1xf64>""")


def branch_beside_python() -> None:
    """Rank 1 calls another program for the first time, which ranks compare as well."""
    rank, n = world()
    if rank == 0:
        branches("")
    else:
        compiled = gradir.compile(of_ranks(ONE, n), "f")
        compiled(np.ones(3))


def differs() -> None:
    """Ranks that run different programs: nothing is communicated."""
    rank, n = world()
    shape = (4, 3) if rank == 0 else (4, 4)
    text = f"""
    func.func @f(%x: tensor<4x{shape[1]}xf32>) -> tensor<4x{shape[1]}xf32> {{
      %y = comm.all_reduce %x {{ranks = {n}}} : tensor<4x{shape[1]}xf32>
      func.return %y : tensor<4x{shape[1]}xf32>
    }}"""
    gradir.compile(gradir.parse(text), "f")(np.ones(shape, np.float32))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
