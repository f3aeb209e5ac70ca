"""The reverse walk: what every rule is handed, and what it leaves to the backward function."""
