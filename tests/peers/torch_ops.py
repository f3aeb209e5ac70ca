"""What PyTorch calls our ops: one function an op, on tensors and the op's attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from signed_factors import SignedFactors

torch: Any = import_module("torch")
F: Any = torch.nn.functional

Function = Callable[..., Any]


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(axis) if isinstance(axis, Sequence) else (axis,)


def _listed(value: Any, count: int) -> list[int]:
    return list(value) if isinstance(value, Sequence) else [value] * count


# Functions of the same name and meaning.

SAME = """
    abs negative exp expm1 exp2 log log1p log2 log10 sqrt rsqrt square reciprocal sin cos tan asin
    acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma sign floor ceil round trunc
    add subtract multiply divide pow maximum minimum atan2 hypot logaddexp remainder copysign
    where matmul logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
    bitwise_xor isnan isinf isfinite
""".split()
OTHER_NAMES = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "outer": "outer",
}


def _named(name: str) -> Function:
    return getattr(torch, name, None) or getattr(torch.linalg, name)


# Reductions.


def _reduce(function: Function) -> Function:
    def reduced(x: Any, axis: Any = None, keepdims: bool = False, **rest: Any) -> Any:
        axes = _axes(x, axis)
        return (
            function(x, dim=axes, keepdim=keepdims, **rest)
            if axes
            else function(x.unsqueeze(0), dim=(0,), keepdim=False, **rest)
        )

    return reduced


def _one_by_one(function: Function) -> Function:
    """A reduction that PyTorch has of one dimension at a time."""

    def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = sorted(a % x.ndim for a in _axes(x, axis))
        x = x if function is torch.prod else x.bool()
        for a in reversed(axes):
            x = function(x, dim=a, keepdim=keepdims)
        return x

    return reduced


def _var(x: Any, dim: Any, keepdim: bool, correction: float = 0) -> Any:
    return torch.var(x, dim, correction=correction, keepdim=keepdim)


def _std(x: Any, dim: Any, keepdim: bool, correction: float = 0) -> Any:
    return torch.std(x, dim, correction=correction, keepdim=keepdim)


def _norm(x: Any, dim: Any, keepdim: bool, ord: float = 2) -> Any:
    return torch.linalg.vector_norm(x, float(ord), dim, keepdim)


def _arg(function: Function) -> Function:
    def found(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = _axes(x, axis)
        if axis is None:
            at = function(x.reshape(-1), dim=0)
            return at.reshape((1,) * x.ndim) if keepdims else at
        return function(x, dim=axes[0], keepdim=keepdims)

    return found


def _cumulative(function: Function, start: Function) -> Function:
    def scanned(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
        x = x.flip(axis) if reverse else x
        if exclusive and x.shape[axis]:
            first = start(x.narrow(axis, 0, 1))
            x = torch.concat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        y = function(x, axis)
        return y.flip(axis) if reverse else y

    return scanned


# Movement.


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    return x if min is None and max is None else torch.clip(x, min, max)


def _iota(shape: Sequence[int], dtype: Any, axis: int) -> Any:
    axis %= len(shape)
    line = torch.arange(shape[axis], dtype=dtype)
    return line.reshape([-1 if a == axis else 1 for a in range(len(shape))]).broadcast_to(shape)


def _expand_dims(x: Any, axis: Any) -> Any:
    rank = x.ndim + len(_axes(x, axis))
    for a in sorted(a % rank for a in _axes(x, axis)):
        x = x.unsqueeze(a)
    return x


def _squeeze(x: Any, axis: Any = None) -> Any:
    return x.squeeze() if axis is None else x.squeeze(_axes(x, axis))


def _pad(x: Any, low: Any, high: Any, value: float = 0, mode: str = "constant") -> Any:
    lows, highs = _listed(low, x.ndim), _listed(high, x.ndim)
    if mode != "constant":
        for a, (before, after) in enumerate(zip(lows, highs, strict=True)):
            n = x.shape[a]
            places = torch.arange(-before, n + after)
            if mode == "edge":
                places = places.clamp(0, n - 1)
            else:
                places = (places.abs() if n > 1 else places * 0) % max(2 * n - 2, 1)
                places = torch.where(places >= n, 2 * n - 2 - places, places)
            x = x.index_select(a, places)
        return x
    widths = [w for pair in zip(reversed(lows), reversed(highs), strict=True) for w in pair]
    return F.pad(x, widths, value=value)


def _slice(x: Any, start: Any = 0, stop: Any = None, step: Any = 1) -> Any:
    starts, steps = _listed(start, x.ndim), _listed(step, x.ndim)
    stops = list(x.shape) if stop is None else _listed(stop, x.ndim)
    return x[tuple(slice(*bounds) for bounds in zip(starts, stops, steps, strict=True))]


def _take(x: Any, indices: Any, axis: int = 0) -> Any:
    axis %= x.ndim
    indices = indices.long()
    indices = torch.where(indices < 0, indices + x.shape[axis], indices)
    taken = x.index_select(axis, indices.reshape(-1))
    return taken.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _take_along_axis(x: Any, indices: Any, axis: int = 0) -> Any:
    indices = indices.long()
    return torch.take_along_dim(x, torch.where(indices < 0, indices + x.shape[axis], indices), axis)


def _scatter_add(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    axis %= x.ndim
    rows = updates.reshape((*x.shape[:axis], indices.numel(), *x.shape[axis + 1 :]))
    indices = indices.long()
    indices = torch.where(indices < 0, indices + x.shape[axis], indices)
    return x.index_add(axis, indices.reshape(-1), rows)


def _repeat(x: Any, count: int, axis: int | None = None) -> Any:
    return x.repeat_interleave(count, axis)


def _tile(x: Any, repeats: Any) -> Any:
    return x.tile(tuple(_listed(repeats, 1)))


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return torch.roll(x, shift)
    axes = _axes(x, axis)
    return torch.roll(x, tuple(_listed(shift, len(axes))), axes)


def _split(x: Any, axis: int = 0, sizes: Sequence[int] = ()) -> Any:
    return torch.split(x, _listed(sizes, 1), axis)


def _dynamic_slice(x: Any, *starts: Any, sizes: Any) -> Any:
    places = _listed(sizes, x.ndim)
    for a, (start, size) in enumerate(zip(starts, places, strict=True)):
        first = min(max(int(start), 0), x.shape[a] - size)
        x = x.narrow(a, first, size)
    return x


def _dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    y = x.clone()
    view = y
    for a, start in enumerate(starts):
        size = update.shape[a]
        view = view.narrow(a, min(max(int(start), 0), x.shape[a] - size), size)
    view.copy_(update)
    return y


# Layers and losses.


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    return F.linear(x, weight, bias)


def _to_front(x: Any, layout: str) -> Any:
    """Channels first."""
    return x if layout == "NCHW" or x.ndim < 3 else x.movedim(-1, 1)


def _from_front(x: Any, layout: str) -> Any:
    return x if layout == "NCHW" or x.ndim < 3 else x.movedim(1, -1)


def _scale_and_bias(others: Sequence[Any], rest: dict[str, Any]) -> tuple[Any, Any]:
    """The two optional operands of a norm; the generic form's segments say which one is there."""
    if "operandSegmentSizes" in rest:
        return torch.ones_like(others[0]), others[0]
    return (*others, None, None)[0], (*others, None, None)[1]


def _over_axes(function: Function, default: float) -> Function:
    def normalized(x: Any, *others: Any, axes: Any = -1, eps: float = default, **rest: Any) -> Any:
        lines = sorted(a % x.ndim for a in _axes(x, axes))
        order = [a for a in range(x.ndim) if a not in lines] + lines
        inverse = sorted(range(x.ndim), key=order.__getitem__)
        scale, bias = _scale_and_bias(others, rest)
        shape = [x.shape[a] for a in lines]
        return function(x.permute(order), shape, scale, bias, eps).permute(inverse)

    return normalized


def _rms(x: Any, shape: Any, scale: Any, bias: Any, eps: float) -> Any:
    y = F.rms_norm(x, shape, scale, eps)
    return y if bias is None else y + bias


def _group_norm(
    x: Any, *others: Any, groups: int, layout: str = "NCHW", eps: float = 1e-5, **rest: Any
) -> Any:
    y = F.group_norm(_to_front(x, layout), groups, *_scale_and_bias(others, rest), eps)
    return _from_front(y, layout)


def _instance_norm(x: Any, *others: Any, layout: str = "NCHW", eps: float = 1e-5, **rest: Any):
    channels = x.shape[1] if layout == "NCHW" else x.shape[-1]
    return _group_norm(x, *others, groups=channels, layout=layout, eps=eps, **rest)


def _batch_norm(
    x: Any, scale: Any, bias: Any, mean: Any, var: Any, eps: float = 1e-5, momentum: float = 0.1,
    training: bool = False, layout: str = "NCHW",
) -> Any:  # fmt: skip
    after = mean.detach().clone(), var.detach().clone()
    front = _to_front(x, layout)
    statistics = after if training else (mean.detach(), var.detach())
    y = F.batch_norm(front, *statistics, scale, bias, training, momentum, eps)
    return (_from_front(y, layout), *after)


def _nll(function: Function) -> Function:
    def loss(scores: Any, targets: Any, weights: Any = None, ignore_index: int = -100,
             **rest: Any) -> Any:  # fmt: skip
        classes = scores.shape[1] if scores.ndim > 1 else scores.shape[0]
        targets = targets.long()
        counted = (targets != ignore_index) & (targets < 0)
        targets = torch.where(counted, targets + classes, targets)
        return function(scores, targets, weights, ignore_index=ignore_index, **rest)

    return loss


def _kl_div(x: Any, target: Any, reduction: str = "mean") -> Any:
    return F.kl_div(x, target, reduction=reduction)


def _pairs(padding: Any, rank: int) -> tuple[list[int], list[int]]:
    """Padding before and behind, of [h, w] or [top, left, bottom, right]."""
    numbers = _listed(padding, rank)
    return (numbers, numbers) if len(numbers) == rank else (numbers[:rank], numbers[rank:])


def _conv(function: Function, rank: int) -> Function:
    def conv(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, layout: str = "NCHW",
    ) -> Any:  # fmt: skip
        if layout != "NCHW":
            x, weight = x.movedim(-1, 1), weight.movedim((-1, -2), (0, 1))
        low, high = _pairs(padding, rank)
        widths = [w for pair in zip(reversed(low), reversed(high), strict=True) for w in pair]
        args = [tuple(_listed(v, rank)) for v in (stride, 0, dilation)]
        y = function(F.pad(x, widths), weight, bias, *args, groups)
        return y if layout == "NCHW" else y.movedim(1, -1)

    return conv


def _max_pool(function: Function, rank: int) -> Function:
    def pool(
        x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, layout: str = "NCHW",
    ) -> Any:  # fmt: skip
        low, high = _pairs(padding, rank)
        front = x if layout == "NCHW" else x.movedim(-1, 1)
        if low != high:
            widths = [w for pair in zip(reversed(low), reversed(high), strict=True) for w in pair]
            front, low = F.pad(front, widths, value=-torch.inf), [0] * rank
        steps = _listed(kernel if stride is None else stride, rank)
        y = function(front, _listed(kernel, rank), steps, low, _listed(dilation, rank),
                     ceil_mode=ceil_mode)  # fmt: skip
        return y if layout == "NCHW" else y.movedim(1, -1)

    return pool


def _avg_pool(function: Function, rank: int) -> Function:
    def pool(
        x: Any, kernel: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, layout: str = "NCHW",
    ) -> Any:  # fmt: skip
        low, high = _pairs(padding, rank)
        front = x if layout == "NCHW" else x.movedim(-1, 1)
        if low != high:
            assert count_include_pad, "PyTorch pads evenly"
            widths = [w for pair in zip(reversed(low), reversed(high), strict=True) for w in pair]
            front, low = F.pad(front, widths), [0] * rank
        steps = _listed(kernel if stride is None else stride, rank)
        y = function(front, _listed(kernel, rank), steps, low, ceil_mode, count_include_pad)
        return y if layout == "NCHW" else y.movedim(1, -1)

    return pool


def _conv_transpose(function: Function, rank: int) -> Function:
    def transposed(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str = "NCHW",
    ) -> Any:  # fmt: skip
        if layout != "NCHW":
            x, weight = x.movedim(-1, 1), weight.movedim((-1, -2), (0, 1))
        low, high = _pairs(padding, rank)
        strides, added, steps = (
            tuple(_listed(given, rank)) for given in (stride, output_padding, dilation)
        )
        y = function(x, weight, None, strides, 0, added, groups, steps)
        ends = [n - cut for n, cut in zip(y.shape[2:], high, strict=True)]
        y = y[(..., *(slice(*bounds) for bounds in zip(low, ends, strict=True)))]
        y = y if bias is None else y + bias.reshape(-1, *[1] * rank)
        return y if layout == "NCHW" else y.movedim(1, -1)

    return transposed


def _adaptive_avg_pool2d(x: Any, size: Any, layout: str = "NCHW") -> Any:
    y = F.adaptive_avg_pool2d(x if layout == "NCHW" else x.movedim(-1, 1), _listed(size, 2))
    return y if layout == "NCHW" else y.movedim(1, -1)


def _resize2d(x: Any, size: Any, mode: str = "nearest", layout: str = "NCHW") -> Any:
    batch = x if x.ndim == 4 else x[None]
    front = batch if layout == "NCHW" else batch.movedim(-1, 1)
    y = F.interpolate(front, tuple(_listed(size, 2)), mode=mode)
    y = y if layout == "NCHW" else y.movedim(1, -1)
    return y if x.ndim == 4 else y[0]


def _pixel_shuffle(x: Any, factor: int, layout: str = "NCHW") -> Any:
    front = x if layout == "NCHW" else x.movedim(-1, 1)
    y = F.pixel_shuffle(front, factor)
    return y if layout == "NCHW" else y.movedim(1, -1)


def _embedding(table: Any, ids: Any, padding_idx: int | None = None) -> Any:
    ids = torch.where(ids < 0, ids + table.shape[0], ids).long()
    return F.embedding(ids, table, padding_idx)


def _attention(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False,
               scale: float | None = None) -> Any:  # fmt: skip
    if causal and mask is not None:
        below = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        keeps = mask & below if mask.dtype == torch.bool else None
        mask = torch.where(below, mask, -torch.inf) if keeps is None else keeps
        causal = False
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)


def _lstm_cell(x: Any, h: Any, c: Any, *weights: Any) -> Any:
    return _cell(torch.lstm_cell, x, (h, c), weights)


def _gru_cell(x: Any, h: Any, *weights: Any) -> Any:
    return _cell(torch.gru_cell, x, (h,), weights)


def _cell(function: Function, x: Any, state: tuple[Any, ...], weights: Any) -> Any:
    """PyTorch's cells take one batch dimension, and crash where there are more."""
    lead = x.shape[:-1]
    flat = tuple(s.reshape(-1, s.shape[-1]) for s in state)
    x = x.reshape(-1, x.shape[-1])
    if len(flat) == 1:
        return function(x, flat[0], *weights).reshape(state[0].shape)
    return tuple(r.reshape(*lead, r.shape[-1]) for r in function(x, flat, *weights))


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return F.elu(x, alpha)


def _sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return torch.sort(x, dim=axis, descending=descending, stable=True)[0]


def _argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return torch.sort(x, dim=axis, descending=descending, stable=True)[1]


def _searchsorted(x: Any, v: Any, side: str = "left") -> Any:
    """On numbers alone, with inf for nan, for which torch.searchsorted has another order."""

    def numbers(z: Any) -> Any:
        if not z.is_floating_point():
            return z.to(torch.int64)
        return torch.where(torch.isnan(z), torch.inf, z.clamp(-1e30, 1e30))

    wanted = numbers(v).reshape(*x.shape[:-1], -1)
    return torch.searchsorted(numbers(x), wanted, side=side).reshape(v.shape)


def _top_k(x: Any, k: int, axis: int = -1, largest: bool = True) -> Any:
    """By a stable sort: the order of equal elements is left open by torch.topk."""
    return tuple(
        r.narrow(axis, 0, k) for r in torch.sort(x, dim=axis, descending=largest, stable=True)
    )


def _triangular_solve(
    a: Any, b: Any, lower: bool = True, transpose: bool = False, unit_diagonal: bool = False
) -> Any:
    a = a.mT if transpose else a
    single = b.ndim < a.ndim
    b = b[..., None] if single else b
    y = torch.linalg.solve_triangular(a, b, upper=lower == transpose, unitriangular=unit_diagonal)
    return y[..., 0] if single else y


def _solve(a: Any, b: Any, transpose: bool = False) -> Any:
    return torch.linalg.solve(a.mT if transpose else a, b)


def _cholesky(a: Any) -> Any:
    """PyTorch reads one triangle, we the symmetric part."""
    return torch.linalg.cholesky_ex((a + a.mT) / 2)[0]


def _signs(vectors: Any, like: Any) -> Any:
    return (vectors.detach() * torch.tensor(like)).sum(-2, keepdim=True).sign()


_FACTORS = SignedFactors(torch.linalg, _signs)


def _activation(function: Function, **names: str) -> Function:
    """Ours by PyTorch's; `names` are its names of our attributes."""

    def activation(*xs: Any, **attributes: Any) -> Any:
        return function(*xs, **{names.get(key, key): v for key, v in attributes.items()})

    return activation


# These are also told the shape and the element type of the result.
TYPED = "full iota eye astype reshape broadcast_to".split()

TORCH: dict[str, Function] = {
    **{f"array.{name}": _named(name) for name in SAME},
    **{f"array.{ours}": _named(theirs) for ours, theirs in OTHER_NAMES.items()},
    "array.floor_divide": lambda x, y: torch.floor_divide(x.detach(), y.detach()),
    "array.clip": _clip,
    "array.full": lambda shape, dtype, value: torch.full(shape, value, dtype=dtype),
    "array.iota": _iota,
    "array.eye": lambda shape, dtype, k=0: torch.ones(shape, dtype=dtype).triu(k).tril(k),
    "array.astype": lambda x, shape, dtype: x.to(dtype),
    "array.reshape": lambda x, shape, dtype: x.reshape(shape),
    "array.broadcast_to": lambda x, shape, dtype: x.broadcast_to(shape),
    "array.sum": _reduce(torch.sum),
    "array.mean": _reduce(torch.mean),
    "array.max": _reduce(torch.amax),
    "array.min": _reduce(torch.amin),
    "array.var": _reduce(_var),
    "array.std": _reduce(_std),
    "array.norm": _reduce(_norm),
    "array.logsumexp": _reduce(torch.logsumexp),
    "array.prod": _one_by_one(torch.prod),
    "array.any": _one_by_one(torch.any),
    "array.all": _one_by_one(torch.all),
    "array.argmax": _arg(torch.argmax),
    "array.argmin": _arg(torch.argmin),
    "array.cumulative_sum": _cumulative(torch.cumsum, torch.zeros_like),
    "array.cumulative_prod": _cumulative(torch.cumprod, torch.ones_like),
    "array.permute_dims": lambda x, axes: x.permute(tuple(axes)),
    "array.expand_dims": _expand_dims,
    "array.squeeze": _squeeze,
    "array.flip": lambda x, axis=None: x.flip(_axes(x, axis)),
    "array.slice": _slice,
    "array.pad": _pad,
    "array.concat": lambda *xs, axis=0: torch.concat(xs, axis),
    "array.stack": lambda *xs, axis=0: torch.stack(xs, axis),
    "array.split": _split,
    "array.roll": _roll,
    "array.tile": _tile,
    "array.repeat": _repeat,
    "array.tril": lambda x, k=0: torch.tril(x, k),
    "array.triu": lambda x, k=0: torch.triu(x, k),
    "array.diagonal": lambda x, offset=0: torch.diagonal(x, offset, -2, -1),
    "array.trace": lambda x, offset=0: torch.diagonal(x, offset, -2, -1).sum(-1),
    "array.dynamic_slice": _dynamic_slice,
    "array.dynamic_update_slice": _dynamic_update_slice,
    "array.take": _take,
    "array.take_along_axis": _take_along_axis,
    "array.scatter_add": _scatter_add,
    "array.sort": _sort,
    "array.argsort": _argsort,
    "array.searchsorted": _searchsorted,
    "array.top_k": _top_k,
    "array.einsum": lambda *xs, equation: torch.einsum(equation, *xs),
    "array.vecdot": lambda a, b, axis=-1: torch.linalg.vecdot(a, b, dim=axis),
    "array.triangular_solve": _triangular_solve,
    "array.cholesky": _cholesky,
    "array.eigh": _FACTORS.eigh,
    "array.svd": _FACTORS.svd,
    "array.qr": _FACTORS.qr,
    "array.pinv": lambda a, rcond=None: torch.linalg.pinv(a, rtol=rcond),
    "array.inv": torch.linalg.inv,
    "array.det": torch.linalg.det,
    "array.slogdet": lambda a: tuple(torch.linalg.slogdet(a)),
    "array.solve": _solve,
    "nn.relu": F.relu,
    "nn.sigmoid": torch.sigmoid,
    "nn.silu": F.silu,
    "nn.gelu": F.gelu,
    "nn.mish": F.mish,
    "nn.softplus": F.softplus,
    "nn.logsigmoid": F.logsigmoid,
    "nn.softsign": F.softsign,
    "nn.softmax": lambda x, axis=-1: F.softmax(x, axis),
    "nn.log_softmax": lambda x, axis=-1: F.log_softmax(x, axis),
    "nn.leaky_relu": _activation(F.leaky_relu, slope="negative_slope"),
    "nn.elu": _elu,
    "nn.celu": F.celu,
    "nn.selu": F.selu,
    "nn.hardtanh": F.hardtanh,
    "nn.hardsigmoid": F.hardsigmoid,
    "nn.hardswish": F.hardswish,
    "nn.prelu": F.prelu,
    "nn.glu": _activation(F.glu, axis="dim"),
    "nn.linear": _linear,
    "nn.layer_norm": _over_axes(F.layer_norm, 1e-5),
    "nn.rms_norm": _over_axes(_rms, 2**-52),
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _instance_norm,
    "nn.batch_norm": _batch_norm,
    "nn.nll_loss": _nll(F.nll_loss),
    "nn.cross_entropy": _nll(F.cross_entropy),
    "nn.mse_loss": F.mse_loss,
    "nn.l1_loss": F.l1_loss,
    "nn.huber_loss": F.huber_loss,
    "nn.smooth_l1_loss": F.smooth_l1_loss,
    "nn.bce_loss": F.binary_cross_entropy,
    "nn.bce_with_logits": F.binary_cross_entropy_with_logits,
    "nn.kl_div": _kl_div,
    "nn.conv1d": _conv(F.conv1d, 1),
    "nn.conv2d": _conv(F.conv2d, 2),
    "nn.conv3d": _conv(F.conv3d, 3),
    **{f"nn.conv_transpose{d}d": _conv_transpose(getattr(F, f"conv_transpose{d}d"), d)
       for d in (1, 2, 3)},
    "nn.max_pool1d": _max_pool(F.max_pool1d, 1),
    "nn.max_pool2d": _max_pool(F.max_pool2d, 2),
    "nn.max_pool3d": _max_pool(F.max_pool3d, 3),
    "nn.avg_pool1d": _avg_pool(F.avg_pool1d, 1),
    "nn.avg_pool2d": _avg_pool(F.avg_pool2d, 2),
    "nn.avg_pool3d": _avg_pool(F.avg_pool3d, 3),
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "nn.resize2d": _resize2d,
    "nn.pixel_shuffle": _pixel_shuffle,
    "nn.embedding": _embedding,
    "nn.attention": _attention,
    "nn.lstm_cell": _lstm_cell,
    "nn.gru_cell": _gru_cell,
}  # fmt: skip
