"""How a call of a torch function becomes one of ours: its arguments by name, dtypes and axes.

A mapping is a function of torch's arguments, with arrays in place of tensors. `bound` makes one
from a function and the names of its parameters in torch; others are written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.tracing import lifted

torch: Any = import_module("torch")

Function = Callable[..., Any]

AXES = {"dim": "axis", "keepdim": "keepdims"}


def bound(
    function: Function,
    names: str,
    dropped: str = "",
    refused: Mapping[str, str] | None = None,
    /,
    **renamed: str,
) -> Function:
    """A function of torch's parameters `names`; the ones before "|" are positional here too,
    and the others are keywords, named as in AXES or `renamed`.

    Arguments of those `dropped` change nothing that is compared; a sample with one of those
    `refused` is left out, for a reason.
    """
    before, _, after = names.partition("|")
    positional, keywords = before.split(), after.split()
    others = {**AXES, **renamed}
    reasons = dict[str, str]() if refused is None else refused
    left_out = {*dropped.split(), *reasons}

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        order = [*positional, *keywords]
        if len(args) > len(order):
            raise LookupError(f"{len(args)} arguments of {order}")
        given: dict[str, Any] = dict(zip(order, args, strict=False)) | kwargs
        if unknown := set(given) - set(order):
            raise LookupError(f"unmapped arguments {sorted(unknown)}")
        for name, reason in reasons.items():
            if np.any(given.get(name)):
                raise NotImplementedError(reason)
        given = {name: value for name, value in given.items() if name not in left_out}
        first = [given[name] for name in positional if name in given]
        rest = {others.get(name, name): given[name] for name in keywords if name in given}
        return function(*first, **{k: plain(v) for k, v in rest.items() if v is not None})

    return wrapper


def plain(value: Any) -> Any:
    """A dtype as its name, a shape as a tuple."""
    if isinstance(value, torch.dtype):
        return dtype_of(value)
    return tuple(value) if isinstance(value, torch.Size) else value


def dtype_of(value: Any) -> str:
    return str(value).partition(".")[2]


def reduced(function: Function, names: str = "input | dim keepdim dtype", **more: Any) -> Function:
    """A reduction; no axes are all of them."""

    def wrapper(x: Any, *, axis: Any = None, **kwargs: Any) -> Any:
        is_all = not x.ndim or (isinstance(axis, Sequence) and not axis)
        found = None if is_all else axis
        return function(x, axis=found, **kwargs, **more)

    return bound(wrapper, names)


def listed(given: Sequence[Any]) -> list[Any]:
    """Sizes given one by one, or as one sequence."""
    first: Any = given[0] if len(given) == 1 else given
    return list(first) if isinstance(first, Sequence) else [first]


def leaves(value: Any) -> list[Any]:
    """The arrays and tensors in nested results, from first to last."""
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each)]
    return [] if value is None else [value]


def mapped(value: Any, change: Function) -> Any:
    """Nested arguments with each tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(each, change) for name, each in value.items()}
    if isinstance(value, tuple) and type(value) is not tuple:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(each, change) for each in value)
    return value


def array_of(tensor: Any) -> Any:
    """A tensor's numbers, whatever its layout; of bfloat16, in float32."""
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    return np.array(tensor.detach().resolve_conj().resolve_neg().numpy(force=True))


def _updated(x: Any, key: Any, method: str, values: Any) -> Any:
    return getattr(lifted(x).at[key], method)(values)


# x.at[key] of NumPy's arrays too, which have no `at`
updated: Any = eager(_updated, is_replayed=False)
