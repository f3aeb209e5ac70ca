"""Sums over eigenvectors and singular vectors in programs: how they are found."""
