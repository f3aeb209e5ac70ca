"""gradir-verify: checks beyond single ops; and proofs that accesses are in bounds."""
