"""Functions of functions: jit, derivatives, control flow, markers."""
