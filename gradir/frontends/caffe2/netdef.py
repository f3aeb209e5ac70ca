"""NetDefs as nets, and nets as NetDefs."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.caffe2.errors import NetDefError, OperatorError
from gradir.frontends.caffe2.netdef_binary import read_bytes
from gradir.frontends.caffe2.netdef_schema import Message
from gradir.frontends.caffe2.netdef_text import read_text
from gradir.frontends.caffe2.operator import Link, NetBlock, NetLike, Operator
from gradir.frontends.caffe2.scopes import MAX_DEPTH
from gradir.frontends.caffe2.table import TYPES

NetT = TypeVar("NetT", bound=NetBlock)
Appending: TypeAlias = Callable[[Any], object]
Make: TypeAlias = Callable[[str, Sequence[Appending], Sequence[str], Sequence[str]], NetT]

LINK = "gradir.gradient_of"
"""The argument that says what a gradient operator belongs to, in NetDefs only."""

_DEVICE = re.compile(r"(cpu|cuda)(?::(0|[1-9][0-9]{0,8}))?(?:@(.+))?", re.DOTALL)
_DEVICE_TYPES = ("cpu", "cuda")


def read_file(path: str | os.PathLike[str], make: Make[NetT]) -> NetT:
    """The net in a file; text where the name ends in .pbtxt or .prototxt."""
    name = os.fspath(path)
    try:
        content = Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{name!r}: {error}") from None
    is_text = name.endswith((".pbtxt", ".prototxt"))
    if not is_text and not name.endswith(".pb"):
        raise ArgumentError(f"{name!r}: expected a name that ends in .pb, .pbtxt or .prototxt")
    given = content.decode("utf-8", "surrogateescape") if is_text else content
    return read_content(given, make, name)


def read_content(content: object, make: Make[NetT], source: str | None = None) -> NetT:
    """The net in text or bytes. `make` builds a net."""
    if isinstance(content, str):
        message = read_text(content, source or "<string>")
    elif isinstance(content, bytes | bytearray):
        message = read_bytes(bytes(content), source or "<bytes>")
    else:
        raise ArgumentTypeError(f"parse: expected text or bytes, got {type(content).__name__}")
    return _net(message, make, 0)


def _net(message: Message, make: Make[NetT], depth: int) -> NetT:
    if depth > MAX_DEPTH:
        raise NetDefError(f"{message.place}: error: nets nest more than {MAX_DEPTH} deep")
    steps = [_appending(each, make, depth) for each in message.all("op")]
    externals = message.all("external_input"), message.all("external_output")
    return make(message.one("name") or "", steps, *externals)


def _appending(message: Message, make: Make[NetT], depth: int) -> Appending:
    """What appends an operator to a net; errors have the operator's place."""
    args = {_name(each): _argument(each, make, depth) for each in message.all("arg")}

    def append(net: Any) -> None:
        try:
            net.append(_operator(message, args))
        except (OperatorError, ArgumentError) as error:
            raise OperatorError(f"{message.place}: error: {error}") from None

    return append


def _operator(message: Message, given: dict[str, Any]) -> Operator:
    args = dict(given)
    link = _link(args.pop(LINK)) if LINK in args else None
    engine = message.one("engine")
    device = message.one("device_option")
    line = message.line
    place = None if line is None else FileLineColLoc(StringAttr(line[0]), *map(IntAttr, line[1:]))
    kind, seed = message.one("type") or "", None if device is None else device.one("random_seed")
    if seed is not None and kind in TYPES and TYPES[kind].has_seed:
        args.setdefault("seed", seed)  # Caffe2 has it beside the device
    return Operator(
        kind,
        tuple(message.all("input")),
        tuple(message.all("output")),
        {**args, **({"engine": engine} if engine else {})},
        None if device is None else _device(device),
        message.one("name") or "",
        bool(message.one("is_gradient_op")),
        link,
        place=place,
    )


def _name(message: Message) -> str:
    found = message.one("name")
    if not found:
        raise NetDefError(f"{message.place}: error: an argument must have a name")
    return found


def _argument(message: Message, make: Make[NetT], depth: int) -> Any:
    """The value of an argument; a list where it has no other."""
    for name in ("exact", "f", "i", "s"):
        if message.one(name) is not None:
            return message.one(name)
    if message.one("n") is not None:
        return _net(message.one("n"), make, depth + 1)
    for name in ("exacts", "floats", "ints", "strings"):
        if message.all(name):
            return tuple(message.all(name))
    return tuple(_net(each, make, depth + 1) for each in message.all("nets"))


def _link(given: Any) -> Link:
    """What the argument LINK says: place, whether it is loose, number of outputs, both lists."""
    found = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else ()
    is_list = all(isinstance(n, int) and n >= 0 for n in found)
    if not is_list or len(found) < 3 or len(found) - 3 < found[2]:
        raise OperatorError(f"{LINK}: expected place, loose, number, outputs and inputs")
    op, loose, count, *rest = found
    return Link(op, tuple(rest[:count]), tuple(rest[count:]), bool(loose))


def _device(message: Message) -> str:
    """Text for a device: cpu, cuda:1, cpu@node."""
    if message.one("text") is not None:
        return message.one("text")
    kind, number, node = (message.one(n) for n in ("device_type", "device_id", "node_name"))
    kind = kind or 0
    text = _DEVICE_TYPES[kind] if 0 <= kind < len(_DEVICE_TYPES) else f"device{kind}"
    text += "" if number is None else f":{number}"
    return text + (f"@{node}" if node else "")


# Writing.


def message_of(net: NetLike) -> Message:
    """The NetDef of a net."""
    made = Message("NetDef")
    made.put("name", net.name)
    made.put("op", *map(_operator_message, net.ops))
    made.put("external_input", *net.external_inputs)
    made.put("external_output", *net.external_outputs)
    return made


def _operator_message(op: Operator) -> Message:
    made = Message("OperatorDef")
    made.put("input", *op.inputs)
    made.put("output", *op.outputs)
    if op.name:
        made.put("name", op.name)
    made.put("type", op.type)
    args = {k: v for k, v in op.args.items() if not (k == "engine" and isinstance(v, str) and v)}
    if op.link is not None:
        at, outputs, inputs, loose = op.link
        args[LINK] = (at, int(loose), len(outputs), *outputs, *inputs)
    made.put("arg", *(_argument_message(name, value) for name, value in args.items()))
    if op.device is not None:
        made.put("device_option", _device_message(op.device))
    if "engine" in op.args and "engine" not in args:
        made.put("engine", op.args["engine"])
    if op.is_gradient_op:
        made.put("is_gradient_op", True)
    return made


def _argument_message(name: str, value: Any) -> Message:
    made = Message("Argument")
    made.put("name", name)
    several = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    kinds = ("floats", "ints", "strings", "nets") if isinstance(value, tuple) else "fisn"
    for field, kind in zip(kinds, (float, int, str, NetBlock), strict=True):
        if several and isinstance(several[0], kind):
            values = map(message_of, several) if kind is NetBlock else several
            made.put(field, *values)
            if kind is float and not all(map(_is_short, several)):
                made.put("exacts" if isinstance(value, tuple) else "exact", *several)
                made.put(field, *map(_shortened, several))
    return made


def _shortened(value: float) -> float:
    """The number in 32 bits."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


def _is_short(value: float) -> bool:
    """Whether 32 bits hold the number."""
    return value != value or _shortened(value) == value


def _device_message(device: str) -> Message:
    made = Message("DeviceOption")
    found = _DEVICE.fullmatch(device)
    if found is None:
        made.put("text", device)
        return made
    made.put("device_type", _DEVICE_TYPES.index(found[1]))
    if found[2] is not None:
        made.put("device_id", int(found[2]))
    if found[3]:
        made.put("node_name", found[3])
    return made
