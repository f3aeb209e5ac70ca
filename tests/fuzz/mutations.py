"""Changes to a program's text, from a flipped byte to another element type throughout."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from fuzz.corpus import kind_of, lines, tokens, words

EDGE_NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "7",
    "64",
    "127",
    "128",
    "129",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "0x7FC00000",
    "0x7ff0000000000000",
    "1.0e-320",
    "0.5",
    "-0.0",
    "nan",
)
SIZES = ("0", "1", "2", "3", "5", "17", "64", "1000", "2147483648", "?")
ELEMENTS = (
    "f64", "f32", "f16", "bf16", "i1", "i8", "i16", "i32", "i64", "index", "ui8", "ui16", "ui32",
    "ui64", "f128", "i7",
)  # fmt: skip
SOME_BYTES = "(){}[]<>%@#!\"':,=-x0 9?\n\t\\\0\u00e9\u2028."

Mutation = Callable[[Random, str], str]


# Lines.


def delete_line(choose: Random, text: str) -> str:
    each = text.splitlines(keepends=True)
    del each[choose.randrange(len(each))]
    return "".join(each)


def duplicate_line(choose: Random, text: str) -> str:
    each = text.splitlines(keepends=True)
    at = choose.randrange(len(each))
    return "".join([*each[:at], each[at], *each[at:]])


def swap_lines(choose: Random, text: str) -> str:
    each = text.splitlines(keepends=True)
    i, j = choose.randrange(len(each)), choose.randrange(len(each))
    each[i], each[j] = each[j], each[i]
    return "".join(each)


def splice_line(choose: Random, text: str) -> str:
    each = text.splitlines(keepends=True)
    at = choose.randrange(len(each) + 1)
    return "".join([*each[:at], choose.choice(lines()) + "\n", *each[at:]])


# Words.


def _places(each: Sequence[str]) -> list[int]:
    return [k for k, token in enumerate(each) if not token.isspace()]


def delete_token(choose: Random, text: str) -> str:
    each = tokens(text)
    del each[choose.choice(_places(each))]
    return "".join(each)


def duplicate_token(choose: Random, text: str) -> str:
    each = tokens(text)
    at = choose.choice(_places(each))
    return "".join([*each[: at + 1], choose.choice(["", " ", ", "]), *each[at:]])


def swap_tokens(choose: Random, text: str) -> str:
    """Two words of one class change places."""
    each = tokens(text)
    at = choose.choice(_places(each))
    alike = [k for k in _places(each) if kind_of(each[k]) == kind_of(each[at])]
    other = choose.choice(alike)
    each[at], each[other] = each[other], each[at]
    return "".join(each)


def replace_token(choose: Random, text: str) -> str:
    """A word becomes another of its class: of this text, or of all."""
    each = tokens(text)
    at = choose.choice(_places(each))
    kind = kind_of(each[at])
    here = [token for token in each if kind_of(token) == kind]
    elsewhere = words().get(kind, here)
    each[at] = choose.choice(here if choose.random() < 0.5 else elsewhere)
    return "".join(each)


def rewire(choose: Random, text: str) -> str:
    """One use of a value becomes another value."""
    each = tokens(text)
    values = [k for k, token in enumerate(each) if token.startswith("%")]
    if not values:
        return text
    each[choose.choice(values)] = each[choose.choice(values)]
    return "".join(each)


def edge_number(choose: Random, text: str) -> str:
    found = list(re.finditer(r"(?<![\w%@#.])-?\d[\d.]*(e[-+]?\d+)?(?!\w)", text))
    if not found:
        return text
    match = choose.choice(found)
    return text[: match.start()] + choose.choice(EDGE_NUMBERS) + text[match.end() :]


def drop_attributes(choose: Random, text: str) -> str:
    """One `{...}` of a line goes, or one entry of it."""
    found = list(re.finditer(r"\{[^{}\n]*\}", text))
    if not found:
        return text
    match = choose.choice(found)
    entries = match[0][1:-1].split(", ")
    if len(entries) > 1 and choose.random() < 0.5:
        del entries[choose.randrange(len(entries))]
        return text[: match.start()] + "{" + ", ".join(entries) + "}" + text[match.end() :]
    return text[: match.start()] + text[match.end() :]


# Throughout: consistent text mostly stays consistent, and gets further than the parser.


def change_elements(choose: Random, text: str) -> str:
    """One element type becomes another, everywhere."""
    found = [e for e in ELEMENTS if re.search(rf"(?<=[x<: (]){e}\b", text)]
    if not found:
        return text
    return re.sub(rf"(?<=[x<: (]){choose.choice(found)}\b", choose.choice(ELEMENTS), text)


def change_size(choose: Random, text: str) -> str:
    """One extent becomes another, everywhere."""
    found = sorted(set(re.findall(r"(?<=[<x])(\d+)(?=x)", text)))
    if not found:
        return text
    return re.sub(rf"(?<=[<x]){choose.choice(found)}(?=x)", choose.choice(SIZES), text)


def change_op(choose: Random, text: str) -> str:
    """One op becomes another, everywhere."""
    found = sorted({t for t in tokens(text) if kind_of(t) == "op"})
    if not found:
        return text
    return text.replace(choose.choice(found), choose.choice(words()["op"]))


# Bytes.


def change_byte(choose: Random, text: str) -> str:
    at = choose.randrange(len(text))
    return text[:at] + choose.choice(SOME_BYTES) + text[at + 1 :]


def insert_byte(choose: Random, text: str) -> str:
    at = choose.randrange(len(text))
    return text[:at] + choose.choice(SOME_BYTES) * choose.choice([1, 1, 1, 40, 400]) + text[at:]


def delete_span(choose: Random, text: str) -> str:
    at = choose.randrange(len(text))
    return text[:at] + text[at + choose.choice([1, 1, 2, 5, 30]) :]


MUTATIONS: tuple[Mutation, ...] = (
    delete_line,
    duplicate_line,
    swap_lines,
    splice_line,
    delete_token,
    duplicate_token,
    swap_tokens,
    swap_tokens,
    replace_token,
    replace_token,
    replace_token,
    rewire,
    rewire,
    rewire,
    edge_number,
    edge_number,
    edge_number,
    drop_attributes,
    drop_attributes,
    change_elements,
    change_elements,
    change_elements,
    change_size,
    change_size,
    change_size,
    change_op,
    change_byte,
    insert_byte,
    delete_span,
)


def mutated(choose: Random, text: str) -> str:
    """A text after one to three changes."""
    for _ in range(choose.choice([1, 1, 1, 2, 2, 3])):
        if text.strip():
            text = choose.choice(MUTATIONS)(choose, text)
    return text


# Pipelines.

GRADIENTS = (
    "mode=vjp",
    "mode=split",
    "mode=grad",
    "mode=jvp",
    "mode=vjp policy=keep_none",
    "mode=vjp policy=auto",
    "mode=split policy=keep_matmuls",
    "mode=vjp wrt=0",
    "mode=vjp of=0",
    "mode=vjp wrt=1,0",
    "wrt=",
    "of=1",
    "mode=grad memory_limit=100000",
    "wrt=0,0",
    "wrt=99",
    "policy=none",
    'mode=vjp req="0=add"',
    'mode=vjp req="0=slices"',
    'req="0=null"',
    "wrt=w mode=vjp",
    "of=y mode=vjp",
    "mode=grad of=1",
)
AFTER = (
    "",
    "",
    "gradir-simplify,cse,gradir-dce",
    "gradir-inline,gradir-hoist",
    "gradir-inline-checkpoints",
    "gradir-decompose,gradir-simplify,gradir-lower,gradir-fuse",
    "gradir-decompose,gradir-lower,"
    "gradir-scalarize,gradir-fuse,gradir-schedule,gradir-bufferize,gradir-plan-memory",
    "gradir-outline-checkpoints,canonicalize",
    "gradir-decompose,gradir-lower,gradir-fuse,gradir-bufferize",
)


def pipeline(choose: Random, text: str, given: Sequence[str]) -> str:
    """A pipeline of the file, perhaps mutated; or a derivative and what follows it."""
    symbols = re.findall(r"@(\w+)\(", text) or ["f"]
    kind = choose.random()
    if given and kind < 0.4:
        return choose.choice(list(given))
    if given and kind < 0.5:
        return mutated(choose, choose.choice(list(given))).strip()
    if kind < 0.6:
        return choose.choice(AFTER)
    name = choose.choice(symbols)
    parts = [f"gradir-gradient{{function={name} {choose.choice(GRADIENTS)}}}"]
    if choose.random() < 0.15:
        parts.append(f"gradir-gradient{{function={name}_vjp mode=vjp}}")
    after = choose.choice(AFTER)
    if after:
        parts.append(after)
    return ",".join(parts)
