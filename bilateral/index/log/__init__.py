"""The event log: its tables, batches, cursor and rollbacks."""
