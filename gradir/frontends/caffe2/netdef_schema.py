"""The messages of a NetDef: numbers, names and kinds of their fields.

Caffe2 stores numbers in 32 bits; fields beyond 1000 are gradir's, which other readers skip: the
same numbers in 64 bits where they differ, and a device that is other text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field: `kind` is int, float, double, bool, string, or the name of a message."""

    name: str
    kind: str
    repeated: bool = False


SCHEMA: dict[str, dict[int, Field]] = {
    "NetDef": {
        1: Field("name", "string"),
        2: Field("op", "OperatorDef", True),
        7: Field("external_input", "string", True),
        8: Field("external_output", "string", True),
    },
    "OperatorDef": {
        1: Field("input", "string", True),
        2: Field("output", "string", True),
        3: Field("name", "string"),
        4: Field("type", "string"),
        5: Field("arg", "Argument", True),
        6: Field("device_option", "DeviceOption"),
        7: Field("engine", "string"),
        9: Field("is_gradient_op", "bool"),
    },
    "Argument": {
        1: Field("name", "string"),
        2: Field("f", "float"),
        3: Field("i", "int"),
        4: Field("s", "string"),
        5: Field("floats", "float", True),
        6: Field("ints", "int", True),
        7: Field("strings", "string", True),
        8: Field("n", "NetDef"),
        9: Field("nets", "NetDef", True),
        1001: Field("exact", "double"),
        1002: Field("exacts", "double", True),
    },
    "DeviceOption": {
        1: Field("device_type", "int"),
        2: Field("device_id", "int"),
        3: Field("random_seed", "int"),
        4: Field("node_name", "string"),
        1001: Field("text", "string"),
    },
}

OTHER_NAMES = {"cuda_gpu_id": "device_id"}
"""Names that fields had in other versions."""

MAX_DEPTH = 100
"""How deep messages nest."""


@dataclass
class Message:
    """A message: the values of its fields by name, and where it begins."""

    kind: str
    place: str = ""
    line: tuple[str, int, int] | None = None
    fields: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def one(self, name: str) -> Any:
        """The value of a field, the last that is given; None where there is none."""
        found = self.fields.get(name)
        return found[-1] if found else None

    def all(self, name: str) -> list[Any]:
        """The values of a repeated field."""
        return self.fields.get(name, [])

    def put(self, name: str, *values: Any) -> None:
        """Set a field."""
        if values:
            self.fields[name] = list(values)


def numbered(kind: str, number: int) -> Field | None:
    """A field by its number, None for one that is ignored."""
    return SCHEMA[kind].get(number)


BY_NAME = {kind: {f.name: f for f in fields.values()} for kind, fields in SCHEMA.items()}
"""Fields by name."""
