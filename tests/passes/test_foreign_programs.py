"""Programs with ops that are not registered, functions of several blocks, buffers where tensors are
expected, and wrong attributes: every pass leaves them alone or refuses them, and none fails.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradir.registry import passes
from gradir.tools import gradir_opt

BLOCKS = """func.func @f(%x: tensor<4xf64>, %c: i1) -> tensor<4xf64> {
  %y = array.sin %x : tensor<4xf64>
  cf.cond_br %c, ^bb1(%x : tensor<4xf64>), ^bb2(%y : tensor<4xf64>)
^bb1(%a: tensor<4xf64>):
  %s = array.multiply %a, %y : tensor<4xf64>
  cf.br ^bb2(%s : tensor<4xf64>)
^bb2(%b: tensor<4xf64>):
  %t = array.exp %b : tensor<4xf64>
  func.return %t : tensor<4xf64>
}
"""
REGION = """func.func @f(%x: tensor<4xf64>, %c: i1) -> tensor<4xf64> {
  %r = scf.execute_region -> (tensor<4xf64>) {
    %y = array.sin %x : tensor<4xf64>
    cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    %s = array.sin %y : tensor<4xf64>
    scf.yield %s : tensor<4xf64>
  ^bb2:
    scf.yield %y : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}
"""
FOREIGN = """func.func @f(%x: tensor<4xf64>, %c: i1) -> tensor<4xf64> {
  %y = "foo.bar"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  %r = scf.if %c -> (tensor<4xf64>) {
    %u = array.sin %y : tensor<4xf64>
    scf.yield %u : tensor<4xf64>
  } else {
    scf.yield %y : tensor<4xf64>
  }
  %z = "foo.baz"(%r) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %z : tensor<4xf64>
}
"""
BUFFERS = """func.func @f(%x: memref<1xf64>, %y: memref<1xf64>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    loopnest.nest [1] (%a = %x[d0] : memref<1xf64>) -> ([d0] to %y : memref<1xf64>) {
      %b = arith.mulf %a, %a : f64
      loopnest.yield %b : f64
    }
  }
  func.return
}
"""
LOOP = """func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<4xf64>) {
    %s = array.sin %a : tensor<4xf64>
    "foo.log"(%i) : (index) -> ()
    scf.yield %s : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}
"""


def argument(attribute: str) -> str:
    return f"""func.func @f(%x: tensor<4xf64> {{{attribute}}}) -> tensor<4xf64> {{
  %y = array.sin %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}}
"""


def function(attribute: str) -> str:
    return argument("").replace(
        "tensor<4xf64> {\n", f"tensor<4xf64> attributes {{{attribute}}} {{\n"
    )


def pipelines() -> list[str]:
    """Each of gradir's passes alone, with what it must be given, and on the way to native code."""
    found: list[str] = []
    for name, load in passes().items():
        if name.startswith("gradir-"):
            given = {"size": "2", "ranks": "2"}
            wanted = sorted(load().required_fields())
            options = " ".join(f"{option}={given.get(option, 'f')}" for option in wanted)
            found.append(f"{name}{{{options}}}" if options else name)
    modes = ("vjp", "grad", "jvp", "split policy=keep_none", "vjp policy=auto",
             "grad memory_limit=1000000")  # fmt: skip
    found += [f"gradir-gradient{{function=f mode={mode}}}" for mode in modes]
    found.append("gradir-lower,gradir-scalarize,gradir-fuse,gradir-schedule,gradir-bufferize")
    return found


def complaint(
    text: str, pipeline: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """What gradir-opt says of a program, and what it makes of it."""
    file, made = folder / "program.mlir", folder / "made.mlir"
    file.write_text(text)
    made.write_text("")
    gradir_opt.main([str(file), "-o", str(made), "--allow-unregistered-dialect", "-p", pipeline])
    return capsys.readouterr().err.replace(str(file), "FILE"), made.read_text()


@pytest.mark.parametrize("text", [BLOCKS, REGION, FOREIGN, BUFFERS, LOOP],
                         ids=["blocks", "region", "foreign", "buffers", "loop"])  # fmt: skip
def test_no_pass_fails(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for pipeline in pipelines():
        error, made = complaint(text, pipeline, tmp_path, capsys)
        assert "internal error" not in error, pipeline
        assert bool(error) != bool(made)
        assert not error or error.startswith("FILE:"), pipeline


@pytest.mark.parametrize("mode", ["split", "vjp", "jvp"])
def test_refusal_names_all_foreign_ops(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = f"gradir-gradient{{function=f mode={mode}}}"
    error, _ = complaint(FOREIGN, pipeline, tmp_path, capsys)
    why = "it has no derivative, and its result depends on wrt and reaches a target"
    lines = [line for line in error.splitlines() if line.startswith("FILE")]
    assert lines == [
        f"FILE:2:3: error: foo.bar: {why}; wrap it in grad.no_grad to leave it out",
        "FILE:2:3: note: reached by %x -> %y",
        f"FILE:9:3: note: foo.baz: {why}; reached by %x -> %y -> %r -> %z",
    ]


def test_foreign_ops_may_have_effects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are not removed where nobody reads them, not run again, and read nothing active."""
    for pipeline in ("gradir-dce", "gradir-simplify", "gradir-gradient{function=f mode=vjp}"):
        error, made = complaint(LOOP, pipeline, tmp_path, capsys)
        functions = re.split(r"func\.func", made)[1:]
        assert not error
        assert all(each.count("foo.log") == 1 for each in functions), pipeline
    read = LOOP.replace('"foo.log"(%i) : (index)', '"foo.log"(%a) : (tensor<4xf64>)')
    error, _ = complaint(read, "gradir-gradient{function=f}", tmp_path, capsys)
    assert "foo.log: an op with effects has no derivative, and it reads %a" in error


def test_foreign_ops_are_no_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What they make is kept for the backward code, of stages and of functions."""
    text = """func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
      %y = grad.checkpoint -> (tensor<4xf64>) {
        %r = "foo.read"() : () -> tensor<4xf64>
        %s = array.multiply %x, %r : tensor<4xf64>
        %t = array.sin %s : tensor<4xf64>
        grad.yield %t : tensor<4xf64>
      }
      func.return %y : tensor<4xf64>
    }
    """
    for mode in ("vjp", "split"):
        pipeline = f"gradir-gradient{{function=f mode={mode}}}"
        error, made = complaint(text, pipeline, tmp_path, capsys)
        assert not error
        # in the function and in its forward code
        assert made.count("foo.read") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (argument('grad.in_out = "x"'), 'grad.in_out: must be the index of a result, got "x"'),
        (argument("grad.in_out = 9 : i64"), "grad.in_out: must be one of 1 results, got index 9"),
        (argument("grad.inactive = 3 : i64"), "grad.inactive: must be without a value, got 3"),
        (function('grad.peak_bytes = "a"'), 'grad.peak_bytes: must be a number of bytes, got "a"'),
        (function("grad.memory_limit = -1 : i64"), "grad.memory_limit: must be a number of bytes"),
        (function("grad.loops = [3 : i64]"), "grad.loops: must be a list of policies such as"),
    ],
)  # fmt: skip
def test_wrong_attributes(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused where the program is read, before any pass."""
    error, _ = complaint(text, "gradir-verify", tmp_path, capsys)
    assert message in error
    assert error.startswith("FILE:")
