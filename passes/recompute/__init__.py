"""What the backward function keeps and what it computes again: stages, policies, memory limits."""
