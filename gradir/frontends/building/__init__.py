"""The builder of functions for frontends of other packages."""
