"""Families by authors who knew the visible generator and its facts alone, and not the engine."""
