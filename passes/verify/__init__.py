"""gradir-verify: what single ops cannot see; and proofs that accesses are in bounds."""
