"""What PyTorch's schemas say of an op: arguments by name, what it writes to and is a view of.

Random ops are listed here, with the arguments that make them draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from gradir.packages import package

torch: Any = package("torch", "torch")

_DROPPED = frozenset(
    ("device", "layout", "pin_memory", "memory_format", "non_blocking", "dtype", "generator")
)
"""Arguments that are about memory, or known of the result."""


def name_of(op: Any) -> str:
    """The op's name without its overload, and without its namespace if that is ATen."""
    name = str(op._schema.name)
    return name.removeprefix("aten::").replace("::", ".")


def named_arguments(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names in the schema, without what is about memory."""
    names = _names(op)
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    return {name: value for name, value in given.items() if name not in _DROPPED}


@cache
def _names(op: Any) -> tuple[str, ...]:
    return tuple(argument.name for argument in op._schema.arguments)


@cache
def written_arguments(op: Any) -> tuple[str, ...]:
    """The arguments that an op changes."""
    found = [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return tuple(argument.name for argument in found)


@cache
def may_be_view(op: Any) -> bool:
    """Whether results may be on the memory of the first argument."""
    aliases = any(r.alias_info is not None and not r.alias_info.is_write
                  for r in op._schema.returns)  # fmt: skip
    return aliases or is_composite(op)


@cache
def is_composite(op: Any) -> bool:
    """Whether the op is made of others, and may give back an argument without saying so."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return bool(op.has_kernel_for_dispatch_key(key))


def is_view(op: Any, tensor: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether results of a call are on the memory of its first argument, tried without memory."""
    try:
        with torch.no_grad():
            base = _hollow(tensor)
            given = torch.utils._pytree.tree_map_only(torch.Tensor, _hollow, list(args[1:]))
            named = torch.utils._pytree.tree_map_only(torch.Tensor, _hollow, dict(kwargs))
            if "device" in named:
                named["device"] = "meta"
            made = op(base, *given, **named)
    except Exception:
        # what cannot be tried is a view where the schema says so
        return any(r.alias_info is not None for r in op._schema.returns)
    first = made[0] if isinstance(made, (list, tuple)) else made
    if not isinstance(first, torch.Tensor):
        return False
    return first.untyped_storage()._cdata == base.untyped_storage()._cdata


def is_packed(tensor: Any) -> bool:
    """Whether a tensor has memory of its own, with its elements in order and nothing else."""
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return bool(whole and tensor.is_contiguous() and not tensor.storage_offset())


def _hollow(tensor: Any) -> Any:
    return torch.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype,
                               device="meta")  # fmt: skip


def _trains(given: Mapping[str, Any]) -> bool:
    return bool(given.get("train", given.get("training", True)))


def _drops(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda given: bool(given.get(name)) and _trains(given)


def _always(given: Mapping[str, Any]) -> bool:
    return True


_RANDOM: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    **dict.fromkeys(
        ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "native_dropout"),
        _drops("p"),
    ),
    "scaled_dot_product_attention": lambda given: bool(given.get("dropout_p")),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _drops("dropout")),
    "rrelu": lambda given: bool(given.get("training", False)),
    "rrelu_with_noise": lambda given: bool(given.get("training", False)),
    **dict.fromkeys(
        (
            *("rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm"),
            *("bernoulli", "normal", "normal_functional", "uniform", "exponential", "multinomial"),
            *("random", "log_normal", "cauchy", "geometric", "poisson", "binomial"),
        ),
        _always,
    ),
}


def is_random(name: str, given: Mapping[str, Any]) -> bool:
    """Whether a call draws random numbers."""
    return name in _RANDOM and _RANDOM[name](given)
