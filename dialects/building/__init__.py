"""How loop nests, scalar programs and control flow are written: builders and kinds of ops."""
