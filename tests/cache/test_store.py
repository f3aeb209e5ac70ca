"""What the environment says of the cache, and what makes keys differ."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import gradir
from gradir.cache import store, versions
from gradir.cache.entry import CacheEntry
from gradir.errors import GradirError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADIR_CACHE", "1")
    monkeypatch.setenv("GRADIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "counts", store.Counts())
    return tmp_path / "cache"


def test_what_is_kept_is_found(folder: Path) -> None:
    key = store.key_of("kind", "program", 2, {"vectors": 64})
    assert store.find(key) is None
    store.keep(key, CacheEntry([1], [b"code"]))
    assert store.find(key) == CacheEntry([1], [b"code"])
    info = gradir.cache_info()
    assert (info.folder, info.entries, info.off) == (str(folder), 1, None)
    assert (info.found, info.missed, info.written) == (1, 1, 1)
    gradir.clear_cache()
    assert store.find(key) is None and gradir.cache_info().entries == 0


def test_keys() -> None:
    asked: list[Any] = [
        ("kind",),
        ("other",),
        ("kind", 1),
        ("kind", "1"),
        ("kind", 1, None),
        ("kind", [1]),
    ]
    assert len({store.key_of(*parts) for parts in asked}) == len(asked)
    assert store.key_of("kind", 1) == store.key_of("kind", 1)


def test_another_version_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    key = store.key_of("kind", 1)
    store.keep(key, CacheEntry(None))
    monkeypatch.setattr(store, "versions", lambda: "those of another gradir")
    other = store.key_of("kind", 1)
    assert key != other and store.find(other) is None


def test_what_is_broken_is_no_entry(folder: Path) -> None:
    key = store.key_of("kind")
    store.keep(key, CacheEntry(None, [b"code"]))
    file = folder / f"{key}.gradir"
    file.write_bytes(file.read_bytes()[:-1])
    assert store.find(key) is None and not file.exists()


def test_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_CACHE", "0")
    key = store.key_of("kind")
    assert key is None and store.find(key) is None
    store.keep(key, CacheEntry(None))
    assert not folder.exists() and gradir.cache_info().off == "GRADIR_CACHE is 0"


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIR_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert gradir.cache_info().folder == str(tmp_path / "xdg" / "gradir")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert gradir.cache_info().folder == str(tmp_path / "home" / ".cache" / "gradir")
    monkeypatch.delenv("HOME")

    def unknown(path: str) -> str:
        return path

    monkeypatch.setattr(os.path, "expanduser", unknown)
    assert gradir.cache_info().off == "the user has no home folder"
    assert store.key_of("kind") is None


@pytest.mark.parametrize("text", ["no", "2", "-1"])
def test_values_that_mean_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_CACHE", text)
    with pytest.raises(GradirError, match="GRADIR_CACHE: 0 or 1 expected, got"):
        store.is_on()
    monkeypatch.setenv("GRADIR_CACHE", "1")
    monkeypatch.setenv("GRADIR_CACHE_BYTES", f"{text}x")
    with pytest.raises(GradirError, match="GRADIR_CACHE_BYTES: a number of bytes expected, got"):
        gradir.cache_info()


def test_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIR_CACHE_BYTES", "0")
    store.keep(store.key_of("kind"), CacheEntry(None))
    assert gradir.cache_info().written == 0 and gradir.cache_info().limit == 0


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Sources of gradir that are older than this process."""
    root = tmp_path / "gradir"
    (root / "passes").mkdir(parents=True)
    (root / "passes" / "fuse.py").write_text("1\n")
    monkeypatch.setattr(versions, "ROOT", root)
    monkeypatch.setattr(versions, "IMPORTED", time.time_ns() + 10**9)
    yield root
    versions.read_versions.cache_clear()


def read_again() -> str | None:
    versions.read_versions.cache_clear()
    return versions.versions()


def test_sources_count(sources: Path) -> None:
    first = read_again()
    (sources / "passes" / "fuse.py").write_text("2\n")
    second = read_again()
    (sources / "passes" / "fuse.py").rename(sources / "passes" / "free.py")
    third = read_again()
    assert first and len({first, second, third}) == 3
    (sources / "passes" / "free.py").write_text("2\n")
    assert read_again() == third, "the same again"
    (sources / "notes.txt").write_text("no source")
    assert read_again() == third


@pytest.fixture
def files_read(sources: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sources that are read."""
    found: list[str] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        if sources in path.parents:
            found.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    return found


def test_sources_are_read_once(
    folder: Path, sources: Path, files_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A digest is kept for files that have not changed of late, and serves while none changes."""
    first = read_again()
    assert read_again() == first and files_read == ["fuse.py"] * 2, "they are new"
    monkeypatch.setattr(versions, "SETTLED", -(10**9))
    assert [read_again() for _ in range(3)] == [first] * 3 and len(files_read) == 3
    [kept] = folder.glob("*.sources")
    assert gradir.cache_info().entries == 0

    file = sources / "passes" / "fuse.py"
    times = os.stat(file).st_atime_ns, os.stat(file).st_mtime_ns
    file.write_text("2\n")  # as many bytes
    os.utime(file, ns=times)
    assert read_again() not in (None, first) and len(files_read) == 4
    file.write_text("1\n")
    assert read_again() == first and len(files_read) == 5

    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert read_again() == first and len(files_read) == 6
    gradir.clear_cache()
    assert not kept.exists()


def test_sources_that_change_while_they_run(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is code found that other sources made, nor kept what these made."""
    assert read_again() and versions.is_current()
    key = store.key_of("kind")
    (sources / "passes" / "fuse.py").write_text("another\n")
    assert not versions.is_current()
    store.keep(key, CacheEntry(None))
    assert gradir.cache_info().written == 0
    monkeypatch.setattr(versions, "IMPORTED", 0)
    assert read_again() is None and store.key_of("kind") is None
    assert gradir.cache_info().off == "gradir's sources have changed since they were imported"
