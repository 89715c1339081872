"""The facts of a check, read from an index."""
