"""The masks of cotangents at a border of an op's regions.

    %x_ct, %x_taken = scf.for ... iter_args(%y_ct = %ct, %y_taken = %taken)

Behind each group of cotangents that crosses the border are the bools of the supports of some of
them. On the other side these are the supports again. `dialects/grad/borders.py` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, SSAValue

from gradir.dialects.array.supports import bools_of
from gradir.dialects.base.support import NOWHERE, Mask, Supports, possible_mask
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import named
from gradir.dialects.grad.borders import ON_TAPES, Home, has_mask, mask_type
from gradir.dialects.grad.gates import Gates
from gradir.dialects.grad.tape import TapeType, cotangent_type
from gradir.passes.differentiate.block_code import BlockCode
from gradir.passes.differentiate.contributions import cotangent_hint


@dataclass(frozen=True)
class Crossing:
    """A group of cotangents, by their types, that crosses the border of an op's regions, or is on
    tapes of a type.

    `places` are those with a mask: the place of the cotangent, and whether the mask is strict.
    """

    gates: Gates
    home: Home
    group: str
    types: Sequence[Attribute]
    places: Sequence[tuple[int, bool]]

    @staticmethod
    def of(gates: Gates, home: Home, group: str, types: Sequence[Attribute]) -> Crossing:
        """The crossing with the masks that the borders ask for."""
        places = gates.borders.places(home, group, types)
        return Crossing(gates, home, group, types, places)

    @staticmethod
    def of_tapes(gates: Gates, type_: TapeType) -> Crossing:
        """The crossing of the cotangents on tapes, which masks of some follow in each record."""
        made = cotangent_type(type_)
        assert isinstance(made, TapeType)
        return Crossing.of(gates, type_, ON_TAPES, made.columns.data)

    @property
    def mask_types(self) -> list[Attribute]:
        return [mask_type(self.types[k]) for k, _ in self.places]

    def mask_names(self, names: Sequence[str | None]) -> list[str]:
        """The names of the masks, from the cotangents' names."""
        return [f"{names[k]}_support" for k, _ in self.places]

    def hand_over(
        self, cts: Sequence[SSAValue], emitter: Emitter, parts: Sequence[SSAValue] | None = None
    ) -> list[SSAValue]:
        """The bools of the masks of cotangents, from outside of the border.

        `parts`: those contributions to the only cotangent that are not its sum so far.
        """
        for k, ct in enumerate(cts):
            self._note(k, [ct] if parts is None else parts)
        return [self._bools(k, strict, cts[k], emitter) for k, strict in self.places]

    def hand_back(
        self, cts: Sequence[SSAValue], emitter: Emitter, parts: Sequence[SSAValue] | None = None
    ) -> list[SSAValue]:
        """The bools at the end of a region, which may run again with them."""
        for k, strict in self.places:
            if self._supports(strict).of(cts[k]) is None:
                self.gates.borders.open.add((self.home, self.group, k, strict))
        return self.hand_over(cts, emitter, parts)

    def refuse_unknown(self, cts: Sequence[SSAValue]) -> None:
        """Let no mask cross with a sum whose start has none: it is everywhere."""
        for k, ct in enumerate(cts):
            for strict, possible in enumerate(self.gates.possible):
                if possible.of(ct) is None:
                    self.gates.borders.refused.add((self.home, self.group, k, bool(strict)))

    def receive(self, cts: Sequence[SSAValue], masks: Sequence[SSAValue]) -> None:
        """Set the supports of the cotangents on the other side of the border."""
        for (k, strict), mask in zip(self.places, masks, strict=True):
            self._supports(strict)[cts[k]] = Mask.of(mask)
        for k, ct in enumerate(cts):
            for strict, possible in enumerate(self.gates.possible):
                border = self.home, self.group, k, bool(strict)
                if has_mask(self.types[k]) and border not in self.gates.borders.refused:
                    possible[ct] = possible_mask(frozenset([border]))

    def _supports(self, strict: bool) -> Supports:
        return self.gates.strict if strict else self.gates.supports

    def _note(self, k: int, parts: Sequence[SSAValue]) -> None:
        """Note what the masks of a cotangent are made of."""
        borders = self.gates.borders
        for strict, possible in enumerate(self.gates.possible):
            border = self.home, self.group, k, bool(strict)
            if self._supports(bool(strict)).of_any(parts) not in (None, NOWHERE):
                borders.known.add(border)
            found = possible.of_any(parts)
            if found is not None:
                borders.need(border, found.borders - {border})

    def _bools(self, k: int, strict: bool, ct: SSAValue, emitter: Emitter) -> SSAValue:
        return bools_of(self._supports(strict).of(ct), ct.type, emitter).ssa


def crossed(outer: BlockCode, op: Operation, group: str, values: Sequence[SSAValue]) -> Crossing:
    """The border of an op's regions for the cotangents of some of its values."""
    gates = outer.shared.gates
    types = [gates.borders.cotangent_type(value.type) for value in values]
    return Crossing.of(gates, outer.shared.copy_of.get(op, op), group, types)


def add_seeds(
    block: Block, first: int, values: Sequence[SSAValue], crossing: Crossing
) -> list[SSAValue]:
    """Add arguments for the cotangents of values, and their masks, from a place on."""
    names = [cotangent_hint(value) for value in values]
    names += crossing.mask_names(names)
    types = [*crossing.types, *crossing.mask_types]
    seeds: list[SSAValue] = []
    for k, (type_, name) in enumerate(zip(types, names, strict=True)):
        seeds.append(named(block.insert_arg(type_, first + k), name))
    crossing.receive(seeds[: len(values)], seeds[len(values) :])
    return seeds
