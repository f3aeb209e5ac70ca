"""The stops of docs/reading.md: code, the functions that do the work, and what they changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.transforms.common_subexpression_elimination import cse

from gradir import trace
from gradir.codegen.driver.program import emit_program
from gradir.codegen.driver.scratch import allocate_scratch
from gradir.codegen.rows.group_rows import group_rows
from gradir.compiler.compiler import compile_function, isolate_function
from gradir.dialects.building.points import TanhAtOp
from gradir.passes.buffers.bufferize import bufferize
from gradir.passes.buffers.plan_memory import plan_memory
from gradir.passes.cleanup.dce import dce
from gradir.passes.cleanup.decompose import decompose
from gradir.passes.cleanup.hoist import hoist
from gradir.passes.cleanup.inline import inline
from gradir.passes.cleanup.simplify import simplify
from gradir.passes.cleanup.split_complex import split_complex
from gradir.passes.differentiate.reverse_mode import walk_block_back
from gradir.passes.fusion.fuse import fuse
from gradir.passes.fusion.schedule import schedule
from gradir.passes.gradient.gradient import gradient
from gradir.passes.gradient.prepare import prepared
from gradir.passes.lower.expand_slices import expand_slices
from gradir.passes.lower.lower import lower
from gradir.passes.lower.scalarize import scalarize
from gradir.passes.lower.sum_slices import sum_slices
from gradir.passes.recompute.inline_checkpoints import inline_checkpoints
from gradir.passes.verify.verify import verify
from gradir.runtime.executable import Executable
from gradir.text.parser import parse_module


@dataclass(frozen=True)
class Stop:
    """A stop: the functions that do the work, the words about it, and the code that shows it."""

    title: str
    made_by: Sequence[Callable[..., Any]]
    says: str
    code: str
    language: str = "mlir"


def _stage(name: str, function: Callable[..., Any], says: str) -> Stop:
    """A stop on a stage of the pipeline."""
    return Stop(name, [function], says, f'run_stage("{name}")')


BEFORE_STAGES = [
    Stop(
        "The program",
        [trace],
        "The function runs once, on tracers in place of arrays. Their operators append ops: `@` "
        "is `array.matmul`, and names of variables become names of values. The ops have the "
        "Python Array API's names and meanings.",
        """\
import gradir
import gradir.numpy as gnp


def loss(w, x, y):
    guess = gnp.tanh(x @ w)
    error = guess - y
    square = error * error
    return gnp.mean(square)


w, x, y = (gradir.Spec(shape, "float32") for shape in ((3,), (8, 3), (8,)))
module = gradir.trace(loss, w, x, y)
print(module)""",
    ),
    Stop(
        "parse and verify",
        [parse_module, verify],
        "A program is text at every stage. The parser is the second entrance: it gives each op "
        "its place in the text, for messages. The verifier asks each op whether its types fit, "
        "and checks that each value is defined before it is read.",
        """\
module = gradir.parse(str(module))
print(module.functions)""",
        "text",
    ),
    Stop(
        "prepare",
        [prepared],
        "The derivative is made of a copy, in which marked stages are regions, and recurrent cells "
        "and some functions are taken apart. `tanh` becomes a point, one number that holds the "
        "function's value and its distance from 1, and a second op reads the value off it: so the "
        "slope has all its digits where the value rounds to 1.",
        """\
from gradir.passes.gradient.prepare import prepared

_, source = prepared(module.op, "loss", flat=False)
print(source)""",
    ),
    Stop(
        "gradient",
        [gradient, walk_block_back, TanhAtOp.vjp],
        "The function is copied, and `walk_block_back` visits its ops again, the last one first: "
        "it takes the cotangent of the op's result, calls the `vjp` of the op's class, and adds "
        "the contributions. The first six ops are the copy. `%error_ct` and `%error_ct_1` are "
        "the contributions of both operands of the square, and `grad.accumulate` is their sum. "
        "`x` and `y` are not asked for, so no code for them is left.",
        """\
derived = module.gradient("loss", wrt=[0], mode="grad")
print(derived)""",
    ),
    Stop(
        "alone",
        [isolate_function],
        "The compiler takes one function. From here on a line of code runs one stage of the list "
        "in `gradir/compiler/pipeline.py` on it, for a machine with vectors of 32 bytes (AVX2) "
        "and one thread, and with a check of what the stage promises to leave.",
        """\
from gradir.codegen.text.target import target_of
from gradir.compiler.compiler import isolate_function
from gradir.compiler.pipeline import STAGES, Machine
from gradir.text.printer import program_text

program, machine = derived.op.clone(), Machine(target_of("x86-64-v3"), threads=1)
stages = iter(STAGES)
isolate_function(program, "loss_grad")


def run_stage(name):
    stage, before = next(stages), program_text(program)
    assert stage.name == name
    stage.run(program, machine, check=True)
    is_changed = program_text(program) != before
    print(program_text(program.body.block.first_op) if is_changed else "as before")""",
    ),
]

ON_STAGES = [
    _stage(
        "gradir-inline",
        inline,
        "A call becomes the ops of its callee, so that later stages see one function. There is no "
        "call here.",
    ),
    _stage(
        "gradir-inline-checkpoints",
        inline_checkpoints,
        "A stage of recomputation, `grad.checkpoint`, has done its work in the gradient: its ops "
        "join those around it, behind barriers that keep recomputed values apart. There is none "
        "here.",
    ),
    _stage(
        "gradir-sum-slices",
        sum_slices,
        "A sum of parts written into zeros, as the cotangents of slices are, becomes updates of "
        "one tensor. There are no slices here.",
    ),
    _stage(
        "gradir-expand-slices",
        expand_slices,
        "Row slices, the sparse gradients of tables, become two tensors: indices and values. "
        "There are none here.",
    ),
    _stage(
        "gradir-simplify",
        simplify,
        "Each op class says by which simpler ops an op can be replaced without a change of a bit, "
        "and values that are constants are folded.",
    ),
    _stage(
        "gradir-split-complex",
        split_complex,
        "A complex tensor becomes two real ones, with the rules of each op, and later stages see "
        "real numbers only. There are none here.",
    ),
    _stage(
        "gradir-decompose",
        decompose,
        "Compound ops become simple ones, by the `decompose` of their class: the mean is a sum "
        "and a division. The gradient comes before, since a compound op has the better "
        "derivative.",
    ),
    _stage(
        "gradir-simplify",
        simplify,
        "The decomposition made a second constant 8.0. Equal constants become one.",
    ),
    _stage(
        "cse",
        cse,
        "This pass is xDSL's: equal ops on equal operands become one. Both contributions to the "
        "cotangent of `%error` are one value now, which is added to itself.",
    ),
    _stage(
        "gradir-dce",
        dce,
        "Ops whose results nobody reads are removed, also in loops, with the values that these "
        "carry.",
    ),
    _stage(
        "gradir-hoist",
        hoist,
        "What an iteration computes from values outside of its loop moves out of it. There is no "
        "loop here.",
    ),
    _stage(
        "gradir-lower",
        lower,
        "Each op becomes a loop nest, by the `lower` of its class, with affine accesses to "
        "tensors and a scalar body; a product of matrices becomes a contraction. From here on no "
        "stage knows an op of tensors: `tanh` is a `math.tanh` in a body.",
    ),
    _stage(
        "gradir-scalarize",
        scalarize,
        "In loops, tensors of one element become numbers, which live in registers. There is no "
        "loop here.",
    ),
    _stage(
        "gradir-hoist",
        hoist,
        "The numbers that `scalarize` made may be invariants of loops.",
    ),
    _stage(
        "gradir-fuse",
        fuse,
        "First, nests that only move elements vanish into the accesses of their readers: the "
        "transpose of `%x` is `%x[d2, d0]` in the second contraction. Then nests over one space "
        "merge into fewer, with the same bits: all work on eight elements is one nest with "
        "several outputs, or the epilogue of a contraction.",
    ),
    _stage(
        "gradir-schedule",
        schedule,
        "The nests are put in an order with few bytes alive. They stand in such an order already.",
    ),
    _stage(
        "gradir-bufferize",
        bufferize,
        "Tensors become buffers. Results are written to memory of the caller, which are further "
        "arguments; a nest may write over an input that dies there. `func.return` returns "
        "nothing.",
    ),
    _stage(
        "gradir-group-rows",
        group_rows,
        "Nests that work on the same rows of large buffers become one op, which runs them block "
        "by block, so that a block stays in the cache. These buffers are too small to be worth "
        "it.",
    ),
    _stage(
        "gradir-allocate-scratch",
        allocate_scratch,
        "Contractions get scratch memory for packed panels where they need it, and the number of "
        "threads that their work is cut for.",
    ),
    _stage(
        "gradir-plan-memory",
        plan_memory,
        "Each buffer gets an offset in one arena, so that buffers alive at the same time do not "
        "overlap. The first argument is the arena, and a memory limit bounds its size. The factor "
        "of the second contraction starts at byte 0, in place of the first product, which is dead "
        "by then.",
    ),
]

AFTER_STAGES = [
    Stop(
        "LLVM text",
        [emit_program],
        "Each nest becomes a function, with vectors as wide as the machine's registers and `tanh` "
        "as a polynomial that inlines. The driver calls them in order; all threads of the pool "
        "run it together. Two excerpts: the nest that makes the factor of the second contraction, "
        "and the driver's calls.",
        """\
from gradir.codegen.driver.program import emit_program

text = emit_program(program.body.block.first_op, machine.target, machine.threads).text
kernel = text[text.index("define void @nest_2.0") :].partition("\\n}")[0]
print(kernel.partition("(")[0], kernel[kernel.index("{") :] + "\\n}")
print(*(line for line in text.splitlines() if line.startswith('  call void @"')), sep="\\n")""",
        "llvm",
    ),
    Stop(
        "run",
        [compile_function, Executable.__call__],
        "`gradir.compile` runs all of this for the machine at hand. A call of the result is one "
        "native call, on the caller's arrays. The interpreter runs the same function before all "
        "stages, op by op in NumPy: it is the meaning that the stages keep.",
        """\
import numpy as np

draw = np.random.default_rng(0)
arrays = [draw.standard_normal(shape).astype("float32") for shape in ((3,), (8, 3), (8,))]
value, w_ct = gradir.compile(derived, "loss_grad")(*arrays)
again = gradir.interpret(derived, "loss_grad", *arrays)
print(np.round(value, 4), np.round(w_ct, 4), np.allclose(w_ct, again[1], rtol=1e-5))""",
        "text",
    ),
]
