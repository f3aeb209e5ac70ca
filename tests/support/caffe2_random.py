"""Random nets of Caffe2's kind, and NumPy that runs them on blobs that really are overwritten.

Nets are rows, as in tests/support/caffe2_nets.py. Values are float64 of three shapes. The
reference freezes what StopGradient gives, and mirrors what NegateGradient gives, so that central
differences of it are the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MATRIX, VECTOR, SCALAR = (2, 3), (3,), ()
SHAPES = (MATRIX, VECTOR, SCALAR)
Row = list[Any]
Blobs = dict[str, Any]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _sum(*xs: Any) -> Any:
    return sum(xs[1:], xs[0])


UNARY: dict[str, Callable[[Any], Any]] = {
    "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Sin": np.sin, "Cos": np.cos,
    "Negative": np.negative, "Copy": lambda x: x, "Alias": lambda x: x, "Exp": np.exp,
    "EnsureDense": lambda x: x, "Sqr": lambda x: x * x,
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Sum": _sum,
}  # fmt: skip


def run(rows: Sequence[Row], blobs: Blobs, frozen: Frozen) -> None:
    """Run a net on blobs that it overwrites."""
    for kind, inputs, outputs, args in rows:
        if kind in ("If", "While", "Do"):
            _run_nested(kind, inputs, args, blobs, frozen)
            continue
        found = _value(kind, [blobs[n] for n in inputs], args, frozen)
        results = found if isinstance(found, tuple) else (found,)
        blobs.update(zip(outputs, results, strict=False))


@dataclass
class Frozen:
    """Values of a first run, which the next ones take in the same order."""

    values: list[Any] = field(default_factory=list[Any])
    at: int | None = None

    def take(self, x: Any) -> Any:
        if self.at is None:
            self.values.append(x)
            return x
        self.at += 1
        return self.values[self.at - 1]


def _value(kind: str, xs: Sequence[Any], args: Mapping[str, Any], frozen: Frozen) -> Any:
    if kind in UNARY:
        return UNARY[kind](xs[0])
    if kind in BINARY:
        return BINARY[kind](*xs)
    if kind == "StopGradient":
        return frozen.take(xs[0])
    if kind == "NegateGradient":
        return 2 * frozen.take(xs[0]) - xs[0]
    return OTHERS[kind](*xs, **args)


OTHERS: dict[str, Callable[..., Any]] = {
    "Softmax": _softmax,
    "Scale": lambda x, scale: x * scale,
    "Pow": lambda x, exponent: x**exponent,
    "SumElements": np.sum,
    "AveragedLoss": np.mean,
    "DotProduct": lambda x, y: (x * y).sum(-1),
    "SquaredL2Distance": lambda x, y: 0.5 * ((x - y) ** 2).sum(-1),
    "FC": lambda x, w, b: x @ w.T + b,
    "MatMul": lambda x, y, trans_a, trans_b: x.T @ y,
    "Gather": lambda x, i: x[i],
    "Concat": lambda x, y, axis: (np.concatenate([x, y], axis), np.array([1, 1])),
    "Split": lambda x, axis, split: tuple(np.split(x, [split[0]], axis)),
    "ConstantFill": lambda shape, value: np.full(shape, value),
    "LT": np.less,
    "WeightedSum": lambda x, v, y, w: x * v + y * w,
    "ScatterAdd": lambda x, i, v: _added_at(x, i, v),
}


def _added_at(x: Any, i: Any, v: Any) -> Any:
    made = x.copy()
    np.add.at(made, i, v)
    return made


def _run_nested(
    kind: str, inputs: Sequence[str], args: Mapping[str, Any], blobs: Blobs, frozen: Frozen
) -> None:
    if kind == "If":
        chosen = args["then_net"] if blobs[inputs[0]] else args.get("else_net")
        _run_inside(chosen or [], blobs, frozen)
    elif kind == "Do":
        _run_inside(args["net"], blobs, frozen)
    else:
        while True:
            _run_inside(args["cond_net"], blobs, frozen, also=inputs)
            if not blobs[inputs[0]]:
                break
            _run_inside(args["loop_net"], blobs, frozen)


def _run_inside(
    rows: Sequence[Row], blobs: Blobs, frozen: Frozen, also: Sequence[str] = ()
) -> None:
    inside = dict(blobs)
    run(rows, inside, frozen)
    blobs.update({n: v for n, v in inside.items() if n in blobs or n in also})


class Writer:
    """Writes random nets: rows that read blobs of known shapes, and write new ones or these."""

    def __init__(self, rng: np.random.Generator, nested: bool = True):
        self.rng = rng
        self.nested = nested
        self.count = 0

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def of_shape(self, shapes: Mapping[str, Any], shape: Any) -> str | None:
        found = [n for n, s in shapes.items() if s == shape]
        return self.pick(found) if found else None

    def target(self, shapes: dict[str, Any], shape: Any, keep: bool) -> str:
        """A name to write: a blob of this shape, or a new one."""
        old = [n for n, s in shapes.items() if keep and s == shape]
        if not old and not keep:
            old = [n for n, s in shapes.items() if s != "int"]
        self.count += 1
        name = self.pick(old) if old and self.rng.random() < 0.4 else f"t{self.count}"
        shapes[name] = shape
        return name

    def rows(self, shapes: dict[str, Any], count: int, depth: int = 0) -> list[Row]:
        """Operators that read and write blobs; in a nested net shapes of blobs stay."""
        made: list[Row] = []
        for _ in range(count):
            made += self.row(shapes, depth)
        return made

    def row(self, shapes: dict[str, Any], depth: int) -> list[Row]:
        x = self.pick([n for n, s in shapes.items() if s != "int"])
        shape, roll = shapes[x], self.rng.random()
        y = self.of_shape(shapes, shape) or x

        def to(made: Any) -> list[str]:
            return [self.target(shapes, made, depth > 0)]

        if self.nested and depth < 2 and roll < 0.12:
            return self.flow(shapes, depth)
        if roll < 0.4:
            return [[self.pick(["Add", "Sub", "Mul", "Sum"]), [x, y], to(shape), {}]]
        if roll < 0.45:
            others = [self.of_shape(shapes, shape) or x for _ in range(3)]
            return [["Sum", [x, *others], to(shape), {}]]
        if roll < 0.62:
            kind = self.pick(["Tanh", "Sigmoid", "Sin", "Cos", "Negative", "Copy", "Alias",
                              "EnsureDense", "StopGradient", "NegateGradient"])  # fmt: skip
            return [[kind, [x], to(shape), {}]]
        if roll < 0.66:
            return [["Scale", [x], to(shape), {"scale": 0.5}]]
        if roll < 0.7:
            return [["Pow", [x], to(shape), {"exponent": 2.0}]]
        return self.shaped(shapes, x, shape, to)

    def shaped(
        self, shapes: dict[str, Any], x: str, shape: Any, to: Callable[[Any], list[str]]
    ) -> list[Row]:
        """Operators that read or give certain shapes."""
        matrix, vector, scalar = (self.of_shape(shapes, s) for s in SHAPES)
        other = self.of_shape(shapes, MATRIX)
        forms: list[Callable[[], Any]] = [
            lambda: ["SumElements", [x], to(SCALAR), {}],
            lambda: ["ConstantFill", [], to(shape), {"shape": list(shape), "value": 0.5}],
        ]
        if matrix and other:
            index = self.pick(["i", "j"])
            forms += [
                lambda: ["Gather", [matrix, index], to(MATRIX), {}],
                lambda: ["Gather", [matrix, "i"], to(MATRIX), {}],
                lambda: ["ScatterAdd", [matrix, index, other], to(MATRIX), {}],
                lambda: ["Softmax", [matrix], to(MATRIX), {}],
                lambda: ["AveragedLoss", [matrix], to(SCALAR), {}],
            ]
        if matrix and other and vector:
            forms += [
                lambda: ["FC", [matrix, "w", vector], to(MATRIX), {}],
                lambda: ["Add", [matrix, vector], to(MATRIX), {}],
                lambda: ["Add", [vector, matrix], to(MATRIX), {}],
                lambda: ["Sub", [vector, matrix], to(MATRIX), {}],
                lambda: ["Mul", [matrix, vector], to(MATRIX), {}],
                lambda: ["Sub", [matrix, vector], to(MATRIX), {"broadcast": 1}],
            ]
        if vector:
            forms.append(lambda: ["Gather", [vector, "k"], to(VECTOR), {}])
        if scalar and shape != SCALAR:
            forms.append(lambda: ["Add", [x, scalar], to(shape), {}])
            forms.append(lambda: ["WeightedSum", [x, scalar, x, scalar], to(shape), {}])
        return [self.pick(forms)()]

    def flow(self, shapes: dict[str, Any], depth: int) -> list[Row]:
        """A branch, a loop or a scope, which change blobs that there are."""
        self.count += 1
        name, kind = f"n{self.count}", self.pick(["If", "IfElse", "While", "Do"])
        inside = [self.rows(dict(shapes), int(self.rng.integers(1, 4)), depth + 1) for _ in "ab"]
        scalar = self.of_shape(shapes, SCALAR)
        if kind == "Do" or (scalar is None and kind != "While"):
            return [["Do", [], [], {"net": inside[0]}]]
        if kind == "While":
            trips = float(self.rng.integers(0, 4))
            count, one, end = f"{name}_k", f"{name}_one", f"{name}_end"
            test = [["Add", [count, one], [count], {}], ["LT", [count, end], [name], {}]]
            loop = {"loop_net": inside[0], "cond_net": test}
            fills = [(count, -1.0), (one, 1.0), (end, trips - 0.5)]
            return [*map(_fill, fills), ["While", [name], [], loop]]
        args = {"then_net": inside[0]} | ({"else_net": inside[1]} if kind == "IfElse" else {})
        zero = f"{name}_zero"
        return [_fill((zero, 0.2)), ["LT", [zero, scalar], [name], {}], ["If", [name], [], args]]


def _fill(given: tuple[str, float]) -> Row:
    return ["ConstantFill", [], [given[0]], {"shape": [], "value": given[1]}]


@dataclass
class Case:
    """A random net with inputs, seeds, and what it is differentiated in."""

    rows: list[Row]
    inputs: Blobs
    ys: dict[str, Any]
    wrt: list[str]
    skip: int


def random_case(seed: int, nested: bool = True) -> Case:
    """The case of a number."""
    rng = np.random.default_rng(seed)
    writer = Writer(rng, nested)
    inputs: Blobs = {
        "x": rng.normal(size=MATRIX), "m": rng.normal(size=MATRIX), "v": rng.normal(size=VECTOR),
        "b": rng.normal(size=VECTOR), "s": rng.normal(size=SCALAR), "w": rng.normal(size=(3, 3)),
        "i": rng.integers(0, 2, size=(2,)), "j": rng.integers(0, 2, size=(2,)),
        "k": rng.integers(0, 3, size=(3,)),
    }  # fmt: skip
    shapes = {n: v.shape for n, v in inputs.items() if n not in ("w", "i", "j", "k")}
    rows = writer.rows(shapes, int(rng.integers(3, 13)))
    skip = int(rng.integers(0, len(rows))) if rng.random() < 0.2 else 0
    blobs = dict(inputs)
    run(rows, blobs, Frozen())
    floats = [n for n, v in blobs.items() if np.asarray(v).dtype == np.float64]
    picked = rng.choice(floats, size=min(len(floats), int(rng.integers(1, 4))), replace=False)
    ys = {
        str(y): rng.normal(size=np.shape(blobs[str(y)])) if rng.random() < 0.6 else None
        for y in picked
    }
    wrt = [str(n) for n in rng.choice(["x", "m", "v", "b", "s", "w"], size=3, replace=False)]
    return Case(rows, inputs, ys, wrt, skip)


def kinds_of(rows: Sequence[Row]) -> set[str]:
    """The types of operators in a net and its nested nets."""
    nets = [net for row in rows for key, net in row[3].items() if key.endswith("net")]
    return {row[0] for row in rows}.union(*map(kinds_of, nets))


def reference(case: Case, step: float = 1e-5) -> tuple[Blobs, Blobs]:
    """The blobs after the net has run; and central differences in what `skip` leaves."""
    start = dict(case.inputs)
    frozen = Frozen()
    run(case.rows[: case.skip], start, frozen)
    frozen = Frozen()
    end = dict(start)
    run(case.rows[case.skip :], end, frozen)
    seeds = {y: np.ones(np.shape(end[y])) if s is None else s for y, s in case.ys.items()}

    def loss(blobs: Blobs) -> float:
        frozen.at = 0
        after = dict(blobs)
        run(case.rows[case.skip :], after, frozen)
        return float(sum(np.sum(after[y] * seed) for y, seed in seeds.items()))

    return end, {name: _differences(loss, start, name, step) for name in case.wrt}


def _differences(loss: Callable[[Blobs], float], blobs: Blobs, name: str, step: float) -> Any:
    value = np.array(blobs[name], np.float64)
    made = np.zeros_like(value)
    for at in np.ndindex(value.shape):
        moved = [value.copy(), value.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        up, down = (loss({**blobs, name: m}) for m in moved)
        made[at] = (up - down) / (2 * step)
    return made
