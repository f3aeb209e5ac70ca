"""Profiles of compiled functions: the time of each kernel beside the limits of the machine."""
