"""NetDefs of anybody's: whatever is in a file, it is a net or an error of gradir's, soon."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from caffe2_nets import net_with_everything
from caffe2_operators import OPERATORS, Row
from caffe2_updates import UPDATES

from gradir import GradirError
from gradir.frontends.caffe2 import Net, Operator
from gradir.frontends.caffe2.table import TYPES

# Contents.


def test_mutants() -> None:
    """Whatever is changed, it is a net or an error of gradir's, with its place."""
    rng, net = random.Random(1), net_with_everything()
    content, text = net.serialize(), str(net)
    for k in range(400):
        mutant = mutated(rng, content) if k % 2 else mutated_text(rng, text)
        try:
            str(Net.parse(mutant))
        except GradirError as error:
            assert str(error).startswith(("<bytes>: byte ", "<string>:"))


TOKEN = re.compile(r'"[^"\n]*"|-?\d+(\.\d+)?')
HOSTILE = ("0", "-1", "2147483648", "9223372036854775807", "1e300", "nan", '"x@0"', '"y"', '"If"')


def with_other_words(rng: random.Random, text: str) -> str:
    """Names and numbers in place of others, so that a net is left more often than not."""
    for _ in range(rng.randint(1, 2)):
        words = list(TOKEN.finditer(text))
        at, other = rng.choice(words), rng.choice(words)[0]
        text = text[: at.start()] + rng.choice([other, *HOSTILE]) + text[at.end() :]
    return text


def test_mutants_in_use() -> None:
    """What is still a net is differentiated and lowered, or refused as it was before."""
    rng, text = random.Random(3), str(net_with_everything())
    nets = 0
    for _ in range(150):
        try:
            net = Net.parse(with_other_words(rng, text))
        except GradirError:
            continue
        nets += 1
        before = str(net)
        try:
            net.AddGradientOperators([rng.choice([n for op in net.ops for n in op.outputs])])
        except GradirError:
            assert str(net) == before
        given = {"x": np.ones((2, 4)), "w/1": np.ones((3, 4)), "b": np.ones(3), "go": np.array(1)}
        specs = {name: given.get(name, np.ones((2, 3))) for name in net.external_inputs}
        with suppress(GradirError):
            net.to_module(specs)
    assert nets > 20


@pytest.mark.parametrize("is_text", [True, False])
def test_cut_off(is_text: bool) -> None:
    """Each beginning of a file is a net of fewer operators, or an error with its place."""
    net = net_with_everything()
    content: Any = str(net) if is_text else net.serialize()
    for end in range(0, len(content), 7):
        try:
            read = Net.parse(content[:end])
        except GradirError as error:
            assert str(error).startswith(("<bytes>: byte ", "<string>:"))
        else:
            assert read.ops == net.ops[: len(read.ops)]


def mutated(rng: random.Random, content: bytes) -> bytes:
    made = bytearray(content)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(made))
        if rng.random() < 0.5:
            made[at] = rng.randrange(256)
        else:
            made[at : at + rng.randint(0, 9)] = rng.randbytes(rng.randint(0, 9))
    return bytes(made)


def mutated_text(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 4)):
        at, to = sorted(rng.randrange(len(text)) for _ in "ab")
        kept: Any = rng.choice(["{", "}", '"', ":", "3", "\\", text[at : at + 40], ""])
        text = text[:at] + kept + text[min(to, at + 30) :]
    return text


# Files.


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes((*made, value))


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def overrun(rng: random.Random, content: bytes) -> bytes:
    """A length, or another number, that announces more than there is."""
    at = rng.randrange(len(content))
    number = varint(rng.choice([2**16, 2**31 - 1, 2**32, 2**63, 2**64 - 1, 2**70]))
    return content[:at] + number + content[at + 1 :]


def nested(rng: random.Random, content: bytes) -> bytes:
    """A net in an argument of an operator of a net, and so on."""
    for _ in range(rng.choice([1, 31, 33, 400])):
        argument = field(1, b"then_net") + field(8, content)
        content = field(2, field(1, b"c") + field(4, b"If") + field(5, argument))
    return content


def repeated(rng: random.Random, content: bytes) -> bytes:
    at, to = sorted(rng.randrange(len(content)) for _ in "ab")
    return content[:at] + content[at : min(to, at + 20)] * rng.choice([50, 500]) + content[to:]


def nested_text(rng: random.Random, content: bytes) -> bytes:
    branch = b'op { type: "If" input: "c" arg { name: "then_net" n {'
    opening = rng.choice([branch, b"a {", b"op <"])
    times, closing = rng.choice([1, 31, 33, 4000]), b"}" * opening.count(b"{")
    return opening * times + content + rng.choice([closing * times, b""])


BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (overrun, nested, repeated)
TEXTS: tuple[Callable[[random.Random, bytes], bytes], ...] = (nested_text, repeated)


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_hostile_files(suffix: str, tmp_path: Path) -> None:
    """Announced lengths, depth and repetition cost no more than the file's own content."""
    rng, net, path = random.Random(4), net_with_everything(), tmp_path / f"net{suffix}"
    is_text = suffix == ".pbtxt"
    content = str(net).encode() if is_text else net.serialize()
    refused = 0
    for _ in range(60):
        mutant = content
        for _ in range(rng.randint(1, 2)):
            mutant = rng.choice(TEXTS if is_text else BYTES)(rng, mutant)
        path.write_bytes(mutant)
        tracemalloc.start()
        try:
            Net.load(path)
        except GradirError as error:
            refused += 1
            assert str(error).startswith(f"{path}:")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 2**21 + 200 * len(mutant)
    assert refused > 20


def test_deep_nets_take_no_time() -> None:
    """Which operands of nested nets are tables is found once for each."""
    net = Net("net")
    tables = [f"table_{k}" for k in range(4)]
    for table in tables:
        net.Gather([table, "i"], f"{table}_rows")
    net.Sum([f"{table}_rows" for table in tables], "y")
    for _ in range(8):
        outer = Net("net")
        outer.AddExternalInput("y")
        outer.If("go", ["y"], then_net=net)
        net = outer
    read, before = Net.parse(net.serialize()), process_time()
    gradients = read.AddGradientOperators(["y"])
    assert process_time() - before < 1.0
    assert all(isinstance(gradients[table], tuple) for table in tables)


NUMBERS = (0, -1, 2**31, 2**63 - 1, -(2**63), 1e300, float("nan"), float("inf"))
LISTS = ((), (2**62, 2**62), (0, -1), (1.5,), ("a",), (1,) * 70)


@pytest.mark.parametrize("row", (*OPERATORS, *UPDATES), ids=lambda row: row.label)
def test_hostile_arguments(row: Row) -> None:
    """Any argument may be any number, text or list."""
    rng = random.Random(row.label)
    names = [f"x{k}" for k in range(len(row.inputs))]
    results = tuple(f"y{k}" for k in range(row.outputs))
    known = sorted({*(TYPES[row.type].known or ()), *row.args})
    for name in rng.sample(known, min(2, len(known))):
        given: Any = rng.choice((*NUMBERS, *LISTS, "", "x"))
        net = Net("net")
        with suppress(GradirError):
            net.append(Operator(row.type, tuple(names), results, {**row.args, name: given}))
            net.to_module(dict(zip(names, row.inputs, strict=True)))
