"""After each pass, whatever is used and whatever uses it is in the module: over the golden files
with the pipelines of their RUN lines, over random programs, and on the way to native code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from stage_programs import Maker, Writer
from uses import check_uses
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import gradir
from gradir.compiler.pipeline import STAGES, Machine
from gradir.dialects.grad.grad import ZeroOp
from gradir.errors import GradirError, gradir_errors
from gradir.registry import make_context, parse_passes

FOLDER = Path(__file__).parents[1] / "filecheck"
PASSES = re.compile(r"""^// RUN:.* -p (?:"([^"]*)"|'([^']*)')""", re.MULTILINE)
LOOPS = ("", " {grad.loop = #grad.loop<every = 2>}", " {grad.loop = #grad.loop<binomial = 2>}")


def check(text: str, pipelines: Sequence[str]) -> int:
    """Check the program under each pipeline, and then all the way down; how many got there."""
    reached = 0
    for pipeline in ("", *pipelines):
        try:
            with gradir_errors():
                module = gradir.parse(text).op.clone()
                if pipeline:
                    parse_passes(pipeline, None, _between).apply(make_context(), module)
                _check_stages(module)
                reached += 1
        except GradirError:
            # a file may be there to show a refusal
            continue
    return reached


def _between(_: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
    del following
    check_uses(module)


def _check_stages(module: ModuleOp) -> None:
    check_uses(module)
    for stage in STAGES:
        stage.run(module, Machine.here())
        check_uses(module)


@pytest.mark.parametrize("folder", sorted(each.name for each in FOLDER.iterdir() if each.is_dir()))
def test_passes_over_golden_files(folder: str) -> None:
    for file in sorted((FOLDER / folder).rglob("*.mlir")):
        text = file.read_text(encoding="utf-8")
        pipelines = tuple(dict.fromkeys(a or b for a, b in PASSES.findall(text)))
        for chunk in re.split(r"^// -----$", text, flags=re.MULTILINE):
            check(chunk + "\n", pipelines)


@pytest.mark.parametrize("seed", range(6))
def test_passes_over_random_programs(seed: int) -> None:
    """Derivatives of loops with policies, of stages, of branches to which no cotangent comes."""
    text = Writer(True, LOOPS[seed % 3]).text(Maker(seed, steps=True).program(2))
    options = ("mode=vjp of=0", "mode=split", "mode=jvp", "mode=grad of=0 policy=keep_none")
    pipelines = [f"gradir-gradient{{function=f {each}}}" for each in options]
    assert check(text, pipelines) == 1 + len(pipelines)


def test_a_loop_that_runs_again_in_one_pipeline() -> None:
    """What stands for the loop while its derivative is made is gone afterwards."""
    text = """
      func.func @f(%x: tensor<4xf64>, %n: index) -> tensor<4xf64> {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %e, %y = scf.while (%k = %zero, %a = %x) : (index, tensor<4xf64>)
            -> (index, tensor<4xf64>) {
          %t = arith.cmpi slt, %k, %n : index
          scf.condition(%t) %k, %a : index, tensor<4xf64>
        } do {
        ^bb0(%j: index, %b: tensor<4xf64>):
          %s = array.sin %b : tensor<4xf64>
          %i = arith.addi %j, %one : index
          scf.yield %i, %s : index, tensor<4xf64>
        } attributes {grad.loop = #grad.loop<every = 2>}
        func.return %y : tensor<4xf64>
      }"""
    assert check(text, ["gradir-gradient{function=f mode=vjp},gradir-lower,gradir-fuse"]) == 2


def test_foreign_uses_are_found() -> None:
    module = gradir.parse("""
      func.func @f(%x: tensor<f64>) -> tensor<f64> {
        %y = array.sin %x : tensor<f64>
        func.return %y : tensor<f64>
      }""").op.clone()
    check_uses(module)
    [sine] = [op for op in module.walk() if op.name == "array.sin"]
    copy = sine.clone()
    with pytest.raises(AssertionError, match=r"array\.sin, which is not in the module"):
        check_uses(module)
    copy.drop_all_references()
    check_uses(module)
    sine.operands = [ZeroOp.create(result_types=[sine.operands[0].type]).results[0]]
    with pytest.raises(AssertionError, match=r"array\.sin reads .*, which is not in the module"):
        check_uses(module)
