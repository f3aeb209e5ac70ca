"""How many threads parallel calls have, and functions of the C library by address."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ArgumentError, ArgumentTypeError, CompileError, GradirError

if TYPE_CHECKING:
    from ctypes.util import find_library
else:
    find_library = lazy_function("ctypes.util", "find_library")

THREADS_VARIABLE = "GRADIR_NUM_THREADS"
OPENMP_THREADS_VARIABLE = "OMP_NUM_THREADS"
MAX_THREADS = 1024


def thread_count(requested: int | None = None) -> int:
    """The number of threads: the argument, the environment, or the number of physical cores.

    It is `MAX_THREADS` at most.
    """
    if requested is not None:
        wanted = _positive(requested)
    else:
        wanted = _from_environment() or _physical_cores()
    return min(wanted, MAX_THREADS)


def _positive(requested: Any) -> int:
    try:
        number = index(requested)
    except TypeError:
        number = None
    if number is None or isinstance(requested, bool):
        raise ArgumentTypeError(f"threads: an integer expected, got {requested!r}")
    if number < 1:
        raise ArgumentError(f"threads: a positive number expected, got {number}")
    return number


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
    return max(1, min(_cores_of(frozenset(os.sched_getaffinity(0))), _quota()))


@cache
def _cores_of(cpus: frozenset[int]) -> int:
    """The number of cores that have these hardware threads."""
    cores: set[str] = set()
    for cpu in cpus:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text())
        except OSError:
            cores.add(str(cpu))
    return len(cores)


def _quota() -> int:
    """The CPUs that a container's control group grants."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return MAX_THREADS if quota == "max" else -(-int(quota) // int(period))
    except (OSError, ValueError):
        return MAX_THREADS


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address
    return address
