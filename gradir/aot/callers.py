"""The three functions of a name that others see, as machine code: a few instructions each.

    NAME                    the record of the function as one more argument, and on to @gradir_call
    NAME_workspace_bytes    a number
    NAME_info               an address

Code that differs from library to library need not go through LLVM.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gradir.aot import elf
from gradir.aot.objects import TEXT, ObjectCode, Relocation, Section, Symbol

ALIGN = 16
ENDS = "", "_workspace_bytes", "_info"
"""The ends of the names, in the order of the functions here."""


class _Code:
    """Machine code, with its relocations."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.relocations: list[Relocation] = []

    def add(self, code: bytes) -> None:
        self.data += code

    def refer(self, type_: int, symbol: Symbol, before: int = 0, addend: int = 0) -> None:
        """A relocation `before` bytes before the end."""
        self.relocations.append((len(self.data) - before, type_, symbol, addend))


def caller_functions(
    machine: int, call: Symbol, functions: Sequence[tuple[str, int, Symbol, Symbol]]
) -> ObjectCode:
    """The functions by name, with the bytes of the workspace, the record and the description."""
    write = _write_x86_64 if machine == elf.X86_64 else _write_aarch64
    code, symbols = _Code(), list[Symbol]()
    section = Section(TEXT, code.data, ALIGN, 0, code.relocations)
    for name, size, record, info in functions:
        for end in ENDS:
            code.add(bytes(-len(code.data) % ALIGN))
            start = len(code.data)
            write(code, end, call, size, record, info)
            made = Symbol(name + end, section, start, len(code.data) - start, type=elf.FUNCTION)
            symbols.append(made)
    section.size = len(code.data)
    return ObjectCode(machine, [section], symbols)


def _write_x86_64(
    code: _Code, end: str, call: Symbol, size: int, record: Symbol, info: Symbol
) -> None:
    distance, jump = 2, 4  # R_X86_64_PC32, R_X86_64_PLT32; from the end of the instruction
    if end == "_workspace_bytes":
        code.add(b"\x48\xb8" + struct.pack("<Q", size) + b"\xc3")  # movabs rax, size; ret
    elif end == "_info":
        code.add(b"\x48\x8d\x05" + bytes(4))  # lea rax, [rip + info]
        code.refer(distance, info, 4, -4)
        code.add(b"\xc3")
    else:
        code.add(b"\x4c\x8d\x05" + bytes(4))  # lea r8, [rip + record]
        code.refer(distance, record, 4, -4)
        code.add(b"\xe9" + bytes(4))  # jmp gradir_call
        code.refer(jump, call, 4, -4)


def _write_aarch64(
    code: _Code, end: str, call: Symbol, size: int, record: Symbol, info: Symbol
) -> None:
    def add_address(register: int, symbol: Symbol) -> None:
        code.refer(275, symbol)  # R_AARCH64_ADR_PREL_PG_HI21: adrp register, symbol
        add_word(0x90000000 | register)
        code.refer(277, symbol)  # R_AARCH64_ADD_ABS_LO12_NC: add register, register, symbol
        add_word(0x91000000 | register << 5 | register)

    def add_word(word: int) -> None:
        code.add(struct.pack("<I", word))

    if end == "_workspace_bytes":
        for part in range(4):  # movz x0, and movk x0, for each 16 bits
            number = size >> 16 * part & 0xFFFF
            add_word((0xF2800000 if part else 0xD2800000) | part << 21 | number << 5)
    elif end == "_info":
        add_address(0, info)
    else:
        add_address(4, record)
        code.refer(282, call)  # R_AARCH64_JUMP26
        add_word(0x14000000)
        return
    add_word(0xD65F03C0)  # ret
