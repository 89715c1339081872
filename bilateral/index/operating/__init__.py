"""The settings, processes, status and verification of an index."""
