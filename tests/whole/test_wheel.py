"""The wheel and the source archive hold the linked folders as real files, and the wheel works."""

import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGED = ("gradir", "dialects", "passes", "tools")
METADATA = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return its standard output; show its errors where it fails."""
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel with the installed packages: no index is asked."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, source, cwd=source.parent)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packaged files, links kept, so that building leaves no files in the project."""
    copy = tmp_path_factory.mktemp("source") / "gradir"
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in PACKAGED:
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=ignore)
    for name in METADATA:
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source tree."""
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source_archive(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive built from the source tree."""
    folder = tmp_path_factory.mktemp("sdist")
    program = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    run(sys.executable, "-c", program, cwd=source)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def expected_files() -> set[str]:
    """The Python files of the package, by their path in the installed package."""
    files = {"gradir/py.typed"}
    files |= {f"gradir/include/gradir_{name}.h" for name in ("abi", "array", "op")}
    assets = ("model.js", "stages.js", "memory.js", "code.js", "explore.css")
    files |= {f"gradir/explore/assets/{name}" for name in assets}
    for folder in PACKAGED:
        prefix = "" if folder == "gradir" else "gradir/"
        for path in (ROOT / folder).rglob("*.py"):
            if path.resolve().is_relative_to(ROOT / folder):
                files.add(prefix + path.relative_to(ROOT).as_posix())
    return files


def test_wheel_holds_the_package_as_real_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    expected = expected_files()
    assert {"gradir/dialects/__init__.py", "gradir/passes/__init__.py"} <= expected
    names = {entry.filename for entry in entries}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert not [e.filename for e in entries if stat.S_ISLNK(e.external_attr >> 16)]


def test_wheel_says_its_license_and_commands(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(info["METADATA"]).decode()
        commands = archive.read(info["entry_points.txt"]).decode()
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert {"LICENSE", "NOTICE"} <= info.keys()
    assert "gradir-explore = gradir.tools.gradir_explore:main" in commands
    assert "gradir-opt = gradir.tools.gradir_opt:main" in commands
    assert "gradir-run = gradir.tools.gradir_run:main" in commands


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
    with tarfile.open(source_archive) as archive:
        assert not [m.name for m in archive.getmembers() if m.issym() or m.islnk()]
        # Python before 3.11.4 has no filters
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
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
