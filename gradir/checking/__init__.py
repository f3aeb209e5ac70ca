"""Checks of ops: tables of cases, and what holds of an op in each of them."""
