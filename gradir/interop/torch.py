"""gradir.interop.torch: gradir functions in PyTorch (`wrap`), and its modules in gradir (`trace`).

`differentiable` is both: a module of PyTorch whose values and gradients are computed by gradir.
`functional` gives a module as a function of gradir's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from gradir.interop.foreign import Foreign
from gradir.interop.programs import Differentiable, WrapOptions
from gradir.interop.torch_calls import GradirCall, GradirCallOnce, run_program, unread
from gradir.interop.torch_modules import differentiable
from gradir.interop.torch_programs import functional, trace
from gradir.packages import package

torch: Any = package("torch", "torch")

__all__ = ["differentiable", "functional", "trace", "wrap"]


def wrap(
    function: Callable[..., Any],
    *,
    once_differentiable: bool = False,
    policy: str = "keep_all",
    memory_limit: int | None = None,
    threads: int | None = None,
) -> Callable[..., Any]:
    """The function, of gradir.numpy and gradir.nn, on tensors on the CPU, differentiable by torch.

    Arguments and results are tensors, and nested tuples, lists and dicts of them. Other leaves
    of the arguments are static: hashable, and a program is compiled for each of their values.
    Contiguous tensors are read in place. Tensors that the function captures are constants.

    Gradients are differentiable to every order. `once_differentiable`: they are not, and the
    arguments are kept for backward only as far as the gradients read them. `policy` and
    `memory_limit` are as for gradir.grad, `threads` as for gradir.jit.
    """
    options = WrapOptions(policy, memory_limit, threads)
    return TorchFunction(function, options, once_differentiable)


class TorchFunction(Foreign):
    """A gradir function on tensors; see `wrap`."""

    array, types, captured = "a tensor", torch.Tensor, BufferError
    common = frozenset((torch.Tensor, torch.nn.Parameter))

    def __init__(self, function: Callable[..., Any], options: WrapOptions, is_once: bool):
        super().__init__(function, options, (TorchFunction, (function, options, is_once)))
        self._node = GradirCallOnce if is_once else GradirCall

    # torch.compile calls it, and does not look inside
    __call__ = torch.compiler.disable(Foreign.__call__)

    def kinds(self, arrays: Sequence[Any]) -> tuple[Hashable, ...]:
        try:
            return super().kinds(arrays)
        except RuntimeError as error:  # nested tensors have no shape
            raise next(unread(x, error) for x in arrays if x.is_nested) from None

    def run(self, program: Differentiable, arrays: Sequence[Any]) -> Sequence[Any]:
        return run_program(self._node, program, arrays)
