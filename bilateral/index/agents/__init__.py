"""Agents' states, derived from events, and the times when the agents were active."""
