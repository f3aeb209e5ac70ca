"""gradir-verify: SSA dominance, symbols, calls and each operation's own rules, in one walk.

xDSL verifies operations, but not dominance. Every failure is a `VerifyError` at the wrong
operation.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import VerifyError, value_name
from gradir.dialects.base.extents import assuming
from gradir.dialects.base.kept_facts import number_of
from gradir.dialects.base.shapes import can_be, is_tensor, require_size
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.verify.attributes import verify_attributes
from gradir.passes.verify.custom_vjp import Declared, verify_custom_vjp
from gradir.passes.verify.own_rules import check_once


@dataclass(frozen=True)
class VerifyPass(ModulePass):
    """Check that the module is valid: dominance, symbols, calls, and every operation's rules."""

    name = "gradir-verify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify(op)


def verify(module: Operation) -> None:
    """Raise a VerifyError at the first wrong operation of `module`; time is linear in its size."""
    # decisions for large symbols do: with their values, programs are verified again
    with assuming([]):
        _verify(module)


def verify_function(module: ModuleOp, function: FuncOp) -> None:
    """`verify` for one function of a module whose other functions were verified before."""
    with assuming([]):
        verifier = _Verifier()
        verifier.symbols = verifier.collect_symbols(module)
        _walk(verifier.operation(function))


def _verify(module: Operation) -> None:
    _walk(_Verifier().operation(module))


def _walk(steps: _Steps) -> None:
    # generators instead of calls: deep nesting causes no RecursionError
    stack = [steps]
    while stack:
        nested = next(stack[-1], None)
        if nested is None:
            stack.pop()
        else:
            stack.append(nested)


_Steps: TypeAlias = "Generator[_Steps, None, None]"
"""A walk in progress; a yielded walk runs before it goes on."""


@dataclass(frozen=True)
class _Traits:
    """The traits of an operation class, looked up once."""

    isolated: bool
    symbol_table: bool
    terminator: bool
    no_terminator: bool
    symbol: SymbolOpInterface | None

    @staticmethod
    def of(op: type[Operation]) -> _Traits:
        return _Traits(
            op.has_trait(IsolatedFromAbove),
            op.has_trait(SymbolTable),
            op.has_trait(IsTerminator),
            op.has_trait(NoTerminator),
            op.get_trait(SymbolOpInterface),
        )


# The terminators of gradir's regions: these classes declare no parent.
_YIELDS = ("grad.yield", "loopnest.yield")


@dataclass
class _Verifier:
    """One walk over a module. `visible` holds the values that are visible at the walk's place.

    `fitting` holds the numbers of the tensor types with a verified size.
    """

    visible: set[SSAValue] = field(default_factory=set[SSAValue])
    symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])
    declared: Declared = field(default_factory=Declared)
    fitting: set[int] = field(default_factory=set[int])
    traits: dict[type[Operation], _Traits] = field(default_factory=dict[type[Operation], _Traits])

    def traits_of(self, op: Operation) -> _Traits:
        """The traits of `op`'s class."""
        op_type = type(op)
        traits = self.traits.get(op_type)
        if traits is None:
            traits = self.traits[op_type] = _Traits.of(op_type)
        return traits

    def operation(self, op: Operation) -> _Steps:
        """Check `op` after everything in its regions; its results become visible."""
        self._check_operands(op)
        self._check_place(op)
        self._check_sizes(op.results)
        if op.regions:
            yield self._regions(op)
        _check_rules(op, self)
        self.visible.update(op.results)

    def _regions(self, op: Operation) -> _Steps:
        traits = self.traits_of(op)
        outer_visible, outer_symbols = self.visible, self.symbols
        if traits.isolated:
            self.visible = set()
        if traits.symbol_table:
            self.symbols = self.collect_symbols(op)
        for region in op.regions:
            first = region.first_block
            if first is None:
                continue
            if first.next_block is None:
                yield self._single_block(first)
            else:
                yield self._blocks(region)
        self.visible, self.symbols = outer_visible, outer_symbols

    def _single_block(self, block: Block) -> _Steps:
        self._check_not_empty(block)
        yield self._block(block)
        self._leave(block)

    def _block(self, block: Block) -> _Steps:
        self.visible.update(block.args)
        self._check_sizes(block.args)
        for op in block.ops:
            if op.regions:
                yield self.operation(op)
            else:
                # the common case, without a generator
                self._check_operands(op)
                self._check_place(op)
                self._check_sizes(op.results)
                _check_rules(op, self)
                self.visible.update(op.results)

    def _leave(self, block: Block) -> None:
        self.visible.difference_update(block.args)
        for op in block.ops:
            self.visible.difference_update(op.results)

    def _blocks(self, region: Region) -> _Steps:
        """Check blocks in the order of the dominator tree: visible values are dominating ones."""
        children = dominator_tree(region)
        first = region.first_block
        assert first is not None
        pending: list[tuple[Block, bool]] = [(first, False)]
        while pending:
            block, is_left = pending.pop()
            if is_left:
                self._leave(block)
                continue
            yield self._block(block)
            pending.append((block, True))
            pending += [(child, False) for child in reversed(children[block])]
        # in unreachable code every value of the region dominates
        unreachable = [block for block in region.blocks if block not in children]
        if unreachable:
            for block in region.blocks:
                self.visible.update(block.args)
                for op in block.ops:
                    self.visible.update(op.results)
            for block in unreachable:
                yield self._block(block)
            for block in region.blocks:
                self._leave(block)

    def _check_operands(self, op: Operation) -> None:
        visible = self.visible
        for operand in op.operands:
            if operand not in visible:
                raise _not_visible(op, operand)

    def _check_sizes(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if is_tensor(value.type) and number_of(value.type) not in self.fitting:
                try:
                    require_size(value.type)
                except VerifyException as error:
                    owner = value.owner
                    label = owner.name if isinstance(owner, Operation) else value_name(value)
                    raise VerifyError(f"{label}: {error}", value) from None
                self.fitting.add(number_of(value.type))

    def _check_place(self, op: Operation) -> None:
        """Check terminators and successors, as xDSL's Operation.verify."""
        block = op.parent
        if block is None or block.parent is None:
            return
        is_last = block.last_op is op
        for successor in op.successors:
            if not is_last:
                raise VerifyError(f"{op.name}: must end its block, as it has successors", op)
            if successor.parent is not block.parent:
                raise VerifyError(f"{op.name}: must branch inside its region", op)
        parent = block.parent.parent
        if is_last and isinstance(parent, FuncOp) and op.name in _YIELDS:
            raise VerifyError(f"{op.name}: ends no function; use func.return", op)
        if not is_last or self.traits_of(op).terminator:
            return
        is_single = block.next_block is None and block.prev_block is None
        if is_single and (parent is None or self.traits_of(parent).no_terminator):
            return
        inside = "" if parent is None else f" of {parent.name}"
        raise VerifyError(f"{op.name}: a block{inside} must end with a terminator", op)

    def _check_not_empty(self, block: Block) -> None:
        parent = block.parent_op()
        if block.is_empty and parent is not None and not self.traits_of(parent).no_terminator:
            raise VerifyError(
                f"{parent.name}: a block must end with a terminator, got an empty block", parent
            )

    def collect_symbols(self, table: Operation) -> dict[str, Operation]:
        """The symbols in `table` by name; VerifyError for two of one name."""
        symbols: dict[str, Operation] = {}
        for op in _children(table):
            interface = self.traits_of(op).symbol
            if interface is None:
                continue
            try:
                name = interface.get_sym_attr_name(op)
            except VerifyException as error:
                raise VerifyError(f"{op.name}: {error}", op) from None
            if name is None:
                continue
            if (other := symbols.get(name.data)) is not None:
                raise VerifyError(
                    f"{op.name}: symbol @{name.data} is already defined",
                    op,
                    [(f"@{name.data} is defined here", other)],
                )
            symbols[name.data] = op
        return symbols


def _children(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def _check_rules(op: Operation, around: _Verifier) -> None:
    """Check the rules of `op`, and those that read the symbols around it."""
    if isinstance(op, CallOp):
        # xDSL's own check searches the module, once per call
        verify_attributes(op)
        _check_call(op, around.symbols)
        return
    if isinstance(op, DerivativeOp):
        _check_derivative(op, around.symbols)
    check_once(op)
    if isinstance(op, CustomVjpOp):
        verify_custom_vjp(op, around.symbols, around.declared)


def _callee(op: CallOp | DerivativeOp, symbols: dict[str, Operation]) -> FuncOp:
    """The function that an op names."""
    callee = op.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr) or callee.nested_references:
        raise VerifyError(f"{op.name}: callee must be the name of a function", op)
    name = callee.root_reference.data
    function = symbols.get(name)
    if not isinstance(function, FuncOp):
        fact = "which is not defined" if function is None else f"which is a {function.name}"
        raise VerifyError(f"{op.name}: callee must be a function, got @{name}, {fact}", op)
    return function


def _check_call(op: CallOp, symbols: dict[str, Operation]) -> None:
    function = _callee(op, symbols)
    signature = function.function_type
    _check_types(op, function, "operand", signature.inputs.data, op.operands)
    _check_types(op, function, "result", signature.outputs.data, op.results)


def _check_derivative(op: DerivativeOp, symbols: dict[str, Operation]) -> None:
    """Check that it differentiates a function, and that its first operands are the arguments."""
    function, name = _callee(op, symbols), op.function
    notes = [(f"@{name} is defined here", function)]
    signature = function.function_type
    for kind, types, values in (
        ("operand", signature.inputs.data, op.operands),
        ("result", signature.outputs.data, op.results),
    ):
        if len(values) < len(types):
            raise VerifyError(
                f"{op.name}: at least the {len(types)} {kind}(s) of @{name} expected, "
                f"got {len(values)}",
                op,
                notes,
            )
        for index, (type_, value) in enumerate(zip(types, values, strict=False)):
            if not can_be(value.type, type_):
                raise VerifyError(
                    f"{op.name}: {kind} {index} of @{name} must be {type_}, got {value.type}",
                    op,
                    notes,
                )


def _check_types(
    op: CallOp,
    function: FuncOp,
    kind: str,
    expected: tuple[Attribute, ...],
    values: Sequence[SSAValue],
) -> None:
    name = function.sym_name.data
    notes = [(f"@{name} is defined here", function)]
    types = [value.type for value in values]
    if len(types) != len(expected):
        raise VerifyError(
            f"func.call: @{name} has {len(expected)} {kind}(s), got {len(types)}", op, notes
        )
    for index, (type, wanted) in enumerate(zip(types, expected, strict=True)):
        if type != wanted:
            raise VerifyError(
                f"func.call: {kind} {index} of @{name} must be {wanted}, got {type}", op, notes
            )


def _not_visible(op: Operation, value: SSAValue) -> VerifyError:
    """The error for an operand that does not dominate `op`, with a note at its definition."""
    name = value_name(value)
    if not isinstance(value, OpResult | BlockArgument):
        return VerifyError(f"{op.name}: {name} is not part of this program", op)
    definition = value.owner
    block = definition if isinstance(definition, Block) else definition.parent
    region = None if block is None else block.parent
    if region is None or not _shares_root(op, region):
        return VerifyError(f"{op.name}: {name} is not part of this program", op)
    notes = [(f"{name} is defined here", value)]
    return VerifyError(f"{op.name}: {name} {_why_not_visible(op, definition, region)}", op, notes)


def _why_not_visible(op: Operation, definition: Operation | Block, region: Region) -> str:
    """The reason why `op` must not use a value of `definition`, an op in `region`."""
    ancestor: Operation | None = op
    isolated: Operation | None = None
    while ancestor is not None and ancestor.parent_region() is not region:
        ancestor = ancestor.parent_op()
        if isolated is None and ancestor is not None and ancestor.has_trait(IsolatedFromAbove):
            isolated = ancestor
    if ancestor is None:
        return "is defined in a region that does not enclose this use"
    if isolated is not None:
        return f"is defined outside of {isolated.name}, which lets no value in"
    if ancestor is definition and ancestor is not op:
        return "is used inside the operation that defines it"
    block = definition if isinstance(definition, Block) else definition.parent
    if ancestor.parent is block:
        return "is used before it is defined"
    return "is not defined on every path to this use"


def _shares_root(op: Operation, region: Region) -> bool:
    return region.get_toplevel_object() is op.get_toplevel_object()


def dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The blocks that each reachable block of `region` immediately dominates.

    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    order = _reverse_postorder(region)
    number = {block: index for index, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for block in order:
        for successor in _successors(block):
            predecessors[number[successor]].append(number[block])
    # dominator[i] is the number of block i's immediate dominator, -1 where unknown so far
    dominator = [0] + [-1] * (len(order) - 1)
    changed = True
    while changed:
        changed = False
        for index in range(1, len(order)):
            known = [each for each in predecessors[index] if dominator[each] >= 0]
            best = known[0]
            for other in known[1:]:
                best = _common_dominator(dominator, best, other)
            if dominator[index] != best:
                dominator[index], changed = best, True
    children: dict[Block, list[Block]] = {block: [] for block in order}
    for index in range(1, len(order)):
        children[order[dominator[index]]].append(order[index])
    return children


def _common_dominator(dominator: list[int], left: int, right: int) -> int:
    while left != right:
        while left > right:
            left = dominator[left]
        while right > left:
            right = dominator[right]
    return left


def _successors(block: Block) -> tuple[Block, ...]:
    last = block.last_op
    if last is None:
        return ()
    # _check_place refuses a branch out of the region
    return tuple(each for each in last.successors if each.parent is block.parent)


def _reverse_postorder(region: Region) -> list[Block]:
    first = region.first_block
    assert first is not None
    seen = {first}
    postorder: list[Block] = []
    stack = [(first, iter(_successors(first)))]
    while stack:
        block, successors = stack[-1]
        following = next((each for each in successors if each not in seen), None)
        if following is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    postorder.reverse()
    return postorder
