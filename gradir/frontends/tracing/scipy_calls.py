"""SciPy's functions that looked into a traced array, and the functions of gradir.scipy for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any, cast

from gradir.errors import ForeignCodeError, GradirError, TraceError
from gradir.frontends.tracing.object_arrays import is_object_array
from gradir.frontends.tracing.source_locations import place_of_error, refusal
from gradir.frontends.tracing.tracer import Tracer

PARTS = ("special", "stats", "linalg", "signal", "ndimage", "fft", "integrate")
"""The modules of gradir.scipy."""

_ELSEWHERE: Mapping[str, str] = {
    "optimize": "outside of traced functions, gradir.interop.scipy.minimize gives it gradients",
    "spatial": "distances of the rows of x and y are numpy.linalg.norm(x[:, None] - y, axis=-1), "
    "of x alone gradir.nn.pdist(x)",
    "interpolate": "numpy.interp is differentiated, and so are products with weights that SciPy "
    "computes of constants",
    "sparse": "make it of constants with SciPy, and compute with its arrays: "
    "gradir.numpy.zeros(n).at[rows].add(values * x[columns]) is a product",
}


def ours(part: str, name: str) -> Any:
    """The function of gradir.scipy with SciPy's name, or None."""
    if part not in PARTS:
        return None
    return getattr(import_module("gradir.scipy"), part).__dict__.get(name)


def of_scipy_ufunc(ufunc: Any) -> Any:
    """gradir.scipy.special's function for a ufunc of scipy.special, or None."""
    theirs = sys.modules.get("scipy.special")
    name = str(ufunc.__name__)
    return ours("special", name) if getattr(theirs, name, None) is ufunc else None


def scipy_refusal(error: Exception) -> TraceError | None:
    """The error for one that a function of SciPy raised on traced arrays; None for other ones."""
    if isinstance(error, GradirError) and not isinstance(error, TraceError):
        return None
    frames = _frames_of_scipy(error.__traceback__)
    if not frames or not any(map(_has_traced, frames)):
        return None
    part, name = next(filter(None, map(_named, frames)), (_part(frames[0]), ""))
    place = place_of_error(error, _folder())
    return refusal(_message(part, name), ForeignCodeError, place)


def _message(part: str, name: str) -> str:
    theirs = f"scipy.{part}.{name}" if name else f"scipy.{part}"
    found = ours(part, name.partition(".")[0]) if name else None
    if found is not None and "." in name:
        found = getattr(found, name.partition(".")[2], None)
    if found is not None:
        return f"{theirs}: it looks into arrays; call gradir.{theirs}, which is differentiated"
    way_out = _ELSEWHERE.get(part) or (
        "gradir.scipy does not have it; compose it of gradir.numpy, or make an op of it by "
        "gradir.custom_op, with a derivative of its own"
    )
    return f"{theirs}: it looks into arrays, and traced ones have no values yet; {way_out}"


def _folder() -> str:
    found = sys.modules.get("scipy")
    file = None if found is None else found.__file__
    return (file or "\0").removesuffix("__init__.py")


def _frames_of_scipy(trace: TracebackType | None) -> list[FrameType]:
    """The frames of SciPy in a traceback, from the last call by other code on, outermost first."""
    folder, found = _folder(), list[FrameType]()
    for frame in _frames(trace):
        if frame.f_code.co_filename.startswith(folder):
            found.append(frame)
        elif not _is_of_libraries(frame):
            found.clear()
    return found


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _is_of_libraries(frame: FrameType) -> bool:
    """Whether NumPy's or gradir's code runs, which SciPy's calls."""
    module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("numpy", "gradir", "array_api_compat")


def _has_traced(frame: FrameType) -> bool:
    """Whether a variable of a function is a traced array, or holds them."""
    return any(map(_is_traced, frame.f_locals.values()))


def _is_traced(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_traced, cast(list[object], value)[:8]))
    return isinstance(value, Tracer) or is_object_array(value)


def _part(frame: FrameType) -> str:
    """The module of SciPy of a frame: `linalg` of scipy.linalg._decomp_cholesky."""
    return str(frame.f_globals.get("__name__", "")).split(".")[1:2][0]


def _named(frame: FrameType) -> tuple[str, str] | None:
    """The public function of SciPy that runs in a frame, or None."""
    part, name = _part(frame), frame.f_code.co_name
    public = sys.modules.get(f"scipy.{part}")
    if part.startswith("_") or public is None:
        return None
    if name == "__init__":
        name = type(frame.f_locals.get("self")).__name__
    owner = str(getattr(frame.f_locals.get("self"), "name", ""))
    if owner and hasattr(getattr(public, owner, None), name):
        return part, f"{owner}.{name}"
    return (part, name) if hasattr(public, name) else None
