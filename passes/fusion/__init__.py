"""Which loop nests become one, and the order in which they run."""
