"""Gated cotangents: a 0 that a selection put into a cotangent stays 0 through every derivative.

    %y_ct = array.where %taken, %ct, %zero             %scaled = array.multiply %ct, %slope
    %x_ct = array.multiply %y_ct, %slope    becomes    %x_ct = array.where %taken, %scaled, %zero

The selection moves behind the product, so that 0 * inf is 0 where it did not take the value. Behind
other ops a cotangent is gated anew by its support (`dialects/base/support.py`). In a sum of
products (a matmul) the elements that no taken result reads are replaced by 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.known_bools import are_true
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.base.between_ranks import BetweenRanksOp
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.op_rules import (
    VjpRule,
    is_elementwise,
    selected_operand,
    support_of,
    zero_operands,
)
from gradir.dialects.base.shapes import shape_of, tensor
from gradir.dialects.base.support import NOWHERE, Border, Mask, Supports, possible_mask
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.gate import gated
from gradir.dialects.building.kinds import ElementwiseOp
from gradir.dialects.grad.borders import Borders

Wanted = Callable[[int], bool]
"""Whether the cotangent of the operand at a place is read."""

Derive = Callable[[Sequence[Value]], Cotangents]
"""The cotangents of an op's operands by its rule, from the operands."""


class Gates:
    """The gates of the cotangents of one function, or of its tangents.

    `possible` are the supports, and the strict ones, that would be known if masks crossed all
    borders: they tell which borders are worth it.
    """

    def __init__(self, borders: Borders) -> None:
        self.borders = borders
        self.supports = Supports(support_of)
        self.strict = Supports(support_of, strict=True)
        self.possible = Supports(support_of), Supports(support_of, strict=True)

    def may_have_support(self, ct: SSAValue) -> bool:
        """Whether a cotangent may have zeros that selections put there."""
        known = self.supports.of(ct) not in (None, NOWHERE)
        return known or self.possible[0].of(ct) not in (None, NOWHERE)

    def flow(
        self,
        op: Operation,
        rule: VjpRule,
        cts: Cotangents,
        results: Sequence[Value],
        operands: Sequence[Value],
        wanted: Wanted,
    ) -> Cotangents:
        """The cotangents of the operands by the op's rule, gated like the results' cotangents."""

        def derive(operands: Sequence[Value]) -> Cotangents:
            return rule(op, cts, results, operands)

        flowing = self._gate(op, derive, cts, operands, wanted)
        if any(self.possible):
            self._ask(op, cts, flowing, wanted)
        return flowing

    def _ask(self, op: Operation, cts: Cotangents, flowing: Cotangents, wanted: Wanted) -> None:
        """Note the borders that masks must cross to gate the cotangents of an op's operands."""
        given = [ct.ssa for ct in cts if ct is not None]
        masks = [[possible.of(ct) for ct in given] for possible in self.possible]
        borders = [_borders_of(each) for each in masks]
        if not any(borders):
            return
        is_sum = isinstance(op, TensorOp) and op.SUMS_PRODUCTS
        made = [ct.ssa for k, ct in enumerate(flowing) if ct is not None and wanted(k)]
        if isinstance(op, ElementwiseOp) or is_elementwise(op):
            [ct] = given
            made = [each for each in made if not self._is_zero_with(each, ct)]
        elif not isinstance(op, TensorOp) or _is_linear(op):
            return
        if not made:
            return
        self.borders.wanted |= borders[is_sum]
        for possible, found in zip(self.possible, borders, strict=True):
            if found:
                possible.update((each, possible_mask(found)) for each in made)

    def _gate(
        self,
        op: Operation,
        derive: Derive,
        cts: Cotangents,
        operands: Sequence[Value],
        wanted: Wanted,
    ) -> Cotangents:
        given = [ct for ct in cts if ct is not None]
        if any(self.supports.of(ct.ssa) in (None, NOWHERE) for ct in given):
            return derive(operands)
        if isinstance(op, ElementwiseOp) or is_elementwise(op):
            [ct] = given
            before = ct.emitter.block.last_op
            return self._gate_products(ct, derive(operands), before, wanted)
        # what other ranks send is not 0 where this one's mask is false
        if not isinstance(op, TensorOp) or isinstance(op, BetweenRanksOp) or _is_linear(op):
            return derive(operands)
        return self._gate_lines(op, derive, cts, operands, wanted)

    # One element of a cotangent for each of the result.

    def _gate_products(
        self, ct: Value, flowing: Cotangents, before: Operation | None, wanted: Wanted
    ) -> Cotangents:
        made = {k: each for k, each in enumerate(flowing) if each is not None and wanted(k)}
        products = [k for k, each in made.items() if not self._is_zero_with(each.ssa, ct.ssa)]
        if not products:
            return flowing
        selections, inner = self._selections(ct.ssa)
        if len(products) < len(made) or any(made[k].ssa.type != ct.ssa.type for k in products):
            selections.clear()
            inner = ct.ssa
        _replace_behind(before, ct, inner)
        gates = list(flowing)
        for k in products:
            gates[k] = self._gate_again(made[k], ct.ssa, inner, selections)
        return gates

    def _is_zero_with(self, value: SSAValue, ct: SSAValue) -> bool:
        """Whether a value is 0 wherever a cotangent is, as far as its ops tell."""
        if value is ct or self.supports.of(value) is NOWHERE:
            return True
        owner = value.owner
        zeros = zero_operands(owner) if isinstance(owner, Operation) else None
        return zeros is not None and all(self._is_zero_with(each, ct) for each in zeros)

    def _selections(self, ct: SSAValue) -> tuple[list[Operation], SSAValue]:
        """The selections around a cotangent, the innermost first, and what they select from."""
        found: list[Operation] = []
        while isinstance(owner := ct.owner, Operation):
            place = selected_operand(owner, self.supports)
            if place is None:
                break
            found.insert(0, owner)
            ct = owner.operands[place]
        return found, ct

    def _gate_again(
        self, product: Value, ct: SSAValue, inner: SSAValue, selections: Sequence[Operation]
    ) -> Value:
        """A product gated as its cotangent was: by the inner one's support, then by selections.

        By one gate in place of several where all leave zeros.
        """
        mask, emitter = self.supports.of(inner), product.emitter
        if mask is not None and mask is not NOWHERE:
            whole = self.supports.of(ct)
            if whole is not None and all(map(self._leaves_zeros, selections)):
                product = _kept(product, whole.on(emitter))
                self.strict[product.ssa] = self.strict.of(ct)
                return product
            product = _kept(product, mask.on(emitter))
            self.strict[product.ssa] = self.strict.of(inner)
        for op in selections:
            place = selected_operand(op, self.supports)
            operands = [product.ssa if k == place else o for k, o in enumerate(op.operands)]
            made = op.create(
                operands=operands, result_types=[op.results[0].type],
                attributes=op.attributes, properties=op.properties,
            )  # fmt: skip
            product = emitter.value(emitter.insert(made).results[0])
            self.strict[product.ssa] = self.strict.of(op.results[0])
        return product

    def _leaves_zeros(self, op: Operation) -> bool:
        """Whether a selection puts zeros, and no nan, in the places of elements not taken."""
        place, [result] = selected_operand(op, self.supports), op.results
        others = [o for k, o in enumerate(op.operands) if k != place and o.type == result.type]
        return all(self.supports.of(other) is NOWHERE for other in others)

    # Lines of elements, and sums of products.

    def _gate_lines(
        self,
        op: TensorOp,
        derive: Derive,
        cts: Cotangents,
        operands: Sequence[Value],
        wanted: Wanted,
    ) -> Cotangents:
        supports = self.strict if op.SUMS_PRODUCTS else self.supports
        masks = [None if ct is None else supports.of(ct.ssa) for ct in cts]
        if any(m in (None, NOWHERE) for m, ct in zip(masks, cts, strict=True) if ct is not None):
            return derive(operands)
        emitter = next(ct.emitter for ct in cts if ct is not None)
        reached = _Reached(op, masks, emitter)
        if op.SUMS_PRODUCTS:
            operands = [_kept(o, reached.of(k)) for k, o in enumerate(operands)]
        flowing = list(derive(operands))
        is_loose = any(self.strict.of(ct.ssa) is None for ct in cts if ct is not None)
        for k, ct in enumerate(flowing):
            if ct is not None and wanted(k):
                flowing[k] = gate = _kept(ct, reached.of(k))
                if gate is not ct and is_loose:
                    self.strict[gate.ssa] = None
        return flowing


def _borders_of(masks: Sequence[Mask | None]) -> frozenset[Border]:
    """The borders of the masks of all cotangents of an op; none where one of these has no mask."""
    found = frozenset[Border]()
    for mask in masks:
        if mask is None or mask is NOWHERE:
            return frozenset()
        found |= mask.borders
    return found


class HandedSupports:
    """The supports of cotangents that a region hands out, as bools that it hands out too."""

    def __init__(self, gates: Gates, cts: Sequence[Value | None]):
        self.places: list[tuple[Supports, int]] = []
        self.bools: list[SSAValue] = []
        self.possible: list[tuple[Supports, int, Mask]] = []
        for k, ct in enumerate(cts):
            for supports in gates.possible:
                mask = None if ct is None else supports.of(ct.ssa)
                if mask is not None and mask is not NOWHERE:
                    self.possible.append((supports, k, possible_mask(mask.borders)))
            for supports in (gates.supports, gates.strict):
                mask = None if ct is None else supports.of(ct.ssa)
                if ct is not None and mask is not None and mask is not NOWHERE:
                    self.places.append((supports, k))
                    self.bools.append(mask.on(ct.emitter).ssa)

    def set(self, results: Sequence[Value], bools: Sequence[SSAValue]) -> None:
        """Set the supports of the results of the region."""
        for (supports, k), found in zip(self.places, bools, strict=True):
            supports[results[k].ssa] = Mask.of(found)
        for possible, k, mask in self.possible:
            possible[results[k].ssa] = mask


class _Reached:
    """Where each operand of an op takes part in results that masks name."""

    def __init__(self, op: TensorOp, masks: Sequence[Mask | None], emitter: Emitter):
        self.op, self.masks, self.emitter = op, masks, emitter

    def of(self, place: int) -> Value | None:
        """The bools for the operand at a place; None where they are not known."""
        bools = [None if mask is None else mask.on(self.emitter) for mask in self.masks]
        return self._of_one(place, bools) or self.op.reached(place, bools)

    def _of_one(self, place: int, bools: Sequence[Value | None]) -> Value | None:
        """Where one bool stands for all of the only result."""
        if len(bools) != 1 or bools[0] is None:
            return None
        owner, shape = bools[0].ssa.owner, shape_of(self.op.operands[place].type)
        if not isinstance(owner, BroadcastToOp) or shape_of(owner.x.type):
            return None
        return BroadcastToOp.on(self.emitter.value(owner.x), type=tensor(shape, bools[0].element))


def _is_linear(op: TensorOp) -> bool:
    """Whether an op and its derivative hand on zeros as they are: it has a support of its own."""
    kind = type(op)
    return kind.support is not TensorOp.support or kind.zero_operands is not TensorOp.zero_operands


def _kept(x: Value, mask: Value | None) -> Value:
    """x where a mask is true, else 0."""
    return x if mask is None or are_true(mask.ssa) else gated(x, mask, x.full(0))


def _replace_behind(before: Operation | None, ct: Value, inner: SSAValue) -> None:
    """Let the ops behind one read the inner value in place of a cotangent."""
    op = ct.emitter.block.first_op if before is None else before.next_op
    while op is not None and inner is not ct.ssa:
        for k, operand in enumerate(op.operands):
            if operand is ct.ssa:
                op.operands[k] = inner
        op = op.next_op
