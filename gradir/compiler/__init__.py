"""From modules to compiled functions: the list of stages, and what may run natively."""
