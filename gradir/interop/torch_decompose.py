"""Single ops of PyTorch as programs of simpler ones, where there is no rule for them."""

from __future__ import annotations

from functools import cache
from typing import Any

from gradir.interop.torch_ops import is_composite
from gradir.packages import package

torch: Any = package("torch", "torch")
_make_fx: Any = package("torch.fx.experimental.proxy_tensor", "torch").make_fx


@cache
def _table() -> Any:
    return package("torch._decomp", "torch").decomposition_table


def decomposed(op: Any, node: Any) -> Any:
    """A graph module of the tensors of a call, in order; None where there is no decomposition."""
    function = op.decompose if is_composite(op) else _table().get(op)
    if function is None:
        return None

    def value(x: Any) -> Any:
        return x.meta.get("val") if isinstance(x, torch.fx.Node) else x

    tree = torch.utils._pytree
    leaves, spec = tree.tree_flatten(tree.tree_map(value, (tuple(node.args), dict(node.kwargs)),
                                     is_leaf=lambda x: isinstance(x, torch.fx.Node)))  # fmt: skip
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def of_tensors(*tensors: Any) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, kwargs = tree.tree_unflatten(given, spec)
        return function(*args, **kwargs)

    try:
        with torch.no_grad():
            return _make_fx(of_tensors, tracing_mode="fake")(*(_like(leaves[k]) for k in places))
    except Exception:
        return None


def _like(tensor: Any) -> Any:
    return torch.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype)
