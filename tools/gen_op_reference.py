"""Writes docs/ops.md from the op classes: signature, meaning, derivative. Run by `make docs`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from gradir.dialects import array, grad, nn
from gradir.dialects.interfaces import TensorOp

HEAD = """# Ops

Written by `make docs` from the classes in `dialects/`; do not edit. Operands and results are ranked
tensors. "vjp" gives the cotangents of the operands from the cotangent ct of the result y.
"""

DIALECTS = {
    "array: the Python Array API's names and semantics": array.OPS,
    "nn: layers and losses, PyTorch's semantics": nn.OPS,
    "grad: what exists because of differentiation": grad.OPS,
}


def reference() -> str:
    """The whole text of docs/ops.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for title, ops in DIALECTS.items():
        yield f"## {title}\n"
        for op in ops:
            yield from _entry(op)


def _entry(op: type[TensorOp]) -> Iterator[str]:
    definition = op.get_irdl_definition()
    operands = ", ".join(name for name, _ in definition.operands)
    attributes = f" {{{', '.join(op.ATTRIBUTES)}}}" if op.ATTRIBUTES else ""
    yield f"### `{op.name}({operands}){attributes}`\n"
    yield inspect.cleandoc(op.__doc__ or "") + "\n"
    if op.INACTIVE:
        yield "Inactive: no cotangent flows.\n"


def main() -> None:
    """Write docs/ops.md beside this package's sources."""
    path = Path(__file__).resolve().parent.parent / "docs" / "ops.md"
    path.write_text(reference())


if __name__ == "__main__":
    main()
