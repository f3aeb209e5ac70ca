"""Differentiation of loops: with tapes, or with snapshots and repeated iterations."""
