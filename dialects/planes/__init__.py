"""Complex tensors as planes, their real and imaginary parts: what each op is on these."""
