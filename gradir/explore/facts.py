"""An exploration as values of JSON, folded to a bounded size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from gradir.diagnostics import Sources, printable
from gradir.dialects.base.value_names import kind_by_name
from gradir.explore.collect import Exploration, KernelText
from gradir.explore.folding import FoldedSnapshot, cut, folded_lines
from gradir.explore.plans import LimitedPlan
from gradir.explore.recorded_text import SourceLine
from gradir.passes.buffers.plan_memory import MemoryPlan, PlannedBuffer
from gradir.passes.buffers.timeline import label

MOST_BYTES = 4_000_000
"""Of the facts of a page."""

MOST_LINES, FEWEST_LINES = 2_000, 12
"""The lines of a text, and the entries of a list, that are shown: fewer until all is small."""

AROUND = 1
"""The lines shown around a source line that something was made from."""


def facts_text(of: Exploration, sources: Sources) -> str:
    """The facts as JSON of at most MOST_BYTES."""
    most = MOST_LINES
    while True:
        text = json.dumps(facts(of, sources, most), separators=(",", ":"))
        if len(text) <= MOST_BYTES or most <= FEWEST_LINES:
            return text
        most //= 2


def facts(of: Exploration, sources: Sources, most: int = MOST_LINES) -> dict[str, Any]:
    """The facts, with texts of at most `most` lines and lists of as many entries."""
    files = {file: k for k, file in enumerate(_files_of(of))}
    texts = [FoldedSnapshot(snapshot, most) for snapshot in of.snapshots]
    kernels = of.kernels[: max(most // 8, 2)]
    return {
        "function": of.function,
        "machine": {
            "cpu": of.machine.target.cpu,
            "threads": of.machine.threads,
            "vector": of.machine.target.vector_bytes,
        },
        "files": [_file(file, of, sources, most) for file in files],
        "stages": [[s.name, s.snapshot, s.is_changed] for s in of.stages],
        "texts": [text.said(files) for text in texts],
        "links": [a.links_to(b, k) for (a, b), k in zip(pairwise(texts), of.links, strict=True)],
        "memory": _memory(of, texts, most),
        "kernels": [_kernel(kernel, files, most) for kernel in kernels],
        "kernels_left_out": len(of.kernels) - len(kernels),
        "driver": folded_lines(of.driver.split("\n"), most),
        "profile": None if of.profile is None else _profile(of, most),
    }


# Source files


def _files_of(of: Exploration) -> list[str]:
    found = (file for lines in _source_lines(of) for file, _ in lines)
    return list(dict.fromkeys(found))[:64]


def _source_lines(of: Exploration) -> Iterable[Sequence[SourceLine]]:
    yield from (lines for snapshot in of.snapshots for lines in snapshot.sources)
    yield from (kernel.sources for kernel in of.kernels)


def _file(name: str, of: Exploration, sources: Sources, most: int) -> dict[str, Any]:
    """A file's lines that something was made from, and those around them."""
    used = {line for lines in _source_lines(of) for file, line in lines if file == name}
    near = {n + k for n in used for k in range(-AROUND, AROUND + 1)}
    found = ((n, sources.line(name, n)) for n in sorted(near) if n > 0)
    lines = [[n, cut(printable(text))] for n, text in found if text is not None]
    return {"name": cut(printable(name)), "lines": lines[:most], "left_out": len(lines[most:])}


# Memory


def _memory(of: Exploration, texts: Sequence[FoldedSnapshot], most: int) -> dict[str, Any]:
    seen = texts[of.planned]
    values = [seen.numbers.get(value, -1) for value in of.buffer_values]
    limited = of.limited.plans if of.limited is not None else ()
    return {
        "text": of.planned,
        "points": [-1 if (n := seen.fold.shown(p)) is None else n for p in of.points[: 10 * most]],
        "plan": _plan(of.plan, values, most),
        "limited": [_limited(each, most) for each in limited],
        "end": cut(printable(of.limited.end)) if of.limited is not None else "",
    }


def _limited(of: LimitedPlan, most: int) -> dict[str, Any]:
    return {"limit": of.peak, **_plan(of.plan, [], most)}


def _plan(plan: MemoryPlan, values: Sequence[int], most: int) -> dict[str, Any]:
    """A plan's largest buffers, in their order; the others are counted."""
    largest = sorted(plan.buffers, key=lambda b: -b.size)[:most]
    shown = set(largest)
    return {
        "peak": plan.peak_bytes,
        "steps": max((b.last for b in plan.buffers), default=0) + 1,
        "buffers": [_buffer(b, values) for b in plan.buffers if b in shown],
        "left_out": len(plan.buffers) - len(largest),
    }


def _buffer(buffer: PlannedBuffer, values: Sequence[int]) -> list[Any]:
    name = label(buffer)
    number = int(buffer.name.partition(":")[0])
    value = values[number] if number < len(values) else -1
    place = (buffer.offset, buffer.size, buffer.first, buffer.last)
    return [cut(printable(name)), *place, kind_by_name(name), value]


# Native code and time


def _kernel(kernel: KernelText, files: dict[str, int], most: int) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "op": kernel.op,
        "ops": list(kernel.ops[:most]),
        "sources": [[files[f], n] for f, n in kernel.sources if f in files][:most],
        "flops": kernel.flops,
        "bytes": kernel.bytes,
        "llvm": folded_lines(kernel.llvm.split("\n"), most),
        "asm": folded_lines(kernel.asm.split("\n"), most),
    }


def _profile(of: Exploration, most: int) -> dict[str, Any]:
    """The profile's own figures, the longest parts."""
    assert of.profile is not None
    said = of.profile.to_dict()
    parts = said["parts"]
    left = [part | {"ops": part["ops"][:12], "lines": part["lines"][:12]} for part in parts[:most]]
    return said | {"parts": left, "left_out": len(parts) - len(left)}
