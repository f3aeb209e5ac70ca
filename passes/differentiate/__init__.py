"""The reverse walk: contributions, rules, residuals, and the derived functions."""
