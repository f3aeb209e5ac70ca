"""Tapes that pass through a block: ops of the block push on them and pop from them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from gradir.dialects.grad.tape import TapeType


@dataclass
class TapeThread:
    """A tape that passes through a block: its current value in the forward and the backward code.

    Without a `backward` value, the backward code starts from the forward code's last one.
    """

    type: TapeType
    forward: SSAValue
    backward: SSAValue | None = None

    def in_backward(self) -> SSAValue:
        return self.forward if self.backward is None else self.backward
