"""What every op is made of: interfaces, Value, types and shapes, attributes, diagnostics."""
