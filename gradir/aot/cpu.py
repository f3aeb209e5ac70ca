"""Which level of x86-64 a processor has, found by the first call of a library, as LLVM text.

No level is run that the processor, or the system, which keeps its registers, does not have: the
bits are those that the psABI lists for each level. On AArch64 there is one level.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradir.aot import elf
from gradir.aot.entry import CPU_LEVEL
from gradir.aot.objects import TEXT, ObjectCode, Section, Symbol

LEVEL_NUMBERS: Mapping[str, int] = MappingProxyType(
    {"x86-64": 1, "x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4, "aarch64": 1}
)

LEVEL_OF = "gradir_level_of"
"""(ecx of leaf 1, ebx of leaf 7, ecx of leaf 0x80000001, XCR0): the number of the level."""

# Bits that a level adds to the one before, in each of these four words.
BITS: Mapping[int, tuple[Mapping[str, int], ...]] = MappingProxyType(
    {
        2: (
            {"sse3": 0, "ssse3": 9, "cx16": 13, "sse4.1": 19, "sse4.2": 20, "popcnt": 23},
            {},
            {"lahf": 0},
            {},
        ),
        3: (
            {"fma": 12, "movbe": 22, "osxsave": 27, "avx": 28, "f16c": 29},
            {"bmi1": 3, "avx2": 5, "bmi2": 8},
            {"lzcnt": 5},
            {"xmm": 1, "ymm": 2},
        ),
        4: (
            {},
            {"avx512f": 16, "avx512dq": 17, "avx512cd": 28, "avx512bw": 30, "avx512vl": 31},
            {},
            {"opmask": 5, "zmm.low": 6, "zmm.high": 7},
        ),
    }
)
CPUID, XGETBV = "gradir_cpuid", "gradir_xgetbv"
INSTRUCTIONS: Mapping[str, bytes] = MappingProxyType(
    {
        # push rbx; mov eax, edi; xor ecx, ecx; cpuid; mov [rsi], eax; mov [rsi + 4], ebx;
        # mov [rsi + 8], ecx; mov [rsi + 12], edx; pop rbx; ret
        CPUID: bytes.fromhex("53 89f8 31c9 0fa2 8906 895e04 894e08 89560c 5b c3"),
        # xor ecx, ecx; xgetbv; ret
        XGETBV: bytes.fromhex("31c9 0f01d0 c3"),
    }
)
_LEAF = f"""
define internal i32 @leaf(i32 %number, i64 %part) nounwind {{
  %words = alloca [4 x i32], align 4
  call void @{CPUID}(i32 %number, ptr %words)
  %place = getelementptr i32, ptr %words, i64 %part
  %word = load i32, ptr %place
  ret i32 %word
}}"""
# The words of a leaf that CPUID writes.
EAX, EBX, ECX = 0, 1, 2
_WORDS = "%features", "%more", "%extended", "%saved"


def cpu_functions(is_x86: bool) -> str:
    """`@gradir_cpu_level()`, with what it calls."""
    if not is_x86:
        return f"define internal i64 @{CPU_LEVEL}() nounwind alwaysinline {{\n  ret i64 1\n}}"
    return "\n".join([_level_of(), _cpu_level()])


def _level_of() -> str:
    lines = ["entry:", "  br label %at.2"]
    for level, words in BITS.items():
        lines.append(f"at.{level}:")
        parts: list[str] = []
        for k, (word, bits) in enumerate(zip(_WORDS, words, strict=True)):
            if bits:
                mask = sum(1 << bit for bit in bits.values())
                mask = mask - (1 << 32) if mask >> 31 else mask
                lines.append(f"  %and.{level}.{k} = and i32 {word}, {mask}")
                lines.append(f"  %has.{level}.{k} = icmp eq i32 %and.{level}.{k}, {mask}")
                parts.append(f"%has.{level}.{k}")
        known = parts[0]
        for k, part in enumerate(parts[1:]):
            lines.append(f"  %all.{level}.{k} = and i1 {known}, {part}")
            known = f"%all.{level}.{k}"
        following = f"at.{level + 1}" if level + 1 in BITS else f"are.{level}"
        lines.append(f"  br i1 {known}, label %{following}, label %are.{level - 1}")
    for level in (1, *BITS):
        lines += [f"are.{level}:", f"  ret i64 {level}"]
    names = ", ".join(f"i32 {word}" for word in _WORDS)
    return f"define i64 @{LEVEL_OF}({names}) nounwind {{\n" + "\n".join(lines) + "\n}"


def _cpu_level() -> str:
    """The level is kept in a word: threads that find it at once write the same."""
    extended = 0x80000001 - (1 << 32)
    return f"""
declare void @{CPUID}(i32, ptr)
declare i32 @{XGETBV}()
@cpu.level = internal global i64 0, align 8

{_LEAF}
define internal i64 @{CPU_LEVEL}() nounwind alwaysinline {{
entry:
  %known = load atomic i64, ptr @cpu.level monotonic, align 8
  %is.known = icmp ne i64 %known, 0
  br i1 %is.known, label %old, label %ask
old:
  ret i64 %known
ask:
  %found = call i64 @find_level()
  ret i64 %found
}}

define internal i64 @find_level() nounwind noinline {{
entry:
  %last = call i32 @leaf(i32 0, i64 {EAX})
  %features = call i32 @leaf(i32 1, i64 {ECX})
  %is.new = icmp uge i32 %last, 7
  br i1 %is.new, label %seven, label %three
seven:
  %more.7 = call i32 @leaf(i32 7, i64 {EBX})
  br label %three
three:
  %more = phi i32 [ 0, %entry ], [ %more.7, %seven ]
  %last.8 = call i32 @leaf(i32 {extended - 1}, i64 {EAX})
  %has.8 = icmp uge i32 %last.8, {extended}
  br i1 %has.8, label %eight, label %saves
eight:
  %extended.8 = call i32 @leaf(i32 {extended}, i64 {ECX})
  br label %saves
saves:
  %extended = phi i32 [ 0, %three ], [ %extended.8, %eight ]
  %os.bit = and i32 %features, {1 << BITS[3][0]["osxsave"]}
  %has.os = icmp ne i32 %os.bit, 0
  br i1 %has.os, label %state, label %found
state:
  %xcr0 = call i32 @{XGETBV}()
  br label %found
found:
  %saved = phi i32 [ 0, %saves ], [ %xcr0, %state ]
  %level = call i64 @{LEVEL_OF}(i32 %features, i32 %more, i32 %extended, i32 %saved)
  store atomic i64 %level, ptr @cpu.level monotonic, align 8
  ret i64 %level
}}"""


def cpu_instructions() -> ObjectCode:
    """The two instructions that LLVM has no function for, as bytes: no assembler is needed."""
    code, symbols = bytearray(), list[Symbol]()
    section = Section(TEXT, code, 16, 0)
    for name, data in INSTRUCTIONS.items():
        symbols.append(Symbol(name, section, len(code), len(data), type=elf.FUNCTION))
        code += data
    section.size = len(code)
    return ObjectCode(elf.X86_64, [section], symbols)
