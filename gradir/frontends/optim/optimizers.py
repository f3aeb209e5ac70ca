"""Optimizers: chains of transformations under the names and with the defaults of optax.

In the formulas g is the gradient, p the parameter, lr the learning rate, and the new parameter
p + update. `learning_rate` is a number, an array of rank 0, or a schedule. `state_dtype` is the
dtype of the running averages, the parameters' if None; "float32" for parameters in bfloat16 and
float16, whose squares would leave the range or the precision of these.

Gradients may have gradir.RowSlices as leaves. A step then does the same as with the dense gradient.
With `lazy`, state and parameters change in the rows of such a leaf alone, by the same formula, and
all other rows stay as they are; the count of steps grows for all rows alike.
"""

from __future__ import annotations

from typing import Any

from gradir.frontends.optim.adaptive import (
    scale_by_adam,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
)
from gradir.frontends.optim.averages import ema
from gradir.frontends.optim.factored import scale_by_factored_rms
from gradir.frontends.optim.scaling import (
    ScalarOrSchedule,
    add_decayed_weights,
    clip_by_block_rms,
    scale,
    scale_by_learning_rate,
    scale_by_param_block_rms,
    scale_by_trust_ratio,
    trace,
)
from gradir.frontends.optim.transformation import GradientTransformation, chain
from gradir.frontends.tracing.source_locations import named_options


@named_options
def sgd(
    learning_rate: ScalarOrSchedule,
    momentum: float | None = None,
    nesterov: bool = False,
    state_dtype: Any = None,
    lazy: bool = False,
) -> GradientTransformation:
    """Stochastic gradient descent: update -lr g; with momentum -lr t', t' = g + momentum t.

    `nesterov`: -lr (g + momentum t'). Robbins and Monro, 1951; Polyak, 1964; Sutskever et al., On
    the importance of initialization and momentum in deep learning, 2013, where lr is inside t.
    torch.optim.SGD is the same without dampening; its weight_decay is
    chain(add_decayed_weights(weight_decay), sgd(...)). With `lazy`, which is MXNet's lazy_update,
    t' and the update are of the rows of row slices alone. Without momentum it says nothing.
    """
    rate = scale_by_learning_rate(learning_rate)
    if momentum is None:
        return chain(rate)
    return chain(trace(momentum, nesterov, state_dtype, lazy), rate)


@named_options
def adagrad(
    learning_rate: ScalarOrSchedule,
    initial_accumulator_value: float = 0.1,
    eps: float = 1e-7,
    state_dtype: Any = None,
) -> GradientTransformation:
    """s' = s + g**2, update -lr g / sqrt(s' + eps); 0 where s' is 0.

    Duchi et al., Adaptive Subgradient Methods, 2011. torch.optim.Adagrad adds eps = 1e-10 to the
    root, and its s begins with 0.
    """
    scaled = scale_by_rss(initial_accumulator_value, eps, state_dtype)
    return chain(scaled, scale_by_learning_rate(learning_rate))


@named_options
def rmsprop(
    learning_rate: ScalarOrSchedule,
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: float | None = None,
    nesterov: bool = False,
    state_dtype: Any = None,
    lazy: bool = False,
) -> GradientTransformation:
    """v' = decay v + (1 - decay) g**2, update -lr g / sqrt(v' + eps).

    `centered` takes the variance max(v' - m'**2, 0) for v', m' = decay m + (1 - decay) g (Graves,
    Generating Sequences With Recurrent Neural Networks, 2013); `momentum` sums the updates up,
    which have the learning rate of their step in them. Tieleman and Hinton, Lecture 6.5, 2012.
    torch.optim.RMSprop has decay = 0.99, adds eps to the root (eps_in_sqrt=False), and multiplies
    the sum of momentum by the learning rate of the last step; neither it nor optax bounds the
    variance by 0. optax's bias_correction is scale_by_adam with b1 = 0. With `lazy`, all of this is
    of the rows of row slices alone.
    """
    by = scale_by_stddev if centered else scale_by_rms
    scaled = by(decay, eps, initial_scale, eps_in_sqrt, state_dtype, lazy)
    rate = scale_by_learning_rate(learning_rate)
    if momentum is None:
        return chain(scaled, rate)
    return chain(scaled, rate, trace(momentum, nesterov, state_dtype, lazy))


@named_options
def adam(
    learning_rate: ScalarOrSchedule,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    state_dtype: Any = None,
    nesterov: bool = False,
    lazy: bool = False,
) -> GradientTransformation:
    """m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g**2, and the update

        -lr (m' / (1 - b1**t)) / (sqrt(v' / (1 - b2**t) + eps_root) + eps), with t = 1 first.

    Kingma and Ba, Adam, 2015 (https://arxiv.org/abs/1412.6980); `nesterov`: Dozat, Incorporating
    Nesterov Momentum into Adam, 2016. torch.optim.Adam is the same with eps_root = 0. 1 - b**t is
    computed in float64, as in torch; in float32 in optax. optax's mu_dtype is of m alone.

    With `lazy`, row slices change m and v, and give updates, in their rows alone, and other rows
    stay as they are; t counts all steps. torch.optim.SparseAdam and LazyAdam of TensorFlow Addons
    are that, with eps / sqrt(1 - b2**t) for eps.
    """
    scaled = scale_by_adam(b1, b2, eps, eps_root, state_dtype, nesterov, lazy)
    return chain(scaled, scale_by_learning_rate(learning_rate))


@named_options
def adamw(
    learning_rate: ScalarOrSchedule,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    state_dtype: Any = None,
    weight_decay: float = 1e-4,
    mask: Any = None,
    nesterov: bool = False,
    lazy: bool = False,
) -> GradientTransformation:
    """adam's update, and -lr weight_decay p added to it, for the leaves that `mask` chooses.

    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019
    (https://arxiv.org/abs/1711.05101), where weight decay is not multiplied by lr.
    torch.optim.AdamW is the same with weight_decay = 1e-2. `mask` as for add_decayed_weights,
    `lazy` as for adam; other rows do not decay either.
    """
    scaled = scale_by_adam(b1, b2, eps, eps_root, state_dtype, nesterov, lazy)
    decayed = add_decayed_weights(weight_decay, mask, lazy)
    return chain(scaled, decayed, scale_by_learning_rate(learning_rate))


@named_options
def lamb(
    learning_rate: ScalarOrSchedule,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    eps_root: float = 0.0,
    weight_decay: float = 0.0,
    mask: Any = None,
    state_dtype: Any = None,
) -> GradientTransformation:
    """With u = adam's direction + weight_decay p, the update -lr u norm(p) / norm(u), by leaves.

    -lr u where one of the norms is 0. You et al., Large Batch Optimization for Deep Learning, 2020
    (https://arxiv.org/abs/1904.00962), with the identity as its phi. torch.optim has none.
    """
    scaled = scale_by_adam(b1, b2, eps, eps_root, state_dtype)
    decayed = add_decayed_weights(weight_decay, mask)
    return chain(scaled, decayed, scale_by_trust_ratio(), scale_by_learning_rate(learning_rate))


@named_options
def lion(
    learning_rate: ScalarOrSchedule,
    b1: float = 0.9,
    b2: float = 0.99,
    state_dtype: Any = None,
    weight_decay: float = 1e-3,
    mask: Any = None,
    lazy: bool = False,
) -> GradientTransformation:
    """Update -lr (sign(b1 m + (1 - b1) g) + weight_decay p), then m' = b2 m + (1 - b2) g.

    Chen et al., Symbolic Discovery of Optimization Algorithms, 2023
    (https://arxiv.org/abs/2302.06675). torch.optim has none. With `lazy`, all of this is of the
    rows of row slices alone.
    """
    scaled = scale_by_lion(b1, b2, state_dtype, lazy)
    decayed = add_decayed_weights(weight_decay, mask, lazy)
    return chain(scaled, decayed, scale_by_learning_rate(learning_rate))


@named_options
def adafactor(
    learning_rate: ScalarOrSchedule | None = None,
    min_dim_size_to_factor: int = 128,
    decay_rate: float = 0.8,
    decay_offset: int = 0,
    multiply_by_parameter_scale: bool = True,
    clipping_threshold: float | None = 1.0,
    momentum: float | None = None,
    weight_decay_rate: float | None = None,
    eps: float = 1e-30,
    factored: bool = True,
    weight_decay_mask: Any = None,
    state_dtype: Any = None,
) -> GradientTransformation:
    """Second moments of matrices as the product of a row and a column (scale_by_factored_rms).

    With u = g / sqrt(V') of that, the update is -lr max(rms(p), 1e-3) u / max(1, rms(u) /
    clipping_threshold), where rms is the root of the mean square of a leaf; `momentum` averages it,
    and weight_decay_rate p, not times lr, is subtracted from it. Without `learning_rate` lr = 1.
    Shazeer and Stern, Adafactor, 2018 (https://arxiv.org/abs/1804.04235).
    torch.optim.Adafactor factors the last two axes of any size (here: the two largest), has
    lr = min(learning_rate, 1 / sqrt(t)), adds no eps to squares but bounds V' by it, and
    multiplies weight decay by learning_rate. optax has a dtype_momentum, float32
    by default, in place of `state_dtype`.
    """
    parts = [
        scale_by_factored_rms(
            *(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps, state_dtype)
        )
    ]
    if clipping_threshold is not None:
        parts.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        parts.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        parts.append(scale_by_param_block_rms())
    if momentum is not None:
        parts.append(ema(momentum, debias=False, state_dtype=state_dtype))
    if weight_decay_rate is not None:
        parts.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*parts, scale(-1))
