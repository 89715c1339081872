"""Actions of visitors: the service prepares what their wallets sign. No key ever reaches it."""
