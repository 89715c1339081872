"""Standings and findings, which are the results of trust analysis."""
