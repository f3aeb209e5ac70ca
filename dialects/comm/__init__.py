"""The comm dialect: collectives and messages between the ranks that run a program."""

from xdsl.ir import Dialect

from gradir.dialects.comm import collectives, messages

OPS = (*collectives.OPS, *messages.OPS)

Comm = Dialect("comm", list(OPS), [])
