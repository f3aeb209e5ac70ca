"""The machine, as the lowering knows it: its level, vectors, registers, caches.

Code is made for the machine that gradir runs on, or for a lower level of its architecture, or for
another machine (which can be looked at and stored as an object, not run). GRADIR_CPU names the
level: `host`, `x86-64` (SSE2), `x86-64-v2` (SSE4.2), `x86-64-v3` (AVX2, FMA, F16C), `x86-64-v4`
(AVX-512), as the psABI of x86-64 defines them, or `aarch64`. GRADIR_VECTOR_BYTES asks for vectors
narrower than the level's.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gradir.errors import ArgumentError

CPU_VARIABLE = "GRADIR_CPU"
VECTOR_BYTES_VARIABLE = "GRADIR_VECTOR_BYTES"
HOST = "host"
DEFAULT_L2_BYTES = 512 * 1024
DEFAULT_L3_BYTES = 32 * 1024 * 1024

# What each level of the psABI adds to the one before, by LLVM's names.
_X86_LEVELS = {
    "x86-64": ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
_AARCH64 = "aarch64"
LEVELS = (*_X86_LEVELS, _AARCH64)
# Features that vectors of 64 bytes need, and families that are off with narrower vectors.
_WIDE = ("avx512bw", "avx512dq", "avx512f", "avx512vl")
_WIDE_FAMILIES = ("avx512", "avx10")

# Of a core: more than any processor has.
MOST_L3_BYTES = 16 << 20


@dataclass(frozen=True)
class MachineTarget:
    """One machine, as far as kernels depend on it; nothing is decided from the CPU's name.

    `level` is a name of `LEVELS`, or `host`. `lacking` are the features that this machine would
    need to run the code; `triple` is None where that is the process's own.
    """

    cpu: str
    features: str
    vector_bytes: int
    vector_registers: int
    l2_bytes: int = DEFAULT_L2_BYTES
    l3_bytes: int = DEFAULT_L3_BYTES  # of all caches of the third level together
    streaming: bool = False  # x86's stores that go past the caches, their fence, and its pause
    masked: bool = False  # masked loads and stores are single instructions
    embedded_broadcast: bool = False  # an operand in memory can be a broadcast scalar
    scales: bool = False  # x * 2**n is an instruction
    fma: bool = True
    converts_half: bool = True  # f16 from and to f32 is an instruction
    rounds: bool = True  # rounding to a whole number is an instruction
    multiplies_pairs: bool = False  # sums of products of two pairs of bf16 are an instruction
    flushes: bool = False  # x86's mode in which results that are subnormal when rounded are zeros
    level: str = HOST
    lacking: tuple[str, ...] = ()
    triple: str | None = None

    @property
    def attributes(self) -> str:
        """The function attributes that make LLVM generate code for this target."""
        return (
            f'nounwind "target-cpu"="{self.cpu}" "target-features"="{self.features}" '
            f'"prefer-vector-width"="{8 * self.vector_bytes}"'
        )


def host(vector_bytes: int | None = None) -> MachineTarget:
    """The target of this process: this machine, or the level that GRADIR_CPU names.

    `vector_bytes`, or the environment variable GRADIR_VECTOR_BYTES, asks for narrower vectors.
    """
    return target_of(os.environ.get(CPU_VARIABLE) or HOST, vector_bytes)


def target_of(level: str, vector_bytes: int | None = None) -> MachineTarget:
    """The target of a level by its name, with the vectors that `host` describes."""
    if level not in (HOST, *LEVELS):
        expected = ", ".join((HOST, *LEVELS))
        raise ArgumentError(f"{CPU_VARIABLE}: one of {expected} expected, got {level!r}")
    if vector_bytes is None:
        text = os.environ.get(VECTOR_BYTES_VARIABLE)
        if text and not text.isdigit():
            raise ArgumentError(f"{VECTOR_BYTES_VARIABLE}: 16, 32 or 64 expected, got {text!r}")
        vector_bytes = int(text) if text else None
    return _target(level, vector_bytes)


@cache
def _target(level: str, vector_bytes: int | None) -> MachineTarget:
    cpu, has = _host_cpu() if level == HOST else (level, _features_of(level))
    arm = level == _AARCH64 or any(name in has for name in ("neon", "fp-armv8"))
    widest = 32 if has.get("avx") else 16
    if all(has.get(name) for name in _WIDE):
        widest = 64
    width = widest if vector_bytes is None else vector_bytes
    if width not in (16, 32, 64) or width > widest:
        place = "on this machine" if level == HOST else f"at level {level}"
        raise ArgumentError(
            f"vector bytes must be 16, 32 or 64 and at most {widest} {place}, got {width}"
        )
    if width < widest == 64:
        # the CPU's name implies AVX-512, so it has to be switched off feature by feature
        has = {name: on and not name.startswith(_WIDE_FAMILIES) for name, on in has.items()}
    foreign = level != HOST and (level == _AARCH64) != host_is_arm()
    return MachineTarget(
        cpu="generic" if level == _AARCH64 else cpu,
        features=_flatten(has),
        vector_bytes=width,
        vector_registers=32 if width == 64 or arm else 16,
        l2_bytes=_cache_bytes(2, DEFAULT_L2_BYTES),
        l3_bytes=_own_l3_bytes(),
        streaming=bool(has.get("sse2")),
        masked=width >= 32,
        embedded_broadcast=width == 64,
        scales=width == 64,
        fma=bool(has.get("fma")) or arm,
        converts_half=bool(has.get("f16c")) or arm,
        rounds=bool(has.get("sse4.1")) or arm,
        flushes=bool(has.get("sse2")),
        multiplies_pairs=width == 64 and bool(has.get("avx512bf16")),
        level=level,
        lacking=() if level == HOST else _lacking(level, has),
        triple=f"{_AARCH64 if level == _AARCH64 else 'x86_64'}-unknown-linux-gnu"
        if foreign
        else None,
    )


def _features_of(level: str) -> dict[str, bool]:
    """Whether each feature is on: features of the level are, features of levels above not."""
    if level == _AARCH64:
        return {"neon": True, "fp-armv8": True}
    names = list(_X86_LEVELS)
    place = names.index(level)
    return {name: k <= place for k, other in enumerate(names) for name in _X86_LEVELS[other]}


def _lacking(level: str, wanted: Mapping[str, bool]) -> tuple[str, ...]:
    """The features that this machine would need to run code of a level."""
    if (level == _AARCH64) != host_is_arm():
        return (f"the instructions of {_AARCH64 if level == _AARCH64 else 'x86-64'}",)
    _, has = _host_cpu()
    return tuple(sorted(n for n, on in wanted.items() if on and not has.get(n)))


def host_is_arm() -> bool:
    """Whether this machine is of AArch64."""
    return platform.machine().lower() in ("aarch64", "arm64")


@cache
def _host_cpu() -> tuple[str, dict[str, bool]]:
    """The CPU's name and features as LLVM knows them."""
    from llvmlite import binding

    name: str = binding.get_host_cpu_name()
    features: dict[str, bool] = dict(binding.get_host_cpu_features())
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


def _own_l3_bytes() -> int:
    """Bytes of all caches of the third level together.

    A virtual machine with a few cores of a processor reports the caches of all.
    """
    told = _cache_bytes(3, DEFAULT_L3_BYTES) * _cache_copies(3)
    return min(told, MOST_L3_BYTES * (os.cpu_count() or 1))


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
