"""Builders of loop nests, scalar programs and control flow, and kinds of ops."""
