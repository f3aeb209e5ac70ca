"""Groups of ranks in a library: who is in them, and the code that makes their communicators.

A communicator is made by the first call that needs it, and kept until MPI ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradir.aot.mpi_code import GROUP, MpiCode
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.runtime import mpi

WORLD = "world"
GROUP_FUNCTION = "gradir_group"
_MOST_RANKS = 1 << 31


@dataclass(frozen=True)
class Groups:
    """The ranks of groups by their names: lists, of which each rank is in one at most."""

    lists: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)

    def objection(self, group: str, ranks: int) -> str | None:
        """Why a library has no calls of a group; `ranks` are the op's, 0 for any number."""
        if group == WORLD:
            return None
        if group not in self.lists:
            return (
                f"a library has to know the ranks of group {group}; name them: "
                f"--group {group}=0,1, or groups={{{group!r}: [0, 1]}}"
            )
        sizes = {len(each) for each in self.lists[group]}
        if ranks and sizes != {ranks}:
            found = ", ".join(map(str, sorted(sizes)))
            return f"ranks = {ranks} must be the size of group {group}, got {found}"
        return None

    def words(self, group: str) -> list[int]:
        """The lists as code reads them."""
        words: list[int] = []
        for ranks in self.lists[group]:
            words += [len(ranks), *ranks]
        return [*words, 0]

    def most(self, group: str) -> int:
        """The ranks that the world must have."""
        return 1 + max(rank for ranks in self.lists[group] for rank in ranks)


NO_GROUPS = Groups()


def groups_of(given: Any) -> Groups:
    """The process's own groups, and the option's, which come first. ArgumentError for others."""
    if not (given is None or isinstance(given, Mapping)):
        raise ArgumentTypeError(f"groups: expected ranks by the names of groups, got {given!r}")
    found: dict[str, Sequence[Sequence[int]]] = {k: [v] for k, v in mpi.own_groups().items()}
    for name, ranks in (given or {}).items():
        found[name] = _lists(name, ranks)
    return Groups(found)


def _lists(name: Any, given: Any) -> list[list[int]]:
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9_]+", name) or name == WORLD:
        raise ArgumentError(
            f"groups: expected a name of letters, digits and _, other than {WORLD}, got {name!r}"
        )
    try:
        lists = [[*each] if isinstance(each, Sequence) else each for each in given]
        lists = lists if lists and isinstance(lists[0], list) else [lists]
        ranks = [rank for each in lists for rank in each]
    except TypeError:
        raise ArgumentTypeError(
            f"groups: expected the ranks of {name}, or lists of them, got {given!r}"
        ) from None
    are_ranks = all(type(rank) is int and 0 <= rank < _MOST_RANKS - 1 for rank in ranks)
    if not are_ranks or len({*ranks}) < len(ranks) or not all(lists):
        raise ArgumentError(f"groups: expected different ranks for {name}, got {given!r}")
    return lists


def read_groups(texts: Sequence[str]) -> dict[str, list[list[int]]]:
    """The groups of a command line, each NAME=0,1 or NAME=0,1/2,3. ArgumentError for others."""
    found: dict[str, list[list[int]]] = {}
    for text in texts:
        name, _, ranks = text.partition("=")
        if not re.fullmatch(r"\d+([,/]\d+)*", ranks, re.ASCII):
            raise ArgumentError(f"--group: expected NAME=0,1 or NAME=0,1/2,3, got {text!r}")
        if name in found:
            raise ArgumentError(f"--group: {name} is named twice")
        found[name] = [[*map(int, part.split(","))] for part in ranks.split("/")]
    return found


def group_function(texts: dict[str, str], declared: dict[str, str]) -> str:
    """`@gradir_group(site, group, status)`: the group's communicator is there, or a code."""
    f = MpiCode(texts, declared)
    is_made = f.emit(f"icmp ne i64 {f.field(GROUP, '%group', 'comm')}, 0")
    f.branch(is_made, "made", "search")
    f.label("made")
    f.ret("i32 0")
    f.label("search")
    name = f"ptr {f.field(GROUP, '%group', 'name')}"
    number = f.emit("alloca i32, align 4")
    f.mpi("MPI_Comm_size", f"{f.handle('world')}, ptr {number}")
    size = f.emit(f"sext i32 {f.load('i32', 1, number)} to i64")
    wanted = f.field(GROUP, "%group", "ranks")
    few = f.emit(f"icmp slt i64 {size}, {wanted}")
    text = "group %s is for %lld ranks or more, got %lld"
    f.refuse(few, text, name, f"i64 {wanted}", f"i64 {size}")
    f.mpi("MPI_Comm_rank", f"{f.handle('world')}, ptr {number}")
    rank = f.load("i32", 1, number)
    found = _list_with(f, rank)
    absent = f.is_null(found)
    f.refuse(absent, "rank %d is not in group %s", f"i32 {rank}", name)
    _make_communicator(f, found)
    f.ret("i32 0")
    names = "ptr %site, ptr %group, ptr %status"
    return f.definition(GROUP_FUNCTION, names, linkage="internal ")


def _list_with(f: MpiCode, rank: str) -> str:
    """The list that has a rank; null for none."""
    at, found = (f.allocate_early() for _ in range(2))
    f.store("ptr", 1, at, f.field(GROUP, "%group", "lists"))
    f.store("ptr", 1, found, "null")
    f.jump("next")
    f.label("next")
    start = f.load("ptr", 1, at)
    count = f.emit(f"sext i32 {f.load('i32', 1, start)} to i64")
    f.branch(f.emit(f"icmp eq i64 {count}, 0"), "end", "look")
    f.label("look")
    after = f.add(count, 1)
    with f.loop("1", after) as k:
        other = f.load("i32", 1, f.address("i32", start, k))
        with f.when(f.emit(f"icmp eq i32 {other}, {rank}")):
            f.store("ptr", 1, found, start)
    f.store("ptr", 1, at, f.address("i32", start, after))
    f.jump("next")
    f.label("end")
    return f.load("ptr", 1, found)


def _make_communicator(f: MpiCode, ranks: str) -> None:
    """Make the communicator of a list, which all of its ranks do at once."""
    everyone, chosen, made = (f.allocate_early() for _ in range(3))
    for slot in (everyone, chosen, made):
        f.store("i64", 1, slot, "0")  # an int fills half of a word
    f.mpi("MPI_Comm_group", f"{f.handle('world')}, ptr {everyone}")
    count = f.load("i32", 1, ranks)
    first = f.address("i32", ranks, 1)
    group = f"i64 {f.load('i64', 1, everyone)}"
    f.mpi("MPI_Group_incl", f"{group}, i32 {count}, ptr {first}, ptr {chosen}")
    given = f"{f.handle('world')}, i64 {f.load('i64', 1, chosen)}, i32 0, ptr {made}"
    f.mpi("MPI_Comm_create_group", given)
    for slot in (everyone, chosen):
        f.mpi("MPI_Group_free", f"ptr {slot}")
    f.put(GROUP, "%group", "comm", f.load("i64", 1, made))
