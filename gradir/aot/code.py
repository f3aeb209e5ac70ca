"""The writer of a library's own functions: fields of structures, and refusals with a message."""

from __future__ import annotations

from collections.abc import Sequence

from gradir.aot.abi import CODES, MESSAGE_BYTES, STATUS, Struct
from gradir.codegen.text.writer import FunctionWriter

ATTRIBUTES = "nounwind"


class Code(FunctionWriter):
    """Writes one function. `texts` are the constants of all of them, by their names."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def place(self, struct: Struct, base: str, name: str) -> str:
        """The address of a field."""
        return self.address("i8", base, struct.offsets[name])

    def field(self, struct: Struct, base: str, name: str, wide: bool = True) -> str:
        """What is in a field; an i32 as i64 where `wide`."""
        kind = struct.types[name]
        found = self.load(kind, 1, self.place(struct, base, name))
        return self.emit(f"sext i32 {found} to i64") if wide and kind == "i32" else found

    def put(self, struct: Struct, base: str, name: str, value: str) -> None:
        """Write a field, of the field's own type."""
        self.store(struct.types[name], 1, self.place(struct, base, name), value)

    def entry_of(self, struct: Struct, base: str, number: str) -> str:
        """The address of an entry of an array of structures."""
        return self.address("i8", base, self.multiply(number, struct.size))

    def is_null(self, pointer: str) -> str:
        return self.emit(f"icmp eq ptr {pointer}, null")

    def text_of(self, text: str) -> str:
        """A pointer to a constant text."""
        if text not in self._texts:
            self._texts[text] = f"text.{len(self._texts)}"
        return f"@{self._texts[text]}"

    def allocate_early(self) -> str:
        """A slot for an i64 that the whole function has."""
        with self.early():
            return self.allocate("i64", 1, 8)

    def refuse_if(
        self,
        condition: str,
        code: str,
        format: str,
        values: Sequence[str],
        argument: str | None = None,
    ) -> None:
        """Return a code from a function with %status, after writing it and its message there.

        `values` have their types; `argument` is an i64.
        """
        wrong, on = self.fresh("wrong"), self.fresh("on")
        self.branch(condition, wrong, on)
        self.label(wrong)
        if argument is not None:
            short = self.emit(f"trunc i64 {argument} to i32")
            self.put(STATUS, "%status", "argument", short)
        self.tell(code, format, values)
        self.ret(f"i32 {CODES.index(code)}")
        self.label(on)

    def tell(self, code: str, format: str, values: Sequence[str]) -> None:
        """Write a code and its message to %status."""
        self.put(STATUS, "%status", "code", str(CODES.index(code)))
        room = self.place(STATUS, "%status", "message")
        given = ", ".join([f"ptr {room}, i64 {MESSAGE_BYTES}, ptr {self.text_of(format)}", *values])
        self.line(f"call i32 (ptr, i64, ptr, ...) @snprintf({given})")

    def definition(self, name: str, parameters: str, result: str = "i32", linkage: str = "") -> str:
        return self.define(name, parameters, ATTRIBUTES, linkage=linkage, result=result)


def constant_texts(texts: dict[str, str]) -> str:
    """The definitions of the constants."""
    lines: list[str] = []
    for text, name in texts.items():
        data = text.encode() + b"\0"
        shown = "".join(f"\\{byte:02X}" for byte in data)
        lines.append(f'@{name} = internal constant [{len(data)} x i8] c"{shown}"')
    return "\n".join(lines)
