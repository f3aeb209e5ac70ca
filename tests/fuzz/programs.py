"""Programs as data: statements in blocks, which name the values that they use; and smaller ones.

A value that is used where it is not defined, since what defined it has been removed, is another one
of its type. So whatever is removed, a program stays one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Value:
    """One value; `type` is in the words of the level."""

    number: int
    type: Any


@dataclass(frozen=True)
class Statement:
    """`results = kind(operands)`, with what the kind needs in `note`, and blocks.

    A kind "same" only gives its operands other names.
    """

    kind: str
    results: tuple[Value, ...] = ()
    operands: tuple[Value, ...] = ()
    note: tuple[Any, ...] = ()
    blocks: tuple[Body, ...] = ()


@dataclass(frozen=True)
class Body:
    """A block: what it takes, does, and hands on."""

    arguments: tuple[Value, ...]
    statements: tuple[Statement, ...]
    ends: tuple[Value, ...]


# Kinds whose i-th result stands for the i-th end of each block, and of loops also for the
# i-th operand and argument behind as many of other meaning.
SHRINKABLE = {
    "if": (None, None), "switch": (None, None), "region": (None, None), "stage": (None, None),
    "for": (0, 1), "while": (0, 0), "scan": (0, 0), "custom": (None, None),
    "jit": (None, None),
}  # fmt: skip
# Of these the last result is another one.
LAST_STAYS = {"scan"}


def smaller_body(body: Body) -> Iterator[Body]:
    """Bodies with less in them, the boldest first."""
    count = len(body.statements)
    length = count
    while length >= 1:
        for at in range(0, count, length):
            rest = body.statements[:at] + body.statements[at + length :]
            yield replace(body, statements=rest)
        length //= 2
    for k, statement in enumerate(body.statements):
        for variant in smaller_statement(statement):
            yield _with(body, k, variant)


def _with(body: Body, k: int, variant: Sequence[Statement]) -> Body:
    statements = (*body.statements[:k], *variant, *body.statements[k + 1 :])
    return replace(body, statements=statements)


def smaller_statement(statement: Statement) -> Iterator[tuple[Statement, ...]]:
    """What may stand for a statement and is less."""
    for block in statement.blocks:
        yield (*block.statements, _same(statement.results, block.ends))
    if statement.kind in SHRINKABLE and (first := SHRINKABLE[statement.kind][0]) is not None:
        # a loop that makes no step
        yield (_same(statement.results, statement.operands[first:]),)
    if not statement.blocks:
        yield from _identities(statement)
    if statement.kind in SHRINKABLE:
        count = len(statement.results) - (statement.kind in LAST_STAYS)
        for k in range(count if count > 1 else 0):
            yield (without_result(statement, k),)
    for note in _smaller_notes(statement.note):
        yield (replace(statement, note=note),)
    for k, block in enumerate(statement.blocks):
        for variant in smaller_body(block):
            blocks = (*statement.blocks[:k], variant, *statement.blocks[k + 1 :])
            yield (replace(statement, blocks=blocks),)
        for variant in _other_ends(block):
            blocks = (*statement.blocks[:k], variant, *statement.blocks[k + 1 :])
            yield (replace(statement, blocks=blocks),)


def _same(results: tuple[Value, ...], operands: tuple[Value, ...]) -> Statement:
    """The results, as far as there are operands, with other names."""
    pairs = [(r, o) for r, o in zip(results, operands, strict=False) if r.type == o.type]
    return Statement("same", tuple(r for r, _ in pairs), tuple(o for _, o in pairs))


def _identities(statement: Statement) -> Iterator[tuple[Statement, ...]]:
    """A result as one of the operands."""
    if statement.kind == "same" or len(statement.results) != 1:
        return
    for operand in statement.operands:
        if operand.type == statement.results[0].type:
            yield (_same(statement.results, (operand,)),)


def without_result(statement: Statement, k: int) -> Statement:
    """A statement with a result less, and what belongs to it in operands and blocks."""
    operands, arguments = SHRINKABLE[statement.kind]
    blocks = tuple(
        replace(
            b,
            arguments=b.arguments if arguments is None else _drop(b.arguments, arguments + k),
            ends=_drop(b.ends, k),
        )
        for b in statement.blocks
    )
    given = statement.operands if operands is None else _drop(statement.operands, operands + k)
    return replace(statement, results=_drop(statement.results, k), operands=given, blocks=blocks)


def _drop(values: tuple[Value, ...], k: int) -> tuple[Value, ...]:
    return values[:k] + values[k + 1 :]


def _smaller_notes(note: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Numbers that are less, and text that is absent."""
    for k, each in enumerate(note):
        if isinstance(each, int) and not isinstance(each, bool) and each > 0:
            for number in dict.fromkeys((0, 1, each - 1)):
                if number < each:
                    yield (*note[:k], number, *note[k + 1 :])
        if isinstance(each, str) and each.startswith("?") and each != "?":
            yield (*note[:k], "?", *note[k + 1 :])


def _other_ends(body: Body) -> Iterator[Body]:
    """A block that hands on what it takes."""
    for k, end in enumerate(body.ends):
        for argument in body.arguments:
            if argument.type == end.type and argument != end:
                yield replace(body, ends=(*body.ends[:k], argument, *body.ends[k + 1 :]))


class Scope:
    """The values that are visible, by number, and their names in the text."""

    def __init__(self, names: dict[int, tuple[str, Any]] | None = None) -> None:
        self.names = dict(names or {})

    def inner(self) -> Scope:
        return Scope(self.names)

    def define(self, value: Value, name: str) -> str:
        self.names[value.number] = name, value.type
        return name

    def find(self, value: Value) -> str | None:
        """The name of a value, or of the first one of its type."""
        name, type_ = self.names.get(value.number, ("", None))
        if type_ == value.type:
            return name
        return next((n for n, t in self.names.values() if t == value.type), None)


def kinds_in(body: Body) -> Iterator[Statement]:
    """Every statement, those in blocks too."""
    for statement in body.statements:
        yield statement
        for block in statement.blocks:
            yield from kinds_in(block)
