"""The folder of the cache: whom it trusts, and what it does when it cannot read or write."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gradir.cache import folder as folder_module
from gradir.cache.entry import CacheEntry, sealed, unsealed
from gradir.cache.folder import Folder

MANY = 1 << 20


def name(k: int) -> str:
    return f"{k:064x}.gradir"


def folder_at(path: Path) -> Folder:
    return Folder(str(path / "cache"))


def test_files_come_back(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "not" / "there" / "yet"))
    assert folder.read(name(1)) is None and folder.files() == [] and folder.doubt() is None
    assert folder.write(name(1), b"one", MANY) and folder.write(name(1), b"two", MANY)
    assert folder.read(name(1)) == b"two"
    assert [(each.name, each.size) for each in folder.files()] == [(name(1), 3)]
    made = tmp_path / "not" / "there" / "yet"
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / name(1)).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"mine", MANY)
    (tmp_path / "cache").chmod(mode)
    assert folder.read(name(1)) is None and not folder.write(name(2), b"mine", MANY)
    assert folder.doubt() == "others than its owner can write to it"
    (tmp_path / "cache").chmod(0o755)
    assert folder.read(name(1)) == b"mine" and len(folder.files()) == 1


def test_a_file_that_others_write_to_is_not_used(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"mine", MANY)
    (tmp_path / "cache" / name(1)).chmod(0o620)
    assert folder.read(name(1)) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"mine", MANY)
    (tmp_path / "cache" / name(2)).symlink_to(tmp_path / "cache" / name(1))
    assert folder.read(name(2)) is None


def test_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"theirs", MANY)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert folder.read(name(1)) is None, "of a program that runs as somebody else"
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert folder.read(name(1)) is None and not folder.write(name(2), b"x", MANY)
    assert folder.doubt() == "it belongs to another user"


def test_a_folder_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"one", MANY)
    opened = os.open

    def read_only(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "read-only file system")
        return opened(path, flags, *args, **kwargs)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    assert not folder.write(name(2), b"two", MANY)
    assert folder.read(name(1)) == b"one"
    folder.remove(name(1))
    folder.clear()
    assert folder.read(name(1)) == b"one"


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"one", MANY)
    opened = os.fdopen

    class Full:
        """A stream that takes half of what it is given."""

        def __init__(self, stream: Any):
            self.stream = stream

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            self.stream.close()

        def write(self, data: bytes) -> None:
            self.stream.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "no space left on device")

    def full(file: int, mode: str) -> Any:
        return Full(opened(file, mode)) if "w" in mode else opened(file, mode)

    monkeypatch.setattr(os, "fdopen", full)
    assert not folder.write(name(1), b"another", MANY)
    assert folder.read(name(1)) == b"one"
    assert os.listdir(tmp_path / "cache") == [name(1)], "no half of a file is left"


def test_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    folder = folder_at(tmp_path)
    assert not folder.write(name(1), b"one", MANY) and folder.read(name(1)) is None
    assert folder.doubt() is not None
    below = Folder(str(tmp_path / "cache" / "below"))
    assert not below.write(name(1), b"one", MANY) and below.files() == []


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    for k in range(5):
        assert folder.write(name(k), bytes(100), 500)
        os.utime(tmp_path / "cache" / name(k), (k, k))
    assert folder.read(name(0)) is not None  # which uses it
    assert folder.write(name(5), bytes(100), 500)
    assert {each.name for each in folder.files()} == {name(k) for k in (0, 3, 4, 5)}
    assert not folder.write(name(6), bytes(501), 500), "it alone is too large"
    assert folder.write(name(7), bytes(500), 500)
    assert [each.name for each in folder.files()] == [name(7)]


def test_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "MOST_FILES", 10)
    folder = folder_at(tmp_path)
    for k in range(11):
        assert folder.write(name(k), b"", MANY)
        os.utime(tmp_path / "cache" / name(k), (k, k))
    assert {each.name for each in folder.files()} == {name(k) for k in range(2, 11)}


def test_only_own_files_are_removed(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert folder.write(name(1), b"one", MANY)
    place = tmp_path / "cache"
    (place / "thesis.txt").write_text("all there is of it")
    half = place / f".{1:064x}.{2:016x}.new"
    half.write_bytes(b"of a writer that is gone")
    assert folder.write(name(2), b"two", MANY) and half.exists(), "it may be there yet"
    os.utime(half, (0, 0))
    assert folder.write(name(3), b"three", MANY) and not half.exists()
    folder.clear()
    assert os.listdir(place) == ["thesis.txt"]


ENTRY = CacheEntry({"name": "f", "numbers": [1, 2.5, None]}, [b"code", b"", bytes(range(7))])


def test_entries_come_back() -> None:
    assert unsealed("key", sealed("key", ENTRY)) == ENTRY
    assert unsealed("other", sealed("key", ENTRY)) is None


def test_no_byte_may_be_another() -> None:
    data = sealed("key", ENTRY)
    for k in range(len(data)):
        for bit in (1, 128):
            changed = data[:k] + bytes([data[k] ^ bit]) + data[k + 1 :]
            assert unsealed("key", changed) is None, k
        assert unsealed("key", data[:k]) is None
    assert unsealed("key", data + b"\0") is None and unsealed("key", b"") is None
