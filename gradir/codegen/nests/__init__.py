"""Native code of loop nests without contraction: elementwise maps, reductions, transposes."""
