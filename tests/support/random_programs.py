"""Random programs over the ops of all kinds, as text; what decides is given from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]
Shape = tuple[int, ...]

UNARY = (
    "array.negative", "array.abs", "array.tanh", "array.sin", "array.square", "nn.relu",
    "nn.sigmoid", "grad.barrier",
)  # fmt: skip
BINARY = ("array.add", "array.subtract", "array.multiply", "array.maximum", "array.minimum")
REDUCTIONS = ("array.sum", "array.max", "array.min", "array.mean", "array.logsumexp")
# What has kinks, where differences of values say nothing of the derivative.
ROUGH = ("array.abs", "nn.relu", "array.maximum", "array.minimum", "array.max", "array.min")
SHAPES: tuple[Shape, ...] = ((3, 4), (4,), (3,), (1, 4), (3, 1), (), (2, 3, 4), (4, 3), (0, 4))
# With whole vectors and tails, enough work for several threads, and packed products of matrices.
LARGE_SHAPES: tuple[Shape, ...] = (
    (96, 130), (130, 96), (7, 96, 130), (33, 65), (65, 33), (257,), (130,), (96,), (1, 130),
    (96, 1), (),
)  # fmt: skip


@dataclass
class ProgramWriter:
    """Grows one function, statement by statement; `choose` makes every decision."""

    choose: Callable[..., Any]
    element: str = "f32"
    smooth: bool = False
    shapes: Sequence[Shape] = SHAPES
    values: list[tuple[str, Shape]] = field(default_factory=list[tuple[str, Shape]])
    arguments: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])

    def pick(self, options: Sequence[T]) -> T:
        return self.choose(options)

    def op(self, names: Sequence[str]) -> str:
        return self.pick([n for n in names if not (self.smooth and n in ROUGH)])

    def type(self, shape: Shape, element: str | None = None) -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{element or self.element}>"

    def argument(self, shape: Shape) -> None:
        name = f"%x{len(self.arguments)}"
        self.arguments.append(f"{name}: {self.type(shape)}")
        self.values.append((name, shape))

    def emit(self, text: str, shape: Shape, keep: bool = True) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        if keep:
            self.values.append((name, shape))
        return name

    def step(self) -> None:
        """One more statement."""
        makers = [
            self.unary, self.binary, self.binary, self.reduction, self.reduction, self.broadcast,
            self.broadcast, self.permute, self.slice, self.pad, self.flip, self.reshape,
            self.concat, self.matmul, self.take, self.scatter, self.where, self.softmax,
            self.constant,
        ]  # fmt: skip
        self.pick(makers)()

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()

    def unary(self) -> None:
        name, shape = self.pick(self.values)
        self.emit(f"{self.op(UNARY)} {name} : {self.type(shape)}", shape)

    def binary(self) -> None:
        name, shape = self.pick(self.values)
        other = self.pick([n for n, s in self.values if s == shape])
        self.emit(f"{self.op(BINARY)} {name}, {other} : {self.type(shape)}", shape)

    def where(self) -> None:
        name, shape = self.pick(self.values)
        other = self.pick([n for n, s in self.values if s == shape])
        if self.smooth:
            return
        whole, mask = self.type(shape), self.type(shape, "i1")
        cond = self.emit(f"array.less {name}, {other} : {whole}, {whole} -> {mask}", shape, False)
        x = self.pick([n for n, s in self.values if s == shape])
        self.emit(f"array.where {cond}, {x}, {other} : {mask}, {whole}, {whole} -> {whole}", shape)

    def reduction(self) -> None:
        name, shape = self.pick(self.values)
        axes = [d for d in range(len(shape)) if self.pick([True, False])]
        op, keep = self.op(REDUCTIONS), self.pick([True, False])
        if op in ("array.max", "array.min") and 0 in [shape[d] for d in axes]:
            op = "array.sum"
        kept = tuple(1 if d in axes else n for d, n in enumerate(shape))
        if not keep:
            kept = tuple(n for d, n in enumerate(shape) if d not in axes)
        attributes = f"{{axis = {axes}, keepdims = {str(keep).lower()}}}"
        self.emit(f"{op} {name} {attributes} : {self.type(shape)} -> {self.type(kept)}", kept)

    def broadcast(self) -> None:
        name, shape = self.pick(self.values)
        fitting = [
            s for s in {s for _, s in self.values} | set(self.shapes) if _broadcasts(shape, s)
        ]
        target = self.pick(sorted(fitting))
        self._move("array.broadcast_to", name, "", shape, target)

    def _move(self, op: str, name: str, attributes: str, shape: Shape, target: Shape) -> None:
        self.emit(f"{op} {name}{attributes} : {self.type(shape)} -> {self.type(target)}", target)

    def permute(self) -> None:
        name, shape = self.pick(self.values)
        left, axes = list(range(len(shape))), list[int]()
        while left:
            axes.append(self.pick(left))
            left.remove(axes[-1])
        target = tuple(shape[a] for a in axes)
        self._move("array.permute_dims", name, f" {{axes = {axes}}}", shape, target)

    def slice(self) -> None:
        name, shape = self.pick(self.values)
        start = [self.pick(range(n + 1)) for n in shape]
        stop = [self.pick(range(s, n + 1)) for s, n in zip(start, shape, strict=True)]
        step = [self.pick([1, 1, 2]) for _ in shape]
        target = tuple(len(range(*b)) for b in zip(start, stop, step, strict=True))
        attributes = f" {{start = {start}, stop = {stop}, step = {step}}}"
        self._move("array.slice", name, attributes, shape, target)

    def pad(self) -> None:
        name, shape = self.pick(self.values)
        low, high = ([self.pick([0, 0, 1, 2]) for _ in shape] for _ in range(2))
        target = tuple(lo + n + hi for lo, n, hi in zip(low, shape, high, strict=True))
        attributes = f" {{low = {low}, high = {high}, value = {self.pick([0.0, 1.5])}}}"
        self._move("array.pad", name, attributes, shape, target)

    def flip(self) -> None:
        name, shape = self.pick(self.values)
        axes = [d for d in range(len(shape)) if self.pick([True, False])]
        self._move("array.flip", name, f" {{axis = {axes}}}", shape, shape)

    def reshape(self) -> None:
        name, shape = self.pick(self.values)
        size = prod(shape)
        options: list[Shape] = [(size,), (1, size), (size, 1), (*shape, 1), (1, *shape)]
        options += [s for s in self.shapes if prod(s) == size]
        self._move("array.reshape", name, "", shape, self.pick(options))

    def concat(self) -> None:
        name, shape = self.pick(self.values)
        if not shape:
            return
        axis = self.pick(range(len(shape)))
        rest = _without(shape, axis)
        fitting = [
            (n, s) for n, s in self.values if len(s) == len(shape) and _without(s, axis) == rest
        ]
        parts = [(name, shape), *(self.pick(fitting) for _ in range(self.pick([1, 2])))]
        total = sum(s[axis] for _, s in parts)
        target = tuple(total if d == axis else n for d, n in enumerate(shape))
        names = ", ".join(n for n, _ in parts)
        types = ", ".join(self.type(s) for _, s in parts)
        text = f"array.concat {names} {{axis = {axis}}} : {types} -> {self.type(target)}"
        self.emit(text, target)

    def matmul(self) -> None:
        matrices = [(n, s) for n, s in self.values if 1 <= len(s) <= 2]
        if not matrices:
            return
        lhs, left = self.pick(matrices)
        fitting = [(n, s) for n, s in matrices if s[-2 if len(s) > 1 else 0] == left[-1]]
        if not fitting:
            return
        rhs, right = self.pick(fitting)
        target = left[:-1] + (right[1:] if len(right) > 1 else ())
        types = f"{self.type(left)}, {self.type(right)} -> {self.type(target)}"
        self.emit(f"array.matmul {lhs}, {rhs} : {types}", target)

    def indices(self, bound: int, count: int) -> tuple[str, str]:
        """A constant of `count` indices in [-bound, bound), and its type."""
        numbers = [self.pick(range(-bound, bound)) for _ in range(count)]
        type_ = self.type((count,), "i64")
        return self.emit(f"array.constant {{value = dense<{numbers}> : {type_}}} : {type_}",
                         (count,), False), type_  # fmt: skip

    def take(self) -> None:
        name, shape = self.pick(self.values)
        if not shape or 0 in shape:
            return
        axis = self.pick(range(len(shape)))
        indices, type_ = self.indices(shape[axis], 3)
        target = (*shape[:axis], 3, *shape[axis + 1 :])
        types = f"{self.type(shape)}, {type_} -> {self.type(target)}"
        self.emit(f"array.take {name}, {indices} {{axis = {axis}}} : {types}", target)

    def scatter(self) -> None:
        name, shape = self.pick(self.values)
        if not shape or 0 in shape:
            return
        axis = self.pick(range(len(shape)))
        fitting = [
            (n, s) for n, s in self.values
            if len(s) == len(shape) and _without(s, axis) == _without(shape, axis)
        ]  # fmt: skip
        updates, updated = self.pick(fitting)
        if 0 in updated:
            return
        indices, type_ = self.indices(shape[axis], updated[axis])
        whole = self.type(shape)
        types = f"{whole}, {type_}, {self.type(updated)} -> {whole}"
        text = f"array.scatter_add {name}, {indices}, {updates} {{axis = {axis}}} : {types}"
        self.emit(text, shape)

    def softmax(self) -> None:
        name, shape = self.pick(self.values)
        if not shape or 0 in shape:
            return
        axis = self.pick(range(len(shape)))
        op = self.pick(["nn.softmax", "nn.log_softmax"])
        self.emit(f"{op} {name} {{axis = {axis}}} : {self.type(shape)}", shape)

    def constant(self) -> None:
        shape = self.pick([s for _, s in self.values])
        number = self.pick([0.0, 1.0, -0.5])
        self.emit(f"array.full {{value = {number}}} : {self.type(shape)}", shape)

    def late(self, count: int) -> list[tuple[str, Shape]]:
        """Some of the values that were made last."""
        options = self.values[-6:]
        return [self.pick(options) for _ in range(count)]

    def text(self, results: Sequence[tuple[str, Shape]]) -> str:
        types = ", ".join(self.type(s) for _, s in results)
        body = "\n  ".join(self.lines)
        return (
            f"func.func @f({', '.join(self.arguments)}) -> ({types}) {{\n  {body}\n"
            f"  func.return {', '.join(n for n, _ in results)} : {types}\n}}\n"
        )


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _broadcasts(source: Shape, target: Shape) -> bool:
    if len(source) > len(target):
        return False
    tail = target[len(target) - len(source) :]
    return all(a in (1, b) for a, b in zip(source, tail, strict=True))


def random_program(
    choose: Callable[..., Any],
    steps: int,
    results: int,
    element: str = "f32",
    smooth: bool = False,
) -> str:
    """The text of a module with one function @f."""
    writer = ProgramWriter(choose, element, smooth)
    for _ in range(3):
        writer.argument(writer.pick(writer.shapes))
    writer.steps(steps)
    return writer.text(writer.late(results))
