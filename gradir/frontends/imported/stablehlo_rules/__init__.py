"""What the ops of StableHLO are in gradir: most are JAX's rules, with attributes as parameters."""
