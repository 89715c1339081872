"""Store rows of events: the database, bulk writes, locks, history and rollback."""
