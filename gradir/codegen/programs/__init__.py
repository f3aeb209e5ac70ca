"""Native code of scalar programs, one at each point of a space: sorts, scans, factorizations."""
