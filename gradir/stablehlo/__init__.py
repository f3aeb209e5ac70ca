"""Modules as StableHLO text: ops, conversion and the pass gradir-to-stablehlo."""
