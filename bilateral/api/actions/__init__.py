"""Actions that website visitors take: the service prepares what their wallets sign, but never sees their keys."""
