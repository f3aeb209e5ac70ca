"""Collectives in traced functions, and training on several ranks."""
