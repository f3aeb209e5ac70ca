"""A profile: the parts of a function's calls with their time, work, and share of the limits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gradir.profiling.limits import Limits


@dataclass(frozen=True)
class Line:
    """A line of the user's program; `text` is empty where the source is not known."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True)
class Part:
    """One part of a call: a kernel at its source lines, a host call, a loop, waiting, the rest.

    `calls` and `seconds` are averages over calls of the function. `ops` are the names of the ops
    that the part runs. One call of a kernel takes `flops` operations on floats of `bits`, where
    they are known, and touches `bytes` of memory.
    """

    kind: str
    name: str
    ops: tuple[str, ...]
    lines: tuple[Line, ...]
    calls: float
    seconds: float
    flops: int | None
    bytes: int
    bits: int

    @property
    def flops_per_second(self) -> float | None:
        return self._rate(self.flops)

    @property
    def bytes_per_second(self) -> float | None:
        return self._rate(self.bytes)

    def _rate(self, each: int | None) -> float | None:
        return each * self.calls / self.seconds if each and self.seconds > 0 else None

    def share_of_limit(self, limits: Limits) -> float | None:
        """How close to the machine's limit: above 1 where the data lies in caches."""
        if self.kind != "kernel" or self.seconds <= 0:
            return None
        return self.calls * limits.seconds(self.flops, self.bytes, self.bits) / self.seconds

    def bound(self, limits: Limits) -> Literal["flops", "bytes"] | None:
        """Which limit is the nearer one."""
        if self.kind != "kernel":
            return None
        arithmetic = (self.flops or 0) / limits.flops[self.bits]
        return "flops" if arithmetic > self.bytes / limits.bytes else "bytes"


@dataclass(frozen=True, repr=False)
class Profile:
    """The parts of a function's calls, the longest first.

    `seconds` is one call with clocks, and the parts share it; `plain_seconds` is one
    without. Both are averages of `runs` calls.
    """

    function: str
    threads: int
    runs: int
    seconds: float
    plain_seconds: float
    parts: tuple[Part, ...]
    limits: Limits

    @property
    def kernels(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.kind == "kernel")

    def to_dict(self) -> dict[str, Any]:
        """All figures as values of JSON."""
        return {
            "function": self.function,
            "threads": self.threads,
            "runs": self.runs,
            "seconds": self.seconds,
            "plain_seconds": self.plain_seconds,
            "limits": {
                "f32_flops_per_second": self.limits.flops[32],
                "f64_flops_per_second": self.limits.flops[64],
                "bytes_per_second": self.limits.bytes,
            },
            "parts": [self._said(part) for part in self.parts],
        }

    def _said(self, part: Part) -> dict[str, Any]:
        return asdict(part) | {
            "share": self.share(part),
            "flops_per_second": part.flops_per_second,
            "bytes_per_second": part.bytes_per_second,
            "share_of_limit": part.share_of_limit(self.limits),
            "bound": part.bound(self.limits),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def share(self, part: Part) -> float:
        """The part's share of the time of a call."""
        return part.seconds / self.seconds

    def to_svg(self) -> str:
        """The parts as bars, as an SVG document."""
        from gradir.profiling.picture import picture

        return picture(self)

    def __repr__(self) -> str:
        counts = f"{len(self.kernels)} kernels, {self.plain_seconds * 1e6:.1f} us in a call"
        return f"<gradir profile of {self.function}: {counts}; print it for the table>"

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        from gradir.profiling.table import table

        return table(self)
