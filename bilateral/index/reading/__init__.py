"""Connections for readers, with registries, pages, replicas and snapshots."""
