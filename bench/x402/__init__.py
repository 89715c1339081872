"""Measurements of paid requests: the overhead of the extension, verification, and many requests at once."""
