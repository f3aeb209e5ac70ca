"""Program text to IR and back: parser, printer, places in sources."""
