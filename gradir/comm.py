"""gradir.comm: collectives between the ranks of a program, by MPI (docs/cluster.md)."""

from typing import TYPE_CHECKING

from gradir.frontends.comm.data_parallel import data_parallel
from gradir.frontends.comm.functions import (
    all_gather,
    axis_index,
    axis_size,
    barrier,
    broadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    recv,
    send,
)
from gradir.frontends.comm.ranks import run_ranks
from gradir.frontends.comm.simulate import Forecast, simulate
from gradir.frontends.functions.missing_names import missing
from gradir.runtime.mpi import add_group

__all__ = [
    "Forecast",
    "add_group",
    "all_gather",
    "axis_index",
    "axis_size",
    "barrier",
    "broadcast",
    "data_parallel",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "recv",
    "run_ranks",
    "send",
    "simulate",
]

if not TYPE_CHECKING:
    __getattr__ = missing("gradir.comm", {})
