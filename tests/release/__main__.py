"""`make release-check`: build both archives, look at them, install and run the wheel everywhere.

For each Python of 3.11 to 3.14 that this machine has, two clean environments: one with the oldest
versions that the wheel declares, one with the newest; in each `pip check` and `smoke.py`, warnings
being errors. `--tests` runs files of the suite there too. The last line says what was not there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path

from gradir import __version__
from release.archives import (
    ROOT,
    archive_faults,
    build_archive,
    build_wheel,
    contents,
    copy_source,
    unpack,
    wheel_faults,
)
from release.pythons import (
    INSTALL,
    VERSIONS,
    Environment,
    find_python,
    make_environment,
    oldest_packages,
)

SMOKE = Path(__file__).with_name("smoke.py")
EXAMPLE = ROOT / "examples" / "digits_mlp.mlir"


def say(text: str) -> None:
    print(text, flush=True)


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, made of the source archive, and the archive; AssertionError for wrong contents."""
    source = copy_source(folder / "source")
    archive = build_archive(source, folder / "archive")
    wheel = build_wheel(unpack(archive, folder / "unpacked"), folder / "wheel")
    faults = [*archive_faults(archive), *wheel_faults(wheel)]
    if contents(wheel) != contents(build_wheel(source, folder / "wheel_of_source")):
        faults.append("the wheels of the archive and of the sources differ")
    assert not faults, "\n".join(faults)
    say(f"{archive.name}: {archive.stat().st_size >> 10} KB; made of it, {wheel.name}: "
        f"{wheel.stat().st_size >> 10} KB, {len(contents(wheel))} files, no links")  # fmt: skip
    return wheel, archive


def check_rendering(folder: Path, *archives: Path) -> None:
    """What an index would refuse, by twine in an environment of its own."""
    environment = make_environment(Path(sys.executable), folder / "twine")
    environment.install("twine>=6")
    environment.python("-m", "twine", "check", "--strict", *archives)
    say("twine check --strict: passed")


def requirements(wheel: Path) -> list[str]:
    """The requirements in a wheel's metadata."""
    data = contents(wheel)[f"gradir-{__version__}.dist-info/METADATA"].decode()
    return Parser().parsestr(data).get_all("Requires-Dist", [])


def versions_in(environment: Environment) -> str:
    """The packages that matter, with their versions."""
    lines = environment.python("-m", "pip", "list", "--format=freeze").splitlines()
    wanted = ("numpy", "xdsl", "llvmlite", "ml_dtypes", "ml-dtypes", "safetensors", "tqdm")
    return " ".join(line.replace("==", " ") for line in lines if line.startswith(wanted))


def check_environment(folder: Path, python: Path, wheel: Path, pins: list[str]) -> Environment:
    """Install the wheel in a new environment, with pinned packages, and run the smoke suite."""
    environment = make_environment(python, folder)
    environment.install(*pins, wheel)
    environment.python("-m", "pip", "check")
    work = folder / "work"
    work.mkdir()
    shutil.copy(EXAMPLE, work)
    shutil.copy(SMOKE, work)
    last = environment.python(
        "-W", "error", work / SMOKE.name, __version__, work, cwd=work
    ).splitlines()[-1]
    say(f"  {last} ({versions_in(environment)})")
    return environment


def run_tests(environment: Environment, tests: Sequence[str]) -> None:
    """Files of the suite on the installed wheel: the sources are not there."""
    packages = ["pytest>=8", "hypothesis>=6", "mpmath~=1.3.0", "filecheck~=1.0", "lit>=18,<24"]
    environment.python(*INSTALL, *packages)
    place = environment.folder / "suite"
    for name in ("tests", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    options = ("-q", "-p", "no:cacheprovider", "-m", "not slow")
    said = environment.python("-m", "pytest", *options, *tests, cwd=place)
    say(f"  {' '.join(tests)}: {said.splitlines()[-1]}")


def check_python(folder: Path, version: str, wheel: Path, tests: Sequence[str]) -> None:
    """Check a version of Python with the oldest and the newest packages."""
    python = find_python(version)
    assert python is not None
    oldest = oldest_packages(requirements(wheel), version)
    newest: list[str] = []
    for name, pins in (("oldest", oldest), ("newest", newest)):
        start = time.perf_counter()
        say(f"Python {version}, {name} packages")
        environment = check_environment(folder / f"{version}-{name}", python, wheel, pins)
        if tests:
            run_tests(environment, tests)
        shutil.rmtree(environment.folder)
        say(f"  {time.perf_counter() - start:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release-check", description=__doc__)
    parser.add_argument("--tests", nargs="*", default=[], help="files of the suite to run as well")
    parser.add_argument("--pythons", nargs="*", default=VERSIONS, help="versions, such as 3.12")
    parser.add_argument("--keep", type=Path, help="a folder that both archives are copied to")
    options = parser.parse_args()
    there = [version for version in options.pythons if find_python(version)]
    with tempfile.TemporaryDirectory(prefix="gradir-release-") as name:
        folder = Path(name)
        wheel, archive = build(folder)
        check_rendering(folder, wheel, archive)
        for version in there:
            check_python(folder, version, wheel, options.tests)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheel, options.keep)
            shutil.copy(archive, options.keep)
    absent = ", ".join(version for version in options.pythons if version not in there) or "none"
    say(
        f"release {__version__}: passed on Python {', '.join(there)}; not on this machine: {absent}"
    )
    return 0 if there else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as error:
        sys.exit(f"release-check: {error}")
