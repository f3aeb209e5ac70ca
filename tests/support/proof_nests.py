"""Elements of loop nests as terms of z3: which elements of the arguments they sum, at any size.

Extents are polynomials of symbols (`gradir.dialects.base.extents`), places are integers of z3. An
op is lowered by its own `lower`, and the nests are read by this file. A float element is a sum of
parts; an integer or bool element is a term. Integers have no width: places stay below 2**62.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, pairwise
from math import prod
from typing import Any
from unittest.mock import patch

import z3
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.array import joining
from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.attributes import ExtentAttr, attribute
from gradir.dialects.base.extents import Quotient, Size, is_extent, is_same
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_bool, is_float, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body, nests
from gradir.dialects.loopnest.loopnest import (
    BarrierOp,
    IndexOp,
    LoadOp,
    NestOp,
    Output,
    ReshapeOp,
)
from gradir.passes.fusion.views import inputs_of

Term = Any
Place = tuple[Term, ...]
_numbers = count()


class Unsolved(Exception):
    """A sum whose terms are not counted by linear equations."""


@dataclass(frozen=True)
class Part:
    """The elements of a leaf at a place, for all values of the bound variables that fit.

    Ties are pairs that must be equal, guards are conditions. The leaf None is a number.
    """

    leaf: SSAValue | None
    place: Place = ()
    bound: tuple[Term, ...] = ()
    ties: tuple[tuple[Term, Term], ...] = ()
    guards: tuple[Term, ...] = ()

    def where(self, *guards: Term) -> Part:
        return replace(self, guards=(*self.guards, *guards))

    def under(self, *changes: tuple[Term, Term]) -> Part:
        """The part with terms in place of variables."""

        def change(term: Term) -> Term:
            return z3.substitute(term, *changes)

        return Part(
            self.leaf,
            tuple(map(change, self.place)),
            self.bound,
            tuple((change(a), change(b)) for a, b in self.ties),
            tuple(map(change, self.guards)),
        )


class SymbolicNest(NestOp):
    """A nest whose bounds and accesses have extents; it stands in no program."""

    def __init__(
        self,
        bounds: Sequence[int],
        inputs: Sequence[SSAValue],
        accesses: Sequence[Access | None],
        outputs: Sequence[Output],
        body: Block | Region,
        pads: Sequence[Attribute | None],
        roles: None = None,
        precision: None = None,
    ):
        self.reads = list(zip(inputs, accesses, pads, strict=True))
        self.limits = [term_of(n) for n in bounds]
        self.written = outputs
        Operation.__init__(
            self,
            operands=[*inputs, *(o.init for o in outputs if o.init is not None)],
            result_types=[o.type for o in outputs],
            regions=[body if isinstance(body, Region) else Region(body)],
        )


def symbolic(nest: NestOp) -> SymbolicNest:
    """A nest of numbers in the form of a nest of symbolic extents."""
    inputs = inputs_of(nest)
    body = nest.body.clone()
    return SymbolicNest(
        nest.extents,
        [one.value for one in inputs],
        [one.access for one in inputs],
        nest.output_list,
        body,
        [one.pad for one in inputs],
    )


def term_of(size: Size) -> Term:
    """An extent as a term of its symbols."""
    if not is_extent(size):
        return z3.IntVal(size)
    total: Term = z3.IntVal(0)
    for monomial, number in size.terms:  # type: ignore[union-attr]
        product: Term = z3.IntVal(number)
        for atom in monomial:
            is_quotient = isinstance(atom, Quotient)
            factor = term_of(atom.extent) / atom.divisor if is_quotient else z3.Int(atom)
            product = product * factor
        total = total + product
    return z3.simplify(total)


@contextmanager
def symbolic_nests() -> Iterator[None]:
    """A context in which `lower` makes nests of extents: constants and bounds may be such."""
    literal, check_index = body.literal, body.check_index

    def extent_literal(near: Scalar, number: Any, type_: Attribute) -> Scalar:
        if not is_extent(number):
            return literal(near, number, type_)
        value = {"value": attribute(number)}
        return near.emit(arith.ConstantOp.create(result_types=[type_], properties=value))

    def check_extent(x: Scalar, bound: Any, message: str, from_start: bool = False) -> Scalar:
        made = check_index(x, 1, message, from_start)
        made.ssa.owner.properties["bound"] = attribute(bound)  # type: ignore[union-attr]
        return made

    with (
        patch.object(nests, "NestOp", SymbolicNest),
        patch.object(body, "literal", extent_literal),
        patch.object(body, "check_index", check_extent),
        patch.object(joining, "SHORT_PART", 0),
    ):
        yield


def lower_block(block: Block) -> None:
    """Replace the tensor ops of a block by nests, compound ones by simpler ops first."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        if isinstance(op, TensorOp):
            emitter, before = Emitter(block, before=op), op.prev_op
            if op.has_decomposition():
                made = op.decompose(*map(emitter.value, op.operands))
                values = [made.ssa] if not isinstance(made, Sequence) else [v.ssa for v in made]
                following = block.first_op if before is None else before.next_op
            else:
                values = list(op.lower(emitter, op.operands))
            for result, value in zip(op.results, values, strict=True):
                result.replace_all_uses_with(value)
            following = op.next_op if following is op else following
            op.detach()
            op.erase()
        op = following


class Elements:
    """The elements of the values of a block. `facts` are what its index checks leave true.

    With `by_division`, an element of a reshape is read at quotients of its number; else at bound
    variables, for symbols by which the solver does not divide.
    """

    def __init__(self, by_division: bool = False) -> None:
        self.facts: list[Term] = []
        self.by_division = by_division

    def at(self, value: SSAValue, place: Place) -> Any:
        """The element of a tensor: parts of a float, a term of an integer or a bool."""
        match value.owner:
            case Block():
                return self._leaf(value, place)
            case NestOp() as nest:
                number = next(k for k, r in enumerate(nest.results) if r is value)
                return _NestReader(self, nest).at(number, place)
            case BarrierOp() as op:
                return self.at(op.operands[0], place)
            case ReshapeOp() as op:
                return self._reshaped(op, place)
            case other:
                raise NotImplementedError(other.name)

    def _leaf(self, value: SSAValue, place: Place) -> Any:
        if is_float(element_of(value.type)):
            return [Part(value, place)]
        sort = z3.BoolSort() if is_bool(element_of(value.type)) else z3.IntSort()
        name = f"leaf{value.index}"  # type: ignore[attr-defined]
        return z3.Function(name, *(z3.IntSort() for _ in place), sort)(*place)

    def _reshaped(self, op: ReshapeOp, place: Place) -> Any:
        source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
        if self.by_division:
            return self.at(op.operands[0], _divided(row_major(place, target), source))
        places = zip(_variables(len(source)), source, strict=True)
        at = tuple(z3.IntVal(0) if is_same(n, 1) else k for k, n in places)
        ties = tuple(
            (row_major(at[s], source[s]), row_major(place[t], target[t]))
            for s, t in _groups(source, target)
        )
        bound = tuple(k for k in at if not z3.is_int_value(k))
        reached = Part(None, at, bound, ties, inside(at, source))
        element = self.at(op.operands[0], at)
        if isinstance(element, list):
            return [rebound(part, reached) for part in element]
        found = _solved(reached)
        if found.bound:
            raise Unsolved("an integer under another shape")
        return z3.substitute(element, *zip(at, found.place, strict=True))


class _NestReader:
    """One reading of a nest: an element of an output, at a place."""

    def __init__(self, elements: Elements, nest: NestOp):
        self.elements = elements
        self.nest = nest if isinstance(nest, SymbolicNest) else symbolic(nest)
        self.dims = _variables(len(self.nest.limits))
        self.known: dict[SSAValue, Any] = {}
        self.whole: dict[SSAValue, SSAValue] = {}

    def at(self, number: int, place: Place) -> Any:
        output = self.nest.written[number]
        if output.access.is_identity and output.init is None:
            self.dims = place
            return self._yielded()[number]
        self._find_iteration(output, place, ())
        if all(row.symbol is None for row in output.access.rows):
            self.dims = self.iteration.place
            return self._combined(output, place, self._yielded()[number])
        yielded = self._yielded()
        self._find_iteration(output, place, yielded[len(self.nest.written) :])
        return self._combined(output, place, yielded[number])

    def _find_iteration(self, output: Output, place: Place, symbols: Sequence[Term]) -> None:
        """The iterations that write to a place, as far as rows, and yielded indices, say."""
        rows = list(zip(output.access.rows, place, strict=True))
        ties = tuple((row_term(r, self.dims), p) for r, p in rows if r.symbol is None)
        if symbols:
            ties += tuple((symbols[r.symbol], p) for r, p in rows if r.symbol is not None)
        guards = _within(self.dims, self.nest.limits)
        self.iteration = _solved(Part(None, self.dims, self.dims, ties, guards))

    def _combined(self, output: Output, place: Place, value: Any) -> Any:
        """The element from what the iterations of a place give."""
        if not isinstance(value, list):
            raise Unsolved("integers that are placed or summed")
        changes = zip(self.dims, self.iteration.place, strict=True)
        moved = [(a, b) for a, b in changes if not a.eq(b)]
        made = [rebound(part.under(*moved), self.iteration) for part in value]
        start = None if output.init is None else self.elements.at(output.init, place)
        if output.combiner == "add":
            return made + (start or [])
        self._require_one(output)
        hit = z3.And(*self.iteration.guards, *_equal(self.iteration.ties))
        missed = [Part(UNDEFINED)] if start is None else start
        return made + [part.where(z3.Not(hit)) for part in missed]

    def _require_one(self, output: Output) -> None:
        if output.combiner != "none" or self.iteration.bound:
            raise Unsolved(f"{output.combiner} of unknown iterations")

    def _yielded(self) -> list[Any]:
        """What the body yields in an iteration."""
        block = self.nest.body.block
        for argument, (value, access, pad) in zip(block.args, self.nest.reads, strict=True):
            if access is None:
                self.whole[argument] = value
            else:
                self.known[argument] = self._read(value, access, pad)
        *ops, last = block.ops
        for op in ops:
            self.known[op.results[0]] = self._result(op)
        return [self.known[o] for o in last.operands]

    def _read(self, value: SSAValue, access: Access, pad: Attribute | None) -> Any:
        place = tuple(row_term(row, self.dims) for row in access.rows)
        element = self.elements.at(value, place)
        if pad is None:
            return element
        within = z3.And(*inside(place, shape_of(value.type)))
        return _chosen(within, element, _constant(pad))

    def _result(self, op: Operation) -> Any:
        operands = [self.known.get(o) for o in op.operands]
        match op:
            case arith.ConstantOp():
                return _constant(op.properties["value"])
            case IndexOp():
                return self.dims[op.dim.value.data]
            case LoadOp():
                return self.elements.at(self.whole[op.operands[0]], tuple(operands[1:]))
            case arith.CmpiOp():
                return _COMPARISONS[op.predicate.value.data](*operands)
            case _ if op.name == "loopnest.check_index":
                return self._checked(op, operands[0])
            case _:
                return _MEANINGS[op.name](*operands)

    def _checked(self, op: Operation, index: Term) -> Term:
        """A checked index; where it is out of range, the program ends with an error."""
        bound = _constant(op.properties["bound"])
        found = index if "from_start" in op.properties else z3.If(index < 0, index + bound, index)
        self.elements.facts.append(z3.And(found >= 0, found < bound))
        return found


UNDEFINED = Block(arg_types=[attribute(0).type]).args[0]  # type: ignore[attr-defined]
"""The leaf of an element that nothing wrote."""


def _chosen(condition: Term, x: Any, y: Any) -> Any:
    if not isinstance(x, list):
        return z3.If(condition, x, y)
    return [p.where(condition) for p in x] + [p.where(z3.Not(condition)) for p in y]


def _constant(value: Attribute) -> Any:
    match value:
        case ExtentAttr():
            return term_of(value.size)
        case FloatAttr():
            return [Part(None)] if value.value.data else []
        case IntegerAttr() if str(value.type) == "i1":
            return z3.BoolVal(value.value.data != 0)
        case IntegerAttr():
            return z3.IntVal(value.value.data)
        case _:
            raise NotImplementedError(value)


def _same(x: Any) -> Any:
    return x


_MEANINGS: dict[str, Callable[..., Any]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.maxsi": lambda x, y: z3.If(x >= y, x, y),
    "arith.minsi": lambda x, y: z3.If(x <= y, x, y),
    "arith.andi": z3.And,
    "arith.ori": z3.Or,
    "arith.select": _chosen,
    "arith.addf": lambda x, y: x + y,
    **dict.fromkeys(("arith.extf", "arith.truncf", "arith.extsi", "arith.trunci"), _same),
}
_COMPARISONS: list[Callable[[Term, Term], Term]] = [
    lambda x, y: x == y, lambda x, y: x != y, lambda x, y: x < y, lambda x, y: x <= y,
    lambda x, y: x > y, lambda x, y: x >= y,
]  # fmt: skip


# Places.


def _variables(number: int) -> Place:
    return tuple(z3.Int(f"k{next(_numbers)}") for _ in range(number))


def row_term(row: Row, dims: Sequence[Term]) -> Term:
    """A subscript as a term of the dimensions."""
    terms = [term_of(c) * d for c, d in zip(row.coefficients, dims, strict=True) if c]
    return z3.Sum(term_of(row.constant), *terms)


def row_major(place: Sequence[Term], shape: Sequence[Size]) -> Term:
    """The number of an element in row-major order."""
    number: Term = z3.IntVal(0)
    for at, extent in zip(place, shape, strict=True):
        number = number * term_of(extent) + at
    return z3.simplify(number)


def _divided(number: Term, shape: Sequence[Size]) -> Place:
    """The place of an element with a row-major number."""
    place: list[Term] = []
    for extent in reversed(shape[1:]):
        place.insert(0, number % term_of(extent))
        number = number / term_of(extent)
    return (number, *place) if shape else ()


def _groups(source: Sequence[Size], target: Sequence[Size]) -> list[tuple[slice, slice]]:
    """The finest runs of axes of two shapes that hold equal numbers of elements.

    Row-major order numbers the places of a shape once each, so equal numbers are equal run by run.
    """
    ends = [(0, 0)]
    for s in range(1, len(source)):
        for t in range(ends[-1][1] + 1, len(target)):
            if is_same(prod(source[:s]), prod(target[:t])):
                ends.append((s, t))
                break
    ends.append((len(source), len(target)))
    return [(slice(s, u), slice(t, v)) for (s, t), (u, v) in pairwise(ends)]


def inside(place: Sequence[Term], shape: Sequence[Size]) -> tuple[Term, ...]:
    """The conditions that a place is one of a shape's."""
    return _within(place, [term_of(n) for n in shape])


def _within(place: Sequence[Term], limits: Sequence[Term]) -> tuple[Term, ...]:
    return tuple(c for at, n in zip(place, limits, strict=True) for c in (at >= 0, at < n))


def _equal(ties: Sequence[tuple[Term, Term]]) -> list[Term]:
    return [a == b for a, b in ties]


def rebound(part: Part, reached: Part) -> Part:
    """A part that is read for the values of other bound variables."""
    return Part(
        part.leaf,
        part.place,
        part.bound + reached.bound,
        part.ties + reached.ties,
        part.guards + reached.guards,
    )


def _solved(part: Part, divisors: list[Term] | None = None) -> Part:
    """The part without the bound variables that a tie gives: each has one value at most.

    For the last count, quotients are taken too. Their divisors must not be 0: they are listed.
    """
    for by_one in (True,) if divisors is None else (True, False):
        for variable in part.bound:
            for tie in part.ties:
                value = _solution(variable, tie, None if by_one else divisors)
                if value is not None:
                    rest = tuple(v for v in part.bound if v is not variable)
                    return _solved(replace(part.under((variable, value)), bound=rest), divisors)
    return part


def _solution(variable: Term, tie: tuple[Term, Term], divisors: list[Term] | None) -> Term | None:
    """The value of a variable by which a tie is linear; the tie itself stays a condition."""
    difference = tie[0] - tie[1]
    following = z3.substitute(difference, (variable, variable + 1))
    if following.eq(difference):
        return None
    slope = z3.simplify(following - difference, som=True)
    rest = z3.substitute(difference, (variable, z3.IntVal(0)))
    if z3.is_int_value(slope) and abs(slope.as_long()) == 1:
        return z3.simplify(-rest * slope.as_long())
    moved = z3.simplify(z3.substitute(slope, (variable, variable + 1)) - slope, som=True)
    if divisors is None or _is_number(slope, 0) or not _is_number(moved, 0):
        return None
    divisors.append(slope)
    # an exact quotient is one number whatever the signs: one form, so that terms are comparable
    down = z3.simplify(-slope, som=True)
    is_down = str(slope).startswith("-")
    over, under = (rest, down) if is_down else (-rest, slope)
    return z3.simplify(over, som=True) / under


def _is_number(term: Term, number: int) -> bool:
    return z3.is_int_value(term) and term.as_long() == number


def count_of(parts: Sequence[Part], leaf: SSAValue, place: Place, divisors: list[Term]) -> Term:
    """How often the element of a leaf at a place is in a sum, where no divisor is 0."""
    total: Term = z3.IntVal(0)
    for part in parts:
        if part.leaf is leaf:
            ties = tuple(zip(part.place, place, strict=True)) + part.ties
            found = _solved(replace(part, ties=ties), divisors)
            if found.bound:
                raise Unsolved(str(found.ties))
            hit = z3.And(*found.guards, *_equal(found.ties))
            total = total + z3.If(hit, 1, 0)
    return total
