"""xDSL's operations, values, blocks and walks: the same meaning in fewer steps of Python.

A compilation reads operands, steps from op to op and makes ops a hundred thousand times. xDSL does
each through views, iterators and dataclasses of its own, which were half of the stages' time. The
methods below replace the ones of xDSL 0.74, the release that `pyproject.toml` asks for; a test
holds each against the original, and fails when a release changes a replaced method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from inspect import getattr_static
from operator import attrgetter
from typing import Any

from xdsl import traits
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, core
from xdsl.ir.core import BlockOps, RegionBlocks, SSAValues, Use
from xdsl.irdl import IRDLOperation, operations
from xdsl.irdl.operations import BaseAccessor, BeforeVariadicSingleAccessor, VarIRConstruct

from gradir.dialects.base.kept_facts import number_of

# Of tuples and of their subclasses, in C.
item_of: Any = tuple.__getitem__
make_tuple: Any = tuple.__new__
# The methods write the private links of xDSL's classes, as the originals do.
_make: Any = object.__new__
_NO_ATTRIBUTES: Mapping[str, Attribute] = {}


class Operands(SSAValues[SSAValue]):
    """The operands of an op: a tuple to read, whose elements can be set in the op."""

    op: Operation

    def __setitem__(self, index: int, value: SSAValue) -> None:
        op: Any = self.op
        old, use = op._operands, op._operand_uses[index]
        item_of(old, index).remove_use(use)
        value.add_use(use)
        values = list(old)
        values[index] = value
        op._operands = _operands_of(op, values)


def _operands_of(op: Any, values: Iterable[SSAValue]) -> Operands:
    operands = make_tuple(Operands, values)
    operands.op = op
    return operands


def _item_or_slice(self: Any, index: Any) -> Any:
    found = item_of(self, index)
    return make_tuple(SSAValues, found) if found.__class__ is tuple else found


def _set_operands(self: Any, values: Iterable[SSAValue]) -> None:
    for operand, use in zip(self._operands, self._operand_uses, strict=False):
        operand.remove_use(use)
    self._operands = operands = _operands_of(self, values)
    uses: list[Any] = []
    for index, operand in enumerate(operands):
        use = _make(Use)  # without the call of __init__
        use._operation, use._index = self, index
        first = operand.first_use
        if first is not None:
            use._next_use = first
            first._prev_use = use
        operand.first_use = use
        uses.append(use)
    self._operand_uses = tuple(uses)


def _init_argument(
    self: Any, _type: Attribute, block: Block, index: int, location: Any = UNKNOWN_LOC
) -> None:
    self._type = _type
    self.block = block
    self.index = index
    self.location = location


def _init_operation(
    self: Any,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NO_ATTRIBUTES,
    attributes: Mapping[str, Attribute] = _NO_ATTRIBUTES,
    location: Any = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    if operands:
        _set_operands(self, operands)
    results: list[Any] = []
    for index, type_ in enumerate(result_types):
        result = _make(OpResult)
        result._type, result.op, result.index = type_, self, index
        results.append(result)
    self.results = make_tuple(SSAValues, results)
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = list(successors)
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


@cache
def _variadic(op_class: Any) -> tuple[tuple[bool, ...], tuple[bool, ...]] | None:
    """Which operands and results of the class are any number of values; None where some may be
    left out, where their numbers are kept in the op, or where it has more parts."""
    definition = op_class.get_irdl_definition()
    if definition.options or definition.regions or definition.successors:
        return None
    parts = [each for _, each in (*definition.operands, *definition.results)]
    if any(isinstance(each, operations.OptionalDef) for each in parts):
        return None
    found = [isinstance(each, operations.VariadicDef) for each in parts]
    count = len(definition.operands)
    return tuple(found[:count]), tuple(found[count:])


def _flat(given: Sequence[Any], variadic: Sequence[bool], kind: type) -> list[Any] | None:
    """The values, those of a list among the others; None where xDSL has to look."""
    if len(given) != len(variadic):
        return None
    found: list[Any] = []
    for each, is_many in zip(given, variadic, strict=True):
        if isinstance(each, kind):
            found.append(each)
        elif (
            is_many
            and isinstance(each, (list, tuple))
            and all([isinstance(one, kind) for one in each])
        ):
            found += each
        else:
            return None
    return found


_init_with_segments = IRDLOperation.__init__


def _init_irdl_operation(self: Any, **parts: Any) -> None:
    variadic = _variadic(type(self))
    if variadic is None or parts.get("regions") or parts.get("successors"):
        _init_with_segments(self, **parts)
        return
    operands = _flat(parts.get("operands") or (), variadic[0], SSAValue)
    result_types = _flat(parts.get("result_types") or (), variadic[1], Attribute)
    if operands is None or result_types is None:
        _init_with_segments(self, **parts)
        return
    _init_operation(
        self,
        operands=operands,
        result_types=result_types,
        properties=_given(parts.get("properties")),
        attributes=_given(parts.get("attributes")),
    )


def _given(entries: Mapping[str, Attribute | None] | None) -> Mapping[str, Attribute]:
    """The entries that are not None."""
    if not entries:
        return _NO_ATTRIBUTES
    return {name: value for name, value in entries.items() if value is not None}


@cache
def _defaults(op_class: Any) -> tuple[list[tuple[str, Attribute]], list[tuple[str, Attribute]]]:
    """The properties and attributes that an op of the class has when none are given."""
    definition = op_class.get_irdl_definition()

    def given(entries: Mapping[str, Any]) -> list[tuple[str, Attribute]]:
        return [
            (name, each.default_value)
            for name, each in entries.items()
            if not isinstance(each, operations.OptionalDef) and each.default_value is not None
        ]

    return given(definition.properties), given(definition.attributes)


def _fill_in_defaults(self: Any) -> None:
    properties, attributes = _defaults(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # xDSL's implicit builders hook in there


def _replace_all_uses_with(self: Any, value: Any) -> None:
    if value is self:
        return
    for use in tuple(self.uses):
        use._operation._operands[use._index] = value
    if value._name is None:
        value.name_hint = self._name
    assert self.first_use is None, "unexpected error in xdsl"


def _erase_value(self: Any, safe_erase: bool = True) -> None:
    if self.first_use is None:
        return
    if safe_erase:
        raise ValueError(
            "Attempting to delete SSA value that still has uses of result "
            f"of operation:\n{self.owner}"
        )
    self.replace_all_uses_with(core.ErasedSSAValue(self.type, self))


@lru_cache(maxsize=4096)
def _valid_name(owner: Any, name: str) -> str:
    return owner.extract_valid_name(name)


def _set_name_hint(self: Any, name: str | None) -> None:
    self._name = None if name is None else _valid_name(type(self), name)


def _clone_without_regions(
    self: Any,
    value_mapper: dict[Any, Any] | None = None,
    block_mapper: dict[Any, Any] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Any:
    if value_mapper is None:
        value_mapper = {}
    if block_mapper is None:
        block_mapper = {}
    cloned = self.create(
        operands=[value_mapper.get(each, each) for each in self._operands]
        if clone_operands
        else (),
        result_types=[each._type for each in self.results],
        attributes=self.attributes,
        properties=self.properties,
        location=self.location,
        successors=[block_mapper.get(each, each) for each in self._successors],
        regions=[Region() for _ in self.regions],
    )
    for old, new in zip(self.results, cloned.results, strict=True):
        value_mapper[old] = new
        if clone_name_hints and old._name is not None:
            new.name_hint = old._name
    return cloned


def _clone(
    self: Any,
    value_mapper: dict[Any, Any] | None = None,
    block_mapper: dict[Any, Any] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Any:
    if value_mapper is None:
        value_mapper = {}
    if block_mapper is None:
        block_mapper = {}
    # of an op without regions the operands are all from before it
    op = self.clone_without_regions(
        value_mapper,
        block_mapper,
        clone_name_hints=clone_name_hints,
        clone_operands=clone_operands and not self.regions,
    )
    for old, new in zip(self.regions, op.regions, strict=True):
        old.clone_into(
            new,
            0,
            value_mapper,
            block_mapper,
            clone_name_hints=clone_name_hints,
            clone_operands=False,
        )
    if clone_operands and self.regions:
        for old, new in zip(self.walk(), op.walk(), strict=True):
            if old._operands:
                new.operands = [value_mapper.get(each, each) for each in old._operands]
    return op


def _attach_op(self: Any, operation: Any) -> None:
    if operation.parent:
        raise ValueError("Can't add to a block an operation already attached to a block.")
    if operation.regions and operation.is_ancestor(self):
        raise ValueError("Can't add an operation to a block contained in the operation.")
    operation.parent = self


def _insert_argument(
    self: Any, arg_type: Attribute, index: int, location: Any = None
) -> BlockArgument:
    args = self._args
    if not 0 <= index <= len(args):
        raise ValueError(
            f"Cannot insert block argument at index {index}, index must be in "
            f"range [0, {len(args)}]."
        )
    place = UNKNOWN_LOC if location is None else location
    made = BlockArgument(arg_type, self, index, place)
    if index == len(args):
        self._args = (*args, made)
        return made
    for arg in args[index:]:
        arg.index += 1
    self._args = (*args[:index], made, *args[index:])
    return made


def _insert_op_after(self: Any, new_op: Any, existing_op: Any) -> None:
    if existing_op.parent is not self:
        raise ValueError("Can't insert operation after operation not in this block.")
    _attach_op(self, new_op)
    following = existing_op._next_op
    new_op._prev_op, new_op._next_op = existing_op, following
    existing_op._next_op = new_op
    if following is None:
        self._last_op = new_op
    else:
        following._prev_op = new_op


def _insert_op_before(self: Any, new_op: Any, existing_op: Any) -> None:
    if existing_op.parent is not self:
        raise ValueError("Can't insert operation before operation not in current block")
    _attach_op(self, new_op)
    previous = existing_op._prev_op
    new_op._prev_op, new_op._next_op = previous, existing_op
    existing_op._prev_op = new_op
    if previous is None:
        self._first_op = new_op
    else:
        previous._next_op = new_op


def _detach_op(self: Any, op: Any) -> Any:
    if op.parent is not self:
        raise ValueError("Cannot detach operation from a different block.")
    previous, following = op._prev_op, op._next_op
    op.parent = op._prev_op = op._next_op = None
    if previous is None:
        self._first_op = following
    else:
        previous._next_op = following
    if following is None:
        self._last_op = previous
    else:
        following._prev_op = previous
    return op


def _drop_all_references(self: Any) -> None:
    self.parent = None
    for operand, use in zip(self._operands, self._operand_uses, strict=False):
        operand.remove_use(use)
    self._operand_uses = ()
    if self._successors:
        for successor, use in zip(self._successors, self._successor_uses, strict=True):
            successor.remove_use(use)
        self._successor_uses = self._successors = ()
    for region in self.regions:
        region.drop_all_references()


def _remove_use(self: Any, use: Any) -> None:
    previous, following = use._prev_use, use._next_use
    if following is not None:
        following._prev_use = previous
    if previous is None:
        self.first_use = following
    else:
        previous._next_use = following


_init_any_integer: Any = IntegerAttr.__init__
# The parts of integers that were checked once, by value and number of the type.
_INTEGERS: dict[tuple[int, int], tuple[Any, Any]] = {}
_MOST_INTEGERS = 1 << 14


def _init_integer(self: Any, value: Any, value_type: Any, *, truncate_bits: bool = False) -> None:
    if value.__class__ is not int or truncate_bits or not isinstance(value_type, Attribute):
        _init_any_integer(self, value, value_type, truncate_bits=truncate_bits)
        return
    key = value, number_of(value_type)
    parts = _INTEGERS.get(key)
    if parts is not None:
        self.__dict__["value"], self.__dict__["type"] = parts
        return
    _init_any_integer(self, value, value_type)
    if len(_INTEGERS) >= _MOST_INTEGERS:
        _INTEGERS.clear()
    _INTEGERS[key] = self.value, self.type


@cache
def _memory_effects(op_class: Any) -> tuple[Any, ...]:
    """The traits that say which effects an op of the class has."""
    return tuple(op_class.get_traits_of_type(traits.MemoryEffect))


def _get_effects(op: Any) -> set[Any] | None:
    declared = _memory_effects(type(op))
    if not declared:
        return None
    effects = set[Any]()
    if len(declared) == 1 and type(declared[0]) is traits.NoMemoryEffect:
        return effects
    for each in declared:
        found = each.get_effects(op)
        if found is None:
            return None
        effects.update(found)
    return effects


def _is_side_effect_free(op: Any) -> bool:
    declared = _memory_effects(type(op))
    if len(declared) == 1 and type(declared[0]) is traits.NoMemoryEffect:
        return True
    effects = _get_effects(op)
    return effects is not None and len(effects) == 0


def _iterate_ops(self: Any) -> Iterator[Operation]:
    op = self.block._first_op
    while op is not None:
        following = op._next_op  # the op may be detached by the one who gets it
        yield op
        op = following


def _iterate_blocks(self: Any) -> Iterator[Block]:
    block = self._region._first_block
    while block is not None:
        following = block._next_block
        yield block
        block = following


def _blocks_of(op: Any, reverse: bool) -> Iterator[Any]:
    """The blocks in the regions of an op."""
    for region in reversed(op.regions) if reverse else op.regions:
        yield from _walked_blocks(region, reverse)


def _walked_blocks(region: Any, reverse: bool) -> Iterator[Any]:
    block = region._last_block if reverse else region._first_block
    while block is not None:
        following = block._prev_block if reverse else block._next_block
        yield block
        block = following


def _walk_ops(op: Any, blocks: Iterator[Any], reverse: bool, region_first: bool) -> Iterator[Any]:
    """The ops from one on to the end of its block, then those of other blocks, and all inside.

    One generator for all depths: in xDSL each op passes through two for every op around it.
    """
    around: list[tuple[Any, Any, Iterator[Any]]] = []
    while True:
        while op is not None:
            following = op._prev_op if reverse else op._next_op
            if not region_first:
                yield op
            if op.regions:
                around.append((op, following, blocks))
                blocks = _blocks_of(op, reverse)
                break
            if region_first:
                yield op
            op = following
        while (block := next(blocks, None)) is None:
            if not around:
                return
            op, following, blocks = around.pop()
            if region_first:
                yield op
            op = following
            if op is not None:
                break
        else:
            op = block._last_op if reverse else block._first_op


def _walk(self: Any, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
    if not region_first:
        yield self
    if self.regions:
        yield from _walk_ops(None, _blocks_of(self, reverse), reverse, region_first)
    if region_first:
        yield self


def _walk_region(
    self: Any, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    return _walk_ops(None, _walked_blocks(self, reverse), reverse, region_first)


def _walk_block(
    self: Any, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    first = self._last_op if reverse else self._first_op
    return _walk_ops(first, iter(()), reverse, region_first)


def _get_accessed(self: Any, obj: Any, objtype: Any = None) -> Any:
    construct = self.construct
    if construct is VarIRConstruct.OPERAND:
        return self.index(obj._operands)
    if construct is VarIRConstruct.RESULT:
        return self.index(obj.results)
    return self.index(operations.get_op_constructs(obj, construct))


def _get_single(self: Any, obj: Any, objtype: Any = None) -> Any:
    construct = self.construct
    if construct is VarIRConstruct.OPERAND:
        return item_of(obj._operands, self.idx)
    if construct is VarIRConstruct.RESULT:
        return item_of(obj.results, self.idx)
    return self.index(operations.get_op_constructs(obj, construct))


def _read(attribute: str, setter: Callable[..., None] | None = None) -> property:
    """A property whose reading is an access in C."""
    return property(attrgetter(attribute), setter)


REPLACEMENTS: tuple[tuple[Any, str, Any], ...] = (
    (SSAValues, "__getitem__", _item_or_slice),
    (SSAValue, "type", _read("_type")),
    (SSAValue, "replace_all_uses_with", _replace_all_uses_with),
    (core.IRWithUses, "remove_use", _remove_use),
    (SSAValue, "erase", _erase_value),
    (core.IRWithName, "name_hint", property(attrgetter("_name"), _set_name_hint)),
    (OpResult, "owner", _read("op")),
    (BlockArgument, "__init__", _init_argument),
    (BlockArgument, "owner", _read("block")),
    (Use, "operation", _read("_operation")),
    (Use, "index", _read("_index")),
    (Operation, "__init__", _init_operation),
    (IRDLOperation, "__init__", _init_irdl_operation),
    (Operation, "_operands", Operands()),
    (Operation, "operands", _read("_operands", _set_operands)),
    (Operation, "parent_node", _read("parent")),
    (Operation, "next_op", _read("_next_op")),
    (Operation, "prev_op", _read("_prev_op")),
    (Operation, "drop_all_references", _drop_all_references),
    (Operation, "clone_without_regions", _clone_without_regions),
    (Operation, "clone", _clone),
    (Operation, "walk", _walk),
    (IRDLOperation, "__post_init__", _fill_in_defaults),
    (IntegerAttr, "__init__", _init_integer),
    (core, "_unknown_loc", lambda: UNKNOWN_LOC),
    (traits, "get_effects", _get_effects),
    (traits, "is_side_effect_free", _is_side_effect_free),
    (BlockOps, "__iter__", _iterate_ops),
    (RegionBlocks, "__iter__", _iterate_blocks),
    (Block, "args", _read("_args")),
    (Block, "first_op", _read("_first_op")),
    (Block, "last_op", _read("_last_op")),
    (Block, "next_block", _read("_next_block")),
    (Block, "parent_node", _read("parent")),
    (Block, "_attach_op", _attach_op),
    (Block, "insert_arg", _insert_argument),
    (Block, "insert_op_after", _insert_op_after),
    (Block, "insert_op_before", _insert_op_before),
    (Block, "detach_op", _detach_op),
    (Block, "walk", _walk_block),
    (Region, "walk", _walk_region),
    (BaseAccessor, "__get__", _get_accessed),
    (BeforeVariadicSingleAccessor, "__get__", _get_single),
)
"""Each class or module, the name of what it has, and what replaces it."""


ORIGINALS = tuple((owner, name, getattr_static(owner, name)) for owner, name, _ in REPLACEMENTS)
"""xDSL's own, for the test that holds the two against each other."""


def quicken_ir() -> None:
    """Replace them, in classes that are there and in ones that inherit."""
    for owner, name, quick in REPLACEMENTS:
        setattr(owner, name, quick)
