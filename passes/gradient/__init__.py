"""gradir-gradient: the forms of derivatives, reverse and forward, and the table of rules."""
