"""Matrix products: register tiles, packed panels, epilogues."""
