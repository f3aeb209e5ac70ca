"""From modules to compiled functions: the list of stages, and the proofs that text needs."""
