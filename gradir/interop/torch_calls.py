"""Programs of gradir as nodes of PyTorch's autograd, on the memory of tensors.

Forward and backward are the compiled halves of gradir's derivative. Under create_graph the
gradients are a call of another program, which computes them from the arguments, and is
differentiated like the first. Cotangents of complex numbers are conjugated at this door, and
gradients too: torch has the conjugates of ours. Of real ones `conj` is the tensor itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gradir.errors import ArgumentError, ArgumentTypeError, TraceError
from gradir.interop.foreign import refused
from gradir.interop.programs import DerivativeHalves, Differentiable
from gradir.packages import package

torch: Any = package("torch", "torch")
_forward_ad: Any = package("torch.autograd.forward_ad", "torch")
_bfloat16, _int16, _strided, _from_numpy = (
    *(torch.bfloat16, torch.int16, torch.strided, torch.from_numpy),
)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def run_program(node: Any, program: Differentiable, tensors: Sequence[Any]) -> Sequence[Any]:
    """The results of a program: of a node of autograd where a tensor requires a gradient."""
    if torch.is_grad_enabled() and program.of:
        wrt = tuple([k for k in program.floating if tensors[k].requires_grad])
        if wrt:
            return node.apply_node(program, program.halves(wrt), wrt, tensors)
    if any(_forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise refused(
            f"wrap: @{program.name} has no forward mode in torch; use reverse mode, or gradir.jvp",
            TraceError,
        )
    return [
        tensor_of_array(array)
        for array in program.run([array_of_tensor(tensor) for tensor in tensors])
    ]


class _Call(NamedTuple):
    """What a node runs: a program, its derivative in the arguments `wrt`."""

    program: Differentiable
    halves: DerivativeHalves
    wrt: tuple[int, ...]
    held: Sequence[tuple[Any, int]]
    """The arguments that only create_graph reads, and their versions."""


class GradirCallOnce(torch.autograd.Function):
    """A call of a program whose gradients have no gradients."""

    @classmethod
    def apply_node(
        cls,
        program: Differentiable,
        halves: DerivativeHalves,
        wrt: tuple[int, ...],
        tensors: Sequence[Any],
    ) -> Sequence[Any]:
        """The results of a new node."""
        return cls.apply(_Call(program, halves, wrt, ()), *tensors)

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Any) -> Any:
        """The forward half; tensors are kept by torch, which checks for changes in place."""
        program, halves, _, _ = ctx.call = call
        outputs = [
            tensor_of_array(x)
            for x in halves.forward.run([array_of_tensor(tensor) for tensor in tensors])
        ]
        count = len(program.results)
        results = tuple(outputs[:count])
        if len(program.of) < count:
            ctx.mark_non_differentiable(*(results[k] for k in range(count) if k not in program.of))
        values = (*tensors, *outputs)
        residuals = [values[k] for k in halves.residuals]
        if halves.tapes:
            ctx.tapes = [residuals.pop(k) for k in reversed(halves.tapes)]
        ctx.save_for_backward(*residuals)
        return results

    @staticmethod
    def gradients(ctx: Any, *cotangents: Any) -> list[Any]:
        """The gradients by the backward half."""
        program, halves, _, _ = ctx.call
        given = [array_of_tensor(tensor) for tensor in ctx.saved_tensors]
        if halves.tapes:
            for place, tape in zip(halves.tapes, reversed(ctx.tapes), strict=True):
                given.insert(place, tape)
        given += [array_of_tensor(_dense(cotangents[k]).conj()) for k in program.of]
        grads = map(tensor_of_array, halves.backward.run(given))
        return [grad.conj().resolve_conj() for grad in grads]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        grads = GradirCallOnce.gradients(ctx, *cotangents)
        if torch.is_grad_enabled():
            name = ctx.call.program.name
            grads = _Constant.apply(name, *(grad.requires_grad_() for grad in grads))
        return _placed(ctx.call, grads)


class _Constant(torch.autograd.Function):
    """Gradients that must not be differentiated: not in silence, as torch's once_differentiable."""

    @staticmethod
    def forward(ctx: Any, name: str, *grads: Any) -> Any:
        ctx.name = name
        return tuple(grad.detach() for grad in grads)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise refused(
            f"wrap: gradients of @{ctx.name} are differentiated, which was wrapped with "
            "once_differentiable=True; leave that out",
            ArgumentError,
        )


class GradirCall(GradirCallOnce):
    """A call of a program whose gradients are calls as well."""

    @classmethod
    def apply_node(
        cls,
        program: Differentiable,
        halves: DerivativeHalves,
        wrt: tuple[int, ...],
        tensors: Sequence[Any],
    ) -> Sequence[Any]:
        held = [(_held(tensors[k]), tensors[k]._version) for k in halves.unread]
        return cls.apply(_Call(program, halves, wrt, held), *tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        call: _Call = ctx.call
        if not torch.is_grad_enabled():
            return _placed(call, GradirCallOnce.gradients(ctx, *cotangents))
        program = call.program
        given = [*_arguments(ctx), *(_dense(cotangents[k]).conj() for k in program.of)]
        grads = run_program(GradirCall, program.transposed(call.wrt), given)
        return _placed(call, [grad.conj() for grad in grads])


def _held(tensor: Any) -> Any:
    """A tensor for create_graph, on which no later change in place can set a grad_fn.

    That would be a cycle which Python does not see. It is not saved by the node: torch checks all
    saved tensors where it reads one, and backward can do without this one.
    """
    if not tensor.requires_grad:
        return tensor.detach()
    return tensor if tensor.is_leaf else _Alias.apply(tensor)


class _Alias(torch.autograd.Function):
    """A tensor of the same memory, version and gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return tensor.detach()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents[0]


def _arguments(ctx: Any) -> list[Any]:
    """The arguments of a call, with their graphs."""
    call: _Call = ctx.call
    halves = call.halves
    places = [place for k, place in enumerate(halves.residuals) if k not in halves.tapes]
    found = dict(zip(places, ctx.saved_tensors, strict=True))
    for place, (tensor, version) in zip(halves.unread, call.held, strict=True):
        if tensor._version != version:
            raise refused(
                f"wrap: an argument of @{call.program.name} has been modified by an inplace "
                f"operation, and create_graph needs it: it is at version {tensor._version}, "
                f"expected {version}",
                ArgumentError,
            )
        found[place] = tensor
    return [found[k] for k in range(len(call.program.inputs))]


def _placed(call: _Call, grads: Sequence[Any]) -> tuple[Any, ...]:
    """What backward returns, for the call itself and each tensor."""
    found: list[Any] = [None] * (1 + len(call.program.inputs))
    for k, grad in zip(call.wrt, grads, strict=True):
        found[1 + k] = grad
    return tuple(found)


def _dense(tensor: Any) -> Any:
    return tensor if tensor.layout is _strided else tensor.to_dense()


def array_of_tensor(tensor: Any) -> Any:
    """The memory of a tensor as an array, copied if it is not contiguous."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor._is_zerotensor():
        # the derivative of sgn is one: it has no memory, and torch 2.9 gives what is elsewhere
        tensor = tensor.new_zeros(tensor.shape)
    try:
        if tensor.dtype is _bfloat16:
            return tensor.contiguous().view(_int16).numpy().view(_BFLOAT16)
        return tensor.contiguous().numpy()
    except (TypeError, RuntimeError) as error:
        if not (tensor.is_neg() or tensor.is_conj()) or not tensor.is_cpu:
            raise unread(tensor, error) from None
        return array_of_tensor(tensor.resolve_conj().resolve_neg())


def unread(tensor: Any, error: Exception) -> ArgumentTypeError:
    found = "cpu" if tensor.is_cpu else str(tensor.device)
    if tensor.is_nested:
        found += ", nested"
    elif tensor.layout is not _strided:
        found += f", {tensor.layout}"
    return refused(
        f"wrap: expected dense tensors on the CPU, outside of torch.func and torch.compile, got "
        f"{tensor.dtype} on {found} ({error})",
        ArgumentTypeError,
    )


def tensor_of_array(array: Any) -> Any:
    """A tensor on the memory of an array. A tape is no array, and itself."""
    if type(array) is not np.ndarray:
        return array
    if array.dtype is _BFLOAT16:
        return _from_numpy(array.view(np.int16)).view(_bfloat16)
    return _from_numpy(array)
