"""The attributes of gradir on ops of other dialects and on arguments: all of their names, and where
each stands. gradir-verify refuses any other name that begins with `grad.`."""

from __future__ import annotations

PREFIX = "grad."

POLICY_ATTRIBUTE = "grad.loop"
"""On a loop: its policy."""

LIMIT_ATTRIBUTE = "grad.tape_limit"
"""On a loop: the bytes that each of its tapes may take."""

NAME_ATTRIBUTE = "grad.name"
"""On an argument: the name by which it can be asked for."""

INACTIVE_ATTRIBUTE = "grad.inactive"
"""On an argument: no derivative is taken with respect to it unless it is asked for."""

IN_OUT = "grad.in_out"
"""On an argument: the result in whose buffer it comes in."""

MEMORY_LIMIT, PEAK, LOOPS = "grad.memory_limit", "grad.peak_bytes", "grad.loops"
"""On a derived function: the limit in bytes that was asked for, the peak that was measured, and the
policies that loops got, in the order of the program."""

ON_LOOPS = (POLICY_ATTRIBUTE, LIMIT_ATTRIBUTE)
ON_ARGUMENTS = (NAME_ATTRIBUTE, INACTIVE_ATTRIBUTE, IN_OUT)
ON_FUNCTIONS = (MEMORY_LIMIT, PEAK, LOOPS)

PLACES = {
    **dict.fromkeys(ON_LOOPS, "scf.for or scf.while"),
    **dict.fromkeys(ON_ARGUMENTS, "an argument of func.func"),
    **dict.fromkeys(ON_FUNCTIONS, "func.func"),
}
"""Each attribute, and where it stands."""
