"""Nests that run block by block of rows, so that what they hand on stays in a core's cache."""
