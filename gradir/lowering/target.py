"""What the lowering knows about the machine: vectors, registers, cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VECTOR_BYTES_VARIABLE = "GRADIR_VECTOR_BYTES"
DEFAULT_L2_BYTES = 512 * 1024
DEFAULT_L3_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Target:
    """One machine, as far as kernels depend on it; nothing is decided from the CPU's name."""

    cpu: str
    features: str
    vector_bytes: int
    vector_registers: int
    l2_bytes: int = DEFAULT_L2_BYTES
    l3_bytes: int = DEFAULT_L3_BYTES  # of all caches of the third level together
    streaming: bool = False  # stores that go past the caches, and x86's fence for them
    masked: bool = False  # masked loads and stores are single instructions
    embedded_broadcast: bool = False  # an operand in memory can be a broadcast scalar
    fma: bool = True

    @property
    def attributes(self) -> str:
        """The function attributes that make LLVM generate code for this target."""
        return (
            f'nounwind "target-cpu"="{self.cpu}" "target-features"="{self.features}" '
            f'"prefer-vector-width"="{8 * self.vector_bytes}"'
        )


def host(vector_bytes: int | None = None) -> Target:
    """The machine this runs on.

    `vector_bytes`, or the environment variable GRADIR_VECTOR_BYTES, asks for narrower vectors.
    """
    if vector_bytes is None:
        text = os.environ.get(VECTOR_BYTES_VARIABLE)
        vector_bytes = int(text) if text else None
    return _host(vector_bytes)


@cache
def _host(vector_bytes: int | None) -> Target:
    cpu, has = _host_cpu()
    features = _flatten(has)
    arm = any(name in has for name in ("neon", "fp-armv8"))
    if has.get("avx512f") and has.get("avx512vl") and has.get("avx512bw") and has.get("avx512dq"):
        widest = 64
    else:
        widest = 32 if has.get("avx") else 16
    width = widest if vector_bytes is None else vector_bytes
    if width not in (16, 32, 64) or width > widest:
        raise ValueError(
            f"vector bytes must be 16, 32 or 64 and at most {widest} on this machine, got {width}"
        )
    if width < widest == 64:
        # the CPU's name implies AVX-512, so it has to be switched off feature by feature
        wide = sorted(name for name in has if name.startswith(("avx512", "avx10")))
        off = dict.fromkeys(wide, False)
        features = _flatten({**has, **off})
    return Target(
        cpu=cpu,
        features=features,
        vector_bytes=width,
        vector_registers=32 if width == 64 or arm else 16,
        l2_bytes=_cache_bytes(2, DEFAULT_L2_BYTES),
        l3_bytes=_cache_bytes(3, DEFAULT_L3_BYTES) * _cache_copies(3),
        streaming=bool(has.get("sse2")),
        masked=width >= 32,
        embedded_broadcast=width == 64,
        fma=bool(has.get("fma")) or arm,
    )


def _host_cpu() -> tuple[str, dict[str, bool]]:
    """The CPU's name and features as LLVM knows them."""
    from llvmlite import binding  # pyright: ignore[reportMissingTypeStubs]

    name: str = binding.get_host_cpu_name()
    features: dict[str, bool] = dict(binding.get_host_cpu_features())  # pyright: ignore
    return name, features


def _flatten(features: dict[str, bool]) -> str:
    return ",".join(("+" if present else "-") + name for name, present in sorted(features.items()))


def _cache_bytes(level: int, default: int) -> int:
    """Bytes of the first core's data cache of this level, as the system tells, else `default`."""
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            found = int((index / "level").read_text())
            kind, size = (index / "type").read_text(), (index / "size").read_text().strip()
            if found == level and kind.strip() != "Instruction" and size.endswith("K"):
                return int(size[:-1]) * 1024
        except (OSError, ValueError):
            continue
    return default


def _cache_copies(level: int) -> int:
    """How many caches of this level, the size of the first core's, all processors have."""
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if int((index / "level").read_text()) == level:
                shared = (index / "shared_cpu_map").read_text().replace(",", "")
                return max(1, (os.cpu_count() or 1) // max(1, int(shared, 16).bit_count()))
        except (OSError, ValueError):
            continue
    return 1
