"""Analyses of programs: calls, regions, liveness, effects, activity."""
