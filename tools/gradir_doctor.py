"""gradir doctor: what this installation is, what is missing from it, and what is wrong with it.

It prints the processor's level, threads, the cache, versions, optional packages and settings.
The exit code is 1 where something that gradir needs is missing, wrong or does not work.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from gradir import __version__
from gradir.tools.near_options import name_nearest
from gradir.tools.requirements import Requirement, extras_of, requirements_of

PROGRAM = "gradir doctor"

PURPOSES = {
    "torch": "PyTorch modules in gradir, gradir functions in PyTorch (docs/torch.md)",
    "jax": "JAX functions in gradir, gradir functions in JAX (docs/jax.md)",
    "onnx": "ONNX models in gradir (docs/onnx.md)",
    "scipy": "scipy.optimize with compiled gradients (docs/interop.md)",
    "mpi": "training on several processes (docs/cluster.md)",
    "iree": "a compiler of StableHLO (docs/stablehlo.md)",
    "zig": "a linker for gradir-compile --linker (docs/ahead-of-time.md)",
}
"""What the optional packages of users are for, by the extra that has them."""

PROGRAM_TEXT = """
func.func @f(%x: tensor<8xf64>) -> tensor<f64> {
  %y = array.tanh %x : tensor<8xf64>
  %z = array.multiply %x, %y : tensor<8xf64>
  %s = array.sum %z : tensor<8xf64> -> tensor<f64>
  func.return %s : tensor<f64>
}
"""

Row = tuple[str, str]


class Problem(Exception):
    """What is wrong, and what to do about it."""


def python() -> str:
    """Python's version and file."""
    return f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"


def machine() -> str:
    """The processor's level, and the one that code is made for."""
    from gradir.codegen.text.target import host

    target, level = host(), best_level()
    made = "this machine" if target.level == "host" else target.level
    if target.lacking:
        raise Problem(f"{level} has no {', '.join(target.lacking)}: GRADIR_CPU={target.level}")
    return (
        f"{platform.system()} {platform.machine()}, {level} ({target.cpu}); code for {made}, "
        f"vectors of {target.vector_bytes} bytes"
    )


def best_level() -> str:
    """The highest level whose code this machine runs."""
    from gradir.codegen.text.target import LEVELS, target_of
    from gradir.errors import ArgumentError

    best = "a level without a name"
    for level in LEVELS:
        for width in (64, 32, 16):  # narrower vectors than the level's switch off what it has
            with suppress(ArgumentError):
                best = best if target_of(level, width).lacking else level
                break
    return best


def threads() -> str:
    """How many threads a parallel call has."""
    from gradir.runtime.threads import thread_count

    return f"{thread_count()} of {os.cpu_count()} hardware threads"


def cache() -> str:
    """The folder of compiled code, and its size."""
    from gradir.cache.store import cache_info

    info = cache_info()
    if info.off is not None:
        return f"off: {info.off} ({info.folder})"
    size = f"{info.bytes / 1e6:.1f} of {info.limit / 1e6:.0f} MB"
    return f"{info.folder}: {info.entries} entries, {size}"


def native_code() -> str:
    """A gradient that is compiled, run, and held against the interpreter."""
    import numpy as np

    import gradir

    start = time.perf_counter()
    module = gradir.parse(PROGRAM_TEXT).gradient("f", mode="grad")
    x = np.linspace(-1, 1, 8)
    native = gradir.compile(module, "f_grad")(x)
    seconds = time.perf_counter() - start
    expected = gradir.interpret(module, "f_grad", x)
    if not all(np.allclose(a, b, rtol=1e-12) for a, b in zip(native, expected, strict=True)):
        raise Problem(f"a gradient is {native}, and the interpreter has {expected}")
    return f"works: a gradient in {seconds:.2f} s, as the interpreter has it"


CHECKS: dict[str, Callable[[], str]] = {
    "Python": python,
    "machine": machine,
    "threads": threads,
    "cache": cache,
    "native code": native_code,
}


def declared() -> list[str]:
    """The requirements of the installed gradir; none where it runs without an installation."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.requires("gradir") or []
    return []


def installed(name: str) -> str | None:
    """The version of an installed package; None where it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check(name: str, wanted: Callable[[], str], problems: list[str]) -> Row:
    """The row of a check; what it raises is a problem, whatever it is."""
    try:
        return name, wanted()
    except Exception as error:
        text = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
        problems.append(f"{name}: {text}")
        return name, f"WRONG: {text}"


def needed(requirement: Requirement, problems: list[str]) -> Row:
    """The row of a package that gradir needs."""
    version = installed(requirement.name)
    if version is not None and requirement.allows(version):
        return requirement.name, f"{version} ({requirement})"
    text = "missing" if version is None else f"{version} is installed"
    problems.append(f"{requirement.name}: {text}: pip install '{requirement}'")
    return requirement.name, f"WRONG: {text}, {requirement} is needed"


def optional(extra: str, requirement: Requirement) -> Row:
    """The row of a package that an extra brings, and that nothing else needs."""
    version, purpose = installed(requirement.name), PURPOSES[extra]
    if version is None:
        return requirement.name, f"missing: pip install 'gradir[{extra}]' for {purpose}"
    if not requirement.allows(version):
        return requirement.name, f"{version}, and {requirement} is needed for {purpose}"
    return requirement.name, f"{version}: {purpose}"


def sections(problems: list[str]) -> Iterator[tuple[str, list[Row]]]:
    """The parts of the report, with their rows; problems are added to the list."""
    lines, version = declared(), f"{sys.version_info.major}.{sys.version_info.minor}"
    place = Path(sys.modules["gradir"].__file__ or "").parent
    found = installed("gradir")
    head = f"{__version__}, {place}"
    if found != __version__:
        state = "not installed" if found is None else f"installed as {found}"
        head += f" ({state}: pip install, for the ranges of packages below)"
    rows = [check(name, wanted, problems) for name, wanted in CHECKS.items()]
    yield "installation", [("gradir", head), *rows]
    yield "needed packages", [needed(each, problems) for each in requirements_of(lines, version)]
    yield (
        "optional packages",
        [
            optional(extra, each)
            for extra in extras_of(lines)
            if extra in PURPOSES
            for each in requirements_of(lines, version, extra)
        ],
    )
    settings = sorted(item for item in os.environ.items() if item[0].startswith("GRADIR_"))
    yield "settings", settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 where something is wrong."""
    parser = name_nearest(argparse.ArgumentParser(prog=PROGRAM, description=__doc__))
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.parse_args(arguments)
    problems: list[str] = []
    for title, rows in sections(problems):
        print(f"{title}:" if rows else f"{title}: none")
        for name, text in rows:
            print(f"  {name:<14} {text}")
    for problem in problems:
        print(f"problem: {problem}")
    print("nothing is wrong" if not problems else f"problems: {len(problems)}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
