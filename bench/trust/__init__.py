"""Measures of the trust analysis: worlds with known truth, real data, baselines and speed."""
