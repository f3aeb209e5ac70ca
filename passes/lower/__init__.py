"""From tensor ops to loop nests, and scalars in place of tensors of rank 0."""
