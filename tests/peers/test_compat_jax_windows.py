"""gradir.compat.jax.lax's convolutions and windows: values and derivatives are JAX's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from gradir import compat

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


CONVOLUTIONS: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "plain": (normal(2, 3, 6, 7), normal(4, 3, 3, 2), ((1, 1), "VALID"), {}),
    "same": (normal(2, 3, 6, 7), normal(4, 3, 3, 2), ((2, 3), "SAME"), {}),
    "same_lower": (normal(2, 3, 6, 7), normal(4, 3, 4, 2), ((2, 1), "SAME_LOWER"), {}),
    "pairs": (normal(1, 2, 5, 5), normal(3, 2, 2, 2), ((1, 2), [(1, 0), (-1, 2)]), {}),
    "nhwc": (
        normal(2, 6, 7, 3), normal(3, 2, 3, 4), ((1, 1), "SAME"),
        {"dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "mixed": (
        normal(6, 2, 3, 7), normal(2, 4, 3, 3), ((1, 2), "SAME"),
        {"dimension_numbers": ("HNCW", "WOIH", "WNHC")},
    ),
    "dilated": (
        normal(2, 3, 6, 7), normal(4, 3, 3, 2), ((1, 1), [(2, 1), (1, 1)]),
        {"lhs_dilation": (2, 1), "rhs_dilation": (1, 3)},
    ),
    "groups": (
        normal(2, 4, 5, 5), normal(6, 2, 3, 3), ((1, 1), "SAME"), {"feature_group_count": 2}
    ),
    "depthwise": (
        normal(2, 5, 5, 4), normal(3, 3, 1, 8), ((1, 1), "SAME"),
        {"feature_group_count": 4, "dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "batches": (normal(4, 3, 5, 5), normal(6, 3, 3, 3), ((1, 1), "SAME"), {"batch_group_count": 2}),
    "line": (
        normal(2, 9, 3), normal(5, 3, 4), ((2,), "SAME"),
        {"dimension_numbers": ("NWC", "WIO", "NWC")},
    ),
    "volume": (normal(1, 2, 4, 5, 4), normal(3, 2, 2, 3, 2), ((1, 1, 1), "VALID"), {}),
    "points": (normal(3, 4), normal(5, 4), ((), ()), {}),
}  # fmt: skip


def derivatives(jax: Any, jnp: Any, f: Any, *args: Any) -> list[Any]:
    """A value, its gradient and a product with the Hessian, of all arguments."""
    every = tuple(range(len(args)))

    def scalar(*args: Any) -> Any:
        return jnp.sum(jnp.sin(f(*args)))

    def slope(*args: Any) -> Any:
        pairs = zip(jax.grad(scalar, every)(*args), args, strict=True)
        return sum(jnp.sum(g * jnp.cos(x)) for g, x in pairs)

    return [f(*args), *jax.grad(scalar, every)(*args), *jax.grad(slope, every)(*args)]


def compare(make: Any, *args: Any) -> None:
    with jax.enable_x64(True):
        expected = derivatives(jax, jnp, make(lax), *args)
    found = derivatives(compat.jax, compat.jnp, make(compat.lax), *args)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(compat.jax.jit(make(compat.lax))(*args), expected[0], rtol=1e-9)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    x, kernel, given, options = CONVOLUTIONS[name]
    compare(lambda lax: lambda x, k: lax.conv_general_dilated(x, k, *given, **options), x, kernel)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("transposed", [False, True])
def test_transposed_convolutions(padding: Any, strides: Any, transposed: bool) -> None:
    channels = (4, 3) if transposed else (3, 4)
    x, kernel = normal(2, 5, 4, 3), normal(3, 2, *channels)

    def make(lax: Any) -> Any:
        return lambda x, k: lax.conv_transpose(x, k, strides, padding, transpose_kernel=transposed)

    compare(make, x, kernel)


def test_short_forms_and_dimension_numbers() -> None:
    x, kernel = normal(2, 3, 6, 7), normal(4, 3, 3, 2)
    compare(lambda lax: lambda x, k: lax.conv(x, k, (1, 2), "SAME"), x, kernel)
    compare(
        lambda lax: lambda x, k: lax.conv_with_general_padding(
            x, k, (1, 2), [(1, 1), (0, 2)], (1, 2), (2, 1)
        ),
        x, kernel,
    )  # fmt: skip
    for names in (None, ("NHWC", "HWIO", "NCHW"), ("NWHC", "HWIO", "CWHN")):
        shapes = x.shape, kernel.shape
        found = compat.lax.conv_dimension_numbers(*shapes, names)
        assert tuple(found) == tuple(lax.conv_dimension_numbers(*shapes, names))


WINDOWS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "max_pool": (
        "max", -np.inf, {"window_dimensions": (1, 2, 2, 1), "window_strides": (1, 2, 2, 1)}
    ),
    "same": (
        "max", -np.inf,
        {"window_dimensions": (1, 3, 2, 1), "window_strides": (1, 2, 2, 1), "padding": "SAME"},
    ),
    "sums": (
        "add", 0.0,
        {"window_dimensions": (1, 3, 3, 1), "window_strides": (1, 1, 1, 1), "padding": "SAME"},
    ),
    "dilated": (
        "add", 0.0,
        {"window_dimensions": (1, 2, 2, 1), "base_dilation": (1, 2, 1, 1),
         "window_dilation": (1, 1, 2, 1), "padding": ((0, 0), (1, 0), (0, 2), (0, 0))},
    ),
    "min": ("min", np.inf, {"window_dimensions": (2, 1, 3, 1), "window_strides": (1, 1, 2, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    join, start, options = WINDOWS[name]

    def make(lax: Any) -> Any:
        return lambda x: lax.reduce_window(x, start, getattr(lax, join), **options)

    if name == "dilated" or join == "add":
        compare(make, normal(2, 6, 7, 3))
        return
    x = RNG.permutation(2 * 6 * 7 * 3).reshape(2, 6, 7, 3) / 50  # without ties
    with jax.enable_x64(True):
        expected = [make(lax)(x), jax.grad(lambda x: jnp.sum(jnp.sin(make(lax)(x))))(x)]
    c = compat
    found = [make(c.lax)(x), c.jax.grad(lambda x: c.jnp.sum(c.jnp.sin(make(c.lax)(x))))(x)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_windows_of_products_and_lambdas() -> None:
    x = normal(4, 6)
    for function in (lambda x, y: x * y, compat.jnp.maximum, np.add):
        found = compat.lax.reduce_window(x, 1.0, function, (2, 2), (1, 1), "VALID")
        assert found.shape == (3, 5)
    np.testing.assert_allclose(
        compat.lax.reduce_window(x, 1.0, compat.lax.mul, (2, 1), (1, 1), "VALID"), x[1:] * x[:-1]
    )


def test_pads_and_parts() -> None:
    compare(lambda lax: lambda x: lax.pad(x, 2.0, [(1, 2, 1), (-1, 0, 0)]), normal(3, 4))
    compare(lambda lax: lambda x: lax.split(x, (1, 3), axis=1)[1], normal(3, 4))
    which = np.array([[0, 2, 1], [1, 1, 0]])
    x, y, z = normal(2, 3), normal(2, 3), normal(2, 3)
    compare(lambda lax: lambda x, y, z: lax.select_n(which.astype(np.int32), x, y, z), x, y, z)
    compare(lambda lax: lambda x, y: lax.select_n(which > 0, x, y), x, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda lax: lax.conv(normal(1, 2, 3, 3), normal(1, 2, 2, 2), (1, 1), "FULL"),
            'padding: expected "SAME", "SAME_LOWER", "VALID" or pairs, got \'FULL\'',
        ),
        (
            lambda lax: lax.conv_general_dilated(
                normal(1, 2, 3, 3), normal(1, 2, 2, 2), (1, 1), "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWD"),
            ),
            "dimension_numbers: 'NHWD' must have each of N, C and H, W once, for arrays of rank 4",
        ),
        (
            lambda lax: lax.conv_general_dilated(normal(1, 2, 3), normal(1, 2, 2, 2), (1,), "SAME"),
            "conv_general_dilated: lhs and rhs must have one rank, got 3 and 4",
        ),
        (
            lambda lax: lax.reduce_window(normal(3), 0.0, lambda x, y: x - y, (2,), (1,), "VALID"),
            "reduce_window: the function must be lax.add, lax.mul, lax.max or lax.min",
        ),
    ],
)  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(compat.lax)
    assert message in str(caught.value)
