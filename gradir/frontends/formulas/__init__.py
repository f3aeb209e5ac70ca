"""Functions of gradir.scipy whose derivatives are formulas of their own, or that loop."""
