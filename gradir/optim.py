"""gradir.optim: optimizers, schedules and a step of training, in optax's vocabulary."""

from typing import TYPE_CHECKING

from gradir.frontends.functions.missing_names import missing
from gradir.frontends.optim.adaptive import (
    ScaleByAdamState,
    ScaleByLionState,
    ScaleByRmsState,
    ScaleByRssState,
    ScaleByStddevState,
    scale_by_adam,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
)
from gradir.frontends.optim.as_module import (
    to_module,
)
from gradir.frontends.optim.averages import (
    EmaState,
    PolyakState,
    ema,
    polyak_average,
)
from gradir.frontends.optim.clipping import (
    clip,
    clip_by_global_norm,
    global_norm,
)
from gradir.frontends.optim.factored import (
    FactoredState,
    scale_by_factored_rms,
)
from gradir.frontends.optim.loss_scale import (
    LossScaleState,
    dynamic_loss_scale,
    static_loss_scale,
)
from gradir.frontends.optim.optimizers import (
    adafactor,
    adagrad,
    adam,
    adamw,
    lamb,
    lion,
    rmsprop,
    sgd,
)
from gradir.frontends.optim.scaling import (
    ScalarOrSchedule,
    ScaleByScheduleState,
    TraceState,
    add_decayed_weights,
    clip_by_block_rms,
    scale,
    scale_by_learning_rate,
    scale_by_param_block_rms,
    scale_by_schedule,
    scale_by_trust_ratio,
    trace,
)
from gradir.frontends.optim.schedules import (
    Schedule,
    constant_schedule,
    cosine_decay_schedule,
    exponential_decay,
    join_schedules,
    linear_schedule,
    piecewise_constant_schedule,
    warmup_cosine_decay_schedule,
)
from gradir.frontends.optim.train_step import (
    train_step,
)
from gradir.frontends.optim.transformation import (
    EmptyState,
    GradientTransformation,
    apply_updates,
    chain,
    identity,
)

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.optim", {})

__all__ = [
    "EmaState",
    "EmptyState",
    "FactoredState",
    "GradientTransformation",
    "LossScaleState",
    "PolyakState",
    "ScalarOrSchedule",
    "ScaleByAdamState",
    "ScaleByLionState",
    "ScaleByRmsState",
    "ScaleByRssState",
    "ScaleByScheduleState",
    "ScaleByStddevState",
    "Schedule",
    "TraceState",
    "adafactor",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_block_rms",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "dynamic_loss_scale",
    "ema",
    "exponential_decay",
    "global_norm",
    "identity",
    "join_schedules",
    "lamb",
    "linear_schedule",
    "lion",
    "piecewise_constant_schedule",
    "polyak_average",
    "rmsprop",
    "scale",
    "scale_by_adam",
    "scale_by_factored_rms",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_param_block_rms",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "scale_by_trust_ratio",
    "sgd",
    "static_loss_scale",
    "to_module",
    "trace",
    "train_step",
    "warmup_cosine_decay_schedule",
]
