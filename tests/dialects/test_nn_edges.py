"""Second derivatives of nn ops where a formula written plainly gives nan; default settings."""

from __future__ import annotations

import numpy as np
import pytest

import gradir

VECTOR = "tensor<3xf64>"


def second_order(op: str, *arrays: list[float]) -> list[list[float]]:
    """The gradients of the sum of the first gradients, of an op on vectors."""
    names = [f"%{k}" for k in range(len(arrays))]
    types = ", ".join([VECTOR] * len(arrays))
    same = types + f" -> {VECTOR}" if "loss" in op else VECTOR
    module = gradir.parse(
        f"func.func @f({', '.join(f'{n}: {VECTOR}' for n in names)}) -> {VECTOR} {{\n"
        f"  %y = {op.replace('X', ', '.join(names))} : {same}\n"
        f"  func.return %y : {VECTOR}\n}}\n"
    )
    wrt = list(range(len(arrays)))
    module = module.gradient("f", wrt, "vjp")
    module = module.gradient("f_vjp", wrt, "vjp", [k + 1 for k in wrt])
    ones = np.ones(3)
    results = gradir.compile(module, "f_vjp_vjp")(
        *map(np.array, arrays), ones, *[ones for _ in wrt]
    )
    return [r.tolist() for r in results[-len(arrays) :]]


def test_bce_loss_where_logarithms_are_limited() -> None:
    # d/dx (x - t) / 1e-12 and d/dt of the same; the target's gradient is limited, so constant
    to_x, to_target = second_order(
        'nn.bce_loss X {reduction = "none"}', [0.0, 1.0, 0.5], [0.0, 1.0, 0.5]
    )
    assert to_x == pytest.approx([1e12, 1e12, 0.0])
    assert to_target == pytest.approx([-1e12, -1e12, -4.0])


@pytest.mark.parametrize("op", ["nn.elu X", "nn.selu X", "nn.celu X", "nn.softplus X", "nn.silu X"])
def test_large_arguments(op: str) -> None:
    """No exponential overflows in a branch that is not picked."""
    [found] = second_order(op, [800.0, 1e4, 1e5])
    assert found == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("name", "eps"), [("f64", 2**-52), ("f32", 2**-23), ("f16", 2**-23)])
def test_eps_of_rms_norm(name: str, eps: float) -> None:
    """Absent, it belongs to the type in which the op computes."""
    type_ = f"tensor<2x{name}>"
    module = gradir.parse(
        f"func.func @f(%x: {type_}) -> {type_} {{\n  %y = nn.rms_norm %x : {type_} -> {type_}\n"
        f"  func.return %y : {type_}\n}}\n"
    )
    dtype = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[name]
    x = np.full(2, eps**0.5, dtype)
    for [y] in (gradir.interpret(module, "f", x), gradir.compile(module, "f")(x)):
        np.testing.assert_allclose(y, 0.5**0.5, rtol=1e-3)
