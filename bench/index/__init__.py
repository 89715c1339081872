"""Benchmarks of the index, and the chain of synthetic events that they and its tests run on."""
