"""The facts for a check, read from an index."""
