"""Blind ratings of the bidirectional registry."""
