"""Compiled code on disk: the folder, its entries, and their keys."""
