"""When two loop ops are the same computation: a key without names, locations and buffers.

Repeated layers have equal keys, so that their code is emitted once and called several times.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.segments import SIZES
from gradir.dialects.loopnest.loopnest import ContractOp, KernelOp


def kernel_key(op: KernelOp, buffers: Sequence[Hashable]) -> Hashable:
    """The key of a loop op whose operands lie in `buffers`.

    Only which operands share a buffer enters, since a kernel may rely on distinct ones.
    """
    types = tuple(operand.type for operand in op.operands)
    return op.name, types, _pattern(buffers), tuple(sorted(op.properties.items())), _body_key(op)


def plan_key(op: ContractOp) -> Hashable:
    """The key of a contraction on tensors or buffers, whatever scratch memory it has."""
    properties = sorted((name, p) for name, p in op.properties.items() if name != SIZES)
    return (
        tuple(value.type for value in op.inputs),
        tuple(op.output_types),
        _pattern((*op.inputs, *op.outputs)),
        tuple(properties),
        _body_key(op),
    )


def _pattern(buffers: Sequence[Hashable]) -> Hashable:
    """Which of the buffers are the same."""
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(buffer, len(numbers)) for buffer in buffers)


def _body_key(op: Operation) -> Hashable:
    """The ops inside `op`, with values numbered in order of definition."""
    numbers: dict[SSAValue, int] = {}
    key: list[Hashable] = []
    for inner in op.walk():
        if inner is not op:
            key.append((inner.name, tuple(numbers.get(v, id(v)) for v in inner.operands)))
            key.append((tuple(sorted(inner.properties.items(), key=_first)),))
            key.append(tuple(sorted(inner.attributes.items(), key=_first)))
            key.append(len(inner.regions))
            for result in inner.results:
                numbers[result] = len(numbers)
                key.append(result.type)
        for region in inner.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = len(numbers)
                    key.append(argument.type)
    return tuple(key)


def _first(item: tuple[str, object]) -> str:
    return item[0]
