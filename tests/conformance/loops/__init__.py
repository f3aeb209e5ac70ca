"""Sixty programs with loops, in a form that gradir, JAX, PyTorch and plain Python run alike.

A program is a function of `xp`, a module of arrays (gradir.numpy, jax.numpy, ...), of `flow`, the
loops, branches and transformations of a system, and of arrays; its result is a number. program.py
says what `flow` has, the files of the groups hold the programs, all_programs.py lists them.

`references.json` has each program's value and derivatives from 120 digits of mpmath
(`python -m conformance.loops.references` with tests/ on the path writes it), `outcomes.json` what
the systems made of them (outcomes.py). docs/loops.md is written from it.
"""
