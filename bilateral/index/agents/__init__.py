"""Agents as their events leave them, and when they were active."""
