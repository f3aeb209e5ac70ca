"""Programs of core ATen, as `run_decompositions` makes them of exported ones: values, gradients.

Each case is for ops that undecomposed programs have inside of larger ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch_programs import functional, torch

import gradir
from gradir.interop.torch import trace
from gradir.interop.torch_types import array_of

pytestmark = pytest.mark.filterwarnings("ignore")


def floats(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.float64)


WHOLE = torch.tensor([[-7, -3, 0], [2, 5, 9]])

CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], str]] = {
    "softmax": (lambda x: torch.softmax(x, 1) * x, lambda: (floats(2, 3),), "_softmax"),
    "log_softmax": (lambda x: torch.log_softmax(x, 1) * x, lambda: (floats(2, 3),), "_log_softmax"),
    "conv": (lambda x, w: functional.conv2d(x, w, stride=2, padding=1),
             lambda: (floats(1, 2, 5, 5), floats(3, 2, 3, 3)), "convolution"),
    "conv transposed": (lambda x, w: functional.conv_transpose1d(x, w, stride=2),
                        lambda: (floats(1, 2, 4), floats(2, 3, 3)), "convolution"),
    "pools": (lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), lambda: (floats(1, 2, 5, 5),),
              "_adaptive_avg_pool2d"),
    "pools of cubes": (lambda x: functional.adaptive_avg_pool3d(x, 2),
                       lambda: (floats(1, 2, 4, 5, 3),), "_adaptive_avg_pool3d"),
    "max pool": (lambda x: functional.max_pool2d(x, 2), lambda: (floats(1, 2, 4, 4),),
                 "max_pool2d_with_indices"),
    "batch norm of a batch": (lambda x: functional.batch_norm(x, None, None, training=True),
                              lambda: (floats(4, 3),), "_native_batch_norm_legit"),
    "batch norm by statistics": (
        lambda x, m: functional.batch_norm(x, m.detach(), m.detach() ** 2 + 1, m + 2, m), lambda: (
            floats(4, 3), floats(3)), "_native_batch_norm_legit_no_training"),
    "layer norm": (lambda x, w: functional.layer_norm(x, (3,), w), lambda: (
        floats(2, 3), floats(3)), "native_layer_norm"),
    "group norm": (lambda x, w: functional.group_norm(x, 2, w), lambda: (
        floats(2, 4, 3), floats(4)), "native_group_norm"),
    "cdist": (lambda x, y: torch.cdist(x, y, 1.0), lambda: (floats(3, 2), floats(4, 2)),
              "_cdist_forward"),
    "pdist": (lambda x: functional.pdist(x, 3.0), lambda: (floats(4, 2),), "_pdist_forward"),
    "embedding bag": (lambda w, i: functional.embedding_bag(i, w, mode="sum"), lambda: (
        floats(5, 2), torch.tensor([[0, 2], [4, 1]])), ""),
    "clamp": (lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0.1), lambda: (floats(5),), "clamp"),
    "reflection": (lambda x: functional.pad(x, (1, 2), "reflect"), lambda: (floats(1, 2, 5),), ""),
    "reflection of images": (lambda x: functional.pad(x, (1, 2, 0, 1), "reflect"),
                             lambda: (floats(1, 2, 5, 5),), ""),
    "replication": (lambda x: functional.pad(x, (1, 2, 0, 1), "replicate"),
                    lambda: (floats(1, 2, 5, 5),), ""),
    "fold": (lambda x: functional.fold(x, (4, 4), 2, stride=2), lambda: (floats(1, 8, 4),),
             ""),
    "numbers": (lambda x: ((x == 2, x >= 1, x > 1, x <= 1, x < 1, x != 1), (x & 3, x | 4, x ^ 5),
                           (x % 3, torch.fmod(x, 3), x // 2), 2.0 ** x),
                lambda: (WHOLE,), "eq remainder pow"),
    "conversions": (lambda x: (x.int(), x.float() * 2, x.clone()), lambda: (floats(4),),
                    "_to_copy"),
    "moments": (lambda x: (x.var(1), x.std(), x.mean(0), x.any(1)), lambda: (floats(2, 3),), "var"),
    "scatter of a number": (lambda x, i: torch.scatter(x, 0, i, 2.5), lambda: (
        floats(4), torch.tensor([0, 2])), "scatter"),
    "attention": (lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
                  lambda: (floats(1, 2, 4, 3), floats(1, 2, 4, 3), floats(1, 2, 4, 3)), ""),
    "images of other sizes": (
        lambda x: functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
        lambda: (floats(1, 1, 3, 3),), ""),
}  # fmt: skip


def program_of(name: str) -> tuple[Any, Any, Any]:
    """The module of a case, its inputs, and its program."""
    torch.manual_seed(0)
    function, inputs, _ = CASES[name]
    module = torch.nn.Module()
    module.forward = function
    given = inputs()
    return module, given, torch.export.export(module, given).run_decompositions()


def leaves(results: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(results)


@pytest.mark.parametrize("name", CASES)
def test_core_programs(name: str) -> None:
    module, given, program = program_of(name)
    targets = {str(node.target).split(".")[1] for node in program.graph.nodes
               if isinstance(node.target, torch._ops.OpOverload)}  # fmt: skip
    assert set(CASES[name][2].split()) <= targets
    given = [x.requires_grad_() if x.is_floating_point() else x for x in given]
    expected = leaves(module(*given))
    made = trace(program, trust_derivatives=True)
    arrays = list(map(array_of, given))
    for one, other in zip(gradir.interpret(made, "forward", *arrays), expected, strict=True):
        np.testing.assert_allclose(one, array_of(other), rtol=1e-7, atol=1e-9)
    active = [k for k, x in enumerate(given) if x.requires_grad]
    places = [k for k, y in enumerate(expected) if y.requires_grad]
    if active and places:
        cts = [torch.rand(expected[k].shape).to(expected[k].dtype) for k in places]
        theirs = torch.autograd.grad([expected[k] for k in places], [given[k] for k in active], cts)
        derived = made.gradient("forward", active, "vjp", places)
        found = gradir.interpret(derived, "forward_vjp", *arrays, *map(array_of, cts))
        for one, other in zip(found[len(expected) :], theirs, strict=True):
            np.testing.assert_allclose(one, array_of(other), rtol=1e-6, atol=1e-9)
