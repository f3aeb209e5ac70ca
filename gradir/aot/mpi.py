"""What a library calls of an MPI library: its name, and how it says communicators and types.

Programs in C have these from mpi.h. There are three: the ABI of MPICH, which Intel MPI, MVAPICH and
Cray MPI share; Open MPI's, whose handles are addresses of its variables; and the ABI of MPI 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Handle = int | str
"""A number, or the name of a variable whose address it is."""

FUNCTIONS = (
    "MPI_Initialized", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Wait", "MPI_Ibarrier", "MPI_Ibcast",
    "MPI_Iallreduce", "MPI_Ireduce", "MPI_Iallgather", "MPI_Ireduce_scatter_block", "MPI_Isend",
    "MPI_Irecv", "MPI_Comm_group", "MPI_Group_incl", "MPI_Group_free", "MPI_Comm_create_group",
)  # fmt: skip
"""All that a library may call; one calls the functions of its collectives alone."""

STATUS_BYTES = 64
"""Of all three, at most; a request is a word at most."""


@dataclass(frozen=True)
class MpiLibrary:
    """An MPI library, by the name that the loader looks for."""

    file: str
    world: Handle
    sum: Handle
    in_place: int
    byte: Handle
    types: Mapping[str, Handle]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of variables among the handles."""
        every = (self.world, self.sum, self.byte, *self.types.values())
        return tuple(each for each in every if isinstance(each, str))


_NAMES = (
    "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip


def _types(*handles: Handle) -> Mapping[str, Handle]:
    return MappingProxyType(dict(zip(_NAMES, handles, strict=True)))


LIBRARIES: Mapping[str, MpiLibrary] = MappingProxyType(
    {
        "mpich": MpiLibrary(
            "libmpi.so.12", 0x44000000, 0x58000003, -1, 0x4C00010D,
            _types(
                0x4C00040A, 0x4C00080B, 0x4C000137, 0x4C000238, 0x4C000439, 0x4C00083A, 0x4C00013B,
                0x4C00023C, 0x4C00043D, 0x4C00083E,
            ),
        ),
        "openmpi": MpiLibrary(
            "libmpi.so.40", "ompi_mpi_comm_world", "ompi_mpi_op_sum", 1, "ompi_mpi_byte",
            _types(
                "ompi_mpi_float", "ompi_mpi_double",
                *(f"ompi_mpi_int{bits}_t" for bits in (8, 16, 32, 64)),
                *(f"ompi_mpi_uint{bits}_t" for bits in (8, 16, 32, 64)),
            ),
        ),
        "abi": MpiLibrary(
            "libmpi_abi.so.1", 0x101, 0x21, 1, 0x247,
            _types(0x210, 0x214, 0x240, 0x248, 0x250, 0x258, 0x241, 0x249, 0x251, 0x259),
        ),
    }
)  # fmt: skip
"""By the names of the option `mpi`."""
