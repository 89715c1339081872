"""Servers that sell, prove their answers and take feedback."""
