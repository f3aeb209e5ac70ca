"""Draws the memory plans that docs/checkpointing.md shows: `python docs/pictures/draw.py`.

Nine layers of tanh(x @ w), with all residuals kept and in stages of three, on one scale.
"""

from __future__ import annotations

from pathlib import Path

import gradir

FOLDER = Path(__file__).parent
LAYERS, STAGE = 9, 3
TYPE = "tensor<64x64xf32>"


def network(stages: bool) -> str:
    """The program, with checkpoint markers if asked for."""
    lines: list[str] = []
    value = "%x"
    for k in range(LAYERS):
        if stages and k % STAGE == 0:
            lines.append(f"%s{k} = grad.start_checkpoint {value} : {TYPE}")
            value = f"%s{k}"
        lines.append(f"%p{k} = array.matmul {value}, %w{k} : {TYPE}, {TYPE} -> {TYPE}")
        lines.append(f"%y{k} = array.tanh %p{k} : {TYPE}")
        value = f"%y{k}"
        if stages and k % STAGE == STAGE - 1:
            lines.append(f"%e{k} = grad.end_checkpoint {value} : {TYPE}")
            value = f"%e{k}"
    lines.append(f"%loss = array.sum {value} : {TYPE} -> tensor<f32>")
    lines.append("func.return %loss : tensor<f32>")
    body = "\n  ".join(lines)
    weights = ", ".join(f"%w{k}: {TYPE}" for k in range(LAYERS))
    return f"func.func @net(%x: {TYPE}, {weights}) -> tensor<f32> {{\n  {body}\n}}\n"


def pictures() -> dict[str, str]:
    """The text of each picture, by its file's name."""
    plans = {
        name: gradir.compile(
            gradir.parse(network(stages)).gradient("net", mode="grad"), "net_grad", threads=1
        ).plan
        for name, stages in (("keep_all.svg", False), ("stages.svg", True))
    }
    top = max(plan.peak_bytes for plan in plans.values())
    return {name: plan.svg(top) for name, plan in plans.items()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (FOLDER / name).write_text(text)
