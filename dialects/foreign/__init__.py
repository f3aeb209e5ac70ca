"""Rules and meanings of ops that other dialects own: arith, math, tensor."""
