"""Random functions in NumPy's own words: arrays that NumPy makes, their views, and assignments to
them of numbers that are known and of ones that depend on the argument.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

START = """a = np.zeros(4)
b = np.arange(4.0)
c = np.ones((2, 2))
t = x.copy()"""
KNOWN = ("0.5", "2.0", "b[1]", "float(c[0, 0])", "1")
TRACED = ("x[0]", "x[1] * 2", "t[2]", "np.sum(x)", "np.sin(x[3])", "t.mean()")
VECTORS = (
    "x", "t", "b", "a", "c.ravel()", "c.reshape(4)", "a[::-1]", "np.cos(t)", "(b * 2)", "(a + b)",
    "np.maximum(a, t)",
)  # fmt: skip
VIEWS = (
    "a[1:]", "b[:3]", "c[0]", "c.T", "a.reshape(2, 2)", "c.ravel()", "b[::-1]", "a", "t[1:]",
    "np.diag(c)", "a[None]", "c[:, 1]",
)  # fmt: skip
NEW = (
    "np.concatenate([a[:2], x[2:]])", "np.where(b > 1, a, t)", "np.array([x[0], 1.0, b[2], a[3]])",
    "np.array(a)", "a.copy()", "np.full(4, 2.0)", "np.zeros_like(x)", "np.empty(4) * 0 + 3",
    "np.stack([a, b])[1]",
)  # fmt: skip
LOSS = "np.sum(a * [1, 2, 3, 4]) + np.sum(b * b) + np.sum(c * [[1, 2], [3, 5]]) + t[1]"


class _Writer:
    """Writes one function of an array x of four numbers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.views: list[str] = []

    def text(self) -> str:
        count = self.random.randint(4, 11)
        lines = [START, *(self.random.choice(STATEMENTS)(self) for _ in range(count))]
        loss = "".join([LOSS, *(f" + 3 * np.sum({view})" for view in self.views)])
        return "def f(x):\n" + textwrap.indent("\n".join([*lines, f"return {loss}"]), "    ")

    def one(self, *among: str) -> str:
        return self.random.choice(among)

    def place(self) -> int:
        return self.random.randint(0, 3)

    def number(self) -> str:
        """A number, known in a third of all cases."""
        return self.one(*self.random.choice((KNOWN, TRACED, TRACED)))

    def vector(self) -> str:
        return self.one(*VECTORS)

    def view(self) -> str:
        self.views.append(name := f"v{len(self.views)}")
        return f"{name} = {self.one(*VIEWS)}"

    def write_to_view(self) -> str:
        if not self.views:
            return self.view()
        view = self.one(*self.views)
        return self.one(f"{view}[0] = {self.number()}", f"{view} += {self.number()}")


STATEMENTS: tuple[Callable[[_Writer], str], ...] = (
    lambda w: f"a[{w.place()}] = {w.number()}",
    lambda w: f"b[{w.one('1:3', '::2', '-2:')}] = {w.number()}",
    lambda w: f"c[{w.place() % 2}, {w.place() % 2}] += {w.number()}",
    lambda w: f"a += {w.vector()}",
    lambda w: f"b *= {w.one('0.5', 'x', 't', 'a')}",
    lambda w: f"t[{w.place()}] = {w.number()}",
    _Writer.view,
    _Writer.write_to_view,
    lambda w: f"for i in range({1 + w.place()}):\n    a[i] += {w.number()} * i",
    lambda w: f"if a[{w.place()}] > 0.5:\n    b[0] = {w.number()}",
    lambda w: "np.add(a, b, out=a)",
    lambda w: f"a = {w.one(*NEW)}",
    lambda w: f"c = np.outer({w.vector()}[:2], {w.vector()}[2:])",
    lambda w: f"b[b > 1] = {w.one('0.25', 'x[1]')}",
    lambda w: f"np.fill_diagonal(c, {w.number()})",
    lambda w: f"a[[0, 2]] += {w.one('1.0', 'x[:2]', 'b[:2]')}",
    lambda w: "a, b = b, a",
    lambda w: f"c[:] = {w.one('1.5', 'x[:2]', 'c.T', 'c @ c')}",
)


def numpy_program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """A function of an array of four numbers, and its text."""
    text = _Writer(seed).text()
    names: dict[str, Any] = {"np": np}
    exec(compile(text, f"numpy_program_{seed}.py", "exec"), names)
    return names["f"], text
