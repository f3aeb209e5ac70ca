"""The grad dialect: what exists because of differentiation."""
