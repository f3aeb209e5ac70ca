"""The files: their segments, symbols and relocations, by a reader of these tests and by tools."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aot_harness import RUNNABLE, run_program, tool

import gradir
from gradir.aot import elf
from gradir.aot.callers import caller_functions
from gradir.aot.elf_library import write_library
from gradir.aot.elf_object import write_object
from gradir.aot.library import IMPORTS, thread_imports
from gradir.aot.linker import Image, Unit, link
from gradir.aot.loader import load_library
from gradir.aot.objects import Symbol, read_object
from gradir.aot.relocations import RELATIVE, WAYS, apply
from gradir.codegen.text.target import target_of
from gradir.errors import CompileError
from gradir.runtime.llvm import compile_object

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries of the digits network: plain, with threads, for AArch64; an object, an archive."""
    made = tmp_path_factory.mktemp("elf")
    module = gradir.parse(EXAMPLES / "digits_mlp.mlir").gradient("main", mode="grad")
    names = {"main_grad": "digits_grad", "predict": "digits_predict"}
    x86 = ["x86-64", "x86-64-v3"]
    kinds: dict[str, dict[str, Any]] = {
        "plain.so": {"targets": x86},
        "threads.so": {"targets": x86, "threads": 4},
        "arm.so": {"targets": ["aarch64"]},
        "arm_threads.so": {"targets": ["aarch64"], "threads": 4},
        "arm.o": {"targets": ["aarch64"], "kind": "object"},
        "plain.o": {"targets": x86, "kind": "object"},
        "plain.a": {"targets": x86, "kind": "static"},
    }
    for name, options in kinds.items():
        gradir.export_library(module, made / name, functions=names, **options)
    return made


LIBRARIES = ("plain.so", "threads.so", "arm.so", "arm_threads.so")


@dataclass
class Read:
    """What a loader reads: segments, .dynamic, symbols, and the relocations."""

    machine: int
    segments: list[tuple[int, ...]]
    dynamic: dict[int, int]
    symbols: dict[str, int]
    imports: list[str]
    relocations: list[tuple[int, int, int]]


def read_library(data: bytes) -> Read:
    header = elf.HEADER.unpack_from(data)
    place, size, count = header[5], header[9], header[10]
    segments = [elf.SEGMENT.unpack_from(data, place + k * size) for k in range(count)]
    loads = [s for s in segments if s[0] == elf.LOAD]

    def at(address: int) -> int:
        found = next(s for s in loads if s[3] <= address < s[3] + s[5])
        return address - found[3] + found[2]

    start = next(s for s in segments if s[0] == elf.DYNAMIC_SEGMENT)
    rows = struct.iter_unpack("<QQ", data[start[2] : start[2] + start[5]])
    dynamic = {tag: value for tag, value in rows if tag}
    texts = at(dynamic[5])
    count = struct.unpack_from("<II", data, at(dynamic[4]))[1]
    symbols: dict[str, int] = {}
    imports: list[str] = []
    for k in range(1, count):
        row = elf.SYMBOL.unpack_from(data, at(dynamic[6]) + k * elf.SYMBOL.size)
        name = data[texts + row[0] : data.index(b"\0", texts + row[0])].decode()
        if row[3]:
            symbols[name] = row[4]
        else:
            imports.append(name)
    place = at(dynamic[7])
    relocations = [elf.RELOCATION.unpack_from(data, place + k) for k in range(0, dynamic[8], 24)]
    return Read(header[2], segments, dynamic, symbols, imports, relocations)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_is_what_a_loader_expects(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    found = read_library(data)
    loads = [s for s in found.segments if s[0] == elf.LOAD]
    page = 1 << 16 if name.startswith("arm") else 1 << 12
    for _, rights, offset, address, _, held, size, align in loads:
        assert held <= size and offset + held <= len(data)
        assert align == page and offset % page == address % page
        assert rights & 3 != 3, "no memory is run and written"
    ends = [(s[3], s[3] + s[6]) for s in loads]
    for (_, end), (begin, _) in pairwise(ends):
        assert end <= begin and end // page <= begin // page
    ours = {f"{f}{e}" for f in ("digits_grad", "digits_predict")
            for e in ("", "_info", "_workspace_bytes")}  # fmt: skip
    assert set(found.symbols) == ours
    for address in found.symbols.values():
        assert any(s[1] & elf.CAN_EXECUTE and s[3] <= address < s[3] + s[6] for s in loads)
    assert set(found.imports) <= {*IMPORTS, *(thread_imports() if "threads" in name else ())}
    written = [s for s in loads if s[1] & elf.CAN_WRITE]
    for place, info, addend in found.relocations:
        assert any(s[3] <= place <= s[3] + s[5] - 8 for s in written)
        if info == RELATIVE[found.machine]:
            assert any(s[3] <= addend <= s[3] + s[6] for s in loads)
    assert 22 not in found.dynamic, "no relocations of code"
    assert bool(found.dynamic[0x6FFFFFFB] & 8) == ("threads" in name)


@pytest.mark.parametrize("name", LIBRARIES)
def test_hash_tables_find_all_symbols(folder: Path, name: str) -> None:
    """As loaders look names up, and find none that is not there."""
    data = (folder / name).read_bytes()
    found = read_library(data)
    # the first segment is at address 0, and has the tables
    gnu, old, symbols, texts = (found.dynamic[tag] for tag in (0x6FFFFEF5, 4, 6, 5))

    def name_of(number: int) -> str:
        start = texts + elf.SYMBOL.unpack_from(data, symbols + 24 * number)[0]
        return data[start : data.index(b"\0", start)].decode()

    def by_gnu(wanted: str) -> bool:
        buckets, first, words, shift = struct.unpack_from("<4I", data, gnu)
        code = elf.gnu_hash(wanted)
        (word,) = struct.unpack_from("<Q", data, gnu + 16 + 8 * (code // 64 % words))
        if not word >> code % 64 & word >> (code >> shift) % 64 & 1:
            return False
        table = gnu + 16 + 8 * words
        (number,) = struct.unpack_from("<I", data, table + 4 * (code % buckets))
        while number:
            (chained,) = struct.unpack_from("<I", data, table + 4 * (buckets + number - first))
            if chained | 1 == code | 1 and name_of(number) == wanted:
                return True
            number = 0 if chained & 1 else number + 1
        return False

    def by_old(wanted: str) -> bool:
        buckets, count = struct.unpack_from("<II", data, old)
        table = struct.unpack_from(f"<{buckets + count}I", data, old + 8)
        number = table[elf.symbol_hash(wanted) % buckets]
        while number and name_of(number) != wanted:
            number = table[buckets + number]
        return bool(number)

    for each in found.symbols:
        assert by_gnu(each) and by_old(each)
    for each in ("digits", "main", "gradir_entry", "digits_grad_inf"):
        assert not by_gnu(each) and not by_old(each)


def test_versions_of_functions_that_have_old_ones(folder: Path) -> None:
    text = (folder / "threads.so").read_bytes()
    assert b"GLIBC_2.3.2\0" in text and b"pthread_cond_wait\0" in text
    assert b"GLIBC" not in (folder / "arm.so").read_bytes()


@pytest.mark.parametrize("name", [*LIBRARIES, "plain.o", "arm.o"])
def test_elflint(folder: Path, name: str) -> None:
    lint = tool("eu-elflint")
    assert run_program(lint, "--gnu-ld", folder / name).strip() == "No errors"


@pytest.mark.parametrize("name", LIBRARIES)
def test_readelf(folder: Path, name: str) -> None:
    result = subprocess.run(
        [tool("readelf"), "-aW", folder / name], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    assert "digits_grad_workspace_bytes" in result.stdout


CALLER = """
#include "plain.h"
#include <stdio.h>
int main(void) {
    const gradir_info *info = digits_grad_info();
    printf("%s %d %d %s\\n", info->name, info->n_in, info->n_out, info->levels[1]);
    return digits_grad(NULL, NULL, NULL, NULL);
}
"""


@pytest.mark.parametrize("name", ["plain.so", "plain.o", "plain.a"])
def test_the_linker_of_the_system(folder: Path, name: str) -> None:
    """It takes the library, the object and the archive into a program."""
    source, made = folder / "caller.c", folder / f"caller_{name}.bin"
    source.write_text(CALLER)
    rest = ["-lm", f"-Wl,-rpath,{folder}"]
    run_program(tool("gcc"), "-std=c11", source, folder / name, "-o", made, *rest)
    result = subprocess.run([made], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (9, "digits_grad 8 7 x86-64-v3\n")


@pytest.mark.parametrize("linker", ["gcc", "clang", "zig"])
def test_other_linkers(linker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if linker == "zig":
        pytest.importorskip("ziglang")
        linker = f"{sys.executable} -m ziglang cc"
        monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path / "cache"))
    else:
        tool(linker)
    module = gradir.parse(EXAMPLES / "digits_mlp.mlir")
    results = list[bytes]()
    for name, command in {"libown.so": None, "libother.so": linker}.items():
        kept: dict[str, Any] = {"functions": "predict", "targets": RUNNABLE[:1]}
        gradir.export_library(module, tmp_path / name, linker=command, **kept)
        f = load_library(tmp_path / name).predict
        results.append(f(*(np.ones(a.shape, a.dtype) for a in f.inputs))[0].tobytes())
    assert results[0] == results[1]


# Relocations.


def image_of(text: str, level: str, exports: list[str]) -> Image:
    code = read_object(compile_object(text, target_of(level)).data)
    return link([], Unit("", [code]), exports, IMPORTS)


EVERYTHING = """
declare double @fmod(double, double)
@table = internal constant [3 x double] [double 3.0, double 4.0, double 5.0]
@places = internal constant [2 x ptr] [ptr @table, ptr @f]
@count = internal global i64 5
@room = internal global [4096 x i8] zeroinitializer
@outside = external global i64

define double @f(double %x) nounwind {
  %p = load volatile ptr, ptr @places
  %q = getelementptr double, ptr %p, i64 1
  %y = load double, ptr %q
  %r = call double @fmod(double %x, double %y)
  %n = load i64, ptr @count
  %more = add i64 %n, 1
  store i64 %more, ptr @count
  %o = load i64, ptr @outside
  %place = getelementptr i8, ptr @room, i64 %o
  store volatile i8 1, ptr %place
  %d = sitofp i64 %o to double
  %s = fadd double %r, %d
  ret double %s
}
@outside.definition = alias i64, ptr @seven
@seven = global i64 7
"""


def test_relocations_of_all_kinds(tmp_path: Path) -> None:
    """A call of an import, a pointer to data and code, constants, data, zeros, and the GOT."""
    text = EVERYTHING.replace("@outside = external global i64\n", "@outside = global i64 7\n")
    text = text[: text.index("@outside.def")]
    level = RUNNABLE[0]
    path = tmp_path / "libf.so"
    path.write_bytes(write_library(image_of(text, level, ["f"]), path.name))
    f = ctypes.CDLL(str(path)).f
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    assert f(9.0) == 9.0 % 4.0 + 7


def test_aarch64_instructions() -> None:
    """The fields of instructions, by hand from the manual of the architecture."""
    ways = {way.name: way for way in WAYS[elf.AARCH64].values()}

    def applied(word: int, name: str, target: int, place: int) -> int:
        data = bytearray(word.to_bytes(4, "little"))
        apply(data, 0, ways[name], target, place)
        return int.from_bytes(data, "little")

    # bl +8; bl -4; adrp x0, 5 pages on; adrp x0, 1 page back
    assert applied(0x94000000, "R_AARCH64_CALL26", 0x1008, 0x1000) == 0x94000002
    assert applied(0x94000000, "R_AARCH64_CALL26", 0x0FFC, 0x1000) == 0x97FFFFFF
    assert applied(0x90000000, "R_AARCH64_ADR_PREL_PG_HI21", 0x6123, 0x1FFF) == 0xB0000020
    assert applied(0x90000000, "R_AARCH64_ADR_PREL_PG_HI21", 0x0000, 0x1000) == 0xF0FFFFE0
    # add x0, x0, 0x123; ldr q0, [x0, 0x120]
    assert applied(0x91000000, "R_AARCH64_ADD_ABS_LO12_NC", 0x6123, 0) == 0x91048C00
    assert applied(0x3DC00000, "R_AARCH64_LDST128_ABS_LO12_NC", 0x6120, 0) == 0x3DC04800
    with pytest.raises(CompileError, match="LDST128_ABS_LO12_NC of a place that is not aligned"):
        applied(0x3DC00000, "R_AARCH64_LDST128_ABS_LO12_NC", 0x6128, 0)
    with pytest.raises(CompileError, match="R_AARCH64_CALL26 reaches 28 bits far"):
        applied(0x94000000, "R_AARCH64_CALL26", 1 << 28, 0)


@pytest.mark.parametrize("size", [64, 0x123456789ABCDEC0])
def test_bytes_of_a_workspace_are_an_instruction(size: int) -> None:
    """Also where they are more than the first bits of an instruction's number."""
    record = Symbol("record", None)
    for machine in (elf.X86_64, elf.AARCH64):
        code = caller_functions(machine, record, [("f", size, record, record)])
        [section], symbol = code.sections, code.symbols[1]
        assert symbol.name == "f_workspace_bytes"
        data = bytes(section.data[symbol.value : symbol.value + symbol.size])
        if machine == elf.X86_64:
            assert (data[:2], data[10:]) == (b"\x48\xb8", b"\xc3")  # movabs rax; ret
            assert int.from_bytes(data[2:10], "little") == size
        else:
            *moves, end = struct.unpack("<5I", data)
            assert end == 0xD65F03C0  # ret
            parts = [(move >> 21 & 3, move >> 5 & 0xFFFF) for move in moves]
            assert [part for part, _ in parts] == [0, 1, 2, 3]
            assert sum(number << 16 * part for part, number in parts) == size
            assert moves[0] >> 23 == 0xD2800000 >> 23  # movz x0; the others are movk


def test_unknown_relocations_and_symbols_are_named() -> None:
    data = compile_object(
        "declare double @nobody(double)\ndefine double @f(double %x) nounwind {\n"
        "  %r = call double @nobody(double %x)\n  %s = fadd double %r, %x\n  ret double %s\n}",
        target_of("x86-64"),
    ).data
    code = read_object(data)
    with pytest.raises(CompileError, match="calls nobody, which no library may import"):
        link([], Unit("", [code]), ["f"], IMPORTS)
    offset, _, symbol, addend = code.sections[0].relocations[0]
    code.sections[0].relocations[0] = offset, 99, symbol, addend
    with pytest.raises(CompileError, match="relocation type 99 of x86-64, of symbol 'nobody', is"):
        link([], Unit("", [code]), ["f"], IMPORTS)
    with pytest.raises(CompileError, match="expected an ELF object of 64 bits"):
        read_object(b"\xcf\xfa\xed\xfe" + bytes(60))
    twice = [read_object(data), read_object(data)]
    with pytest.raises(CompileError, match="f is defined twice"):
        link([], Unit("", twice), ["f"], IMPORTS)


def test_units_have_names_of_their_own() -> None:
    """Two programs with the same names, and one that calls the shared code."""
    text = "define i64 @entry() nounwind {\n  ret i64 NUMBER\n}"
    units = [
        Unit(f"{k}.", [read_object(compile_object(text.replace("NUMBER", str(k)),
                                                  target_of("x86-64")).data)])
        for k in (1, 2)
    ]  # fmt: skip
    shared = Unit("", [read_object(compile_object(
        "define i64 @f() nounwind {\n  ret i64 3\n}", target_of("x86-64")).data)])  # fmt: skip
    image = link(units, shared, ["f"], {})
    assert [name for name, _ in image.symbols] == ["1.entry", "2.entry", "f"]
    assert write_object(image).startswith(elf.MAGIC)


def test_aarch64_runs_under_an_emulator(folder: Path, tmp_path: Path) -> None:
    """Where there are qemu and a compiler for it: the same bits as its own linker's library."""
    compiler, emulator = tool("aarch64-linux-gnu-gcc"), tool("qemu-aarch64")
    shutil.copy(folder / "arm.h", tmp_path)
    (tmp_path / "caller.c").write_text(ARM_CALLER)
    outputs: list[str] = []
    for name in ("arm.so", "arm.o"):
        made = tmp_path / f"{name}.bin"
        rest = ["-lm", f"-Wl,-rpath,{folder}"]
        run_program(compiler, "-O1", tmp_path / "caller.c", folder / name, "-o", made, *rest)
        outputs.append(run_program(emulator, "-L", "/usr/aarch64-linux-gnu", made))
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("0 1 ")


ARM_CALLER = """
#include "arm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void fill(gradir_array *to, const gradir_array_info *info) {
    memset(to, 0, sizeof *to);
    to->data = calloc(1, (size_t)info->bytes + 1);
    to->shape = info->shape, to->size = info->size, to->rank = info->rank;
    to->dtype = info->dtype, to->request = info->request;
    for (int64_t k = 0; k < info->size && info->dtype == GRADIR_FLOAT32; k++)
        GRADIR_DATA(float, *to)[k] = (float)(k % 7) * 0.125f - 0.25f;
}
int main(void) {
    const gradir_info *info = digits_grad_info();
    gradir_array in[16], out[16];
    gradir_status status = GRADIR_STATUS_INIT;
    for (int k = 0; k < info->n_in; k++)
        fill(&in[k], &info->in[k]);
    for (int k = 0; k < info->n_out; k++)
        fill(&out[k], &info->out[k]);
    void *workspace = aligned_alloc(GRADIR_WORKSPACE_ALIGNMENT, digits_grad_workspace_bytes());
    int code = digits_grad(in, out, workspace, &status);
    printf("%d %d %s", code, status.used_level, status.message);
    for (int k = 0; k < info->n_out; k++) {
        uint32_t sum = 0;
        for (int64_t n = 0; n < info->out[k].size; n++)
            sum = sum * 31 + GRADIR_DATA(uint32_t, out[k])[n];
        printf(" %08x", sum);
    }
    printf(" %.6f\\n", GRADIR_DATA(float, out[0])[0]);
    return 0;
}
"""
