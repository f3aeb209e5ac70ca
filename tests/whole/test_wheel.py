"""The wheel and the source archive hold the linked folders as real files, and the wheel works."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from release.archives import (
    archive_faults,
    build_archive,
    build_wheel,
    copy_source,
    expected_files,
    run,
    unpack,
    wheel_faults,
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packaged files."""
    return copy_source(tmp_path_factory.mktemp("source") / "gradir")


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source tree."""
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source_archive(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive built from the source tree."""
    return build_archive(source, tmp_path_factory.mktemp("sdist"))


def test_the_archives_hold_the_package_as_real_files(wheel: Path, source_archive: Path) -> None:
    assert {"gradir/dialects/__init__.py", "gradir/passes/__init__.py"} <= expected_files()
    assert wheel_faults(wheel) == []
    assert archive_faults(source_archive) == []


def test_faults_of_archives_are_seen(wheel: Path, source_archive: Path, tmp_path: Path) -> None:
    broken = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(broken, "w") as other:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith("licenses/NOTICE"):
                continue
            if name.endswith("/WHEEL"):
                data = data.replace(b"py3-none-any", b"cp311-cp311-linux")
            if name.endswith("/METADATA"):
                data = data.replace(b"Apache-2.0", b"MIT", 1)
            other.writestr(name, data)
    faults = wheel_faults(broken)
    assert len(faults) == 3 and "Tag: py3-none-any expected" in faults[0]
    assert "licenses/NOTICE" in faults[1] and "Apache-2.0 expected, got MIT" in faults[2]
    with zipfile.ZipFile(broken, "w") as other:
        other.writestr("gradir/extra.txt", "")
    assert {"gradir/py.typed: missing", "gradir/extra.txt: not of the package"} <= set(
        wheel_faults(broken)
    )
    changed = tmp_path / source_archive.name
    with tarfile.open(changed, "w:gz") as other:
        link = tarfile.TarInfo("gradir-0/gradir/dialects")
        link.type, link.linkname = tarfile.SYMTYPE, "../dialects"
        other.addfile(link)
    faults = archive_faults(changed)
    assert "gradir-0/gradir/dialects: a link" in faults and "LICENSE: missing" in faults


def test_wheel_can_be_imported(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import gradir.dialects.array, gradir.passes, gradir.tools.gradir_opt\n"
        "print(gradir.__file__)"
    )
    assert run(sys.executable, "-I", "-c", program, cwd=tmp_path).startswith(str(tmp_path))


def test_source_archive_builds_the_same_wheel(
    source_archive: Path, wheel: Path, tmp_path: Path
) -> None:
    unpacked = unpack(source_archive, tmp_path)
    rebuilt = build_wheel(unpacked, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(rebuilt) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_an_editable_install_is_a_path(source: Path, tmp_path: Path) -> None:
    """Type checkers follow a path, and no hook of imports."""
    program = f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})"
    run(sys.executable, "-c", program, cwd=source)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        (path,) = (n for n in names if n.endswith(".pth"))
        assert names == [path] and archive.read(path).decode().strip() == str(source)


def test_a_clone_without_links_says_so(source: Path, tmp_path: Path) -> None:
    """It has files in their place, as git writes them without core.symlinks."""
    copy = tmp_path / "clone"
    shutil.copytree(source, copy, symlinks=True)
    for name in ("dialects", "tools"):
        (copy / "gradir" / name).unlink()
        (copy / "gradir" / name).write_text(f"../{name}")
    program = "from setuptools import build_meta; build_meta.build_wheel('out')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "gradir/dialects, gradir/tools must be symbolic links" in done.stderr + done.stdout
    assert "git config core.symlinks true" in done.stderr + done.stdout
