"""Labelled worlds: honest markets with look-alikes of attackers, and attacks of many families on them."""
