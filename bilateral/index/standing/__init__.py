"""Standings and findings: what the trust analysis makes of a chain."""
