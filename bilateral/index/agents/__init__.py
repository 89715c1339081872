"""The state of agents according to their events, and when they were active."""
