"""The base of all ops: interfaces, Value, types and shapes, attributes, diagnostics."""
