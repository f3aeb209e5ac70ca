"""Names, files and arrays that libraries once got wrong."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aot_harness import C_FLAGS, run_program, tool

import gradir
from gradir.aot.loader import LibraryError
from gradir.errors import ArgumentError, ArgumentTypeError, CompileError, FileError
from gradir.tools.gradir_compile import main as gradir_compile
from gradir.tools.gradir_run import main as gradir_run
from tests.support.custom_ops import first_like
from tests.support.native_ops import build

X = np.ones(3)


def test_a_library_written_anew_is_loaded_anew(tmp_path: Path) -> None:
    path = tmp_path / "libf.so"
    for factor in (2.0, 5.0, 7.0):
        gradir.export_library(lambda x, k=factor: x * k, path, X, functions="f")
        library = gradir.load_library(path)
        for function in (library.f, gradir.load_library(path)["f"]):
            [found] = function(X)
            np.testing.assert_array_equal(found, factor * X)


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    path = tmp_path / "libf.so"
    (tmp_path / "libf.json").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        gradir.export_library(lambda x: x * 2, path, X, functions="f")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libf.json"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name, wrong in (
        ("pipe", "it is no regular file"),
        (".." + "/x" * 30, "No such file or directory"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(FileError, match=wrong):
            gradir.export_library(lambda x: x * 2, tmp_path / name, X, functions="f")
    assert [*tmp_path.iterdir()] == [pipe] and pipe.is_fifo()


@pytest.mark.parametrize("name", ["nullptr", "static_cast", "typeof", "co_await", "xor_eq"])
def test_words_of_c_and_cpp_are_no_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="expected a name that C can have"):
        gradir.export_library(lambda x: x * 2, tmp_path / "libf.so", X, functions=name)


def test_names_of_the_program_stay_in_comments(tmp_path: Path) -> None:
    module = gradir.parse(
        """func.func @"f*/ int bad; /*"(%x: tensor<3xf64>) -> tensor<3xf64> {
  func.return %x : tensor<3xf64>
}"""
    )
    names = {module.functions[0]: "good"}
    made = gradir.export_library(module, tmp_path / "libf.so", functions=names)
    assert "/* good: @f* / int bad; / * of the program." in made.header.read_text()


def test_file_names_with_words_of_other_systems(tmp_path: Path) -> None:
    gradir.export_library(lambda x: x * 2, tmp_path / "libpineapple.so", X, functions="f")
    with pytest.raises(ArgumentError, match="Mach-O"):
        gradir.export_library(lambda x: x * 2, tmp_path / "libf.dylib", X, functions="f")
    with pytest.raises(ArgumentError, match="expected the name of a file"):
        gradir.export_library(lambda x: x * 2, ".", X, functions="f")
    for linker, format in (
        ("zig cc -target aarch64-macos", "Mach-O"),
        ("/opt/bin/x86_64-w64-mingw32-gcc", "PE"),
        ("zig cc --target=x86_64-windows-gnu", "PE"),
    ):
        with pytest.raises(ArgumentError, match=f"a {format} file needs an external linker"):
            gradir.export_library(lambda x: x * 2, tmp_path / "f.so", X, linker=linker)
    with pytest.raises(CompileError, match="linker: /opt/darwin/no-linker cannot be run"):
        gradir.export_library(
            lambda x: x * 2, tmp_path / "f.so", X, functions="f", linker="/opt/darwin/no-linker"
        )
    with pytest.raises(ArgumentError, match="linker: No closing quotation"):
        gradir.export_library(
            lambda x: x * 2, tmp_path / "libf.so", X, functions="f", linker="'gcc"
        )


SCALE = """#include "gradir_op.h"
int32_t scale(const gradir_call *call) {
    const double *x = call->inputs[0].data;
    double *y = call->outputs[0].data;
    for (int64_t k = 0; k < call->inputs[0].size; k++)
        y[k] = FACTOR * x[k];
    return 0;
}
"""


def scaled(folder: Path, factor: int) -> Any:
    source = folder / f"scale{factor}.c"
    source.write_text(SCALE.replace("FACTOR", str(factor)))
    library = build(source, folder / f"libscale{factor}.so")
    return gradir.custom_op(gradir.native(str(library), "scale"), first_like)


def test_operators_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    two, three = scaled(tmp_path, 2), scaled(tmp_path, 3)
    with pytest.raises(CompileError, match=r"symbol scale .* in libscale2.so, too"):
        gradir.export_library(lambda x: two(x) + three(x), tmp_path / "libf.so", X, functions="f")
    with pytest.raises(CompileError, match=r"symbol scale .* is the name of an exported function"):
        gradir.export_library(lambda x: two(x), tmp_path / "libf.so", X, functions="scale")
    with pytest.raises(CompileError, match="only gradir's own knows the libraries"):
        gradir.export_library(
            lambda x: two(x), tmp_path / "libf.so", X, functions="f", linker="gcc"
        )


# Files that are read.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "libf.so"
    return gradir.export_library(lambda x: x * 2, path, X, functions="f").library


def test_parts_of_a_library_are_no_library(library: Path, tmp_path: Path) -> None:
    """The system's loader ends the process where a mapped page is not in the file."""
    data, path = library.read_bytes(), tmp_path / "libpart.so"
    for size in (0, 3, 16, 63, 64, 100, 500, 4096, len(data) // 2):
        path.write_bytes(data[:size])
        text = "expected an ELF file" if size < 16 else "is not complete: expected"
        with pytest.raises(LibraryError, match=text):
            gradir.load_library(path)


def changed(data: bytes, place: int, value: bytes) -> bytes:
    return data[:place] + value + data[place + len(value) :]


def test_foreign_and_damaged_files(library: Path, tmp_path: Path) -> None:
    data, path = library.read_bytes(), tmp_path / "libother.so"
    for other, text in (
        (b"MZ" + data[2:], "expected an ELF file of 64 bits"),
        (changed(data, 4, b"\x01"), "expected an ELF file of 64 bits"),
        (changed(data, 16, b"\x01\x00"), "expected a shared library, got ELF type 1"),
        (changed(data, 18, b"\xf3\x00"), "is for another processor: ELF machine 243"),
        (changed(data, 54, b"\x07"), "a table has rows of 7 bytes"),
        (changed(data, 56, b"\x00"), "it has no segments to load"),
        (data.replace(b"_workspace_bytes\0", b"_workspace_bites\0"), "its digest is another one"),
    ):
        path.write_bytes(other)
        with pytest.raises(LibraryError, match=text):
            gradir.load_library(path)
    other = data.replace(b"_workspace_bytes\0", b"_workspace_bites\0")
    path.write_bytes(other)
    with pytest.raises(LibraryError, match="has no functions of gradir's"):
        gradir.load_library(path, check=False)
    with pytest.raises(LibraryError, match="has no functions of gradir's"):
        gradir.load_library(os.path.realpath(shutil.which("env") or "/bin/env"))
    with pytest.raises(LibraryError, match="cannot be read: No such file"):
        gradir.load_library(tmp_path / "none.so")
    for name in (3, "a\0b"):
        with pytest.raises(LibraryError, match="path: expected the name of a file"):
            gradir.load_library(name)  # type: ignore[arg-type]


CHANGED = """
import sys
import numpy as np
from loader import LibraryError, load_library
data, step, path = open(sys.argv[1], "rb").read(), int(sys.argv[2]), sys.argv[3]
for place in range(step, len(data), 61):
    with open(path + str(place), "wb") as file:
        file.write(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
    print(place, flush=True)
    try:
        [found] = load_library(path + str(place)).f(np.arange(3.0))
        assert found.tolist() == [0, 2, 4], place
        print("loaded", flush=True)
    except LibraryError:
        print("refused", flush=True)
"""


def test_a_changed_bit_is_refused_or_nobody_reads_it(library: Path, tmp_path: Path) -> None:
    """All that the system's loader believes is in the digest."""
    shutil.copy(Path(gradir.__file__).parent / "aot" / "loader.py", tmp_path)
    for step in (0, 17, 40):
        command = [sys.executable, "-c", CHANGED, library, str(step), str(tmp_path / "lib.so")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-30:] + done.stderr
        words = done.stdout.split()
        assert words.count("refused") > words.count("loaded") // 2


def test_files_that_others_have_changed(library: Path, tmp_path: Path) -> None:
    # each by its own name: a mapped file is not written to
    bare, linked, other = (tmp_path / f"lib{name}.so" for name in ("bare", "linked", "other"))
    shutil.copy(library, bare)
    run_program(tool("strip"), "--strip-all", bare)
    assert bare.stat().st_size < library.stat().st_size
    assert gradir.load_library(bare).f(X)[0].tolist() == [2, 2, 2]
    gradir.export_library(lambda x: x * 2, linked, X, functions="f", linker=tool("gcc"))
    assert gradir.load_library(linked).f(X)[0].tolist() == [2, 2, 2]
    data = library.read_bytes()
    version = gradir.__version__.encode() + b"\0"
    other.write_bytes(data.replace(version, b"9" * len(gradir.__version__) + b"\0"))
    with pytest.raises(
        LibraryError, match=r"is damaged: its digest is another one; .* check=False"
    ):
        gradir.load_library(other)
    assert set(gradir.load_library(other, check=False).f.version) == {"9"}


def test_gradir_run_knows_libraries_by_their_contents(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.1.2"
    shutil.copy(library, path)
    assert gradir_run([str(path), "--random-inputs", "0"]) == 0
    program = tmp_path / "program.so"
    program.write_text(DOUBLE)
    assert gradir_run([str(program), "--random-inputs", "0"]) == 0
    # another file: the first one is mapped
    part = tmp_path / "part"
    part.write_bytes(library.read_bytes()[:5000])
    capsys.readouterr()
    assert gradir_run([str(part), "--random-inputs", "0"]) == 1
    assert "part: is not complete: expected" in capsys.readouterr().err


# Files that are written.

DOUBLE = """func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = array.add %x, %x : tensor<3xf64>
  func.return %y : tensor<3xf64>
}"""


@pytest.mark.parametrize(("source", "made"), [("m.json", "m.so"), ("m.h", "m.o"), ("m", "m")])
def test_an_input_is_no_output(
    source: str, made: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / source
    path.write_text(DOUBLE)
    assert gradir_compile([str(path), "-o", str(tmp_path / made)]) == 1
    assert f"{source}': it is an input, " in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="it is an input"):
        gradir.export_library(gradir.parse(path), tmp_path / made)
    assert [(p, p.read_text()) for p in tmp_path.iterdir()] == [(path, DOUBLE)]


def test_the_library_of_an_operator_is_no_output(tmp_path: Path) -> None:
    two = scaled(tmp_path, 2)
    with pytest.raises(ArgumentError, match=r"libscale2.so': it is an input"):
        gradir.export_library(lambda x: two(x), tmp_path / "libscale2.so", X, functions="f")


def test_a_rename_that_fails_takes_the_others_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "libf.so"
    gradir.export_library(lambda x: x * 2, path, X, functions="f")
    (tmp_path / "libf.h").unlink()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    replace = os.replace

    def failing(source: str, target: Any) -> None:
        if str(target).endswith(".json") and "json" in source and not failed:
            failed.append(source)
            raise PermissionError(1, "Operation not permitted")
        replace(source, target)

    for _ in range(2):
        failed: list[str] = []
        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(FileError, match=r"cannot write '.*libf.json': Operation not perm"):
            gradir.export_library(lambda x: x * 3, path, X, functions="f")
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before

        # a file system that has no links
        def unlinked(*args: Any, **options: Any) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", unlinked)


def test_files_have_the_rights_of_the_mask(tmp_path: Path) -> None:
    """The mask is the process's: no other thread ever sees another one."""
    seen: set[int] = set()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.0005):
            with open("/proc/self/status") as file:
                seen.add(int(next(x for x in file if x.startswith("Umask")).split()[1], 8))

    before = os.umask(0o027)
    try:
        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(6):
            made = gradir.export_library(lambda x: x * 2, tmp_path / "libf.so", X, functions="f")
        is_over.set()
        watcher.join()
    finally:
        os.umask(before)
    assert seen == {0o027}
    for path in (made.library, made.header, made.description):
        assert path.stat().st_mode & 0o777 == 0o640


def test_headers_of_like_names_are_two(tmp_path: Path) -> None:
    lines: list[str] = []
    for k, name in enumerate(("a-b", "a_b", "A_B", "a_2d_b", "a.b")):
        path = tmp_path / f"{name}.so"
        gradir.export_library(lambda x: x * 2, path, X, functions=f"f{k}", targets="x86-64")
        lines.append(f'#include "{path.with_suffix(".h").name}"\n')
    lines += [
        "size_t size(void) { return F0_WORKSPACE_BYTES",
        *(f" + F{k}_WORKSPACE_BYTES" for k in range(1, 5)),
    ]
    (tmp_path / "all.c").write_text("".join([*lines, "; }\n"]))
    run_program(tool("gcc"), *C_FLAGS, "-c", tmp_path / "all.c", "-o", tmp_path / "all.o")


# Arguments of other types.


def test_types_of_options(tmp_path: Path) -> None:
    path, module = tmp_path / "libf.so", gradir.parse(DOUBLE)
    wrong: Any
    export: Any = gradir.export_library
    for wrong in (3, [3], {"f": 3}, {3: "f"}, b"f", [None]):
        with pytest.raises(ArgumentTypeError, match="functions: expected names of functions"):
            export(module, path, functions=wrong)
    for wrong in (1.5, [3], b"x", True):
        with pytest.raises(ArgumentTypeError, match="targets: expected the names of levels"):
            export(module, path, targets=wrong)
    with pytest.raises(ArgumentError, match="targets: expected one level at least"):
        export(module, path, targets=[])
    for wrong in (True, 1.0, 0, 1 << 20):
        with pytest.raises(ArgumentError, match="threads: a number from 1 to 1024 expected"):
            export(module, path, threads=wrong)
    for wrong in (3, ["gcc"], b"gcc"):
        with pytest.raises(ArgumentTypeError, match="linker: expected a command"):
            export(module, path, linker=wrong)
    for wrong in (3, None, []):
        with pytest.raises(ArgumentTypeError, match="path: expected the name of a file"):
            export(module, wrong)
    assert [*tmp_path.iterdir()] == []


def test_libraries_are_copied_by_their_path(library: Path) -> None:
    loaded = gradir.load_library(library)
    for other in (copy.copy(loaded), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert other.f(X)[0].tolist() == [2, 2, 2]
    assert not hasattr(loaded, "_none") and not hasattr(loaded, "g")


def test_types_of_calls(tmp_path: Path) -> None:
    given = np.ones(3, np.uint8)
    path = tmp_path / "libu.so"
    gradir.export_library(lambda x: x * 2, path, given, functions="f", targets="x86-64")
    f = gradir.load_library(path).f
    assert f([1, 2, 3])[0].tolist() == f((1, 2, 3))[0].tolist() == [2, 4, 6]
    call: Any = f
    for wrong, text in (
        ([1, 2, -3], r"argument 0 \(x\): \[1, 2, -3\] does not fit uint8"),
        ([1, 2, 256], "does not fit uint8"),
        ([1.5, 2, 3], "expected uint8 array of shape .*, got float64"),
        ([10**30] * 3, "expected uint8 array of shape .*, got object"),
        ([None] * 3, "got object"),
        ([[1], [2, 3]], "got list: "),
    ):
        with pytest.raises(LibraryError, match=text):
            call(wrong)
    for options, text in (
        ({"threads": 1.5}, "f: threads: expected a number from 0 on, got 1.5"),
        ({"threads": -1}, "f: threads: expected a number from 0 on, got -1"),
        ({"level": "a"}, "f: level: expected a number"),
        ({"level": 2}, r"f: level: expected 0 for the best, 1 \(x86-64\), got 2"),
        ({"status": 3}, "f: status: expected a StatusStruct, got 3"),
        ({"out": 3}, "f: out: expected 1 entries"),
    ):
        with pytest.raises(LibraryError, match=text):
            call(given, **options)
