"""Specialization: a function of static shapes from one of dynamic shapes.

The arguments get the given shapes, and all other shapes follow (`infer_shapes.py`). A callee is
copied for each tuple of shapes. Sizes become constants, and gradir-gradient's function replaces
each grad.derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import (
    can_be,
    compatible,
    element_of,
    is_open,
    is_tensor,
    met,
    shape_of,
)
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.traced_sizes import int_of
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.dialects.grad.extent import ExtentOp
from gradir.dialects.grad.tape import is_floating
from gradir.passes.analysis.call_graph import functions_by_name, only_block
from gradir.passes.analysis.edits import erase, replace_op
from gradir.passes.shapes.infer_shapes import (
    Rule,
    ShapeInference,
    open_axes,
)
from gradir.passes.shapes.known_sizes import rewrite_sizes
from gradir.passes.shapes.name_values import (
    check_conditions,
    give_values,
    has_symbols,
    located_values,
)

Shape: TypeAlias = Sequence[int] | None
"""The shape of an argument; None for its type's own shape."""

Differentiate: TypeAlias = Callable[[ModuleOp, str, DerivativeOp], FuncOp]
"""Makes the function of a grad.derivative, from a function's name."""


def specialize(
    module: ModuleOp, name: str, shapes: Sequence[Shape], differentiate: Differentiate
) -> FuncOp:
    """Specialize `@name` to static shapes of its arguments; returns the function.

    PassError, located, where shapes do not fit or cannot be found.
    """
    functions = functions_by_name(module)
    function = functions.get(name)
    if function is None:
        known = ", ".join(f"@{n}" for n in functions) or "none"
        raise PassError(f"no function @{name}; functions: {known}", module)
    _require_unused(module, function)
    _name_values(module, functions, function, shapes)
    set_arguments(function, shapes)
    Specializer(module, differentiate).specialize(function)
    _drop_helpers(module, set(functions), function)
    return function


def _name_values(
    module: ModuleOp, functions: dict[str, FuncOp], function: FuncOp, shapes: Sequence[Shape]
) -> None:
    """Give the symbols of a function, and of copies of what it uses, their values."""
    custom = declarations(module)
    used = reachable(functions, custom, function)
    if not any(map(has_symbols, used)):
        return
    values = located_values(function, shapes)
    check_conditions(used, values)
    sizes = "x".join(str(int_of(n)) for n in values.values())
    names = {
        f.sym_name.data: _free(f"{f.sym_name.data}_{sizes}", functions)
        for f in used
        if f is not function
    }
    copies = {name: functions[name].clone() for name in names}
    for name, copy in copies.items():
        copy.location = functions[name].location
        copy.sym_name = StringAttr(names[name])
        module.body.block.insert_op_after(copy, functions[name])
        if name in custom:
            made = CustomVjpOp.of([names[n] for n in custom[name].names], custom[name])
            module.body.block.insert_op_after(made, custom[name])
    for each in (function, *copies.values()):
        for op, name in references(each):
            op.properties["callee"] = SymbolRefAttr(names[name])
        give_values(each, values)


def _free(wanted: str, functions: dict[str, FuncOp]) -> str:
    """A name that no function has."""
    count, name = 0, wanted
    while name in functions:
        count += 1
        name = f"{wanted}__{count}"
    return name


def references(function: FuncOp) -> Iterator[tuple[Operation, str]]:
    """The ops that reference a function, and its name."""
    for op in function.walk():
        if isinstance(op, CallOp):
            yield op, op.callee.root_reference.data
        elif isinstance(op, DerivativeOp):
            yield op, op.function


def declarations(module: ModuleOp) -> dict[str, CustomVjpOp]:
    """The declarations of custom vjps by function."""
    return {op.names[0]: op for op in module.ops if isinstance(op, CustomVjpOp)}


def reachable(
    functions: dict[str, FuncOp], custom: Mapping[str, CustomVjpOp], root: FuncOp
) -> list[FuncOp]:
    """A function, its callees, and their custom vjps."""
    found = {root: None}
    pending = [root]
    while pending:
        function = pending.pop()
        names = [name for _, name in references(function)]
        if (declared := custom.get(function.sym_name.data)) is not None:
            names += declared.names[1:]
        for name in names:
            other = functions.get(name)
            if other is not None and other not in found:
                found[other] = None
                pending.append(other)
    return list(found)


def waits_for_shapes(
    functions: dict[str, FuncOp], custom: Mapping[str, CustomVjpOp], root: FuncOp
) -> bool:
    """Whether a function or a callee has to be specialized."""
    for function in reachable(functions, custom, root):
        for op in function.walk():
            if isinstance(op, DerivativeOp | ExtentOp):
                return True
            blocks = (block for region in op.regions for block in region.blocks)
            for value in (*op.results, *(a for block in blocks for a in block.args)):
                if is_open(value.type):
                    return True
    return False


def set_arguments(function: FuncOp, shapes: Sequence[Shape]) -> None:
    """Set the shapes of the arguments; PassError where one does not fit, or stays dynamic."""
    name, arguments = function.sym_name.data, only_block(function).args
    if len(shapes) > len(arguments):
        raise PassError(
            f"gradir-specialize: @{name} has {len(arguments)} arguments, got {len(shapes)} shapes",
            function,
        )
    given = [*shapes, *[None] * (len(arguments) - len(shapes))]
    for argument, shape in zip(arguments, given, strict=True):
        place = f"gradir-specialize: argument {argument.index} ({value_name(argument)}) of @{name}"
        if shape is not None:
            _set_argument(argument, shape, place)
        if is_open(argument.type):
            raise PassError(
                f"{place} must have a static shape, got {argument.type}; give its extents", argument
            )
    _update_signature(function)


def _set_argument(argument: BlockArgument, shape: Sequence[int], place: str) -> None:
    type_ = argument.type
    text = "x".join(str(int_of(n)) for n in shape) or "no axes"
    if not is_tensor(type_):
        raise PassError(f"{place} has no shape, as it is {type_}, got {text}", argument)
    if any(n < 0 for n in shape) or not compatible(shape_of(type_), shape):
        raise PassError(f"{place} is {type_}, got the shape {text}", argument)
    refined = tensor_type(met(shape_of(type_), shape), element_of(type_))
    argument._type = refined


def _require_unused(module: ModuleOp, function: FuncOp) -> None:
    name = function.sym_name.data
    for other in functions_by_name(module).values():
        for op, used in references(other):
            if used == name:
                raise PassError(
                    f"gradir-specialize: @{name} is used by @{other.sym_name.data}; "
                    "specialize that, and what it uses follows",
                    op,
                )
    for declared in declarations(module).values():
        if name in declared.names:
            raise PassError(
                f"gradir-specialize: @{name} is used by {declared.name}; specialize what calls "
                f"@{declared.names[0]}, and what it uses follows",
                declared,
            )


def _drop_helpers(module: ModuleOp, before: set[str], function: FuncOp) -> None:
    """Erase new functions without references."""
    functions, custom = functions_by_name(module), declarations(module)
    needed = set(reachable(functions, custom, function))
    for name, declared in custom.items():
        if name not in before and functions[name] not in needed:
            erase(declared)
    for name, other in functions.items():
        if name not in before and other not in needed:
            erase(other)


def _update_signature(function: FuncOp) -> None:
    inputs = [argument.type for argument in function.body.block.args]
    last = function.body.block.last_op
    assert last is not None
    function.function_type = function.function_type.from_lists(inputs, [*last.operand_types])


class Specializer:
    """Specializes functions of a module; shares equal copies."""

    def __init__(self, module: ModuleOp, differentiate: Differentiate):
        self.module = module
        self.differentiate = differentiate
        self.functions = functions_by_name(module)
        self.custom = declarations(module)
        self._copies: dict[tuple[object, ...], FuncOp] = {}
        self._derived: dict[tuple[object, ...], FuncOp] = {}
        self._waits: dict[FuncOp, bool] = {}
        self._opened: list[str] = []

    def specialize(self, function: FuncOp) -> None:
        """Infer all shapes of a function from its arguments' shapes."""
        block = only_block(function)
        replacing: dict[Operation, FuncOp] = {}

        def call(known: ShapeInference, op: CallOp) -> None:
            self._visit_call(known, op, replacing)

        def derivative(known: ShapeInference, op: DerivativeOp) -> None:
            self._visit_derivative(known, op, replacing)

        def returned(known: ShapeInference, op: ReturnOp) -> None:
            for value, type_ in zip(op.operands, function.function_type.outputs, strict=True):
                if is_tensor(type_):
                    known.refine(value, shape_of(type_), op)

        rules: dict[type[Operation], Rule] = {
            CallOp: call, DerivativeOp: derivative, ReturnOp: returned,
        }  # fmt: skip
        known = ShapeInference(block, rules)
        known.run()
        _require_closed(block)
        _check_ops(block)
        rewrite_sizes(block, known)
        _update_signature(function)
        for op, target in replacing.items():
            _replace(op, target, function)

    # Referenced functions.

    def _visit_call(
        self, known: ShapeInference, op: CallOp, replacing: dict[Operation, FuncOp]
    ) -> None:
        callee = self._function(op, op.callee.root_reference.data)
        _refine_all(known, op, op.operands, callee.function_type.inputs.data)
        _refine_all(known, op, op.results, callee.function_type.outputs.data)
        if callee not in self._waits:
            self._waits[callee] = waits_for_shapes(self.functions, self.custom, callee)
        if not self._waits[callee] or any(is_open(o.type) for o in op.operands):
            return
        target = replacing.get(op)
        if target is None:
            target = replacing[op] = self._copy(op, callee, [o.type for o in op.operands])
        _refine_all(known, op, op.results, target.function_type.outputs.data)

    def _visit_derivative(
        self, known: ShapeInference, op: DerivativeOp, replacing: dict[Operation, FuncOp]
    ) -> None:
        source = self._function(op, op.function)
        primals = op.operands[: len(source.function_type.inputs)]
        _refine_all(known, op, primals, source.function_type.inputs.data)
        if any(is_open(o.type) for o in primals):
            return
        target = replacing.get(op)
        if target is None:
            target = replacing[op] = self._derivative(op, source, [o.type for o in primals])
            _require_counts(op, target)
        _refine_all(known, op, op.operands, target.function_type.inputs.data)
        _refine_all(known, op, op.results, target.function_type.outputs.data)

    def _function(self, op: Operation, name: str) -> FuncOp:
        function = self.functions.get(name)
        if function is None or function.is_declaration:
            fact = "which is not defined" if function is None else "which has no body"
            raise PassError(f"{op.name}: a function with a body expected, got @{name}, {fact}", op)
        return function

    def _derivative(self, op: DerivativeOp, source: FuncOp, types: Sequence[Attribute]) -> FuncOp:
        settings = tuple(sorted(op.attributes.items()))
        key = (source, *types, settings)
        if key not in self._derived:
            copy = self._copy(op, source, types, settings)
            made = self.differentiate(self.module, copy.sym_name.data, op)
            self.functions = functions_by_name(self.module)
            self._derived[key] = made
        return self._derived[key]

    def _copy(
        self, op: Operation, source: FuncOp, types: Sequence[Attribute], purpose: object = None
    ) -> FuncOp:
        """A specialized copy of a function, for arguments of these types."""
        key = (source, *types, purpose)
        if key not in self._copies:
            copy = self._copies[key] = self._new_copy(op, source, types)
            if (declared := self.custom.get(source.sym_name.data)) is not None:
                self._declare(declared, copy, types)
        return self._copies[key]

    def _declare(self, declared: CustomVjpOp, copy: FuncOp, types: Sequence[Attribute]) -> None:
        """Declare a function's custom vjp for its copy."""
        if not declared.has_rules:
            return self._insert(CustomVjpOp.of([copy.sym_name.data], declared), declared)
        forward, backward, *tangent = (self._function(declared, n) for n in declared.names[1:])
        forward = self._copy(declared, forward, types)
        results = copy.function_type.outputs.data
        residuals = forward.function_type.outputs.data[len(results) :]
        seeds = [t for t in results if is_floating(t)]
        backward = self._copy(declared, backward, [*residuals, *seeds])
        pushed = [*types, *(t for t in types if is_floating(t))]
        made_by = [copy, forward, backward, *(self._copy(declared, f, pushed) for f in tangent)]
        names = [f.sym_name.data for f in made_by]
        self._insert(CustomVjpOp.of(names, declared), declared)

    def _insert(self, made: CustomVjpOp, near: CustomVjpOp) -> None:
        block = near.parent
        assert block is not None
        block.insert_op_after(made, near)
        self.custom[made.names[0]] = made

    def _new_copy(self, op: Operation, source: FuncOp, types: Sequence[Attribute]) -> FuncOp:
        name = source.sym_name.data
        if name in self._opened:
            raise PassError(f"{op.name}: @{name} is recursive", op)
        copy = source.clone()
        copy.location = source.location
        copy.sym_name = StringAttr(self._free_name(source, types))
        block = source.parent
        assert block is not None
        block.insert_op_after(copy, source)
        self.functions[copy.sym_name.data] = copy
        set_arguments(copy, [shape_of(t) if is_tensor(t) else None for t in types])
        self._opened.append(name)
        self.specialize(copy)
        self._opened.pop()
        return copy

    def _free_name(self, source: FuncOp, types: Sequence[Attribute]) -> str:
        """A free name: the function's, with the shapes of its dynamic arguments."""
        pairs = zip(source.function_type.inputs, types, strict=True)
        given = [shape_of(t) for before, t in pairs if is_open(before)]
        shapes = ["x".join(str(int_of(n)) for n in shape) for shape in given]
        return _free("_".join([source.sym_name.data, *shapes]), self.functions)


def _refine_all(
    known: ShapeInference, op: Operation, values: Sequence[SSAValue], types: Sequence[Attribute]
) -> None:
    for value, type_ in zip(values, types, strict=False):
        if is_tensor(type_) and is_tensor(value.type):
            known.refine(value, shape_of(type_), op)


def _require_counts(op: DerivativeOp, target: FuncOp) -> None:
    signature = target.function_type
    for kind, values, types in (
        ("operand", op.operands, signature.inputs),
        ("result", op.results, signature.outputs),
    ):
        if len(values) != len(types):
            raise PassError(f"{op.name}: {len(types)} {kind}(s) expected, got {len(values)}", op)
        for k, (value, type_) in enumerate(zip(values, types, strict=True)):
            if not can_be(value.type, type_):
                raise PassError(f"{op.name}: {kind} {k} must be {type_}, got {value.type}", op)


def _require_closed(block: Block) -> None:
    """PassError at the first value with an unknown extent."""
    for op in block.walk():
        inner = [a for region in op.regions for b in region.blocks for a in b.args]
        for value in (*inner, *op.results):
            if is_open(value.type):
                axis = open_axes(value.type)[0]
                raise PassError(
                    f"{op.name}: extent {axis} of {value_name(value)} does not follow from the "
                    f"shapes of the arguments, got {value.type}; write it",
                    op,
                )


def _check_ops(block: Block) -> None:
    """The checks that need shapes: PassError at an op that they do not fit."""
    for op in block.walk():
        if isinstance(op, TensorOp):
            try:
                op.verify_()
            except VerifyException as error:
                raise PassError(str(error), op) from None


# Ops that needed derivatives or copies.


def _replace(op: Operation, target: FuncOp, function: FuncOp) -> None:
    """Call the new function; or become it, where the function is nothing else."""
    name = target.sym_name.data
    if isinstance(op, CallOp):
        op.properties["callee"] = SymbolRefAttr(name)
        return
    block = op.parent
    assert block is not None
    last = block.last_op
    is_all = block is function.body.block and block.first_op is op and op.next_op is last
    if is_all and isinstance(last, ReturnOp) and _hands_through(block, op, last):
        copy = target.clone()
        region = copy.detach_region(0)
        function.detach_region(0)
        function.add_region(region)
        function.attributes |= target.attributes
        return
    call = CallOp(name, op.operands, [r.type for r in op.results])
    replace_op(op, call)


def _hands_through(block: Block, op: Operation, last: ReturnOp) -> bool:
    return [*op.operands] == [*block.args] and [*last.operands] == [*op.results]
