"""When two loop ops are the same computation: a key without names, locations and buffers.

Repeated layers have equal keys, so that their code is emitted once and called several times.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.kept_facts import number_of
from gradir.dialects.base.segments import SIZES
from gradir.dialects.loopnest.loopnest import ContractOp, KernelOp


def kernel_key(op: KernelOp, buffers: Sequence[Hashable]) -> Hashable:
    """The key of a loop op whose operands lie in `buffers`.

    Only which operands share a buffer enters, since a kernel may rely on distinct ones.
    """
    types = tuple([number_of(operand.type) for operand in op.operands])
    return op.name, types, _pattern(buffers), _named_numbers(op.properties), _body_key(op)


def plan_key(op: ContractOp) -> Hashable:
    """The key of a contraction on tensors or buffers, whatever scratch memory it has."""
    properties = {name: value for name, value in op.properties.items() if name != SIZES}
    return (
        tuple([number_of(value.type) for value in op.inputs]),
        tuple(map(number_of, op.output_types)),
        _pattern((*op.inputs, *op.outputs)),
        _named_numbers(properties),
        _body_key(op),
    )


def _named_numbers(attributes: Mapping[str, Attribute]) -> Hashable:
    """Attributes by name, for a key."""
    return tuple([(name, number_of(attributes[name])) for name in sorted(attributes)])


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
            key += (_named_numbers(inner.properties), _named_numbers(inner.attributes))
            key.append(len(inner.regions))
            for result in inner.results:
                numbers[result] = len(numbers)
                key.append(number_of(result.type))
        for region in inner.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = len(numbers)
                    key.append(number_of(argument.type))
    return tuple(key)
