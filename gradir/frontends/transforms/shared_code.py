"""Native code of traced programs, by what they say.

Who calls `gradir.grad(f)(x)` in a loop traces f each time, so that what f reads may change, and
compiles it once.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from gradir.api import Module, compile
from gradir.checks import VARIABLES as CHECKS
from gradir.codegen.text.target import CPU_VARIABLE, VECTOR_BYTES_VARIABLE
from gradir.dialects.grad.host_call import HostCallOp
from gradir.forking import short_lock
from gradir.runtime.threads import OPENMP_THREADS_VARIABLE, THREADS_VARIABLE
from gradir.text.fingerprint import fingerprint

MOST_PROGRAMS = 64
"""The programs whose code is kept: those that ran last."""

MOST_CONSTANTS = 1 << 16
"""Bytes of constants, as of captured arrays, from which on a program is compiled by itself."""

SETTINGS = (
    *(CPU_VARIABLE, VECTOR_BYTES_VARIABLE, THREADS_VARIABLE, OPENMP_THREADS_VARIABLE),
    *CHECKS,
)

_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = short_lock()


def compiled(module: Module, name: str, threads: int | None) -> Any:
    """`gradir.compile`, or the code of an equal program, at the same places of the source."""
    key = _key(module, name, threads)
    if key is None:
        return compile(module, name, threads)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    made = compile(module, name, threads)
    with _lock:
        _kept[key] = made
        while len(_kept) > MOST_PROGRAMS:
            _kept.popitem(last=False)
    return made


def _key(module: Module, name: str, threads: int | None) -> Hashable | None:
    """All that the code depends on; None where the program does not say it."""
    constants = 0
    for op in module.op.walk():
        if isinstance(op, HostCallOp):  # its name may come to mean another function
            return None
        for attribute in op.attributes.values():
            if isinstance(attribute, DenseIntOrFPElementsAttr):
                constants += len(attribute.data.data)
    if constants > MOST_CONSTANTS:
        return None
    program = fingerprint([module.op])
    return None if program is None else (program, name, threads, settings())


def settings() -> tuple[str | None, ...]:
    """The environment variables that code depends on."""
    return tuple(map(os.environ.get, SETTINGS))
