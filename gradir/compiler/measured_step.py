"""gradir-train-step, whose gradient may have a policy or a memory limit for this machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from gradir.compiler.measured_gradient import ArenaBytes, measure_here
from gradir.passes.training import train_step as training

train_step = partial(training.train_step, measuring=measure_here)
"""A step of training, whose gradient may have a policy or a memory limit."""


@dataclass(frozen=True)
class MeasuredTrainStepPass(training.TrainStepPass):
    """Join a loss function and an optimizer's function into a step of training."""

    def measure(self) -> ArenaBytes:
        return measure_here()
