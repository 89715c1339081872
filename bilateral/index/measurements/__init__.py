"""Watchtowers' measurements of agents' endpoints: which endpoints respond, since when, and what changed."""
