"""The Pythons of this machine, and clean environments of them with chosen versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradir.tools.requirements import requirements_of
from release.archives import run

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and a folder to run programs in."""

    folder: Path

    @property
    def binaries(self) -> Path:
        return self.folder / "bin"

    def python(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        """Run its Python without any setting of this process; its standard output."""
        command = (self.binaries / "python", *arguments)
        return run(*command, cwd=cwd or self.folder, env=self.variables())

    def variables(self) -> Mapping[str, str]:
        """The variables of the process, less Python's and gradir's; a cache of its own."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "GRADIR_", "XDG_", "VIRTUAL_ENV"))
        }
        path = os.pathsep.join([str(self.binaries), os.environ.get("PATH", os.defpath)])
        cache = str(self.folder / "cache")
        return kept | {"PATH": path, "XDG_CACHE_HOME": cache}

    def install(self, *packages: str | Path) -> None:
        """Install packages from wheels alone, as users' machines have no compilers."""
        self.python(*INSTALL, "--only-binary", ":all:", *packages)


def find_python(version: str) -> Path | None:
    """The interpreter of a version: in the path, or one of pyenv's; None where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    of_pyenv = sorted((root / "versions").glob(f"{version}.*/bin/python{version}"))
    in_path = shutil.which(f"python{version}")
    for path in ([Path(in_path)] if in_path else []) + of_pyenv[::-1]:
        command = [path, "-c", "import ensurepip, sys; print(sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # shims of pyenv fail where their version is not the chosen one
        if done.stdout.strip() == str(tuple(int(number) for number in version.split("."))):
            return path
    return None


def make_environment(python: Path, folder: Path) -> Environment:
    """A new environment of an interpreter, with pip alone."""
    run(python, "-m", "venv", "--clear", folder, cwd=folder.parent)
    return Environment(folder)


def oldest_packages(requirements: Sequence[str], version: str) -> list[str]:
    """The lowest versions that the requirements allow for a version of Python, as pins."""
    found = requirements_of(requirements, version)
    return [f"{each.name}=={each.oldest}" for each in found if each.oldest is not None]
