"""Visitors' actions: the service prepares what their wallets sign, and never sees their keys."""
