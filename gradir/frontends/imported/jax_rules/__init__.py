"""What JAX's primitives are in gradir: rules on traced arrays, a table for each kind.

Nothing here imports JAX: parameters are read by their names.
"""
