"""array.einsum: sums of products by an equation, one pair of operands at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.dot_general import DotGeneralOp, permuted
from gradir.dialects.array.lines import factor_reached
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import SumOp, narrowed, widened
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.attributes import Attributes, Types, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.extents import is_same
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.precision import PRECISION, precision_in, require_precision
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements_agree

# The most operands for a search of all orders of contraction; more are contracted greedily.
MOST_OPERANDS_TO_ORDER = 8

# An index: a letter, or "..k" for the k-th axis of the ellipsis from the end.
Label = str
Labels = tuple[Label, ...]


@dataclass(frozen=True)
class Equation:
    """The indices of each operand and of the result, and the extent of each index."""

    terms: tuple[Labels, ...]
    result: Labels
    sizes: Mapping[Label, int]

    def shape(self, labels: Sequence[Label]) -> list[int]:
        return [self.sizes[label] for label in labels]


def parse_equation(equation: str, shapes: Sequence[Sequence[int]]) -> Equation:
    """An equation for operands of these shapes; VerifyException where it does not fit."""
    return _parsed(equation, tuple(map(tuple, shapes)))


@lru_cache(maxsize=1024)
def _parsed(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Equation:
    plain = equation.replace(" ", "")
    term = r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*"
    if not re.fullmatch(rf"{term}(,{term})*(->{term})?", plain):
        raise VerifyException(
            "equation must be terms of letters and at most one `...` each, with commas between "
            f"them and perhaps `->` and the result's, got {equation!r}"
        )
    inputs, arrow, output = plain.partition("->")
    written = inputs.split(",")
    if len(written) != len(shapes):
        raise VerifyException(
            f"equation must have a term for each operand, got {len(written)} and {len(shapes)}"
        )
    rows = zip(written, shapes, strict=True)
    terms = tuple(_labels(one, len(shape)) for one, shape in rows)
    result = _result_labels(terms, output if arrow else None)
    return Equation(terms, result, _sizes(terms, shapes))


def _labels(term: str, rank: int) -> Labels:
    """One label per axis."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise VerifyException(f"term {term!r} must name the {rank} axes of its operand")
    ellipsis = [f"..{hidden - k}" for k in range(hidden)]
    return (*before, *ellipsis, *after)


def _result_labels(terms: Sequence[Labels], output: str | None) -> Labels:
    """The result's labels: the written ones, else those that occur once, alphabetically."""
    every = [label for labels in terms for label in labels]
    dots = sorted({label for label in every if len(label) > 1}, key=lambda s: -int(s[2:]))
    if output is None:
        once = sorted(label for label in every if len(label) == 1 and every.count(label) == 1)
        return (*dots, *once)
    before, ellipsis, after = output.partition("...")
    result = (*before, *(dots if ellipsis else ()), *after)
    for label in result:
        if label not in every:
            raise VerifyException(f"index {label} of the result must occur in a term")
    if len(set(result)) != len(result):
        raise VerifyException(f"the result must name each index once, got {output!r}")
    return result


def _sizes(terms: Sequence[Labels], shapes: Sequence[Sequence[int]]) -> dict[Label, int]:
    """The extent of each label; an extent of 1 fits any other."""
    sizes: dict[Label, int] = {}
    for labels, shape in zip(terms, shapes, strict=True):
        own: dict[Label, int] = {}
        for label, n in zip(labels, shape, strict=True):
            _agree(label, own.setdefault(label, n), n)
        for label, n in own.items():
            known = sizes.get(label, 1)
            if not is_same(known, 1) and not is_same(n, 1):
                _agree(label, known, n)
            sizes[label] = n if is_same(known, 1) or known == DYNAMIC else known
    return sizes


def _agree(label: Label, known: int, n: int) -> None:
    if not is_same(n, known) and DYNAMIC not in (n, known):
        name = label if len(label) == 1 else "`...`"
        raise VerifyException(f"index {name} must have one extent, got {known} and {n}")


@dataclass(frozen=True)
class _Term:
    """A value and the index of each of its axes."""

    value: Value
    labels: Labels

    def full_labels(self, sizes: Mapping[Label, int]) -> list[Label]:
        """The labels of the axes that do not broadcast."""
        pairs = zip(self.labels, self.value.shape, strict=True)
        return [label for label, n in pairs if n == sizes[label]]


_LETTERS_OF_ROWS = "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"


@irdl_op_definition
class EinsumOp(TensorOp):
    """The sum of products of all operands over the indices missing in the result.

    `equation` names the axes of each operand, and after `->` the result's: "ij,jk->ik". An index
    twice in one term is a diagonal. `...` are the axes that have no name, which broadcast.
    Without `->` the result has the unnamed axes, then the indices that occur once, in alphabetical
    order. Extents of 1 broadcast. Three and more operands are contracted pair by pair, in the order
    that takes the fewest multiplications. f16 and bf16 are summed in f32; `precision` is that of
    each pair's product, as for array.matmul.
    vjp: the einsum of ct and the other operands, repeated along indices that only the operand has
    """

    name = "array.einsum"
    COMPLEX: ClassVar[bool] = True
    DOMAIN: ClassVar[str] = "number"
    SUMS_PRODUCTS: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("equation", PRECISION)

    xs = var_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if not operands:
            raise VerifyException("at least one operand expected, got none")
        require_elements_agree(operands, cls.DOMAIN, cls.COMPLEX)
        require_precision(attributes, operands)
        equation = parse_equation(text(attributes, "equation"), [shape_of(o) for o in operands])
        return [tensor(equation.shape(equation.result), element_of(operands[0]))]

    @property
    def equation(self) -> Equation:
        shapes = [shape_of(x.type) for x in self.xs]
        return parse_equation(text(self.attributes, "equation"), shapes)

    def vjp(self, ct: Value, y: Value, *xs: Value) -> Cotangents:
        equation = self.equation
        terms = [_Term(x, labels) for x, labels in zip(xs, equation.terms, strict=True)]
        parts = [*terms, _Term(ct, equation.result)]
        precision = precision_in(self.attributes)
        return [
            _cotangent(terms[k], parts[:k] + parts[k + 1 :], equation.sizes, precision)
            for k in range(len(terms))
        ]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        if mask is None:
            return None
        equation, shape = self.equation, shape_of(self.operands[place].type)
        return factor_reached(mask, equation.result, equation.terms[place], shape)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """An einsum with one more letter, for the rows."""
        equation = text(self.attributes, "equation").replace(" ", "")
        terms, arrow, result = equation.partition("->")
        if not arrow:  # the letters that are there once, in their order
            rest = terms.replace("...", "").replace(",", "")
            once = sorted(c for c in rest if rest.count(c) == 1)
            result = ("..." if "..." in terms else "") + "".join(once)
        letter = next(c for c in _LETTERS_OF_ROWS if c not in equation)
        wide = [letter * has + t for t, has in zip(terms.split(","), batch.has_rows, strict=True)]
        return batch.same_op(batch.operands, equation=f"{','.join(wide)}->{letter}{result}")

    def decompose(self, *xs: Value) -> Value:
        equation = self.equation
        terms = [_Term(x, labels) for x, labels in zip(xs, equation.terms, strict=True)]
        terms = [_without_units(_diagonals(term), equation.sizes) for term in terms]
        is_one_product = len(terms) == 2 and not any(_lonely(terms, equation.result))
        if not is_one_product:
            terms = [_Term(widened(term.value), term.labels) for term in terms]
        result = _contracted(terms, equation, precision_in(self.attributes))
        return narrowed(_placed(result, equation.result, self.y.type), self.y.type)

    def numpy(self, *xs: Any) -> Any:
        equation = self.equation
        numbers = {label: k for k, label in enumerate(equation.sizes)}
        operands: list[Any] = []
        for x, labels in zip(xs, equation.terms, strict=True):
            ours = [numbers[label] for label in labels]
            shape = equation.shape(labels)
            operands += [np.broadcast_to(x, shape), ours]
        return np.einsum(*operands, [numbers[label] for label in equation.result])


def _cotangent(
    own: _Term,
    others: Sequence[_Term],
    sizes: Mapping[Label, int],
    precision: Mapping[str, Attribute],
) -> Value:
    """The cotangent of one operand: the einsum of all others, repeated or put on diagonals."""
    x = own.value
    # summed along a broadcast axis of extent 1, repeated along an index of its own
    known = {label for term in others for label in term.full_labels(sizes)}
    kept = [label for label in dict.fromkeys(own.full_labels(sizes)) if label in known]
    names = _letters([label for term in [*others, own] for label in term.labels])
    inputs = ",".join("".join(names[label] for label in term.labels) for term in others)
    equation = f"{inputs}->{''.join(names[label] for label in kept)}"
    product = EinsumOp.on(
        *(term.value for term in others), type=None, equation=equation, **precision
    )
    first = [k for k, label in enumerate(own.labels) if own.labels.index(label) == k]
    line = [n if k in first and own.labels[k] in kept else 1 for k, n in enumerate(x.shape)]
    full = BroadcastToOp.on(reshaped(product, line), type=x.type)
    for k, label in enumerate(own.labels):
        if k not in first:
            full = _on_diagonal(full, own.labels.index(label), k)
    return full


def _letters(labels: Sequence[Label]) -> dict[Label, str]:
    """A letter for each label, its own if it is one."""
    distinct = dict.fromkeys(labels)
    alphabet = (c for c in _alphabet() if c not in distinct)
    return {label: label if len(label) == 1 else next(alphabet) for label in distinct}


def _alphabet() -> Iterator[str]:
    for first in "Aa":
        for k in range(26):
            yield chr(ord(first) + k)


def _on_diagonal(x: Value, first: int, second: int) -> Value:
    """x where the indices of two axes are equal, else 0."""
    type_ = tensor(x.shape, i64)
    places = [
        x.emitter.value(x.emitter.insert(IotaOp.of([], [type_], axis=axis)).results[0])
        for axis in (first, second)
    ]
    return WhereOp.on(places[0].equal(places[1]), x, x.full(0))


def _diagonals(term: _Term) -> _Term:
    """The diagonal along repeated indices: each index once."""
    labels, x = list(term.labels), term.value
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [d for d in range(len(labels)) if d not in (first, second)]
            x = _diagonal(permuted(x, [*rest, first, second]))
            labels = [labels[d] for d in rest] + [label]
    return _Term(x, tuple(labels))


def _diagonal(x: Value) -> Value:
    """The diagonal of the last two axes: every (n + 1)-th element of both in a row."""
    *rest, n, _ = x.shape
    flat = reshaped(x, [*rest, n * n])
    axes = len(rest) + 1
    return SliceOp.on(flat, start=[0] * axes, stop=[*rest, n * n], step=[1] * (axes - 1) + [n + 1])


def _without_units(term: _Term, sizes: Mapping[Label, int]) -> _Term:
    """Without the axes of extent 1 that broadcast."""
    pairs = [
        (label, n)
        for label, n in zip(term.labels, term.value.shape, strict=True)
        if n == sizes[label]
    ]
    return _Term(reshaped(term.value, [n for _, n in pairs]), tuple(label for label, _ in pairs))


def _lonely(terms: Sequence[_Term], result: Sequence[Label]) -> Iterator[Label]:
    """The labels of a single term, summed in it."""
    for k, term in enumerate(terms):
        others = {label for j, other in enumerate(terms) if j != k for label in other.labels}
        yield from (label for label in term.labels if label not in others and label not in result)


def _contracted(
    terms: Sequence[_Term], equation: Equation, precision: Mapping[str, Attribute]
) -> _Term:
    """One term, over the labels of the result that occur in a term."""
    lonely = set(_lonely(terms, equation.result))
    left = [_summed(term, lonely) for term in terms]
    while len(left) > 1:
        first, second = _next_pair([term.labels for term in left], equation)
        pair = [left[first], left[second]]
        rest = [term for k, term in enumerate(left) if k not in (first, second)]
        needed = {label for term in rest for label in term.labels} | set(equation.result)
        left = [*rest, _product(pair[0], pair[1], needed, equation.result, precision)]
    return left[0]


def _summed(term: _Term, gone: set[Label]) -> _Term:
    axes = [d for d, label in enumerate(term.labels) if label in gone]
    if not axes:
        return term
    kept = tuple(label for label in term.labels if label not in gone)
    return _Term(SumOp.on(term.value, axis=axes), kept)


def _product(
    left: _Term,
    right: _Term,
    needed: set[Label],
    wanted: Labels,
    precision: Mapping[str, Attribute],
) -> _Term:
    """The product of two terms, summed over labels that neither other terms nor the result need."""
    both = [label for label in left.labels if label in right.labels]
    batch = [label for label in wanted if label in both]
    batch += [label for label in both if label in needed and label not in batch]
    summed = [label for label in both if label not in needed]
    # of both orders of the factors, the one whose axes are in the result's order
    orders = [
        (one, other, (*batch, *_others(one, both), *_others(other, both)))
        for one, other in ((left, right), (right, left))
    ]
    one, other, labels = next((order for order in orders if order[2] == wanted), orders[0])
    value = DotGeneralOp.on(
        one.value,
        other.value,
        lhs_batch=[one.labels.index(label) for label in batch],
        rhs_batch=[other.labels.index(label) for label in batch],
        lhs_contract=[one.labels.index(label) for label in summed],
        rhs_contract=[other.labels.index(label) for label in summed],
        **precision,
    )
    return _Term(value, labels)


def _others(term: _Term, labels: Sequence[Label]) -> list[Label]:
    return [label for label in term.labels if label not in labels]


def _placed(term: _Term, labels: Labels, type_: Attribute) -> Value:
    """A term with its axes in the result's order, repeated along missing ones."""
    present = [label for label in labels if label in term.labels]
    x = permuted(term.value, [term.labels.index(label) for label in present])
    if len(present) == len(labels):
        return x
    shape = shape_of(type_)
    line = [n if label in present else 1 for label, n in zip(labels, shape, strict=True)]
    return BroadcastToOp.on(reshaped(x, line), type=tensor(shape, x.element))


# The order of contraction.


def _next_pair(terms: Sequence[Labels], equation: Equation) -> tuple[int, int]:
    """The pair to contract first."""
    pairs = list(combinations(range(len(terms)), 2))
    if len(terms) == 2:
        return pairs[0]
    if len(terms) > MOST_OPERANDS_TO_ORDER:
        return min(pairs, key=lambda pair: _multiplications(pair, terms, equation))
    return _first_of_best(terms, equation)


def _multiplications(pair: Sequence[int], terms: Sequence[Labels], equation: Equation) -> int:
    """The number of multiplications for a contraction of a pair of terms."""
    return prod(equation.shape(list({label for k in pair for label in terms[k]})))


def _first_of_best(terms: Sequence[Labels], equation: Equation) -> tuple[int, int]:
    """The first pair of the cheapest order, by dynamic programming over sets of terms."""
    count = len(terms)
    whole = (1 << count) - 1
    labels = [_labels_of(subset, terms, equation) for subset in range(1 << count)]
    best: dict[int, tuple[int, int]] = {1 << k: (0, 0) for k in range(count)}
    for subset in sorted(range(1, 1 << count), key=int.bit_count):
        for part in _halves(subset):
            rest = subset ^ part
            own = prod(equation.shape(list(labels[part] | labels[rest])))
            cost = best[part][0] + best[rest][0] + own
            if subset not in best or cost < best[subset][0]:
                best[subset] = cost, part
    while True:
        part = best[whole][1]
        rest = whole ^ part
        if part.bit_count() == rest.bit_count() == 1:
            first, second = sorted((part.bit_length() - 1, rest.bit_length() - 1))
            return first, second
        whole = part if part.bit_count() > 1 else rest


def _labels_of(subset: int, terms: Sequence[Labels], equation: Equation) -> set[Label]:
    """The labels of the contraction of a subset of terms."""
    inside = {label for k, one in enumerate(terms) if subset >> k & 1 for label in one}
    outside = {label for k, one in enumerate(terms) if not subset >> k & 1 for label in one}
    return inside & (outside | set(equation.result))


def _halves(subset: int) -> Iterator[int]:
    """The proper subsets, of a set of two or more, that contain its lowest member."""
    lowest = subset & -subset
    part = (subset - 1) & subset
    while part:
        if part & lowest:
            yield part
        part = (part - 1) & subset


OPS: tuple[type[TensorOp], ...] = (EinsumOp,)
