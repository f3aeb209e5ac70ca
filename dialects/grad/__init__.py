"""The grad dialect: ops and types of differentiation."""
