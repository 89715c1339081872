"""Deadlines for HTTP clients, and the waiting times that servers specify."""
