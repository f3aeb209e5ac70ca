"""What passes ask of a program and do not change: calls, regions, liveness, effects, activity."""
