"""Scalar bodies of loop nests as vectors and numbers: one table of ops."""
