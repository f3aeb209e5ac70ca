"""Level 3: random programs of level 2 on several ranks, with collectives between their parts.

All ranks come to the same collectives: they stand outside of loops and branches, where data decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

import gradir
from fuzz.outcome import Broken, Outcome
from fuzz.programs import Body, Statement, Value, kinds_in
from fuzz.text_forms import A, Form, P, V, form
from fuzz.text_level import BETWEEN, arguments_of
from fuzz.text_program import TextProgram, random_text_program, smaller_program
from fuzz.trial import Array, Trial, interpreted, is_float_dtype, random_like
from fuzz.verdict import judge, refusals_allowed
from gradir import Module
from gradir.interpreter.ranks import on_ranks
from gradir.validation.differences import difference

ALONE = ("native_forward", "native_gradient")
"""The checks that are made of the program for one rank."""

PART = 0.381966

SAME = """
comm.all_reduce %0 {ranks = $R}
comm.all_reduce %0 {ranks = $R, ordered = true}
comm.all_reduce %0 {kind = "mean", ranks = $R}
comm.all_reduce %0 {kind = "max", ranks = $R}
comm.all_reduce %0 {kind = "min", ranks = $R}
comm.reduce %0 {root = $L, ranks = $R}
comm.broadcast %0 {root = $L, ranks = $R}
comm.permute %0 {sources = [0], targets = [$L], ranks = $R}
"""
GATHERED = {V: "tensor<$Mx$F>", A: "tensor<$Mx$Nx$F>"}


def _forms() -> list[Form]:
    lines = SAME.strip().splitlines()
    found = [form(f"%r = {line} : !{t}", t, t) for line in lines for t in "PVA"]
    for letter, type_ in (("V", V), ("A", A)):
        every = GATHERED[type_]
        gather = f"%rg = comm.all_gather %0 {{axis = 0, ranks = $R}} : !{letter} -> {every}\n"
        for op in ("part", "reduce_scatter"):
            back = f"%r = comm.{op} %rg {{axis = 0, ranks = $R}} : {every} -> !{letter}"
            found.append(form(gather + back, letter, letter))
    return found


FORMS = _forms()


@dataclass(frozen=True)
class RanksCase:
    """A program of several ranks, and the seed of arguments and decisions."""

    program: TextProgram
    ranks: int
    seed: int

    def text(self, ranks: int, marked: bool) -> str:
        words = {"R": ranks, "L": ranks - 1, "M": ranks * self.program.size}
        text = self.program.text(marked)
        for name, number in words.items():
            text = text.replace(f"${name}", str(number))
        return text


@dataclass(frozen=True)
class SavedCase:
    """Likewise, with the texts: for all ranks, and for one, with marks and without."""

    texts: Sequence[str]
    ranks: int
    seed: int


def saved_case(case: RanksCase) -> SavedCase:
    """The case with its texts written."""
    kinds = (case.ranks, True), (1, True), (1, False)
    return SavedCase([case.text(*kind) for kind in kinds], case.ranks, case.seed)


def make(seed: int) -> RanksCase:
    """The case of a seed."""
    choose = Random(seed)
    program = random_text_program(choose, False, "f64")
    function = program.functions[-1]
    body = function.body
    for _ in range(choose.randint(1, 4)):
        body = _with_collective(body, choose)
    functions = (*program.functions[:-1], replace(function, body=body))
    return RanksCase(replace(program, functions=functions), choose.choice([2, 3]), seed)


def _with_collective(body: Body, choose: Random) -> Body:
    """A body in which a collective of a value stands for it from some place on."""
    at = choose.randint(0, len(body.statements))
    before, after = body.statements[:at], body.statements[at:]
    visible = [*body.arguments, *(r for s in before for r in s.results)]
    fitting = [v for v in visible if v.type in (P, V, A)]
    if not fitting:
        return body
    value = choose.choice(fitting)
    numbers = [v.number for s in kinds_in(body) for v in (*s.results, *s.operands, *_inner(s))]
    made = Value(max([*numbers, *(v.number for v in body.arguments), 0]) + 1, value.type)
    chosen = choose.choice([f for f in FORMS if f.result == value.type])
    collective = Statement("op", (made,), (value,), (chosen.text,))
    rest = tuple(_renamed(s, value, made) for s in after)
    return replace(
        body, statements=(*before, collective, *rest), ends=_other(body.ends, value, made)
    )


def _inner(statement: Statement) -> Iterator[Value]:
    for block in statement.blocks:
        yield from (*block.arguments, *block.ends)


def _renamed(statement: Statement, old: Value, new: Value) -> Statement:
    blocks = tuple(
        replace(
            block,
            statements=tuple(_renamed(s, old, new) for s in block.statements),
            ends=_other(block.ends, old, new),
        )
        for block in statement.blocks
    )
    return replace(statement, operands=_other(statement.operands, old, new), blocks=blocks)


def _other(values: tuple[Value, ...], old: Value, new: Value) -> tuple[Value, ...]:
    return tuple(new if v == old else v for v in values)


def check(case: RanksCase | SavedCase) -> Outcome:
    """Fine, or an exception."""
    saved = case if isinstance(case, SavedCase) else saved_case(case)
    with refusals_allowed("a valid program"):
        module, marked, plain = map(gradir.parse, saved.texts)
    first = arguments_of(plain, "f", saved.seed)
    given = [first, *(arguments_of(plain, "f", saved.seed + k) for k in range(1, saved.ranks))]
    with refusals_allowed("derivatives over all ranks"):
        _derivatives(module, given, np.random.default_rng(saved.seed))
    return judge(Trial(plain, marked, "f", first, False, Random(saved.seed)), ALONE)


def _derivatives(module: Module, given: list[list[Array]], generator: np.random.Generator) -> None:
    """The cotangents of all ranks against differences of all ranks' results, along a direction."""
    values = _on_ranks(module, "f", given)
    wrt = [k for k, a in enumerate(given[0]) if is_float_dtype(a)]
    floating = [k for k, v in enumerate(values[0]) if is_float_dtype(v)]
    if not wrt or not floating:
        return
    cotangents = [[random_like(one[k], generator) for k in floating] for one in values]
    vjp = module.gradient("f", mode="vjp")
    args = [(*one, *cts) for one, cts in zip(given, cotangents, strict=True)]
    results = _on_ranks(vjp, "f_vjp", args)
    gradients = [one[len(values[0]) :] for one in results]
    every = [*values, *gradients]
    if not all(
        np.isfinite(a).all() and np.abs(a).max(initial=0) < 1e5 for one in every for a in one
    ):
        return
    directions = [[generator.uniform(0.5, 1, np.shape(one[k])) for k in wrt] for one in given]

    def projected(step: Array) -> float:
        moved = [list(one) for one in given]
        for one, along in zip(moved, directions, strict=True):
            for k, d in zip(wrt, along, strict=True):
                one[k] = one[k] + step * d
        found = _on_ranks(module, "f", moved)
        return sum(
            float(np.sum(one[k] * c))
            for one, cts in zip(found, cotangents, strict=True)
            for k, c in zip(floating, cts, strict=True)
        )

    got = sum(
        float(np.sum(g * d))
        for one, along in zip(gradients, directions, strict=True)
        for g, d in zip(one, along, strict=True)
    )
    zero = np.zeros(())
    expected = difference(projected, [zero], 0, np.ones(()))
    again = difference(projected, [zero], 0, np.asarray(PART)) / PART
    size = max(abs(expected), abs(got), 1.0)
    # where differences differ there is a kink or a steep place near by
    is_smooth = np.isfinite(expected) and abs(expected - again) <= 1e-8 * size
    if is_smooth and not abs(got - expected) <= 1e-5 * size:
        text = f"differences give {expected:.12g}, the gradients {got:.12g}"
        raise Broken("gradients and differences over all ranks", text)


def _on_ranks(module: Module, name: str, args: Sequence[Sequence[Array]]) -> list[Any]:
    def one(rank: int) -> tuple[Any, ...]:
        return interpreted(module, name, args[rank])

    return on_ranks(len(args), one)


def smaller(case: RanksCase) -> Iterator[RanksCase]:
    """Cases with less in the program."""
    for program in smaller_program(case.program):
        yield replace(case, program=program)


def write(case: RanksCase) -> str:
    """The text that a file of it holds."""
    saved = saved_case(case)
    return f"// {json.dumps([saved.ranks, saved.seed])}\n{BETWEEN.join(saved.texts)}"


def read(text: str) -> SavedCase:
    """The case of a file."""
    _, _, options, programs = text.split("\n", 3)
    ranks, seed = json.loads(options.removeprefix("// "))
    return SavedCase(programs.split(BETWEEN), ranks, seed)
