"""Loop nests to LLVM text: `emit_nest` makes the functions of one `loopnest.nest` at buffer level.

The bits of every result are set by the op and `target.vector_bytes`: how a reduction is split, and
in which order it combines, depends on the bounds, the output's access and its accumulator's type
alone (see `space.choose_chunk`, `reductions`, `columns`). Vectors are explicit, so
that LLVM's vectorizers are not needed; tails are masked.

An output that starts from its buffer's contents is `contents combiner total`. A reduction over no
iterations gives the combiner's identity. Outputs with different reduced dimensions are computed by
several passes, and each computes the body again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.ir import SSAValue

from gradir.codegen.nests.columns import write_column_reduction
from gradir.codegen.nests.maps import write_map
from gradir.codegen.nests.plan import plan_nest
from gradir.codegen.nests.reductions import write_row_reduction
from gradir.codegen.nests.space import Pass
from gradir.codegen.nests.streams import streamed_outputs
from gradir.codegen.nests.transposes import (
    find_transposition,
    tile_lanes,
    write_transposed_map,
)
from gradir.codegen.nests.writer import PassWriter
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.vector_math import outline_calls
from gradir.dialects.loopnest.loopnest import NestOp

__all__ = ["emit_nest", "nest_scratch_bytes", "parameters", "write_passes"]


def nest_scratch_bytes(op: NestOp, target: MachineTarget) -> int:
    """The bytes of scratch that `emit_nest`'s functions need, for an op at either level."""
    return plan_nest(op, target).scratch_bytes


def emit_nest(op: NestOp, name: str, target: MachineTarget) -> Kernel:
    """The functions of a nest on row-major contiguous buffers, called `name.0`, `name.1`, ..."""
    needs = Needs()
    passes = plan_nest(op, target).passes
    text, phases = write_passes(passes, name, parameters(op), target, needs, _in_place(op))
    return Kernel.of(outline_calls(text, needs.functions, name, target.attributes), phases, needs)


def write_passes(
    passes: Sequence[Pass],
    name: str,
    parameters: Sequence[str],
    target: MachineTarget,
    needs: Needs,
    in_place: frozenset[str] = frozenset(),
    repeats: int = 1,
) -> tuple[str, tuple[KernelPhase, ...]]:
    """The functions of passes, called `name.0`, `name.1`, ..., and how to call them.

    `in_place` are outputs that are read as well. The functions are called `repeats` times, each
    time for other parts of their buffers.
    """
    texts: list[str] = []
    phases: list[KernelPhase] = []
    for number, one in enumerate(passes):
        writer = _write(one, target, needs, in_place, repeats)
        symbol = f"{name}.{number}"
        texts.append(writer.text(symbol, parameters))
        phases.append(KernelPhase(symbol, writer.items.count, writer.cost()))
    return "\n".join(texts), tuple(phases)


def _write(
    one: Pass, target: MachineTarget, needs: Needs, in_place: frozenset[str], repeats: int
) -> PassWriter:
    """Write the function of one pass; `in_place` are outputs that share a buffer."""
    transposition = find_transposition(one)
    if transposition is not None:
        one = tile_lanes(one)
    whole_lines = transposition is not None
    streamed = streamed_outputs(one, target, in_place, whole_lines, repeats)
    writer = PassWriter(one, target, needs, streamed)
    if transposition is not None:
        write_transposed_map(writer, transposition)
    elif one.is_map:
        write_map(writer)
    elif one.reduces_lanes:
        write_row_reduction(writer)
    else:
        write_column_reduction(writer)
    return writer


def parameters(op: NestOp) -> list[str]:
    """Of the functions of a nest; a buffer that it writes and names once overlaps no other."""
    names = [f"%in{k}" for k in range(len(op.inputs))]
    names += [f"%out{k}" for k in range(len(op.outputs))]
    shared = _shared(op)
    pointers = [
        f"ptr {name}" if value in shared else f"ptr noalias {name}"
        for value, name in zip([*op.inputs, *op.outputs], names, strict=True)
    ]
    return [*pointers, "ptr noalias %scratch", "ptr noalias %error", "i64 %begin", "i64 %end"]


def _in_place(op: NestOp) -> frozenset[str]:
    shared = _shared(op)
    return frozenset(f"%out{k}" for k, value in enumerate(op.outputs) if value in shared)


def _shared(op: NestOp) -> set[SSAValue]:
    """Buffers that the op writes and names more than once."""
    named = Counter((*op.inputs, *op.outputs))
    return {value for value in op.outputs if named[value] > 1}
