"""Watchtowers' endpoint measurements: which ones respond, since when, and what changed."""
