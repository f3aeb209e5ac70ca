"""Complex tensors as two real ones: the pass, and the meaning of each op on both planes."""
