"""What PyTorch's ops are in gradir: rules on traced arrays, a table for each kind.

Nothing here imports PyTorch. A rule is a function of an op's arguments by the names of its schema.
"""
