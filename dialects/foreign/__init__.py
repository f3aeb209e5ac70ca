"""Rules and meanings of ops of other dialects: arith, math, tensor, loopnest."""
