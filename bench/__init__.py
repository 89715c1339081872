"""Benchmarks: what the registries cost in gas, measured with real transactions on a local chain."""
