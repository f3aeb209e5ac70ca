"""Vectorization: functions on many rows of their arguments at once."""
