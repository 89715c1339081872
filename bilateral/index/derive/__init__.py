"""Derived tables, computed from rows of events: agents, summaries and activity."""
