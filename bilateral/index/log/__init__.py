"""The log of events: their tables, batches, the cursor and rollbacks."""
