"""Standings and findings: the results of a chain's trust analysis."""
