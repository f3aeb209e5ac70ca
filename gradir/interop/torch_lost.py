"""What the forward of a module does that torch.export forgets, or cannot read.

While torch.export runs, such calls are noted with their places, and the module is refused. An
`x.data` that forward reads is `x.detach()`, which has the same elements in the same memory.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from gradir.errors import GradirError
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.tracing.source_locations import place_of_user, refusal
from gradir.interop.foreign import refused
from gradir.packages import folder_of, package

torch: Any = package("torch", "torch")
_rnn: Any = package("torch.nn.utils.rnn", "torch")

_HOOKS = "the hook of a gradient by"
_DECORATOR = "decorate_context"
"""PyTorch's function that enters a mode around a decorated one, its `func`."""
_LOST = "is lost in torch.export; a gradir.custom_vjp changes a gradient"
_PACKED = (
    "packed sequences have shapes that depend on values; give padded ones, and where(mask, ...) "
    "or a gather by the lengths behind the layers"
)
_TRANSFORMED = (
    "gradients inside of forward (torch.autograd.grad, backward, torch.func.grad) are not there; "
    "differentiate gradir.interop.torch.functional(module) with gradir.grad"
)
_SAVED_HOOKS = "torch.func"
"""The start of PyTorch's own refusal of a transformation under the hooks of `exported`."""


@dataclass(frozen=True)
class _Lost:
    """A function that is refused where forward calls it; unless `directly`, by others too."""

    owner: Any
    name: str
    why: str
    directly: bool = True
    is_deep: bool = False
    """Whether PyTorch's functions in between are part of the call."""
    places: list[Any] = field(default_factory=list[Any])


def require_kept(module: Any, inputs: Any) -> None:
    """ImportedProgramError for hooks on a backward, packed inputs, and autocast around."""
    require_no_autocast()
    for name, inner in module.named_modules() if isinstance(module, torch.nn.Module) else ():
        if inner._backward_hooks or inner._backward_pre_hooks:
            where = f"{type(inner).__name__} {name}".strip()
            raise refused(
                f"{where}: {_HOOKS} register_full_backward_hook or _pre_hook {_LOST}",
                ImportedProgramError,
            )
    leaves = torch.utils._pytree.tree_leaves(inputs, is_leaf=_is_packed)
    if any(_is_packed(leaf) for leaf in leaves):
        raise refused(f"PyTorch: {_PACKED}", ImportedProgramError)


def _is_packed(leaf: Any) -> bool:
    return isinstance(leaf, _rnn.PackedSequence)


def require_no_autocast() -> None:
    """ImportedProgramError where a module is called under torch.autocast."""
    if torch.is_autocast_enabled("cpu"):
        raise refused(
            "PyTorch: torch.autocast is on around the module, whose program keeps the types that "
            "are written; convert the module and its inputs with .to, or leave autocast",
            ImportedProgramError,
        )


@contextmanager
def lost_calls() -> Generator[list[_Lost]]:
    """The functions that are lost, with the places where forward has called them."""
    every = [
        _Lost(torch.Tensor, "register_hook", f"{_HOOKS} register_hook {_LOST}"),
        _Lost(
            torch.inference_mode,
            "__enter__",
            "torch.inference_mode is lost in torch.export; write torch.no_grad",
        ),
        _Lost(_rnn.PackedSequence, "__new__", _PACKED, directly=False),
        _Lost(torch.autograd, "_engine_run_backward", _TRANSFORMED, is_deep=True),
    ]
    assigned = _Lost(
        torch.Tensor,
        "data",
        "an assignment to x.data is lost in torch.export; write x.copy_(value) under torch.no_grad",
    )
    with ExitStack() as stack:
        for lost in every:
            stack.enter_context(_noted(lost))
        stack.enter_context(_data_detached(assigned))
        yield [*every, assigned]


def require_none(every: list[_Lost], error: Exception | None = None) -> None:
    """ImportedProgramError at the first place of a call that is lost; `error` is torch.export's."""
    for lost in every:
        if lost.places:
            raise _refused_at(lost.why, lost.places[0]) from None
    if error is not None and str(error).startswith(_SAVED_HOOKS):
        raise refused(f"PyTorch: {_TRANSFORMED}", ImportedProgramError) from None


def _refused_at(why: str, place: Any) -> GradirError:
    return refusal(f"PyTorch: {why}", ImportedProgramError, place)


def _caller(frame: FrameType) -> FrameType:
    """The frame that calls for a gradient, behind PyTorch's own; loops of PyTorch do so, too."""
    while frame.f_back is not None and not _is_users(frame):
        if _LOOPS in frame.f_code.co_filename:
            return frame
        frame = frame.f_back
    return frame


def _behind_contexts(frame: FrameType) -> FrameType:
    """The frame that enters a context, behind contextlib's."""
    while frame.f_back is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = frame.f_back
    return frame


_LOOPS = f"{os.sep}_higher_order_ops{os.sep}"


def _is_users(frame: FrameType) -> bool:
    decorated = frame.f_locals.get("func") if frame.f_code.co_name == _DECORATOR else None
    code = frame.f_code if decorated is None else getattr(decorated, "__code__", frame.f_code)
    return not code.co_filename.startswith(folder_of(torch))


@contextmanager
def _noted(lost: _Lost) -> Generator[None]:
    """The calls of a function are noted; forward may call a mode by a decorator."""
    original = getattr(lost.owner, lost.name)

    def call(*args: Any, **kwargs: Any) -> Any:
        frame = _behind_contexts(sys._getframe(1))
        if not lost.directly or _is_users(_caller(frame) if lost.is_deep else frame):
            lost.places.append(place_of_user(folder_of(torch)))
        return original(*args, **kwargs)

    setattr(lost.owner, lost.name, call)
    try:
        yield
    finally:
        setattr(lost.owner, lost.name, original)


@contextmanager
def _data_detached(assigned: _Lost) -> Generator[None]:
    """`x.data` is `x.detach()` in forward; assignments to it are noted."""
    original: Any = torch.Tensor.data

    def read(self: Any) -> Any:
        return self.detach() if _is_users(sys._getframe(1)) else original.__get__(self)

    def assign(self: Any, value: Any) -> None:
        if _is_users(sys._getframe(1)):
            assigned.places.append(place_of_user(folder_of(torch)))
        original.__set__(self, value)

    torch.Tensor.data = property(read, assign)
    try:
        yield
    finally:
        del torch.Tensor.data
