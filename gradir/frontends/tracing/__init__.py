"""Tracing: Python functions run on tracers and recorded as modules."""
