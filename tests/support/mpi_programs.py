"""Programs that tests run on several ranks: functions of this file, `mpiexec -n N python` on it.

Each prints one line per fact, on rank 0 unless it says more; a rank that finds a fault raises.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import kept_objects
import numpy as np

import gradir
import gradir.aot.loader

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

COMPLEX = """
func.func @f(%x: tensor<4x3xcomplex<f64>>) -> (tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>,
    tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>, tensor<4xMxcomplex<f64>>,
    tensor<Kx3xcomplex<f64>>, tensor<4x3xcomplex<f64>>) {
  %s = array.sin %x : tensor<4x3xcomplex<f64>>
  %a = comm.all_reduce %s {ranks = N} : tensor<4x3xcomplex<f64>>
  %c = comm.all_reduce %s {kind = "mean", ranks = N, ordered = true} : tensor<4x3xcomplex<f64>>
  %d = comm.reduce %s {root = 0, ranks = N} : tensor<4x3xcomplex<f64>>
  %e = comm.broadcast %s {root = L, ranks = N} : tensor<4x3xcomplex<f64>>
  %g = comm.all_gather %s {axis = 1, ranks = N}
    : tensor<4x3xcomplex<f64>> -> tensor<4xMxcomplex<f64>>
  %h = comm.reduce_scatter %s {axis = 0, ranks = N}
    : tensor<4x3xcomplex<f64>> -> tensor<Kx3xcomplex<f64>>
  %i = comm.permute %s {sources = [0], targets = [L], ranks = N} : tensor<4x3xcomplex<f64>>
  func.return %a, %c, %d, %e, %g, %h, %i : tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>,
    tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>, tensor<4xMxcomplex<f64>>,
    tensor<Kx3xcomplex<f64>>, tensor<4x3xcomplex<f64>>
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
        (of_ranks(ALL, n), "f", [(x,) for x in xs]),
        (of_ranks(COMPLEX, n), "f", [(x + 1j * np.cos(x),) for x in xs]),
    ]
    if n == 2:
        for factor, element in ((1.0, "f64"), (0.5 + 1j, "complex<f64>")):
            messages = gradir.parse(MESSAGES.replace("f64", element))
            pairs = [np.array([0.5, k + 2.0]) * factor for k in range(2)]
            modules.append((messages, "f", [(x, k == 0) for k, x in enumerate(pairs)]))
            ones = [(x, k == 0, np.ones_like(x)) for k, x in enumerate(pairs)]
            modules.append((messages.gradient("f", mode="vjp"), "f_vjp", ones))
    for module, name, arguments in modules:
        want = run_ranks(module, name, arguments)[rank]
        compiled = gradir.compile(module, name)
        for got in (compiled(*arguments[rank]), compiled(*arguments[rank]),
                    gradir.interpret(module, name, *arguments[rank])):  # fmt: skip
            for a, b in zip(got, want, strict=True):
                assert a.dtype == b.dtype
                kind = complex if np.iscomplexobj(a) else float
                np.testing.assert_allclose(a.astype(kind), b.astype(kind), 2e-14, 2e-15)
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


EXCHANGE = """
func.func @f(%x: tensor<40000xf64>, %first: i1) -> (tensor<40000xf64>, tensor<40000xf64>) {
  %all = comm.all_reduce %x {ranks = 2 OF} : tensor<40000xf64>
  %a = scf.if %first -> (tensor<40000xf64>) {
    %got = comm.recv %x {source = 1, ranks = 2 OF} : tensor<40000xf64>
    %sent = comm.send %x {target = 1, ranks = 2 OF} : tensor<40000xf64>
    %sum = array.add %got, %sent : tensor<40000xf64>
    scf.yield %sum : tensor<40000xf64>
  } else {
    %got = comm.recv %x {source = 0, ranks = 2 OF} : tensor<40000xf64>
    %sent = comm.send %x {target = 0, ranks = 2 OF} : tensor<40000xf64>
    %sum = array.add %sent, %got : tensor<40000xf64>
    scf.yield %sum : tensor<40000xf64>
  }
  %b = array.multiply %a, %all : tensor<40000xf64>
  func.return %b, %a : tensor<40000xf64>, tensor<40000xf64>
}
"""


def _same_bits(f: Any, module: gradir.Module, name: str, *arrays: Any) -> None:
    want = gradir.compile(module, name, 1)(*arrays)
    for _ in range(3):
        for a, b in zip(f(*arrays), want, strict=True):
            assert a.tobytes() == np.asarray(b).tobytes()


def library_messages() -> None:
    """Messages, branches of them, and their derivatives, in libraries of each rank's own."""
    rank, _ = world()
    x = np.array([0.5, rank + 2.0])
    module = gradir.parse(MESSAGES).gradient("f", mode="vjp")
    path = os.path.join(sys.argv[2], f"libm{rank}.so")
    gradir.export_library(module, path, functions=["f", "f_vjp"])
    made = gradir.load_library(path)
    _same_bits(made.f, module, "f", x, rank == 0)
    _same_bits(made.f_vjp, module, "f_vjp", x, rank == 0, np.ones(2))
    # large, so that MPI has to see both ends, of which each receives before it sends
    long = np.linspace(rank, 3, 40000)
    module = gradir.parse(EXCHANGE.replace(" OF", "")).gradient("f", mode="vjp")
    path = os.path.join(sys.argv[2], f"libe{rank}.so")
    gradir.export_library(module, path, functions=["f", "f_vjp"])
    made = gradir.load_library(path)
    _same_bits(made.f, module, "f", long, rank == 0)
    _same_bits(made.f_vjp, module, "f_vjp", long, rank == 0, np.sin(long), np.cos(long))
    print(f"library {rank}\n", end="", flush=True)


def library_groups() -> None:
    """Groups of the process's own, and pairs that one library has for all ranks."""
    from mpi4py import MPI

    from gradir import comm

    rank, _ = world()
    comm.add_group("half", [2, 0] if rank % 2 == 0 else [1, 3])
    text = """
    func.func @f(%x: tensor<5xf64>) -> (tensor<5xf64>, tensor<10xf64>, tensor<i64>, tensor<i64>) {
      %r = comm.reduce %x {root = 1, ranks = 2, group = "half"} : tensor<5xf64>
      %g = comm.all_gather %x {axis = 0, ranks = 2, group = "half"}
        : tensor<5xf64> -> tensor<10xf64>
      comm.barrier {group = "half"}
      %w = comm.all_reduce %r {ranks = 4} : tensor<5xf64>
      %rank = comm.rank {group = "half"} : tensor<i64>
      %size = comm.size {group = "half"} : tensor<i64>
      func.return %w, %g, %rank, %size : tensor<5xf64>, tensor<10xf64>, tensor<i64>, tensor<i64>
    }"""
    x = np.random.default_rng(rank).standard_normal(5)
    path = os.path.join(sys.argv[2], f"libg{rank}.so")
    module = gradir.parse(text)
    gradir.export_library(module, path)
    _same_bits(gradir.load_library(path).f, module, "f", x)
    # a group of another name in one library for all
    pairs = [[0, 3], [2, 1]]
    mine = next(pair for pair in pairs if rank in pair)
    comm.add_group("pair", mine)
    module = gradir.parse(EXCHANGE.replace(" OF", ', group = "pair"'))
    path = os.path.join(sys.argv[2], "libp.so")
    if rank == 0:
        gradir.export_library(module, path, groups={"pair": pairs})
    MPI.COMM_WORLD.barrier()
    _same_bits(
        gradir.load_library(path).f, module, "f", np.full(40000, rank + 0.5), rank == mine[0]
    )
    for lists, wrong in (
        ([[0, 3]], "" if rank in (0, 3) else f"rank {rank} is not in group pair"),
        ([[0, 4]], "group pair is for 5 ranks or more, got 4"),
    ):
        path = os.path.join(sys.argv[2], f"libw{lists[0][1]}{rank}.so")
        gradir.export_library(gradir.parse(SIZE), path, groups={"pair": lists})
        told = ""
        try:
            assert gradir.load_library(path).f()[0] == 2
        except gradir.aot.loader.LibraryError as error:
            told = str(error)
        assert told.endswith(wrong) and bool(told) == bool(wrong), told
    print(f"library {rank}\n", end="", flush=True)


SIZE = """
func.func @f() -> tensor<i64> {
  %size = comm.size {group = "pair"} : tensor<i64>
  func.return %size : tensor<i64>
}"""


def library_stops() -> None:
    """A call that fails between the start and the end of a collective has waited for it."""
    rank, _ = world()
    text = """
    func.func @f(%x: tensor<50000xf64>, %i: tensor<1xi64>) -> (tensor<50000xf64>, tensor<1xf64>) {
      %s = comm.all_reduce %x {ranks = 2} : tensor<50000xf64>
      %t = array.take %x, %i {axis = 0} : tensor<50000xf64>, tensor<1xi64> -> tensor<1xf64>
      func.return %s, %t : tensor<50000xf64>, tensor<1xf64>
    }"""
    path = os.path.join(sys.argv[2], f"libs{rank}.so")
    gradir.export_library(gradir.parse(text), path)
    f = gradir.load_library(path).f
    x, total = np.full(50000, rank + 1.0), np.zeros(50000)
    for place in (0, 50000, 7):
        try:
            f(x, np.array([place]), out=[total, None])
        except gradir.aot.loader.LibraryError as error:
            assert place == 50000 and error.code == 11, error
        else:
            assert place != 50000
    assert (total == 3).all()
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
    kept_objects.begin()
    globals()[sys.argv[1]]()
