"""array.fft on planes: a program for lengths without large prime factors, else a convolution of
such a length (L. Bluestein, IEEE Trans. Audio Electroacoust. 18, 1970).
"""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.ir import SSAValue

from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp, reshaped
from gradir.dialects.array.slicing import SliceOp, padded_back, part
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import tensor
from gradir.dialects.base.value import Value
from gradir.dialects.planes.arithmetic import Planes, constant, multiply
from gradir.dialects.planes.fourier_programs import Lines, has_program, roots


def transform(x: Planes, axis: int, sign: int) -> Planes:
    """The transform along an axis, with exp(sign * 2 pi i j k / n)."""
    shape = x[0].shape
    n = shape[axis]
    if n == 1 or 0 in shape:
        return x
    if not has_program(n):
        return _by_convolution(x, axis, sign)
    lines = Lines(prod(shape[:axis]), n, prod(shape[axis + 1 :]), sign, x[0].element)
    emitter, element = x[0].emitter, x[0].element
    tables = [p for table in lines.constants() for p in constant(emitter, table, element)]
    given = _in_memory(x, lines) or [reshaped(each, _shape(lines)).ssa for each in x]
    made = lines.lower(emitter, given, [each.ssa for each in tables])
    re, im = (reshaped(emitter.value(each), shape) for each in made)
    return re, im


def _shape(lines: Lines) -> list[int]:
    return [lines.outer, lines.n, lines.inner]


def _in_memory(x: Planes, lines: Lines) -> list[SSAValue] | None:
    """The tensor of which both planes are parts, as functions take complex tensors."""
    wholes: list[SSAValue] = []
    for k, plane in enumerate(x):
        match plane.ssa.owner:
            case ReshapeOp(x=cut) if isinstance(cut.owner, SliceOp):
                whole = plane.emitter.value(cut.owner.x)
                last = len(whole.shape) - 1
                if whole.shape != (*plane.shape, 2) or cut.owner.bounds[last][:2] != (k, k + 1):
                    return None
                wholes.append(whole.ssa)
            case _:
                return None
    if wholes[0] is not wholes[1]:
        return None
    return [reshaped(x[0].emitter.value(wholes[0]), [*_shape(lines), 2]).ssa]


def _by_convolution(x: Planes, axis: int, sign: int) -> Planes:
    """j * k is (j * j + k * k - (j - k) ** 2) / 2."""
    n = x[0].shape[axis]
    size = 1 << (2 * n - 2).bit_length()
    chirp = roots(sign, 2 * n, np.arange(n, dtype=np.int64) ** 2)
    kernel = np.zeros(size, complex)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp[1:][::-1].conj()
    spectrum = np.fft.fft(kernel) / size
    turn = _along(x[0], axis, chirp)
    re, im = (padded_back(each, axis, 0, size) for each in multiply(x, turn))
    wide = transform((re, im), axis, -1)
    wide = transform(multiply(wide, _along(wide[0], axis, spectrum)), axis, 1)
    re, im = (part(each, axis, 0, n) for each in wide)
    return multiply((re, im), turn)


def _along(near: Value, axis: int, numbers: Any) -> Planes:
    """Complex numbers along an axis of a shape, the same everywhere else."""
    shape = [n if d == axis else 1 for d, n in enumerate(near.shape)]
    re, im = (
        BroadcastToOp.on(reshaped(each, shape), type=tensor(near.shape, near.element))
        for each in constant(near.emitter, numbers, near.element)
    )
    return re, im
