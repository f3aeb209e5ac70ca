"""gradir-specialize as a pass, and as a function of given shapes.

The replacement of a grad.derivative may have a policy or a memory limit, so the pass is beside the
measured gradir-gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.shapes import specialize as passes_specialize
from gradir.passes.shapes.specialize import Shape

if TYPE_CHECKING:
    from gradir.compiler.measured_gradient import apply_gradient
    from gradir.passes.gradient.gradient import Observer
    from gradir.passes.gradient.gradient_pass import parse_requests
    from gradir.passes.gradient.requests import DerivativeRequest
else:
    DerivativeRequest = lazy_function("gradir.passes.gradient.requests", "DerivativeRequest")
    apply_gradient = lazy_function("gradir.compiler.measured_gradient", "apply_gradient")
    parse_requests = lazy_function("gradir.passes.gradient.gradient_pass", "parse_requests")


def specialize(
    module: ModuleOp, name: str, shapes: Sequence[Shape], observe: Observer | None = None
) -> FuncOp:
    """Specialize `@name` to these shapes of its arguments (None: the type's own shape).

    `observe` is called with the deferred derivatives. Raises a located PassError where shapes do
    not fit or stay unknown.
    """
    return passes_specialize.specialize(module, name, shapes, partial(_differentiate, observe))


def _differentiate(
    observe: Observer | None, module: ModuleOp, name: str, op: DerivativeOp
) -> FuncOp:
    policy, limit, requests = (op.option(k) for k in ("policy", "memory_limit", "req"))
    request = DerivativeRequest(
        name,
        op.selectors("wrt"),
        op.selectors("of"),
        op.mode,
        "keep_all" if policy is None else str(policy),
        None if limit is None else int(limit),
        parse_requests(None if requests is None else str(requests), module),
    )
    return apply_gradient(module, request, observe=observe)[0]


@dataclass(frozen=True)
class SpecializePass(ModulePass):
    """Give the arguments of a function static shapes: shapes=4x3,_,8, `_` for static ones."""

    name = "gradir-specialize"

    function: str
    shapes: tuple[int | str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(op)

    def run(self, module: ModuleOp, observe: Observer | None = None) -> None:
        """Apply the pass; `observe` is called with the deferred derivatives."""
        shapes = [_shape(entry, module) for entry in self.shapes]
        specialize(module, self.function, shapes, observe)


def _shape(entry: int | str, place: ModuleOp) -> Shape:
    """`4x3` or `8`; `_` for the shape of the type."""
    if entry == "_":
        return None
    extents = str(entry).split("x")
    if not all(e.isascii() and e.isdigit() for e in extents):
        raise PassError(
            f"gradir-specialize: a shape must be like 4x3, or _ for what is static, got {entry}",
            place,
        )
    return [int(e) for e in extents]
