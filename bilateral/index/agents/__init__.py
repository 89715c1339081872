"""Agents' states, derived from their events, and when they were active."""
