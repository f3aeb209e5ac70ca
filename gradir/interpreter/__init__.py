"""The reference: every program run op by op with NumPy."""
