"""gradir-gradient as a pass, with its policies and memory limits.

A plan for a memory limit needs the size of the arena, a product of the stages down to buffers. So
the compiler hands in the measure, and the registered pass derives from this one
(`gradir/compiler/measured_gradient.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.policies import POLICIES
from gradir.passes.differentiate.selectors import Selector
from gradir.passes.gradient.gradient import Choice, Observer, gradient
from gradir.passes.gradient.requests import DerivativeRequest, Mode

if TYPE_CHECKING:
    from gradir.passes.gradient.measured_peak import Measure


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
        request = DerivativeRequest(
            self.function, self.wrt, self.of, self.mode, self.policy, self.memory_limit,
            parse_requests(self.req, module),
        )  # fmt: skip
        apply_gradient(module, request, self.measure, observe)


def apply_gradient(
    module: ModuleOp,
    request: DerivativeRequest,
    measuring: Callable[[], Measure],
    observe: Observer | None = None,
) -> list[FuncOp]:
    """`gradient` with the options of the pass; `measuring` gives the measure, if one is needed."""
    if request.mode not in get_args(Mode):
        *others, last = get_args(Mode)
        wanted = f"{', '.join(others)} or {last}"
        raise PassError(f"gradir-gradient: mode must be {wanted}, got {request.mode!r}", module)
    if request.mode == "jvp" and request.memory_limit is not None:
        raise PassError(
            "gradir-gradient: memory_limit needs a mode that keeps values for later, got jvp; "
            "leave it out",
            module,
        )
    return gradient(module, request, _choice(module, request, measuring), observe)


def _choice(
    module: ModuleOp, request: DerivativeRequest, measuring: Callable[[], Measure]
) -> Choice | None:
    """The decision on recomputation; None for all kept."""
    policy, memory_limit = request.policy, request.memory_limit
    if policy not in POLICIES:
        known = ", ".join(POLICIES)
        raise PassError(f"gradir-gradient: policy must be one of {known}, got {policy!r}", module)
    if memory_limit is not None:
        _check_limit(module, policy, memory_limit)
    elif policy == "keep_all":
        return None
    # most derivatives keep all, and need no search
    from gradir.passes.gradient.memory_limit import MemoryLimit, Policy

    measure = measuring()
    note = measure.note(module, repr(astuple(request)))
    if memory_limit is not None:
        return MemoryLimit(memory_limit, measure, note)
    return Policy(policy, measure, note)


def _check_limit(module: ModuleOp, policy: str, memory_limit: int) -> None:
    """PassError for a limit beside a policy, or one that is no number of bytes."""
    if policy != "keep_all":
        raise PassError(
            f"gradir-gradient: policy or memory_limit may be given, got {policy} and "
            f"{memory_limit}",
            module,
        )
    if type(memory_limit) is not int or memory_limit >= 1 << 63:
        raise PassError(
            "gradir-gradient: memory_limit must be a whole number of bytes below 2**63, got "
            f"{memory_limit!r}",
            module,
        )


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
