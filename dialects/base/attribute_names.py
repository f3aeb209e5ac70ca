"""The names of gradir's attributes on arguments and on ops of other dialects, and their places.

gradir-verify refuses any other name that begins with `grad.`."""

from __future__ import annotations

PREFIX = "grad."

POLICY_ATTRIBUTE = "grad.loop"
"""On a loop: its policy."""

LIMIT_ATTRIBUTE = "grad.tape_limit"
"""On a loop: the bytes that each of its tapes may take."""

NAME_ATTRIBUTE = "grad.name"
"""On an argument: its name for selectors."""

INACTIVE_ATTRIBUTE = "grad.inactive"
"""On an argument: the default of `wrt` leaves it out."""

IN_OUT = "grad.in_out"
"""On an argument: the index of the result whose buffer holds it at the start."""

STATE = "grad.state"
"""On an argument: the index of the result that is its new value. Neither has a derivative."""

LOSS_SCALE = "grad.loss_scale"
"""On an argument of an optimizer, a part of its state: the gradients are of the loss times that."""

MEMORY_LIMIT, PEAK, LOOPS = "grad.memory_limit", "grad.peak_bytes", "grad.loops"
"""On a derived function: the memory limit in bytes, the measured peak in bytes, and the chosen
policies of the loops in program order."""

REQUIRES = "grad.requires"
"""On a function: its assumptions about the symbols in its types: `["n != 1"]`."""

THREADS = "gradir.threads"
"""On a contraction on buffers: the threads that it, and its scratch memory, is split for."""

ON_LOOPS = (POLICY_ATTRIBUTE, LIMIT_ATTRIBUTE)
ON_ARGUMENTS = (NAME_ATTRIBUTE, INACTIVE_ATTRIBUTE, IN_OUT, STATE, LOSS_SCALE)
ON_FUNCTIONS = (MEMORY_LIMIT, PEAK, LOOPS, REQUIRES)

PLACES = {
    **dict.fromkeys(ON_LOOPS, "scf.for or scf.while"),
    **dict.fromkeys(ON_ARGUMENTS, "an argument of func.func"),
    **dict.fromkeys(ON_FUNCTIONS, "func.func"),
}
"""The place of each attribute."""
