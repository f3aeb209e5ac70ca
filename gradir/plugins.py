"""Dialects, passes and rules of other packages, registered in Python or found by entry points.

    [project.entry-points."gradir.dialects"]
    mine = "mine.dialect:Mine"                 # an xDSL Dialect of that name

    [project.entry-points."gradir.passes"]
    mine-tidy = "mine.passes:TidyPass"         # a pass class of that name

Universes of the group `xdsl.universe` count too. Entry points are looked for, and their modules
imported, when a name is met that gradir and xDSL do not have. What clashes or cannot be imported is
left out with a warning of the logger "gradir" that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.passes import ModulePass

from gradir.argument_checks import known_arguments
from gradir.builtin import builtin_dialects, builtin_passes, own_dialects
from gradir.dialects.base import op_rules
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError
from gradir.universe import loaded_universes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from gradir.passes.differentiate.transpose import transposed_jvp
else:
    transposed_jvp = lazy_function("gradir.passes.differentiate.transpose", "transposed_jvp")

OpT = TypeVar("OpT", bound=type[Operation])
PassT = TypeVar("PassT", bound=type[ModulePass])

DIALECT_GROUP, PASS_GROUP = "gradir.dialects", "gradir.passes"

_ops: dict[str, dict[str, type[Operation]]] = {}
_dialects: dict[str, Dialect] = {}
_passes: dict[str, type[ModulePass]] = {}


# Registration in Python.


@known_arguments
def register_op(op_class: OpT) -> OpT:
    """Have an op class read, printed and differentiated under its name; a decorator too.

    The part of the name before the dot is its dialect, which must not be gradir's or xDSL's. A new
    class in the place of one of its module and name, as in a notebook, replaces it. Raises
    ArgumentError for names that are taken.
    """
    if not (isinstance(cast(object, op_class), type) and issubclass(op_class, Operation)):
        raise ArgumentTypeError(f"register_op: expected a class of ops, got {op_class!r}")
    dialect, dot, _ = str(getattr(op_class, "name", "")).partition(".")
    if not dot:
        raise ArgumentError(
            f"register_op: {op_class.__name__} needs a name as 'dialect.op', and the decorator "
            "irdl_op_definition"
        )
    _require_free("register_op", "dialect", dialect)
    others = _ops.setdefault(dialect, {})
    found = others.get(op_class.name)
    if found is not None and _identity(found) != _identity(op_class):
        raise ArgumentError(
            f"register_op: {op_class.name} of {op_class.__module__} is taken by {found.__module__}"
        )
    others[op_class.name] = op_class
    return op_class


@known_arguments
def register_dialect(dialect: Dialect) -> Dialect:
    """Have the ops, attributes and types of an xDSL dialect read and printed."""
    if not isinstance(cast(object, dialect), Dialect):
        raise ArgumentTypeError(f"register_dialect: expected an xDSL Dialect, got {dialect!r}")
    _require_free("register_dialect", "dialect", dialect.name)
    _dialects[dialect.name] = dialect
    return dialect


@known_arguments
def register_pass(pass_class: PassT) -> PassT:
    """Have a pass found under its name, in `gradir-opt -p` and run_passes; a decorator too."""
    if not (isinstance(cast(object, pass_class), type) and issubclass(pass_class, ModulePass)):
        raise ArgumentTypeError(f"register_pass: expected a ModulePass class, got {pass_class!r}")
    name = str(getattr(pass_class, "name", ""))
    if not name:
        raise ArgumentError(f"register_pass: {pass_class.__name__} needs a name")
    _require_free("register_pass", "pass", name)
    found = _passes.get(name)
    if found is not None and _identity(found) != _identity(pass_class):
        raise ArgumentError(
            f"register_pass: {name} of {pass_class.__module__} is taken by {found.__module__}"
        )
    _passes[name] = pass_class
    return pass_class


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _require_free(what: str, kind: str, name: str) -> None:
    if name in _builtin(kind):
        raise ArgumentError(f"{what}: gradir or xDSL has a {kind} '{name}'; choose another name")


def _builtin(kind: str) -> Mapping[str, Any]:
    return builtin_dialects() if kind == "dialect" else builtin_passes()


@known_arguments
def register_rule(
    op_class: type[Operation],
    *,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    decompose: Callable[..., Any] | None = None,
    numpy: Callable[..., Any] | None = None,
    simplify: Callable[..., Any] | None = None,
    inactive: bool = False,
) -> None:
    """Give an op of any xDSL dialect what gradir has to know; a TensorOp has methods for it.

    `vjp(op, cts, results, operands)` gives a cotangent for each operand, None for none, from those
    of the results, which are None where nothing flows. `jvp(op, tangents, results, operands)` gives
    the tangents of the results from those of the operands, which are None for integers, and must be
    linear in them. Each mode transposes the other's rule where it has none. `vmap(op,
    batch)` gives the results on rows, or None to run row by row, as without one. `decompose(op,
    *operands)` gives the value by ops that gradir compiles, `numpy(op, *arrays)` by NumPy, for the
    interpreter. `simplify(op, *operands)` gives a cheaper equal value, or None. `inactive` ops have
    the derivative 0. Values have operators and emit ops (`gradir.dialects.base.value`).

    Raises ArgumentError for a TensorOp, and for ops that gradir has rules for itself.
    """
    if not (isinstance(cast(object, op_class), type) and issubclass(op_class, Operation)):
        raise ArgumentTypeError(f"register_rule: expected a class of ops, got {op_class!r}")
    if issubclass(op_class, TensorOp):
        raise ArgumentError(
            f"register_rule: {op_class.name} is a TensorOp; write its methods vjp, decompose, numpy"
        )
    known, without = op_rules.registered()
    if op_class in [*known, *without] and not op_rules.has_plugin_rule(op_class):
        raise ArgumentError(f"register_rule: gradir has rules for {op_class.name} itself")
    op_rules.note_plugin(op_class)
    of_jvp: Callable[..., Any] | None = None if jvp is None else transposed_jvp(jvp)
    given = {
        op_rules.register_jvp: jvp,
        op_rules.register_vjp: vjp or of_jvp,
        op_rules.register_vmap: vmap,
        op_rules.register_decomposition: decompose,
        op_rules.register_meaning: numpy,
        op_rules.register_simplification: simplify,
    }
    for register, function in given.items():
        if function is not None:
            register(op_class, function)
    if inactive:
        op_rules.register_inactive(op_class)


def load_plugin(module: str) -> ModuleType:
    """Import a module by its name, or by a file that ends in .py, and register what it has.

    That are the dialects and the pass classes that it defines. Raises ArgumentError, which names
    the module, where it fails.
    """
    try:
        found = _of_file(module) if module.endswith(".py") else import_module(module)
        for value in list(vars(found).values()):
            if isinstance(value, Dialect) and value.name not in _builtin("dialect"):
                register_dialect(value)
            own = isinstance(value, type) and value.__module__ == found.__name__
            if own and issubclass(value, ModulePass) and getattr(value, "name", ""):
                register_pass(value)
    except GradirError as error:
        raise ArgumentError(f"plugin {module}: {error}") from error
    except Exception as error:
        raise ArgumentError(f"plugin {module}: {type(error).__name__}: {error}") from error
    return found


def _of_file(path: str) -> ModuleType:
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"no such file: {path}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What is found.


def plugin_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of other packages, by name; each is imported when it is called."""
    found: dict[str, Callable[[], Dialect]] = dict(_found_dialects())
    for name in {*_ops, *_dialects}:
        found[name] = _joined(name, found.get(name))
    return found


def _joined(name: str, other: Callable[[], Dialect] | None) -> Callable[[], Dialect]:
    """A dialect with the ops that were registered for it."""

    def dialect() -> Dialect:
        base = _dialects.get(name) or (other() if other is not None else None)
        own = _ops.get(name, {})
        if base is None:
            return Dialect(name, list(own.values()))
        kept = [op for op in base.operations if op.name not in own]
        return Dialect(name, [*kept, *own.values()], list(base.attributes))

    return dialect


def plugin_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes of other packages, by name; each is imported when it is called."""
    own: dict[str, Callable[[], type[ModulePass]]] = {}
    for name, pass_class in _passes.items():
        own[name] = lambda found=pass_class: found
    return {**_found_passes(), **own}


def op_class_of(name: str) -> type[TensorOp]:
    """The class of a tensor op, of gradir's dialects or a plugin's; ArgumentError without one."""
    found = _own_ops().get(name)
    if found is None:
        thunk = plugin_dialects().get(name.partition(".")[0])
        ops = thunk().operations if thunk is not None else ()
        found = next((op for op in ops if op.name == name), None)
    if found is None or not issubclass(found, TensorOp):
        raise ArgumentError(f"no tensor op {name!r}; gradir.register_op makes one known")
    return found


@cache
def _own_ops() -> dict[str, type[Operation]]:
    return {op.name: op for thunk in own_dialects().values() for op in thunk().operations}


# Entry points.


@cache
def _found_dialects() -> dict[str, Callable[[], Dialect]]:
    """Dialects of entry points and universes; the first of a name counts."""
    return _collected("dialect", DIALECT_GROUP, Dialect)


@cache
def _found_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return _collected("pass", PASS_GROUP, type)


def _collected(kind: str, group: str, wanted: type) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    owners: dict[str, str] = {}
    for name, owner, load in _offered(kind, group, wanted):
        if name in _builtin(kind):
            _warn(f"{kind} '{name}' of {owner} is left out: gradir or xDSL has one of this name")
        elif name in owners:
            _warn(f"{kind} '{name}' of {owner} is left out: {owners[name]} has one of this name")
        else:
            found[name], owners[name] = load, owner
    return found


def _offered(kind: str, group: str, wanted: type) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=group), key=lambda e: (e.name, e.value)):
        yield point.name, _owner(point), _loader(kind, point, wanted)
    for owner, universe in _universes():
        offered = universe.all_dialects if kind == "dialect" else universe.all_passes
        for name, load in offered.items():
            yield name, owner, load


def _universes() -> Iterator[tuple[str, Any]]:
    """The universes of other packages, those that cannot be imported aside."""
    for point, universe, error in loaded_universes():
        if error is not None:
            _warn(f"{_owner(point)} is left out: {type(error).__name__}: {error}")
        elif point.value.partition(".")[0] not in ("gradir", "xdsl"):
            yield _owner(point), universe


def _owner(point: EntryPoint) -> str:
    package = "" if point.dist is None else f"{point.dist.name} "
    return f"{package}({point.value})"


def _loader(kind: str, point: EntryPoint, wanted: type) -> Callable[[], Any]:
    def load() -> Any:
        try:
            found = point.load()
            if not isinstance(found, (Dialect, type)) and callable(found):
                found = found()  # as a universe has it
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ArgumentError(
                f"{kind} '{point.name}' of {_owner(point)} cannot be imported: {said}"
            ) from error
        if not isinstance(found, wanted) or getattr(found, "name", None) != point.name:
            raise ArgumentError(
                f"{kind} '{point.name}' of {_owner(point)} is not one of this name: {found!r}"
            )
        return found

    return load


def _warn(message: str) -> None:
    import logging

    logging.getLogger("gradir").warning("plugin: %s", message)


class PluginContext(Context):
    """A context that knows the dialects of other packages, found when a name of theirs is met."""

    def _find(self, name: str) -> None:
        dialect = name.partition(".")[0]
        if "." in name and dialect not in self.registered_dialect_names:
            found = plugin_dialects().get(dialect)
            if found is not None:
                self.register_dialect(dialect, found)

    def get_optional_op(self, name: str, **options: Any) -> type[Operation] | None:
        """The class of an op, or None."""
        self._find(name)
        return super().get_optional_op(name, **options)

    def get_optional_attr(self, name: str, **options: Any) -> type[Attribute] | None:
        """The class of an attribute, or None."""
        self._find(name)
        return super().get_optional_attr(name, **options)

    def get_optional_type(self, name: str, **options: Any) -> type[TypeAttribute] | None:
        """The class of a type, or None."""
        self._find(name)
        return super().get_optional_type(name, **options)
