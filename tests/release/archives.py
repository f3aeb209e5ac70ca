"""The source archive and the wheel: how they are built, and what is wrong with their contents."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from email.message import Message
from email.parser import Parser
from pathlib import Path

from gradir import __version__

ROOT = Path(__file__).parents[2]
PACKAGED = ("gradir", "dialects", "passes", "tools")
METADATA = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")
COMMANDS = {
    "gradir": "gradir.__main__",
    "gradir-compile": "gradir.tools.gradir_compile",
    "gradir-opt": "gradir.tools.gradir_opt",
    "gradir-run": "gradir.tools.gradir_run",
}


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return its standard output; show all that it says where it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise AssertionError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def copy_source(folder: Path) -> Path:
    """A copy of the packaged files, links kept, so that building leaves no files in the project."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in PACKAGED:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
    for name in METADATA:
        shutil.copy(ROOT / name, folder / name)
    return folder


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel with the installed packages: no index is asked."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, source, cwd=source.parent)
    (wheel,) = folder.glob("*.whl")
    return wheel


def build_archive(source: Path, folder: Path) -> Path:
    """Build a source archive with the installed packages."""
    program = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    run(sys.executable, "-c", program, cwd=source)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def expected_files() -> set[str]:
    """The files of the package, by their path in the installed package."""
    files = {"gradir/py.typed"}
    files |= {f"gradir/include/gradir_{name}.h" for name in ("abi", "array", "op")}
    assets = ("model.js", "stages.js", "memory.js", "code.js", "explore.css")
    files |= {f"gradir/explore/assets/{name}" for name in assets}
    for folder in PACKAGED:
        prefix = "" if folder == "gradir" else "gradir/"
        for path in [p for kind in ("*.py", "*.pyi") for p in (ROOT / folder).rglob(kind)]:
            if path.resolve().is_relative_to(ROOT / folder):
                files.add(prefix + path.relative_to(ROOT).as_posix())
    return files


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def wheel_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel: files, links, tags, metadata, licences, commands."""
    with zipfile.ZipFile(wheel) as archive:
        links = [e.filename for e in archive.infolist() if stat.S_ISLNK(e.external_attr >> 16)]
    files = contents(wheel)
    info = f"gradir-{__version__}.dist-info/"
    named = {name for name in files if not name.startswith(info)}
    expected = expected_files()
    faults = [f"{name}: a link" for name in links]
    faults += [f"{name}: missing" for name in sorted(expected - named)]
    faults += [f"{name}: not of the package" for name in sorted(named - expected)]
    faults += [
        f"{info}{name}: missing"
        for name in ("METADATA", "WHEEL", "entry_points.txt", "RECORD")
        if info + name not in files
    ]
    return faults or [*_tag_faults(files, info), *metadata_faults(files[info + "METADATA"])]


def _tag_faults(files: Mapping[str, bytes], info: str) -> list[str]:
    """Wrong tags, licences and commands of a wheel."""
    tags = files[info + "WHEEL"].decode()
    commands = files[info + "entry_points.txt"].decode()
    faults = [
        f"WHEEL: {line} expected"
        for line in ("Root-Is-Purelib: true", "Tag: py3-none-any")
        if line not in tags.splitlines()
    ]
    faults += [
        f"entry points: {command} = {module}:main expected"
        for command, module in COMMANDS.items()
        if f"{command} = {module}:main" not in commands.splitlines()
    ]
    if "gradir = gradir.universe:COURTEOUS_UNIVERSE" not in commands.splitlines():
        faults.append("entry points: gradir's dialects for xDSL expected")
    for name in ("LICENSE", "NOTICE"):
        if files.get(f"{info}licenses/{name}") != (ROOT / name).read_bytes():
            faults.append(f"{info}licenses/{name}: the project's expected")
    return faults


def metadata_faults(data: bytes) -> list[str]:
    """What pyproject.toml says otherwise than the metadata of an archive."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: Message = Parser().parsestr(data.decode())
    wanted = {
        "Name": "gradir",
        "Version": __version__,
        "License-Expression": project["license"],
        "Requires-Python": project["requires-python"],
    }
    faults = [
        f"METADATA: {key}: {value} expected, got {found[key]}"
        for key, value in wanted.items()
        if found[key] != value
    ]
    extras = project["optional-dependencies"]
    count = len(project["dependencies"]) + sum(map(len, extras.values()))
    if len(found.get_all("Requires-Dist", [])) != count:
        faults.append(f"METADATA: {count} requirements expected")
    if set(found.get_all("Provides-Extra", [])) != extras.keys():
        faults.append(f"METADATA: the extras {', '.join(extras)} expected")
    if found.get_payload() != (ROOT / "README.md").read_text():
        faults.append("METADATA: README.md as the description expected")
    return faults


def archive_faults(archive: Path) -> list[str]:
    """What is wrong with a source archive: its names, links, and files of others."""
    top = f"gradir-{__version__}/"
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    names = {member.name.removeprefix(top) for member in members if member.isfile()}
    faults = [f"{member.name}: a link" for member in members if member.issym() or member.islnk()]
    faults += [f"{m.name}: not below {top}" for m in members if not f"{m.name}/".startswith(top)]
    wanted = expected_files() | set(METADATA)
    faults += [f"{name}: missing" for name in sorted(wanted - names)]
    written = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    copies = {name.removeprefix("gradir/") for name in expected_files()}
    faults += [f"{name}: not of the project" for name in sorted(names - wanted - written - copies)]
    return faults


def unpack(archive: Path, folder: Path) -> Path:
    """The folder in a source archive, unpacked."""
    with tarfile.open(archive) as opened:
        # Python before 3.11.4 has no filters
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked
