"""xDSL's methods that gradir replaces by quicker ones mean the same, and their release is the one
that they were written for.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from xdsl import traits
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects import test as generic
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    i1,
    i8,
    i32,
)  # fmt: skip
from xdsl.ir import Block, Operation, Region
from xdsl.ir.core import SSAValues
from xdsl.utils.exceptions import VerifyException

import gradir
from gradir.compiler.pipeline import STAGES, Machine
from gradir.dialects.base.quick_ir import ORIGINALS, REPLACEMENTS, Operands
from gradir.errors import GradirError, gradir_errors
from gradir.registry import make_context, parse_passes

FOLDER = Path(__file__).parents[1] / "filecheck"
PASSES = re.compile(r"""^// RUN:.* -p (?:"([^"]*)"|'([^']*)')""", re.MULTILINE)

WALKS: list[dict[str, bool]] = [
    {"reverse": r, "region_first": f} for r in (False, True) for f in (False, True)
]
WRITTEN_FOR = "1f14e9dee400dbf2"
"""The sources of the replaced methods; a new xDSL changes it. Read what changed in them, adapt
gradir/dialects/base/quick_ir.py, then write the value that the failing test shows.
"""


@contextmanager
def originals() -> Iterator[None]:
    """xDSL's own methods are in place inside."""
    for owner, name, original in ORIGINALS:
        setattr(owner, name, original)
    try:
        yield
    finally:
        for owner, name, quick in REPLACEMENTS:
            setattr(owner, name, quick)


def source_of(thing: Any) -> str:
    if isinstance(thing, property):
        return "".join(map(source_of, filter(None, (thing.fget, thing.fset))))
    if isinstance(thing, tuple):
        return ""
    try:
        return inspect.getsource(thing)
    except OSError:  # made by dataclass: its signature says what it sets
        return " ".join(inspect.signature(thing).parameters)


def test_sources() -> None:
    sources = "".join(f"{owner.__name__}.{name} {source_of(old)}" for owner, name, old in ORIGINALS)
    assert hashlib.sha256(sources.encode()).hexdigest()[:16] == WRITTEN_FOR


def compiled(text: str, pipeline: str) -> str:
    """The module after the passes and after every stage, or the refusal."""
    written: list[str] = []
    try:
        with gradir_errors():
            module = gradir.parse(text).op.clone()
            parse_passes(pipeline, None, None).apply(make_context(), module)
            written.append(str(module))
            for stage in STAGES:
                stage.run(module, Machine.here())
                written.append(str(module))
    except GradirError as error:
        written.append(str(error))
    return "\n".join(written)


@pytest.mark.parametrize("folder", ["checkpoint", "control_flow", "gradient"])
def test_stages_print_the_same(folder: str) -> None:
    count = 0
    for file in sorted((FOLDER / folder).rglob("*.mlir"))[::2]:
        text = file.read_text(encoding="utf-8")
        found = PASSES.search(text)
        pipeline = (found.group(1) or found.group(2)) if found else "gradir-cleanup"
        quick = compiled(text, pipeline)
        with originals():
            assert quick == compiled(text, pipeline), file
        count += 1
    assert count >= 3


def both(case: Callable[[], Any]) -> None:
    """The case gives the same with either methods."""
    quick = case()
    with originals():
        assert quick == case()


def new_op(*operands: Any, results: int = 1, regions: tuple[Region, ...] = ()) -> Operation:
    return generic.TestOp.create(
        operands=operands, result_types=[f32, i32][:results], regions=regions
    )  # fmt: skip


def error_of(action: Callable[[], Any]) -> str:
    with pytest.raises((ValueError, AssertionError)) as error:
        action()
    return type(error.value).__name__ + str(error.value)[:40]


def test_operands() -> None:
    def case() -> Any:
        a, b = new_op(results=2), new_op()
        op = new_op(*a.results, a.results[0])
        op.operands[1] = b.results[0]
        op.operands[2] = b.results[0]
        uses = [(use.index, use.operation is op) for use in b.results[0].uses]
        left = [each.uses.get_length() for each in a.results]
        names: list[Any] = [a, b]
        which = [names.index(each.owner) for each in op.operands]
        op.operands = [*reversed(op.operands)]
        order = [names.index(each.owner) for each in op.operands]
        part = op.operands[1:]
        assert isinstance(part, SSAValues) and isinstance(op.results[:1], SSAValues)
        return uses, left, which, order, len(op.operands), list(part.types), op.operands == part

    both(case)


def test_operands_are_a_tuple() -> None:
    a = new_op(results=2)
    op = new_op(*a.results)
    assert isinstance(op.operands, Operands) and op.operands == tuple(a.results)
    assert isinstance(new_op().operands, Operands) and not new_op().operands
    with pytest.raises(IndexError):
        op.operands[2] = a.results[0]


def test_uses_and_erasure() -> None:
    def case() -> Any:
        a, b = new_op(results=2), new_op()
        a.results[0].name_hint = "weight_3"
        op = new_op(a.results[0], a.results[0], a.results[1])
        refused = error_of(lambda: a.erase())
        a.results[0].replace_all_uses_with(b.results[0])
        names = [b.results[0].name_hint, a.results[0].name_hint]
        a.results[1].erase(safe_erase=False)
        classes = [type(each).__name__ for each in op.operands]
        bad = error_of(lambda: setattr(b.results[0], "name_hint", "no name"))
        b.results[0].name_hint = None
        return refused, names, classes, bad, b.results[0].name_hint

    both(case)


def test_clones() -> None:
    def case() -> Any:
        outer = new_op(results=2)
        block = Block(arg_types=[f32, i32])
        block.args[0].name_hint = "x_1"
        late = new_op(results=1)
        block.add_ops([new_op(outer.results[0], block.args[0], late.results[0]), late])
        second = Block([new_op(block.args[1])], arg_types=[f32])
        op = generic.TestOp.create(
            operands=outer.results,
            result_types=[f32],
            properties={"prop1": StringAttr("p")},
            attributes={"a": IntegerAttr(1, 32)},
            regions=[Region([block, second]), Region()],
        )
        op.results[0].name_hint = "y_2"
        whole = ModuleOp([outer, op])
        copy = op.clone()
        given: dict[Any, Any] = {outer.results[0]: outer.results[1]}
        mapped = op.clone(given)
        bare = op.clone(clone_name_hints=False, clone_operands=False)
        alone = op.clone_without_regions()
        assert copy.attributes is not op.attributes and copy.properties is not op.properties
        kept = [str(whole.clone()), *(len(given), len(bare.operands), len(alone.regions))]
        pieces = [copy, mapped, alone]
        texts = [each.operands == op.operands for each in pieces]
        for each in pieces:
            block.add_op(each)
        return kept, texts, str(whole)

    both(case)


def test_blocks() -> None:
    def case() -> Any:
        ops = [new_op() for _ in range(5)]
        inner = Block(ops[:2])
        holder = new_op(regions=(Region([inner, Block(ops[2:4])]),))
        block = Block([holder, ops[4]])
        again = error_of(lambda: block.add_op(ops[0]))
        ancestor = new_op(regions=(Region([block]),))
        inside = error_of(lambda: inner.add_op(ancestor))
        walks = [
            [ops.index(each) if each in ops else -1 for each in thing.walk(**kinds)]
            for thing in (ancestor, block, holder.regions[0])
            for kinds in WALKS
        ]
        seen: list[Any] = []
        for each in block.ops:  # who gets an op may take it out
            seen.append(each is holder)
            each.detach()
        for each in inner.walk():
            each.detach()
            seen.append(len(inner.ops))
        blocks = [each is inner for each in holder.regions[0].blocks]
        return again, inside, walks, seen, blocks, len(block.ops), block.is_empty

    both(case)


def test_integers() -> None:
    """Of any type, anew and again, normalized and refused."""
    integer: Any = IntegerAttr

    def case() -> Any:
        made: list[Any] = []
        for _ in range(2):
            for value, type_ in (
                (7, i32),
                (255, i8),
                (-1, i8),
                (1, i1),
                (-1, i1),
                (7, IndexType()),
            ):
                made.append(integer(value, type_))
            made += [integer(IntAttr(7), i32), integer(7, 32), integer(True, i1)]
            made.append(integer(300, i8, truncate_bits=True))
            for value, type_ in ((256, i8), (2, i1)):
                with pytest.raises(VerifyException):
                    integer(value, type_)
        types = [(type(each.value), type(each.value.data), each.type) for each in made]
        return made, [str(each) for each in made], [hash(each) for each in made], types

    both(case)


def nested(depth: int) -> Operation:
    """An op with two regions of two blocks each, of ops that are nested so too; some are empty."""
    if not depth:
        return new_op()
    blocks = [Block([nested(depth - 1), new_op()]), Block(), Block(), Block([nested(depth - 1)])]
    return new_op(regions=(Region(blocks[:2]), Region(blocks[2:]), Region()))


@pytest.mark.parametrize("kinds", WALKS, ids=str)
def test_walks_of_nested_ops(kinds: dict[str, bool]) -> None:
    """In the same order, also where ops are taken out or emptied while they are walked."""

    def case() -> Any:
        root = nested(3)
        order = [*root.walk(**kinds)]
        numbers = {op: k for k, op in enumerate(root.walk())}
        seen = [numbers[op] for op in order]
        for op in root.walk(**kinds):
            seen.append(numbers[op])
            if numbers[op] % 5 == 3:
                op.detach()
            if numbers[op] % 7 == 2 and op.regions:
                block = op.regions[0].blocks[0]
                op.regions[0].detach_block(block)
                op.regions[1].add_block(block)
        return seen, [numbers[op] for op in root.walk(**kinds)]

    both(case)


def test_implicit_builders() -> None:
    """Blocks that are built, or ended, by xDSL's implicit builders."""
    text = "func.func private @log()\nfunc.func @f(%n: index) {\n"
    text += "scf.for %i = %n to %n step %n { func.call @log() : () -> () }\nfunc.return }"
    assert "scf.yield" not in text and "scf.for" in str(gradir.parse(text).op)
    with ImplicitBuilder(block := Block()):
        op = new_op()
    assert block.last_op is op


def test_plain_constructors() -> None:
    """Ops of a fixed number of parts are made without the generic code, and refused like by it."""

    def case() -> Any:
        a, b = new_op(), new_op()
        add = arith.AddfOp(a.results[0], b)
        scaled = arith.AddfOp(a, b.results[0], flags=arith.FastMathFlagsAttr("none"))
        few = error_of(lambda: arith.NegfOp.build(operands=[], result_types=[f32]))
        none = error_of(lambda: arith.NegfOp.build(operands=[None], result_types=[f32]))
        return str(add), str(scaled), few, none, [each.owner is a for each in add.operands]

    both(case)


def test_constructors_of_any_number_of_operands() -> None:
    def case() -> Any:
        index = arith.ConstantOp.from_int_and_width(0, IndexType())
        number = arith.ConstantOp(FloatAttr(1.0, f32))
        types = [TensorType(f32, extents) for extents in ([1, 1], [1])]
        square, line = (
            tensor.FromElementsOp.create(operands=[number.result], result_types=[type_])
            for type_ in types
        )
        read = tensor.ExtractOp(square.result, [index.result, index.result], f32)
        one = tensor.ExtractOp(line.result, index.result, f32)
        none = tensor.ExtractOp(line.result, [], f32)
        made = tensor.FromElementsOp(number.result, number.result)
        build = partial(tensor.ExtractOp.build, result_types=[f32])
        wrong: list[list[Any]] = [[line.result], [[line.result] * 2, []], [None, []]]
        refused = [error_of(partial(build, operands=given)) for given in wrong]
        counts = [len(op.operands) for op in (read, one, none, made)]
        return [str(op) for op in (read, one, none, made)], counts, refused

    both(case)


def test_effects() -> None:
    def case() -> Any:
        a = new_op(results=2)
        pure = arith.NegfOp(a.results[0])
        negation = arith.NegfOp(a.results[0])
        block = Block([negation, scf.YieldOp()])
        condition = new_op(results=1)
        branch = scf.IfOp(condition.results[0], [], Region(block))
        ops = [pure, branch, a, func.CallOp("g", [], [])]
        before = [(traits.is_side_effect_free(op), traits.get_effects(op)) for op in ops]
        block.insert_op_before(func.CallOp("g", [], []), negation)
        return before, traits.is_side_effect_free(branch)

    both(case)


def test_places_in_blocks() -> None:
    """Ops put in and taken out at both ends and in the middle; both ways through the list agree."""

    def case() -> Any:
        names = [new_op() for _ in range(6)]
        a, b, c, d, e, stranger = names
        block = Block([c])
        block.insert_op_before(a, c)
        block.insert_op_before(b, c)
        block.insert_op_after(e, c)
        block.insert_op_after(d, c)
        seen: list[Any] = []
        for op in (None, c, a, e, b, d):
            if op is not None:
                block.detach_op(op)
            forward = [names.index(each) for each in block.ops]
            assert forward[::-1] == [names.index(each) for each in reversed(block.ops)]
            ends = [each and names.index(each) for each in (block.first_op, block.last_op)]
            seen.append((forward, ends))
        links = [(each.parent, each.next_op, each.prev_op) for each in names]
        refused = [
            error_of(lambda: block.detach_op(stranger)),
            error_of(lambda: block.insert_op_before(a, stranger)),
            error_of(lambda: block.insert_op_after(a, stranger)),
        ]
        return seen, links, refused

    both(case)


def test_references_are_dropped() -> None:
    def case() -> Any:
        a = new_op(results=2)
        inner = new_op(a.results[0])
        target = Block()
        branch = generic.TestTermOp.create(operands=a.results, successors=[target])
        op = new_op(*a.results, a.results[0], regions=(Region(Block([inner, branch])),))
        keeper = new_op(a.results[0])
        op.drop_all_references()
        left = [[use.operation is keeper for use in each.uses] for each in a.results]
        return left, target.uses.get_length(), inner.parent, op.parent, len(branch.successors)

    both(case)


def test_arguments_are_inserted() -> None:
    def case() -> Any:
        block = Block(arg_types=[f32, f32])
        made = [block.insert_arg(i32, 2), block.insert_arg(i32, 0), block.insert_arg(f32, 2)]
        wrong = [error_of(lambda k=k: block.insert_arg(i32, k)) for k in (-1, 6)]
        places = [block.args.index(arg) for arg in made]
        return [(str(a.type), a.index, str(a.location)) for a in block.args], places, wrong

    both(case)
