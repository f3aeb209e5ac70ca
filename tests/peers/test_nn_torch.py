"""gradir.nn against torch.nn.functional: values and gradients in float64, where torch is there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import nn

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional
RANDOM = np.random.default_rng(3)
pytestmark = pytest.mark.filterwarnings("ignore")
Row = tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]


class Fixed:
    """An array in which torch has no derivative."""

    def __init__(self, array: Any):
        self.array = array


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape)


def uniform(*shape: int) -> Any:
    return RANDOM.uniform(0.1, 0.9, shape)


X = normal(3, 7)
IMAGE = normal(2, 4, 6, 8)
VECTORS = (normal(5, 4), normal(5, 4))


def same(name: str, *args: Any, torch_name: str = "", **options: Any) -> Row:
    """A function of the same name and parameters in both."""
    ours, theirs = getattr(nn, name), getattr(F, torch_name or name)
    renamed = {"axis": "dim", "keepdims": "keepdim", "kernel": "kernel_size"}
    others = {renamed.get(k, k): v for k, v in options.items()}
    label = " ".join([name, *(f"{k}={v}" for k, v in options.items())])
    return label, lambda *a: ours(*a, **options), lambda *a: theirs(*a, **others), args


ROWS: list[Row] = [
    same("relu6", 4 * X),
    same("threshold", X, threshold=0.3, value=-2.0),
    same("hardshrink", X, lambd=0.3),
    same("softshrink", X, lambd=0.3),
    same("tanhshrink", X),
    same("softmin", X, axis=0),
    same("rrelu", X),
    *(same("normalize", X, p=p, axis=1) for p in (1, 2, 3, 0.5, np.inf)),
    same("cosine_similarity", *VECTORS, axis=0),
    *(same("pairwise_distance", *VECTORS, p=p, keepdims=True) for p in (1, 2, 3.5, np.inf)),
    *(same("pdist", X, p=p) for p in (1, 2, 3)),
    same("bilinear", *VECTORS, normal(3, 4, 4), normal(3)),
    same("local_response_norm", IMAGE, size=3, alpha=0.1, beta=0.6, k=2.0),
    same("local_response_norm", IMAGE, size=4, alpha=0.1),
    (
        "pixel_unshuffle",
        lambda x: nn.pixel_unshuffle(x, 2),
        lambda x: F.pixel_unshuffle(x, 2),
        (IMAGE,),
    ),
    same("channel_shuffle", IMAGE, groups=2),
    same("pad", IMAGE, pad=(1, 2, -1, 3), value=1.5),
    same("pad", IMAGE, pad=(1, 2, 2, 3), mode="reflect"),
    same("pad", IMAGE, pad=(1, 2, 2, 3), mode="replicate"),
    same("pad", IMAGE, pad=(1, 2, 2, 3), mode="circular"),
    same("unfold", IMAGE, kernel=(2, 3), stride=(2, 1), padding=(1, 2), dilation=(2, 1)),
    same("unfold", IMAGE[0], kernel=3),
    same(
        "fold",
        normal(2, 24, 12),
        output_size=(6, 8),
        kernel=(2, 3),
        stride=(2, 2),
        padding=(1, 1),
        dilation=(3, 1),
    ),
]

KERNEL = normal(4, 2, 2, 3)
ROWS += [
    *(
        same(f"conv_transpose{d}d", x, w, b, stride=2, padding=1, output_padding=1, groups=2)
        for d, x, w, b in (
            (1, normal(2, 4, 5), normal(4, 3, 3), normal(6)),
            (2, IMAGE, normal(4, 1, 3, 2), normal(2)),
            (3, normal(1, 2, 3, 2, 4), normal(2, 1, 3, 2, 3), normal(2)),
        )
    ),
    same("conv_transpose2d", IMAGE, KERNEL, dilation=3, padding=(1, 0), output_padding=(2, 1)),
    same("conv2d", IMAGE[0], normal(3, 4, 2, 3), padding="same", dilation=2),
    same("avg_pool2d", IMAGE, kernel=3, stride=2, padding=1, ceil_mode=True, divisor_override=4),
    (
        "adaptive_avg_pool2d",
        lambda x: nn.adaptive_avg_pool2d(x, (None, 3)),
        lambda x: F.adaptive_avg_pool2d(x, (None, 3)),
        (IMAGE[0],),
    ),
    same("pad", IMAGE, pad=(-1, 2, 2, -3), mode="replicate"),
    same("pad", IMAGE, pad=(-1, 2, 2, -3), mode="circular"),
    same("pad", IMAGE, pad=(-2, 3, 2, -3), mode="reflect"),
    same("prelu", X, normal(1)[0]),
    same("softplus", 3 * X, beta=2.0, threshold=0.5),
    *(same("normalize", X, p=p) for p in (-1.5, -np.inf)),
    (
        "bags",
        lambda t, i, o: nn.embedding_bag(t, i, o, mode="max", padding_idx=2),
        lambda t, i, o: F.embedding_bag(i, t, o, mode="max", padding_idx=2),
        (normal(6, 3), np.array([0, 2, 5, 2, 1, 1]), np.array([0, 3, 3, 4])),
    ),
    (
        "attention of broadcast heads",
        nn.scaled_dot_product_attention,
        F.scaled_dot_product_attention,
        (normal(4, 5, 3), normal(2, 4, 6, 3), normal(2, 1, 6, 2)),
    ),
]

LABELS = RANDOM.integers(0, 7, 3)
SHARES = uniform(3, 7)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
ALL = ("mean", "sum", "none")


def losses(name: str, *args: Any, torch_name: str = "", **options: Any) -> list[Row]:
    return [same(name, *args, torch_name=torch_name, reduction=r, **options) for r in ALL]


def weighted(name: str, torch_name: str, *args: Any, **options: Any) -> Row:
    """The last argument is torch's `weight`, whatever its name here."""
    ours, theirs = getattr(nn, name), getattr(F, torch_name)
    label = f"{name} weighted {' '.join(f'{k}={v}' for k, v in options.items())}"
    key = "weight" if "weight" in inspect.signature(ours).parameters else "weights"
    return (
        label,
        lambda *a: ours(*a[:-1], **{key: a[-1]}, **options),
        lambda *a: theirs(*a[:-1], weight=a[-1], **options),
        args,
    )


ROWS += [
    *losses("cross_entropy", X, SHARES),
    same("cross_entropy", X, SHARES, label_smoothing=0.2),
    same("cross_entropy", X[0], SHARES[0]),
    weighted(
        "cross_entropy",
        "cross_entropy",
        normal(2, 4, 5),
        uniform(2, 4, 5),
        uniform(4),
        label_smoothing=0.3,
    ),
    *losses("cross_entropy", X, LABELS, label_smoothing=0.1, ignore_index=int(LABELS[1])),
    *losses("bce_loss", SHARES, uniform(3, 7), torch_name="binary_cross_entropy"),
    (
        "bce_loss weighted",
        lambda x, t, w: nn.bce_loss(x, t, w),
        lambda x, t, w: (w * F.binary_cross_entropy(x, t, reduction="none")).mean(),
        (SHARES, uniform(3, 7), uniform(7)),
    ),
    weighted("bce_with_logits", "binary_cross_entropy_with_logits", X, SHARES, Fixed(uniform(7))),
    (
        "pos_weight",
        lambda x, t, w: nn.bce_with_logits(9 * x, t, pos_weight=w, weight=w + 1),
        lambda x, t, w: F.binary_cross_entropy_with_logits(9 * x, t, pos_weight=w, weight=w + 1),
        (X, SHARES, Fixed(uniform(7))),
    ),
    *(
        same("kl_div", X, SHARES, reduction=r, log_target=log)
        for r in (*ALL, "batchmean")
        for log in (True, False)
    ),
    *losses("gaussian_nll_loss", X, normal(3, 7), uniform(3, 7), full=True),
    same("gaussian_nll_loss", X, normal(3, 7), uniform(3), eps=0.5),
    *losses("poisson_nll_loss", SHARES, 4 * uniform(3, 7), full=True),
    same("poisson_nll_loss", SHARES, 4 * uniform(3, 7), log_input=False),
    *losses("soft_margin_loss", VECTORS[0], Fixed(np.sign(VECTORS[1]))),
    weighted("multilabel_soft_margin_loss", "multilabel_soft_margin_loss", X, SHARES, uniform(7)),
    *losses("hinge_embedding_loss", 2 * VECTORS[0], np.sign(VECTORS[1]).astype(int), margin=0.7),
    *losses("cosine_embedding_loss", *VECTORS, SIGNS.astype(int), margin=-0.2),
    *losses("margin_ranking_loss", VECTORS[0][:, 0], VECTORS[1][:, 0], SIGNS, margin=0.3),
    *losses("triplet_margin_loss", *VECTORS, normal(5, 4), swap=True),
    same("triplet_margin_loss", *VECTORS, normal(5, 4), p=3.0, margin=2.0),
    *losses("multi_margin_loss", X, LABELS),
    same("multi_margin_loss", X[0], LABELS[0], p=2),
    weighted(
        "multi_margin_loss", "multi_margin_loss", X, LABELS, Fixed(uniform(7)), p=2, margin=0.6
    ),
    *losses(
        "multilabel_margin_loss",
        X,
        np.array([[3, 0, -1, 1, 2, 2, 2], [-1] * 7, [0, 1, 2, 3, 4, 5, 6]]),
    ),
    *losses("huber_loss", X, 2 * normal(3, 7), delta=0.7),
    *losses("smooth_l1_loss", X, 2 * normal(3, 7), beta=0.7),
    weighted("nll_loss", "nll_loss", X, LABELS, Fixed(uniform(7))),
]

LINE, VOLUME = normal(2, 3, 7), normal(2, 3, 4, 5, 6)
ROWS += [
    *(
        same("interpolate", x, size=s, mode=m)
        for x, s in ((LINE, 4), (LINE, 11), (IMAGE, (9, 5)), (VOLUME, (5, 3, 6)))
        for m in ("nearest", "nearest-exact", "area")
    ),
    *(
        same("interpolate", x, size=s, mode=m, align_corners=a)
        for x, s, m in (
            (LINE, 11, "linear"),
            (IMAGE, (9, 5), "bilinear"),
            (IMAGE, (9, 5), "bicubic"),
            (VOLUME, (5, 1, 7), "trilinear"),
        )
        for a in (False, True)
    ),
    *(
        same("interpolate", IMAGE, scale_factor=(1.7, 0.6), mode=m, recompute_scale_factor=r)
        for m in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
        for r in (False, True)
    ),
    *(
        (
            "adaptive",
            lambda x, f=f, s=s: getattr(nn, f)(x, s),
            lambda x, f=f, s=s: getattr(F, f)(x, s),
            (x,),
        )
        for f, x, s in (
            ("adaptive_avg_pool1d", LINE, 3),
            ("adaptive_avg_pool3d", VOLUME, (3, 5, None)),
            ("adaptive_max_pool1d", LINE, 3),
            ("adaptive_max_pool2d", IMAGE, (4, 3)),
            ("adaptive_max_pool2d", IMAGE[0], (4, 3)),
            ("adaptive_max_pool3d", VOLUME, (3, 2, 4)),
        )
    ),
    (
        "adaptive indices",
        lambda x: 1.0 * nn.adaptive_max_pool2d(x, (4, 3), return_indices=True)[1] + x[:, :, :4, :3],
        lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True)[1] + x[:, :, :4, :3],
        (IMAGE,),
    ),
]

GRID, GRID3 = 1.5 * normal(2, 5, 4, 2), 1.5 * normal(2, 3, 2, 4, 3)
CAUSAL = np.tril(np.ones((5, 6), bool))
PADDING = np.array([[False] * 5 + [True], [False] * 3 + [True] * 3])
WIDTH = 8
PARAMETERS = (
    normal(5, 2, 8),
    normal(6, 2, 8),
    normal(6, 2, 8),
    normal(24, 8),
    normal(24),
    normal(8, 8),
    normal(8),
)
BIASES = (normal(1, 1, 8), normal(1, 1, 8))


def summands(mask: Any) -> Any:
    return torch.tensor(np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask)


def attention(label: str, mask: Any, padding: Any, zeros: bool = False, biases: Any = ()) -> Row:
    """Of both, y and the weights of the heads in one array."""

    def ours(q: Any, k: Any, v: Any, w: Any, b: Any, o: Any, c: Any, *more: Any) -> Any:
        extra = dict(zip(("bias_k", "bias_v"), more, strict=False))
        y, p = nn.multi_head_attention(
            q,
            k,
            v,
            2,
            w,
            b,
            o,
            c,
            mask=mask,
            key_padding_mask=padding,
            add_zero_attn=zeros,
            average_weights=False,
            **extra,
        )
        again, _ = nn.multi_head_attention(
            q,
            k,
            v,
            2,
            w,
            b,
            o,
            c,
            mask=mask,
            key_padding_mask=padding,
            add_zero_attn=zeros,
            need_weights=False,
            **extra,
        )
        return gnp.concatenate([gnp.ravel(y), gnp.ravel(p), gnp.ravel(again)])

    def theirs(q: Any, k: Any, v: Any, w: Any, b: Any, o: Any, c: Any, *more: Any) -> Any:
        m = None if mask is None else summands(mask)
        pad = None if padding is None else summands(padding)
        y, p = F.multi_head_attention_forward(
            q,
            k,
            v,
            8,
            2,
            w,
            b,
            *(more or (None, None)),
            zeros,
            0.0,
            o,
            c,
            attn_mask=m,
            key_padding_mask=pad,
            average_attn_weights=False,
        )
        return torch.cat([y.ravel(), p.ravel(), y.ravel()])

    return label, ours, theirs, (*PARAMETERS, *biases)


ROWS += [
    *(
        same("grid_sample", x, g, mode=m, padding_mode=p, align_corners=a)
        for x, g, modes in (
            (IMAGE, GRID, ("bilinear", "nearest", "bicubic")),
            (VOLUME, GRID3, ("bilinear", "nearest")),
        )
        for m in modes
        for p in ("zeros", "border", "reflection")
        for a in (False, True)
    ),
    *(
        same("affine_grid", t, size=s, align_corners=a)
        for t, s in ((normal(2, 2, 3), (2, 3, 4, 5)), (normal(2, 3, 4), (2, 3, 4, 1, 6)))
        for a in (False, True)
    ),
    attention("heads", None, None),
    attention("heads mask", ~CAUSAL, PADDING),
    attention("heads summands", normal(4, 5, 6), None, zeros=True, biases=BIASES),
    (
        "gqa",
        lambda q, k, v: nn.scaled_dot_product_attention(
            q, k, v, CAUSAL, enable_gqa=True, scale=0.3
        ),
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, torch.tensor(CAUSAL), enable_gqa=True, scale=0.3
        ),
        (normal(2, 6, 5, 3), normal(2, 2, 6, 3), normal(2, 2, 6, 4)),
    ),
]

LOG_PROBS = normal(9, 4, 5)
CTC = np.array([[1, 2, 2], [3, 3, 3], [4, 1, 0], [1, 1, 1]])
LENGTHS = (np.array([9, 4, 7, 8]), np.array([3, 3, 2, 0]))


# torch's derivative of ctc_loss holds only of normalized probabilities, so these are made here
def ctc(x: Any, targets: Any, lengths: Any, **options: Any) -> Row:
    tensors = [torch.tensor(t) for t in (targets, *lengths)]
    label = " ".join(["ctc", *(f"{k}={v}" for k, v in options.items())])
    return (
        label,
        lambda x: nn.ctc_loss(nn.log_softmax(x, axis=-1), targets, *lengths, **options),
        lambda x: F.ctc_loss(x.log_softmax(-1), *tensors, **options),
        (x,),
    )


FEASIBLE = (LENGTHS[0], np.array([3, 2, 2, 0]))
ROWS += [
    *(ctc(LOG_PROBS, CTC, FEASIBLE, reduction=r) for r in ALL),
    *(ctc(LOG_PROBS, CTC, LENGTHS, reduction=r, zero_infinity=True) for r in ALL),
    ctc(LOG_PROBS[:, 0], CTC[0], (np.array(9), np.array(3)), blank=4),
    ctc(LOG_PROBS[:1], CTC[:, :1], (np.array([1] * 4), np.array([1] * 4))),
]


def unpooled(x: Any) -> Any:
    y, places = nn.max_pool2d(x, kernel=2, stride=2, padding=1, return_indices=True)
    return nn.max_unpool2d(y, places, 2, 2, 1, output_size=(6, 8)) * 2


def torch_unpooled(x: Any) -> Any:
    # windows that overlap are left out: torch counts the cotangent of a place twice
    y, places = F.max_pool2d(x, 2, 2, 1, return_indices=True)
    return F.max_unpool2d(y, places, 2, 2, 1, output_size=(6, 8)) * 2


def unpooled_line(x: Any) -> Any:
    return nn.max_unpool1d(*nn.max_pool1d(x, 2, return_indices=True), kernel=2)


def torch_unpooled_line(x: Any) -> Any:
    return F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), kernel_size=2)


ROWS += [
    ("unpooled", unpooled, torch_unpooled, (IMAGE,)),
    ("unpooled line", unpooled_line, torch_unpooled_line, (LINE,)),
    ("lp_pool1d", lambda x: nn.lp_pool1d(x, 2, 3, 2), lambda x: F.lp_pool1d(x, 2, 3, 2), (LINE,)),
    (
        "lp_pool2d",
        lambda x: nn.lp_pool2d(x, 3, (2, 3), ceil_mode=True),
        lambda x: F.lp_pool2d(x, 3, (2, 3), ceil_mode=True),
        (abs(IMAGE),),
    ),
    ("lp_pool3d", lambda x: nn.lp_pool3d(x, 2, 2), lambda x: F.lp_pool3d(x, 2, 2), (VOLUME,)),
]


@pytest.mark.parametrize(("ours", "theirs", "args"), [pytest.param(*r[1:], id=r[0]) for r in ROWS])
def test_values_and_gradients(ours: Any, theirs: Any, args: Any) -> None:
    wanted = [isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in args]
    args = [a.array if isinstance(a, Fixed) else np.asarray(a) for a in args]
    tensors = [torch.tensor(a, requires_grad=w) for a, w in zip(args, wanted, strict=True)]
    expected = theirs(*tensors)
    weights = np.cos(np.arange(expected.numel())).reshape(expected.shape)
    floats = [k for k, t in enumerate(tensors) if t.requires_grad]
    gradients = torch.autograd.grad(
        (expected * torch.tensor(weights)).sum(), [tensors[k] for k in floats]
    )

    def loss(*args: Any) -> Any:
        y = ours(*args)
        return gnp.sum(y * weights), y

    found = gradir.value_and_grad(loss, argnums=tuple(floats), has_aux=True)(*args)
    (_, y), ours_gradients = found
    np.testing.assert_allclose(y, expected.detach(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours(*args), y, rtol=1e-10, atol=1e-12)  # eager
    for one, other in zip(ours_gradients, gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
