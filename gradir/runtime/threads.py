"""The threads of parallel regions: an OpenMP runtime found at run time, and their number.

A runtime already loaded in the process is preferred, so that there is one thread pool. Without
any, functions run on the calling thread.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING

from gradir.dialects.base.deferred import deferred
from gradir.errors import ArgumentError, ArgumentTypeError, CompileError, GradirError
from gradir.forking import is_forked

if TYPE_CHECKING:
    from ctypes.util import find_library
else:
    find_library = deferred("ctypes.util", "find_library")

THREADS_VARIABLE = "GRADIR_NUM_THREADS"
OPENMP_THREADS_VARIABLE = "OMP_NUM_THREADS"
LIBRARY_STEMS = ("libgomp", "libomp", "libiomp5")
SYSTEM_NAMES = ("libgomp.so.1", "libomp.so", "libomp.so.5", "libiomp5.so")
WHEEL_PATTERNS = (
    "torch/lib/libgomp*",
    "*.libs/libgomp*",
    "*.libs/libomp*",
    "*.libs/libiomp5*",
    "torch/lib/libiomp5*",
)
FUNCTIONS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
MAX_THREADS = 1024

# Waiting threads of the runtime spin before they sleep, by default for milliseconds, which other
# work on the core loses. A third of a millisecond covers the time from call to call. A runtime
# reads this when it is loaded.
SPIN_SETTINGS = {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}
SPIN_OVERRIDE = "OMP_WAIT_POLICY"


@dataclass(frozen=True)
class OpenMP:
    """An OpenMP runtime: its path, and the addresses of the functions that gradir calls."""

    path: str
    functions: Mapping[str, int]


@cache
def openmp() -> OpenMP | None:
    """The runtime to use, or None where there is none."""
    for path in _candidates():
        found = _load(path)
        if found is not None:
            return found
    return None


def thread_count(requested: int | None = None) -> int:
    """The number of threads: the argument, the environment, or the number of physical cores.

    It is 1 where there is no OpenMP runtime, and in a forked child.
    """
    if requested is not None:
        wanted = _positive(requested)
    else:
        wanted = _from_environment() or _physical_cores()
    return min(wanted, MAX_THREADS) if not is_forked() and openmp() is not None else 1


def _positive(requested: object) -> int:
    try:
        number = index(requested)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = None
    if number is None or isinstance(requested, bool):
        raise ArgumentTypeError(f"threads: an integer expected, got {requested!r}")
    if number < 1:
        raise ArgumentError(f"threads: a positive number expected, got {number}")
    return number


def openmp_function(name: str) -> int:
    """The address of a function of the runtime, which must exist."""
    runtime = openmp()
    assert runtime is not None
    return runtime.functions[name]


@cache
def library_function(name: str) -> int:
    """The address of a function of the C library, or of its part for mathematics."""
    process = ctypes.CDLL(None)
    if not hasattr(process, name):
        path = find_library("m")
        process = process if path is None else ctypes.CDLL(path)
    try:
        return _address(process, name)
    except AttributeError:
        raise CompileError(f"the C library has no function {name}") from None


@cache
def _free() -> Callable[[int], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library_function("free"))


@cache
def _realloc() -> Callable[[int | None, int], int]:
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    return kind(library_function("realloc"))


def allocate(size: int) -> int:
    """The address of new memory, which the C library's realloc may resize."""
    address = _realloc()(None, max(size, 1))
    if not address:
        raise MemoryError(f"no memory for {size} bytes")
    return address


def free(address: int) -> None:
    """Give back memory of the C library's realloc; nothing at address 0."""
    if address:
        _free()(address)


def usable(threads: int) -> int:
    """`threads`, or 1 in a forked child: the OpenMP runtime would wait for the parent's threads."""
    return 1 if is_forked() else threads


def _from_environment() -> int | None:
    for variable in (THREADS_VARIABLE, OPENMP_THREADS_VARIABLE):
        text = os.environ.get(variable, "").split(",")[0].strip()
        if not text:
            continue
        if text.isdigit() and int(text) > 0:
            return int(text)
        if variable == THREADS_VARIABLE:
            raise GradirError(f"{variable}: a positive number expected, got {text!r}")
    return None


def _physical_cores() -> int:
    """The cores that this process may use; hardware threads of one core count once."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores: set[str] = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text())
        except OSError:
            cores.add(str(cpu))
    return max(1, min(len(cores), _quota()))


def _quota() -> int:
    """The CPUs that a container's control group grants."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return MAX_THREADS if quota == "max" else -(-int(quota) // int(period))
    except (OSError, ValueError):
        return MAX_THREADS


def _candidates() -> Iterator[str]:
    yield from _loaded_libraries()
    yield from SYSTEM_NAMES
    for stem in LIBRARY_STEMS:
        name = find_library(stem.removeprefix("lib"))
        if name is not None:
            yield name
    for folder in dict.fromkeys(sys.path):
        for pattern in WHEEL_PATTERNS:
            yield from map(str, sorted(Path(folder or ".").glob(pattern)))


def _loaded_libraries() -> list[str]:
    """OpenMP runtimes that are mapped into this process."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if "/" in line)
    return [path for path in paths if Path(path).name.startswith(LIBRARY_STEMS)]


@contextmanager
def _spin_settings() -> Generator[None]:
    """A context with the spin time in the environment, unless the user has set it."""
    mine = {} if SPIN_OVERRIDE in os.environ else SPIN_SETTINGS
    mine = {name: value for name, value in mine.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            del os.environ[name]


def _load(path: str) -> OpenMP | None:
    try:
        with _spin_settings():
            library = ctypes.CDLL(path)
        return OpenMP(path, {name: _address(library, name) for name in FUNCTIONS})
    except (OSError, AttributeError):
        return None  # not there, or an OpenMP without the GNU entry points


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address
    return address
