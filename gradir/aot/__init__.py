"""Ahead-of-time compilation: functions as a shared library with a C header (docs/ahead-of-time.md).

export.py     what users call: programs in, files out
program.py    a function at each level, and what cannot leave this process
abi.py        the structures of gradir_abi.h
callers.py    the three functions of a name that C sees
entry.py      the code between them and a program, the same for all, with its checks
              (quick_checks.py, checks.py), what calls ask of results (results.py), tapes
              (growth.py), failures (failures.py), operators and collectives (hosts.py)
collectives.py
              the calls of MPI: their writer (mpi_code.py), groups of ranks (groups.py), names and
              numbers of each MPI library (mpi.py)
records.py    what that code reads: descriptions, messages, constants
linker.py     objects to one image, which elf_library.py and elf_object.py write
loader.py     calls a library from Python; a file by itself
"""
