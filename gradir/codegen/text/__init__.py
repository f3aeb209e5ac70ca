"""LLVM text: types, instructions, memory, control flow, polls, and the target they are for."""
