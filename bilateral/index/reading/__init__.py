"""Connections for readers, and what readers share: registries, pages, replicas and snapshots."""
