"""Migrations of a database's tables, one module per version."""
