"""PyTorch's dtypes, divisions and ends, in imported programs: values and dtypes are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch_programs import torch

import gradir
from gradir.interop.torch import trace
from gradir.interop.torch_types import array_of

pytestmark = pytest.mark.filterwarnings("ignore")

INTS = torch.tensor([-7, -3, 0, 2, 5], dtype=torch.int32)
LONGS = torch.tensor([2, -2, 3, 3, -4])
BYTES = torch.tensor([0, 1, 200, 3, 255], dtype=torch.uint8)
FLAGS = torch.tensor([True, False, True, True, False])
FLOATS = torch.tensor([-1.5, 0.0, 0.5, 2.0, 1e3])
HALVES = torch.tensor([-1.5, 0.25, 3.0, -2.0, 8.0], dtype=torch.bfloat16)
DOUBLES = torch.tensor([-1.5, 0.1, 0.5, -2.0, 7.0], dtype=torch.float64)
ONE = torch.tensor(3.0, dtype=torch.float64)  # of rank 0, which gives way
WHOLE = torch.tensor(3)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "int + float number": (lambda x: x + 1.5, (INTS,)),
    "int + int number": (lambda x: x + 2, (INTS,)),
    "bool + int number": (lambda x: x + 2, (FLAGS,)),
    "bool + bool": (lambda x, y: x + y, (FLAGS, FLAGS)),
    "bool * bool": (lambda x, y: x * y, (FLAGS, FLAGS)),
    "byte + int": (lambda x, y: x + y, (BYTES, INTS)),
    "byte + number": (lambda x: (x + 100, x - 300, x * -1), (BYTES,)),
    "int + long": (lambda x, y: x * y, (INTS, LONGS)),
    "long * float": (lambda x, y: x * y, (LONGS, FLOATS)),
    "half + float": (lambda x, y: x + y, (HALVES, FLOATS)),
    "half * number": (lambda x: x * 0.5 - 1, (HALVES,)),
    "float + rank 0 double": (lambda x, y: x + y, (FLOATS, ONE)),
    "int + rank 0 double": (lambda x, y: x + y, (INTS, ONE)),
    "float + rank 0 long": (lambda x, y: x * y, (FLOATS, WHOLE)),
    "two of rank 0": (lambda x, y: x * y, (ONE, WHOLE)),
    "compare int and float": (lambda x: (x > 0.5, x == 2, x < 2.5), (INTS,)),
    "compare long and double": (lambda x, y: (x >= y, x != y), (LONGS, DOUBLES)),
    "compare byte and a negative": (lambda x: (x > -1, x == 256), (BYTES,)),
    "compare bool": (lambda x, y: (x == 1, x < y), (FLAGS, INTS)),
    "div": (lambda x, y: x / y, (INTS, LONGS)),
    "div floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (INTS, LONGS)),
    "div trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), (INTS, LONGS)),
    "div floor of floats": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (FLOATS, LONGS)),
    "floor_divide": (lambda x: (x // 2, x // -3), (INTS,)),
    "remainder": (lambda x, y: (x % y, x % -3), (INTS, LONGS)),
    "fmod": (lambda x, y: (torch.fmod(x, y), torch.fmod(x, -3)), (INTS, LONGS)),
    "remainder of floats": (lambda x: (x % 0.7, torch.fmod(x, -0.7)), (DOUBLES,)),
    "pow": (lambda x: (x**2, x**3, 2**x.abs(), x.double() ** -1), (INTS,)),
    "mean of ints": (lambda x: x.double().mean(), (INTS,)),
    "sum of ints": (lambda x, y, z: (x.sum(), y.sum(), z.cumsum(0)), (INTS, FLAGS, BYTES)),
    "sum with a dtype": (lambda x: (x.sum(dtype=torch.float64), x.prod()), (INTS,)),
    "sin of ints": (lambda x: (x.sin(), x.sigmoid(), x.exp()), (INTS,)),
    "softmax with a dtype": (lambda x: torch.softmax(x, 0, torch.float64), (HALVES,)),
    "conversions": (lambda x: (x.int(), x.bool(), x.bfloat16(), x.to(torch.int8)), (FLOATS / 100,)),
    "to byte": (lambda x: (x.to(torch.uint8), x.to(torch.int16)), (LONGS.abs(),)),
    "where": (lambda c, x, y: (torch.where(c, x, y), torch.where(c, 1, 0.5)),
              (FLAGS, INTS, FLOATS)),
    "clamp": (lambda x: (x.clamp(-2, 2), x.clamp(min=0.5), x.clamp(max=-1)), (INTS,)),
    "masked_fill": (lambda x, m: (x.masked_fill(m, 9), x.float().masked_fill(m, 0.5)),
                    (INTS, FLAGS)),
    "bits": (lambda x, y: (x & y, x | 3, x ^ y, ~x, x << 2, x >> 1), (INTS, LONGS.int())),
    "bits of bools": (lambda x: (x & ~x, x | True, x ^ x), (FLAGS,)),
    "logic": (lambda x, y: (torch.logical_and(x, y), torch.logical_not(x)), (INTS, FLOATS)),
    "rounds": (lambda x: (x.round(), x.trunc(), x.floor(), x.frac(), x.sign()), (DOUBLES * 1.3,)),
    "rounds of ints": (lambda x: (x.round(), x.floor(), x.sign(), x.abs()), (INTS,)),
    "add with alpha": (lambda x, y: (torch.add(x, y, alpha=2), torch.sub(x, y, alpha=3)),
                       (INTS, LONGS)),
    "slices": (lambda x: (x[1:100], x[-2:], x[:-1:2], x[3:1], x[-100:2]), (LONGS,)),
    "negative axes": (lambda x: (x.sum(-1), x.softmax(-2), x.unsqueeze(-1), x.flip(-1)),
                      (DOUBLES.reshape(1, 5),)),
    "views": (lambda x: (x.t().reshape(-1), x.t().contiguous().view(2, 3)),
              (torch.arange(6.0).reshape(2, 3),)),
    "index": (lambda x, i: (x[:, i], x[None, ..., 1], x[i % 2, :, None], x[i % 2, i]),
              (torch.arange(6.0).reshape(2, 3), torch.tensor([0, 2, -1]))),
    "arange": (lambda x: (torch.arange(5) + x, torch.arange(0.5, 3, 0.5), torch.arange(9, 2, -3)),
               (INTS,)),
    "new ones": (lambda x: (torch.ones_like(x), x.new_zeros(2, 3), torch.full((2,), 7),
                            torch.eye(3)), (INTS,)),
    "sort": (lambda x: (*x.sort(), *x.sort(descending=True, stable=True), x.argsort()), (LONGS,)),
    "topk": (lambda x: (*x.topk(2), *x.topk(3, largest=False)), (DOUBLES,)),
    "extremes": (lambda x: (x.max(), *x.max(0), x.argmin(), x.amax(0), *x.aminmax()), (INTS,)),
    "any and all": (lambda x, y: (x.any(), x.all(), y.any(0), y.bool().all()), (FLAGS, INTS)),
    "cat": (lambda x, y, z: (torch.cat([x, y]), torch.stack([x, z])), (INTS, FLOATS, BYTES)),
    "linspace": (lambda x: x + torch.linspace(0, 1, 5), (FLOATS,)),
    "lerp and addcmul": (lambda x: (torch.lerp(x, x + 1, 0.3), torch.addcmul(x, x, x, value=2)),
                         (FLOATS,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_dtypes(name: str) -> None:
    function, inputs = CASES[name]
    module = torch.nn.Module()
    module.forward = function
    expected = function(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = gradir.interpret(trace(module, *inputs), "Module", *map(array_of, inputs))
    assert len(found) == len(expected)
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        wanted = array_of(other)
        assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape), k
        np.testing.assert_allclose(one.astype("float64"), wanted.astype("float64"), rtol=1e-6)


KINKS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: x.abs(),
    "relu": lambda x: x.relu(),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp by a tensor": lambda x: torch.clamp(x, min=torch.zeros(5).double()),
    "hardtanh": torch.nn.functional.hardtanh,
    "relu6": torch.nn.functional.relu6,
    "maximum": lambda x: torch.maximum(x, torch.zeros(5).double()),
    "max": lambda x: x.max(),
    "max with a dim": lambda x: x.max(0)[0],
    "amax": lambda x: x.amax(0),
    "sign": lambda x: x.sign(),
    "leaky_relu": torch.nn.functional.leaky_relu,
    "elu": torch.nn.functional.elu,
    "softshrink": lambda x: torch.nn.functional.softshrink(x),
    "sqrt under where": lambda x: torch.where(x > 2, x, x * 2),
    "norm": lambda x: (x * 0).norm(),
    "prod": lambda x: x.prod(),
    "pow": lambda x: x**2 + x**1 + x**0,
    "max pool": lambda x: torch.nn.functional.max_pool1d(x.reshape(1, 1, 5), 2),
    "l1": lambda x: torch.nn.functional.l1_loss(x, torch.zeros(5).double()),
    "huber": lambda x: torch.nn.functional.huber_loss(x, torch.zeros(5).double()),
    "median": lambda x: x.median(),
    "cummax": lambda x: x.cummax(0)[0],
    "sort": lambda x: x.sort()[0],
}


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks_and_ties(name: str) -> None:
    module = torch.nn.Module()
    module.forward = KINKS[name]
    x = torch.tensor([-1.0, 0.0, 1.0, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    y = module(x)
    weights = torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape)
    (expected,) = torch.autograd.grad((y * weights).sum(), x)
    derived = trace(module, x).gradient("Module", [0], "vjp", [0])
    found = gradir.interpret(derived, "Module_vjp", array_of(x), weights.numpy())[1]
    np.testing.assert_allclose(found, expected, atol=1e-12)
