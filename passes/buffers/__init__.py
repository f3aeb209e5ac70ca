"""From tensors to buffers: which buffer each value has, and its place in the arena."""
