"""Objects that an earlier run of the tests has kept are those that LLVM makes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import kept_objects
import pytest
from kept_objects import KeptObjects

from gradir.codegen.text.target import MachineTarget, host, target_of
from gradir.errors import CompileError
from gradir.runtime import llvm
from gradir.runtime.llvm import FULL, QUICK, CompiledObject, Tier

TEXT = "define double @f(double %x) {\n  %y = fmul double %x, %x\n  ret double %y\n}\n"
OTHER = TEXT.replace("fmul", "fadd")


class Counted:
    """A worker's `compile`, which counts what it compiles."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.worker = llvm._Worker()
        compile_by_llvm = kept_objects.compile_by_llvm

        def counted(
            worker: llvm._Worker, text: str, target: MachineTarget, tier: Tier = FULL
        ) -> CompiledObject:
            self.count += 1
            return compile_by_llvm(worker, text, target, tier)

        monkeypatch.setattr(kept_objects, "compile_by_llvm", counted)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def test_each_module_is_compiled_once(tmp_path: Path, counted: Counted) -> None:
    asked = [
        (TEXT, host(), FULL),
        (OTHER, host(), FULL),
        (TEXT, host(), QUICK),
        (TEXT, target_of("x86-64-v2"), FULL),
    ]
    first = KeptObjects(tmp_path / "new" / "objects")
    made = [first.compile(counted.worker, *each) for each in asked]
    again = [first.compile(counted.worker, *each) for each in asked]
    first.close()
    second = KeptObjects(tmp_path / "new" / "objects")
    found = [second.compile(counted.worker, *each) for each in asked]
    second.close()
    assert counted.count == len(asked)
    assert made == again == found
    for each, kept in zip(asked, found, strict=True):
        assert kept_objects.compile_by_llvm(counted.worker, *each).data == kept.data


def test_refusals_are_not_kept(tmp_path: Path, counted: Counted) -> None:
    kept = KeptObjects(tmp_path / "objects")
    for _ in range(2):
        with pytest.raises(CompileError):
            kept.compile(counted.worker, "define void @g( {", host())
    kept.close()
    assert counted.count == 2


def test_damaged_objects_are_made_again(tmp_path: Path, counted: Counted) -> None:
    kept = KeptObjects(tmp_path / "objects")
    made = kept.compile(counted.worker, TEXT, host())
    with sqlite3.connect(tmp_path / "objects") as file:
        file.execute("update objects set object = ?", (b"\0" * 20,))
    file.close()
    assert kept.compile(counted.worker, TEXT, host()).data == made.data
    kept.close()
    assert counted.count == 2


def test_without_a_file_llvm_compiles(tmp_path: Path, counted: Counted) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "objects", tmp_path):
        kept = KeptObjects(path)
        assert kept.compile(counted.worker, TEXT, host()).data
        kept.close()
    assert counted.count == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_asks_llvm(tmp_path: Path, counted: Counted) -> None:
    kept = KeptObjects(tmp_path / "objects")
    kept.compile(counted.worker, TEXT, host())
    child = os.fork()
    if not child:
        kept.compile(counted.worker, TEXT, host())
        os._exit(counted.count)
    kept.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_a_large_file_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "objects"
    file.write_bytes(b"12345678")
    kept_objects.drop_if_large(file)
    assert file.exists()
    monkeypatch.setattr(kept_objects, "MOST_BYTES", 7)
    kept_objects.drop_if_large(file)
    assert not file.exists()


def test_clones_share_a_file(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kept_objects.SWITCH_VARIABLE, str(tmp_path / "shared"))
    for _ in range(2):
        kept = KeptObjects()
        kept.compile(counted.worker, TEXT, host())
        kept.close()
    assert counted.count == 1
    monkeypatch.delenv(kept_objects.SWITCH_VARIABLE)
    assert kept_objects.chosen_file() == kept_objects.FILE


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    before = llvm._Worker.compile
    monkeypatch.setenv(kept_objects.SWITCH_VARIABLE, "0")
    assert kept_objects.begin() is None
    assert llvm._Worker.compile is before
