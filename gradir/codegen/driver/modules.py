"""The LLVM modules of a program: kernels in groups, and the driver with the last of them.

A group is handed out as soon as it is long enough, so that LLVM may compile it while the next
kernels are written. A module has all functions that it calls, but for kernels of other modules,
which it declares. The text of the program is one module with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

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

_KERNEL_HEAD = re.compile(r"^define (void @\S+\(.*\)) .*\{$", re.MULTILINE)


class ModuleWriter:
    """Puts functions into modules; `hand_out` takes the text of each."""

    def __init__(self, target: MachineTarget, hand_out: Callable[[str], object]):
        self._target, self._hand_out = target, hand_out
        # Definitions in order, those of the open module and of all.
        self._open, self._all = {METADATA: None}, {METADATA: None}
        self._open_bytes = 0
        self._declarations: list[str] = []
        self.sized: SizedFunctions | None = None

    def add_kernel(self, kernel: Kernel) -> None:
        """Take a kernel, and hand out the group that it completes."""
        declared = [POLL_DECLARATION] if kernel.polls else []
        text = kernel.text if self.sized is None else self.sized.of_kernel(kernel.text)
        self._add([*declared, text], kernel.functions)
        self._open_bytes += len(kernel.text)
        if self._open_bytes >= GROUP_BYTES:
            text = self._module()
            self._declarations += [f"declare {head}" for head in _KERNEL_HEAD.findall(text)]
            self._open, self._open_bytes = {METADATA: None}, 0
            self._hand_out(text)

    def add(self, texts: Iterable[str], functions: Iterable[Request] = ()) -> None:
        """Take definitions that call these functions of vector math."""
        if self.sized is not None:
            texts = map(self.sized.of_driver, texts)
        self._add(texts, functions)

    def _add(self, texts: Iterable[str], functions: Iterable[Request]) -> None:
        for text in (*definitions(functions, self._target.scales, self._target.attributes), *texts):
            for definition in completed(text, self._target):
                self._open[definition] = self._all[definition] = None

    def finish(self) -> str:
        """Hand out the last module; returns the text of the program."""
        self._open |= dict.fromkeys(self._declarations)
        self._hand_out(self._module())
        return "\n".join(self._all)

    def _module(self) -> str:
        return "\n".join(self._open)
