"""Standings and findings: the results of the trust analysis of a chain."""
