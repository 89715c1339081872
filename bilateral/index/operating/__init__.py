"""Settings, processes, status and verification of an index."""
