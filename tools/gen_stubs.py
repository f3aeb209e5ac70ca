"""Writes the type stubs of modules whose functions are made as they are loaded: gradir.numpy, ...

Run by `make docs`. Editors and type checkers read names, signatures and first lines there. Types
are Any, since a function takes and gives arrays or traced arrays; keywords are open, since
functions of gradir.nn take PyTorch's too, and elementwise ones `out` and `where`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from gradir.frontends.functions.absent import OWN

ROOT = Path(__file__).resolve().parent.parent / "gradir"
MODULES = {
    "gradir.numpy": "numpy/__init__.pyi",
    "gradir.numpy.linalg": "numpy/linalg.pyi",
    "gradir.numpy.fft": "numpy/fft.pyi",
    "gradir.nn": "nn.pyi",
    "gradir.random": "random.pyi",
    "gradir.scipy.special": "scipy/special.pyi",
    "gradir.scipy.stats": "scipy/stats.pyi",
    "gradir.scipy.linalg": "scipy/linalg.pyi",
    "gradir.scipy.signal": "scipy/signal.pyi",
    "gradir.scipy.ndimage": "scipy/ndimage.pyi",
    "gradir.scipy.fft": "scipy/fft.pyi",
    "gradir.scipy.integrate": "scipy/integrate.pyi",
}
"""The modules, and the files of their stubs in gradir/."""

STANDARD = ("__array_api_version__", "__array_namespace_info__")
"""Names that the Array API standard asks for."""

LETTERS = 96
"""The letters of a docstring's line, at most."""


def stub(name: str) -> str:
    """The text of a module's stub."""
    module = import_module(name)
    own = OWN if name == "gradir.numpy" else frozenset[str]()
    found = [(each, getattr(module, each)) for each in sorted({*module.__all__, *own})]
    parts = [
        each
        for each, value in found
        if f"{name}.{each}" in MODULES and isinstance(value, ModuleType)
    ]
    lines = [
        f'"""Written by `make docs`: the names of {name}, for editors and type checkers."""',
        "",
        "from typing import Any",
        *(f"from . import {each} as {each}" for each in parts),
        "",
        "__all__: list[str]",
        *(
            f"{each}: Any"
            for each in ("__array_api_version__", "__array_namespace_info__")
            if hasattr(module, each)
        ),
    ]
    for each, value in found:
        if each not in parts:
            lines += _declared(each, value, name == "gradir.nn")
    return "\n".join(lines) + "\n"


def _declared(name: str, value: Any, has_other_names: bool) -> Iterator[str]:
    if not inspect.isfunction(value):
        yield f"{name}: {'float' if isinstance(value, float) else 'Any'}"
        return
    parameters = ", ".join(_parameters(inspect.signature(value), has_other_names))
    yield f"def {name}({parameters}) -> Any:"
    line = (inspect.getdoc(value) or name).strip().split("\n")[0][:LETTERS]
    yield f'    """{line.replace(chr(92), "/").rstrip(chr(34))}"""'


def _parameters(signature: inspect.Signature, has_other_names: bool) -> Iterator[str]:
    """The parameters as text; where they have other names too, none of them is required."""
    kinds, before = inspect.Parameter, None
    for p in signature.parameters.values():
        is_star = p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        if p.kind is kinds.KEYWORD_ONLY and before not in (p.kind, kinds.VAR_POSITIONAL):
            yield "*"
        if before is kinds.POSITIONAL_ONLY and p.kind is not before:
            yield "/"
        if is_star:
            yield f"{'*' if p.kind is kinds.VAR_POSITIONAL else '**'}{p.name}: Any"
        elif p.default is p.empty:
            yield f"{p.name}: Any{' = ...' if has_other_names else ''}"
        else:
            yield f"{p.name}: Any = {_default(p.default)}"
        before = p.kind
    if before is kinds.POSITIONAL_ONLY:
        yield "/"
    if before is not kinds.VAR_KEYWORD:
        yield "**kwargs: Any"


def _default(value: object) -> str:
    is_plain = value is None or isinstance(value, bool | int | str)
    return repr(value) if is_plain else "..."


def main() -> None:
    """Write all files."""
    for name, file in MODULES.items():
        (ROOT / file).write_text(stub(name), encoding="utf-8")


if __name__ == "__main__":
    main()
