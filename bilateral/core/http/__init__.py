"""Deadlines for HTTP clients, and the waits that servers request."""
