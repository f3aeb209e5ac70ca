"""The programs' `flow` of gradir, with a loop policy for all loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir

Function = Callable[..., Any]


class GradirFlow:
    """`counted` is the policy of scan and fori_loop, `unbounded` the policy of while_loop."""

    cond, jit = staticmethod(gradir.cond), staticmethod(gradir.jit)
    grad, vmap = staticmethod(gradir.grad), staticmethod(gradir.vmap)
    checkpoint = staticmethod(gradir.checkpoint)

    def __init__(self, counted: str = "store_all", unbounded: str = "store_all"):
        self.counted, self.unbounded = counted, unbounded

    def while_loop(self, condition: Function, body: Function, init: Any) -> Any:
        return gradir.while_loop(condition, body, init, policy=self.unbounded)

    def fori_loop(self, lower: Any, upper: Any, body: Function, init: Any) -> Any:
        return gradir.fori_loop(lower, upper, body, init, policy=self.counted)

    def scan(
        self, function: Function, init: Any, xs: Any, length: int | None = None,
        reverse: bool = False,
    ) -> Any:  # fmt: skip
        return gradir.scan(function, init, xs, length, reverse, policy=self.counted)

    def set(self, x: Any, i: Any, v: Any) -> Any:
        return x.at[i].set(v)

    def add(self, x: Any, i: Any, v: Any) -> Any:
        return x.at[i].add(v)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)
