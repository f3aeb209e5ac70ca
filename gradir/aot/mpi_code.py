"""The writer of code that calls MPI, and the records that this code reads."""

from __future__ import annotations

from gradir.aot.code import Code
from gradir.aot.mpi import STATUS_BYTES
from gradir.codegen.text.structs import Struct

SITE = Struct.of(
    "collective",
    kind="i64", ranks="i64", reads="i64", operand="i64", result="i64", count="i64", type="i64",
    other="i64", pairs="ptr", n_pairs="i64", text="ptr", group="ptr", requests="i64",
)  # fmt: skip
"""A call: the number of its kind; its ranks, 0 for any; whether it has an operand; bytes of operand
and result; count and type of what is summed; the root, or the other end of a message; (source,
target) of a permutation; its group, null for the world; where in the workspace its requests are."""
REQUESTS = Struct.of("requests", count="i64", first="i64", second="i64")
"""Those of a call that are under way."""
GROUP = Struct.of("group", comm="i64", lists="ptr", name="ptr", ranks="i64")
"""A group: its communicator, 0 as long as there is none; lists of ranks, each an i32 array that
begins with its length, the last of a length 0; the ranks that the world must have."""
HANDLES = Struct.of("mpi", world="i64", sum="i64", byte="i64")
HANDLES_SYMBOL = "gradir_mpi_handles"


class MpiCode(Code):
    """Writes a function with %site and %status; `declared` gets MPI's functions and their types."""

    def __init__(self, texts: dict[str, str], declared: dict[str, str]) -> None:
        super().__init__(texts)
        self._declared = declared

    def handle(self, name: str) -> str:
        """The world, the sum or bytes, as a word."""
        return f"i64 {self.field(HANDLES, f'@{HANDLES_SYMBOL}', name)}"

    def site(self, name: str) -> str:
        return self.field(SITE, "%site", name)

    def refuse(self, condition: str, text: str, *values: str) -> None:
        """End the call with a message, after the op's place."""
        of = f"ptr {self.site('text')}"
        self.refuse_if(condition, "operator_failed", f"%s: {text}", [of, *values])

    def mpi(self, name: str, arguments: str) -> None:
        """Call one of MPI's functions; handles are words, whether they are ints or pointers."""
        self.refuse_code(self.mpi_code(name, arguments))

    def mpi_code(self, name: str, arguments: str) -> str:
        """What one of MPI's functions gives."""
        self._declared[name] = ", ".join(a.split()[0] for a in arguments.split(", "))
        return self.call("i32", f"@{name}", arguments)

    def refuse_code(self, code: str) -> None:
        """End the call where MPI has given a code that is not 0."""
        failed = self.emit(f"icmp ne i32 {code}, 0")
        self.refuse(failed, "MPI has failed (%d)", f"i32 {code}")

    def wait_for_all(self, requests: str) -> str:
        """Wait for what is under way, and take it off; a code of those that MPI has given."""
        told, failure = self.new_status(), self.allocate_early()
        self.store("i64", 1, failure, "0")
        count = self.field(REQUESTS, requests, "count")
        first = self.place(REQUESTS, requests, "first")
        with self.loop("0", count) as k:
            given = f"ptr {self.address('i64', first, k)}, ptr {told}"
            code = self.emit(f"zext i32 {self.mpi_code('MPI_Wait', given)} to i64")
            earlier = self.load("i64", 1, failure)
            self.store("i64", 1, failure, self.maximum(code, earlier))
        self.put(REQUESTS, requests, "count", "0")
        return self.emit(f"trunc i64 {self.load('i64', 1, failure)} to i32")

    def new_status(self) -> str:
        with self.early():
            return self.allocate("i8", STATUS_BYTES, 8)
