"""gradir-gradient as a pass, with its policies and memory limits.

A plan for a memory limit needs the size of the arena, a product of the stages down to buffers. So
the compiler hands in the measure, and the registered pass derives from this one
(`gradir/compiler/measured_gradient.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.policies import POLICIES
from gradir.passes.differentiate.selectors import Selector
from gradir.passes.gradient.gradient import Choice, Mode, Observer, gradient
from gradir.passes.gradient.measured_peak import Measure
from gradir.passes.gradient.memory_limit import MemoryLimit, Policy


@dataclass(frozen=True)
class GradientPass(ModulePass):
    """Differentiate a function: into forward and backward functions, or into its jvp."""

    name = "gradir-gradient"

    function: str
    wrt: tuple[int | str, ...] | None = None
    of: tuple[int | str, ...] | None = None
    mode: Mode = "split"
    policy: str = "keep_all"
    memory_limit: int | None = None
    req: str | None = None

    @abstractmethod
    def measure(self) -> Measure:
        """The measure of arenas: bytes by function."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(op)

    def run(self, module: ModuleOp, observe: Observer | None = None) -> None:
        """Apply the pass; `observe` is called with the derivative."""
        apply_gradient(
            module, self.function, self.wrt, self.of, self.mode, self.policy, self.memory_limit,
            parse_requests(self.req, module), self.measure, observe,
        )  # fmt: skip


def apply_gradient(
    module: ModuleOp,
    function: str,
    wrt: Sequence[Selector] | None,
    of: Sequence[Selector] | None,
    mode: str,
    policy: str,
    memory_limit: int | None,
    requests: Sequence[tuple[Selector, str]],
    measuring: Callable[[], Measure],
    observe: Observer | None = None,
) -> list[FuncOp]:
    """`gradient` with all options of the pass; `measuring` gives the measure, if one is needed."""
    if mode not in get_args(Mode):
        *others, last = get_args(Mode)
        wanted = f"{', '.join(others)} or {last}"
        raise PassError(f"gradir-gradient: mode must be {wanted}, got {mode!r}", module)
    if mode == "jvp" and memory_limit is not None:
        raise PassError(
            "gradir-gradient: memory_limit needs a mode that keeps values for later, got jvp; "
            "leave it out",
            module,
        )
    question = repr((function, wrt, of, mode, policy, memory_limit, requests))
    keep = _choice(module, policy, memory_limit, measuring, question)
    settings: dict[str, Attribute] = {}
    if policy != "keep_all":
        settings["policy"] = StringAttr(policy)
    if memory_limit is not None:
        settings["memory_limit"] = IntegerAttr(memory_limit, i64)
    return gradient(module, function, wrt, of, cast(Mode, mode), requests, keep, settings, observe)


def _choice(
    module: ModuleOp,
    policy: str,
    memory_limit: int | None,
    measuring: Callable[[], Measure],
    question: str,
) -> Choice | None:
    """The decision on recomputation; None for all kept. `question` says all that it depends on."""
    if policy not in POLICIES:
        known = ", ".join(POLICIES)
        raise PassError(f"gradir-gradient: policy must be one of {known}, got {policy!r}", module)
    if memory_limit is not None:
        if policy != "keep_all":
            raise PassError(
                "gradir-gradient: policy or memory_limit may be given, got "
                f"{policy} and {memory_limit}",
                module,
            )
        if type(memory_limit) is not int or memory_limit >= 1 << 63:
            raise PassError(
                "gradir-gradient: memory_limit must be a whole number of bytes below 2**63, got "
                f"{memory_limit!r}",
                module,
            )
    elif policy == "keep_all":
        return None
    measure = measuring()
    note = measure.note(module, question)
    if memory_limit is not None:
        return MemoryLimit(memory_limit, measure, note)
    return Policy(policy, measure, note)


def parse_requests(
    text: str | None, place: ModuleOp, form: str = "gradir-gradient: req must be name=request,..."
) -> list[tuple[Selector, str]]:
    """`w=null,1=write` as pairs of selector and request; `form` words the error."""
    pairs: list[tuple[Selector, str]] = []
    for entry in (text or "").split(","):
        if not entry.strip():
            continue
        name, separator, request = (part.strip() for part in entry.partition("="))
        if not separator:
            raise PassError(f"{form}, got {entry!r}", place)
        pairs.append((int(name) if name.isascii() and name.isdigit() else name, request))
    return pairs
