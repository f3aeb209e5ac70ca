"""Scalar programs over whole tensors (`loopnest.forall`): one iteration after the other.

What a program has not written is conspicuous, as in `tensor.empty`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.loopnest.body_ops import (
    CheckIndexOp,
    IndexOp,
    LanesOp,
    LoadOp,
    StoreOp,
)
from gradir.dialects.loopnest.forall import ForallOp
from gradir.interpreter.control_flow import REGION_OPS, Steps
from gradir.interpreter.conversions import as_elements
from gradir.interpreter.nests import body_value, checked_index, loaded_element
from gradir.interpreter.numbers import constant_value
from gradir.runtime.arrays import dtype_of, widened

Array = np.ndarray[Any, np.dtype[Any]]


def forall_values(op: ForallOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a program, given its inputs."""
    results = [_unwritten(r.type) for r in op.results]
    for places in product(*map(range, op.extents)):
        _Program(places).block(op.body.block, [*operands, *results])
    return results


def _unwritten(type_: Any) -> Array:
    dtype = dtype_of(element_of(type_))
    if dtype.kind in "iu":
        return np.full(shape_of(type_), np.iinfo(dtype).max, dtype)
    return np.full(shape_of(type_), np.nan).astype(dtype)


class _Program:
    """A run of one outer iteration."""

    def __init__(self, places: Sequence[int]):
        self._places = places
        self._values: dict[SSAValue, Any] = {}

    def block(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """Run a block; the operands of its terminator."""
        self._values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op.next_op is None:
                return [self._values[o] for o in op.operands]
            operands = [self._values[o] for o in op.operands]
            self._values.update(zip(op.results, self._run(op, operands), strict=True))
        raise AssertionError("a block without a terminator")

    def _run(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        match op:
            case scf.ForOp():
                return self._for(op, operands)
            case LanesOp():
                for index in range(int(operands[0]), int(operands[1])):
                    self.block(op.body.block, [np.array(index)])
                return ()
            case StoreOp():
                array, indices = operands[1], tuple(int(i) for i in operands[2:])
                value = np.asarray(operands[0])
                is_unsigned = array.dtype.kind == "u"
                array[indices] = value.view(array.dtype) if is_unsigned else value
                return ()
            case _ if (steps := REGION_OPS.get(type(op))) is not None:
                return self._run_steps(steps(op, operands))
            case _:
                (result,) = op.results
                return [as_elements(self._value(op, operands), result.type)]

    def _value(self, op: Operation, operands: Sequence[Any]) -> Any:
        match op:
            case arith.ConstantOp():
                return constant_value(op)
            case IndexOp():
                return np.array(self._places[op.dim.value.data])
            case LoadOp():
                indices = [np.asarray(i) for i in operands[1:]]
                return loaded_element(op, operands[0], indices)
            case CheckIndexOp():
                return checked_index(op, np.asarray(operands[0]))
            case _:
                return body_value(op, [widened(np.asarray(o)) for o in operands])

    def _for(self, op: scf.ForOp, operands: Sequence[Any]) -> Sequence[Any]:
        low, high, step = (int(bound) for bound in operands[:3])
        carried: Sequence[Any] = operands[3:]
        for index in range(low, high, step):
            number = np.array(index, operands[0].dtype)
            carried = self.block(op.body.block, [number, *carried])
        return carried

    def _run_steps(self, steps: Steps) -> Sequence[Any]:
        """The results of an op, whose blocks run in the order of its steps."""
        try:
            block, arguments = next(steps)
            while True:
                block, arguments = steps.send(self.block(block, arguments))
        except StopIteration as stop:
            return stop.value
