"""Differentiation of functions, block by block. Open reverse_mode.py first: the walk back.

reverse_mode.py       the two walks of reverse mode, and the rule of all ops with a vjp
forward_mode.py       the walk of forward mode; transpose.py makes tangents of a vjp
structural_rule.py    the type of the rules in passes/gradient/rule_table.py

differentiator.py     the state of the walks over one block; block_code.py has the code they append
contributions.py      the cotangents so far
shared.py             the state shared by the blocks of one function
function.py           the walks over a function, from seeds to gradients
program.py            the functions of a module, and the halves made of callees

selectors.py          `wrt` and `of` as values; refusals.py refuses before anything is made
residuals.py          the forward values that backward code reads; tapes.py, in loops
derived.py            the functions of a mode, from the two blocks
crossing.py           masks of cotangents at the borders of regions; call_masks.py, at calls
call_dependence.py    which results of a call depend on which arguments
tables.py             gradients as row slices; row_slices.py packs them as tensors
"""
