"""The tables of a database, by version."""
