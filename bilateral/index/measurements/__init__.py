"""Measurements of endpoints by watchtowers: who answers, since when, and what changed."""
