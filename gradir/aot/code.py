"""The writer of a library's own functions: refusals with a message, and constant texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradir.aot.abi import CODES, MESSAGE_BYTES, STATUS
from gradir.codegen.text.structs import StructWriter

ATTRIBUTES = "nounwind"


class Code(StructWriter):
    """Writes one function. `texts` are the constants of all of them, by their names."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts

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

    def each(self, count: str, write: Callable[[str], None]) -> None:
        """Write code for each number below an i64: two in a trip, which is most of short code."""
        even = self.emit(f"and i64 {count}, -2")
        with self.loop("0", even, 2) as k:
            write(k)
            write(self.add(k, 1))
        with self.when(self.emit(f"icmp slt i64 {even}, {count}")):
            write(even)

    def refuse_if(
        self,
        condition: str,
        code: str,
        format: str,
        values: Sequence[str] | Callable[[], Sequence[str]],
        argument: str | None = None,
    ) -> None:
        """Return a code from a function with %status, after writing it and its message there.

        `values` have their types; a function writes their code for such a call alone. `argument` is
        an i64.
        """
        wrong, on = self.fresh("wrong"), self.fresh("on")
        self.branch(condition, wrong, on)
        self.label(wrong)
        if argument is not None:
            self.put_number(STATUS, "%status", "argument", argument)
        self.tell(code, format, values() if callable(values) else values)
        self.ret(f"i32 {CODES.index(code)}")
        self.label(on)

    def return_unless_0(self, code: str) -> None:
        """Return a code of an i32 function that is not 0."""
        failed, on = self.fresh("failed"), self.fresh("on")
        self.branch(self.emit(f"icmp ne i32 {code}, 0"), failed, on)
        self.label(failed)
        self.ret(f"i32 {code}")
        self.label(on)

    def tell(self, code: str, format: str, values: Sequence[str]) -> None:
        """Write a code and its message to %status."""
        self.put(STATUS, "%status", "code", str(CODES.index(code)))
        room = self.place(STATUS, "%status", "message")
        given = ", ".join([f"ptr {room}, i64 {MESSAGE_BYTES}, ptr {self.text_of(format)}", *values])
        self.line(f"call i32 (ptr, i64, ptr, ...) @snprintf({given})")

    def inlined(self, name: str, parameters: str, result: str = "void") -> str:
        """The definition of a function that is part of its caller."""
        return self.define(name, parameters, f"{ATTRIBUTES} alwaysinline", result=result)

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
