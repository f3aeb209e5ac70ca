"""A fuzzer: random programs and mutated golden files, held against what gradir promises.

`make fuzz`, or `python -m fuzz --help` with tests/ on the path. A case is made from its level and
number alone. The levels: traced_level.py, text_level.py, ranks_level.py, points_level.py,
mutants.py; the promises: checks.py; where cases run: worker.py; from a fault to a file:
shrink.py, found.py; all of it: campaign.py.
"""
