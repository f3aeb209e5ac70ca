"""gradir-gradient: modes of derivatives, reverse and forward, and the table of rules."""
