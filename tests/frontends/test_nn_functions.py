"""gradir.nn's functions that are made of ops, against NumPy: values, derivatives, refusals.

tests/peers/test_nn_torch.py compares all of them with PyTorch.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.errors import TraceError
from gradir.testing import check_grads

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.standard_normal((2, 2, 4, 3))


@pytest.mark.parametrize("name", nn.__all__)
def test_wrong_keywords(name: str) -> None:
    with pytest.raises(TraceError, match=f"nn.{name}: unknown argument no_such; .*known: "):
        getattr(nn, name)(no_such=1)


@pytest.mark.parametrize(
    ("name", "keyword", "meant"),
    [("conv2d", "strides", "stride"), ("interpolate", "scale_factors", "scale_factor"),
     ("cross_entropy", "weight", "weights"), ("ctc_loss", "zero_infinite", "zero_infinity")],
)  # fmt: skip
def test_likely_keywords(name: str, keyword: str, meant: str) -> None:
    with pytest.raises(TraceError, match=f"unknown argument {keyword}; did you mean {meant}\\?"):
        getattr(nn, name)(IMAGE, **{keyword: 2})


def test_convolutions_of_an_image_and_of_named_padding() -> None:
    weight = RANDOM.standard_normal((3, 2, 2, 3))
    for padding, numbers in (("valid", 0), ("same", [0, 1, 1, 1])):
        wanted = nn.conv2d(IMAGE, weight, padding=numbers, dilation=1)
        np.testing.assert_array_equal(nn.conv2d(IMAGE, weight, padding=padding), wanted)
        np.testing.assert_array_equal(nn.conv2d(IMAGE[0], weight, padding=padding), wanted[0])
    last = nn.conv2d(
        np.moveaxis(IMAGE, 1, -1), weight.transpose(2, 3, 1, 0), padding="same", layout="NHWC"
    )
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), wanted, atol=1e-14)
    y, places = nn.max_pool2d(IMAGE[0], 2, return_indices=True)
    np.testing.assert_array_equal(y, nn.max_pool2d(IMAGE, 2)[0])
    np.testing.assert_array_equal(
        IMAGE[0].reshape(2, -1)[[[0], [1]], places.reshape(2, -1)], y.reshape(2, -1)
    )
    for wrong, message in (
        ({"padding": "full"}, "nn.conv2d: padding must be one of 'same', 'valid'"),
        ({"padding": "same", "stride": 2}, 'padding "same" needs stride 1'),
    ):
        with pytest.raises(TraceError, match=message):
            nn.conv2d(IMAGE, weight, **wrong)
    with pytest.raises(gradir.GradirError, match="output_padding must be less than the stride"):
        nn.conv_transpose2d(IMAGE, weight[:2], dilation=2, output_padding=2)


def test_output_padding_of_less_than_the_dilation() -> None:
    """It shows what padding cuts off, then zeros, and the bias there too."""
    x, weight, bias = IMAGE[:, :, 0], RANDOM.standard_normal((2, 3, 2)), np.arange(3.0)
    whole = nn.conv_transpose1d(x, weight, dilation=4)
    for padding, more in ((2, 1), (1, 3)):
        cut = np.pad(whole, [(0, 0), (0, 0), (0, 3)])[
            :, :, padding : whole.shape[2] - padding + more
        ]
        found = nn.conv_transpose1d(
            x, weight, bias, dilation=4, padding=padding, output_padding=more
        )
        np.testing.assert_allclose(found, cut + bias[:, None], atol=1e-14)


def test_sums_of_windows_that_reach_out() -> None:
    x = RANDOM.standard_normal((1, 1, 5, 6))
    padded = np.pad(x[0, 0], 1)
    settings = {"padding": 1, "stride": 2, "ceil_mode": True, "divisor_override": 5}
    wanted = [[padded[i : i + 3, j : j + 3].sum() / 5 for j in (0, 2, 4, 6)] for i in (0, 2, 4)]
    np.testing.assert_allclose(nn.avg_pool2d(x, 3, **settings)[0, 0], wanted, atol=1e-14)
    rows = nn.avg_pool1d(x[0, :, 0], 3, **settings)
    wanted_row = [np.pad(x[0, 0, 0], 1)[j : j + 3].sum() / 5 for j in (0, 2, 4, 6)]
    np.testing.assert_allclose(rows[0], wanted_row, atol=1e-14)
    turned = nn.avg_pool2d(np.moveaxis(x, 1, -1), 3, layout="NHWC", **settings)
    np.testing.assert_allclose(turned[0, :, :, 0], wanted, atol=1e-14)


def test_names_of_torch_that_are_not_here() -> None:
    for name in vars(nn)["ABSENT"]:
        with pytest.raises(AttributeError, match=f"gradir.nn has no {name}: "):
            getattr(nn, name)
    assert nn.binary_cross_entropy(0.5, 1.0) == nn.bce_loss(0.5, 1.0)


@pytest.mark.parametrize("p", [0.5, 3.5, -1.0])
def test_norms_of_zeros(p: float) -> None:
    """Their derivative is 0, as for p = 2."""

    def norm(x: Any) -> Any:
        return gnp.linalg.vector_norm(x, ord=p)

    for x in (np.zeros(3), np.array([0.0, 2.0, -1.0]), np.zeros(0 if p > 0 else 1)):
        value, gradient = gradir.value_and_grad(norm)(x)
        assert not np.any(gradient[x == 0]) and np.all(np.isfinite(gradient))
        with np.errstate(divide="ignore"):
            wanted = np.linalg.norm(x, p) if x.any() else 0
        np.testing.assert_allclose(value, wanted, atol=1e-15)
    if p > 0:
        assert np.all(np.isnan(gradir.jacrev(gradir.grad(norm))(np.zeros(2))))


def test_grid_sample() -> None:
    """Bilinear with zeros outside, by a loop; eager, compiled and mapped."""
    grid = RANDOM.uniform(-1.3, 1.3, (2, 3, 2, 2))
    expected = np.zeros((2, 2, 3, 2))
    for n, c, i, j in np.ndindex(expected.shape):
        x, y = ((grid[n, i, j] + 1) * [3, 4] - 1) / 2
        for row, column in product(range(4), range(3)):
            weight = max(0, 1 - abs(y - row)) * max(0, 1 - abs(x - column))
            expected[n, c, i, j] += weight * IMAGE[n, c, row, column]
    np.testing.assert_allclose(nn.grid_sample(IMAGE, grid), expected, atol=1e-14)
    mapped = gradir.jit(gradir.vmap(lambda x, g: nn.grid_sample(x[None], g[None])[0]))
    np.testing.assert_allclose(mapped(IMAGE, grid), expected, atol=1e-14)
    far = np.full((1, 1, 1, 2), np.nan)
    assert not np.any(nn.grid_sample(IMAGE[:1], far))


def alignments(target: list[int], steps: int) -> Any:
    """All sequences that collapse to a target, by trial."""
    for path in product(range(3), repeat=steps):
        kept = [c for k, c in enumerate(path) if c and (k == 0 or c != path[k - 1])]
        if kept == target:
            yield path


def test_ctc_loss_of_half_precision_is_that_of_f32() -> None:
    x = np.random.default_rng(0).standard_normal((6, 2, 4)).astype(np.float16)
    labels, lengths = np.array([[1, 2], [3, 3]]), np.array([2, 2])

    def loss(x: Any) -> Any:
        return nn.ctc_loss(nn.log_softmax(x, axis=-1), labels, np.array([6, 5]), lengths)

    value, gradient = gradir.value_and_grad(loss)(x)
    wanted, slope = gradir.value_and_grad(loss)(x.astype(np.float32))
    assert value.dtype == gradient.dtype == np.float16
    np.testing.assert_allclose(value, wanted, 2e-3)
    np.testing.assert_allclose(gradient, slope, 1e-2, 1e-3)


def test_ctc_loss() -> None:
    x = RANDOM.standard_normal((4, 3, 3))
    targets, inputs, lengths = np.array([[1, 2], [2, 2], [2, 2]]), np.array([4, 3, 2]), [2, 2, 2]
    found = nn.ctc_loss(x, targets, inputs, np.array(lengths), reduction="none")
    for n in range(3):
        sums = [sum(x[t, n, c] for t, c in enumerate(path))
                for path in alignments(list(targets[n]), inputs[n])]  # fmt: skip
        expected = -np.log(np.sum(np.exp(sums))) if sums else np.inf
        np.testing.assert_allclose(found[n], expected, rtol=1e-13)

    def loss(x: Any) -> Any:
        return nn.ctc_loss(x, targets, inputs, np.array(lengths), zero_infinity=True)

    check_grads(loss, [x])


LOSSES: dict[str, Any] = {
    "convolutions": lambda x, w: (
        nn.conv_transpose1d(x[:, :, 0], w[0], stride=2)
        * nn.conv1d(x[0, :, 0], w[:, :, 1], padding="same")[0, 0]
    ),
    "conv_transpose3d": lambda x, w: nn.conv_transpose3d(
        x, w[:, :1, None, :2], dilation=2, output_padding=1, padding=(0, 1, 0)
    ),
    "pools": lambda x, w: (
        nn.avg_pool2d(x * w, 2, divisor_override=3) + nn.adaptive_avg_pool2d(x, (2, None))[..., :1]
    ),
    "pads": lambda x, w: (
        nn.pad(x, (-1, 2, 1, -1), "circular") * nn.pad(w, (2, -1), "replicate")[:, :, :4]
    ),
    "norms": lambda x, w: (
        nn.normalize(gnp.exp(x), p=-1.5) * gnp.linalg.vector_norm(w / 1e3, ord=0.5)
        + nn.prelu(x, w[0, 0, 0, 0])
    ),
    "grid": lambda x, w: nn.grid_sample(
        x, nn.affine_grid(w[:, :, :, 0][:, :, :3] / 3, (2, 2, 3, 3))
    ),
    "bicubic": lambda x, w: (
        nn.interpolate(x, (5, 2), mode="bicubic") * nn.interpolate(w, (5, 2), mode="area")
    ),
    "unfold": lambda x, w: nn.fold(nn.unfold(x * w, (2, 3), padding=1), (4, 3), (2, 3), padding=1),
    "unpool": lambda x, w: (
        # pyrefly: ignore
        w * nn.max_unpool2d(*nn.max_pool2d(x, kernel=(2, 3), return_indices=True), (2, 3))
    ),
    "distances": lambda x, w: (
        nn.pdist(nn.normalize(gnp.reshape(x, (4, 12)))) * nn.cosine_similarity(x, w)[0, 0, 0]
    ),
    "losses": lambda x, w: (
        nn.cross_entropy(x, w)
        + nn.triplet_margin_loss(x, w, x * w)
        + nn.bce_with_logits(x, w, pos_weight=2.0)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name: str) -> None:
    """First and second order; native code against the interpreter."""
    w = RANDOM.uniform(0.1, 0.9, IMAGE.shape)
    if name == "grid":
        w = RANDOM.standard_normal((2, 2, 3, 1))
    check_grads(lambda x, w: gnp.sum(gnp.sin(LOSSES[name](x, w))), [IMAGE, w])


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_dropped_channels(p: float) -> None:
    x = np.ones((8, 40, 3, 2))
    x[0, 0, 0, 0] = np.inf
    y = nn.dropout2d(x, 3, 1, p=p)
    kept = y[:, :, 1, 1] != 0
    np.testing.assert_array_equal(y, np.where(kept[..., None, None], x / max(1 - p, 1e-9), 0))
    assert abs(np.mean(kept) - (1 - p)) < 0.1
    z = nn.alpha_dropout(RANDOM.standard_normal(20000), 3, 1, p=p)
    assert p == 1 or (abs(z.mean()) < 0.05 and abs(z.std() - 1) < 0.05)
