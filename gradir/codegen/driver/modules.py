"""The LLVM modules of a program: kernels in groups, and the driver with the last of them.

A group is handed out as soon as it is long enough, so that LLVM may compile it while the next
kernels are written. A module has all functions that it calls, but for kernels of other modules,
which it declares. The text of the program is one module with all of them.

Code that runs for less time than LLVM would take to compile it well is in groups of its own, which
are compiled quickly first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from gradir.codegen.costs import QUICK_COST
from gradir.codegen.text.functions import METADATA
from gradir.codegen.text.kernel import Kernel
from gradir.codegen.text.polls import POLL_DECLARATION
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.vector_math import Request, definitions
from gradir.codegen.vector_math.target_functions import completed

if TYPE_CHECKING:
    from gradir.codegen.text.sized import SizedFunctions

# The text of a group's kernels, from which on they are a module. One more module takes LLVM 2 ms.
GROUP_BYTES = 1 << 15

HandOut: TypeAlias = Callable[[str, bool], object]
"""Takes the text of a module, and whether it is to be compiled quickly first."""

_KERNEL_HEAD = re.compile(r"^define (void @\S+\(.*\)) .*\{$", re.MULTILINE)


class ModuleWriter:
    """Puts functions into modules; `hand_out` takes each, quick ones only if `may_be_quick`."""

    def __init__(self, target: MachineTarget, hand_out: HandOut, may_be_quick: bool = False):
        self._target, self._hand_out = target, hand_out
        self._may_be_quick = may_be_quick
        self._groups = {is_quick: _Group() for is_quick in (False, True)}
        # the definitions of all modules, in order
        self._all: dict[str, None] = {METADATA: None}
        self._declarations: list[str] = []
        self.sized: SizedFunctions | None = None

    def add_kernel(self, kernel: Kernel, cost: float) -> None:
        """Take a kernel all of whose runs take `cost`; hand out the group that it completes."""
        declared = [POLL_DECLARATION] if kernel.polls else []
        text = kernel.text if self.sized is None else self.sized.of_kernel(kernel.text)
        is_quick = self._is_quick(len(kernel.text), cost)
        self._add([*declared, text], kernel.functions, is_quick)
        group = self._groups[is_quick]
        group.kernel_bytes += len(kernel.text)
        if group.kernel_bytes >= GROUP_BYTES:
            self._finish_group(is_quick)

    def finish(self, texts: Iterable[str], functions: Iterable[Request], cost: float) -> str:
        """Take the driver, of such a cost without its kernels, which calls these functions of
        vector math, and hand out the modules that are left; returns the text of the program."""
        texts = list(texts if self.sized is None else map(self.sized.of_driver, texts))
        is_quick = self._is_quick(sum(map(len, texts)), cost)
        if self._groups[not is_quick].kernel_bytes:
            self._finish_group(not is_quick)
        self._add(texts, functions, is_quick)
        self._groups[is_quick].definitions |= dict.fromkeys(self._declarations)
        self._finish_group(is_quick)
        return "\n".join(self._all)

    def _is_quick(self, size: int, cost: float) -> bool:
        return self._may_be_quick and cost < QUICK_COST * size

    def _add(self, texts: Iterable[str], functions: Iterable[Request], is_quick: bool) -> None:
        group = self._groups[is_quick]
        for text in (*definitions(functions, self._target.scales, self._target.attributes), *texts):
            for definition in completed(text, self._target):
                group.definitions[definition] = self._all[definition] = None

    def _finish_group(self, is_quick: bool) -> None:
        text = "\n".join(self._groups[is_quick].definitions)
        self._declarations += [f"declare {head}" for head in _KERNEL_HEAD.findall(text)]
        self._groups[is_quick] = _Group()
        self._hand_out(text, is_quick)


@dataclass
class _Group:
    """An open module: its definitions in order, and the bytes of its kernels."""

    definitions: dict[str, None] = field(default_factory=lambda: {METADATA: None})
    kernel_bytes: int = 0
