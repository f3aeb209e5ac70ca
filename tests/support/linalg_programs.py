"""linalg programs by hand and at random, and their meaning element by element.

`meaning` walks an op's iteration space in order and computes its body on single numbers, as the
dialect's definition says, so that it shares no code with the ops of arrays that gradir makes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, SSAValue

import gradir
from gradir.interpreter.numbers import number_value
from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, Any]


def meaning(
    module: gradir.Module, arrays: Sequence[Array], body: Block | None = None
) -> list[Array]:
    """The results of the one linalg op of a function that returns them."""
    op: Any = next(op for op in module.op.walk() if op.name.startswith("linalg.") and op.results)
    maps = [each.data for each in op.get_indexing_maps()]
    body = body or op.body.block
    extents = extents_of(maps, arrays)
    count = len(op.results)
    outputs = [np.array(a) for a in arrays[len(arrays) - count :]]
    operands = [*arrays[: len(arrays) - count], *outputs]
    for place in np.ndindex(*extents):
        subscripts = [tuple(map_.eval(place, [])) for map_ in maps]
        numbers = [a[s] for a, s in zip(operands, subscripts, strict=True)]
        for output, s, number in zip(
            outputs, subscripts[-count:], yielded(body, numbers, place), strict=True
        ):
            output[s] = number
    return outputs


def extents_of(maps: Sequence[Any], arrays: Sequence[Array]) -> list[int]:
    found: dict[int, int] = {}
    for map_, array in zip(maps, arrays, strict=True):
        for expression, n in zip(map_.results, array.shape, strict=True):
            if hasattr(expression, "position"):
                found.setdefault(expression.position, n)
    return [found[d] for d in range(maps[0].num_dims)]


def yielded(body: Block, numbers: Sequence[Any], place: Sequence[int]) -> list[Any]:
    """The numbers that a body gives for one iteration."""
    values: dict[SSAValue, Any] = dict(zip(body.args, numbers, strict=True))
    for op in body.ops:
        given = [values[o] for o in op.operands if o in values]
        if isinstance(op, linalg.YieldOp):
            return [values[o] for o in op.operands]
        if isinstance(op, linalg.IndexOp):
            values[op.result] = np.int64(place[op.dim.value.data])
        elif isinstance(op, arith.ConstantOp):
            number = op.value
            assert isinstance(number, FloatAttr | IntegerAttr)
            values[op.result] = np.array(number.value.data, dtype_of(number.type))
        elif isinstance(op, arith.IndexCastOp):
            values[op.result] = np.array(given[0]).astype(dtype_of(op.result.type))
        else:
            with np.errstate(all="ignore"):
                values[op.results[0]] = number_value(op, [np.asarray(x) for x in given])
    raise AssertionError("no yield")


# Programs of linalg.generic at random.

UNARY = ("math.sin", "math.tanh", "math.exp", "arith.negf")
BINARY = ("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf")
JOINS = ("arith.addf", "arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf")


@dataclass
class Program:
    """A function of linalg.generic, and shapes of its arguments: inputs, then outputs."""

    text: str
    shapes: list[tuple[int, ...]]
    outputs: int


class Writer:
    """Writes one program; all choices follow from the seed."""

    def __init__(self, seed: int, type_: str = "f64"):
        self.random = random.Random(seed)
        self.type = type_
        self.rank = self.random.randint(1, 4)
        self.extents = [self.random.choice((1, 2, 3, 3)) for _ in range(self.rank)]
        self.kept = [d for d in range(self.rank) if self.random.random() < 0.6]
        self.reduced = [d for d in range(self.rank) if d not in self.kept]
        self.lines: list[str] = []

    def program(self) -> Program:
        inputs = [self._input(k) for k in range(self.random.randint(1, 3))]
        whole = ", ".join(f"d{d}" for d in range(self.rank))
        spare = [(whole, tuple(self.extents))]  # every loop has an extent
        outputs = [self._output() for _ in range(self.random.choice((1, 1, 2)))]
        operands = [*inputs, *spare, *outputs]
        names = [f"%a{k}" for k in range(len(operands))]
        types = [f"tensor<{''.join(f'{n}x' for n in shape)}{self.type}>" for _, shape in operands]
        body = self._body(len(operands) - len(outputs), len(outputs))
        maps = ", ".join(f"affine_map<({whole}) -> ({text})>" for text, _ in operands)
        kinds = ", ".join(
            '"parallel"' if d in self.kept else '"reduction"' for d in range(self.rank)
        )
        cut = len(operands) - len(outputs)
        results = ", ".join(types[cut:])
        arguments = ", ".join(f"%e{k}: {self.type}" for k in range(len(operands)))
        parameters = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
        values = ", ".join(f"%r#{k}" for k in range(len(outputs))) if len(outputs) > 1 else "%r"
        count = f":{len(outputs)}" if len(outputs) > 1 else ""
        text = f"""
func.func @f({parameters}) -> ({results}) {{
  %r{count} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins({", ".join(names[:cut])} : {", ".join(types[:cut])})
      outs({", ".join(names[cut:])} : {results}) {{
  ^bb0({arguments}):
{body}
  }} -> ({results})
  func.return {values} : {results}
}}
"""
        return Program(text, [shape for _, shape in operands], len(outputs))

    def _input(self, k: int) -> tuple[str, tuple[int, ...]]:
        """Subscripts and shape: some loops in any order, windows, zeros."""
        del k
        dims = self.random.sample(range(self.rank), self.random.randint(0, self.rank))
        texts, shape = list[str](), list[int]()
        for d in dims:
            texts.append(f"d{d}")
            shape.append(self.extents[d])
        if self.random.random() < 0.3 and self.rank > 1:
            a, b = self.random.sample(range(self.rank), 2)
            step = self.random.choice((1, 2))
            texts.append(f"d{a} * {step} + d{b}")
            shape.append((self.extents[a] - 1) * step + self.extents[b])
        if self.random.random() < 0.2:
            texts.append("0")
            shape.append(1)
        return ", ".join(texts), tuple(shape)

    def _output(self) -> tuple[str, tuple[int, ...]]:
        dims = self.random.sample(self.kept, len(self.kept))
        texts, shape = [f"d{d}" for d in dims], [self.extents[d] for d in dims]
        if self.random.random() < 0.2:
            texts.append("0")
            shape.append(1)
        return ", ".join(texts), tuple(shape)

    def _body(self, inputs: int, outputs: int) -> str:
        values = [f"%e{k}" for k in range(inputs)]
        if self.random.random() < 0.3:
            values.append(self._index())
        found = [self._expression(values) for _ in range(outputs)]
        made: list[str] = []
        for k in range(outputs):
            own = f"%e{inputs + k}"
            if not self.reduced:
                made.append(found[k] if self.random.random() < 0.7 else self._two(found[k], own))
            elif self.random.random() < 0.75:
                join = self.random.choice(JOINS)
                pair = [found[k], own]
                self.random.shuffle(pair)
                made.append(self._line(join, *pair))
            else:  # carries in another way
                half = self._constant(0.5)
                made.append(self._line("arith.addf", self._line("arith.mulf", own, half), found[k]))
        types = ", ".join([self.type] * outputs)
        return "\n".join([*self.lines, f"    linalg.yield {', '.join(made)} : {types}"])

    def _expression(self, values: list[str]) -> str:
        if self.random.random() < 0.25 and len(values) > 1:  # a product, as of a contraction
            return self._line("arith.mulf", *self.random.sample(values, 2))
        value = self.random.choice(values)
        for _ in range(self.random.randint(0, 3)):
            if self.random.random() < 0.4:
                value = self._one(value)
            else:
                value = self._two(value, self.random.choice([*values, self._constant(0.75)]))
        return value

    def _one(self, x: str) -> str:
        return self._line(self.random.choice(UNARY), x)

    def _two(self, x: str, y: str) -> str:
        return self._line(self.random.choice(BINARY), x, y)

    def _line(self, op: str, *operands: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {op} {', '.join(operands)} : {self.type}")
        return name

    def _constant(self, number: float) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = arith.constant {number} : {self.type}")
        return name

    def _index(self) -> str:
        d, k = self.random.randrange(self.rank), len(self.lines)
        self.lines += [
            f"    %v{k} = linalg.index {d} : index",
            f"    %v{k + 1} = arith.index_cast %v{k} : index to i64",
            f"    %v{k + 2} = arith.sitofp %v{k + 1} : i64 to {self.type}",
        ]
        return f"%v{k + 2}"
