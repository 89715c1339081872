"""Clients that pay, verify and rate."""
